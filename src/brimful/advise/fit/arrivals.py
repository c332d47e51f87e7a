"""Lines of a file of arrival times to seconds since the first of them.

One time a line, or a CSV whose head names a column of times (`time_s`, `time`, `timestamp`, `arrival`, ...; otherwise
the first column counts). A time is a number of seconds or a date with a time of day (ISO 8601). Lines out of order are
put in order: logs of several workers are seldom sorted.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from brimful.model.errors import DataError
from brimful.model.text import readable_path

_NAMES = ("time_s", "time", "timestamp", "timestamp_s", "arrival", "arrival_s", "arrived_at", "start_time", "datetime")
_MOST_S = 1e12
_FIX = "give one time a line: seconds, or 2026-11-19T10:15:00"
_Array = npt.NDArray[np.float64]


def arrivals(lines: Iterable[str], where: str = "the trace") -> _Array:
    """Return the times in seconds since the first arrival, in order; anything unreadable is a DataError."""
    name = readable_path(where)
    try:
        times = np.fromiter(_times(lines, name), dtype=float)
    except csv.Error as error:
        raise _unusable(name, f"it is no CSV: {error}") from error
    if len(times) == 0:
        raise _unusable(name, "it holds no times")
    times.sort()
    return np.asarray(times - times[0])


def _times(lines: Iterable[str], name: str) -> Iterator[float]:
    column = 0
    first = True
    rows = csv.reader(line.lstrip("\ufeff") for line in lines)
    for row in rows:
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if first and _time(cells[0]) is None:
            first = False
            column = _column(cells)
            continue
        first = False
        value = _time(cells[column]) if column < len(cells) else None
        if value is None:
            shown = cells[column][:40] if column < len(cells) else ""
            raise _unusable(name, f"line {rows.line_num} has {shown!r} where a time should stand")
        yield value


def _column(head: list[str]) -> int:
    """Return the column of times by the names in the head."""
    names = [cell.lower() for cell in head]
    return next((names.index(name) for name in _NAMES if name in names), 0)


def _time(cell: str) -> float | None:
    """Return seconds, or None when the cell is no time; NaN and infinity are none."""
    try:
        value = float(cell)
    except ValueError:
        return _date(cell)
    return value if math.isfinite(value) and abs(value) <= _MOST_S else None


def _date(cell: str) -> float | None:
    if len(cell) > 40:
        return None
    whole, point, rest = cell.partition(".")
    if point:  # a fraction of any length, where Python knows up to six digits
        digits = len(rest) - len(rest.lstrip("0123456789"))
        cell = f"{whole}.{rest[:digits][:6].ljust(6, '0')}{rest[digits:]}"
    try:
        day = datetime.fromisoformat(cell)
        return (day if day.tzinfo else day.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _unusable(name: str, why: str) -> DataError:
    return DataError(f"the arrivals in {name} cannot be read", why=why, fix=_FIX)
