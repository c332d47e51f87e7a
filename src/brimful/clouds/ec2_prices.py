"""Rows of AWS's price list and of its spot prices, made USD an hour; what cannot be used is counted, with why.

The price list comes as JSON inside JSON, one text a product. Nothing here goes to a network, and nothing here turns a
price that is zero, negative, in another currency or not a number into one that is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

COMPONENTS = ("Hosting", "Training", "Notebook")  # the uses of a SageMaker instance that have prices of their own
SPOT_PRODUCTS = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")  # one thing: the second is what accounts with EC2-Classic saw

_HOURS = {"hrs", "hr", "hours", "hour"}
# What a row of the price list must say where it says anything at all. The first four are asked for as filters too; the
# last two keep out what shares all of them: Capacity Blocks (listed at 0) and Local Zones.
EC2_FILTERS = {"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"}
_EC2_MUST = {**EC2_FILTERS, "marketoption": "OnDemand", "locationType": "AWS Region"}
_SAGEMAKER_MUST = {"locationType": "AWS Region"}


@dataclass(slots=True)
class Rates:
    """USD an hour by instance type; which types have a price that cannot be used; rows passed over, by why."""

    usd_per_hour: dict[str, float] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, list[str]] = field(default_factory=dict)

    def skip(self, why: str, name: str) -> None:
        """Count a row that was passed over."""
        self.skipped.setdefault(why, []).append(name)


class _Dimension(msgspec.Struct, frozen=True):
    unit: str = ""
    price: dict[str, str] = msgspec.field(default={}, name="pricePerUnit")


class _Term(msgspec.Struct, frozen=True):
    dimensions: dict[str, _Dimension] = msgspec.field(default={}, name="priceDimensions")


class _Terms(msgspec.Struct, frozen=True):
    on_demand: dict[str, _Term] = msgspec.field(default={}, name="OnDemand")


class _Product(msgspec.Struct, frozen=True):
    attributes: dict[str, str]
    sku: str = ""


class _Row(msgspec.Struct, frozen=True):
    """A product of the price list, as far as its hourly price needs it."""

    product: _Product
    terms: _Terms = _Terms()


def on_demand(texts: Iterable[Any], region: str) -> Rates:
    """Return the on-demand prices of EC2's instance types from rows of the price list."""
    must = {**_EC2_MUST, "regionCode": region}
    return _rates(texts, must, ("instanceType",))


def sagemaker(texts: Iterable[Any], region: str, component: str) -> Rates:
    """Return the prices of SageMaker's instance types for one use of them."""
    must = {**_SAGEMAKER_MUST, "regionCode": region, "component": component}
    found = _rates(texts, must, ("instanceName", "instanceType"))
    # Older rows call the instance `ml.p3.2xlarge-Hosting`; storage and data have rows here too, and are no instances.
    return Rates(
        usd_per_hour={name: usd for name, usd in found.usd_per_hour.items() if name.startswith("ml.")},
        unusable={name: why for name, why in found.unusable.items() if name.startswith("ml.")},
        skipped={why: names for why, names in found.skipped.items() if why != _NAMELESS},
    )


_NAMELESS = "it names no instance type"


def _rates(texts: Iterable[Any], must: Mapping[str, str], keys: tuple[str, ...]) -> Rates:
    rates = Rates()
    seen: dict[str, set[float]] = {}
    for text in texts:
        try:
            row = _row(text)
        except ValueError as error:
            rates.skip(str(error), "?")
            continue
        attributes = row.product.attributes
        if any(attributes.get(key, value) != value for key, value in must.items()):
            continue  # another way to buy the same type: not asked for, so not missing either
        name = _name(attributes, keys, must)
        if not name:
            rates.skip(_NAMELESS, row.product.sku or "?")
            continue
        try:
            prices = _hourly(row.terms)
        except ValueError as error:
            rates.skip(str(error), name)
            rates.unusable.setdefault(name, str(error))
            continue
        seen.setdefault(name, set()).update(prices)
    for name, prices in seen.items():
        _settle(rates, name, prices)
    return rates


def _settle(rates: Rates, name: str, prices: set[float]) -> None:
    """Take the one price of a type; of two different ones none is known to be the price."""
    if len(prices) == 1:
        rates.usd_per_hour[name] = prices.pop()
        rates.unusable.pop(name, None)
        return
    why = "the price list gives several prices for it"
    rates.unusable[name] = f"{why}: {', '.join(f'{price:g}' for price in sorted(prices))} USD"
    rates.skip(why, name)


def _row(text: Any) -> _Row:
    try:
        if isinstance(text, str | bytes):
            return msgspec.json.decode(text, type=_Row)
        return msgspec.convert(text, _Row)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ValueError("it is not in the form of the price list") from error


def _name(attributes: Mapping[str, str], keys: tuple[str, ...], must: Mapping[str, str]) -> str:
    """Return the instance type that a row is about, without the use that older rows of SageMaker hang on to it."""
    name = next((attributes[key] for key in keys if attributes.get(key)), "")
    head, _, tail = name.rpartition("-")
    return head if tail and tail.lower() == must.get("component", "").lower() else name


def _hourly(terms: _Terms) -> set[float]:
    """Return the positive prices in USD an hour among the terms, or say why there is none."""
    found: set[float] = set()
    why = "it has no on-demand price"
    for dimension in _dimensions(terms):
        if dimension.unit.lower() not in _HOURS:
            why = f"its unit is {dimension.unit!r}, not an hour"
            continue
        if "USD" not in dimension.price:
            why = f"it is priced in {', '.join(sorted(dimension.price)) or 'nothing'}, not in USD"
            continue
        try:
            found.add(_usd(dimension.price["USD"]))
        except ValueError as error:
            why = str(error)
    if not found:
        raise ValueError(why)
    return found


def _dimensions(terms: _Terms) -> Iterator[_Dimension]:
    for term in terms.on_demand.values():
        yield from term.dimensions.values()


def _usd(text: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise ValueError("its price is no number") from error
    if not math.isfinite(value):
        raise ValueError("its price is no number")
    if value < 0:
        raise ValueError("its price is negative")
    if value == 0:
        raise ValueError("its price is 0")
    return value


def spot(rows: Iterable[Any]) -> Rates:
    """Return the spot price of each type: of the latest price in each zone, the lowest.

    The lowest, because whoever takes a spot machine is free to choose its zone; the other zones cost more.
    """
    rates = Rates()
    latest: dict[tuple[str, str], tuple[float, float]] = {}
    for row in rows:
        name = "?"
        try:
            name, zone, at = _spot_key(row)
            if row.get("ProductDescription") not in SPOT_PRODUCTS:
                continue
            entry = at, _usd(str(row.get("SpotPrice")))
        except ValueError as error:
            rates.skip(str(error), name)
            continue
        latest[name, zone] = max(latest.get((name, zone), entry), entry)
    for (name, _), (_, usd) in latest.items():
        rates.usd_per_hour[name] = min(usd, rates.usd_per_hour.get(name, usd))
    return rates


def _spot_key(row: Any) -> tuple[str, str, float]:
    if not isinstance(row, Mapping):
        raise ValueError("it is not in the form of a spot price")
    name, zone = row.get("InstanceType"), row.get("AvailabilityZone") or row.get("AvailabilityZoneId")
    at = row.get("Timestamp")
    if not (isinstance(name, str) and name and isinstance(zone, str) and isinstance(at, datetime)):
        raise ValueError("it lacks its type, its zone or its time")
    try:
        return name, zone, at.timestamp()
    except (OverflowError, OSError) as error:
        raise ValueError("its time cannot be read") from error
