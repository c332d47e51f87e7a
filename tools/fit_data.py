"""The cleaned measurements from which the predictor is trained: `rows()` reads tools/data/fit/*.csv.gz.

What was measured is not ours: each file's sources and licence stand in tools/data/fit/README.md, and how the files came
about in tools/fit_rows.py. A row is one question as `brimful fit --queries` takes it, with what came out.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

SHIPPED = Path(__file__).parent / "data" / "fit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measurement: a query and its truth. None is unknown, and the empty text is "not said"."""

    id: str
    model: str
    device: str  # as the catalogue's Chip.model calls it
    count: int = 1  # devices that worked on it; a CPU counts by sockets
    share: float = 1.0  # of a device: a MIG slice
    instance: str = ""
    vcpus: int | None = None  # that the program could use, where less than the whole machine
    engine: str
    version: str = ""
    precision: str = ""
    layout: str = ""
    compiled: str = ""
    batch: int | None = None  # of one call; None: the engine chose
    mode: str = "inference"
    scenario: str
    image_size: int | None = None
    sequence: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    throughput_per_s: float | None = None  # samples a second (language models: requests), of all devices together
    latency_ms: float | None = None  # mean of one call of that batch
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    group: str = ""  # equal for repetitions of one setting, whatever the version of the software
    source: str
    weight: float = 1.0  # how far to trust it; 0: kept for the record, not to learn from
    flags: str = ""  # words about it, divided by "|": README.md says what each means


_HINTS = get_type_hints(Row)
COLUMNS = tuple(item.name for item in fields(Row))


def rows(folder: Path = SHIPPED) -> Iterator[Row]:
    """Yield every row of every file of a folder, in the order of their names."""
    for path in sorted(folder.glob("*.csv.gz")):
        yield from read(path)


def read(path: Path) -> Iterator[Row]:
    """Yield the rows of one file; lines that begin with # are about it."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        table = csv.DictReader(line for line in stream if not line.startswith("#"))
        for cells in table:
            yield Row(**{name: _value(name, cell) for name, cell in cells.items() if cell != ""})


def write(path: Path, about: Iterable[str], table: Iterable[Row]) -> int:
    """Write a file of rows, the same bytes for the same rows; return how many they are."""
    count = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        head = "".join(f"# {line}\n" for line in about) + ",".join(COLUMNS) + "\n"
        packed.write(head.encode())
        for row in table:
            packed.write((",".join(_cell(name, getattr(row, name)) for name in COLUMNS) + "\n").encode())
            count += 1
    return count


_DEFAULTS = {item.name: item.default for item in fields(Row)}


def _cell(name: str, value: Any) -> str:
    if value is None or value == _DEFAULTS[name]:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(char in text for char in ',"\n') else text


def _value(name: str, cell: str) -> Any:
    kind = str(_HINTS[name])
    if "int" in kind:
        return int(cell)
    return float(cell) if "float" in kind else cell
