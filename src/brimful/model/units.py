"""Units: the end of a field's name says its unit, and this table says which values that unit allows.

`check(name, value)` is all the validation of numbers that the nouns have. Parsing and printing of quantities
("48GiB", "50ms", "$0.805") live here too, so that a unit is spelt in one place.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

KIB, MIB, GIB, TIB = 1024, 1024**2, 1024**3, 1024**4
HOURS_PER_MONTH = 730.0  # the convention of AWS's own price pages: 365 x 24 / 12
_MAX_INT = 2**63 - 1

# The end of a name -> (least, most). The first that matches counts, so longer ends stand first.
_RANGES: tuple[tuple[str, float, float], ...] = (
    ("_percent", 0.0, 100.0),
    ("_share", 0.0, 1.0),
    ("_celsius", -273.15, 1000.0),
    ("_bytes_per_s", 0.0, math.inf),
    ("_per_s", 0.0, math.inf),
    ("_bytes", 0.0, float(_MAX_INT)),
    ("flops", 0.0, math.inf),
    ("_elements", 0.0, float(_MAX_INT)),
    ("_ms", 0.0, math.inf),
    ("_s", 0.0, math.inf),
    ("_watts", 0.0, math.inf),
    ("_joules", 0.0, math.inf),
    ("_mhz", 0.0, math.inf),
    ("_count", 0.0, float(_MAX_INT)),
)


def range_of(name: str) -> tuple[float, float]:
    """Return the least and the greatest value that a field of this name may hold."""
    if name == "share":
        return 0.0, 1.0
    if "usd" in name and "saving" not in name and "delta" not in name:
        return 0.0, math.inf
    for end, least, most in _RANGES:
        if name.endswith(end):
            return least, most
    return -math.inf, math.inf


def check(name: str, value: float, limits: tuple[float, float]) -> None:
    """Raise ValueError unless the number is finite and within the limits of its unit."""
    if not math.isfinite(value):
        message = f"{name} is {value}: a figure is a finite number, and an unknown one is None with a reason"
        raise ValueError(message)
    least, most = limits
    if not least <= value <= most:
        message = f"{name} is {value}: it must lie between {least:g} and {most:g}"
        raise ValueError(message)


_BYTE_UNITS = {
    "": 1, "b": 1,
    "k": 1000, "kb": 1000, "m": 1000**2, "mb": 1000**2, "g": 1000**3, "gb": 1000**3, "t": 1000**4, "tb": 1000**4,
    "ki": KIB, "kib": KIB, "mi": MIB, "mib": MIB, "gi": GIB, "gib": GIB, "ti": TIB, "tib": TIB,
}  # fmt: skip
_SECOND_UNITS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "": 1.0, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0,
    "d": 86400.0,
}  # fmt: skip
_BIT_RATE_UNITS = {"bps": 1, "kbps": 10**3, "mbps": 10**6, "gbps": 10**9, "tbps": 10**12}
_COUNT_UNITS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9}
_QUANTITY = re.compile(r"\s*([+-]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?)\s*([^\s\d]*?(?:/s)?)\s*", re.IGNORECASE)


def _split(text: str) -> tuple[float, str]:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        message = f"{text!r} is no number with a unit"
        raise ValueError(message)
    number = float(match[1].replace(",", "").replace("_", ""))
    if not math.isfinite(number):
        message = f"{text!r} is too large"
        raise ValueError(message)
    return number, match[2]


def _scaled(text: str, units: dict[str, int] | dict[str, float], example: str) -> float:
    number, unit = _split(text)
    factor = units.get(unit.lower())
    if factor is None:
        known = ", ".join(sorted({name for name in units if name}, key=lambda name: units[name]))
        message = f"{text!r} has the unknown unit {unit!r} (known: {known}; e.g. {example})"
        raise ValueError(message)
    return number * factor


def is_bare(text: str) -> bool:
    """Say whether a quantity has no unit."""
    return not _split(text)[1]


def parse_bytes(text: str) -> int:
    """Read a size: "48GiB", "110KB" (decimal), "512" (bytes)."""
    return round(_scaled(text, _BYTE_UNITS, "48GiB"))


def parse_seconds(text: str) -> float:
    """Read a duration: "50ms", "6h", "1.5" (seconds)."""
    return _scaled(text, _SECOND_UNITS, "50ms")


def parse_count(text: str) -> float:
    """Read a count: "200M", "1.2k", "40"."""
    return _scaled(text, _COUNT_UNITS, "200M")


def parse_bytes_per_s(text: str) -> float:
    """Read a rate: "25Gbps" (bits), "300MB/s" (bytes), "1e9" (bytes per second)."""
    _, unit = _split(text)
    if unit.lower() in _BIT_RATE_UNITS:
        return _scaled(text, _BIT_RATE_UNITS, "25Gbps") / 8
    if unit.lower().endswith("/s"):
        return _scaled(text.strip()[:-2], _BYTE_UNITS, "300MB/s")
    return _scaled(text, _BYTE_UNITS, "300MB/s")


def parse_usd(text: str) -> float:
    """Read an amount: "$0.805", "2usd", "2"."""
    bare = text.strip().lower().removeprefix("$").removesuffix("usd")
    return _scaled(bare, {"": 1.0}, "$0.80")


def format_bytes(value: float) -> str:
    """Print a size in binary units: 24 GiB, 2.8 GiB, 512 MiB."""
    for unit, size in (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if value >= size * 0.9995:
            return f"{_short(value / size)} {unit}"
    return f"{value:.0f} B"


def format_seconds(value: float) -> str:
    """Print a duration in the unit that suits it: 850 µs, 12.5 ms, 3.2 s, 6.0 h."""
    for limit, size, unit in ((1e-3, 1e-6, "µs"), (1.0, 1e-3, "ms"), (120.0, 1.0, "s"), (7200.0, 60.0, "min")):
        if value < limit:
            return f"{_short(value / size)} {unit}"
    return f"{_short(value / 3600)} h"


def format_bit_rate(bytes_per_s: float) -> str:
    """Print a network rate in the bits that its sellers use: 25 Gbps."""
    bits = bytes_per_s * 8
    return f"{_short(bits / 1e9)} Gbps" if bits >= 1e9 else f"{_short(bits / 1e6)} Mbps"


def format_share(value: float) -> str:
    """Print a share of a device as its seller does: 1/8."""
    return str(Fraction(value).limit_denominator(64))


def format_usd(value: float) -> str:
    """Print an amount: $0.202, $13.35, $1,314."""
    if value and abs(value) < 1:
        cents = f"{value:.4f}".rstrip("0")
        return f"${cents}" if len(cents) > 4 else f"${value:.2f}"
    return f"${value:,.2f}" if abs(value) < 1000 else f"${value:,.0f}"


def _short(value: float) -> str:
    """Three figures at most, and no decimal that says nothing."""
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}".removesuffix(".0") if abs(value) >= 10 else f"{value:.2f}".rstrip("0").rstrip(".")
