"""The machine types that may be answers, each with its price and what computes in it; and those left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from brimful.advise.fit.cost import reserved
from brimful.advise.fit.host import FeedLimit, feed_limit
from brimful.advise.fit.machines import ChipsOf, Inside, inside, lasting_share, left_out
from brimful.advise.fit.request import Request
from brimful.advise.fit.support import Answer, Supported, Target, support
from brimful.catalog.nouns import ModelFit, OperatorList
from brimful.model.hardware import Accelerator, Chip, DeviceKind, Fitted, Offer
from brimful.model.work import Profile

_TARGETS = {
    "Inferentia": Target.INFERENTIA1,
    "Inferentia2": Target.INFERENTIA2,
    "Trainium": Target.TRAINIUM,
    "Trainium2": Target.TRAINIUM,
}


@dataclass(frozen=True, slots=True)
class Market:
    """What can be rented, and what is known of it; `times_ms` are the arrivals of a trace."""

    offers: Sequence[Offer]
    chips_of: ChipsOf
    sheet: Callable[[Fitted], Accelerator | None]
    operators: Sequence[OperatorList] = ()
    fits: Sequence[ModelFit] = ()
    times_ms: npt.NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A type that may be an answer."""

    offer: Offer
    inside: Inside
    usd_per_hour: float
    price: str
    feed: FeedLimit | None
    support: str | None
    lasting_share: float

    @property
    def kind(self) -> DeviceKind:
        """Return what computes in it."""
        return self.inside.chip.kind

    @property
    def is_neuron(self) -> bool:
        """Say whether it holds Inferentia or Trainium."""
        return self.kind is DeviceKind.NEURON

    @property
    def spare(self) -> bool:
        """Say whether it holds a share of a device."""
        return self.inside.share < 1


@dataclass
class Places:
    """The types that may be answers, and why each of the others is none."""

    found: list[Place] = field(default_factory=list)
    excluded: dict[str, str] = field(default_factory=dict)


def places(market: Market, profile: Profile, request: Request, only: Chip | None = None) -> Places:
    """Return the types that may be answers; `only` keeps those with one device."""
    out = Places()
    feeds: dict[tuple[object, ...], FeedLimit | None] = {}
    verdicts: dict[str, Supported | None] = {}
    for offer in market.offers:
        why = left_out(offer)
        within = inside(offer, market.chips_of) if why is None else why
        if isinstance(within, str):
            out.excluded[offer.instance] = within
            continue
        if only is not None and within.chip.model != only.model:
            continue
        verdict = _verdict(within, profile, market, verdicts)
        if verdict is not None and verdict.answer is Answer.NO:
            out.excluded[offer.instance] = f"{verdict.rule}: {verdict.reason}"
            continue
        usd, price = _price(offer, request)
        if usd is None:
            out.excluded[offer.instance] = price
            continue
        out.found.append(
            Place(
                offer=offer,
                inside=within,
                usd_per_hour=usd,
                price=price,
                feed=_feed(offer, market, request, feeds),
                support=None if verdict is None else _told(verdict),
                lasting_share=lasting_share(offer),
            )
        )
    return out


def _price(offer: Offer, request: Request) -> tuple[float | None, str]:
    """Return the price that counts and what it is called, or None and why there is none."""
    if request.spot:
        if offer.spot_usd_per_hour is None:
            return None, f"its spot price is unknown: {offer.missing.get('spot_usd_per_hour', 'none was fetched')}"
        return offer.spot_usd_per_hour, "spot"
    if offer.usd_per_hour is None:
        return None, "its price is unknown"
    if request.reserved_factor is not None:
        return reserved(offer.usd_per_hour, request.reserved_factor), f"{request.reserved_factor:g} of on demand"
    return offer.usd_per_hour, "on demand"


def _feed(
    offer: Offer, market: Market, request: Request, known: dict[tuple[object, ...], FeedLimit | None]
) -> FeedLimit | None:
    """Return what a host lets through; hosts that are alike in what limits them are worked out once."""
    if request.data_text is None or not request.data.item_bytes:
        return None
    key = (offer.vcpus, offer.network_bytes_per_s, offer.network_peak_bytes_per_s, offer.accelerators)
    if key not in known:
        sheet = market.sheet(offer.accelerators[0]) if offer.accelerators else None
        known[key] = feed_limit(offer, request.data, sheet)
    return known[key]


def _verdict(within: Inside, profile: Profile, market: Market, known: dict[str, Supported | None]) -> Supported | None:
    """Return whether a Neuron device runs the model; of the others their engines run what their frameworks run."""
    name = within.chip.model
    if within.chip.kind is not DeviceKind.NEURON:
        return None
    if name not in known:
        target = _TARGETS.get(name)
        known[name] = None if target is None else support(profile, target, market.operators, market.fits)
    return known[name]


def _told(verdict: Supported) -> str:
    if verdict.answer is Answer.YES:
        return f"yes: {verdict.reason}"
    share = ""
    if verdict.leaves_share is not None:
        share = f" ({verdict.leaves_share:.0%} of the {'time' if verdict.share_of == 'time' else 'arithmetic'})"
    reason = verdict.reason if "compile to know" in verdict.reason else f"compile to know: {verdict.reason}"
    return f"{reason}{share}"
