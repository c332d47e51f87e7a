"""An answer of AWS laid over what the catalogue knew: the offers of a region as they are now. Pure functions.

The rule for the status: what EC2 offers in the region is available, and nothing else is. A price, a description or an
enum entry proves nothing. What is not offered is unknown, unless the catalogue knows that it was withdrawn and how.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date
from typing import Any

from brimful.clouds.aws_errors import half_answer
from brimful.clouds.ec2_catalog import Answer
from brimful.clouds.ec2_prices import COMPONENTS, Rates
from brimful.clouds.ec2_types import LICENCE, SOURCE, family_of, offer_from_describe
from brimful.model.hardware import Offer, Status, WithdrawalEvidence
from brimful.model.noun import with_gaps
from brimful.model.units import format_usd

PRICE_SOURCE = "AWS Price List API: GetProducts"
_TELLING = 100  # from so many on, losing half of them is no news but a fault
_NOT_WITHDRAWN = {"withdrawn_on": None, "withdrawal": None}


@dataclass(frozen=True, slots=True)
class Known:
    """What the catalogue knew of EC2's types: in this region, and in another one, announced ends first."""

    here: Mapping[str, Offer]
    elsewhere: Mapping[str, Offer]


@dataclass(frozen=True, slots=True)
class Laid:
    """The offers of a region, and which descriptions could not be read, by why."""

    offers: tuple[Offer, ...]
    unreadable: Mapping[str, list[str]]


def known(offers: Iterable[Offer], region: str) -> Known:
    """Return what offers say about a region and, in so far as it holds there too, about others."""
    here: dict[str, Offer] = {}
    elsewhere: dict[str, Offer] = {}
    for offer in offers:
        name = offer.instance
        if name.startswith("ml."):
            continue
        if offer.region == region:
            here[name] = offer
        elif name not in elsewhere or _is_announced(offer):
            elsewhere[name] = offer
    return Known(here, elsewhere)


def _is_announced(offer: Offer | None) -> bool:
    """Say whether AWS announced an end: that holds in every region, as absence from one region's list does not."""
    return offer is not None and offer.withdrawal is WithdrawalEvidence.ANNOUNCED


def check_whole(answer: Answer, old: Known) -> None:
    """Refuse an answer that looks complete and has lost most of a region: no region has ever shrunk like that."""
    counts = (
        ("ec2:DescribeInstanceTypes", "types", len(answer.types), _count(old, "specification_date")),
        ("pricing:GetProducts", "prices", len(answer.prices.usd_per_hour), _count(old, "usd_per_hour")),
    )
    for action, what, now, before in counts:
        if before >= _TELLING and now * 2 < before:
            raise half_answer(action, answer.region, f"it has {now} {what}, where the catalogue knows {before}")


def _count(old: Known, field: str) -> int:
    return sum(getattr(offer, field) is not None for offer in old.here.values())


def ec2_offers(answer: Answer, old: Known) -> Laid:
    """Return an offer for every type that is described, offered, priced, or that the catalogue knew in the region."""
    unreadable: dict[str, list[str]] = {}
    names = {*answer.types, *answer.offered, *answer.prices.usd_per_hour, *old.here}
    offers = []
    for name in sorted(names):
        base = _described(name, answer, unreadable) or old.here.get(name) or _undescribed(name, answer, old)
        base = _with_status(base, answer, old)
        base = _with_price(base, answer.prices, answer.day)
        offers.append(_with_spot(base, answer, old.here.get(name)))
    return Laid(tuple(offers), unreadable)


def sagemaker_offers(answer: Answer, ec2: Iterable[Offer], old: Known) -> tuple[Offer, ...]:
    """Return an offer for each of SageMaker's instance types, at the price of hosting.

    The machine is that of the EC2 type of the same name. SageMaker publishes no list of what can be had, so the status
    of every one of them is unknown.
    """
    machines = {offer.instance: offer for offer in ec2}
    rates = answer.sagemaker or {}
    names = {name for found in rates.values() for name in found.usd_per_hour}
    return tuple(
        _sagemaker_offer(name, machines.get(machine) or _undescribed(machine, answer, old), answer)
        for name, machine in sorted((name, name.removeprefix("ml.")) for name in names)
    )


def _described(name: str, answer: Answer, unreadable: dict[str, list[str]]) -> Offer | None:
    if name not in answer.types:
        return None
    try:
        return offer_from_describe(answer.types[name], region=answer.region, day=answer.day)
    except ValueError as error:
        unreadable.setdefault(str(error), []).append(name)
        return None


def _undescribed(name: str, answer: Answer, old: Known) -> Offer:
    """Return the offer of a type that EC2 does not describe here: the machine is the one known elsewhere, if any."""
    known_machine = old.elsewhere.get(name)
    if known_machine is None:
        return with_gaps(
            Offer,
            "EC2 does not describe this type",
            instance=name,
            family=family_of(name),
            region=answer.region,
            status=Status.UNKNOWN,
            source=SOURCE,
            licence=LICENCE,
        )
    values: dict[str, Any] = {"usd_per_hour": None, "price_date": None, "spot_usd_per_hour": None, "spot_date": None}
    reasons = {"usd_per_hour": "not looked up yet", "price_date": "not looked up yet"}
    values |= {"region": answer.region, "status": Status.UNKNOWN, "successors": (), "note": "", **_NOT_WITHDRAWN}
    return changed(known_machine, reasons, **values)


def _with_status(base: Offer, answer: Answer, old: Known) -> Offer:
    name = base.instance
    before = old.here.get(name)
    source = _cited(base, SOURCE)
    if name in answer.offered:
        # The note of an unknown status says since when it is unknown: past now.
        note = "" if base is before and base.status is not Status.AVAILABLE else base.note
        return changed(base, status=Status.AVAILABLE, note=note, **_NOT_WITHDRAWN, **source)
    elsewhere = old.elsewhere.get(name)
    withdrawn = before if before is not None and before.status is Status.WITHDRAWN else elsewhere
    if withdrawn is not None and (withdrawn is before or _is_announced(withdrawn)):
        kept = {key: getattr(withdrawn, key) for key in ("withdrawn_on", "withdrawal", "successors", "note")}
        why = withdrawn.missing.get("withdrawn_on", "")
        reasons = {"withdrawn_on": why} if why else {}
        return changed(base, reasons, status=Status.WITHDRAWN, **kept, **source)
    if before is not None and before.status is Status.UNKNOWN and before.note:
        return changed(base, status=Status.UNKNOWN, note=before.note, **source)
    seen = f"Not among the types that EC2 offers in {answer.region}, as first seen on {answer.day}."
    return changed(base, status=Status.UNKNOWN, note=f"{seen} {base.note}".strip(), **source)


def _with_price(base: Offer, rates: Rates, day: date) -> Offer:
    usd = rates.usd_per_hour.get(base.instance)
    if usd is not None:
        return changed(base, usd_per_hour=usd, price_date=day, **_cited(base, PRICE_SOURCE))
    unusable = rates.unusable.get(base.instance)
    why = f"the price list has no price in {base.region}"
    if unusable:
        why = f"its price in the list cannot be used: {unusable}"
    elif base.instance.startswith("mac"):
        why = "a Mac is rented as a dedicated host, which has its own price list"
    return changed(base, {"usd_per_hour": why, "price_date": why}, usd_per_hour=None, price_date=None)


def _with_spot(base: Offer, answer: Answer, before: Offer | None) -> Offer:
    """Lay a spot price on an offer; when none were read the old one stays, with its date."""
    names = ("spot_usd_per_hour", "spot_date")
    if answer.spot is None:
        if before is None:
            return base
        kept = {name: getattr(before, name) for name in names}
        return changed(base, {name: before.missing[name] for name in names if name in before.missing}, **kept)
    usd = answer.spot.usd_per_hour.get(base.instance)
    if usd is not None:
        return changed(base, spot_usd_per_hour=usd, spot_date=answer.day)
    why = f"no spot price in {base.region}"
    return changed(base, dict.fromkeys(names, why), spot_usd_per_hour=None, spot_date=None)


def _sagemaker_offer(name: str, machine: Offer, answer: Answer) -> Offer:
    rates = answer.sagemaker or {}
    usd = {use: found.usd_per_hour[name] for use, found in rates.items() if name in found.usd_per_hour}
    hosting = usd.get(COMPONENTS[0])
    why = f"SageMaker has no price for hosting on it in {answer.region}"
    no_spot = "SageMaker has no spot prices: managed spot training bills what it saved"
    listed = ", ".join(f"{use.lower()} {format_usd(usd[use])}" for use in COMPONENTS if use in usd)
    reasons = {"spot_usd_per_hour": no_spot, "spot_date": no_spot}
    if hosting is None:
        reasons |= {"usd_per_hour": why, "price_date": why}
    return changed(
        machine,
        reasons,
        instance=name,
        family=family_of(name),
        usd_per_hour=hosting,
        price_date=answer.day if hosting is not None else None,
        spot_usd_per_hour=None,
        spot_date=None,
        status=Status.UNKNOWN,
        successors=(),
        note=f"SageMaker, $/hour: {listed}; hosting's is the price here. SageMaker does not list what can be had.",
        **_NOT_WITHDRAWN,
        **_cited(machine, PRICE_SOURCE),
    )


def _cited(base: Offer, source: str) -> dict[str, str]:
    """Return the fields source and licence with one more source in them."""
    sources = dict.fromkeys([*base.source.split("; "), source])
    licences = dict.fromkeys([*base.licence.split(" AND "), LICENCE])
    return {"source": "; ".join(sources), "licence": " AND ".join(licences)}


def changed(offer: Offer, reasons: Mapping[str, str] | None = None, /, **values: Any) -> Offer:
    """Return an offer with other values; `reasons` says why one of them is unknown now, unless its field does."""
    cells = {item.name: getattr(offer, item.name) for item in fields(offer) if item.name != "missing"} | values
    given = {name: why for name, why in offer.missing.items() if name not in values} | dict(reasons or {})
    return Offer(**{**cells, "missing": {name: why for name, why in given.items() if cells[name] is None}})
