"""What an audit looks at: nouns, each with the id of the journal record that holds it, so that it can be cited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Generic, TypeVar

from brimful.model.evidence import Measurement, Sample, Usage
from brimful.model.hardware import Accelerator, Device, DeviceKind, Fitted, Machine, Offer, Status

_T_co = TypeVar("_T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Cited(Generic[_T_co]):
    """A noun and where it is written down."""

    id: str
    noun: _T_co


@dataclass(frozen=True, slots=True)
class Branch:
    """A driver branch as far as advice needs it."""

    branch: str
    ends_on: date
    latest: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything an audit may use. What is not in here is unknown."""

    today: date
    region: str
    prices_on: date  # the newest price date of the catalogue
    catalog_id: str  # the record that tells which catalogue was used
    devices: tuple[Cited[Device], ...] = ()
    unseen: tuple[Cited[Sample], ...] = ()  # places where a probe could not look for devices
    machines: tuple[Cited[Machine], ...] = ()
    has_inventory: bool = False
    offers: Mapping[tuple[str, str], Cited[Offer]] = field(default_factory=dict)  # the machines' types, by region
    usages: tuple[Cited[Usage], ...] = ()
    has_history: bool = False
    measurements: tuple[Cited[Measurement], ...] = ()
    market: Sequence[Offer] = ()  # everything that could be rented instead
    datasheets: Mapping[tuple[str, int | None], Accelerator] = field(default_factory=dict)
    branches: tuple[Branch, ...] = ()

    def usages_of(self, machine: Machine) -> list[Cited[Usage]]:
        """Return what is known of a machine's devices: the history calls them `<machine>` or `<machine>/<device>`."""
        mine = (machine.machine, machine.machine + "/")
        return [item for item in self.usages if item.noun.device == mine[0] or item.noun.device.startswith(mine[1])]

    def region_of(self, machine: Machine) -> str:
        """Return the region whose prices count for a machine: its own, else the one that was asked for."""
        return (machine.region or self.region).lower()

    def cited_offer(self, machine: Machine) -> Cited[Offer] | None:
        """Return the offer of a machine's type, in another region if need be: what a type holds is the same there."""
        name, region = machine.instance.lower(), self.region_of(machine)
        return self.offers.get((name, region)) or next(
            (cited for (other, _), cited in self.offers.items() if other == name), None
        )

    def offer_of(self, machine: Machine) -> Offer | None:
        """Return the catalogue's offer of a machine's type; its price is that of its own region."""
        cited = self.cited_offer(machine)
        return cited.noun if cited else None

    def list_price_of(self, machine: Machine) -> float | None:
        """Return the catalogue's on-demand price of a machine's type in the machine's region."""
        offer = self.offer_of(machine)
        return offer.usd_per_hour if offer and offer.region == self.region_of(machine) else None

    def price_of(self, machine: Machine) -> float | None:
        """Return what a machine costs an hour: its own price, else the catalogue's for on-demand machines."""
        if machine.usd_per_hour is not None:
            return machine.usd_per_hour
        return self.list_price_of(machine) if machine.purchase == "on-demand" else None

    def price_gap(self, machine: Machine) -> str:
        """Return why a machine's price is not known, and how it would be."""
        if machine.purchase != "on-demand":
            return f"the price of {machine.instance} ({machine.purchase}) is not known: usd_per_hour in the inventory"
        where = f"the catalogue has no price of {machine.instance} in {self.region_of(machine)}"
        return f"{where}: brimful catalog refresh --region, or usd_per_hour in the inventory"

    def accelerators_of(self, machine: Machine) -> tuple[Fitted, ...] | None:
        """Return a machine's accelerators; None when its type is not known well enough to say."""
        offer = self.offer_of(machine)
        return offer.accelerators if offer else None

    def accelerated(self) -> list[Cited[Machine]]:
        """Return the machines that are known to carry an accelerator."""
        return [item for item in self.machines if self.accelerators_of(item.noun)]

    def accelerator_devices(self) -> list[Cited[Device]]:
        """Return the devices that are known to be no CPUs."""
        return [item for item in self.devices if item.noun.device_kind not in (None, DeviceKind.CPU)]

    def datasheet(self, fitted: Fitted) -> Accelerator | None:
        """Return the datasheet of an accelerator that is fitted in a machine."""
        return self.datasheets.get((fitted.model, fitted.memory_bytes))


def can_be_rented(offer: Offer, region: str) -> bool:
    """Say whether an offer may be advised: listed as available, and priced, in the region."""
    return offer.status is Status.AVAILABLE and offer.usd_per_hour is not None and offer.region == region
