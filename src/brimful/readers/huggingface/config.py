"""A model's configuration with every value checked as it is asked for; what it leaves out is its family's default."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

MOST = 50_000_000  # of any size in a configuration; no model comes near, and what follows from it stays countable
_DEPTH = 40


class Config:
    """The keys of one `config.json`, or of one part of it, by any of the names that families have for them."""

    def __init__(self, raw: dict[str, Any], family: str | None = None) -> None:
        self.raw = raw
        self.family = family if family is not None else _name(raw)
        self._defaults = defaults().get(self.family, {})

    def __contains__(self, key: str) -> bool:
        return self.raw.get(key) is not None

    def _get(self, keys: tuple[str, ...]) -> tuple[str, Any]:
        for source in (self.raw, self._defaults):
            for key in keys:
                if source.get(key) is not None:
                    return key, source[key]
        return keys[0], None

    def count(self, *keys: str, default: int | None = None, least: int = 0) -> int:
        """Return a whole number by the first name that is there; without one and without a default, refuse."""
        key, value = self._get(keys)
        if value is None:
            if default is None:
                others = f" (nor {', '.join(keys[1:])})" if len(keys) > 1 else ""
                raise ValueError(f"it has no {keys[0]}{others}")
            return default
        return _whole(key, value, least)

    def maybe(self, *keys: str, least: int = 0) -> int | None:
        """Return a whole number, or None when no such key is there."""
        key, value = self._get(keys)
        return None if value is None else _whole(key, value, least)

    def ratio(self, *keys: str, default: float) -> float:
        """Return a positive number."""
        key, value = self._get(keys)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 10_000:
            raise ValueError(f"its {key} is {value!r:.60}: no such ratio exists")
        return float(value)

    def flag(self, *keys: str, default: bool = False) -> bool:
        """Return a yes or a no."""
        key, value = self._get(keys)
        if value is None:
            return default
        if not isinstance(value, bool | int) or value not in (0, 1):
            raise ValueError(f"its {key} is {value!r:.60}: it must be true or false")
        return bool(value)

    def text(self, *keys: str, default: str = "") -> str:
        """Return a word."""
        key, value = self._get(keys)
        if value is None:
            return default
        if not isinstance(value, str):
            raise ValueError(f"its {key} is {value!r:.60}: it must be text")
        return value

    def items(self, key: str) -> list[Any]:
        """Return a list, empty when it is not there."""
        value = self.raw.get(key)
        if value is not None and not isinstance(value, list):
            raise ValueError(f"its {key} is {value!r:.60}: it must be a list")
        return value or []

    def part(self, *keys: str, family: str | None = None) -> Config:
        """Return a configuration inside this one; an absent one is empty and all defaults."""
        key, value = self._get(keys)
        if value is not None and not isinstance(value, dict):
            raise ValueError(f"its {key} is {value!r:.60}: it must be an object")
        inner = dict(value or {})
        return Config(inner, _name(inner) or family or "")


def _name(raw: dict[str, Any]) -> str:
    name = raw.get("model_type")
    return name if isinstance(name, str) else ""


def _whole(key: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > MOST:  # noqa: PLR0124 - NaN alone differs from itself
        raise ValueError(f"its {key} is {value!r:.60}: it must be a whole number of at most {MOST:,}")
    if value != int(value) or value < least:
        raise ValueError(f"its {key} is {value!r:.60}: it must be a whole number from {least} on")
    return int(value)


@functools.cache
def defaults() -> dict[str, dict[str, Any]]:
    """Return what each family means by a key that is not there."""
    text = files("brimful.readers.huggingface").joinpath("defaults.json").read_text(encoding="utf-8")
    table: dict[str, dict[str, Any]] = json.loads(text)["families"]
    return table


def inner_configs(raw: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield every object inside a configuration, itself first, as deep as configurations go."""
    if isinstance(raw, dict) and depth < _DEPTH:
        yield raw
        for value in raw.values():
            yield from inner_configs(value, depth + 1)
