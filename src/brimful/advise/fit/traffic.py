"""What devices do under the traffic that is asked: latency with waiting, replicas that keep an SLO, most throughput.

`Service` says how long a batch takes, with its interval. It is asked for the batches that are allowed (what memory and
engine allow); sizes between them are interpolated. Latencies with waiting are computed at the three ends of the
interval: where the slow end cannot keep up, the high latency is unknown, not infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from brimful.advise.fit.queueing import FULLEST, Steady, capacity_per_s, steady
from brimful.advise.fit.replay import replay
from brimful.model.evidence import Interval
from brimful.model.noun import Noun, noun, unknown
from brimful.model.units import format_seconds
from brimful.model.work import Slo

Service = Callable[[int], Interval]
MOST_REPLICAS = 4096
_NO_HIGH = "at the slow end of the prediction requests come faster than they are served"
_Ends = tuple[list[float], list[float], list[float]]


@noun
class Served(Noun):
    """How `replicas` that batch up to `batch` serve the traffic; latencies include waiting, mid and interval.

    `utilization_share` is how long the devices are busy; with batches that grow by themselves it nears 1 long before
    they are full. `load_share` is what is asked of them as a share of their capacity.
    """

    replicas: int
    batch: int
    queries_per_s: float
    utilization_share: float
    load_share: float | None = unknown()
    mean_batch: float
    p50_ms: float
    p50_ms_low: float
    p50_ms_high: float | None = unknown(_NO_HIGH)
    p99_ms: float
    p99_ms_low: float
    p99_ms_high: float | None = unknown(_NO_HIGH)
    meets_share: float  # the probability that the SLO is kept


@noun
class Fewest(Noun):
    """The fewest replicas that keep an SLO, or why none do and what can be reached."""

    served: Served | None = unknown()
    reachable_p99_ms: float  # the best 99th percentile that any number of them reaches


@noun
class Offline(Noun):
    """The batch with the most throughput when the queue is never empty."""

    batch: int
    throughput_per_s: Interval


def offline(service: Service, batches: Sequence[int], replicas: int = 1) -> Offline:
    """Return the most throughput (MLPerf's offline: all the work is there from the start)."""
    batch = max(batches, key=lambda size: (size / service(size).mid, -size))
    time = service(batch)
    low, mid, high = (replicas * batch * 1000 / end for end in (time.high, time.mid, time.low))
    return Offline(batch=batch, throughput_per_s=Interval(low=low, mid=mid, high=high, coverage=time.coverage))


def single_stream(service: Service, samples: int = 1) -> Offline:
    """Return the throughput of one query after the other, of `samples` each (single-stream; multi-stream: 8)."""
    return offline(service, [samples])


def serve(
    service: Service, batches: Sequence[int], queries_per_s: float, replicas: int = 1, slo: Slo | None = None
) -> Served | None:
    """Return how replicas serve Poisson arrivals, or None when they cannot keep up."""
    ends = _ends(service, batches)
    return _served(ends, service(1).coverage, queries_per_s, replicas, slo or Slo())


def serve_trace(
    times_ms: npt.NDArray[np.float64],
    service: Service,
    batches: Sequence[int],
    replicas: int = 1,
    slo: Slo | None = None,
    max_wait_ms: float = 0.0,
) -> Served:
    """Return how replicas serve requests that come at known times, each of them followed."""
    ends = _ends(service, batches)
    low, mid, high = (replay(times_ms, table, replicas, max_wait_ms) for table in ends)
    span_s = float(times_ms[-1] - times_ms[0]) / 1000
    per_s = len(times_ms) / span_s if span_s > 0 else 0.0
    load = per_s / capacity_per_s(ends[1], replicas)
    figures = [(run.percentile_ms(50), run.percentile_ms(99)) for run in (low, mid, high)]
    return Served(
        replicas=replicas,
        batch=max(batches),
        queries_per_s=per_s,
        utilization_share=mid.utilization(replicas),
        load_share=load if load <= 1 else None,
        missing={} if load <= 1 else {"load_share": "the trace asks for more than the capacity"},
        mean_batch=float(mid.batches.mean()),
        p50_ms_low=figures[0][0],
        p50_ms=figures[1][0],
        p50_ms_high=figures[2][0],
        p99_ms_low=figures[0][1],
        p99_ms=figures[1][1],
        p99_ms_high=figures[2][1],
        meets_share=_meets([_excess(*pair, slo or Slo()) for pair in figures], service(1).coverage),
    )


def fewest_replicas(service: Service, batches: Sequence[int], queries_per_s: float, slo: Slo) -> Fewest:
    """Return the fewest replicas whose mid latencies keep the SLO, with the largest batch that suits it best."""
    ends = _ends(service, batches)
    alone_ms = ends[1][0]
    if _excess(alone_ms, alone_ms, slo) > 1:
        why = f"one request alone takes {format_seconds(alone_ms / 1000)}: no number of replicas makes it faster"
        return Fewest(reachable_p99_ms=alone_ms, missing={"served": why})
    tried: list[tuple[int, int]] = []
    least = MOST_REPLICAS
    for most in reversed(_worth_trying(ends[1], batches, slo)):
        count = _needed(ends[1][:most], queries_per_s, slo, least)
        if count is not None:
            least = count
            tried.append((count, most))
    if not tried:
        why = f"more than {MOST_REPLICAS} replicas would be needed"
        return Fewest(reachable_p99_ms=alone_ms, missing={"served": why})
    best = min(
        (most for count, most in tried if count == least),
        key=lambda most: (_tail_ms(ends[1][:most], queries_per_s, least), most),
    )
    served = _served(_cut(ends, best), service(1).coverage, queries_per_s, least, slo)
    return Fewest(served=served, reachable_p99_ms=alone_ms)


def _tail_ms(mid: list[float], queries_per_s: float, replicas: int) -> float:
    state = steady(mid, queries_per_s, replicas)
    return math.inf if state is None else float(f"{state.p99_ms:.3g}")  # what is as good may be the smaller batch


def fewest_for_trace(times_ms: npt.NDArray[np.float64], service: Service, batches: Sequence[int], slo: Slo) -> Fewest:
    """Return the fewest replicas that keep the SLO over a trace, with the largest batch that is allowed."""
    mid = _ends(service, batches)[1]
    most = min(MOST_REPLICAS, len(times_ms))

    def keeps(count: int) -> bool:
        run = replay(times_ms, mid, count)
        return _excess(run.percentile_ms(50), run.percentile_ms(99), slo) <= 1

    low, high = 1, 1
    while high < most and not keeps(high):
        low, high = high + 1, min(high * 2, most)
    if not keeps(high):
        best = replay(times_ms, mid, most).percentile_ms(99)
        why = f"{most} replicas reach {format_seconds(best / 1000)} at the 99th percentile, and more bring nothing"
        return Fewest(reachable_p99_ms=best, missing={"served": why})
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle + 1, high)
    served = serve_trace(times_ms, service, batches, high, slo)
    return Fewest(served=served, reachable_p99_ms=min(mid[0], served.p99_ms))


def least_replicas(service: Service, batches: Sequence[int], queries_per_s: float) -> int:
    """Return a number of replicas that fewer can never do with, from throughput alone: cheap to compute."""
    best = offline(service, batches).throughput_per_s.mid
    return max(1, math.ceil(queries_per_s / best))


def _ends(service: Service, batches: Sequence[int]) -> _Ends:
    """Return the service times of every batch from 1 up, at the low, the mid and the high end."""
    known = sorted({1, *batches})
    if known[0] < 1:
        raise ValueError(f"a batch of {known[0]}: it starts at 1")
    times = [service(size) for size in known]
    sizes = np.arange(1, known[-1] + 1)
    low, mid, high = (
        np.interp(sizes, known, np.maximum.accumulate([getattr(time, end) for time in times])).tolist()
        for end in ("low", "mid", "high")
    )
    return low, mid, high


def _cut(ends: _Ends, most: int) -> _Ends:
    low, mid, high = ends
    return low[:most], mid[:most], high[:most]


def _worth_trying(mid: list[float], batches: Sequence[int], slo: Slo) -> list[int]:
    """Return the largest batches to consider: none alone, and the three largest that end within the SLO."""
    limit = min(value for value in (slo.p99_ms, slo.p50_ms, math.inf) if value is not None)
    within = [size for size in sorted(set(batches)) if size > 1 and mid[size - 1] <= limit]
    return [1, *within[-3:]]


def _needed(mid: list[float], queries_per_s: float, slo: Slo, most: int) -> int | None:
    """Return the fewest replicas, up to `most`, that keep the SLO, for one largest batch."""
    low = high = max(1, math.ceil(queries_per_s / (FULLEST * capacity_per_s(mid))))
    step = 1
    while high <= most and not _keeps(steady(mid, queries_per_s, high), slo):
        if high == most:
            return None
        low, high, step = high + 1, min(high + step, most), step * 2
    if high > most:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _keeps(steady(mid, queries_per_s, middle), slo) else (middle + 1, high)
    return high


def _keeps(state: Steady | None, slo: Slo) -> bool:
    return state is not None and _excess(state.p50_ms, state.p99_ms, slo) <= 1


def _excess(p50_ms: float, p99_ms: float, slo: Slo) -> float:
    """Return the worse of the latencies as a share of what the SLO allows; 0 when it allows anything."""
    median = 0.0 if slo.p50_ms is None else p50_ms / max(slo.p50_ms, 1e-9)
    tail = 0.0 if slo.p99_ms is None else p99_ms / max(slo.p99_ms, 1e-9)
    return max(median, tail)


def _served(ends: _Ends, coverage: float, queries_per_s: float, replicas: int, slo: Slo) -> Served | None:
    low, mid, high = (steady(table, queries_per_s, replicas) for table in ends)
    if low is None or mid is None:
        return None
    known: dict[str, Any] = {} if high is None else {"p50_ms_high": high.p50_ms, "p99_ms_high": high.p99_ms}
    excess = [math.inf if state is None else _excess(state.p50_ms, state.p99_ms, slo) for state in (low, mid, high)]
    return Served(
        replicas=replicas,
        batch=len(ends[1]),
        queries_per_s=queries_per_s,
        utilization_share=mid.utilization,
        load_share=queries_per_s / capacity_per_s(ends[1], replicas),
        mean_batch=mid.mean_batch,
        p50_ms_low=low.p50_ms,
        p50_ms=mid.p50_ms,
        p99_ms_low=low.p99_ms,
        p99_ms=mid.p99_ms,
        meets_share=_meets(excess, coverage),
        **known,
    )


def _meets(excess: Sequence[float], coverage: float) -> float:
    """Return the probability that the SLO is kept, from how far the low, mid and high end exceed it.

    The logarithm of the latency is taken as normal on either side of the mid. A high end that cannot keep up counts
    as ten times the mid.
    """
    low, mid, high = (max(value, 1e-12) for value in excess)
    if mid <= 1e-12:
        return 1.0  # nothing is asked
    high = min(high, 10 * mid)
    reach = NormalDist().inv_cdf((1 + coverage) / 2)
    spread = math.log(high / mid if mid <= 1 else mid / low) / reach
    if spread <= 0:
        return float(mid <= 1)
    return NormalDist().cdf(-math.log(mid) / spread)
