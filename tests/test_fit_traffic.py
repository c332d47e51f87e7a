"""Traffic: arrivals as they are read, replicas that keep an SLO, machines that go off, models that share a device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful.advise.fit.arrivals import arrivals
from brimful.advise.fit.queueing import steady
from brimful.advise.fit.sporadic import Load, scale_to_zero, shared
from brimful.advise.fit.traffic import (
    fewest_for_trace,
    fewest_replicas,
    least_replicas,
    offline,
    serve,
    serve_trace,
    single_stream,
)
from brimful.model.errors import DataError
from brimful.model.evidence import Interval
from brimful.model.work import Slo

BATCHES = (1, 2, 4, 8, 16, 32)


def takes(fixed_ms: float, each_ms: float, spread: float = 1.2):
    """Make a service time with a fixed part, known within a factor."""

    def service(batch: int) -> Interval:
        mid = fixed_ms + each_ms * batch
        return Interval(low=mid / spread, mid=mid, high=mid * spread, coverage=0.8)

    return service


def test_times_are_read_as_seconds_or_dates_and_put_in_order():
    assert arrivals(["3", "1.5", "", "2"]).tolist() == [0.0, 0.5, 1.5]
    assert arrivals(["tokens,time_s", "7,10", "8,12"]).tolist() == [0.0, 2.0]
    dates = ["TIMESTAMP,ContextTokens", "2023-11-16 18:17:03.9799600,4808", "2023-11-16 18:17:04.0799600,10"]
    assert arrivals(dates).tolist() == pytest.approx([0.0, 0.1], abs=1e-6)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], "no times"),
        (["time_s"], "no times"),
        (["1", "soon"], "line 2 has 'soon'"),
        (["1", "nan"], "'nan'"),
        (["a,time", "1"], "line 2 has ''"),
        (["1", "1e400"], "1e400"),
    ],
)
def test_what_is_no_time_is_refused_with_its_line(lines, why):
    with pytest.raises(DataError) as caught:
        arrivals(lines, "trace.csv")
    assert why in caught.value.why
    assert "trace.csv" in caught.value.what


@given(st.lists(st.text(max_size=30), max_size=8))
@settings(max_examples=300)
def test_any_text_is_read_or_refused(lines):
    try:
        times = arrivals(lines)
    except DataError:
        return
    assert np.isfinite(times).all()
    assert times[0] == 0
    assert (np.diff(times) >= 0).all()


def test_offline_takes_the_batch_with_the_most_throughput():
    found = offline(takes(10, 1), BATCHES)
    assert found.batch == 32
    assert found.throughput_per_s.mid == pytest.approx(32 / 0.042)
    assert found.throughput_per_s.low < found.throughput_per_s.mid < found.throughput_per_s.high
    assert offline(takes(0, 1), BATCHES).batch == 1


def test_single_stream_is_one_query_after_the_other():
    assert single_stream(takes(9, 1)).throughput_per_s.mid == pytest.approx(100)


def test_light_traffic_needs_one_replica_and_is_little_slower_than_the_service():
    found = fewest_replicas(takes(9, 1), BATCHES, 2, Slo(p99_ms=50)).served
    assert found.replicas == 1
    assert found.p50_ms == pytest.approx(10, rel=0.05)
    assert found.meets_share > 0.95


def test_one_replica_less_than_the_fewest_misses_the_slo():
    slo = Slo(p99_ms=40)
    for service, batches in ((takes(9, 1), BATCHES), (takes(0, 10), (1,))):
        found = fewest_replicas(service, batches, 900, slo).served
        assert found.replicas > 1
        assert found.p99_ms <= 40
        fewer = serve(service, batches, 900, found.replicas - 1, slo)
        assert fewer is None or fewer.p99_ms > 40 * 0.98


def test_batching_spares_replicas_where_the_slo_leaves_time_for_it():
    loose = fewest_replicas(takes(9, 1), BATCHES, 1000, Slo(p99_ms=100)).served
    alone = fewest_replicas(takes(9, 1), (1,), 1000, Slo(p99_ms=100)).served
    assert loose.replicas < alone.replicas / 4
    assert loose.batch > 1


def test_an_impossible_slo_says_what_can_be_reached():
    found = fewest_replicas(takes(9, 1), BATCHES, 10, Slo(p99_ms=5))
    assert found.served is None
    assert found.reachable_p99_ms == pytest.approx(10)
    assert "10 ms" in found.missing["served"]


def test_a_slow_end_that_cannot_keep_up_leaves_the_high_latency_unknown():
    found = serve(takes(0, 10, spread=1.5), (1,), 80)
    assert found.p99_ms_high is None
    assert "slow end" in found.missing["p99_ms_high"]


def test_the_probability_of_keeping_the_slo_falls_as_it_tightens():
    shares = [serve(takes(9, 1), BATCHES, 20, 1, Slo(p99_ms=limit)).meets_share for limit in (15, 20, 25, 40, 80)]
    assert shares == sorted(shares)
    assert shares[0] < 0.1
    assert shares[-1] > 0.9
    assert serve(takes(9, 1), BATCHES, 20).meets_share == 1.0


@given(st.floats(1, 2000), st.floats(12, 500))
@settings(max_examples=12, deadline=None)
def test_more_traffic_or_a_tighter_slo_never_needs_fewer_replicas(rate, limit):
    def needed(per_s: float, ms: float) -> int:
        return fewest_replicas(takes(9, 1), BATCHES, per_s, Slo(p99_ms=ms)).served.replicas

    assert needed(rate * 1.5, limit) >= needed(rate, limit) >= needed(rate, limit * 1.5)
    assert needed(rate, limit) >= least_replicas(takes(9, 1), BATCHES, rate)


def test_a_trace_with_poisson_arrivals_agrees_with_the_computed_steady_state():
    times = np.cumsum(np.random.default_rng(3).exponential(1000 / 60, 60_000))
    traced, computed = serve_trace(times, takes(9, 1), (1, 8)), serve(takes(9, 1), (1, 8), 60)
    assert traced.p99_ms == pytest.approx(computed.p99_ms, rel=0.1)
    assert traced.utilization_share == pytest.approx(computed.utilization_share, rel=0.05)
    assert traced.queries_per_s == pytest.approx(60, rel=0.02)


def test_a_trace_needs_as_many_replicas_as_its_busiest_stretch():
    burst = np.concatenate([np.arange(0.0, 1e5, 100), np.arange(1e5, 1.01e5, 2)])
    slo = Slo(p99_ms=60)
    found = fewest_for_trace(burst, takes(9, 1), (1,), slo).served
    assert found.replicas > 1
    assert found.p99_ms <= 60
    assert serve_trace(burst, takes(9, 1), (1,), found.replicas - 1, slo).p99_ms > 60
    assert fewest_for_trace(burst, takes(9, 1), (1,), Slo(p99_ms=5)).served is None


def test_waiting_for_company_makes_batches_larger_and_light_traffic_slower():
    times = np.cumsum(np.random.default_rng(3).exponential(10, 5_000))
    hasty, patient = (serve_trace(times, takes(9, 1), (1, 8), max_wait_ms=wait) for wait in (0, 30))
    assert patient.mean_batch > hasty.mean_batch
    assert patient.p50_ms > hasty.p50_ms


def test_a_machine_that_goes_off_is_billed_for_starts_work_and_timeouts():
    times = np.array([0.0, 1000.0, 3_600_000.0])
    found = scale_to_zero(times, [100.0], idle_timeout_s=60, cold_start_s=30)
    assert found.starts_count == 2
    assert found.cold_share == 1.0  # the second request came while the machine was still starting
    assert found.billed_hours == pytest.approx((30 + 0.2 + 60 + 30 + 0.1 + 60) / 3600)
    assert found.p99_ms == pytest.approx(30_100)
    assert found.always_on_hours == pytest.approx((3600 + 30.1) / 3600)
    assert found.busy_share < 0.001


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.floats(0, 1000), st.floats(0, 1000))
@settings(deadline=None)
def test_a_machine_is_never_billed_for_less_than_its_work(gaps, timeout, cold):
    times = np.cumsum(gaps)
    found = scale_to_zero(times, [50.0, 60.0], timeout, cold)
    assert 1 <= found.starts_count <= len(times)
    assert found.billed_hours * 3_600_000 >= 50.0 * found.starts_count * (1 - 1e-9)
    assert found.p50_ms >= 50 * (1 - 1e-6)


def test_models_share_a_device_until_its_memory_or_its_time_is_used_up():
    small = Load(model="a", queries_per_s=10, service_ms=10, memory_bytes=10**9)
    large = Load(model="b", queries_per_s=5, service_ms=50, memory_bytes=4 * 10**9)
    found = shared([small, large], 6 * 10**9)
    assert found.fits
    assert found.utilization_share == pytest.approx(0.35)
    assert not shared([small, large], 4 * 10**9).fits
    busy = shared([Load(model="c", queries_per_s=100, service_ms=11, memory_bytes=0)], 10**9)
    assert not busy.fits
    assert "time" in busy.reason


def test_the_wait_on_a_shared_device_is_that_of_a_simulation():
    loads = [Load(model="a", queries_per_s=20, service_ms=5, memory_bytes=0)]
    loads.append(Load(model="b", queries_per_s=20, service_ms=25, memory_bytes=0))
    dice = np.random.default_rng(1)
    gaps, service = dice.exponential(25, 200_000), dice.choice([5.0, 25.0], 200_000)
    waits, wait = [], 0.0
    for gap, time in zip(gaps, service, strict=True):
        waits.append(wait)
        wait = max(0.0, wait + time - gap)
    found = shared(loads, 10**9)
    assert found.wait_mean_ms == pytest.approx(np.mean(waits), rel=0.05)
    assert found.p99_ms[0] - 5 == pytest.approx(np.percentile(waits, 99), rel=0.1)


def test_a_device_without_models_is_refused():
    with pytest.raises(ValueError, match="no model"):
        shared([], 1)
    with pytest.raises(ValueError, match="no arrivals"):
        scale_to_zero([], [1.0], 1, 1)
    with pytest.raises(ValueError, match="starts at 1"):
        serve(takes(9, 1), (0,), 1)
    assert steady([1.0], 0.0) is not None
