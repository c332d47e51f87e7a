"""The models that are known by name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.catalog.models import alike, comparable, named, names, proper_name
from brimful.costs.transformer import parameters
from brimful.model.work import Transformer

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tools are part of the checkout and of no package

from tools.build_models import SHIPPED, build

# What their makers publish, in millions
PUBLISHED = {
    "bert-base-uncased": 109.48, "bert-large-uncased": 335.14, "roberta-base": 124.65, "distilbert-base-uncased": 66.36,
    "albert-base-v2": 11.68, "gpt2": 124.44, "gpt-j-6b": 6050.9, "opt-66b": 65718.4, "bloom-7b1": 7069.0,
    "llama-2-70b": 68976.6, "llama-3.1-405b": 405853, "mistral-7b-v0.1": 7241.7, "mixtral-8x7b": 46702.8,
    "qwen2.5-72b": 72706.2, "qwen3-235b-a22b": 235094, "gemma-2-9b": 9241.7, "phi-2": 2779.7, "deepseek-v3": 671026,
    "gpt-oss-120b": 116829, "flan-t5-xl": 2849.76, "whisper-large-v3": 1543.5, "clip-vit-large-patch14": 427.62,
    "vit-base-patch16-224": 86.57, "chatglm2-6b": 6243.6, "falcon-40b": 41303.3, "stablelm-3b-4e1t": 2795.4,
}  # fmt: skip


@pytest.mark.parametrize(("name", "millions"), PUBLISHED.items())
def test_a_named_model_has_the_parameters_that_its_makers_publish(name, millions):
    assert parameters(known(name)) == pytest.approx(millions * 1e6, rel=1e-3)


def known(name: str) -> Transformer:
    found = named(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "proper"),
    [
        ("Meta-Llama/Llama-2-7B-Chat-hf", "llama-2-7b"),
        ("llama2_70b", "llama-2-70b"),
        ("TheBloke/Llama-2-7B-Chat-GPTQ", "llama-2-7b"),
        ("Qwen/Qwen3-235B-A22B-FP8", "qwen3-235b-a22b"),
        ("Qwen3-235B-A22B-Instruct-2507", "qwen3-235b-a22b"),
        ("bert-99.9", "bert-large-squad"),
        ("BERT base (bert-base-cased)", "bert-base-cased"),
        ("bert-large-uncased-whole-word-masking-squad-0001", "bert-large-squad"),
        ("opt_13", "opt-1.3b"),
        ("gpt3_27", "gpt3-2.7b"),
        ("llama3_1-405b", "llama-3.1-405b"),
        ("nvidia/DeepSeek-R1-NVFP4", "deepseek-v3"),
        ("stable-zephyr-3b-dpo", "stablelm-3b-4e1t"),
        ("google/vit-base-patch16-224", "vit-base-patch16-224"),
        (" GPT-J 6B ", "gpt-j-6b"),
    ],
)
def test_a_name_is_known_however_people_write_it(name, proper):
    assert proper_name(name) == proper


@pytest.mark.parametrize("name", ["", "bert", "llama-27b", "resnet50", "x" * 10**6, "llama-2-7"])
def test_a_name_that_nobody_has_is_not_guessed(name):
    assert named(name) is None
    assert proper_name(name) is None


def test_names_that_are_most_alike_are_offered():
    assert "llama-2-7b" in alike("lama-2-7b")
    assert alike("qwen2.5-7") != ()
    assert alike("zzzzzz") == ()


def test_every_name_leads_to_a_transformer_and_to_itself():
    assert len(names()) >= 240
    for name in names():
        assert proper_name(name) == name
        assert parameters(known(name)) > 1e6


def test_the_shipped_table_is_what_the_configurations_say():
    assert build() == SHIPPED.read_text(encoding="utf-8")
    table = json.loads(SHIPPED.read_text(encoding="utf-8"))
    assert table["source"]
    assert table["licence"]


@given(st.text(max_size=40))
def test_any_text_is_a_question_that_has_an_answer(name):
    found = named(name)
    assert found is None or proper_name(name) in names()
    assert len(alike(name)) <= 5
    assert comparable(comparable(name)) == comparable(name)
