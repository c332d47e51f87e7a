"""Files of queries: each line answered in its place, whatever is on it."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.advise.fit import words
from brimful.advise.fit.asked import asked
from brimful.catalog import load
from brimful.model.errors import BrimfulError, UsageError
from brimful.model.noun import plain
from brimful.model.work import Mode
from brimful.report.fit_queries import json_lines, text_lines
from brimful.verbs.fit_devices import Devices
from brimful.verbs.fit_models import Models
from brimful.verbs.fit_queries import Lookup, answers, measurements
from fit_stand_in import StandIn
from onnx_models import conv_net

ASKED = {"id": "a", "model": "resnet50", "device": "T4", "batch": 32, "precision": "fp16", "engine": "tensorrt"}
FIGURES = ("latency_ms", "latency_ms_low", "latency_ms_high", "throughput_per_s", "throughput_per_s_low")


@pytest.fixture(scope="module")
def lookup() -> Lookup:
    return Lookup(Models(), Devices.of(load(), "us-east-1"))


def told(lookup: Lookup, *lines: object) -> list[dict]:
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    found = "\n".join(json_lines(answers(text, lookup, StandIn())))
    return [json.loads(line) for line in found.splitlines()]


def test_each_line_is_answered_in_its_place_and_under_its_own_id(lookup: Lookup) -> None:
    found = told(
        lookup, ASKED, {**ASKED, "id": 7}, {**ASKED, "id": None}, {key: ASKED[key] for key in ("model", "device")}
    )
    assert [item["id"] for item in found] == ["a", 7, None, 4]
    assert all(item["v"] == 1 and item["kind"] == "prediction" and item["coverage"] == 0.8 for item in found)
    for item in found:
        assert item["latency_ms_low"] <= item["latency_ms"] <= item["latency_ms_high"]
        assert item["throughput_per_s_low"] <= item["throughput_per_s"] <= item["throughput_per_s_high"]


def test_a_line_that_cannot_be_answered_has_nulls_with_reasons_and_stops_nothing(lookup: Lookup) -> None:
    bad = ["nonsense", "[1]", "", '{"model": ', {**ASKED, "model": "resnet5000"}, {**ASKED, "device": "RTX 99999"},
           {**ASKED, "batch": 0}, {**ASKED, "batch": "many"}, {"model": "resnet50"}, {"device": "T4"},
           {**ASKED, "file": "/nowhere.onnx"}, {"model": "resnet50", "instance": "g99.huge"}]  # fmt: skip
    found = told(lookup, *bad, ASKED)
    assert len(found) == len(bad) + 1
    for item in found[:-1]:
        assert all(item[name] is None and item["missing"][name] for name in FIGURES)
        assert item["reason"]
    assert found[-1]["latency_ms"] > 0


def test_an_unknown_name_says_which_names_are_like_it(lookup: Lookup) -> None:
    model, device, instance = told(
        lookup,
        {**ASKED, "model": "resnet51qq"},
        {**ASKED, "device": "TT4"},
        {"model": "resnet50", "instance": "g4dn.large"},
    )
    assert "did you mean timm:resnet51q" in model["reason"]
    assert "T4" in device["reason"]
    assert "did you mean" in instance["reason"]


def test_numbers_may_be_text_and_what_is_null_or_empty_is_not_said(lookup: Lookup) -> None:
    plain_one, spelt = told(
        lookup,
        {**ASKED, "image_size": 224},
        {
            **ASKED,
            "batch": "32.0",
            "image_size": "3x224x224",
            "layout": "",
            "compiled": None,
            "count": "1",
            "tokens_in": "nan",
        },
    )
    assert spelt["latency_ms"] == plain_one["latency_ms"]


def test_a_larger_batch_takes_no_less_time_and_several_devices_do_more(lookup: Lookup) -> None:
    one, many, four = told(lookup, ASKED, {**ASKED, "batch": 64}, {**ASKED, "count": 4})
    assert many["latency_ms"] >= one["latency_ms"]
    assert four["throughput_per_s"] == pytest.approx(4 * one["throughput_per_s"])


def test_an_instance_stands_for_one_of_its_accelerators_or_for_all_when_asked(lookup: Lookup) -> None:
    base = {"model": "resnet50", "batch": 32, "precision": "fp16", "engine": "tensorrt"}
    one, all_four, device = told(
        lookup,
        {**base, "instance": "g4dn.12xlarge"},
        {**base, "instance": "g4dn.12xlarge", "count": "all"},
        {**base, "device": "T4"},
    )
    assert one["throughput_per_s"] == pytest.approx(device["throughput_per_s"])
    assert all_four["throughput_per_s"] == pytest.approx(4 * device["throughput_per_s"])


def test_a_share_of_a_gpu_and_a_few_cores_are_slower_than_the_whole(lookup: Lookup) -> None:
    share, whole, few, more = told(
        lookup,
        *(
            {"model": "resnet50", "batch": 8, "instance": name}
            for name in ("g6f.large", "g6.xlarge", "c7i.large", "c7i.8xlarge")
        ),
    )
    assert share["latency_ms"] > whole["latency_ms"]
    assert few["latency_ms"] > more["latency_ms"]


def test_a_device_that_an_instance_does_not_have_is_refused(lookup: Lookup) -> None:
    (found,) = told(lookup, {"model": "resnet50", "instance": "g4dn.xlarge", "device": "H100"})
    assert found["latency_ms"] is None
    assert "T4" in found["reason"]


def test_language_models_tell_of_tokens_and_encoders_do_not(lookup: Lookup) -> None:
    llama, bert = told(
        lookup,
        {"model": "meta-llama/Llama-2-7b-hf", "device": "H100", "tokens_in": 1000, "tokens_out": 10},
        {"model": "bert-large", "device": "H100", "sequence": 384},
    )
    assert llama["first_token_ms"] > llama["per_token_ms"] > 0
    assert bert["first_token_ms"] is None
    assert bert["missing"]["first_token_ms"]


def test_a_model_may_be_a_file_whose_open_sizes_the_query_binds(lookup: Lookup, tmp_path: Path) -> None:
    net, model = conv_net()
    path = net.write(tmp_path, model)
    by_file, by_model = told(lookup, {"file": str(path), "device": "T4"}, {"model": str(path), "device": "T4"})
    assert by_file["latency_ms"] == by_model["latency_ms"] > 0


def test_devices_of_a_users_own_are_found_before_the_catalogues(tmp_path: Path) -> None:
    facts = tmp_path / "mine.toml"
    facts.write_text(
        '[[device]]\nmodel = "X9000"\npeak_tflops = {fp16 = 4000, fp32 = 100}\nbandwidth_gb_per_s = 9000\n'
    )
    mine = Lookup(Models(), Devices.of(load(), "us-east-1", facts))
    new, old = told(mine, {"model": "resnet50", "device": "X9000"}, {"model": "resnet50", "device": "T4"})
    assert new["latency_ms"] < old["latency_ms"]


def test_measurements_correct_answers_and_bad_lines_of_them_are_told(lookup: Lookup, tmp_path: Path) -> None:
    (before,) = told(lookup, ASKED)
    own = tmp_path / "own.jsonl"
    lines = [{**ASKED, "latency_ms": before["latency_ms"] * 2} for _ in range(3)]
    rate = {**ASKED, "throughput_per_s": before["throughput_per_s"] / 2}
    own.write_text("\n".join([*map(json.dumps, [*lines, rate]), "bad", json.dumps(ASKED), ""]))
    measured, wrong = measurements(own, lookup)
    assert [item[3] for item in measured] == pytest.approx([before["latency_ms"] * 2 / 1000] * 4)
    assert len(wrong) == 2
    assert "line 5" in wrong[0]
    after = next(answers([json.dumps(ASKED)], lookup, StandIn().corrected(measured))).answer
    assert after.latency_ms == pytest.approx(before["latency_ms"] * 2, rel=0.01)


def test_one_case_that_cannot_be_foreseen_spoils_no_other(lookup: Lookup) -> None:
    class Fragile(StandIn):
        def foresee(self, questions):
            if any(query.batch == 13 for query, _, _ in questions):
                raise ValueError("unlucky")
            return super().foresee(questions)

    found = list(answers([json.dumps({**ASKED, "batch": size}) for size in (1, 13, 2)], lookup, Fragile()))
    assert [item.answer.latency_ms is None for item in found] == [False, True, False]
    assert "unlucky" in found[1].answer.reason


def test_people_get_a_table_of_the_same_answers(lookup: Lookup) -> None:
    (drawn,) = text_lines(answers([json.dumps(ASKED), "bad"], lookup, StandIn()))
    assert "80 % within" in drawn
    assert "the line is no JSON" in drawn


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12), st.lists(st.integers(), max_size=3)
)
FIELDS = st.sampled_from([*ASKED, "count", "mode", "image_size", "compiled", "latency_ms"])


@given(st.text(max_size=60) | st.dictionaries(FIELDS, VALUES))
def test_whatever_a_line_holds_it_is_read_or_refused(line: object) -> None:
    with contextlib.suppress(BrimfulError):
        assert plain(asked(line).query())


@given(st.text(max_size=40))
def test_words_are_understood_or_not_but_never_fail(text: str) -> None:
    known = (words.engine(text), words.precision(text), words.layout(text), words.compiled(text), words.scenario(text))
    assert all(item is None or item for item in known)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("TensorRT 10.2.0, CUDA 12.4", "tensorrt"),
        ("TensorRT-LLM 0.9", "trtllm"),
        ("pytorch", "torch"),
        ("ORT 1.22", "onnxruntime"),
        ("TFLite v2.7.1 (ruy)", "tflite"),
        ("vLLM 0.9.0, PyTorch 2.7", "vllm"),
        ("OpenVINO", "openvino"),
        ("SINIAN", None),
    ],
)
def test_engines_are_known_by_what_people_call_them(text: str, meant: str | None) -> None:
    assert words.engine(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("fp16-amp", "fp16"),
        ("INT8-CW", "int8"),
        ("token_int4", "int4"),
        ("Mixed", "fp16"),
        ("bfloat16", "bf16"),
        ("int8,fp16", "int8"),
        ("mixed precision fp8-E4M3,bfloat16", "fp8"),
        ("uint8", "int8"),
        ("TF32", "tf32"),
        ("No change.", None),
    ],
)
def test_precisions_are_known_by_what_people_call_them(text: str, meant: str | None) -> None:
    assert words.precision(text) == meant


def test_training_is_meant_by_the_mode_or_by_the_scenario() -> None:
    assert asked({**ASKED, "mode": "train"}).mode is Mode.TRAINING
    assert asked({**ASKED, "scenario": "training"}).mode is Mode.TRAINING
    assert asked(ASKED).mode is Mode.INFERENCE


def test_a_line_that_says_what_nobody_understands_is_answered_and_says_so(lookup: Lookup) -> None:
    (found,) = told(lookup, {**ASKED, "engine": "SINIAN VODLA"})
    assert found["latency_ms"] > 0
    assert "engine is not understood" in found["reason"]


def test_a_line_without_a_model_or_a_device_says_which_is_missing() -> None:
    with pytest.raises(UsageError, match="model is missing"):
        asked({"device": "T4"})
    with pytest.raises(UsageError, match="device is missing"):
        asked({"model": "resnet50"})
