"""What answers cost: per item, on spot, under a commitment, against one another, and in watts."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.advise.fit.cost import (
    HOUR_S,
    MILLION,
    break_even,
    checked_on_demand,
    power,
    reserved,
    spot,
    stepped,
    usd_for,
    usd_per,
    usd_per_served,
    young_daly_s,
)
from brimful.model.errors import UsageError
from brimful.model.evidence import Interval

INTERVALS = st.tuples(st.floats(1, 100), st.floats(1, 3), st.floats(1, 3)).map(
    lambda parts: Interval(low=parts[0] / parts[1], mid=parts[0], high=parts[0] * parts[2], coverage=0.8)
)


def exactly(value: float) -> Interval:
    return Interval(low=value, mid=value, high=value, coverage=0.8)


def replicas(capacity: float):
    return lambda rate: max(1, math.ceil(rate / capacity))


def test_a_million_inferences_at_a_known_rate():
    assert usd_per(MILLION, 0.526, exactly(112.7)).mid == pytest.approx(1.297, rel=1e-3)
    assert usd_for(3.06, exactly(15_663.3)).mid == pytest.approx(13.31, rel=1e-3)


@given(INTERVALS, st.floats(0.01, 100), st.floats(1, 1e9))
def test_intervals_pass_through_in_order(rate, usd, count):
    cost = usd_per(count, usd, rate)
    assert cost.low <= cost.mid <= cost.high
    assert cost.low == pytest.approx(usd * count / HOUR_S / rate.high)
    assert cost.coverage == rate.coverage


def test_replicas_that_stand_idle_are_paid_by_the_requests_that_come():
    assert usd_per_served(MILLION, 0.5, 2, 10) == pytest.approx(1e6 / 3600 / 10)


@pytest.mark.parametrize("factor", [0.0, -1.0, 1.5, math.nan, math.inf])
def test_a_factor_that_is_no_discount_is_refused(factor):
    with pytest.raises(UsageError):
        reserved(1.0, factor)
    assert reserved(2.0, 0.6) == pytest.approx(1.2)


def test_an_effective_price_is_refused_beside_on_demand_prices():
    assert checked_on_demand(0.7582, "on demand") == 0.7582
    with pytest.raises(UsageError) as caught:
        checked_on_demand(0.328, "RI-effective")
    assert "--price-factor" in caught.value.fix


def test_checkpoints_at_young_and_dalys_interval_lose_least():
    between, each = 6 * HOUR_S, 60.0
    every = young_daly_s(each, between)
    assert every == pytest.approx(math.sqrt(2 * each * between), rel=0.05)

    def lost(step: float) -> float:
        return math.expm1((step + each) / between) / step

    assert lost(every) == pytest.approx(min(lost(every * factor / 100) for factor in range(20, 500)), rel=1e-3)


def simulated(work: float, rate: float, every: float, each: float, restart: float, dice: random.Random) -> float:
    """Run to the end with interruptions by chance; return how long it took."""
    clock = done = 0.0
    while done < work:
        step = min(every, work - done)
        needed, strikes = step + each, dice.expovariate(rate)
        if strikes >= needed:
            clock, done = clock + needed, done + step
            continue
        clock += strikes
        while (strikes := dice.expovariate(rate)) < restart:
            clock += strikes
        clock += restart
    return clock


def test_the_time_on_spot_is_that_of_a_simulation_with_interruptions():
    found = spot(exactly(20 * HOUR_S), 0.4, 1.0, 0.5, checkpoint_s=120, restart_s=300)
    dice = random.Random(1)
    runs = [simulated(20 * HOUR_S, 0.5 / HOUR_S, found.checkpoint_every_s, 120, 300, dice) for _ in range(600)]
    assert found.time_s.mid == pytest.approx(sum(runs) / len(runs), rel=0.02)
    assert found.usd.mid == pytest.approx(0.4 * found.time_s.mid / HOUR_S)
    assert 0 < found.lost_share < 0.3
    assert found.saving_usd > 0


def test_without_interruptions_spot_takes_as_long_as_on_demand():
    found = spot(exactly(3600), 0.3, 1.0, 0.0, checkpoint_s=60)
    assert found.time_s.mid == 3600
    assert found.lost_share == 0
    assert found.saving_usd == pytest.approx(0.7)


def test_spot_that_is_interrupted_all_the_time_saves_nothing():
    assert spot(exactly(10 * HOUR_S), 0.5, 1.0, 20.0, checkpoint_s=600).saving_usd < 0


@given(st.floats(0, 5), st.floats(0, 600), INTERVALS)
def test_more_interruptions_never_make_a_run_shorter(rate, each, hours):
    work = Interval(low=hours.low * 3600, mid=hours.mid * 3600, high=hours.high * 3600, coverage=0.8)
    calm, rough = (spot(work, 0.3, 1.0, often, each) for often in (rate, rate * 1.5))
    assert work.mid <= calm.time_s.mid * (1 + 1e-9)
    assert calm.time_s.mid <= rough.time_s.mid * (1 + 1e-9)
    assert calm.time_s.low <= calm.time_s.mid <= calm.time_s.high


def test_a_gpu_pays_from_the_rate_at_which_as_many_cpus_cost_as_much():
    found = break_even(stepped(0.1, replicas(10)), stepped(0.526, replicas(1000)))
    assert found.rate_per_s == pytest.approx(50, rel=1e-3)  # six CPUs are the first to cost more than the GPU
    assert found.usd_per_hour == pytest.approx(0.526)


def test_what_costs_less_at_any_rate_pays_from_the_first_request():
    assert break_even(stepped(1.0, replicas(10)), stepped(0.5, replicas(10))).rate_per_s == 0.0


def test_what_never_costs_less_says_so():
    found = break_even(stepped(0.1, replicas(100)), stepped(1.0, replicas(100)))
    assert found.rate_per_s is None
    assert "never" in found.missing["rate_per_s"]


def test_what_cannot_serve_a_rate_costs_more_than_anything():
    found = break_even(stepped(0.1, lambda rate: 1 if rate < 7 else None), stepped(9.0, replicas(1e12)))
    assert found.rate_per_s == pytest.approx(7, rel=1e-3)


@given(st.floats(0.01, 10), st.floats(1, 1e3), st.floats(0.01, 10), st.floats(1, 1e5))
def test_from_the_break_even_on_the_larger_one_costs_no_more(usd, capacity, other_usd, other_capacity):
    small, large = stepped(usd, replicas(capacity)), stepped(other_usd, replicas(other_capacity))
    rate = break_even(small, large).rate_per_s
    if rate:
        assert large(rate) <= small(rate)
        assert large(2.0**29) <= small(2.0**29)


def test_power_rises_with_use_and_is_unknown_without_a_cap():
    idle, busy = power(300, 2, 0.0, 0.0), power(300, 2, 1.0, 500.0)
    assert idle.watts.mid == pytest.approx(78)
    assert busy.watts.mid > idle.watts.mid
    assert busy.watts.high <= 600
    assert idle.joules_per_item is None
    assert busy.items_per_joule == pytest.approx(500 / busy.watts.mid)
    assert "no power limit" in power(None, 1, 0.5, 1.0).missing["watts"]


def test_a_cost_without_anything_done_is_refused():
    with pytest.raises(ValueError, match="no cost"):
        usd_per(1, 1, exactly(0))
    with pytest.raises(ValueError, match="no cost"):
        usd_per_served(1, 1, 1, 0)
