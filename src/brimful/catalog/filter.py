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
from brimful.catalog.filter_keys import ALIASES, KEYS, Key, models
from brimful.model import units
from brimful.model.errors import UsageError
from brimful.model.hardware import Offer


@dataclass(frozen=True, slots=True)
class Condition:
    """One word of a filter: a key, a comparison and what it is compared with."""

    key: Key
    op: str
    wanted: tuple[Any, ...]
    told: tuple[str, ...]  # the same, as the user wrote it

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
        if not any(_named(offer, name.lower()) for offer in offers):
            raise _no_instance(name, offers)
    asked = [name.lower() for name in wanted.instances]
    named = [item for item in offers if not asked or any(_named(item, name) for name in asked)]
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


# --- words to conditions, and what to say when they make none ---


def _condition(word: str, name: str, op: str, text: str) -> Condition:
    key = KEYS.get(name.lower())
    if key is None:
        raise UsageError(
            f"there is nothing called {name!r} to filter by",
            why=f"the keys are {', '.join(KEYS)}",
            fix=_meant(name.lower(), list(KEYS)) or f"write for instance {KEYS['accelerator'].example}",
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
    told = tuple(part.strip() for part in text.split(",") if part.strip()) if key.parse is None else (text.strip(),)
    wanted = _names(key, op, told) if key.parse is None else (_figure(key, text.strip(), word.strip()),)
    return Condition(key, op, wanted, told)


def _names(key: Key, op: str, told: Sequence[str]) -> tuple[str, ...]:
    """Read the names that a key is compared with; any of them will do. Of few choices, one must be meant."""
    found = tuple(_name(key, part) for part in told)
    compare = _COMPARE["~" if op == "~" else "="]
    strange = [name for name in found if key.choices and not any(compare(choice, name) for choice in key.choices)]
    if strange:
        raise UsageError(
            f"{key.name} is never {strange[0]}",
            why=f"it is one of {', '.join(key.choices)}",
            fix=_meant(strange[0], key.choices) or f"write {key.example}",
        )
    return found


def _name(key: Key, text: str) -> str:
    if key.name == "accelerator":
        return names.key(text)
    return ALIASES.get(text.lower(), text.lower()) if key.name == "arch" else text.lower()


def _figure(key: Key, text: str, word: str) -> float:
    """Read the figure that a key is compared with; a bare one that would count bytes is more often a slip."""
    try:
        value = (key.parse or float)(text)
    except (ValueError, ZeroDivisionError) as error:
        raise UsageError(
            f"{word!r} compares {key.name} with no figure", why=str(error), fix=f"write {key.example}"
        ) from error
    if value < 0:
        why = f"nothing has less {key.name} than 0"
        raise UsageError(f"{word!r} compares {key.name} with a negative figure", why=why, fix=f"write {key.example}")
    if key.unit and value and units.is_bare(text):
        why = "a figure alone would count bytes"
        raise UsageError(f"{word!r} has no unit", why=why, fix=f"did you mean {word}{key.unit}?")
    return value


def _instance(word: str) -> str:
    if word.lower() in KEYS:
        why = "it is the name of a key and says nothing about its value"
        raise UsageError(f"{word!r} is no instance type", why=why, fix=f"write {KEYS[word.lower()].example}")
    if not word:
        raise UsageError("an empty word filters nothing", why="a word is a condition or a name", fix="leave it out")
    if word[0] in "=<>!~:":
        why = "nothing stands before the comparison"
        raise UsageError(f"{word!r} names no key", why=why, fix=f"write accelerator{word}, or another key before it")
    return word


def _no_instance(name: str, offers: Sequence[Offer]) -> UsageError:
    known = {offer.instance for offer in offers} | {offer.family for offer in offers}
    model = names.key(name)
    if any(_equal(value, model) for offer in offers for value in models(offer) or ()):
        why = "a word alone names an instance type or a family; this is the name of an accelerator"
        return UsageError(f"{name!r} is no instance type and no family", why=why, fix=f"write accelerator={name}")
    what = "pattern matches no" if any(mark in name for mark in "*?[") else "name is no"
    return UsageError(
        f"the {what} instance type and no family: '{name}'",
        why=f"the catalogue has {len(offers):,} offers, and none is called that",
        fix=_meant(name.lower(), known) or "name a family (g6), a type (g6.xlarge) or a pattern (g6.*)",
    )


def _hint(item: Condition, offers: Sequence[Offer]) -> str:
    """Say that a name occurs nowhere, which is a slip of the pen more often than a fact."""
    if item.key.parse or item.op != "=":
        return ""
    known = {value for offer in offers for value in item.key.values(offer) or ()}
    strange = {
        told: name
        for told, name in zip(item.told, item.wanted, strict=True)
        if not any(_equal(value, name) for value in known)
    }
    if not strange:
        return ""
    advice = _meant(next(iter(strange.values())), _spelled(item.key, offers))
    if item.key.name == "region":
        advice = f"the catalogue knows {', '.join(sorted(known))}; brimful catalog refresh fetches other regions."
    return f"No offer has {item.key.name}={', '.join(strange)}. {advice[:1].upper()}{advice[1:]}".strip()


def _spelled(key: Key, offers: Iterable[Offer]) -> dict[str, str]:
    """Return the names that a key can have, as they are compared, and as their makers write them."""
    if key.name == "accelerator":
        return {names.key(item.model): item.model for offer in offers for item in offer.accelerators or ()}
    return {value: value for offer in offers for value in key.values(offer) or ()}


def _meant(name: str, known: Iterable[str] | Mapping[str, str]) -> str:
    spelled = known if isinstance(known, Mapping) else {item: item for item in known}
    near = difflib.get_close_matches(name, sorted(spelled), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(spelled[item] for item in near)}?" if near else ""


def _other_op(key: Key, op: str, text: str, allowed: Sequence[str]) -> str:
    turned = op[::-1]
    return f"write {key.name}{turned}{text}" if turned in allowed else f"write {key.example}"
