"""Devices by name, and instance types, to what computes in them: a chip, how many, which share, which cores."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from brimful.advise.fit.machines import Inside, inside
from brimful.catalog import Catalog, chips
from brimful.catalog.chips import Chips
from brimful.catalog.device_facts import read_device_facts
from brimful.model.errors import UsageError
from brimful.model.hardware import Chip, Offer


@dataclass(frozen=True, slots=True)
class Devices:
    """What a user may name: devices of their own first, then the catalogue's, then instance types of a region."""

    catalog: Catalog
    region: str
    own: Chips

    @classmethod
    def of(cls, catalog: Catalog, region: str, facts: Path | None = None) -> Devices:
        """Open the catalogue's devices and those of a file of facts."""
        return cls(catalog, region, Chips(read_device_facts(facts) if facts is not None else ()))

    def chip(self, name: str) -> Chip:
        """Return the facts of a device by any of its names."""
        found = self.own.find(name) or chips.find(name)
        if found is not None:
            return found
        like = (*self.own.suggest(name), *chips.shipped().suggest(name))
        raise UsageError(
            f"no device is called {name!r:.80}",
            why="the catalogue has no facts under this name",
            fix=(f"did you mean {', '.join(like[:3])}? If not, " if like else "")
            + "give its facts in a file: --device-facts FILE (docs/fit-devices.md)",
        )

    def device(self, name: str) -> Inside:
        """Return one whole device by its name, or what an instance type holds if the name is one of those."""
        last = name.rpartition(",")[2]  # "DGX A100,A100": a system, then what is in it
        found = self.own.find(name) or chips.find(name) or self.own.find(last) or chips.find(last)
        if found is None and (offer := self.offer(name)) is not None:
            return self.within(offer)
        return Inside(found or self.chip(name), 1)

    def instance(self, name: str) -> Inside:
        """Return what computes in an instance type: its accelerators or, without any, its CPU."""
        offer = self.offer(name)
        if offer is not None:
            return self.within(offer)
        bare = name.lower().strip().removeprefix("ml.")
        known = sorted({offer.instance for offer in self.catalog.offers})
        near = difflib.get_close_matches(bare, known, n=3)
        raise UsageError(
            f"no instance type is called {name!r:.80}",
            why=f"the catalogue knows {len(known):,} types, and not this one",
            fix=f"did you mean {', '.join(near)}?" if near else "brimful catalog show lists them",
        )

    def offer(self, name: str) -> Offer | None:
        """Return the offer of a type, in the region or else wherever it is known; SageMaker's `ml.` is left out."""
        bare = name.lower().strip().removeprefix("ml.")
        return self.catalog.offer(bare, self.region) or next(
            (offer for offer in self.catalog.offers if offer.instance == bare), None
        )

    def within(self, offer: Offer) -> Inside:
        """Return what computes in an offer; one of which nothing is known is an error."""
        found = inside(offer, self.chips_of)
        if isinstance(found, Inside):
            return found
        raise UsageError(
            f"what computes in {offer.instance} is not known",
            why=found,
            fix="name the device instead, or give its facts with --device-facts FILE",
        )

    def chips_of(self, offer: Offer) -> Iterable[Chip]:
        """Return the chips that instances of an offer's family may have."""
        return chips.shipped().of_family(offer.family)
