"""The files of a kernel, under / or under a folder where they were recorded. What cannot be read is None."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_MOST_BYTES = 16 * 1024 * 1024  # /proc/cpuinfo of a thousand CPUs is 2 MiB; more than this is no kernel's file
_WHOLE = re.compile(r"[0-9]{1,19}")
_MOST = 2**63 - 1


class Tree:
    """Reads `proc/...` and `sys/...` below a root, and never raises for what is absent, denied or garbled."""

    def __init__(self, root: str) -> None:
        self.root = Path(root or "/")
        self.recorded = bool(root)

    def text(self, path: str) -> str | None:
        """Return a file's text, or None when it cannot be read."""
        try:
            with (self.root / path).open("rb") as file:
                return file.read(_MOST_BYTES).decode("utf-8", "replace")
        except (OSError, ValueError):
            return None

    def line(self, path: str) -> str | None:
        """Return a file's first line without its blanks, or None when there is none."""
        text = (self.text(path) or "").partition("\n")[0].strip(" \t\r\0")
        return text or None

    def whole(self, path: str) -> int | None:
        """Return the whole number that a file holds, or None."""
        return whole(self.line(path))

    def names(self, path: str) -> list[str]:
        """Return the names in a folder, in order; raises OSError when it cannot be listed."""
        return sorted(os.listdir(self.root / path))  # noqa: PTH208 - names alone, and bytes in them stay as they are

    def names_or_none(self, path: str) -> list[str]:
        """Return the names in a folder, in order; none when it cannot be listed."""
        try:
            return self.names(path)
        except (OSError, ValueError):
            return []


def whole(text: str | None) -> int | None:
    """Return a whole number that a kernel could have written, or None."""
    if text is None or not _WHOLE.fullmatch(text):
        return None
    return number if (number := int(text)) <= _MOST else None


def pairs(text: str | None, divider: str = ":") -> Iterator[tuple[str, str]]:
    """Yield (key, value) of the lines `key: value`."""
    for line in (text or "").splitlines():
        key, found, value = line.partition(divider)
        if found:
            yield key.strip(), value.strip()


def cpu_list(text: str | None) -> frozenset[int] | None:
    """Return the CPUs of a list such as `0-3,8`, or None when it is no such list."""
    cpus: set[int] = set()
    for part in (text or "").split(","):
        first, dash, last = part.strip().partition("-")
        low, high = whole(first), whole(last if dash else first)
        if low is None or high is None or not low <= high <= 0xFFFF:
            return None
        cpus.update(range(low, high + 1))
    return frozenset(cpus)
