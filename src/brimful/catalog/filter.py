"""The filter language of `catalog show`: `accelerator=L4 memory>=48GiB price<1usd g6.*` to a choice among offers.

Words are conditions, and all of them must hold; words without a comparison name instance types or families, and any
of them may. What is unknown of an offer satisfies no comparison, and `select` counts what was left out for that reason
alone, so that "nothing found" and "nothing known" can be told apart. One table, KEYS, drives parsing, errors and docs.
"""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from brimful.catalog import names
from brimful.model import units
from brimful.model.errors import UsageError
from brimful.model.hardware import Fitted, Offer, Status

_Values = tuple[Any, ...] | None  # None: unknown; (): there is no such thing in this offer


@dataclass(frozen=True, slots=True)
class Key:
    """Something of an offer that can be asked for; `parse` is None for names, which are compared as text."""

    name: str
    what: str
    example: str
    values: Callable[[Offer], _Values]
    parse: Callable[[str], float] | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """One word of a filter: a key, a comparison and what it is compared with."""

    key: Key
    op: str
    wanted: tuple[Any, ...]
    word: str

    def holds(self, offer: Offer) -> bool | None:
        """Return whether an offer satisfies the condition; None when what it asks for is unknown."""
        values = self.key.values(offer)
        if values is None:
            return None
        if self.op == "!=":
            return not any(_equal(value, wanted) for value in values for wanted in self.wanted)
        compare = _COMPARE[self.op]
        return any(compare(value, wanted) for value in values for wanted in self.wanted)


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter: conditions that must all hold, and names of which one must match."""

    conditions: tuple[Condition, ...] = ()
    instances: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """What a filter found, cheapest first, and how many offers were passed over because something asked is unknown."""

    offers: tuple[Offer, ...]
    untold: int = 0
    untold_by: Mapping[str, int] = field(default_factory=dict)  # key -> how many; one offer may count under several
    hints: tuple[str, ...] = ()


def parse(words: Sequence[str]) -> Filter:
    """Read the words of a filter; raise UsageError for a key, a comparison or a unit that does not exist."""
    conditions, instances = [], []
    for word in words:
        match = _CONDITION.fullmatch(word.strip())
        if match is None:
            instances.append(_instance(word.strip()))
        else:
            conditions.append(_condition(word, *match.groups()))
    return Filter(tuple(conditions), tuple(instances))


def select(offers: Iterable[Offer], wanted: Filter) -> Selection:
    """Return the offers that a filter lets through, by price per hour; unknown prices come last."""
    offers = tuple(offers)
    for name in wanted.instances:
        if not any(_named(offer, name) for offer in offers):
            raise _no_instance(name, offers)
    named = [item for item in offers if not wanted.instances or any(_named(item, name) for name in wanted.instances)]
    found, untold, untold_by = [], 0, Counter[str]()
    for offer in named:
        answers = [(item, item.holds(offer)) for item in wanted.conditions]
        if any(answer is False for _, answer in answers):
            continue
        unknown = {item.key.name for item, answer in answers if answer is None}
        if unknown:
            untold += 1
            untold_by.update(unknown)
        else:
            found.append(offer)
    found.sort(key=_by_price)
    hints = tuple(hint for item in wanted.conditions if (hint := _hint(item, offers)))
    return Selection(tuple(found), untold, dict(untold_by), hints)


def _by_price(offer: Offer) -> tuple[bool, float, float, str]:
    price = offer.usd_per_hour
    return price is None, price or 0.0, float(offer.vcpus or 0), offer.instance


# --- names ---


def _named(offer: Offer, name: str) -> bool:
    return fnmatchcase(offer.instance, name) or offer.family == name


def _equal(value: Any, wanted: Any) -> bool:
    if isinstance(value, str):
        return fnmatchcase(value, wanted)
    return math.isclose(value, wanted)


def _contains(value: Any, wanted: Any) -> bool:
    return str(wanted) in str(value)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": _equal,
    "~": _contains,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
OPERATORS = ("=", "!=", ">=", "<=", ">", "<", "~")
_FOR_NAMES = ("=", "!=", "~")
_CONDITION = re.compile(r"([A-Za-z_]+)\s*([=!<>~:]+)\s*(.*)")


# --- what an offer says ---


def _one(value: Any) -> _Values:
    return None if value is None else (value,)


def _lower(value: Any) -> _Values:
    return None if value is None else (str(value).lower(),)


def _each(offer: Offer, value: Callable[[Fitted], Any]) -> _Values:
    """Return a figure of each accelerator; unknown when it is unknown of any."""
    if offer.accelerators is None:
        return None
    found = tuple(value(item) for item in offer.accelerators)
    return None if any(item is None for item in found) else found


def _total(offer: Offer, value: Callable[[Fitted], Any]) -> _Values:
    found = _each(offer, value)
    return None if found is None else (sum(found),)


def _models(offer: Offer) -> _Values:
    """Return the names of what is fitted: "a100", and with the size of a whole device "a100 80gb"."""
    if offer.accelerators is None:
        return None
    out = []
    for item in offer.accelerators:
        out.append(names.key(item.model))
        if item.memory_bytes is not None:
            out.append(names.key(f"{item.model}-{item.memory_bytes / item.share / units.GIB:.0f}GB"))
    return tuple(out)


def _device_memory(item: Fitted) -> float | None:
    return item.memory_bytes


def _share(text: str) -> float:
    over, slash, under = text.partition("/")
    return units.parse_count(over) / units.parse_count(under) if slash else units.parse_count(text)


def _clock(text: str) -> float:
    number, unit = re.sub(r"[^0-9.]", "", text), re.sub(r"[0-9. ]", "", text).lower()
    if unit not in ("ghz", "mhz"):
        raise ValueError(f"{text!r} is no clock (known: GHz, MHz; e.g. 3.5GHz)")
    return float(number) * (1000 if unit == "ghz" else 1)


def _key_table(*keys: Key) -> dict[str, Key]:
    return {key.name: key for key in keys}


KEYS: dict[str, Key] = _key_table(
    Key("accelerator", "model of accelerator; A100-80GB tells sizes apart", "accelerator=L4", _models),
    Key(
        "vendor",
        "maker of the accelerator",
        "vendor=NVIDIA",
        lambda offer: _each(offer, lambda item: item.vendor.lower()),
    ),
    Key(
        "kind",
        "gpu, neuron, gaudi, fpga, media, npu",
        "kind=neuron",
        lambda offer: _each(offer, lambda item: item.kind.value),
    ),
    Key(
        "count",
        "how many devices it shows",
        "count=8",
        lambda offer: _total(offer, lambda item: item.count),
        units.parse_count,
    ),
    Key(
        "share",
        "how much of a whole device each is",
        "share<1",
        lambda offer: _each(offer, lambda item: item.share),
        _share,
    ),
    Key(
        "accelerator_memory",
        "nominal memory of all its devices together",
        "accelerator_memory>=40GB",
        lambda offer: _total(offer, lambda item: None if item.memory_bytes is None else item.memory_bytes * item.count),
        units.parse_bytes,
    ),
    Key(
        "device_memory",
        "nominal memory of one device (of the share, for a share)",
        "device_memory>=80GiB",
        lambda offer: _each(offer, _device_memory),
        units.parse_bytes,
    ),
    Key(
        "usable_memory",
        "what a program can allocate of one device",
        "usable_memory>=2.7GiB",
        lambda offer: _each(offer, lambda item: item.usable_memory_bytes),
        units.parse_bytes,
    ),
    Key("instance", "instance type", "instance=g6.xlarge", lambda offer: _lower(offer.instance)),
    Key("family", "family of instance types", "family=g6", lambda offer: _lower(offer.family)),
    Key("vcpus", "vCPUs", "vcpus<=8", lambda offer: _one(offer.vcpus), units.parse_count),
    Key("cores", "physical cores", "cores>=4", lambda offer: _one(offer.cores), units.parse_count),
    Key("memory", "memory of the machine", "memory>=48GiB", lambda offer: _one(offer.memory_bytes), units.parse_bytes),
    Key("arch", "x86_64 or arm64", "arch=arm64", lambda offer: _lower(offer.arch)),
    Key("cpu", "maker of the CPU", "cpu=AMD", lambda offer: _lower(offer.cpu_vendor)),
    Key("clock", "sustained clock of the CPU", "clock>=3.5GHz", lambda offer: _one(offer.clock_mhz), _clock),
    Key(
        "network",
        "network it can keep up",
        "network>=25Gbps",
        lambda offer: _one(offer.network_bytes_per_s),
        units.parse_bytes_per_s,
    ),
    Key(
        "network_peak",
        "network it can burst to",
        "network_peak>=25Gbps",
        lambda offer: _one(offer.network_peak_bytes_per_s),
        units.parse_bytes_per_s,
    ),
    Key("efa", "yes or no: Elastic Fabric Adapter", "efa=yes", lambda offer: _yes_no(offer.efa)),
    Key(
        "ebs",
        "rate to EBS that it can keep up",
        "ebs>=500MB/s",
        lambda offer: _one(offer.ebs_bytes_per_s),
        units.parse_bytes_per_s,
    ),
    Key("nvme", "local NVMe flash", "nvme>0", lambda offer: _one(offer.nvme_bytes), units.parse_bytes),
    Key(
        "price", "on-demand, US dollars per hour", "price<1usd", lambda offer: _one(offer.usd_per_hour), units.parse_usd
    ),
    Key("spot", "spot, US dollars per hour", "spot<1usd", lambda offer: _one(offer.spot_usd_per_hour), units.parse_usd),
    Key("region", "region", "region=us-east-1", lambda offer: _lower(offer.region)),
    Key("status", "available, withdrawn, unknown", "status=withdrawn", lambda offer: _lower(offer.status.value)),
)


def _yes_no(value: bool | None) -> _Values:  # noqa: FBT001 - it is the value itself, not a switch
    return None if value is None else ("yes" if value else "no",)


# --- words to conditions, and what to say when they make none ---


def _condition(word: str, name: str, op: str, text: str) -> Condition:
    key = KEYS.get(name.lower())
    if key is None:
        raise UsageError(
            f"there is nothing called {name!r} to filter by",
            why=f"the keys are {', '.join(KEYS)}",
            fix=_meant(name.lower(), KEYS) or f"write for instance {KEYS['accelerator'].example}",
        )
    op = "=" if op == "==" else op
    allowed = OPERATORS[:-1] if key.parse else _FOR_NAMES
    if op not in allowed:
        why = f"{key.name} is {'a figure' if key.parse else 'a name'} and takes {' '.join(allowed)}"
        raise UsageError(
            f"{word!r} has no comparison that {key.name} knows", why=why, fix=_other_op(key, op, text, allowed)
        )
    if not text.strip():
        raise UsageError(
            f"{word!r} compares with nothing", why="nothing stands after the comparison", fix=f"write {key.example}"
        )
    return Condition(key, op, _wanted(key, text.strip(), word), word)


def _wanted(key: Key, text: str, word: str) -> tuple[Any, ...]:
    """Read what a key is compared with; of names there may be several, and any of them will do."""
    if key.parse is None:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        normal = names.key if key.name == "accelerator" else str.lower
        found = tuple(normal(part) for part in parts)
        if key.name == "status" and (bad := set(found) - {item.value for item in Status}):
            known = [item.value for item in Status]
            raise UsageError(
                f"no offer has the status {', '.join(sorted(bad))}",
                why=f"the states are {', '.join(known)}",
                fix=_meant(min(bad), known) or f"write {key.example}",
            )
        return found
    try:
        return (key.parse(text),)
    except (ValueError, ZeroDivisionError) as error:
        raise UsageError(
            f"{word!r} compares {key.name} with no figure", why=str(error), fix=f"write {key.example}"
        ) from error


def _instance(word: str) -> str:
    name = word.lower()
    if name in KEYS:
        why = "it is the name of a key and says nothing about its value"
        raise UsageError(f"{word!r} is no instance type", why=why, fix=f"write {KEYS[name].example}")
    if not name:
        raise UsageError("an empty word filters nothing", why="a word is a condition or a name", fix="leave it out")
    return name


def _no_instance(name: str, offers: Sequence[Offer]) -> UsageError:
    known = {offer.instance for offer in offers} | {offer.family for offer in offers}
    model = names.key(name)
    if any(_equal(value, model) for offer in offers for value in _models(offer) or ()):
        why = "a word alone names an instance type or a family; this is the name of an accelerator"
        return UsageError(f"{name!r} is no instance type and no family", why=why, fix=f"write accelerator={name}")
    what = "pattern matches no" if any(mark in name for mark in "*?[") else "name is no"
    return UsageError(
        f"the {what} instance type and no family: {name!r}",
        why=f"the catalogue has {len(offers):,} offers, and none is called that",
        fix=_meant(name, known) or "name a family (g6), a type (g6.xlarge) or a pattern (g6.*)",
    )


def _hint(item: Condition, offers: Sequence[Offer]) -> str:
    """Say that a name occurs nowhere, which is a slip of the pen more often than a fact."""
    if item.key.parse or item.op != "=":
        return ""
    known = {value for offer in offers for value in item.key.values(offer) or ()}
    strange = [name for name in item.wanted if not any(_equal(value, name) for value in known)]
    if not strange:
        return ""
    advice = _meant(strange[0], known)
    if item.key.name == "region":
        advice = f"The catalogue knows {', '.join(sorted(known))}; brimful catalog refresh fetches other regions."
    return f"No offer has {item.key.name}={', '.join(strange)}. {advice}".strip()


def _meant(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else ""


def _other_op(key: Key, op: str, text: str, allowed: Sequence[str]) -> str:
    turned = op[::-1]
    return f"write {key.name}{turned}{text}" if turned in allowed else f"write {key.example}"
