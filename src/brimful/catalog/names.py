"""The many names of an accelerator: what drivers, sellers and people call it, resolved to one row of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterable

from brimful.model.hardware import Accelerator

_VENDORS = {"nvidia", "tesla", "amd", "aws", "amazon", "intel", "habana", "qualcomm", "xilinx"}
_MIG = re.compile(r"\s+mig\s+\d+[cg]\..*$")  # "... MIG 1g.10gb" is a slice of the device named before it


def key(name: str) -> str:
    """Return the form in which names are compared: no case, no vendor, no punctuation but a pattern's."""
    bare = _MIG.sub("", name.lower())
    words = [word for word in re.split(r"[^a-z0-9.+*?]+", bare) if word]
    return " ".join(word for word in words if word not in _VENDORS) or " ".join(words)


class Names:
    """Accelerators by any of their names."""

    def __init__(self, accelerators: Iterable[Accelerator]) -> None:
        self._by_key: dict[str, list[Accelerator]] = {}
        for accelerator in accelerators:
            for name in dict.fromkeys(key(name) for name in (accelerator.model, *accelerator.aliases)):
                self._by_key.setdefault(name, []).append(accelerator)

    def find(self, name: str, memory_bytes: float | None = None) -> Accelerator | None:
        """Return the accelerator of that name.

        Some names stand for two sizes ("A100": 40 and 80 GB). Then `memory_bytes` decides, and without it the smaller
        one is the answer, since nothing that fits it is refused by the larger.
        """
        found = self._by_key.get(key(name), [])
        if memory_bytes is None:
            return min(found, key=lambda item: item.memory_bytes or 0, default=None)
        return min(found, key=lambda item: abs((item.memory_bytes or 0) - memory_bytes), default=None)
