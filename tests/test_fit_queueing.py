"""Whether computed waiting times are those of a simulation that follows every request."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful.advise.fit.queueing import FULLEST, capacity_per_s, steady
from brimful.advise.fit.replay import replay

ARRIVALS = 150_000


def table(fixed: float, batch: int) -> list[float]:
    """Return service times of which a share is there whatever the batch."""
    return [10 * (fixed + (1 - fixed) * size) for size in range(1, batch + 1)]


def simulated(service: list[float], per_s: float, replicas: int, seed: int = 1):
    """Simulate Poisson arrivals; what batches in several replicas has a queue each, as `steady` says it has."""
    queues = replicas if len(service) > 1 else 1
    dice = np.random.default_rng(seed)
    times = np.cumsum(dice.exponential(1000 * queues / per_s, ARRIVALS))
    found = replay(times, service, replicas // queues)
    return found, found.latency_ms[ARRIVALS // 10 :]


CASES = [
    (replicas, batch, fixed)
    for replicas, batch, fixed in [
        (1, 1, 0.9), (2, 1, 0.9), (4, 1, 0.9), (8, 1, 0.9), (1, 2, 0.6), (1, 4, 0.9), (1, 8, 0.9), (1, 8, 0.3),
        (1, 32, 0.9), (1, 32, 0.6), (1, 256, 0.97), (4, 8, 0.8),
    ]
]  # fmt: skip


@pytest.mark.parametrize("load", [0.2, 0.5, 0.7, 0.9])
@pytest.mark.parametrize(("replicas", "batch", "fixed"), CASES)
def test_latencies_are_those_of_a_simulation(replicas, batch, fixed, load):
    service = table(fixed, batch)
    per_s = load * capacity_per_s(service, replicas)
    found, latency = simulated(service, per_s, replicas)
    computed = steady(service, per_s, replicas)
    assert computed.mean_ms == pytest.approx(latency.mean(), rel=0.05)
    assert computed.p99_ms == pytest.approx(np.percentile(latency, 99), rel=0.10)
    assert computed.mean_batch == pytest.approx(found.batches.mean(), rel=0.05)
    assert computed.utilization == pytest.approx(found.utilization(replicas if batch == 1 else 1), rel=0.05)


def test_a_single_queue_has_the_mean_wait_that_pollaczek_and_khinchin_found():
    for load in (0.1, 0.5, 0.8, 0.95):
        wait = load / (2 * (1 - load)) * 10
        assert steady([10.0], load * 100).mean_ms == pytest.approx(10 + wait, rel=0.02)


def test_without_load_a_request_takes_its_service_time():
    found = steady([10.0, 12.0], 0.0)
    assert (found.mean_ms, found.p50_ms, found.p99_ms, found.utilization) == (10.0, 10.0, 10.0, 0.0)


def test_a_queue_that_grows_without_bound_has_no_steady_state():
    assert steady([10.0], 100.0) is None
    assert steady([10.0], 100 * FULLEST) is None
    assert steady([10.0], 150.0, replicas=2) is not None


@given(st.floats(0.05, 0.88), st.floats(0.1, 1.0), st.integers(1, 40), st.floats(0.01, 1000))
@settings(max_examples=40, deadline=None)
def test_times_scale_with_the_service_time_and_latency_rises_with_load(load, fixed, batch, scale):
    service = table(fixed, batch)
    per_s = load * capacity_per_s(service)
    one = steady(service, per_s)
    scaled = steady([scale * value for value in service], per_s / scale)
    assert scaled.p99_ms == pytest.approx(scale * one.p99_ms, rel=1e-6)
    busier = steady(service, per_s * 1.08)
    assert busier.mean_ms >= one.mean_ms * 0.999
    assert one.p50_ms <= one.p99_ms
    assert service[0] <= one.p50_ms * (1 + 1e-9)


def brute_force(times, service, replicas, wait):
    """Follow requests by a clock that stops at every event: slow, and as the rule is told."""
    free, latency, queue, coming = [0.0] * replicas, {}, [], list(enumerate(times))
    while coming or queue:
        if not queue:
            queue.append(coming.pop(0))
        now = max(min(free), queue[0][1])
        while coming and len(queue) < len(service) and coming[0][1] <= max(now, queue[0][1] + wait):
            queue.append(coming.pop(0))
            now = max(now, queue[-1][1])
        if len(queue) < len(service):
            now = max(now, queue[0][1] + wait)
        taken, queue = queue[: len(service)], queue[len(service) :]
        end = now + service[len(taken) - 1]
        free[free.index(min(free))] = end
        latency.update({place: end - came for place, came in taken})
    return [latency[place] for place in range(len(times))]


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=40),
    st.lists(st.floats(0.1, 20), min_size=1, max_size=4),
    st.integers(1, 3),
    st.sampled_from([0.0, 5.0]),
)
@settings(max_examples=200, deadline=None)
def test_a_replay_is_what_the_rule_says_request_by_request(gaps, service, replicas, wait):
    times, service = np.cumsum(gaps).tolist(), sorted(service)
    wait = wait if len(service) > 1 else 0.0
    found = replay(times, service, replicas, wait)
    assert found.latency_ms.tolist() == pytest.approx(brute_force(times, service, replicas, wait))


def test_arrivals_out_of_order_and_none_at_all_are_refused():
    with pytest.raises(ValueError, match="must not fall"):
        replay([1.0, 0.5], [1.0])
    with pytest.raises(ValueError, match="no arrivals"):
        replay([], [1.0])
