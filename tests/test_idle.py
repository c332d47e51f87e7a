"""How time is summed up: what counts as idle, and that unknown time never does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.advise.idle import usage

MINUTE = 60.0


def summed(values: list[float], step: float = MINUTE, times: list[float] | None = None, timeout_s: float = 600.0):
    times = times or [index * step for index in range(len(values))]
    return usage("gpu0", "utilization_percent", times, values, timeout_s=timeout_s)


def test_one_value_says_nothing_about_time():
    assert summed([]) is None
    assert summed([5.0]) is None


def test_a_stretch_counts_as_releasable_only_beyond_the_timeout():
    found = summed([50.0] * 10 + [0.0] * 30 + [50.0] * 20)
    assert found.idle_share == pytest.approx(0.5)
    assert found.releasable_share == pytest.approx(20 / 60)
    assert found.idle_at_end_s == 0


def test_two_short_stretches_are_not_one_long_one():
    found = summed(([0.0] * 9 + [50.0]) * 6)
    assert found.idle_share == pytest.approx(0.9)
    assert found.releasable_share == 0


def test_a_gap_ends_a_stretch_and_is_unknown_not_idle():
    times = [index * MINUTE for index in range(15)] + [36000 + index * MINUTE for index in range(15)]
    found = summed([0.0] * 30, times=times)
    assert found.known_share == pytest.approx(1800 / (36000 + 900))
    assert found.releasable_share == pytest.approx(2 * (900 - 600) / 1800)


@pytest.mark.parametrize("step", [12 * 3600.0, 3600.0, 301.0])
def test_a_series_coarser_than_half_the_timeout_shows_no_idle_stretch_and_the_rest_of_each_step_is_unknown(step):
    found = summed([0.0] * 29, step=step)
    assert found.releasable_share == 0
    assert found.idle_at_end_s <= 300
    assert found.known_share == pytest.approx(29 * 300 / (28 * step + 300))


def test_two_samples_within_the_timeout_are_dense():
    found = summed([0.0] * 29, step=300.0)
    assert found.known_share == 1
    assert found.releasable_share > 0.9


def test_one_long_gap_between_dense_samples_is_unknown_for_longer_than_three_steps():
    times = [index * 200.0 for index in range(10)] + [1800.0 + 550 + index * 200.0 for index in range(10)]
    found = summed([0.0] * 20, times=times)  # 550 s is less than three steps of 200 s, and more than half the timeout
    assert found.known_share < 1
    assert found.idle_at_end_s == pytest.approx(2000)


def test_a_value_just_above_the_threshold_is_work():
    assert summed([1.0] * 60).idle_share == 1.0
    assert summed([1.01] * 60).idle_share == 0.0


def test_idleness_at_the_end_is_told():
    assert summed([50.0] * 10 + [0.0] * 30).idle_at_end_s == pytest.approx(1800)


def test_spread_and_mean_weigh_time():
    found = summed([0.0, 100.0, 0.0], times=[0.0, 60.0, 180.0])
    assert found.mean_percent == pytest.approx(100 * 120 / (60 + 120 + 90))
    assert (found.p5_percent, found.p95_percent, found.max_percent) == (0.0, 100.0, 100.0)


@given(st.lists(st.tuples(st.floats(0.1, 1e5), st.floats(0, 100)), min_size=2, max_size=60), st.floats(0, 1e5))
def test_shares_hold_together_for_any_series(steps, timeout):
    times, now = [], 0.0
    for step, _ in steps:
        now += step
        times.append(now)
    found = usage("d", "utilization_percent", times, [value for _, value in steps], timeout_s=timeout)
    assert found is not None
    assert 0 <= found.releasable_share <= found.idle_share <= 1
    assert found.p5_percent <= found.p95_percent <= found.max_percent
    assert 0 < found.known_share <= 1
