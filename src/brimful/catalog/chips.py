"""Devices by any of their names: `find("NVIDIA A100-SXM-80GB")`, `find("Intel(R) Xeon(R) Platinum 8480+")`.

A name of an EC2 instance type is no name of a device: its offer says what it holds, and `of_family` which CPUs it may
have.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache

from brimful.catalog.chip_names import Name, likeness, parse
from brimful.catalog.contents import load
from brimful.model.errors import UsageError
from brimful.model.hardware import Chip
from brimful.model.units import GIB

_SUGGESTED = 3


class Chips:
    """A set of devices, found by name."""

    def __init__(self, chips: Iterable[Chip]) -> None:
        self._by_core: dict[str, list[tuple[Name, Chip]]] = {}
        self._bare: dict[str, Chip] = {}  # names that are found only when written just so: "4090"
        self._by_family: dict[str, list[Chip]] = {}
        for chip in chips:
            for text in (chip.model, *chip.aliases):
                name = parse(text)
                if name is None:
                    self._bare.setdefault(_squeezed(text), chip)
                else:
                    self._by_core.setdefault(name.core, []).append((name, chip))
            for family in chip.families:
                self._by_family.setdefault(family, []).append(chip)
        self._found: dict[str, Chip | None] = {}

    def find(self, text: str) -> Chip | None:
        """Return the device of that name, or None; when a name fits several, the first in the table counts."""
        if text not in self._found:
            self._found[text] = self._look(text)
        return self._found[text]

    def _look(self, text: str) -> Chip | None:
        asked = parse(text)
        if asked is None:
            return self._bare.get(_squeezed(text))
        best: tuple[int, Chip] | None = None
        for name, chip in self._by_core.get(asked.core, []):
            memory = None if chip.memory_bytes is None else chip.memory_bytes / GIB
            score = likeness(asked, name, memory, chip.power_cap_watts)
            if best is None or score > best[0]:
                best = (score, chip)
        return None if best is None else best[1]

    def suggest(self, text: str) -> tuple[str, ...]:
        """Return the devices whose names look most like this one."""
        asked = parse(text)
        close = difflib.get_close_matches(
            _squeezed(text) if asked is None else asked.core, self._by_core, n=_SUGGESTED, cutoff=0.6
        )
        return tuple(dict.fromkeys(self._by_core[core][0][1].model for core in close))

    def require(self, text: str) -> Chip:
        """Return the device of that name; an unknown one is an error that says which names are like it."""
        chip = self.find(text)
        if chip is not None:
            return chip
        like = self.suggest(text)
        raise UsageError(
            f"no device is called {text!r}",
            why="the catalogue has no facts under this name",
            fix=(f"did you mean {', '.join(like)}? If not, " if like else "")
            + "give its facts in a file: --device-facts FILE (docs/fit-devices.md)",
        )

    def of_family(self, family: str) -> tuple[Chip, ...]:
        """Return what instances of an EC2 family may have inside, accelerators first; a family may mix CPUs."""
        return tuple(self._by_family.get(family.lower(), ()))


def _squeezed(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())


@cache
def shipped() -> Chips:
    """Return the devices of the shipped catalogue."""
    return Chips(load().chips)


def find(name: str) -> Chip | None:
    """Return the shipped facts of the device of that name, or None."""
    return shipped().find(name)
