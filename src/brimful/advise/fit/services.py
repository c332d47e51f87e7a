"""How long calls take on every kind of device that can be rented, all foreseen at once.

Machines share predictions: what a call takes depends on the device, the share or the cores of it, and the setting. A
CPU is foreseen at a few numbers of cores; between them times are interpolated, both on a logarithmic scale.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from brimful.advise.fit.answer import COVERAGE, Foreseen
from brimful.advise.fit.forecasts import Forecasts, Question
from brimful.advise.fit.machines import Inside
from brimful.advise.fit.memory import Setup, needs, smallest_split
from brimful.advise.fit.query import TOKENS_IN, TOKENS_OUT, Query, generates
from brimful.advise.fit.request import Load, Request
from brimful.advise.fit.settings import Try, batches, ways
from brimful.model.evidence import Interval
from brimful.model.hardware import Chip, DeviceKind, Precision
from brimful.model.units import format_bytes
from brimful.model.work import Profile

_CORE_NODES = (1.0, 4.0, 16.0, 64.0)
_HOST_SHARE = 0.9  # of a machine's memory that is left to a model on its CPU
_SMALL_BYTES = 12 * 1024**3  # memory.py counts a smaller context up to here
Spans = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Unit:
    """What serves one request at a time: a device or a share of one, some cores of a socket, or several devices."""

    chip: Chip
    share: float
    cores: float | None
    split: int
    usable_bytes: int | None

    @property
    def key(self) -> tuple[str, float, float, int]:
        """Return what tells units apart as far as time goes."""
        return self.chip.model, self.share, self.cores or 0.0, self.split


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one batch, foreseen: its milliseconds (low, mid, high), and what limits it."""

    batch: int
    ms: Spans
    limited_by: str
    roofline_ms: float
    first_token_ms: Spans | None
    per_token_ms: Spans | None
    told: Foreseen


@dataclass(frozen=True)
class Table:
    """A unit with one setting: what calls of each batch take."""

    unit: Unit
    way: Try
    calls: tuple[Call, ...]
    coverage: float = COVERAGE
    _by_batch: dict[int, Call] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_batch.update({call.batch: call for call in self.calls})

    @property
    def key(self) -> tuple[object, ...]:
        """Return what tells tables apart."""
        return (*self.unit.key, self.way)

    def call(self, batch: int) -> Call:
        """Return the call of that batch, or of the next larger one that was foreseen."""
        found = self._by_batch.get(batch)
        return found or next((call for call in self.calls if call.batch >= batch), self.calls[-1])

    def service(self, batch: int) -> Interval:
        """Return how long a call of a batch that was foreseen takes."""
        low, mid, high = self.call(batch).ms
        return Interval(low=low, mid=mid, high=high, coverage=self.coverage)

    def upto(self, most_ms: float | None) -> tuple[int, ...]:
        """Return the batches whose calls end within a time at the mid; all of them when there is no limit."""
        return tuple(call.batch for call in self.calls if most_ms is None or call.ms[1] <= most_ms)


@dataclass
class Services:
    """What was foreseen: the tables of each unit, and why a unit has none."""

    tables: dict[tuple[str, float, float, int], list[Table]] = field(default_factory=dict)
    refused: dict[tuple[object, ...], str] = field(default_factory=dict)

    def of(self, unit: Unit) -> list[Table]:
        """Return the tables of a unit, cut to the batches that its memory holds."""
        return self.tables.get(unit.key, [])


class Memory:
    """What batches fit into which memory, each worked out once."""

    def __init__(self, profile: Profile, request: Request) -> None:
        self._profile, self._request = profile, request
        self._needs: dict[tuple[object, ...], tuple[int, bool]] = {}
        self._context = 0
        if generates(profile) and request.load is not Load.TRAINING and request.sequence is None:
            self._context = (request.tokens_in or TOKENS_IN) + (request.tokens_out or TOKENS_OUT)

    def need(self, unit: Unit, precision: str, batch: int) -> tuple[int, bool]:
        """Return the bytes of a setting on one device, and whether all of them are known."""
        usable = usable_bytes(unit)
        small = usable is not None and usable <= _SMALL_BYTES
        key = (precision, batch, unit.chip.kind, small, unit.split)
        if key not in self._needs:
            found = needs(self._profile, self._setup(unit, precision, batch), self._request.mode)
            if unit.split > 1:
                split = smallest_split(
                    self._profile, usable or 0, unit.split, self._setup(unit, precision, batch), self._request.mode
                )
                found = split or found
            self._needs[key] = (found.total_bytes, found.complete)
        return self._needs[key]

    def _setup(self, unit: Unit, precision: str, batch: int) -> Setup:
        return Setup(
            precision=Precision(precision.removesuffix("-amp")),
            batch=batch,
            context=self._context,
            kind=unit.chip.kind,
            missing={
                "kv_precision": "as the activations",
                "training": "it is not said",
                **({} if (usable := usable_bytes(unit)) else {"usable_bytes": "the device is not known"}),
            },
            usable_bytes=usable,
        )

    def fits(self, unit: Unit, precision: str, batch: int) -> bool:
        """Say whether a batch fits; where a part of the need is unknown, the rest decides."""
        usable = usable_bytes(unit)
        return usable is None or self.need(unit, precision, batch)[0] <= usable

    def split_for(self, inside: Inside, precision: str) -> int:
        """Return over how many of a machine's devices the model must lie: 1, or the least that holds one input."""
        whole = Unit(inside.chip, inside.share, inside.cores, 1, inside.usable_bytes)
        if self.fits(whole, precision, 1) or not self._context or inside.count == 1 or inside.is_cpu:
            return 1
        found = smallest_split(
            self._profile, usable_bytes(whole) or 0, inside.count, self._setup(whole, precision, 1), self._request.mode
        )
        return 1 if found is None else found.split.tensor * found.split.pipeline

    def refusal(self, unit: Unit, precision: str, least: int) -> str:
        """Say how much a unit lacks."""
        needed = format_bytes(self.need(unit, precision, least)[0])
        there = format_bytes(usable_bytes(unit) or 0)
        where = "its memory" if unit.chip.kind is DeviceKind.CPU else f"its {unit.chip.model}"
        several = f" on each of {unit.split} devices" if unit.split > 1 else ""
        return f"it does not fit: {precision} needs {needed}{several}, {where} leaves {there}"


def usable_bytes(unit: Unit) -> int | None:
    """Return what a program can have of a unit's memory."""
    if unit.usable_bytes is None or unit.chip.kind is not DeviceKind.CPU:
        return unit.usable_bytes
    return int(unit.usable_bytes * _HOST_SHARE)


def units_of(inside: Inside, memory: Memory, precision: str) -> Unit:
    """Return what serves one request at a time in a machine."""
    split = memory.split_for(inside, precision)
    return Unit(inside.chip, inside.share, inside.cores, split, inside.usable_bytes)


def foresee(units: Iterable[Unit], profile: Profile, request: Request, forecasts: Forecasts) -> Services:
    """Return what calls take on each of the units, all foreseen in one go."""
    found = Services()
    plans: list[tuple[Unit, Try, tuple[float | None, ...], tuple[int, ...]]] = []
    for unit in {unit.key: unit for unit in units}.values():
        tried = ways(unit.chip, profile, request)
        if isinstance(tried, str):
            found.refused[unit.key] = tried
            continue
        nodes = _nodes(unit)
        plans += [(unit, way, nodes, batches(unit.chip, profile, request)) for way in tried]
    wanted: dict[tuple[object, ...], Question] = {}
    for unit, way, nodes, sizes in plans:
        for cores in nodes:
            for size in sizes:
                wanted.setdefault(_place(unit, way, cores, size), _question(unit, way, cores, size, profile, request))
    told = dict(zip(wanted, forecasts.foresee(list(wanted.values())), strict=True)) if wanted else {}
    for unit, way, nodes, sizes in plans:
        calls = _rising([_call(unit, way, nodes, size, told) for size in sizes])
        found.tables.setdefault(unit.key, []).append(Table(unit, way, calls))
    return found


def _rising(calls: Sequence[Call]) -> tuple[Call, ...]:
    """Return calls none of which is quicker than one of a smaller batch.

    Published figures of single calls and of full devices are of different kinds, so that the one of a larger batch may
    come out below the one of a smaller.
    """
    out: list[Call] = []
    for call in calls:
        most = out[-1].ms if out else (0.0, 0.0, 0.0)
        low, mid, high = (max(one, other) for one, other in zip(call.ms, most, strict=True))
        out.append(call if (low, mid, high) == call.ms else replace(call, ms=(low, mid, high)))
    return tuple(out)


def _nodes(unit: Unit) -> tuple[float | None, ...]:
    """Return the numbers of cores at which a CPU is foreseen for a unit: one, or the two around it."""
    if unit.cores is None:
        return (None,)
    most = float(unit.chip.compute_units or unit.cores)
    nodes = sorted({min(node, most) for node in _CORE_NODES} | {most})
    cores = min(unit.cores, most)
    place = bisect_left(nodes, cores)
    if nodes[place] == cores or place == 0:
        return (nodes[place] if nodes[place] == cores else cores,)
    return nodes[place - 1], nodes[place]


def _place(unit: Unit, way: Try, cores: float | None, size: int) -> tuple[object, ...]:
    return unit.chip.model, unit.share, cores, unit.split, way, size


def _question(unit: Unit, way: Try, cores: float | None, size: int, profile: Profile, request: Request) -> Question:
    known: dict[str, Any] = {
        "layout": None,
        "engine": way.engine,
        "precision": way.precision,
        "compiled": way.compiled,
        "batch": size,
        "scenario": None,
        "sequence": request.sequence,
        "tokens_in": request.tokens_in,
        "tokens_out": request.tokens_out,
        "image_size": request.image_size,
        "cores": cores,
    }
    missing = {name: "it was not said" for name, value in known.items() if value is None}
    query = Query(**known, mode=request.mode, share=unit.share, count=unit.split, missing=missing)
    return query, profile, unit.chip


def _call(
    unit: Unit, way: Try, nodes: Sequence[float | None], size: int, told: Mapping[tuple[object, ...], Foreseen]
) -> Call:
    ends = [told[_place(unit, way, cores, size)] for cores in nodes]
    weight = 0.0
    if len(nodes) > 1 and unit.cores is not None and nodes[0] and nodes[1]:
        weight = math.log(unit.cores / nodes[0]) / math.log(nodes[1] / nodes[0])
    near = ends[-1] if weight > 0.5 else ends[0]
    return Call(
        batch=size,
        ms=_between([item.latency_ms for item in ends], weight),
        limited_by=near.limited_by,
        roofline_ms=_mixed([float(item.roofline_ms) for item in ends], weight),
        first_token_ms=_tokens([item.first_token_ms for item in ends], weight),
        per_token_ms=_tokens([item.per_token_ms for item in ends], weight),
        told=near,
    )


def _tokens(ends: Sequence[Interval | None], weight: float) -> Spans | None:
    known = [item for item in ends if item is not None]
    return _between(known, weight) if len(known) == len(ends) else None


def _between(ends: Sequence[Interval], weight: float) -> Spans:
    low, mid, high = (_mixed([float(getattr(item, end)) for item in ends], weight) for end in ("low", "mid", "high"))
    return low, mid, high


def _mixed(values: Sequence[float], weight: float) -> float:
    """Return the value between two, on a logarithmic scale."""
    if len(values) == 1 or weight == 0.0 or min(values) <= 0:
        return values[0]
    return math.exp((1 - weight) * math.log(values[0]) + weight * math.log(values[1]))
