"""What a transformer costs: held to what PyTorch counts, and to what must hold whatever the measures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.costs.layers import touched_experts
from brimful.costs.parts import Heads, Pass, attention
from brimful.costs.transformer import (
    activation_elements,
    decode,
    forward,
    input_tokens,
    kv_cache_elements,
    matrix_parameters,
    parameters,
    prefill,
)
from brimful.model.work import OpCost, OpKind, Transformer
from brimful.readers.huggingface.families import understood

TRUTH: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "transformers_truth.json").read_text())
COUNTED = {OpKind.MATMUL, OpKind.ATTENTION, OpKind.CONV}

# Parameters that PyTorch keeps as buffers, and one norm that ModernBERT's head has without its shift
KNOWN_OFF = {
    "minimax-m2.5",
    "deepseek-v3",
    "mini-deepseek_v3",
    "mini-minimax_m2",
    "mini-glm4_moe",
    "mini-modernbert-mlm",
}


def flops(ops: tuple[OpCost, ...]) -> float:
    return sum(op.ops_count * op.flops for op in ops if op.op in COUNTED)


def small(**more: Any) -> Transformer:
    known = {"family": "llama", "decoder": True, "layers": 4, "hidden": 64, "heads": 8, "kv_heads": 2, "head_size": 8}
    return Transformer(**{**known, "intermediate": 128, "gated": True, "vocabulary": 1000, **more})


MIXED = small(experts=8, experts_per_token=2, expert_intermediate=32, shared_intermediate=16, dense_layers=1)
LATENT = small(heads=4, kv_heads=4, head_size=24, value_size=16, latent=40, rope_size=8, query_latent=32)
STATES = small(linear_layers=3, linear_heads=4, linear_key_heads=2, linear_head_size=16, gated_attention=True)
SIDED = small(cross=True, encoder=small(decoder=False, vocabulary=0, head="none"))
IMAGE = small(decoder=False, patches=196, patch_elements=768, class_tokens=1, vocabulary=0, head="classes", classes=9)
KINDS = {"plain": small(), "experts": MIXED, "latent": LATENT, "states": STATES, "sided": SIDED, "image": IMAGE}


@pytest.mark.parametrize("row", TRUTH, ids=lambda row: row["name"])
def test_parameters_are_those_that_pytorch_counts(row):
    counted = parameters(understood(row["config"]).transformer)
    if row["name"] in KNOWN_OFF:
        assert counted == pytest.approx(row["parameters"], rel=1e-3)
    else:
        assert counted == row["parameters"]


@pytest.mark.parametrize("row", [row for row in TRUTH if row["flops"]], ids=lambda row: row["name"])
def test_flops_are_those_that_pytorch_counts(row):
    t = understood(row["config"]).transformer
    counted = flops(forward(t, tokens=row["tokens"], batch=2, source=row["source"]))
    assert counted == pytest.approx(row["flops"], rel=0.01)


@pytest.mark.parametrize("t", KINDS.values(), ids=KINDS)
def test_twice_the_inputs_are_twice_the_flops_and_the_same_weights(t):
    one, two = forward(t, tokens=32, batch=1), forward(t, tokens=32, batch=2)
    assert flops(two) == pytest.approx(2 * flops(one))
    if not t.experts:
        assert weights(two) == weights(one)
    else:
        assert weights(one) <= weights(two) <= 2 * weights(one)


def weights(ops: tuple[OpCost, ...]) -> int:
    return sum(op.ops_count * op.weight_elements for op in ops)


def test_what_is_read_once_a_call_is_all_that_is_not_a_table():
    t = small()
    tables = 1000 * 64  # the words, of which only some rows are looked up
    assert weights(forward(t, tokens=8)) == parameters(t) - tables


@given(rows=st.integers(1, 10**6), chosen=st.integers(1, 8))
def test_more_tokens_touch_more_experts_and_never_more_than_there_are(rows, chosen):
    t = replace(MIXED, experts_per_token=chosen, missing={})
    assert chosen - 1e-9 <= touched_experts(t, rows) <= touched_experts(t, rows + 1) <= 8


def test_one_token_touches_as_many_experts_as_it_takes():
    assert touched_experts(MIXED, 1) == pytest.approx(2)


def test_a_step_of_decoding_reads_every_kept_key_and_value_once():
    t = small()
    steps = [forward(t, tokens=1, batch=3, past=past, generate=True) for past in (100, 101)]
    read = [sum(op.ops_count * op.read_elements for op in ops if op.op is OpKind.ATTENTION) for ops in steps]
    assert read[1] - read[0] == 3 * kv_cache_elements(t, 1)


def test_a_window_caps_what_is_kept_and_what_is_compared():
    t = small(window=16, windowed_layers=3)
    each = 2 * 2 * 8
    assert kv_cache_elements(t, 10) == each * 4 * 10
    assert kv_cache_elements(t, 100) == each * (100 + 3 * 16)
    assert flops(forward(t, tokens=1, past=100)) < flops(forward(small(), tokens=1, past=100))


def test_a_latent_is_kept_once_for_all_heads_and_compared_with_directly():
    assert kv_cache_elements(LATENT, 10) == 4 * 40 * 10
    step = forward(LATENT, tokens=1, past=50)
    (core,) = [op for op in step if op.op is OpKind.ATTENTION]
    assert core.read_elements == 4 * 40 + 51 * 40
    assert core.flops == 2 * 4 * 51 * (40 + 32)


def test_a_latent_attention_reads_the_same_weights_however_it_is_computed():
    assert weights(forward(LATENT, tokens=1, past=1)) == weights(forward(LATENT, tokens=1))


def test_a_state_has_one_size_whatever_the_context():
    kept = [kv_cache_elements(STATES, tokens) for tokens in (1, 1001)]
    assert kept[1] - kept[0] == 1000 * 2 * 2 * 8  # of its one layer with keys and values


def test_an_encoder_keeps_nothing_and_its_sides_keys_are_made_once():
    assert kv_cache_elements(IMAGE, 100) == 0
    assert kv_cache_elements(SIDED, 1, source=50) == 4 * 2 * 2 * 8 * 51
    first, later = forward(SIDED, tokens=1, source=50), forward(SIDED, tokens=1, past=1, source=50)
    assert flops(later) < flops(first) / 10


def test_generating_computes_the_last_token_s_words_alone():
    t = small()
    every, last = forward(t, tokens=100), forward(t, tokens=100, generate=True)
    assert flops(every) - flops(last) == 2 * 99 * 64 * 1000


def test_an_image_has_its_own_tokens_whatever_is_asked():
    assert input_tokens(IMAGE, 5) == 197
    assert forward(IMAGE, tokens=5) == forward(IMAGE, tokens=500)


def test_an_attention_that_is_not_fused_writes_its_scores():
    work = Pass(tokens=10, batch=2, fused=False)
    plain = attention(work, Heads(4, 2, 8, 8), 10, 10)
    (fused,) = attention(replace(work, fused=True), Heads(4, 2, 8, 8), 10, 10)
    assert [op.op for op in plain] == [OpKind.ATTENTION, OpKind.SOFTMAX, OpKind.ATTENTION]
    assert plain[0].flops + plain[2].flops == fused.flops
    assert plain[0].write_elements == 2 * 4 * 10 * 10
    assert forward(small(), tokens=4, fused=False) != forward(small(), tokens=4)


def test_only_a_decoder_has_a_next_token():
    with pytest.raises(ValueError, match="no decoder"):
        decode(IMAGE, 10)


@pytest.mark.parametrize("t", [t for t in KINDS.values() if t.decoder], ids=[n for n, t in KINDS.items() if t.decoder])
def test_profiles_say_what_they_are_over(t):
    first, step = prefill(t, 64, 3), decode(t, 64, 3)
    assert (first.samples_count, step.samples_count) == (3, 3)
    assert first.parameters == parameters(t)
    assert first.pass_flops > step.pass_flops > 0
    assert first.transformer is t
    assert step.dims == {"batch": 3, "context": 64}
    assert first.missing["weight_bytes"]
    assert prefill(t, 64, model="mine", weight_bytes=5).weight_bytes == 5


@pytest.mark.parametrize("t", KINDS.values(), ids=KINDS)
def test_more_tokens_keep_more_alive_and_cost_more(t):
    assert activation_elements(t, 10) <= activation_elements(t, 1000)
    assert flops(forward(t, tokens=10)) <= flops(forward(t, tokens=11))


def test_layers_that_share_their_weights_count_once_and_cost_each():
    t = small(decoder=False, head="none", vocabulary=0)
    assert parameters(replace(t, shared_layers=True, missing={})) * 4 == parameters(t) + 3 * 64
    assert forward(replace(t, shared_layers=True, missing={}), tokens=4) == forward(t, tokens=4)


def test_quantisers_take_the_layers_matrices_and_leave_the_rest():
    every, experts = matrix_parameters(MIXED)
    assert experts == 3 * 8 * 3 * 64 * 32
    assert experts < every < parameters(MIXED)
    assert matrix_parameters(small())[1] == 0
    bits = {op.weight_bits for op in forward(small(weight_bits=4), tokens=1) if op.op is OpKind.MATMUL}
    assert bits == {4, None}  # None: the head


def test_measures_that_no_transformer_has_are_refused():
    for wrong in (
        {"layers": 0},
        {"kv_heads": 9},
        {"experts_per_token": 1},
        {"windowed_layers": 5},
        {"head": "tail"},
        {"cross": True},
        {"latent": 8, "rope_size": 8},
        {"vocabulary": -1},
        {"stem_flops": 1e18},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong)) if "latent" not in wrong else "rope_size"):
            small(**wrong)
