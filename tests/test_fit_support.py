"""Whether a model runs on a target: what lists prove, what rules refuse, and what stays unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.advise.fit.operators import Listed
from brimful.advise.fit.support import RULES, Answer, Target, family_of, support
from brimful.catalog import load
from brimful.model.noun import with_gaps
from brimful.model.work import OpCost, OpKind, Profile, Transformer

CATALOG = load()
LISTS, FITS = CATALOG.operators, CATALOG.model_fits


def op(kind: OpKind, op_type: str, flops: float = 1e9) -> OpCost:
    return OpCost(op=kind, op_type=op_type, flops=flops, read_elements=1, write_elements=1)


def profile(*ops: OpCost, **known) -> Profile:
    return with_gaps(
        Profile,
        "not needed here",
        **{"model": "m", "source": "test", "ops": ops, "op_types": {item.op_type: 1 for item in ops}, **known},
    )


def transformer(*, decoder: bool, family: str = "bert", patches: int = 0) -> Transformer:
    return Transformer(
        family=family, decoder=decoder, layers=2, hidden=8, heads=2, kv_heads=2, head_size=4, intermediate=16,
        gated=False, vocabulary=100, patches=patches,
    )  # fmt: skip


SMALL = ("Relu", "Add", "MaxPool", "GlobalAveragePool", "Gemm")
RESNET = profile(op(OpKind.CONV, "Conv", 4e9), *(op(OpKind.OTHER, name, 1e6) for name in SMALL))
BERT_TYPES = ("MatMul", "Add", "Softmax", "LayerNormalization", "Gelu", "Gather")
BERT = profile(*(op(OpKind.MATMUL, name) for name in BERT_TYPES), transformer=transformer(decoder=False))
LLAMA = profile(op(OpKind.MATMUL, "MatMul"), transformer=transformer(decoder=True, family="llama"))


@pytest.mark.parametrize("target", [target for target in Target if target not in (Target.INFERENTIA2, Target.TRAINIUM)])
def test_a_resnet_runs_wherever_its_operators_are_listed(target):
    found = support(RESNET, target, LISTS, FITS)
    assert found.answer is Answer.YES
    assert found.leaves == ()


def test_the_short_list_of_inferentia2_proves_little_and_refuses_nothing():
    found = support(RESNET, Target.INFERENTIA2, LISTS, FITS)
    assert found.answer is Answer.UNKNOWN
    assert "compile to know" in found.reason
    assert "Conv" in found.leaves
    assert any("cnn: fit good, supported" in note for note in found.notes)


def test_an_encoder_on_inferentia1_has_its_embedding_in_doubt_since_it_was_removed_from_the_list():
    found = support(BERT, Target.INFERENTIA1, LISTS, FITS)
    assert found.answer in (Answer.YES, Answer.UNKNOWN)
    assert set(found.leaves) <= {"Gather"}


def test_a_decoder_does_not_fit_inferentia1_by_name_of_the_rule():
    found = support(LLAMA, Target.INFERENTIA1, LISTS, FITS)
    assert (found.answer, found.rule) == (Answer.NO, "decoder-on-inferentia1")
    assert support(LLAMA, Target.INFERENTIA2, LISTS, FITS).answer is not Answer.NO
    short = profile(op(OpKind.MATMUL, "MatMul"), transformer=LLAMA.transformer, dims={"sequence": 128})
    assert support(short, Target.INFERENTIA1, LISTS, FITS).answer is not Answer.NO


@pytest.mark.parametrize("op_type", ["RoiAlign", "NonMaxSuppression", "torchvision::nms", "roi_align"])
def test_detection_stays_off_neuron_and_is_left_to_a_gpu(op_type):
    model = profile(op(OpKind.CONV, "Conv"), op(OpKind.OTHER, op_type.removeprefix("torchvision::")))
    assert support(model, Target.INFERENTIA2, LISTS, FITS).rule == "detection-on-neuron"
    assert support(model, Target.TENSORRT, LISTS, FITS).answer is not Answer.NO


def test_more_than_a_hundred_boxes_stay_off_neuron():
    assert support(profile(*RESNET.ops, dims={"boxes": 300}), Target.INFERENTIA1, LISTS).rule == "detection-on-neuron"
    assert support(profile(*RESNET.ops, dims={"boxes": 100}), Target.INFERENTIA1, LISTS).answer is Answer.YES


def test_dynamic_shapes_and_custom_operators_stay_off_neuron():
    moving = profile(*RESNET.ops, dynamic=("NonZero",))
    own = profile(*RESNET.ops, op(OpKind.UNKNOWN, "FastThing"), unknown_ops=("FastThing",))
    for target in (Target.INFERENTIA1, Target.INFERENTIA2, Target.TRAINIUM):
        assert support(moving, target, LISTS).rule == "dynamic-shapes-on-neuron"
        assert support(own, target, LISTS).rule == "custom-operators-on-neuron"
    assert support(own, Target.TENSORRT, LISTS).answer is Answer.UNKNOWN


def test_two_gigabytes_of_weights_are_too_many_for_inferentia1_alone():
    large = profile(*RESNET.ops, weight_bytes=3 * 1024**3)
    assert support(large, Target.INFERENTIA1, LISTS).rule == "weights-above-2gb-on-inferentia1"
    assert support(large, Target.TENSORRT, LISTS).answer is Answer.YES


def test_what_would_leave_is_told_as_a_share_of_the_time_or_else_of_the_arithmetic():
    model = profile(op(OpKind.CONV, "Conv", 3e9), op(OpKind.OTHER, "Strange", 1e9))
    found = support(model, Target.TENSORRT, LISTS)
    assert (found.leaves, found.leaves_share, found.share_of) == (("Strange",), 0.25, "flops")
    timed = support(model, Target.TENSORRT, LISTS, time_shares={"Conv": 0.4, "Strange": 0.6})
    assert (timed.leaves_share, timed.share_of) == (0.6, "time")


def test_without_operators_nothing_is_claimed():
    found = support(profile(), Target.OPENVINO, LISTS)
    assert found.answer is Answer.UNKNOWN
    assert found.leaves_share is None


def test_families_are_told_by_what_is_computed():
    assert family_of(RESNET) == "cnn"
    assert family_of(BERT) == "transformer encoder"
    assert family_of(LLAMA) == "transformer decoder"
    assert family_of(profile(transformer=transformer(decoder=False, patches=196))) == "vision transformer"
    assert family_of(profile(transformer=transformer(decoder=True, family="T5"))) == "encoder-decoder"
    assert family_of(profile(op(OpKind.RECURRENT, "LSTM"))) == "lstm"
    assert family_of(profile()) is None


@pytest.mark.parametrize(
    ("name", "listed"),
    [("aten::relu_", "Relu"), ("Conv", "aten::_convolution"), ("linear", "MatMul Add"), ("Attention", "bmm softmax")],
)
def test_an_operator_is_found_under_any_frameworks_name(name, listed):
    assert Listed(listed.split()).has(name)


@given(st.text(max_size=20))
def test_any_name_is_compared_and_an_empty_list_has_nothing(name):
    assert not Listed(()).has(name)


@given(st.lists(st.sampled_from(["Conv", "MatMul", "Relu", "Strange", "Add"]), min_size=1, unique=True))
def test_absence_from_a_list_never_becomes_a_no(names):
    model = profile(*(op(OpKind.OTHER, name) for name in names))
    for target in Target:
        assert support(model, target, ()).answer is Answer.UNKNOWN


def test_every_rule_has_a_name_of_its_own_and_a_source():
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.source for rule in RULES)


def test_the_shipped_lists_say_which_target_framework_and_licence_they_are_of():
    assert {item.target for item in LISTS} == set(Target) - {Target.TRAINIUM}
    for item in LISTS:
        assert len(item.operators) > 40
        assert ("CC-BY-SA" in item.licence) == item.target.startswith("inferentia")
