"""What devices did, from a file: `time_s,device,utilization_percent` and, if there are any, more columns of metrics.

A row that is not there and a cell that is empty are unknown: nothing is filled in, and nothing becomes zero. The file
is parsed once, into arrays of numbers; a million rows take some seconds and some tens of bytes each.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import math
import operator
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from brimful.model import units
from brimful.model.errors import DataError, Unavailable, UsageError
from brimful.model.text import readable_path
from brimful.seams import Series, Window

_LONGEST_LINE = 1024 * 1024
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
_PARQUET_ROWS = 65_536
_UNKNOWN = math.nan  # inside the arrays alone; a file that says nan is an error

_Row = tuple[int, Sequence[Any]]  # line number, cells


class _Track:
    """One device: the times of its rows, and a value per row and metric."""

    __slots__ = ("lines", "times", "values")

    def __init__(self, metrics: int) -> None:
        self.times = array("d")
        self.lines = array("q")
        self.values = [array("d") for _ in range(metrics)]

    def sort(self, device: str) -> None:
        """Bring the rows into the order of time, and refuse two of one time."""
        times = self.times
        if any(map(operator.lt, times[1:], times)):
            order = sorted(range(len(times)), key=times.__getitem__)
            self.times = times = array("d", map(times.__getitem__, order))
            self.lines = array("q", map(self.lines.__getitem__, order))
            self.values = [array("d", map(column.__getitem__, order)) for column in self.values]
        for number, same in enumerate(map(operator.eq, times[1:], times), start=1):
            if same:
                first, second = sorted(self.lines[number - 1 : number + 1])
                raise ValueError(f"line {second}: {device!r} has a row for that time already, in line {first}")
        self.lines = array("q")


class TraceHistory:
    """A trace file: `trace:gpus.csv`, also compressed (gzip), or Parquet with the same columns.

    Times are seconds, or dates in ISO 8601 (UTC when they name no zone), alike in the whole file.
    """

    def __init__(self, where: str) -> None:
        if not where:
            raise UsageError(
                "no trace file is named", why="the trace history is one file", fix="name it, e.g. trace:gpus.csv"
            )
        self._path = Path(where)
        self._metrics: list[str] | None = None
        self._tracks: dict[str, _Track] = {}

    @classmethod
    def check(cls) -> None:
        """Do nothing: CSV can be read everywhere; Parquet says what it needs when it is met."""

    def devices(self, window: Window) -> Sequence[str]:
        """Return, sorted, the devices with at least one known value in the window."""
        self._load()
        found = []
        for name, track in self._tracks.items():
            first, last = _bounds(track, window)
            if any(not math.isnan(column[at]) for column in track.values for at in range(first, last)):
                found.append(name)
        return sorted(found)

    def series(self, device: str, metric: str, window: Window) -> Series:
        """Return the known values of a metric in the window; none for a device or metric that is not in the file."""
        metrics, track = self._load(), self._tracks.get(device)
        if track is None or metric not in metrics:
            return Series(device=device, metric=metric, times_s=(), values=())
        first, last = _bounds(track, window)
        column = track.values[metrics.index(metric)]
        known = [at for at in range(first, last) if not math.isnan(column[at])]
        return Series(
            device=device,
            metric=metric,
            times_s=tuple(map(track.times.__getitem__, known)),
            values=tuple(map(column.__getitem__, known)),
        )

    def _load(self) -> list[str]:
        if self._metrics is None:
            with _failing(self._path):
                self._metrics, self._tracks = _parse(self._path)
        return self._metrics


def _bounds(track: _Track, window: Window) -> tuple[int, int]:
    return bisect_left(track.times, window.start_s), bisect_left(track.times, window.end_s)


@contextmanager
def _failing(path: Path) -> Iterator[None]:
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _unusable(path, f"its compression is damaged: {error}") from error
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    except (ValueError, csv.Error) as error:
        raise _unusable(path, str(error)) from error


def _unusable(path: Path, why: str) -> DataError:
    return DataError(
        f"the trace {readable_path(path)} cannot be used",
        why=why,
        fix="write CSV with the columns time_s,device,utilization_percent; leave a cell empty when it is not known",
    )


def _parse(path: Path) -> tuple[list[str], dict[str, _Track]]:
    with path.open("rb") as file:
        magic = file.read(len(_PARQUET))
        file.seek(0)
        if magic == _PARQUET:
            return _collect(_parquet_rows(path))
        raw: Any = gzip.GzipFile(fileobj=file) if magic.startswith(_GZIP) else file
        with io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
            return _collect(_csv_rows(text))


def _collect(rows: Iterator[_Row]) -> tuple[list[str], dict[str, _Track]]:
    """Put rows, of which the first names the columns, into one track per device."""
    _, header = next(rows, (0, ()))
    names = [str(name).strip() for name in header]
    metrics = _metrics(names)
    at_time, at_device = names.index("time_s"), names.index("device")
    columns = [(names.index(metric), metric, *units.range_of(metric)) for metric in metrics]
    tracks: dict[str, _Track] = {}
    seconds: Any = None
    for line, cells in rows:
        if len(cells) != len(names):
            raise ValueError(f"line {line} has {len(cells)} cells, and the first has {len(names)}")
        if seconds is None:
            seconds = _date if _is_date(cells[at_time]) else _number
        device = cells[at_device]
        time_s = seconds(cells[at_time], line, "time_s")
        if not isinstance(device, str) or not device or time_s < 0:
            raise ValueError(f"line {line}: the device has no name, or the time lies before 0 (1970)")
        track = tracks.get(device)
        if track is None:
            track = tracks[device] = _Track(len(metrics))
        track.times.append(time_s)
        track.lines.append(line)
        for values, (at, metric, least, most) in zip(track.values, columns, strict=True):
            cell = cells[at]
            value = _UNKNOWN if cell is None or cell == "" else _number(cell, line, metric)
            if value < least or value > most:
                raise ValueError(f"line {line}: {metric} is {value:g}: it must lie between {least:g} and {most:g}")
            values.append(value)
    for device, track in tracks.items():
        track.sort(device)
    return metrics, tracks


def _metrics(names: Sequence[str]) -> list[str]:
    if not {"time_s", "device"} < set(names):
        raise ValueError(f"its columns are {', '.join(names)[:200] or 'none'}: time_s, device and a metric are needed")
    if len(set(names)) < len(names) or "" in names:
        raise ValueError(f"a column has no name, or two have one: {', '.join(names)[:200]}")
    return [name for name in names if name not in ("time_s", "device")]


def _csv_rows(text: io.TextIOWrapper) -> Iterator[_Row]:
    reader = csv.reader(_lines(text))
    for cells in reader:
        if cells:
            yield reader.line_num, cells


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    """Yield lines; one that does not end would otherwise fill the memory before anything could refuse it."""
    while line := text.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE and not line.endswith("\n"):
            raise ValueError(f"a line is longer than {_LONGEST_LINE} characters")
        yield line


def _parquet_rows(path: Path) -> Iterator[_Row]:
    """Yield the rows of a Parquet file; they have no lines, so they are counted from 1."""
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise Unavailable(
            f"the trace {readable_path(path)} is Parquet, which cannot be read here",
            why=f"pyarrow cannot be imported: {error}",
            fix="pip install 'brimful[data]', or write the trace as CSV",
        ) from error
    try:
        file = parquet.ParquetFile(path)
        yield 0, file.schema_arrow.names
        line = 0
        for batch in file.iter_batches(batch_size=_PARQUET_ROWS):
            for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                line += 1
                yield line, cells
    except arrow.ArrowException as error:
        raise ValueError(f"it is damaged: {error}") from error


def _number(cell: Any, line: int, name: str) -> float:
    """Read a number as programs write it; Python's own extras (1_000, ١٢, nan) are not meant by any of them."""
    try:
        value = float(cell)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if value - value != 0 or isinstance(cell, bool) or (isinstance(cell, str) and ("_" in cell or not cell.isascii())):
        raise ValueError(f"line {line}: {name} is {cell!r:.60}, which is no number")
    return value


def _is_date(cell: Any) -> bool:
    return isinstance(cell, datetime) or (isinstance(cell, str) and cell[4:5] == "-")


def _date(cell: Any, line: int, name: str) -> float:
    try:
        moment = cell if isinstance(cell, datetime) else datetime.fromisoformat(cell)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"line {line}: {name} is {cell!r:.60}, which is no date, as the first is: {error}") from error
