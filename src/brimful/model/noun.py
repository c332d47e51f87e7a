"""The base of all nouns: frozen, checked, and never silent about what is missing.

One convention carries the rule "absent is not zero": a field that may be unknown has the type `X | None`, and when
it is None the noun's `missing` says why, under the field's name. Both are checked when the noun is made, so a None
without a reason cannot exist, nor a reason beside a known value. The JSON form is the same: `null`, and the reason in
`"missing": {key: reason}` beside it.
"""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import date, datetime
from typing import Any, TypeVar, dataclass_transform

from brimful.model import units

_T = TypeVar("_T")
_N = TypeVar("_N", bound="Noun")
_Check = Callable[[str, Any], None]


def unknown(why: str | None = None) -> Any:
    """Declare a field that may be unknown; `why` is the reason when its maker gives none."""
    return field(default=None, metadata={"why": why})


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def noun(cls: type[_T]) -> type[_T]:
    """Make a class a noun: a frozen, slotted dataclass that takes keyword arguments alone."""
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


@noun
class Noun:
    """What every noun has: the reasons for what is missing, and checks when it is made."""

    missing: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        missing = self.missing
        reasons = dict(missing)
        for name, check, optional, why in _plan(type(self)):
            value = getattr(self, name)
            if value is not None:
                check(name, value)
                if name in reasons:
                    raise ValueError(f"{name} is known ({value!r}), so missing cannot give a reason for it")
            elif not optional:
                raise ValueError(f"{name} cannot be unknown")
            elif not reasons.get(name):
                if why is None:
                    raise ValueError(f"{name} is unknown: missing must say why")
                reasons[name] = why
        stray = reasons.keys() - {name for name, _, _, _ in _plan(type(self))}
        if stray:
            raise ValueError(f"missing names {', '.join(sorted(stray))}, which {type(self).__name__} does not have")
        if len(reasons) != len(missing):
            object.__setattr__(self, "missing", reasons)
        self._agree()

    def _agree(self) -> None:
        """Raise ValueError when fields contradict one another; each noun with such a rule overrides this."""


def with_gaps(cls: type[_N], why: str, /, **known: Any) -> _N:
    """Make a noun of which only some fields are known; `why` is the reason for each of the others."""
    given = {name: value for name, value in known.items() if value is not None}
    missing = dict(known.get("missing", {}))
    for item in fields(cls):
        if "why" in item.metadata and item.name not in given and item.metadata["why"] is None:
            missing.setdefault(item.name, why)
    return cls(**{**given, "missing": missing})


def plain(value: Any) -> Any:
    """Turn a noun into what JSON has: dicts, lists, strings, numbers. An empty `missing` is left out."""
    if isinstance(value, Noun):
        out = {item.name: plain(getattr(value, item.name)) for item in fields(value) if item.name != "missing"}
        if value.missing:
            out["missing"] = dict(value.missing)
        return out
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, date | datetime):
        return value.isoformat()
    return value.value if isinstance(value, enum.Enum) else value


_Plan = tuple[tuple[str, _Check, bool, str | None], ...]
_PLANS: dict[Any, _Plan] = {}


def _plan(cls: type[Noun]) -> _Plan:
    """Return how each field of a class is checked: name, check, may it be unknown, the reason if nobody gives one."""
    plan = _PLANS.get(cls)
    if plan is None:
        plan = _PLANS[cls] = _make_plan(cls)
    return plan


def _make_plan(cls: type[Noun]) -> _Plan:
    hints = typing.get_type_hints(cls)
    plan = []
    for item in fields(cls):
        if item.name == "missing":
            continue
        hint, optional = _without_none(hints[item.name])
        if optional and item.default is MISSING:
            raise TypeError(f"{cls.__name__}.{item.name} may be None: declare it with unknown()")
        plan.append((item.name, _checker(item.name, hint), optional, item.metadata.get("why")))
    return tuple(plan)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        rest = [part for part in typing.get_args(hint) if part is not type(None)]
        if len(rest) < len(typing.get_args(hint)):
            return (rest[0] if len(rest) == 1 else typing.Union[tuple(rest)]), True  # noqa: UP007 - built at run time
    return hint, False


def _checker(name: str, hint: Any) -> _Check:
    """Return a function that raises ValueError when a value does not fit the hint."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint in (int, float):
        return _number_checker(hint, units.range_of(name))
    if hint is str:
        return _check_text
    if origin is tuple:
        return _tuple_checker(_checker(name, parts[0]))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping_checker(_checker(name, parts[1]))
    if isinstance(hint, type):
        return _instance_checker(hint)
    raise TypeError(f"a noun's field cannot have the type {hint}")


def _number_checker(hint: type, limits: tuple[float, float]) -> _Check:
    allowed = (int,) if hint is int else (int, float)

    def check(name: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, allowed):
            raise ValueError(f"{name} is {value!r}: it must be a number of type {hint.__name__}")
        units.check(name, value, limits)

    return check


def _check_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{name} is {value!r}: it must be text")
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise ValueError(f"{name} is {value!r}: it is not Unicode; pass paths through readable_path()")


def _instance_checker(hint: type) -> _Check:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, hint):
            raise ValueError(f"{name} is {value!r}: it must be {_expected(hint)}")

    return check


def _expected(hint: type) -> str:
    if issubclass(hint, enum.Enum):
        return "one of " + ", ".join(str(item.value) for item in hint)
    return f"a {hint.__name__}"


def _tuple_checker(inner: _Check) -> _Check:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, tuple):
            raise ValueError(f"{name} is {value!r}: it must be a tuple")
        for item in value:
            inner(name, item)

    return check


def _mapping_checker(inner: _Check) -> _Check:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, Mapping):
            raise ValueError(f"{name} is {value!r}: it must be a mapping")
        for key, item in value.items():
            _check_text(name, key)
            inner(f"{name}[{key}]", item)

    return check
