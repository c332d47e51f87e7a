from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful.advise.fit.case import Case, Ops, ops_of
from brimful.advise.fit.correct import Correction, Place
from brimful.advise.fit.features import NAMES, features
from brimful.advise.fit.foresee import Forecaster, Spread
from brimful.advise.fit.model import arrays_of, forecaster
from brimful.advise.fit.physics import START, WIDTH, terms, times
from brimful.advise.fit.predictor import Predictor
from brimful.advise.fit.query import Query, plan
from brimful.advise.fit.trees import Trees
from brimful.catalog import chips, models, profiles
from brimful.catalog.predictor import load, save
from brimful.costs.transformer import prefill
from brimful.model.errors import CatalogError
from brimful.model.hardware import Chip
from brimful.model.work import Mode, Profile
from brimful.verbs.forecast import load_forecaster

T4, A10, H100, XEON = (chips.find(name) for name in ("T4", "A10", "H100 SXM", "Xeon Platinum 8375C"))
RESNET = profiles.find("resnet50")
LLAMA = prefill(models.named("llama-3-8b"), 512)
SHIPPED = load_forecaster()


def asked(**known: object) -> Query:
    names = ("engine", "precision", "layout", "compiled", "batch", "scenario", "image_size", "sequence")
    missing = {name: "not said" for name in (*names, "tokens_in", "tokens_out", "cores") if name not in known}
    return Query(**known, missing=missing)  # type: ignore[arg-type]


def foreseen(profile: Profile, chip: Chip, **known: object) -> float:
    return SHIPPED.foresee([(asked(**known), profile, chip)])[0].latency_ms.mid


def test_an_interval_holds_its_middle_and_no_answer_beats_the_roofline():
    queries = [
        (asked(batch=batch, precision=precision), RESNET, chip)
        for batch in (1, 7, 64, 512)
        for precision in ("fp32", "fp16", "int8")
        for chip in (T4, A10, H100, XEON)
    ]
    for found in SHIPPED.foresee(queries):
        for span in (found.latency_ms, found.throughput_per_s):
            assert span.low <= span.mid <= span.high
            assert span.coverage == 0.8
        assert found.latency_ms.low >= found.roofline_ms * (1 - 1e-9)
        assert found.throughput_per_s.mid == pytest.approx(found.batch / found.latency_ms.mid * 1e3)


def test_a_larger_batch_takes_longer_and_does_more_a_second():
    calls = [SHIPPED.foresee([(asked(batch=batch, engine="tensorrt"), RESNET, A10)])[0] for batch in (1, 16, 256)]
    assert calls[0].latency_ms.mid < calls[1].latency_ms.mid < calls[2].latency_ms.mid
    assert calls[0].throughput_per_s.mid < calls[1].throughput_per_s.mid


@pytest.mark.parametrize("fact", ["bandwidth_bytes_per_s", "peak_flops"])
def test_physics_never_lets_a_device_with_more_be_slower(fact):
    predictor = SHIPPED.predictor
    more = (
        replace(A10, bandwidth_bytes_per_s=A10.bandwidth_bytes_per_s * 2)
        if fact == "bandwidth_bytes_per_s"
        else replace(A10, peak_flops={name: rate * 2 for name, rate in A10.peak_flops.items()})
    )
    ops = ops_of(RESNET)
    before, after = (Case(ops=ops, chip=chip, engine="torch", precision="fp16", batch=64) for chip in (A10, more))
    parameters = np.tile(START, (2, 1))
    log_s = times(terms([before, after]), parameters).log_s
    assert log_s[1] < log_s[0]
    assert predictor.vectors


def test_what_nobody_measured_has_a_wider_interval_than_what_somebody_did():
    unknown = replace(A10, model="A11 of tomorrow")
    known, guessed = SHIPPED.foresee(
        [(asked(batch=32, engine="tensorrt", scenario="offline"), RESNET, chip) for chip in (A10, unknown)]
    )
    width = [math.log(found.latency_ms.high / found.latency_ms.low) for found in (known, guessed)]
    assert "A10 was measured with tensorrt" in known.basis
    assert any("never measured" in line for line in guessed.basis)
    assert width[0] > 0
    assert width[1] > 0


def test_a_language_model_is_a_prompt_and_tokens():
    found = SHIPPED.foresee([(asked(batch=4, tokens_in=512, tokens_out=65, precision="fp16"), LLAMA, H100)])[0]
    assert found.first_token_ms is not None
    assert found.per_token_ms is not None
    assert found.latency_ms.mid == pytest.approx(found.first_token_ms.mid + 64 * found.per_token_ms.mid)
    weights_ms = 16e9 / H100.bandwidth_bytes_per_s * 1e3
    assert found.per_token_ms.mid > weights_ms * 0.9, "a token reads every weight"


def test_a_model_over_several_devices_is_quicker_than_on_one():
    one, four = (
        SHIPPED.foresee([(asked(batch=1, tokens_in=512, tokens_out=65, count=count), LLAMA, H100)])[0]
        for count in (1, 4)
    )
    assert four.latency_ms.mid < one.latency_ms.mid


def test_training_takes_longer_than_inference():
    assert foreseen(RESNET, A10, batch=64, mode=Mode.TRAINING) > 1.5 * foreseen(RESNET, A10, batch=64)


def test_a_share_of_a_device_is_slower_than_the_whole():
    assert foreseen(RESNET, A10, batch=64, share=0.25) > 2 * foreseen(RESNET, A10, batch=64)


def test_few_cores_are_slower_than_all():
    assert foreseen(RESNET, XEON, batch=8, cores=4.0) > 3 * foreseen(RESNET, XEON, batch=8)


def test_many_queries_at_once_are_what_each_is_alone():
    queries = [
        (asked(batch=batch), profile, chip) for batch in (1, 8) for profile in (RESNET, LLAMA) for chip in (T4, XEON)
    ]
    together = SHIPPED.foresee(queries)
    for query, found in zip(queries, together, strict=True):
        assert SHIPPED.foresee([query])[0].latency_ms.mid == pytest.approx(found.latency_ms.mid)


# --- a user's own measurements


def test_three_measurements_on_a_device_shift_the_others_there_and_narrow_them():
    names = ("resnet18", "resnet101", "vit_base_patch16_224", "resnet50")
    queries = [(asked(batch=32, engine="torch"), profiles.find(name), T4) for name in names]
    plain = SHIPPED.foresee(queries)
    own = [(*query, found.latency_ms.mid / 1e3 * 1.5) for query, found in zip(queries[:3], plain[:3], strict=True)]
    after = SHIPPED.corrected(own).foresee(queries)[3]
    assert 1.15 < after.latency_ms.mid / plain[3].latency_ms.mid < 1.55
    assert after.latency_ms.high / after.latency_ms.low < plain[3].latency_ms.high / plain[3].latency_ms.low
    assert any("3 measurements of your own" in line for line in after.basis)


def test_a_single_measurement_on_a_device_hardly_moves_other_models_there():
    one, other = ((asked(batch=1), profiles.find(name), XEON) for name in ("resnet18", "vit_base_patch16_224"))
    plain = SHIPPED.foresee([other])[0].latency_ms.mid
    own = [(*one, SHIPPED.foresee([one])[0].latency_ms.mid / 1e3 * 3)]
    assert 0.8 < SHIPPED.corrected(own).foresee([other])[0].latency_ms.mid / plain < 1.35


def test_the_same_model_measured_elsewhere_counts_for_it_here():
    here, there = ((asked(batch=16, engine="torch"), RESNET, chip) for chip in (A10, T4))
    plain = SHIPPED.foresee([here])[0].latency_ms.mid
    own = [(*there, SHIPPED.foresee([there])[0].latency_ms.mid / 1e3 * 1.4)]
    assert SHIPPED.corrected(own).foresee([here])[0].latency_ms.mid > plain * 1.02


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=8))
@settings(max_examples=25)
def test_a_correction_lies_within_the_errors_that_it_saw_and_never_widens(errors):
    places = [Place("gpu", "torch", False, f"model {number}", (1.0, 0.0)) for number in range(len(errors))]  # noqa: FBT003
    shift, remaining = Correction(places, np.array(errors))([Place("gpu", "torch", False, "another", (1.0, 0.0))])  # noqa: FBT003
    assert min(0.0, *errors) - 1e-9 <= shift[0] <= max(0.0, *errors) + 1e-9
    assert 0 < remaining[0] <= 1


# --- the parts


def test_there_is_a_feature_for_each_name_and_nothing_is_infinite():
    cases = [part.case for chip in (T4, XEON) for part in plan(asked(batch=8), RESNET, chip).parts]
    found, taken = SHIPPED.predictor.physics(cases)
    rows = features(cases, found, taken)
    assert rows.shape == (len(cases), len(NAMES))
    assert not np.isinf(rows).any()


def test_trees_add_up_and_send_the_unknown_where_training_did():
    trees = Trees(
        roots=np.array([0, 3], np.int32),
        feature=np.array([0, 0, 0, 0], np.int32),
        threshold=np.array([1.0, 0, 0, 0]),
        left=np.array([1, 1, 2, 3], np.int32),
        right=np.array([2, 1, 2, 3], np.int32),
        missing_left=np.array([False, True, True, True]),
        value=np.array([0.0, 10.0, 20.0, 0.5]),
        depth=1,
    )
    assert trees(np.array([[0.5], [1.0], [2.0], [np.nan]])).tolist() == [10.5, 10.5, 20.5, 20.5]


def test_a_device_without_a_unit_for_a_precision_computes_in_the_next_wider_one():
    ops = Ops.of(RESNET)
    assert Case(ops=ops, chip=T4, engine="torch", precision="bf16").peak() == T4.peak_flops["fp16"]
    bare = replace(T4, peak_flops={"int8": 1e12})
    assert Case(ops=ops, chip=bare, engine="torch", precision="fp32").peak() == 1e12


def test_a_predictor_of_nothing_is_physics_with_its_first_guesses():
    bare = Forecaster(Predictor({}, None), Spread({}), ("nothing",))
    found = bare.foresee([(asked(batch=1), RESNET, T4)])[0]
    assert found.latency_ms.mid > 0
    assert len(START) == WIDTH


# --- the file


def test_a_saved_predictor_foresees_what_it_did(tmp_path):
    arrays, names = arrays_of(SHIPPED.predictor)
    card = {**names, "spread": {}, "about": ["a copy"], "seen": []}
    save(tmp_path / "copy.npz", arrays, card)
    again = forecaster(*load(tmp_path / "copy.npz"))
    query = (asked(batch=8), RESNET, A10)
    assert again.foresee([query])[0].latency_ms.mid == pytest.approx(
        SHIPPED.foresee([query])[0].latency_ms.mid, rel=1e-4
    )


@pytest.mark.parametrize("damage", [lambda data: data[:1000], lambda _: b"", lambda data: data[:-40] + b"x" * 40])
def test_a_damaged_predictor_is_an_error_that_names_its_file(tmp_path, damage):
    path = tmp_path / "predictor.npz"
    path.write_bytes(damage((Path(__file__).parents[1] / "src/brimful/catalog/data/predictor.npz").read_bytes()))
    with pytest.raises(CatalogError) as caught:
        load(path)
    assert "predictor.npz" in caught.value.what


def test_an_altered_number_in_the_predictor_is_noticed(tmp_path):
    arrays, card = load()
    changed = {**arrays, "vectors": arrays["vectors"] + 1}
    save(tmp_path / "good.npz", changed, card)
    assert load(tmp_path / "good.npz")
    np.savez(tmp_path / "bad.npz", **changed, card=np.frombuffer(__import__("json").dumps(card).encode(), np.uint8))
    with pytest.raises(CatalogError):
        load(tmp_path / "bad.npz")
