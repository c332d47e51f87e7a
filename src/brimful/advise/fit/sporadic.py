"""Traffic that does not fill a device: how long it works, what switching it off saves, and what shares it.

A machine that is off is started by the first request and serves once it is up; it goes off again when nothing was
asked of it for the timeout. It is billed from the request that starts it, start-up included, until it goes off.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from brimful.model.noun import Noun, noun, unknown, with_gaps

_HOUR_MS = 3_600_000.0


@noun
class Switched(Noun):
    """What a machine that is off between requests did over a trace, beside what one that stays on is billed."""

    requests_count: int
    starts_count: int
    billed_hours: float
    always_on_hours: float
    busy_share: float  # of the trace, whatever is billed
    p50_ms: float
    p99_ms: float
    cold_share: float  # requests that waited for a start


def scale_to_zero(
    times_ms: npt.ArrayLike, service_ms: Sequence[float], idle_timeout_s: float, cold_start_s: float
) -> Switched:
    """Follow a trace on one machine that goes off; `service_ms[b - 1]` is the service time of a batch of b."""
    arrivals: list[float] = np.asarray(times_ms, dtype=float).tolist()
    if not arrivals:
        raise ValueError("there are no arrivals to follow")
    count, most, timeout, cold = len(arrivals), len(service_ms), idle_timeout_s * 1000, cold_start_s * 1000
    latency, busy, at, ended = [0.0] * count, 0.0, 0, -math.inf
    sessions: list[tuple[float, float]] = []  # when it started, and when it had ended before
    while at < count:
        if arrivals[at] > ended + timeout or not sessions:
            sessions.append((arrivals[at], ended))
            ended = arrivals[at] + cold
        start = max(arrivals[at], ended)
        until = bisect_right(arrivals, start, at + 1, min(at + most, count))
        ended = start + service_ms[until - at - 1]
        busy += service_ms[until - at - 1]
        latency[at:until] = [ended - came for came in arrivals[at:until]]
        at = until
    begun = [begin for begin, _ in sessions]
    over = [*(end for _, end in sessions[1:]), ended]
    billed = sum(end + timeout - begin for begin, end in zip(begun, over, strict=True))
    return _switched(np.asarray(arrivals), np.asarray(latency), begun, billed, busy, ended, cold)


def _switched(
    arrivals: npt.NDArray[np.float64],
    latency: npt.NDArray[np.float64],
    begun: list[float],
    billed_ms: float,
    busy_ms: float,
    ended: float,
    cold_ms: float,
) -> Switched:
    last_start = np.asarray(begun)[np.searchsorted(begun, arrivals, side="right") - 1]
    span = ended - float(arrivals[0])
    return Switched(
        requests_count=len(arrivals),
        starts_count=len(begun),
        billed_hours=billed_ms / _HOUR_MS,
        always_on_hours=span / _HOUR_MS,
        busy_share=min(1.0, busy_ms / span) if span > 0 else 1.0,
        p50_ms=float(np.percentile(latency, 50, method="inverted_cdf")),
        p99_ms=float(np.percentile(latency, 99, method="inverted_cdf")),
        cold_share=float((arrivals <= last_start + cold_ms).mean()),
    )


@noun
class Load(Noun):
    """One model on a device that it shares: its requests, each served alone."""

    model: str
    queries_per_s: float
    service_ms: float
    memory_bytes: int


@noun
class Sharing(Noun):
    """Several models on one device: how busy it is, and the latency of each, waiting for the others included."""

    utilization_share: float | None = unknown()
    memory_bytes: int
    fits: bool
    wait_mean_ms: float | None = unknown()
    p99_ms: tuple[float, ...] = ()  # in the order of the loads; empty when there is no steady state
    reason: str


def shared(loads: Sequence[Load], usable_memory_bytes: int) -> Sharing:
    """Add up what several models ask of one device; requests of all wait in one queue (M/G/1).

    The mean wait is Pollaczek's and Khinchin's. Its 99th percentile takes the wait as exponential beyond the share of
    requests that do not wait at all.
    """
    if not loads:
        raise ValueError("no model shares the device")
    memory = sum(load.memory_bytes for load in loads)
    busy = sum(load.queries_per_s * load.service_ms for load in loads) / 1000
    if memory > usable_memory_bytes or busy >= 1:
        reason = f"together they need more {'memory' if memory > usable_memory_bytes else 'time'} than the device has"
        used = busy if busy <= 1 else None
        return with_gaps(Sharing, reason, utilization_share=used, memory_bytes=memory, fits=False, reason=reason)
    wait = sum(load.queries_per_s / 1000 * load.service_ms**2 for load in loads) / (2 * (1 - busy))
    wait_p99 = wait / busy * math.log(busy / 0.01) if busy > 0.01 else 0.0
    return Sharing(
        utilization_share=busy,
        memory_bytes=memory,
        fits=True,
        wait_mean_ms=wait,
        p99_ms=tuple(load.service_ms + wait_p99 for load in loads),
        reason=f"{len(loads)} models keep the device busy {busy:.0%} of the time",
    )
