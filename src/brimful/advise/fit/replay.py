"""What happens to requests whose arrival times are known: every one of them followed, none estimated.

One queue in order of arrival before `replicas` of the same kind. A free replica takes what waits, at most the largest
batch; with `max_wait_ms` it first lets a batch that is not full wait so long for company, counted from the arrival of
its oldest request.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapreplace

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Replayed:
    """Each request's latency, and when each service began and ended, in milliseconds."""

    latency_ms: _Array
    began_ms: _Array
    ended_ms: _Array
    batches: npt.NDArray[np.int64]

    def percentile_ms(self, percent: float) -> float:
        """Return the latency that this share of the requests does not exceed."""
        return float(np.percentile(self.latency_ms, percent, method="inverted_cdf"))

    def utilization(self, replicas: int) -> float:
        """Return the busy share of the replicas from the first arrival to the last answer."""
        span = float(self.ended_ms.max() - self.began_ms.min())
        return min(1.0, float((self.ended_ms - self.began_ms).sum()) / (span * replicas)) if span > 0 else 1.0


def replay(
    times_ms: npt.ArrayLike, service_ms: Sequence[float], replicas: int = 1, max_wait_ms: float = 0.0
) -> Replayed:
    """Follow requests that come at rising times; `service_ms[b - 1]` is the service time of a batch of b."""
    times = np.asarray(times_ms, dtype=float)
    if len(times) == 0:
        raise ValueError("there are no arrivals to follow")
    if np.any(np.diff(times) < 0) or not np.isfinite(times).all():
        raise ValueError("arrival times must be finite and must not fall")
    if len(service_ms) == 1:
        return _one_by_one(times, service_ms[0], replicas)
    return _in_batches(times, service_ms, replicas, max_wait_ms)


def _one_by_one(times: _Array, service_ms: float, replicas: int) -> Replayed:
    """Follow requests that are served alone: each one's replica is the one that served it `replicas` before.

    A request ends at max(arrival, end of the one before it there) + service, so end - n x service is a running
    maximum, which numpy finds in one pass.
    """
    ended = np.empty_like(times)
    for first in range(min(replicas, len(times))):
        lane = times[first::replicas]
        place = np.arange(len(lane))
        ended[first::replicas] = np.maximum.accumulate(lane - place * service_ms) + (place + 1) * service_ms
    return Replayed(ended - times, ended - service_ms, ended, np.ones(len(times), dtype=np.int64))


def _in_batches(times: _Array, service_ms: Sequence[float], replicas: int, max_wait_ms: float) -> Replayed:
    arrivals: list[float] = times.tolist()
    count, most = len(arrivals), len(service_ms)
    service = [0.0, *service_ms]
    free = [-math.inf] * replicas
    began, ended, ends = [], [], []
    at = 0
    while at < count:
        start = arrivals[at]
        if max_wait_ms:
            full = arrivals[at + most - 1] if at + most <= count else math.inf
            start = min(start + max_wait_ms, full)
        start = max(start, free[0])
        until = bisect_right(arrivals, start, at + 1, min(at + most, count))
        done = start + service[until - at]
        heapreplace(free, done)
        began.append(start)
        ended.append(done)
        ends.append(until)
        at = until
    batches: npt.NDArray[np.int64] = np.array(ends) - np.array([0, *ends[:-1]])
    end = np.array(ended)
    return Replayed(np.repeat(end, batches) - times, np.array(began), end, batches)
