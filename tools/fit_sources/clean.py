"""What all sources need: a raw row with its notes, names of devices, and an account of what was left out and why."""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from brimful.catalog.chips import Chips
from brimful.model.hardware import Chip
from tools.catalog_chips import chips
from tools.fit_data import Row

_GROUPED = (
    *("model", "device", "count", "share", "instance", "vcpus", "engine", "precision", "layout", "compiled", "batch"),
    *("mode", "scenario", "image_size", "sequence", "tokens_in", "tokens_out", "flags"),
)
_PRECISIONS = {
    "uint8": "int8", "int8_t": "int8", "signed 8-bit integer.": "int8", "int8 and bf16": "int8", "fp32 + int8": "int8",
    "float8": "fp8", "fp8-e4m3": "fp8", "mixed precision fp8-e4m3,bfloat16": "fp8", "bfloat16": "bf16",
    "uint4": "int4", "int4-mixed": "int4", "int8-cw": "int8", "int8-hybrid": "int8", "fp4-normalized": "fp4",
    "mxfp4": "fp4",
}  # fmt: skip
_ENOUGH = 4
_KNOWN = {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "int4", "fp4"}


@dataclass(frozen=True, slots=True)
class Raw:
    """A row of measured.csv.gz; `notes` are its words "key=value"."""

    cells: dict[str, str]
    notes: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells[column].strip()

    def number(self, column: str) -> float | None:
        """Return a positive number, or None for an empty cell."""
        cell = self[column]
        value = float(cell) if cell else 0.0
        return value if value > 0 else None


def raw_rows(folder: Path) -> Iterator[Raw]:
    """Yield the rows of the gathered measurements."""
    with gzip.open(folder / "measured.csv.gz", "rt", encoding="utf-8", newline="") as stream:
        for cells in csv.DictReader(stream):
            yield Raw(cells, notes(cells["notes"]))


def notes(text: str) -> dict[str, str]:
    """Read "a=1;b=2"; what has no "=" is passed over."""
    pairs = (part.partition("=") for part in text.split(";"))
    return {key.strip(): value.strip() for key, sign, value in pairs if sign}


def precision(text: str) -> str:
    """Return our name of a precision, or "" when the text does not say one."""
    lower = text.lower().strip()
    for word in ("token_", "-amp"):
        lower = lower.replace(word, "")
    for suffix in ("_ov", "_ovms"):
        lower = lower.removesuffix(suffix)
    if "unet" in lower:
        return "fp8"
    lower = _PRECISIONS.get(lower, lower)
    return lower if lower in _KNOWN else ""


@dataclass
class Cleaner:
    """Collects the rows of one file, gives them ids and groups, and counts what was left out."""

    name: str
    known: Chips
    kept: list[Row] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)

    def drop(self, why: str) -> None:
        """Count a row that is left out."""
        self.dropped[why] += 1

    def chip(self, hardware: str) -> Chip | None:
        """Return the device of that name, or None after counting the row as left out."""
        found = self.known.find(hardware)
        if found is None:
            self.drop(f"no facts about the device: {hardware or '(none named)'}")
        return found

    def keep(self, **cells: Any) -> None:
        """Add a row."""
        if not any(cells.get(name) for name in ("throughput_per_s", "latency_ms", "ttft_ms", "tpot_ms")):
            self.drop("no figure")
            return
        row = Row(id=f"{self.name}-{len(self.kept) + 1:05d}", **cells)
        key = "\n".join([row.source.partition("-v")[0], *(str(getattr(row, name)) for name in _GROUPED)])
        self.kept.append(replace(row, group=hashlib.sha256(key.encode()).hexdigest()[:8]))


def drop_outliers(cleaner: Cleaner) -> None:
    """Leave out runs that differ from the median of their like by more than twofold, where it has four or more.

    Such rows count devices that did not run, or ran something else under the name.
    """
    cells: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in cleaner.kept:
        if row.scenario != "server" and row.throughput_per_s:
            like_it = (row.device, row.share, row.model, row.precision, row.scenario, "maxq" in row.flags)
            cells[like_it].append(row)
    far = set()
    for like in cells.values():
        rates = [(row.throughput_per_s or 0.0) / row.count for row in like]
        middle = median(rates)
        if len(like) >= _ENOUGH:
            far |= {row.id for row, rate in zip(like, rates, strict=True) if not 0.5 < rate / middle < 2}
    cleaner.dropped["differs from the median of the same device and model by more than twofold"] += len(far)
    cleaner.kept = [row for row in cleaner.kept if row.id not in far]


def known_chips() -> Chips:
    """Return the devices as the tables have them, whether or not the catalogue was built anew."""
    return Chips(chips())
