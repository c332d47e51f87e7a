"""Devices and samples from a file that something else writes: odd hardware needs a file, and no plug-in.

A format is one line in FORMATS: a function that recognises it by its first bytes, and one that parses it. Which
format a file has is decided by what is in it, never by its name.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from brimful.model import units
from brimful.model.errors import DataError, UsageError
from brimful.model.evidence import Sample
from brimful.model.hardware import Device, DeviceKind
from brimful.model.noun import with_gaps
from brimful.model.text import readable_path, reason

_MOST_BYTES = 64 * units.MIB  # it is read whole at every sample; what is larger is a history, not a probe
_NOT_GIVEN = {"", "-", "n/a", "na", "none", "null", "[n/a]", "[not supported]"}
_DESCRIPTION = ("kind", "vendor", "model")
_SILENT = "the file does not tell it"


@dataclass
class Contents:
    """What a file holds: the devices, and the latest value of each of their metrics."""

    devices: dict[str, Device] = field(default_factory=dict)
    latest: dict[tuple[str, str], Sample] = field(default_factory=dict)

    def add(self, sample: Sample, description: Mapping[str, str]) -> None:
        """Take in one sample; of two with one time the later in the file counts."""
        key = sample.device, sample.metric
        if key not in self.latest or self.latest[key].time_s <= sample.time_s:
            self.latest[key] = sample
        if sample.device not in self.devices:
            self.devices[sample.device] = _described(sample.device, description)


class Format(NamedTuple):
    """One kind of file."""

    name: str
    recognises: Callable[[str], bool]
    parse: Callable[[str], Contents]


class FileProbe:
    """Devices and samples from a file that is read anew at every call: `file:metrics.csv`.

    It may be CSV (`time_s,device,metric,value`, or `time_s,device` and a column per metric), one JSON sample per line,
    or a JSON object with the list `devices`. Columns `kind`, `vendor` and `model` describe a device; one that nothing
    describes is taken for a GPU unless its name begins with another kind. `sample()` gives the latest value of each
    metric with the time that the file gives it, so a writer that has stopped shows by its old times. A last line
    without its newline is still being written, and waits for the next call.
    """

    def __init__(self, where: str) -> None:
        if not where:
            raise UsageError(
                "no file is named", why="the file probe reads one file", fix="name it, e.g. --probe file:metrics.csv"
            )
        self._path = Path(where)
        self._seen: tuple[int, int, int] | None = None
        self._contents = Contents()

    @classmethod
    def check(cls) -> None:
        """Do nothing: it works everywhere."""

    def devices(self) -> Sequence[Device]:
        """Return every device that the file names."""
        return list(self._read().devices.values())

    def sample(self) -> Sequence[Sample]:
        """Return the latest value of every metric of every device."""
        return list(self._read().latest.values())

    def close(self) -> None:
        """Do nothing: the file is not kept open."""

    def _read(self) -> Contents:
        """Parse the file, unless it is as it was."""
        try:
            with self._path.open("rb") as file:
                stat = os.fstat(file.fileno())
                seen = stat.st_ino, stat.st_size, stat.st_mtime_ns
                if seen != self._seen:
                    self._contents = self._parse(file.read(_MOST_BYTES + 1))
                    self._seen = seen
        except (OSError, ValueError) as error:
            raise DataError(
                f"the file {readable_path(self._path)} cannot be read",
                why=reason(error),
                fix="check the path and its permissions",
            ) from error
        return self._contents

    def _parse(self, data: bytes) -> Contents:
        try:
            return parse(data)
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"the file {readable_path(self._path)} cannot be used",
                why=reason(error),
                fix=f"write one of: {'; '.join(known.name for known in FORMATS)}",
            ) from error


def parse(data: bytes) -> Contents:
    """Recognise and parse a file's bytes; raises ValueError when it cannot be used."""
    if len(data) > _MOST_BYTES:
        raise ValueError(
            f"it is larger than {units.format_bytes(_MOST_BYTES)}: begin a new file, or read it as a history (trace)"
        )
    text = data.decode("utf-8-sig")
    for known in FORMATS:
        if known.recognises(text):
            return known.parse(text)
    raise ValueError(f"its format is not known; it begins with {text[:60]!r}" if text else "it is empty")


def _header(text: str) -> list[str]:
    """Return the names of the columns, if the first line is that of a CSV file."""
    first = text.partition("\n")[0][:10_000]
    return [name.strip() for name in first.split(",")]


def _is_long(text: str) -> bool:
    return {"time_s", "device", "metric", "value"} <= set(_header(text))


def _is_wide(text: str) -> bool:
    return {"time_s", "device"} < set(_header(text))


def _is_lines(text: str) -> bool:
    first = _object(text.lstrip().partition("\n")[0])
    return {"time_s", "device", "metric"} <= first.keys()


def _is_object(text: str) -> bool:
    return text.lstrip().startswith("{") and "devices" in _object(text)


def _object(text: str) -> dict[str, Any]:
    """Return a JSON object, an empty one for everything else."""
    try:
        raw = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return {}
    return raw if isinstance(raw, dict) else {}


def _parse_long(text: str) -> Contents:
    contents = Contents()
    for line, row in _rows(text):
        value, why = _value(row["metric"], row["value"], line)
        contents.add(_sample(line, row, row["metric"], value, why), row)
    return contents


def _parse_wide(text: str) -> Contents:
    contents = Contents()
    for line, row in _rows(text):
        for metric in row.keys() - {"time_s", "device", *_DESCRIPTION}:
            value, why = _value(metric, row[metric], line)
            contents.add(_sample(line, row, metric, value, why), row)
    return contents


def _parse_lines(text: str) -> Contents:
    """Parse one sample per line; a line of another kind (a journal has several) is passed over."""
    contents = Contents()
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        if not line.strip():
            continue
        raw = _json(line, f"line {number}")
        if not isinstance(raw, dict):
            raise ValueError(f"line {number} is no JSON object")
        if "metric" not in raw:
            continue
        sample = _noun(raw, Sample, f"line {number}")
        _check_range(sample.metric, sample.value, number)
        contents.add(sample, {key: str(raw.get(key, "")) for key in _DESCRIPTION})
    return contents


def _parse_object(text: str) -> Contents:
    raw = _json(text, "the file")
    items = raw.get("devices")
    if not isinstance(items, list):
        raise ValueError("devices is no list")
    contents = Contents()
    for number, item in enumerate(items):
        device = _noun(item, Device, f"devices[{number}]")
        if device.device in contents.devices:
            raise ValueError(f"devices[{number}]: there are two devices {device.device!r}")
        source = device.source if device.source == "simulated" else "recorded"
        contents.devices[device.device] = replace(device, source=source)
    samples = raw.get("samples", [])
    if not isinstance(samples, list):
        raise ValueError("samples is no list")
    for number, item in enumerate(samples):
        sample = _noun(item, Sample, f"samples[{number}]")
        _check_range(sample.metric, sample.value, number)
        contents.add(sample, {})
    return contents


FORMATS: tuple[Format, ...] = (
    Format("CSV with the columns time_s,device,metric,value", _is_long, _parse_long),
    Format("CSV with the columns time_s,device and one per metric", _is_wide, _parse_wide),
    Format("one JSON object per line with time_s, device, metric and value", _is_lines, _parse_lines),
    Format('JSON with a list "devices"', _is_object, _parse_object),
)


def _rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, cells by column) of the finished lines of a CSV file."""
    finished = text[: text.rfind("\n") + 1]
    reader = csv.reader(io.StringIO(finished, newline=""))
    try:
        names = [name.strip() for name in next(reader, [])]
        if len(set(names)) < len(names) or "" in names:
            raise ValueError(f"line 1: a column has no name, or two have one: {', '.join(names)}")
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(names):
                raise ValueError(f"line {reader.line_num} has {len(cells)} cells, and the first has {len(names)}")
            yield reader.line_num, dict(zip(names, (cell.strip() for cell in cells), strict=True))
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from error


def _sample(line: int, row: Mapping[str, str], metric: str, value: float | None, why: str) -> Sample:
    if not row["device"] or not metric:
        raise ValueError(f"line {line}: a device or a metric has no name")
    missing = {} if value is not None else {"value": why}
    return Sample(time_s=_time(row["time_s"], line), device=row["device"], metric=metric, value=value, missing=missing)


def _value(metric: str, cell: str, line: int) -> tuple[float | None, str]:
    if cell.lower() in _NOT_GIVEN:
        return None, f"the file gives no value ({cell or 'an empty cell'}, line {line})"
    value = _number(cell, line, metric)
    _check_range(metric, value, line)
    return value, ""


def _check_range(metric: str, value: float | None, line: int) -> None:
    if value is not None:
        try:
            units.check(metric, value, units.range_of(metric))
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from error


def _number(cell: str, line: int, what: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in cell or not cell.isascii():
        raise ValueError(f"line {line}: {what} is {cell[:40]!r}, which is no number")
    return number


def _time(cell: str, line: int) -> float:
    """Read seconds, or a date and time (UTC when it names no zone)."""
    if re.match(r"[0-9]{4}-[0-9]{2}-", cell):
        try:
            moment = datetime.fromisoformat(cell)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError) as error:
            raise ValueError(f"line {line}: time_s is {cell[:40]!r}: {error}") from error
    else:
        seconds = _number(cell, line, "time_s")
    if seconds < 0:
        raise ValueError(f"line {line}: time_s is {seconds}: before the beginning")
    return seconds


def _described(name: str, description: Mapping[str, str]) -> Device:
    """Make a device from as little as its name."""
    told = description.get("kind", "").lower()
    if told and told not in set(DeviceKind):
        raise ValueError(f"the device {name!r} has the unknown kind {told!r} (known: {', '.join(DeviceKind)})")
    begins = next((kind for kind in DeviceKind if name.lower().startswith(kind)), None)
    return with_gaps(
        Device,
        _SILENT,
        device=name,
        device_kind=DeviceKind(told) if told else begins,
        vendor=description.get("vendor") or None,
        model=description.get("model") or None,
        source="recorded",
    )


def _json(text: str, where: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except ValueError as error:
        raise ValueError(f"{where} is no JSON: {error}") from error


def _noun(raw: Any, cls: type[Any], where: str) -> Any:
    """Make a noun of plain data; keys that this version does not know are left out, as a journal's are."""
    try:
        names = {item.name for item in fields(cls)}
        told = {name: why for name, why in dict(raw.get("missing") or {}).items() if name in names}
        silent = (item.name for item in fields(cls) if item.metadata.get("why", "") is None)
        gaps = {name: _SILENT for name in silent if raw.get(name) is None}
        return msgspec.convert({**raw, "missing": {**gaps, **told}}, cls)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{where}: {error}") from error
