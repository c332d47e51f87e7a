"""One line of a file of queries: which model on which device, run how; and, in a file of measurements, what came out.

Fields may be absent, null, or numbers written as text ("8", "224.0"): benchmarks' tables hold all three. A field that
means nothing here is an error of its line, with the field's name; unknown keys are passed over.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from brimful.advise.fit import words
from brimful.advise.fit.query import Query
from brimful.model.errors import UsageError
from brimful.model.hardware import Chip, DeviceKind
from brimful.model.work import Mode

_NOT_SAID = "the query does not say"
_MOST = 1 << 31
_SIZE = re.compile(r"(?:\d+\s*[x,]\s*)?(\d+(?:\.0*)?)\s*[x,]\s*(\d+(?:\.0*)?)")
_ONE_CALL = ("latency", "single-stream", "llm")  # on a CPU one call stays on one socket
ALL_DEVICES = 0  # of a count: all that the machine has


@dataclass(frozen=True, slots=True)
class Asked:
    """A line, read: names as they were written, and the rest in fit's words. `unread` names what was not understood."""

    id: Any
    model: str | None
    file: str | None
    device: str | None
    instance: str | None
    mode: Mode
    known: Mapping[str, Any]
    count: int | None
    latency_ms: float | None
    throughput_per_s: float | None
    unread: tuple[str, ...] = ()

    def query(self, *, count: int = 1, share: float = 1.0, cores: float | None = None) -> Query:
        """Return the query, on so much of a device."""
        known = {**self.known, "cores": cores}
        missing = {name: _NOT_SAID for name, value in known.items() if value is None}
        if cores is None:
            missing["cores"] = "the whole device"
        return Query(**known, mode=self.mode, count=max(1, count), share=share, missing=missing)

    def count_on(self, chip: Chip, there: int) -> int:
        """Return how many devices work: what is asked, `there` for all, and one socket for one call on a CPU."""
        if chip.kind is DeviceKind.CPU and self.known["scenario"] in _ONE_CALL:
            return 1
        return there if self.count == ALL_DEVICES else self.count or 1


def asked(line: Any) -> Asked:
    """Read one line's object."""
    if not isinstance(line, Mapping):
        raise _wrong("the line", line, "it is no JSON object", 'write {"id": "a", "model": "resnet50", "device": "T4"}')
    text = {name: _text(line, name) for name in ("model", "file", "device", "instance", *_WORDS)}
    if not (text["model"] or text["file"]):
        raise _wrong("model", None, "the query names no model", "give model (a name) or file (a model's file)")
    if not (text["device"] or text["instance"]):
        raise _wrong("device", None, "the query names no device", "give device (T4) or instance (g4dn.xlarge)")
    known, unread = _understood(text)
    for name in ("batch", "sequence", "tokens_in", "tokens_out"):
        known[name] = _count(line, name)
    known["image_size"] = _image_size(line)
    mode = words.mode(text["mode"]) if text["mode"] else None
    if mode is None and text["mode"]:
        unread.append("mode")
    if mode is None and words.mode(text["scenario"] or "") is Mode.TRAINING:
        mode = Mode.TRAINING
    return Asked(
        id=line.get("id"),
        model=text["model"],
        file=text["file"],
        device=text["device"],
        instance=text["instance"],
        mode=mode or Mode.INFERENCE,
        known=known,
        count=_devices(line),
        latency_ms=_figure(line, "latency_ms"),
        throughput_per_s=_figure(line, "throughput_per_s"),
        unread=tuple(unread),
    )


_WORDS: Mapping[str, Callable[[str], Any] | None] = {
    "engine": words.engine,
    "precision": words.precision,
    "layout": words.layout,
    "compiled": words.compiled,
    "scenario": words.scenario,
    "mode": None,
}


def _understood(text: Mapping[str, str | None]) -> tuple[dict[str, Any], list[str]]:
    """Return fit's words for what a line says, and the fields whose words nobody knows."""
    known: dict[str, Any] = {}
    unread = []
    for name, meaning in _WORDS.items():
        said = text[name]
        if meaning is None:
            continue
        known[name] = meaning(said) if said else None
        if said and known[name] is None:
            unread.append(name)
    engine = (text["engine"] or "").lower()
    if known["compiled"] is None and any(word in engine for word in ("inductor", "dynamo", "compile")):
        known["compiled"] = "inductor"
    return known, unread


def _text(line: Mapping[str, Any], name: str) -> str | None:
    value = line.get(name)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) and name == "compiled":
        return str(value)
    if not isinstance(value, str):
        raise _wrong(name, value, "it is no text", f"write {name} in quotes, or null where it is not known")
    return value.strip()[:400] or None


def _number(line: Mapping[str, Any], name: str) -> float | None:
    value = line.get(name)
    if isinstance(value, str):
        bare = value.strip().replace(",", "").replace("_", "")
        if bare.lower() in ("", "null", "none", "nan", "-", "unknown"):
            return None
        try:
            value = float(bare)
        except ValueError as error:
            raise _wrong(name, value, "it is no number", f"write {name} as a number, or null") from error
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _MOST:
        raise _wrong(name, value, "it is no number that can be used", f"write {name} as a number, or null")
    return float(value)


def _count(line: Mapping[str, Any], name: str) -> int | None:
    value = _number(line, name)
    if value is None:
        return None
    if value < 1 or value != int(value):
        raise _wrong(name, line[name], "it is a whole number from 1", f"correct {name}, or leave it out")
    return int(value)


def _devices(line: Mapping[str, Any]) -> int | None:
    said = line.get("count")
    if isinstance(said, str) and said.strip().lower() == "all":
        return ALL_DEVICES
    value = _number(line, "count")
    return None if not value else _count(line, "count")  # tables write 0 where a system has no accelerator


def _image_size(line: Mapping[str, Any]) -> int | None:
    """Read the side of an image: 224, "224x224", [3, 224, 224]; of two sides the one of a square as large."""
    said = line.get("image_size")
    if isinstance(said, list | tuple):
        said = "x".join(str(item) for item in said[-2:])
    if isinstance(said, str) and (match := _SIZE.fullmatch(said.strip().lower())):
        said = round(math.sqrt(float(match[1]) * float(match[2])))
    return _count({"image_size": said}, "image_size")


def _figure(line: Mapping[str, Any], name: str) -> float | None:
    value = _number(line, name)
    if value is not None and value <= 0:
        raise _wrong(name, line[name], "a measurement is above 0", f"correct {name}, or leave it out")
    return value


def _wrong(name: str, value: Any, why: str, fix: str) -> UsageError:
    return UsageError(f"{name} is {value!r:.60}" if value is not None else f"{name} is missing", why=why, fix=fix)
