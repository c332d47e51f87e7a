"""How answers are chosen among: the order, the set that may hold the cheapest, and what to measure."""

from __future__ import annotations

import random
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful.advise.fit.choose import Choice, choose
from brimful.model.evidence import Interval

REACH = NormalDist().inv_cdf(0.9)


def priced(key: str, mid: float, spread: float = 0.2, **known) -> Choice:
    """Make an answer whose cost is known within a factor of 1 + spread, four times in five."""
    cost = Interval(low=mid / (1 + spread), mid=mid, high=mid * (1 + spread), coverage=0.8)
    return Choice(key=key, cost_usd=cost, **{"bench_usd": 0.1, **known})


CHOICES = st.lists(
    st.tuples(st.floats(0.1, 10), st.floats(0.01, 1), st.sampled_from([0.3, 0.7, 1.0])), min_size=1, max_size=6
).map(lambda rows: [priced(f"i{n}", mid, spread, meets_share=meets) for n, (mid, spread, meets) in enumerate(rows)])


def test_the_cheapest_that_keeps_the_slo_comes_first_and_what_probably_misses_it_last():
    found = choose([priced("dear", 3), priced("cheap", 1), priced("slow", 0.1, meets_share=0.1)])
    assert found.order == ("cheap", "dear", "slow")


def test_overlapping_intervals_are_candidates_and_others_are_not():
    found = choose([priced("a", 1.0), priced("b", 1.3), priced("c", 2.0)])
    assert found.candidates == ("a", "b")


def test_one_clear_answer_needs_no_measurement_and_says_so():
    found = choose([priced("a", 1.0), priced("b", 9.0)])
    assert found.candidates == ("a",)
    assert found.decide is None
    assert "nothing is left" in found.missing["decide"]


def test_what_surely_misses_the_slo_is_no_candidate_however_cheap():
    found = choose([priced("a", 1.0), priced("slow", 0.1, meets_share=0.05)])
    assert found.candidates == ("a",)


def test_nothing_that_keeps_the_slo_leaves_no_candidate():
    found = choose([priced("a", 1.0, meets_share=0.0)])
    assert found.candidates == ()
    assert found.order == ("a",)
    assert choose([]).order == ()


def test_an_answer_that_may_miss_the_slo_excludes_nobody():
    found = choose([priced("doubtful", 0.5, meets_share=0.6), priced("sure", 1.0)])
    assert set(found.candidates) == {"doubtful", "sure"}


def test_the_dearer_of_two_sizes_with_the_same_device_is_no_candidate():
    found = choose([priced("xlarge", 1.0, error_group="T4"), priced("2xlarge", 1.1, error_group="T4")])
    assert found.candidates == ("xlarge",)
    assert found.order == ("xlarge", "2xlarge")


def test_many_answers_just_outside_join_until_the_set_holds_the_cheapest():
    outside = [priced(f"o{n:02}", 1.2**2 * 1.001) for n in range(60)]
    found = choose([priced("a", 1.0), *outside])
    assert len(found.candidates) > 1
    assert found.coverage_share >= 0.8


def test_the_measurement_that_decides_is_the_cheap_one_when_both_would():
    found = choose([priced("a", 1.0, bench_usd=5.0), priced("b", 1.02, bench_usd=0.2)])
    assert found.decide.measure == ("b",)
    assert found.decide.bench_usd == pytest.approx(0.2)
    assert 0 <= found.decide.tied_share < 1


def test_two_vague_answers_near_one_another_ask_for_both_to_be_measured():
    found = choose([priced("a", 1.0, 0.5), priced("b", 1.02, 0.5)])
    assert found.decide.measure == ("a", "b")
    assert found.decide.tied_share < 0.35


def test_without_a_known_price_of_a_benchmark_the_reason_is_told():
    cost = Interval(low=1, mid=2, high=3, coverage=0.8)
    found = choose([Choice(key="a", cost_usd=cost), Choice(key="b", cost_usd=cost)])
    assert found.decide is None
    assert "costs" in found.missing["decide"]


def test_a_key_names_one_answer():
    with pytest.raises(ValueError, match="same key"):
        choose([priced("a", 1.0), priced("a", 2.0)])


@given(CHOICES, st.randoms())
@settings(max_examples=60)
def test_the_answer_does_not_depend_on_the_order_of_the_input(choices, dice):
    mixed = list(choices)
    dice.shuffle(mixed)
    assert choose(mixed) == choose(choices)


@given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.01, 1)), min_size=1, max_size=6), st.floats(0.05, 1))
@settings(max_examples=60)
def test_the_set_shrinks_when_the_intervals_shrink(rows, factor):
    wide = [priced(f"i{n}", mid, spread) for n, (mid, spread) in enumerate(rows)]
    narrow = [priced(f"i{n}", mid, spread * factor) for n, (mid, spread) in enumerate(rows)]
    assert set(choose(narrow).candidates) <= set(choose(wide).candidates)


@pytest.mark.parametrize("seed", range(6))
def test_the_set_holds_the_true_cheapest_at_least_as_often_as_it_says(seed):
    dice = random.Random(seed)
    held = trials = 0
    for _ in range(40):
        spread = dice.uniform(0.05, 0.6)
        choices = [priced(f"i{n}", dice.lognormvariate(0, 0.4), spread) for n in range(dice.randint(2, 40))]
        candidates = set(choose(choices).candidates)
        for _ in range(20):
            truths = {
                choice.key: choice.cost_usd.mid * (1 + spread) ** (dice.gauss(0, 1) / REACH) for choice in choices
            }
            held += min(truths, key=truths.__getitem__) in candidates
            trials += 1
    assert held / trials >= 0.8
