"""A predictor for tests: twice the roofline, with an interval of 30 % either way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brimful.advise.fit.answer import Foreseen
from brimful.advise.fit.forecasts import Measured, Question
from brimful.advise.fit.physics import terms
from brimful.advise.fit.query import plan
from brimful.model.evidence import Interval

SLOWER, SPREAD, CALL_S = 2.0, 0.3, 1e-4


@dataclass(frozen=True)
class StandIn:
    factor: float = SLOWER
    own: int = 0

    def foresee(self, asked: Sequence[Question]) -> list[Foreseen]:
        plans = [plan(*item) for item in asked]
        cases = [part.case for each in plans for part in each.parts]
        found = terms(cases)
        worst = np.maximum(found.compute_s, found.traffic_s) * found.count
        seconds = iter(np.bincount(found.case, worst, found.cases) + found.extra_s)
        out = []
        for each in plans:
            parts = [next(seconds) for _ in each.parts]
            least = sum(one * part.times for one, part in zip(parts, each.parts, strict=True)) * 1000
            mid = least * self.factor + CALL_S * 1000
            case = each.parts[0].case
            tokens = {}
            if len(parts) > 1:
                first, other = (self._interval(one * 1000 * self.factor + CALL_S * 1000) for one in parts)
                tokens = {"first_token_ms": first, "per_token_ms": other}
            rate = each.batch * each.side_by_side * 1000 / mid
            out.append(
                Foreseen(
                    latency_ms=self._interval(mid),
                    throughput_per_s=Interval(
                        low=rate / (1 + SPREAD), mid=rate, high=rate / (1 - SPREAD), coverage=0.8
                    ),
                    batch=each.batch,
                    engine=case.engine,
                    precision=case.precision,
                    layout=case.layout,
                    compiled=case.compiled,
                    limited_by="compute",
                    roofline_ms=least,
                    basis=("a stand-in", *((f"{self.own} measurements of your own",) if self.own else ())),
                    **tokens,
                )
            )
        return out

    def _interval(self, mid: float) -> Interval:
        return Interval(low=mid * (1 - SPREAD), mid=mid, high=mid * (1 + SPREAD), coverage=0.8)

    def corrected(self, measured: Sequence[Measured]) -> StandIn:
        if not measured:
            return self
        here = self.foresee([item[:3] for item in measured])
        ratios = [item[3] * 1000 / one.latency_ms.mid for item, one in zip(measured, here, strict=True)]
        return StandIn(self.factor * float(np.median(ratios)), len(measured))
