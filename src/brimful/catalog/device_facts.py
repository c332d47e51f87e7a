"""Devices that the catalogue does not know, by their facts in a file: `--device-facts FILE`, JSON or TOML.

    [[device]]
    model = "X9000"
    kind = "gpu"
    peak_tflops = { fp16 = 400, fp32 = 50 }
    bandwidth_gb_per_s = 2000
    memory_gib = 48

A file holds one device, or a list of them under `device`. Every key with a size has its unit in its name. A device
needs a model, at least one peak rate and the bandwidth of its memory; the rest may be left out, and then widens an
interval.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brimful.model.errors import DataError
from brimful.model.hardware import Chip, DeviceKind
from brimful.model.noun import with_gaps
from brimful.model.text import readable_path
from brimful.model.units import GIB, MIB

_MOST_BYTES = 1 << 20
_UNSAID = "the file of device facts does not say"
_TEXTS = ("model", "vendor", "architecture", "memory_type")
_LISTS = ("aliases", "isa")

# key -> (field, factor, whole number)
_NUMBERS: dict[str, tuple[str, float, bool]] = {
    "year": ("year", 1, True),
    "cores": ("compute_units", 1, True),
    "compute_units": ("compute_units", 1, True),
    "threads": ("threads", 1, True),
    "base_mhz": ("base_mhz", 1, False),
    "sustained_mhz": ("sustained_mhz", 1, False),
    "boost_mhz": ("boost_mhz", 1, False),
    "clock_mhz": ("boost_mhz", 1, False),
    "memory_bytes": ("memory_bytes", 1, True),
    "memory_gib": ("memory_bytes", GIB, True),
    "memory_bus_bits": ("memory_bus_bits", 1, True),
    "bandwidth_bytes_per_s": ("bandwidth_bytes_per_s", 1, False),
    "bandwidth_gb_per_s": ("bandwidth_bytes_per_s", 1e9, False),
    "cache_bytes": ("cache_bytes", 1, True),
    "cache_mib": ("cache_bytes", MIB, True),
    "watts": ("power_cap_watts", 1, False),
    "power_cap_watts": ("power_cap_watts", 1, False),
    "pcie_bytes_per_s": ("pcie_bytes_per_s", 1, False),
    "pcie_gb_per_s": ("pcie_bytes_per_s", 1e9, False),
    "link_bytes_per_s": ("link_bytes_per_s", 1, False),
    "link_gb_per_s": ("link_bytes_per_s", 1e9, False),
    "fast_fp16_flops": ("fast_fp16_flops", 1, False),
}
_RATES = {"peak_flops": 1.0, "peak_tflops": 1e12}
KEYS = (*_TEXTS, "kind", *_LISTS, *_RATES, *_NUMBERS)
_POSITIVE = frozenset({"bandwidth_bytes_per_s", "compute_units", "memory_bytes", "power_cap_watts", "boost_mhz"})


class _WrongError(ValueError):
    """What is wrong with an entry, and what to type instead."""

    def __init__(self, why: str, fix: str) -> None:
        super().__init__(why)
        self.fix = fix


def read_device_facts(path: Path) -> tuple[Chip, ...]:
    """Read the devices of a file; whatever is wrong with it is a DataError that names the device and the key."""
    name = readable_path(path)
    try:
        data = _bytes(path)
        return parse_device_facts(data, toml=path.suffix.lower() == ".toml", source=name)
    except OSError as error:
        raise DataError(
            f"the device facts {name} cannot be read",
            why=error.strerror or str(error),
            fix="give the path of a readable JSON or TOML file",
        ) from error


def parse_device_facts(data: bytes, *, toml: bool, source: str) -> tuple[Chip, ...]:
    """Return the devices of a file's content; `source` is what the errors call it."""
    what = f"the device facts {source} cannot be used"
    try:
        found = _entries(_decoded(data, toml=toml))
        chips = tuple(_chip(entry, number, source) for number, entry in enumerate(found, 1))
        _refuse_twins(chips)
    except _WrongError as error:
        raise DataError(what, why=str(error), fix=error.fix) from error
    except (ValueError, RecursionError, OverflowError) as error:
        kind = "TOML" if toml else "JSON"
        raise DataError(what, why=f"it is no {kind}: {error}", fix="see docs/fit-devices.md for an example") from error
    return chips


def _bytes(path: Path) -> bytes:
    with path.open("rb") as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise DataError(
            f"the device facts {readable_path(path)} cannot be used",
            why="the file is larger than 1 MiB, which no list of devices is",
            fix="give a file that holds device facts alone (docs/fit-devices.md)",
        )
    return data


def _decoded(data: bytes, *, toml: bool) -> Any:
    text = data.decode("utf-8")
    return tomllib.loads(text) if toml else json.loads(text)


def _entries(document: Any) -> list[Any]:
    """Return the devices: a list, a table with `device`, or one table that is a device."""
    if isinstance(document, Mapping) and "device" in document:
        stray = document.keys() - {"device"}
        if stray:
            raise _WrongError(f"beside device it has {min(stray)!r}", "put every fact inside its device")
        document = document["device"]
    entries = [document] if isinstance(document, Mapping) else document
    if not isinstance(entries, list) or not entries:
        raise _WrongError(
            "it holds no device", 'write {"device": [{"model": "X9000", "peak_tflops": {"fp16": 400}, ...}]}'
        )
    return entries


def _chip(entry: Any, number: int, source: str) -> Chip:
    if not isinstance(entry, Mapping):
        raise _WrongError(f"device {number} is {entry!r:.40}: no table", "write a table of keys and values")
    name = entry.get("model")
    label = f"device {number}" + (f" ({name})" if isinstance(name, str) else "")
    try:
        known = _known(entry)
        _refuse_gaps(known)
        known.setdefault("kind", DeviceKind.GPU)
        known.setdefault("vendor", "unknown")
        known.setdefault("architecture", "unknown")
        return with_gaps(Chip, _UNSAID, source=source, licence="LicenseRef-user", **known)
    except _WrongError as error:
        raise _WrongError(f"{label}: {error}", error.fix) from error
    except ValueError as error:
        raise _WrongError(f"{label}: {error}", "correct that value (docs/fit-devices.md)") from error


def _refuse_gaps(known: Mapping[str, Any]) -> None:
    for field, advice in _ADVICE.items():
        if not known.get(field):
            raise _WrongError(f"{field} is missing", f"add {advice}")


_ADVICE = {
    "model": 'a name: model = "X9000"',
    "peak_flops": "at least one dense peak: peak_tflops = { fp16 = 400 }",
    "bandwidth_bytes_per_s": "the memory's rate: bandwidth_gb_per_s = 2000",
}


def _known(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a noun from the keys of an entry."""
    known: dict[str, Any] = {}
    for key, value in entry.items():
        field, found = _field(str(key), value)
        if field in known:
            raise _WrongError(f"{key} says again what another key said", f"keep one key for {field}")
        known[field] = found
    return known


def _field(key: str, value: Any) -> tuple[str, Any]:
    if key in _NUMBERS:
        field, factor, whole = _NUMBERS[key]
        found = _number(key, value) * factor
        if field in _POSITIVE and found <= 0:
            raise _WrongError(
                f"{key} is {value!r}: an unknown figure is left out, never 0", f"remove {key}, or correct it"
            )
        return field, round(found) if whole else float(found)
    if key in _RATES:
        return "peak_flops", _rates(key, value)
    if key in _TEXTS:
        return key, _text(key, value)
    if key in _LISTS:
        if not isinstance(value, list):
            raise _WrongError(f"{key} is {value!r:.40}: no list", f'write {key} = ["..."]')
        return key, tuple(_text(key, item) for item in value)
    if key == "kind":
        return key, _kind(value)
    like = difflib.get_close_matches(key, KEYS, n=1)
    raise _WrongError(
        f"the key {key!r:.60} is not known",
        f"did you mean {like[0]}?" if like else f"use one of {', '.join(KEYS)}",
    )


def _number(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 1e30:  # noqa: PLR0124 - NaN
        raise _WrongError(
            f"{key} is {value!r:.40}: it must be a number", f"write {key} as a plain number, its unit is in its name"
        )
    return value


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _WrongError(f"{key} is {value!r:.40}: it must be text", f'write {key} in quotes, "..."')
    return value


def _kind(value: Any) -> DeviceKind:
    try:
        return DeviceKind(value)
    except ValueError as error:
        names = ", ".join(item.value for item in DeviceKind)
        raise _WrongError(f"kind is {value!r:.40}", f"use one of {names}") from error


def _rates(key: str, value: Any) -> dict[str, float]:
    if not isinstance(value, Mapping) or not value:
        raise _WrongError(f"{key} is {value!r:.40}: no table of rates", f"write {key} = {{ fp16 = 400, fp32 = 50 }}")
    rates = {str(name): _number(f"{key}.{name}", rate) * _RATES[key] for name, rate in value.items()}
    for name, rate in rates.items():
        if rate <= 0:
            raise _WrongError(
                f"{key}.{name} is {value[name]!r}: no rate", f"remove {name}: what is left out is unknown"
            )
    return {name: float(rate) for name, rate in rates.items()}


def _refuse_twins(chips: tuple[Chip, ...]) -> None:
    seen = set()
    for chip in chips:
        if chip.model in seen:
            raise _WrongError(f"two devices are called {chip.model!r}", "give each device a name of its own")
        seen.add(chip.model)
