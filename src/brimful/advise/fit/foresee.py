"""Predictions for many queries at once: passes to seconds, seconds to calls, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from brimful.advise.fit.answer import COVERAGE, Foreseen
from brimful.advise.fit.case import KINDS, Array, Case, sums
from brimful.advise.fit.correct import Correction, Place, place_of
from brimful.advise.fit.physics import COMPUTED, Terms, Times
from brimful.advise.fit.predictor import Predictor
from brimful.advise.fit.query import Plan, Query, plan
from brimful.model.evidence import Interval
from brimful.model.hardware import Chip, DeviceKind
from brimful.model.work import Mode, OpKind, Profile

Asked = tuple[Query, Profile, Chip]
Measured = tuple[Query, Profile, Chip, float]
_AT_ONCE = 2000  # queries whose operations are laid out together: more would cost memory and win nothing
_SHOWN_KINDS = 3
_WIDEST = (0.7, 0.7)


@dataclass(frozen=True)
class Spread:
    """How far off predictions were where the truth was held back: half-widths of the logarithm at COVERAGE.

    Each for what was seen in training with the same engine: the device and the model, one of them, or neither.
    """

    widths: dict[str, tuple[float, float]]

    def of(self, case: Case, *, device: bool, model: bool) -> tuple[float, float]:
        """Return by how much the logarithm may be too high and too low."""
        if device or model:
            return self._of(case, "both" if device and model else "device" if device else "model")
        one, other = self._of(case, "device"), self._of(case, "model")
        return math.hypot(one[0], other[0]), math.hypot(one[1], other[1])

    def _of(self, case: Case, seen: str) -> tuple[float, float]:
        return next((self.widths[key] for key in strata(case, seen) if key in self.widths), _WIDEST)


@dataclass(frozen=True)
class Forecaster:
    """The predictor with what is known of its errors, and what a user's measurements say of them."""

    predictor: Predictor
    spread: Spread
    about: tuple[str, ...]  # what it was trained on, in words
    seen: frozenset[str] = frozenset()  # `device|engine` and `model|engine` of what was trained on
    correction: Correction | None = None
    own_count: int = 0

    def foresee(self, asked: Sequence[Asked]) -> list[Foreseen]:
        """Return what each query would measure."""
        out: list[Foreseen] = []
        for start in range(0, len(asked), _AT_ONCE):
            out += self._some(asked[start : start + _AT_ONCE])
        return out

    def corrected(self, measured: Sequence[Measured]) -> Forecaster:
        """Return a forecaster that has learned from measurements: each a query and the seconds of one call."""
        if not measured:
            return self
        asked = [item[:3] for item in measured]
        plans = [plan(*item) for item in asked]
        seconds = self._seconds(plans)
        errors = np.log([item[3] for item in measured]) - np.log(seconds)
        places = [self._place(item, each) for item, each in zip(asked, plans, strict=True)]
        return replace(self, correction=Correction(places, errors), own_count=len(measured))

    def _seconds(self, plans: Sequence[Plan]) -> Array:
        cases = [part.case for each in plans for part in each.parts]
        log_s, (found, _) = self.predictor.log_s(cases)
        seconds = np.maximum(np.exp(log_s), _bounds(found, cases))
        return _summed(plans, seconds)

    def _place(self, asked: Asked, each: Plan) -> Place:
        case = each.parts[-1].case
        return place_of(case, asked[1].model, known=self._known(case))

    def _some(self, asked: Sequence[Asked]) -> list[Foreseen]:
        plans = [plan(*item) for item in asked]
        cases = [part.case for each in plans for part in each.parts]
        log_s, (found, taken) = self.predictor.log_s(cases)
        bounds = _bounds(found, cases)
        seconds = np.maximum(np.exp(log_s), bounds)
        totals, least = _summed(plans, seconds), _summed(plans, bounds)
        shift, remaining = np.zeros(len(plans)), np.ones(len(plans))
        if self.correction is not None:
            places = [self._place(item, each) for item, each in zip(asked, plans, strict=True)]
            shift, remaining = self.correction(places)
        limits = _limits(found, taken, len(cases))
        kinds = _kinds(found, taken, len(cases))
        out, place = [], 0
        for number, each in enumerate(plans):
            main = max(range(len(each.parts)), key=lambda k: seconds[place + k] * each.parts[k].times)
            scale = float(np.exp(shift[number]))
            out.append(
                self._foreseen(
                    each,
                    asked[number][1].model,
                    total=max(totals[number] * scale, least[number]),
                    least=float(least[number]),
                    narrowed=float(np.sqrt(remaining[number])),
                    limited_by=limits[place + main],
                    kinds=kinds[place + main],
                    parts=tuple(max(seconds[place + k] * scale, bounds[place + k]) for k in range(len(each.parts))),
                )
            )
            place += len(each.parts)
        return out

    def _foreseen(
        self,
        each: Plan,
        model: str,
        *,
        total: float,
        least: float,
        narrowed: float,
        limited_by: str,
        kinds: tuple[OpKind, ...],
        parts: tuple[float, ...],
    ) -> Foreseen:
        case = each.parts[-1].case
        known, familiar = self._known(case), seen_as(model, case.engine) in self.seen
        low, high = (width * narrowed for width in self.spread.of(case, device=known, model=familiar))

        def interval(mid: float, floor: float) -> Interval:
            mid = float(mid)
            smallest = min(mid, max(mid * float(np.exp(-low)), float(floor)))
            return Interval(low=smallest, mid=mid, high=mid * float(np.exp(high)), coverage=COVERAGE)

        latency = interval(total * 1e3, least * 1e3)
        samples = each.batch * each.side_by_side * 1e3
        rate = Interval(
            low=samples / latency.high, mid=samples / latency.mid, high=samples / latency.low, coverage=COVERAGE
        )
        tokens: dict[str, Any] = {}
        if len(each.parts) > 1:
            tokens = {"first_token_ms": interval(parts[0] * 1e3, 0.0), "per_token_ms": interval(parts[1] * 1e3, 0.0)}
        return Foreseen(
            latency_ms=latency,
            throughput_per_s=rate,
            batch=each.batch,
            engine=case.engine,
            precision=case.precision,
            layout=case.layout,
            compiled=case.compiled,
            limited_by=limited_by,
            kinds=kinds,
            roofline_ms=least * 1e3,
            basis=self._basis(case, model, known=known, familiar=familiar),
            **tokens,
        )

    def _known(self, case: Case) -> bool:
        """Say whether somebody measured this device with this engine."""
        return seen_as(case.chip.model, case.engine) in self.seen

    def _basis(self, case: Case, model: str, *, known: bool, familiar: bool) -> tuple[str, ...]:
        told = f"measured with {case.engine}" if known else f"never measured with {case.engine}: from its datasheet"
        device = f"{case.chip.model} was {told}"
        own = (f"{self.own_count} measurements of your own",) if self.own_count else ()
        new = () if familiar else (f"{model} was not measured with {case.engine}: from its operations",)
        return (*self.about, device, *new, *own)


def strata(case: Case, seen: str) -> tuple[str, ...]:
    """Return what a case's errors are counted under, the most particular first."""
    kind = f"{seen} {case.chip.kind.value}"
    return f"{kind} {case.engine} {case.scenario}", f"{kind} {case.engine}", kind, seen


def seen_as(name: str, engine: str) -> str:
    """Return under which name a device or a model counts as measured with an engine."""
    return f"{name.lower()}|{engine}"


def _summed(plans: Sequence[Plan], seconds: Array) -> Array:
    owner = np.repeat(np.arange(len(plans)), [len(each.parts) for each in plans])
    times = np.array([part.times for each in plans for part in each.parts])
    return sums(owner, seconds * times, len(plans))


def _bounds(found: Terms, cases: Sequence[Case]) -> Array:
    """Return the seconds that no device of these facts can beat: its arithmetic, or its weights, at full rate.

    Traffic of activations is no bound, for engines fuse it away; weights that fit the cache are none either.
    """
    arithmetic: Array = sums(found.case, found.compute_s * found.count * COMPUTED[found.kind], found.cases)
    faster = np.array([_fastest(case) for case in cases])
    weights = np.array([_weights_s(case) for case in cases])
    bound: Array = np.maximum(arithmetic / faster, weights)
    return bound


def _fastest(case: Case) -> float:
    """How much more than the peak that counts a precision may reach by other means."""
    peak = case.peak() / case.portion
    if case.computed_in == "fp16" and case.chip.fast_fp16_flops:
        return max(1.0, case.chip.fast_fp16_flops / peak)
    if case.precision.startswith("fp32") and "tf32" in case.chip.peak_flops:
        return max(1.0, case.chip.peak_flops["tf32"] / peak)
    if case.computed_in == "int8" and case.chip.kind is DeviceKind.CPU and "int8" not in case.chip.peak_flops:
        return 2.0
    return (
        1.25 if case.chip.kind is DeviceKind.CPU else 1.0
    )  # a CPU of few busy cores clocks higher than its sheet says


def _weights_s(case: Case) -> float:
    ops = ops_weights(case)
    if ops <= (case.chip.cache_bytes or 0):
        return 0.0
    passes = 3.0 if case.mode is Mode.TRAINING else 1.0
    return passes * ops / case.split / case.bandwidth


def ops_weights(case: Case) -> float:
    """Return the bytes of weights that a pass reads."""
    ops = case.ops
    each = np.where(np.isnan(ops.weight_bits), case.weight_bytes, ops.weight_bits / 8)
    return float((ops.weights * ops.count * each).sum())


def _limits(found: Terms, taken: Times, number: int) -> list[str]:
    """Say of each case what most of its time goes to."""
    parts = np.stack([sums(found.case, part, number) for part in taken.parts] + [found.extra_s])
    names = ("compute", "memory", "launch", "network")
    return [names[place] for place in parts.argmax(axis=0)]


def _kinds(found: Terms, taken: Times, number: int) -> list[tuple[OpKind, ...]]:
    """Return the kinds of operations that cost most, the costliest first."""
    flat = sums(found.case * len(KINDS) + found.kind, taken.row_s, number * len(KINDS))
    table = flat.reshape(number, len(KINDS))
    order = np.argsort(-table, axis=1)[:, :_SHOWN_KINDS]
    return [tuple(KINDS[k] for k in row if table[i, k] > 0) for i, row in enumerate(order)]
