"""The ranking: what must hold whatever the predictor says."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful.advise.fit.explain import explain
from brimful.advise.fit.machines import lasting_share
from brimful.advise.fit.places import Market
from brimful.advise.fit.rank import Outcome, rank
from brimful.advise.fit.ranking import Ranking
from brimful.advise.fit.request import read
from brimful.catalog import chips, load
from brimful.model.errors import UsageError
from brimful.model.hardware import Offer, Status
from brimful.model.work import Profile
from brimful.verbs.fit_models import Models
from fit_stand_in import StandIn

CATALOG, MODELS = load(), Models()
FAMILIES = (
    "g6f", "g6", "g4dn", "g5", "g5g", "inf1", "inf2", "trn1", "c7i", "c7i-flex", "c8g", "m7i", "t3", "t4g", "p3",
    "g4ad", "f2", "vt1", "p4d", "p5e", "dl1", "m1",
)  # fmt: skip


def market(offers: tuple[Offer, ...] | None = None, times_ms: Any = None) -> Market:
    some = offers or tuple(offer for offer in CATALOG.offers if offer.family in FAMILIES)
    families = chips.shipped()
    return Market(some, lambda offer: families.of_family(offer.family), CATALOG.fitted, CATALOG.operators,
                  CATALOG.model_fits, times_ms)  # fmt: skip


@cache
def _profile(name: str, tokens: int | None) -> Profile:
    return MODELS.named(name, None, tokens)


def outcome(
    name: str = "resnet50", times_ms: Any = None, offers: tuple[Offer, ...] | None = None, **options: Any
) -> Outcome:
    profile = _profile(name, options.get("seq") or options.get("tokens_in"))
    return rank(profile, read(options), market(offers, times_ms), StandIn(), "model.onnx")


def ranking(name: str = "resnet50", **options: Any) -> Ranking:
    return outcome(name, **options).ranking()


LOADS: list[dict[str, Any]] = [
    {},
    {"qps": "40", "p99": "50ms"},
    {"offline": "200M", "within": "6h"},
    {"qps": "400", "p99": "100ms", "data": "jpeg:110KB"},
    {"train": True, "dataset": "1.2M", "epochs": "90", "data": "jpeg:110KB"},
]


@pytest.mark.parametrize("load_", LOADS)
def test_nothing_withdrawn_unpriced_or_unsure_is_an_answer_and_each_says_why(load_: dict[str, Any]) -> None:
    found = ranking(**load_)
    by_name = {offer.instance: offer for offer in CATALOG.offers}
    for answer in found.answers:
        offer = by_name[answer.instance]
        assert offer.status is Status.AVAILABLE
        assert offer.usd_per_hour
        assert answer.usd_per_hour == pytest.approx(offer.usd_per_hour * answer.count)
    reasons = {item.instance: item.reason for item in found.excluded}
    assert "withdrawn" in reasons["p3.2xlarge"]
    assert "withdrawn" in reasons["dl1.24xlarge"]
    assert "price is unknown" in reasons["p5e.48xlarge"]
    assert "not known" in reasons["g4ad.xlarge"]
    assert "--task fpga" in reasons["f2.6xlarge"]
    assert "--transcode" in reasons["vt1.3xlarge"]
    assert all(reasons.values())


@pytest.mark.parametrize("load_", LOADS)
def test_every_type_is_an_answer_or_left_out_and_none_is_both(load_: dict[str, Any]) -> None:
    found = ranking(**load_)
    answers, left = {item.instance for item in found.answers}, {item.instance for item in found.excluded}
    assert not answers & left
    assert answers | left == {offer.instance for offer in market().offers}


@pytest.mark.parametrize("load_", LOADS)
def test_intervals_hold_their_mids_and_costs_rise_along_the_order(load_: dict[str, Any]) -> None:
    answers = ranking(**load_).answers
    assert answers
    for item in answers:
        assert item.usd_per_million_low <= item.usd_per_million <= item.usd_per_million_high
        assert item.throughput_per_s_low <= item.throughput_per_s <= item.throughput_per_s_high
        assert item.call_ms_low <= item.call_ms <= item.call_ms_high
        assert item.usd_per_million > 0
        assert item.why
        assert item.limited_by
    kept = [item.usd_per_million for item in answers if item.meets_share >= 0.5]
    assert kept == sorted(kept)


@pytest.mark.parametrize("load_", LOADS[:4])
def test_no_call_is_foreseen_below_the_roofline(load_: dict[str, Any]) -> None:
    for row in outcome(**load_).rows.values():
        for call in row.serving.table.calls:
            assert call.ms[1] >= call.roofline_ms * (1 - 1e-9)


@settings(max_examples=8)
@given(st.randoms(use_true_random=False), st.sampled_from(LOADS))
def test_the_order_does_not_depend_on_that_of_the_catalogue(dice: random.Random, load_: dict[str, Any]) -> None:
    offers = list(market().offers)
    first = outcome(offers=tuple(offers), **load_).ranking()
    dice.shuffle(offers)
    assert outcome(offers=tuple(offers), **load_).ranking() == first


def test_a_share_of_a_gpu_is_found_where_its_memory_is_enough() -> None:
    found = ranking(qps="40", p99="50ms")
    assert found.fractional is not None
    assert found.fractional.instance.startswith("g6f")
    assert found.fractional.share == 0.125
    big = ranking("bert-large", seq=384, qps="2", p99="500ms", batch=256, precision="fp32")
    reasons = {item.instance: item.reason for item in big.excluded}
    assert "does not fit" in reasons["g6f.large"]
    assert "2.79 GiB" in reasons["g6f.large"]


def test_a_neuron_device_says_compile_to_know_when_operators_are_not_on_its_list() -> None:
    found = ranking()
    by_name = {item.instance: item for item in found.answers}
    assert "compile to know" in (by_name["inf2.xlarge"].support or "")
    assert (by_name["inf1.xlarge"].support or "").startswith("yes")
    assert by_name["g6.xlarge"].support is None
    assert found.purpose_built is not None
    assert found.purpose_built.kind == "neuron"


def test_a_rule_that_says_no_leaves_a_neuron_device_out_by_its_name() -> None:
    reasons = {item.instance: item.reason for item in ranking("llama-2-7b", tokens_in=1000, tokens_out=100).excluded}
    assert "decoder-on-inferentia1" in reasons["inf1.xlarge"]


def test_an_slo_that_nothing_keeps_says_the_best_that_can_be_reached_and_its_price() -> None:
    found = ranking(qps="40", p99="1us")
    assert not found.answers
    assert found.reachable is not None
    assert found.reachable.latency_p99_ms > 0.001
    assert found.reachable.usd_per_hour > 0
    assert found.cpu.instance is None
    assert all(found.cpu.missing[name] for name in ("instance", "usd_per_million", "break_even_per_s"))


def test_a_gpu_that_its_host_cannot_feed_is_priced_at_what_the_host_lets_through() -> None:
    fed, free = ranking(data="jpeg:110KB"), ranking()
    by_name, plain = ({item.instance: item for item in found.answers} for found in (fed, free))
    small, large = by_name["g6.xlarge"], by_name["g6.16xlarge"]
    assert small.limited_by == "host decode"
    assert "host lets through" in small.why
    assert small.throughput_per_s == pytest.approx(4 * 88.5, rel=0.05)
    assert small.usd_per_million > plain["g6.xlarge"].usd_per_million
    assert large.throughput_per_s > small.throughput_per_s


def test_input_counts_twice_on_a_cpu_which_is_its_own_host() -> None:
    fed, free = ranking(data="jpeg:110KB"), ranking()
    one, other = (next(item for item in found.answers if item.instance == "c7i.large") for found in (fed, free))
    assert one.throughput_per_s < other.throughput_per_s


def test_burstable_types_are_answers_only_for_what_their_price_buys() -> None:
    reasons = {item.instance: item.reason for item in ranking().excluded}
    assert "burstable" in reasons["t4g.small"]
    answers = {item.instance: item for item in ranking(qps="0.5", p99="2s").answers}
    small = [item for name, item in answers.items() if name.startswith(("t3.", "t4g."))]
    assert small
    by_name = {offer.instance: offer for offer in CATALOG.offers}
    assert all((item.utilization or 0.0) <= lasting_share(by_name[item.instance]) for item in small)


def test_more_machines_are_taken_where_one_cannot_keep_up() -> None:
    one, many = ranking(qps="40", p99="50ms"), ranking(qps="4000", p99="50ms")
    g4dn = [next(item for item in found.answers if item.instance == "g4dn.xlarge") for found in (one, many)]
    assert g4dn[0].count == 1
    assert g4dn[1].count > 1
    for item in g4dn:
        assert item.latency_p50_ms is not None
        assert item.latency_p99_ms is not None
        assert item.latency_p50_ms <= item.latency_p99_ms <= 50
        assert 0 < (item.utilization or 0) <= 1


def test_int8_is_tried_only_when_it_is_allowed_or_asked_for() -> None:
    assert not any("int8" in item.setting or "fp8" in item.setting for item in ranking().answers)
    assert any("int8" in item.setting for item in ranking(allow_int8=True).answers)
    assert all("int8" in item.setting for item in ranking(precision="int8").answers)


def test_an_engine_that_is_asked_for_is_the_only_one_and_others_say_so() -> None:
    found = ranking(engine="tensorrt")
    assert all("tensorrt" in item.setting for item in found.answers)
    reasons = {item.instance: item.reason for item in found.excluded}
    assert "does not run on it" in reasons["c7i.large"]


def test_the_cpu_answer_breaks_even_at_a_rate_where_an_accelerator_costs_no_more() -> None:
    cpu = ranking(qps="5", p99="200ms").cpu
    assert cpu.instance is not None
    assert cpu.break_even_per_s is not None
    assert cpu.break_even_per_s >= 0
    assert cpu.accelerator is not None


def test_candidates_are_answers_and_the_command_that_decides_names_some_of_them() -> None:
    found = ranking()
    names = {item.instance for item in found.answers}
    assert set(found.candidates) <= names
    assert found.answers[0].instance in found.candidates
    assert found.decide is not None
    assert set(found.decide.instances) <= set(found.candidates)
    assert found.decide_with is not None
    assert found.decide_with.startswith("brimful bench model.onnx --on ec2:")


def test_a_committed_price_is_the_users_factor_and_spot_needs_a_known_price() -> None:
    full, less = ranking().answers[0], ranking(reserved_factor=0.5).answers[0]
    assert less.usd_per_million == pytest.approx(full.usd_per_million / 2)
    found = ranking(spot=True)
    assert not found.answers
    assert any("spot price is unknown" in item.reason for item in found.excluded)


def test_a_batch_job_takes_as_many_machines_as_its_time_asks_for() -> None:
    for item in ranking(offline="200M", within="6h").answers:
        assert item.run_s is not None
        assert item.run_s <= 6 * 3600 * 1.0001
        assert item.run_usd == pytest.approx(item.usd_per_hour * item.run_s / 3600)


def test_a_language_model_lies_over_several_devices_where_one_is_too_small() -> None:
    found = ranking("llama-2-70b", tokens_in=500, tokens_out=100)
    by_name = {item.instance: item for item in found.answers}
    assert "over 8 devices" in by_name["g5.48xlarge"].setting or "over" in by_name["p4d.24xlarge"].setting
    assert by_name["p4d.24xlarge"].usd_per_1k_tokens
    reasons = {item.instance: item.reason for item in found.excluded}
    assert "does not fit" in reasons["g5.xlarge"]


def test_tokens_that_must_come_in_time_bound_the_sequences_at_once() -> None:
    free, bound = (
        ranking("llama-2-7b", tokens_in=500, tokens_out=100, qps="1", **more) for more in ({}, {"tpot": "30ms"})
    )
    assert all(item.per_token_ms is not None and item.per_token_ms <= 30 for item in bound.answers)
    assert len(bound.answers) <= len(free.answers) + len(free.excluded)
    assert any("each token takes" in item.reason for item in bound.excluded)


def test_a_trace_is_followed_request_by_request() -> None:
    times = np.sort(np.random.default_rng(1).uniform(0, 60_000, 1200))
    found = outcome(times_ms=times, arrivals="trace.csv", p99="100ms").ranking()
    assert found.answers
    assert all(item.latency_p99_ms is not None and item.latency_p99_ms <= 100 for item in found.answers)


def test_a_trace_with_long_gaps_says_what_switching_off_between_requests_saves() -> None:
    times = np.arange(20) * 3_600_000.0
    found = outcome(times_ms=times, arrivals="trace.csv").ranking()
    assert any("off after 10 min" in note for note in found.answers[0].notes)


def test_more_devices_are_not_advised_for_training_while_input_fills_not_even_one() -> None:
    found = ranking("timm:convnext_tiny", train=True, dataset="1.2M", epochs="10", data="jpeg:5MB")
    reasons = {item.instance: item.reason for item in found.excluded}
    assert "brimful feed" in reasons["p4d.24xlarge"]
    one = next(item for item in found.answers if item.instance == "g6.xlarge")
    assert one.run_usd is not None
    assert one.epoch_usd == pytest.approx(one.run_usd / 10)


def test_one_type_is_explained_in_full_or_by_why_it_is_none() -> None:
    found = outcome(qps="40", p99="50ms")
    told = explain(found, found.memory, "g6f.large")
    assert told.calls
    assert any(call.used for call in told.calls)
    assert all(call.memory_bytes > 0 for call in told.calls)
    gone = explain(found, found.memory, "p3.2xlarge")
    assert "withdrawn" in (gone.excluded or "")
    with pytest.raises(UsageError, match="no such type"):
        explain(found, found.memory, "g6.gigantic")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"qps": "4", "offline": "5"}, "--qps and --offline contradict"),
        ({"train": True, "qps": "4"}, "contradict"),
        ({"p99": "50"}, "has no unit"),
        ({"p99": "5ms", "p50": "50ms"}, "--p50 and --p99 contradict"),
        ({"within": "6h"}, "--within"),
        ({"epochs": "3"}, "--epochs"),
        ({"qps": "-4"}, "--qps"),
        ({"qps": "many"}, "--qps"),
        ({"seq": 4, "tokens_in": 3}, "--seq and --tokens-in"),
        ({"spot": True, "reserved_factor": 0.5}, "--spot"),
        ({"reserved_factor": 7.0}, "--reserved-factor"),
        ({"batch": -1}, "--batch"),
        ({"dim": ("batch",)}, "--dim"),
        ({"dim": ("batch=0",)}, "--dim"),
        ({"dim": ("b=1", "b=2")}, "given twice"),
        ({"precision": "fp17"}, "--precision"),
        ({"engine": "steam"}, "--engine"),
        ({"data": "jpeg"}, "--data"),
    ],
)
def test_options_that_contradict_one_another_or_mean_nothing_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(options)
    assert said in f"{refused.value.what} {refused.value.why}"
    assert refused.value.fix


@given(
    st.dictionaries(
        st.sampled_from(
            ["qps", "p50", "p99", "offline", "within", "ttft", "tpot", "dataset", "epochs", "data", "precision"]
        ),
        st.text(max_size=12),
    )
)
def test_whatever_quantities_are_written_they_are_read_or_refused(options: dict[str, str]) -> None:
    try:
        read(options)
    except UsageError as error:
        assert error.fix  # noqa: PT017 - either way is fine
