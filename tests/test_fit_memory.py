"""What a workload needs of a device's memory, and where it fits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.advise.fit import neuron_rules
from brimful.advise.fit.memory import (
    BITS,
    ONE,
    Need,
    Setup,
    Split,
    fits,
    largest_batch,
    needs,
    runtime_bytes,
    smallest_split,
)
from brimful.advise.fit.slices import G6F_BYTES, slice_bytes, slices, smallest_slice
from brimful.advise.fit.training_memory import Training, gradient_bytes, state_bytes, weight_bytes
from brimful.catalog.models import named
from brimful.costs.profile import profiled
from brimful.costs.transformer import kv_cache_elements, prefill
from brimful.model.hardware import DeviceKind, Precision
from brimful.model.noun import with_gaps
from brimful.model.units import GIB
from brimful.model.work import Mode, OpCost, OpKind, Profile, Transformer


def model(name: str) -> Transformer:
    found = named(name)
    assert found is not None
    return found


LLAMA = prefill(model("llama-2-7b"), 512)
BERT = prefill(model("bert-large"), 512)
ONE_CONV = OpCost(
    op=OpKind.CONV, op_type="Conv", flops=1e9, weight_elements=9_000, read_elements=50_000, write_elements=60_000
)
CONV = profiled(
    [ONE_CONV],
    model="net",
    source="made up",
    parameters=9_000,
    weight_bytes=36_000,
)


def test_a_7b_model_in_16_bits_takes_the_gibibytes_that_everybody_knows():
    need = needs(LLAMA, Setup(context=4096, batch=1))
    assert need.weights_bytes == 6_738_415_616 * 2
    assert need.kv_cache_bytes == 2 * GIB
    assert 15 * GIB < need.total_bytes < 16 * GIB
    assert fits(need, 22888 * 2**20)
    assert not fits(need, 14 * GIB)


@pytest.mark.parametrize(
    ("precision", "low", "high"), [(Precision.FP32, 25, 25.2), (Precision.INT8, 6.5, 6.6), (Precision.INT4, 3.5, 3.7)]
)
def test_weights_follow_the_precision_and_quantisers_leave_the_tables_alone(precision, low, high):
    weights = needs(LLAMA, Setup(precision=precision)).weights_bytes
    assert low * GIB < weights < high * GIB


def test_a_file_that_is_quantised_already_stays_as_it_is():
    t = replace(model("llama-2-7b"), weight_bits=4, missing={})
    quantised = prefill(t, 512, weight_bytes=4 * GIB)
    assert needs(quantised, Setup(precision=Precision.FP16)).weights_bytes == 4 * GIB


@given(
    precision=st.sampled_from(list(Precision)), batch=st.integers(1, 512), context=st.integers(0, 100_000),
    tensor=st.sampled_from([1, 2, 4, 8]),
)  # fmt: skip
def test_more_work_never_needs_less_and_more_devices_never_more_each(precision, batch, context, tensor):
    setup = Setup(precision=precision, batch=batch, context=context, split=Split(tensor=tensor))
    need = needs(LLAMA, setup)
    assert need.total_bytes <= needs(LLAMA, replace(setup, batch=batch + 1, missing={})).total_bytes
    assert need.total_bytes <= needs(LLAMA, replace(setup, context=context + 1, missing={})).total_bytes
    assert needs(LLAMA, replace(setup, split=Split(tensor=2 * tensor), missing={})).total_bytes <= need.total_bytes


def test_every_precision_has_its_bits():
    assert set(BITS) == set(Precision)


def test_a_model_that_no_device_holds_is_split_until_it_fits():
    seventy = prefill(model("llama-2-70b"), 512)
    setup = Setup(context=4096, batch=1)
    assert smallest_split(seventy, 79 * GIB, 1, setup) is None
    need = smallest_split(seventy, 79 * GIB, 8, setup)
    assert need is not None
    assert need.split == Split(tensor=2)
    assert smallest_split(LLAMA, 79 * GIB, 8, setup).split == ONE


def test_heads_that_cannot_be_shared_out_evenly_send_the_layers_apart():
    xl = prefill(model("gpt2-xl"), 512)  # 25 heads
    need = smallest_split(xl, 3 * GIB, 4, Setup(batch=1, precision=Precision.FP16))
    assert need is not None
    assert need.split == Split(pipeline=2)


def test_keys_and_values_are_shared_out_down_to_one_head_a_device_and_latents_never():
    few = prefill(model("qwen2.5-7b"), 512)  # 4 heads of keys and values
    deep = prefill(model("deepseek-v2-lite"), 512)
    setup = Setup(context=10_000, batch=1)
    at = lambda profile, tensor: needs(profile, replace(setup, split=Split(tensor=tensor), missing={})).kv_cache_bytes  # noqa: E731
    assert at(few, 4) == at(few, 1) // 4 == at(few, 8)
    assert at(deep, 8) == at(deep, 1) == 2 * kv_cache_elements(model("deepseek-v2-lite"), 10_000)


# Peaks that PyTorch 2.11 reserved on an H200 (2026-11-19), in GiB: plain layers of these measures, AdamW, 3 steps
MEASURED = [
    ("bert-large", 512, 16, False, True, 12.26), ("bert-large", 512, 16, False, False, 16.32),
    ("bert-large", 512, 64, False, True, 35.31), ("bert-large", 512, 64, False, False, 53.16),
    ("bert-large", 512, 64, True, True, 8.83), ("bert-large", 512, 64, True, False, 10.08),
    ("gpt2-medium", 1024, 8, False, True, 19.63), ("gpt2-medium", 1024, 8, False, False, 22.69),
    ("gpt2-medium", 1024, 32, True, True, 33.77), ("gpt2-medium", 1024, 32, True, False, 36.84),
    ("gpt2-xl", 1024, 4, False, True, 37.54), ("gpt2-xl", 1024, 4, False, False, 41.06),
    ("gpt2-xl", 1024, 8, True, True, 30.66), ("gpt2-xl", 1024, 8, True, False, 30.52),
]  # fmt: skip


@pytest.mark.parametrize(("name", "tokens", "batch", "again", "mixed", "gib"), MEASURED)
def test_training_needs_what_was_measured_within_a_fifth(name, tokens, batch, again, mixed, gib):
    setup = Setup(
        precision=Precision.BF16 if mixed else Precision.FP32,
        batch=batch,
        training=Training(checkpointing=again, mixed=mixed),
    )
    need = needs(prefill(model(name), tokens), setup, Mode.TRAINING)
    assert (need.total_bytes - need.runtime_bytes) / GIB == pytest.approx(gib, rel=0.2)


@pytest.mark.parametrize(
    ("name", "tokens", "batch", "gib"),
    [
        ("bert-large", 128, 1, 0.664), ("bert-large", 512, 64, 1.535), ("bert-large", 512, 256, 4.162),
        ("gpt2-medium", 1024, 8, 0.918), ("gpt2-xl", 1024, 1, 3.064), ("gpt2-xl", 1024, 8, 3.365),
    ],
)  # fmt: skip
def test_inference_needs_what_was_measured_within_a_tenth(name, tokens, batch, gib):
    need = needs(prefill(model(name), tokens), Setup(precision=Precision.BF16, batch=batch))
    assert (need.total_bytes - need.runtime_bytes) / GIB == pytest.approx(gib, rel=0.1)


def test_adam_in_mixed_precision_keeps_sixteen_bytes_a_parameter_and_zero_divides_them():
    for stage, expected in ((0, 16), (1, 4 + 12 / 8), (2, 2 + 14 / 8), (3, 16 / 8)):
        training = Training(zero_stage=stage)
        total = sum(part(8_000, training, 8) for part in (weight_bytes, gradient_bytes, state_bytes))
        assert total == 8_000 * expected
    assert state_bytes(100, Training(optimizer="adam8bit")) == 600
    assert state_bytes(100, Training(optimizer="sgd", mixed=False)) == 0
    assert gradient_bytes(100, Training(trainable_share=0.01)) == 2


def test_a_trainer_that_does_not_exist_is_refused():
    for wrong in ({"optimizer": "magic"}, {"zero_stage": 4}, {"trainable_share": 2.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Training(**wrong)
    with pytest.raises(ValueError, match="starts at 1"):
        Split(tensor=0)


def test_recomputing_keeps_less_and_a_model_that_is_no_transformer_keeps_what_its_operations_give():
    plain = needs(CONV, Setup(batch=8, training=Training()), Mode.TRAINING)
    assert plain.activations_bytes == 8 * 60_000 * 2
    same = needs(CONV, Setup(training=Training(mixed=False), precision=Precision.FP32), Mode.TRAINING)
    assert same.activations_bytes == 60_000 * 4
    again = needs(BERT, Setup(batch=8, training=Training(checkpointing=True)), Mode.TRAINING)
    assert again.activations_bytes < needs(BERT, Setup(batch=8), Mode.TRAINING).activations_bytes


def test_the_widest_operation_stands_in_for_activations_that_nobody_tells():
    assert needs(CONV, Setup(batch=2, precision=Precision.FP32)).activations_bytes == 2 * 110_000 * 4
    assert needs(CONV, Setup(batch=2, precision=Precision.INT8)).activations_bytes == 2 * 110_000


def test_what_is_not_known_is_said_and_does_not_fit():
    bare = with_gaps(Profile, "not read", model="m", source="s", parameters=10)
    need = needs(bare, Setup())
    assert need.activations_bytes is None
    assert "operations" in need.missing["activations_bytes"]
    assert not need.complete
    assert not fits(need, 2**40)
    nothing = needs(with_gaps(Profile, "not read", model="m", source="s"), Setup())
    assert nothing.weights_bytes is None
    assert not needs(with_gaps(Profile, "not read", model="m", source="s"), Setup(), Mode.TRAINING).complete
    assert isinstance(nothing, Need)


def test_the_largest_batch_fits_and_the_next_does_not():
    setup = Setup(context=2048)
    most = largest_batch(LLAMA, 22 * GIB, setup)
    assert 1 < most < 64
    assert fits(needs(LLAMA, replace(setup, batch=most, missing={})), 22 * GIB)
    assert not fits(needs(LLAMA, replace(setup, batch=most + 1, missing={})), 22 * GIB)
    assert largest_batch(LLAMA, GIB, setup) == 0


def test_a_small_device_has_a_small_runtime():
    assert (
        runtime_bytes(DeviceKind.GPU, 2 * GIB)
        < runtime_bytes(DeviceKind.GPU, 40 * GIB)
        == runtime_bytes(DeviceKind.GPU)
    )
    assert runtime_bytes(DeviceKind.NPU) > 0


def test_bert_large_fits_the_smallest_share_of_an_l4():
    need = needs(BERT, Setup(batch=1, usable_bytes=G6F_BYTES[0.125]))
    assert fits(need, G6F_BYTES[0.125])
    assert not fits(needs(LLAMA, Setup()), G6F_BYTES[0.5])


def test_slices_are_told_smallest_first_and_never_hold_more_than_their_whole():
    for gpu, whole in (("A100-40GB", 39.5), ("A100-80GB", 79.0), ("H100", 79.0), ("H200", 140.0), ("B200", 178.0)):
        sizes = [slice_bytes(part, round(whole * GIB)) for part in slices(gpu)]
        assert sizes == sorted(sizes)
        assert sizes[-1] <= whole * GIB
        assert sizes[0] * 7 <= whole * GIB
    assert slices("T4") == ()


def test_the_smallest_slice_that_holds_a_need_is_found():
    part = smallest_slice("H100", 79 * GIB, 12 * GIB)
    assert part is not None
    assert part.slice == "1g.20gb"
    assert smallest_slice("H100", 79 * GIB, 200 * GIB) is None


# --- Neuron's rules: aws-neuron-sdk at 81ce03a, neuroncore-batching.rst ---

BERT_FIGURES = {"model_flops": 77.3e9, "parameters": 302_000_000, "bytes_per_parameter": 2}
RESNET_FIGURES = {"model_flops": 7.8e9, "parameters": 25_000_000, "bytes_per_parameter": 2}
INFERENTIA = {"peak_flops": 64e12, "bandwidth_bytes_per_s": 50e9}
TRAINIUM = {"peak_flops": 210e12, "bandwidth_bytes_per_s": 820e9}


@pytest.mark.parametrize(
    ("device", "figures", "batch", "value"),
    [
        (INFERENTIA, BERT_FIGURES, 6, 5.0008), (TRAINIUM, BERT_FIGURES, 2, 1.0005),
        (INFERENTIA, RESNET_FIGURES, 5, 4.1026), (TRAINIUM, RESNET_FIGURES, 1, 0.8208),
    ],
)  # fmt: skip
def test_neurons_documented_batches_come_out_with_their_own_figures(device, figures, batch, value):
    assert neuron_rules.optimal_batch(**device, **figures) == batch
    assert neuron_rules.optimal_batch_value(**device, **figures) == pytest.approx(value, abs=1e-4)


def test_the_catalogues_trainium_moves_bert_large_from_two_to_one():
    assert neuron_rules.optimal_batch(peak_flops=190e12, bandwidth_bytes_per_s=820e9, **BERT_FIGURES) == 1


def test_pipeline_cores_follow_the_weights_without_embeddings():
    assert neuron_rules.pipeline_cores(25_000_000) == 4
    assert neuron_rules.pipeline_cores(85_000_000) == 16
    assert neuron_rules.pipeline_cores(110_000_000) == 24
    assert neuron_rules.pipeline_cores(1) == 4


def test_the_training_batch_fills_six_tenths_of_the_cores():
    known = {"core_memory_bytes": 16 * 10**9, "parameters": 10**9, "bytes_per_parameter": 16}
    assert neuron_rules.training_batch(tensor=8, pipeline=1, **known) == 4
    assert neuron_rules.training_batch(tensor=1, pipeline=1, **known) == 1


def test_data_parallel_splits_a_batch_over_the_cores():
    assert neuron_rules.data_parallel_split(8, 4) == (8, 2, True)
    assert neuron_rules.data_parallel_split(3, 4) == (8, 1, False)
    for wrong in ((0, 4), (4, 0)):
        with pytest.raises(ValueError, match="starts at 1"):
            neuron_rules.data_parallel_split(*wrong)
    with pytest.raises(ValueError, match="above 0"):
        neuron_rules.optimal_batch(peak_flops=0, bandwidth_bytes_per_s=1, **BERT_FIGURES)
