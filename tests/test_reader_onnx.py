from __future__ import annotations

import os
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import onnx_models as made
from brimful.model.errors import DataError
from brimful.model.work import OpCost, OpKind, Profile
from brimful.readers.onnx import OnnxReader
from brimful.readers.onnx.dims import computed
from brimful.readers.onnx.ops import RULES
from brimful.readers.onnx.reader import shapes_of
from brimful.testing import check_reader

READER = OnnxReader("")
PRODUCTS = {OpKind.CONV, OpKind.GROUPED, OpKind.MATMUL, OpKind.ATTENTION, OpKind.RECURRENT}


def read(folder: Path, pair: tuple[made.Builder, onnx.ModelProto], **dims: int) -> Profile:
    net, model = pair
    return READER.profile(net.write(folder, model), dims)


def one(
    op_type: str, shapes: list[Any], *, opset: int = 23, kind: int = TensorProto.FLOAT, outputs: int = 1, **given: Any
) -> tuple[made.Builder, onnx.ModelProto]:
    """Return a model of one node: a tuple is the shape of an input, a list that of a weight, an array a constant."""
    net, inputs, names = made.Builder(), {}, []
    for at, shape in enumerate(shapes):
        if isinstance(shape, tuple):
            inputs[f"in{at}"] = shape
            names.append(f"in{at}")
        elif isinstance(shape, list):
            names.append(net.weight(*shape, kind=kind))
        else:
            names.append("" if shape is None else net.numbers(shape, shape.dtype))
    out = net.op(op_type, *names, outputs=outputs, **given)
    model = net.model(inputs, [out] if isinstance(out, str) else out, opset=opset, others={"com.microsoft": 1})
    return net, model


def cost(folder: Path, *arguments: Any, **keywords: Any) -> OpCost:
    (found,) = read(folder, one(*arguments, **keywords)).ops
    return found


def why(folder: Path, data: bytes | tuple[made.Builder, onnx.ModelProto], **dims: int) -> str:
    path = folder / "model.onnx"
    path.write_bytes(data if isinstance(data, bytes) else data[1].SerializeToString())
    with pytest.raises(DataError) as caught:
        READER.profile(str(path), dims)
    assert caught.value.fix
    return f"{caught.value.why} / {caught.value.fix}"


def product_flops(profile: Profile) -> float:
    return sum(op.flops * op.ops_count for op in profile.ops if op.op in PRODUCTS)


# What a model costs


def test_resnet_50_has_the_operations_and_parameters_that_are_published_for_it(tmp_path):
    """Torchvision's table for resnet50 has 4.09 G multiply-adds and 25,557,032 parameters."""
    found = read(tmp_path, made.resnet50())
    assert product_flops(found) / 2e9 == pytest.approx(4.09, rel=0.001)
    assert found.parameters == 25_557_032 - 26_560  # a scale and a shift become one bias: one number less a channel
    assert found.weight_bytes == 4 * found.parameters
    assert (found.samples_count, found.dims) == (1, {"batch": 1})
    assert found.op_types == {
        "Add": 16, "Conv": 53, "Flatten": 1, "Gemm": 1, "GlobalAveragePool": 1, "MaxPool": 1, "Relu": 49,
    }  # fmt: skip
    assert len(found.ops) < sum(found.op_types.values()) / 2  # alike are counted together


def test_batch_scales_the_work_and_not_the_weights(tmp_path):
    once, eight = read(tmp_path, made.resnet50()), read(tmp_path, made.resnet50(), batch=8)
    assert (eight.samples_count, eight.pass_flops) == (8, 8 * once.pass_flops)
    assert (eight.parameters, eight.weight_bytes) == (once.parameters, once.weight_bytes)
    assert eight.activation_bytes == 8 * once.activation_bytes


def test_a_transformer_costs_what_its_measures_say(tmp_path):
    found = read(tmp_path, made.transformer(2, 64, 4, 100), batch=3, sequence=16)
    tokens, hidden, layers = 3 * 16, 64, 2
    weights = layers * 12 * hidden**2
    assert product_flops(found) == 2 * tokens * weights + layers * 4 * tokens * 16 * hidden
    assert found.parameters == weights + layers * (9 + 4) * hidden + 100 * hidden
    kinds = {op.op for op in found.ops}
    assert {OpKind.MATMUL, OpKind.ATTENTION, OpKind.SOFTMAX, OpKind.NORM, OpKind.GATHER} <= kinds
    assert not {"Shape", "Concat", "Unsqueeze"} & {op.op_type for op in found.ops}  # arithmetic on shapes is folded
    assert found.op_types["Shape"] == 16
    assert (found.dims, found.samples_count) == ({"batch": 3, "sequence": 16}, 3)


def test_a_recurrent_net_multiplies_its_weights_at_every_step(tmp_path):
    found = cost(tmp_path, "LSTM", [(20, 3, 64), [2, 512, 64], [2, 512, 128]], outputs=3, hidden_size=128,
                 direction="bidirectional")  # fmt: skip
    assert (found.op, found.flops) == (OpKind.RECURRENT, 2 * 20 * 3 * 2 * 512 * (64 + 128))
    assert found.weight_elements == 2 * 512 * (64 + 128)


@pytest.mark.parametrize(
    ("arguments", "kind", "flops", "weights"),
    [
        (("Conv", [(1, 8, 10, 10), [16, 8, 3, 3]]), OpKind.CONV, 2 * 16 * 64 * 72, 1152),
        (("Conv", [(1, 8, 10, 10), [8, 1, 3, 3]], {"group": 8}), OpKind.GROUPED, 2 * 8 * 64 * 9, 72),
        (("ConvTranspose", [(1, 8, 4, 4), [8, 6, 2, 2]], {"strides": [2, 2]}), OpKind.CONV, 2 * 128 * 6 * 4, 192),
        (("MatMul", [(5, 7, 8), [8, 9]]), OpKind.MATMUL, 2 * 35 * 72, 72),
        (("MatMul", [(5, 7, 8), (5, 8, 9)]), OpKind.ATTENTION, 2 * 35 * 72, 0),
        (("Gemm", [(7, 8), [9, 8], [9]], {"transB": 1}), OpKind.MATMUL, 2 * 7 * 72, 81),
        (("Einsum", [(2, 3, 4), [4, 5]], {"equation": "bsd,dh->bsh"}), OpKind.MATMUL, 2 * 6 * 20, 20),
        (("Einsum", [(2, 3, 4), (2, 5, 4)], {"equation": "...id,...jd->...ij"}), OpKind.ATTENTION, 2 * 2 * 15 * 4, 0),
        (("Attention", [(2, 4, 8, 16), (2, 4, 9, 16), (2, 4, 9, 16)]), OpKind.ATTENTION, 8 * 8 * 9 * (64 + 5), 0),
        (("Softmax", [(3, 4)]), OpKind.SOFTMAX, 60, 0),
        (("LayerNormalization", [(3, 4), [4], [4]]), OpKind.NORM, 60, 8),
        (("MaxPool", [(1, 2, 8, 8)], {"kernel_shape": [2, 2], "strides": [2, 2]}), OpKind.POOL, 32 * 4, 0),
        (("ReduceMean", [(3, 4)]), OpKind.REDUCE, 12, 0),
        (("Add", [(3, 4), [4]]), OpKind.ELEMENTWISE, 12, 4),
        (("Gelu", [(3, 4)]), OpKind.ELEMENTWISE, 60, 0),
        (("Transpose", [(3, 4)]), OpKind.COPY, 0, 0),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_each_kind_of_operation_costs_what_its_definition_says(tmp_path, arguments, kind, flops, weights):
    op_type, shapes, *given = arguments
    found = cost(tmp_path, op_type, shapes, **(given[0] if given else {}))
    assert (found.op, found.flops, found.weight_elements) == (kind, flops, weights)


@pytest.mark.parametrize(
    ("op_type", "shapes", "given", "result", "flops"),
    [
        ("FusedMatMul", [(2, 3, 4), (2, 5, 4)], {"transB": 1}, (2, 3, 5), 2 * 2 * 15 * 4),
        ("FusedConv", [(1, 3, 8, 8), [4, 3, 3, 3]], {"activation": "Relu"}, (1, 4, 6, 6), 2 * 144 * 27),
        ("Attention", [(2, 8, 32), [32, 96], [96]], {"num_heads": 4}, (2, 8, 32),
         2 * 16 * 32 * 96 + 2 * 2 * 4 * 64 * 16 + 5 * 2 * 4 * 64),
        ("MultiHeadAttention", [(2, 8, 32), (2, 9, 32), (2, 9, 32)], {"num_heads": 4}, (2, 8, 32),
         2 * 2 * 4 * 72 * 16 + 5 * 2 * 4 * 72),
        ("GroupQueryAttention", [(2, 1, 32), (2, 1, 16), (2, 1, 16), (2, 2, 7, 8), (2, 2, 7, 8)],
         {"num_heads": 4, "kv_num_heads": 2}, (2, 1, 32), 2 * 2 * 4 * 8 * 16 + 5 * 2 * 4 * 8),
        ("SkipLayerNormalization", [(2, 8, 32), (2, 8, 32), [32]], {}, (2, 8, 32), 6 * 512),
        ("BiasGelu", [(2, 8, 32), [32]], {}, (2, 8, 32), 6 * 512),
        ("RotaryEmbedding", [(2, 8, 32), (2, 8), [8, 4], [8, 4]], {}, (2, 8, 32), 3 * 512),
    ],
)  # fmt: skip
def test_onnx_runtimes_own_operations_are_known(tmp_path, op_type, shapes, given, result, flops):
    net, model = one(op_type, shapes, domain="com.microsoft", **given)
    path = net.write(tmp_path, model)
    profile = READER.profile(path)
    (found,) = profile.ops
    assert (found.op_type, found.flops, profile.unknown_ops) == (f"com.microsoft.{op_type}", flops, ())
    assert shapes_of(path)[model.graph.output[0].name] == result


SCALE, ZERO = np.array(0.1, np.float32), np.array(0, np.uint8)
MICROSOFT, LEARNED = "com.microsoft", "ai.onnx.ml"


@pytest.mark.parametrize(
    ("op_type", "domain", "shapes", "given", "results"),
    [
        ("QLinearAdd", MICROSOFT, [(2, 3), SCALE, ZERO, (3,), SCALE, ZERO, SCALE, ZERO], {}, [(2, 3)]),
        ("QLinearConcat", MICROSOFT, [SCALE, ZERO, (2, 3), SCALE, ZERO, (2, 4), SCALE, ZERO], {"axis": 1}, [(2, 7)]),
        ("QLinearSigmoid", MICROSOFT, [(2, 3), SCALE, ZERO, SCALE, ZERO], {}, [(2, 3)]),
        ("QLinearGlobalAveragePool", MICROSOFT, [(1, 4, 5, 5), SCALE, ZERO, SCALE, ZERO], {}, [(1, 4, 1, 1)]),
        ("QLinearAveragePool", MICROSOFT, [(1, 4, 6, 6), SCALE, ZERO, SCALE, ZERO], {"kernel_shape": [2, 2]},
         [(1, 4, 5, 5)]),
        ("QAttention", MICROSOFT, [(2, 8, 32), [32, 96], [96], SCALE, SCALE], {"num_heads": 4}, [(2, 8, 32)]),
        ("QGemm", MICROSOFT, [(2, 8), SCALE, ZERO, [8, 5], SCALE, ZERO, [5], SCALE, ZERO], {}, [(2, 5)]),
        ("DynamicQuantizeMatMul", MICROSOFT, [(2, 8), [8, 5], SCALE, ZERO], {}, [(2, 5)]),
        ("Attention", MICROSOFT, [(2, 8, 32), [32, 96], [96], None, (2, 2, 4, 7, 8)], {"num_heads": 4},
         [(2, 8, 32), (2, 2, 4, 15, 8)]),
        ("MultiHeadAttention", MICROSOFT, [(2, 8, 4, 3, 8)], {"num_heads": 4}, [(2, 8, 32)]),
        ("MultiHeadAttention", MICROSOFT,
         [(2, 1, 32), (2, 1, 32), (2, 1, 32), None, None, None, (2, 4, 7, 8), (2, 4, 7, 8)], {"num_heads": 4},
         [(2, 1, 32), (2, 4, 8, 8), (2, 4, 8, 8)]),
        ("GroupQueryAttention", MICROSOFT, [(2, 3, 64)], {"num_heads": 4, "kv_num_heads": 2},
         [(2, 3, 32), (2, 2, 3, 8), (2, 2, 3, 8)]),
        ("EmbedLayerNormalization", MICROSOFT, [(2, 8), None, [50, 32], [16, 32], None, [32], [32]], {},
         [(2, 8, 32), (2,), (2, 8, 32)]),
        ("SkipSimplifiedLayerNormalization", MICROSOFT, [(2, 8, 32), (2, 8, 32), [32]], {},
         [(2, 8, 32), (2, 8, 1), (2, 8, 1), (2, 8, 32)]),
        ("RelativePositionBias", MICROSOFT, [[32, 8], np.array(5), np.array(6)], {}, [(1, 8, 5, 6)]),
        ("MoE", MICROSOFT, [(2, 8, 32), (16, 4), [4, 64, 32], [4, 64], [4, 32, 64]], {"k": 2}, [(2, 8, 32)]),
        ("QMoE", MICROSOFT, [(2, 8, 32), (16, 4), [4, 64, 16], [4, 64], None, [4, 32, 32]], {"k": 2}, [(2, 8, 32)]),
        ("BiasSplitGelu", MICROSOFT, [(2, 8, 64), [64]], {}, [(2, 8, 32)]),
        ("GroupNorm", MICROSOFT, [(2, 8, 8, 32), [32], [32]], {"groups": 4}, [(2, 8, 8, 32)]),
        ("LinearClassifier", LEARNED, [(5, 4)], {"coefficients": [0.1] * 12, "classlabels_ints": [0, 1, 2]},
         [(5,), (5, 3)]),
        ("LinearRegressor", LEARNED, [(5, 4)], {"coefficients": [0.1] * 4}, [(5, 1)]),
        ("TreeEnsembleClassifier", LEARNED, [(5, 4)],
         {"nodes_treeids": [0, 0, 0, 1], "classlabels_strings": ["a", "b"]}, [(5,), (5, 2)]),
        ("TreeEnsembleRegressor", LEARNED, [(4,)], {"nodes_treeids": [0, 0, 0], "n_targets": 2}, [(1, 2)]),
        ("Scaler", LEARNED, [(5, 4)], {}, [(5, 4)]),
        ("LabelEncoder", LEARNED, [(5,)], {"values_floats": [0.5]}, [(5,)]),
        ("ArrayFeatureExtractor", LEARNED, [(5, 4), np.array([1, 2])], {}, [(5, 2)]),
        ("FeatureVectorizer", LEARNED, [(5, 4), (5, 3)], {}, [(5, 7)]),
        ("OneHotEncoder", LEARNED, [(5, 4)], {"cats_int64s": [1, 2, 3]}, [(5, 4, 3)]),
        ("ZipMap", LEARNED, [(5, 4)], {}, [(5, 4)]),
    ],
)  # fmt: skip
def test_the_shapes_of_operations_that_onnx_does_not_test(tmp_path, op_type, domain, shapes, given, results):
    pair = one(op_type, shapes, domain=domain, outputs=len(results), **given)
    pair[1].opset_import.add(domain=LEARNED, version=3)
    path = pair[0].write(tmp_path, pair[1])
    found = shapes_of(path)
    assert [found[item.name] for item in pair[1].graph.output] == results
    profile = READER.profile(path)
    assert (profile.unknown_ops, profile.dynamic) == ((), ())


def test_of_experts_only_those_that_tokens_are_sent_to_are_computed(tmp_path):
    shapes = [(1, 1, 32), (1, 8), [8, 64, 32], [8, 64], [8, 32, 64]]
    found = cost(tmp_path, "MoE", shapes, domain=MICROSOFT, k=2)
    assert (found.flops, found.weight_elements) == (2 * 2 * 2 * 64 * 32, 2 * 2 * 64 * 32)


def test_weights_of_four_bits_in_blocks_are_counted_one_by_one(tmp_path):
    pair = one("MatMulNBits", [(3, 64), np.zeros((32, 2, 16), np.uint8), [64]], domain="com.microsoft", K=64, N=32,
               bits=4, block_size=32)  # fmt: skip
    profile = read(tmp_path, pair)
    (found,) = profile.ops
    assert (found.flops, found.weight_elements, found.weight_bits) == (2 * 3 * 64 * 32, 2048, 4)
    assert (profile.parameters, profile.weight_bytes) == (2048, 1024 + 64 * 4)


@pytest.mark.parametrize("make", [made.quantized_qdq, made.quantized_operators])
def test_a_quantised_graph_is_known_as_one_of_eight_bits(tmp_path, make):
    found = read(tmp_path, make())
    bits = {op.op_type: op.weight_bits for op in found.ops if op.op in PRODUCTS}
    assert set(bits.values()) == {8}
    assert product_flops(found) == 2 * 8 * 16 * 27 + 2 * 128 * 10
    assert found.weight_types == {"int32": 8, "int8": 216 + 1280}
    assert found.parameters == 1504  # and no scales, no zero points
    assert found.weight_bytes - (1496 + 4 * 8) in range(1, 20)


def test_weights_stored_in_half_say_so_and_plain_ones_leave_it_open(tmp_path):
    half = cost(tmp_path, "MatMul", [(3, 4), [4, 5]], kind=TensorProto.FLOAT16)
    plain = cost(tmp_path, "MatMul", [(3, 4), [4, 5]])
    assert (half.weight_bits, plain.weight_bits) == (16, None)


def test_of_a_table_only_the_rows_that_are_taken_are_read(tmp_path):
    net = made.Builder()
    model = net.model({"ids": (2, 3)}, [net.op("Gather", net.weight(1000, 8), "ids")], kinds={"ids": 7})
    found = read(tmp_path, (net, model))
    (op,) = found.ops
    assert (op.op, op.weight_elements, op.read_elements, op.write_elements) == (OpKind.GATHER, 48, 6, 48)
    assert found.parameters == 8000


def test_running_statistics_scales_and_single_numbers_are_no_parameters(tmp_path):
    net = made.Builder()
    value = net.op("BatchNormalization", "x", *(net.weight(8) for _ in range(4)))
    value = net.op("Mul", value, net.numbers(0.5, np.float32))
    found = read(tmp_path, (net, net.model({"x": (1, 8, 4, 4)}, [value])))
    assert (found.parameters, found.weight_bytes) == (16, 4 * 33)


def test_memory_is_the_most_that_is_alive_at_once_and_views_take_none(tmp_path):
    net = made.Builder()
    wide = net.op("Relu", net.op("Flatten", net.op("Concat", "x", "x", axis=1)))
    model = net.model({"x": (2, 10)}, [net.op("ReduceSum", wide)])
    assert read(tmp_path, (net, model)).activation_bytes == 4 * (40 + 40)  # x is done with when Relu runs


def test_weights_that_pass_through_shapes_casts_and_transposes_are_weights_still(tmp_path):
    net = made.Builder()
    weights = net.op("Transpose", net.op("Reshape", net.weight(32, kind=TensorProto.FLOAT16), net.numbers([8, 4])))
    weights = net.op("Cast", net.op("Identity", weights), to=TensorProto.FLOAT)
    found = read(tmp_path, (net, net.model({"x": (3, 4)}, [net.op("MatMul", "x", weights)])))
    (op,) = found.ops
    assert (op.op, op.weight_elements, op.weight_bits, found.parameters) == (OpKind.MATMUL, 32, 16, 32)
    assert found.op_types == {"Cast": 1, "Identity": 1, "MatMul": 1, "Reshape": 1, "Transpose": 1}


# Branches, loops, functions, what is not known


def test_a_branch_that_depends_on_the_input_is_the_costlier_one_and_is_said_to_be(tmp_path):
    found = read(tmp_path, made.branch())
    assert product_flops(found) == 32
    assert "which branch it takes depends on the input" in found.dynamic[0]
    for folded, flops in ((True, 32), (False, 4)):
        found = read(tmp_path, made.branch(folded=folded))
        assert (found.pass_flops, found.dynamic) == (flops, ())


def test_a_loop_counts_as_often_as_it_is_known_to_run(tmp_path):
    found = read(tmp_path, made.loop(5))
    assert (product_flops(found), found.dynamic) == (5 * 32, ())
    assert found.op_types["MatMul"] == 1
    path = tmp_path / "model.onnx"
    assert shapes_of(str(path))[onnx.load(path).graph.output[1].name] == (5, 1, 4)
    unknown = read(tmp_path, made.loop(None))
    assert product_flops(unknown) == 32
    assert "how often it loops depends on the input" in unknown.dynamic[0]


def test_functions_of_the_models_own_are_run_through(tmp_path):
    found = read(tmp_path, made.function(), batch=2)
    assert found.op_types == {"LeakyRelu": 1, "MatMul": 1, "Relu": 1}
    assert found.unknown_ops == ()


def test_an_unknown_operation_is_counted_and_its_shape_taken_from_where_it_stands(tmp_path):
    net = made.Builder()
    value = net.op("Strange", "x", domain="my.ops")
    model = net.model({"x": ("batch", 4)}, [net.op("MatMul", value, net.weight(6, 2))], others={"my.ops": 1})
    model.graph.value_info.append(made.info(value, ("batch", 6)))
    found = read(tmp_path, (net, model), batch=5)
    assert (found.unknown_ops, found.dynamic) == (("my.ops.Strange",), ())
    assert product_flops(found) == 2 * 5 * 12
    (op,) = (op for op in found.ops if op.op is OpKind.UNKNOWN)
    assert (op.read_elements, op.write_elements) == (20, 30)
    del model.graph.value_info[:]
    found = read(tmp_path, (net, model), batch=5)
    assert "its result's shape is not known" in found.dynamic[0]


@pytest.mark.parametrize(
    ("op_type", "shapes", "keywords", "result"),
    [
        ("NonZero", [(2, 3)], {}, (2, 6)),
        ("NonMaxSuppression", [(1, 50, 4), (1, 3, 50), np.array(10)], {}, (30, 3)),
        ("Compress", [(4, 5), (4,)], {"axis": 0}, (4, 5)),
        ("TopK", [(4, 5), (1,)], {"outputs": 2}, (4, 5)),
        ("Reshape", [(4, 5), (3,)], {}, (1, 1, 20)),
        ("Expand", [(4, 5), (2,)], {}, (4, 5)),
        ("Slice", [(4, 5), (1,), (1,)], {}, (4, 5)),
    ],
)
def test_what_depends_on_values_is_bounded_and_named(tmp_path, op_type, shapes, keywords, result):
    net, model = one(op_type, shapes, **keywords)
    path = net.write(tmp_path, model)
    assert shapes_of(path)[model.graph.output[0].name] == result
    (note,) = READER.profile(path).dynamic
    assert op_type in note


def test_a_computed_shape_is_taken_from_what_the_file_declares_as_far_as_it_goes(tmp_path):
    for op_type, target in (("Reshape", (3,)), ("Expand", (3,)), ("Tile", (3,)), ("Pad", (6,)), ("Resize", None)):
        shapes = [(2, 4, 5), None, None, (3,)] if target is None else [(2, 4, 5), target]
        net, model = one(op_type, shapes)
        name = model.graph.output[0].name
        declared = (2, None, 10) if op_type == "Reshape" else (2, 4, 10)
        model.graph.output[0].CopyFrom(made.info(name, declared))
        path = net.write(tmp_path, model)
        assert shapes_of(path)[name] == ((2, 2, 10) if op_type == "Reshape" else declared)
        assert len(READER.profile(path).dynamic) == 1


def test_constants_of_every_form_are_shapes_that_can_be_computed_with(tmp_path):
    forms = [
        {"value_ints": [6, 2]},
        {"value": made.tensor([6, 2])},
        {"value": helper.make_tensor("", TensorProto.INT64, [2], [6, 2])},
        {"value": helper.make_tensor("", TensorProto.INT32, [2], [6, 2])},
    ]
    for form in forms:
        net = made.Builder()
        value = net.op("Cast", net.op("Constant", **form), to=TensorProto.INT64)
        path = net.write(tmp_path, net.model({"x": (3, 4)}, [net.op("Reshape", "x", value)]))
        assert next(reversed(shapes_of(path).values())) == (6, 2)
    halves = [
        helper.make_tensor("", TensorProto.FLOAT16, [2], np.array([3, 0.5], np.float16)),
        helper.make_tensor("", TensorProto.DOUBLE, [2], [3.0, 0.5]),
        helper.make_tensor("", TensorProto.FLOAT, [2], [3.0, 0.5]),
    ]
    for half in halves:
        net = made.Builder()
        value = net.op("Resize", "x", "", net.op("Constant", value=half))
        path = net.write(tmp_path, net.model({"x": (3, 4)}, [value]))
        assert shapes_of(path)[value] == (9, 2)


def test_a_sparse_weight_is_as_large_as_what_it_stands_for_and_as_small_as_it_is_stored(tmp_path):
    net = made.Builder()
    model = net.model({"x": (3, 4)}, [net.op("MatMul", "x", "sparse")])
    values = made.tensor([1.0, 2.0, 3.0], np.float32, "sparse")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, made.tensor([0, 5, 9]), [4, 5]))
    found = read(tmp_path, (net, model))
    assert (product_flops(found), found.parameters, found.weight_bytes) == (120, 20, 12)


def test_sequences_are_followed(tmp_path):
    net = made.Builder()
    parts = net.op("SplitToSequence", "x", net.numbers([1, 3]), axis=1)
    length = net.op("SequenceLength", parts)
    second = net.op("SequenceAt", parts, net.op("Sub", length, net.numbers(1)))
    joined = net.op("ConcatFromSequence", net.op("SequenceInsert", parts, second), axis=1)
    path = net.write(tmp_path, net.model({"x": (2, 4)}, [second, joined]))
    assert (shapes_of(path)[second], shapes_of(path)[joined]) == ((2, 3), (2, 7))


# Sizes that are open


def test_a_size_that_is_called_like_a_batch_is_bound_to_one_and_the_rest_must_be_given(tmp_path):
    text = why(tmp_path, made.transformer(1))
    assert "sequence (ids[1])" in text
    assert "--dim sequence=1" in text
    assert "batch" not in text
    net = made.Builder()
    shapes = {"a": (None, 4), "b": ("unk__7", 4), "c": ("batch_size", 4)}
    model = net.model(shapes, [net.op("Sum", "a", "b", "c")])
    assert read(tmp_path, (net, model)).dims == {"a_0": 1, "batch_size": 1, "unk__7": 1}
    assert read(tmp_path, (net, model), batch=8).samples_count == 8  # one word for all of them


def test_the_batch_is_found_under_a_name_that_looks_like_a_sum_and_not_within_one(tmp_path):
    net = made.Builder()
    model = net.model({"x": ("batch-size", 4)}, [net.op("Relu", "x")])
    assert read(tmp_path, (net, model), batch=8).dims == {"batch-size": 8}
    net = made.Builder()
    model = net.model({"x": ("batch * heads", 4)}, [net.op("Relu", "x")])
    found = read(tmp_path, (net, model), batch=8, heads=2)
    assert (found.pass_flops, found.dims) == (64, {"batch": 8, "heads": 2})


def test_a_pool_that_rounds_up_may_be_wider_than_its_input(tmp_path):
    """As Hugging Face's EfficientNet has it: a window of 1280 over 7 x 7."""
    given = {"kernel_shape": [1280, 1280], "strides": [1280, 1280], "ceil_mode": 1}
    net, model = one("AveragePool", [(1, 8, 7, 7)], **given)
    path = net.write(tmp_path, model)
    assert shapes_of(path)[model.graph.output[0].name] == (1, 8, 1, 1)
    assert READER.profile(path).pass_flops == 8 * 49
    assert "window of 1280 does not fit" in why(tmp_path, one("AveragePool", [(1, 8, 7, 7)], kernel_shape=[1280, 1280]))


def test_sizes_without_names_are_called_after_input_and_axis(tmp_path):
    net = made.Builder()
    model = net.model({"x": (2, None, -1)}, [net.op("Relu", "x")])
    text = why(tmp_path, (net, model))
    assert "--dim x_1=1 --dim x_2=1" in text
    found = read(tmp_path, (net, model), x_1=3, x_2=5)
    assert (found.pass_flops, found.dims) == (30, {"x_1": 3, "x_2": 5})
    assert "fixed to 2" in why(tmp_path, (net, model), x_0=3)


def test_a_size_that_is_a_sum_of_others_is_computed(tmp_path):
    net = made.Builder()
    shapes = {"ids": ("batch", "seq"), "cache": ("batch", "past"), "mask": ("batch", "past + seq")}
    joined = net.op("Concat", "cache", "ids", axis=1)
    model = net.model(shapes, [net.op("Mul", joined, "mask")])
    found = read(tmp_path, (net, model), seq=2, past=5)
    assert (found.pass_flops, found.dims) == (7, {"batch": 1, "past": 5, "seq": 2})
    text = why(tmp_path, (net, model), seq=2)
    assert "--dim past=1" in text


def test_a_name_that_the_model_does_not_have_is_refused_with_the_nearest(tmp_path):
    assert "did you mean --dim sequence?" in why(tmp_path, made.transformer(1), sequenc=3)
    assert "no open size called 'height'" in why(tmp_path, made.transformer(1), height=3)
    assert "which no size can be" in why(tmp_path, made.transformer(1), sequence=0)
    net = made.Builder()
    assert "all are fixed" in why(tmp_path, (net, net.model({"x": (2,)}, [net.op("Relu", "x")])), depth=3)


def test_sizes_that_contradict_one_another_are_refused_with_the_node(tmp_path):
    net = made.Builder()
    model = net.model({"a": ("n", "left"), "b": ("right", "m")}, [net.op("MatMul", "a", "b")])
    text = why(tmp_path, (net, model), left=3, right=4, m=5)
    assert "/MatMul_1 (MatMul) does not fit" in text
    assert "--dim" in text


@given(
    st.recursive(
        st.integers(0, 99).map(str) | st.sampled_from("abc"),
        lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "//"]), inner).map(lambda t: f"({' '.join(t)})"),
        max_leaves=6,
    )
)
def test_sums_of_sizes_are_what_python_makes_of_them(text):
    known = {"a": 3, "b": 5, "c": 7}
    try:
        expected = eval(text, {}, known)  # noqa: S307 - the text is made of numbers, names and signs
    except ZeroDivisionError:
        expected = -1
    found = computed(text, known)
    assert found in (None, expected)
    assert found is not None or expected < 0 or expected > 2**40 or "//" in text or "*" in text


# Files


def test_two_gigabytes_of_weights_are_measured_and_not_read(tmp_path):
    net, model = made.transformer(10, 2048, 16, 32000, "weights.bin")
    path = net.write(tmp_path, model)
    tracemalloc.start()
    found = READER.profile(path, {"sequence": 8})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.weight_bytes > 2 * 10**9
    assert peak < 20 * 2**20


def test_weights_within_the_file_are_skipped(tmp_path):
    net = made.Builder()
    model = net.model({"x": (1, 4)}, [net.op("MatMul", "x", "huge")])
    size = 2**20 * 1024
    head = TensorProto(name="huge", data_type=1, dims=(4, size // 16)).SerializeToString()
    raw = b"\x4a" + _varint(size)  # field 9, raw_data
    tail = b"\x2a" + _varint(len(head) + len(raw) + size) + head + raw
    graph = model.graph.SerializeToString()
    model.ClearField("graph")
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.write(model.SerializeToString() + b"\x3a" + _varint(len(graph) + len(tail) + size) + graph + tail)
        os.truncate(file.fileno(), file.tell() + size)
    found = READER.profile(str(path))
    assert (found.parameters, found.weight_bytes) == (size // 4, size)


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def test_missing_or_short_weights_beside_the_model_are_named(tmp_path):
    net, model = made.resnet50()
    assert "'weights.bin', which cannot be read beside the model" in why(tmp_path, (net, model))
    (tmp_path / "weights.bin").write_bytes(bytes(100))
    text = why(tmp_path, (net, model))
    assert "'weight_1' ends at byte 37,632 of 'weights.bin', which has 100" in text
    assert "shorter than the model says" in text
    for place in ("../weights.bin", "/etc/passwd", "", "a\0b"):
        model.graph.initializer[0].external_data[0].value = place
        assert "no file beside the model" in why(tmp_path, (net, model))
    model.graph.initializer[0].external_data[0].value = "weights.bin"
    model.graph.initializer[0].external_data[1].value = "-1"
    assert "where a number belongs" in why(tmp_path, (net, model))


def test_a_shape_that_lies_beside_the_model_is_read(tmp_path):
    net = made.Builder()
    model = net.model({"x": (2, 6)}, [net.op("Reshape", "x", net.numbers([3, 4]))])
    target = model.graph.initializer[0]
    (tmp_path / "shapes.bin").write_bytes(target.raw_data)
    target.ClearField("raw_data")
    target.data_location = TensorProto.EXTERNAL
    target.external_data.add(key="location", value="shapes.bin")
    path = net.write(tmp_path, model)
    assert shapes_of(path)[model.graph.output[0].name] == (3, 4)


def test_a_file_is_known_by_its_name_or_its_first_bytes(tmp_path):
    net, model = made.conv_net()
    path = Path(net.write(tmp_path, model, "model.bin"))
    assert READER.reads(str(path))
    assert READER.profile(str(path)).model == "model.bin"
    for data in (b"", b"PK\x03\x04", b"{}", b"\x08\0\0\0\0\0\0\0{"):
        path.write_bytes(data)
        assert not READER.reads(str(path))
    path.rename(tmp_path / "x.onnx")
    assert READER.reads(str(tmp_path / "x.onnx"))
    assert not READER.reads(str(tmp_path))
    assert not READER.reads("nul\0")


def test_the_onnx_reader_keeps_the_promises_of_a_reader(tmp_path):
    net, model = made.conv_net()
    foreign = tmp_path / "model.safetensors"
    foreign.write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    path = net.write(tmp_path, model)
    check_reader(lambda: READER, knows=path, foreign=str(foreign), reads_at_most=2 * len(model.SerializeToString()))
    net, model = made.resnet50()
    path = net.write(tmp_path, model)
    check_reader(lambda: READER, knows=path, foreign=str(foreign), reads_at_most=200_000)


# Bad files


def nested(depth: int) -> bytes:
    """Return graphs within graphs, deeper than protobuf's own parsers go."""
    graph = b""
    for _ in range(depth):
        attribute = b"\x0a\x0bthen_branch\x32" + _varint(len(graph)) + graph + b"\xa0\x01\x05"
        node = b"\x22\x02If\x2a" + _varint(len(attribute)) + attribute
        graph = b"\x0a" + _varint(len(node)) + node
    return b"\x08\x09\x3a" + _varint(len(graph)) + graph


def circle() -> tuple[made.Builder, onnx.ModelProto]:
    net = made.Builder()
    net.nodes.append(helper.make_node("Add", ["x", "b"], ["a"]))
    net.nodes.append(helper.make_node("Relu", ["a"], ["b"], "second"))
    return net, net.model({"x": (1, 2)}, ["b"])


def twice_named() -> tuple[made.Builder, onnx.ModelProto]:
    net = made.Builder()
    net.nodes += [helper.make_node("Relu", ["x"], ["y"]) for _ in range(2)]
    return net, net.model({"x": (1, 2)}, ["y"])


def huge(*shape: int, op: str = "Relu") -> tuple[made.Builder, onnx.ModelProto]:
    net = made.Builder()
    return net, net.model({"x": shape}, [net.op(op, "x")])


def laughing() -> tuple[made.Builder, onnx.ModelProto]:
    """Return functions that call the next one ten times each, twelve deep."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("l", 1)]
    functions = []
    for level in range(12):
        inner = f"F{level + 1}" if level < 11 else "Relu"
        domain = "l" if level < 11 else ""
        nodes = [helper.make_node(inner, [f"v{at}"], [f"v{at + 1}"], domain=domain) for at in range(10)]
        functions.append(helper.make_function("l", f"F{level}", ["v0"], ["v10"], nodes, opsets))
    net = made.Builder()
    return net, net.model({"x": (1, 2)}, [net.op("F0", "x", domain="l")], functions=functions, others={"l": 1})


def million() -> bytes:
    node = helper.make_node("Relu", ["x"], ["y"]).SerializeToString()
    graph = (b"\x0a" + _varint(len(node)) + node) * 1_000_000
    return b"\x08\x09\x3a" + _varint(len(graph)) + graph


GOOD = made.conv_net()[1].SerializeToString()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: b"", "it is empty"),
        (lambda: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull"),
        (lambda: b"\x20\0\0\0TFL3" + bytes(50), "TensorFlow Lite"),
        (lambda: b"\x80\x04\x95" + bytes(50), "pickle"),
        (lambda: b"PK\x03\x04" + bytes(50), "ZIP"),
        (lambda: b"<!doctype html>", "web page"),
        (lambda: b"\x08\x09", "it has no graph"),
        (lambda: b"\x08\x09\x3a\x00", "its graph is empty"),
        (lambda: GOOD[:-9], "reach past its end"),
        (lambda: b"\x3a" + b"\xff" * 9 + b"\x01", "reach past its end"),
        (lambda: b"\x3a" + b"\xff" * 12, "more than ten bytes"),
        (lambda: b"\x3a", "is cut off"),
        (lambda: b"\x0b" * 40, "wire type 3"),
        (lambda: b"\x3a\x02\x0a\x7f", "reach past its end"),
        (lambda: b"\x38\x07", "has the wire type 0"),
        (lambda: nested(5000), "nested more than"),
        (circle, "goes in a circle, through the node"),
        (twice_named, "is given by two nodes"),
        (lambda: huge(-5, 2), "is -5, which no size can be"),
        (lambda: huge(2**50), "which no size can be"),
        (lambda: huge(2**32, 2**32), "larger than any memory"),
        (lambda: huge(*[1] * 65), "65 dimensions"),
        (lambda: made.function("Twice", "Twice"), "without end"),
        (laughing, "come to more than"),
        (million, "more than 200,000 nodes"),
        (lambda: GOOD[:-3] + b"\xff\xff\xff", "a number is cut off"),
        (lambda: one("Concat", [(1, 2), (1, 3, 2)], axis=0), "do not join"),
        (lambda: one("Reshape", [(1, 2), np.array([3])]), "does not become [3]"),
        (lambda: one("Conv", [(1, 2, 3), [4, 3, 3]]), "2 channels do not fit"),
        (lambda: one("Unsqueeze", [(1, 2), np.zeros(90, np.int64)]), "92 dimensions"),
        (lambda: one("Expand", [(1,), np.array([2**40, 2**40])]), "larger than any memory"),
        (lambda: one("Softmax", []), "its input 0 is missing"),
        (lambda: one("Softmax", [(2,)], axis=1.5), None),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)  # fmt: skip
def test_a_file_that_is_not_sound_is_refused_with_the_reason(tmp_path, make, text):
    if text is None:
        assert read(tmp_path, make()).pass_flops == 10  # an attribute that nothing depends on is not looked at
        return
    assert text in why(tmp_path, make())


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "model.onnx")
    with pytest.raises(DataError, match="cannot be read"):
        READER.profile(str(tmp_path / "model.onnx"))


def test_tensors_that_hold_more_or_less_than_their_shape_says_are_refused(tmp_path):
    for change in (
        {"raw_data": bytes(7)},
        {"float_data": [1.0]},
        {"int64_data": [1]},
        {"dims": [-1]},
        {"dims": [9] * 70},
    ):
        net, model = one("Add", [(2,), np.array([1.0, 2.0], np.float32)])
        target = model.graph.initializer[0]
        for field, value in change.items():
            if field != "dims":
                target.ClearField("raw_data")
            target.ClearField(field)
            setattr(target, field, value) if field == "raw_data" else getattr(target, field).extend(value)
        why(tmp_path, (net, model))


def test_nodes_out_of_order_are_put_in_order(tmp_path):
    net, model = made.conv_net()
    expected = read(tmp_path, (net, model))
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    found = read(tmp_path, (net, model))
    assert (found.pass_flops, found.parameters) == (expected.pass_flops, expected.parameters)


SMALL = [
    make()[1].SerializeToString()
    for make in (
        made.conv_net, made.quantized_qdq, made.quantized_operators, made.branch, made.loop, made.function, circle,
        lambda: made.transformer(1, 8, 2, 4),
    )
]  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    data = bytearray(draw(st.sampled_from(SMALL)))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(data)))
        junk = draw(st.binary(max_size=8) | st.sampled_from([b"\xff" * 10, b"\x7f", b"\0", b"\x01", b"\x80\x01"]))
        data[at : at + draw(st.integers(0, 8))] = junk
    return bytes(data)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=damaged() | st.binary(max_size=200) | st.binary(max_size=60).map(lambda junk: b"\x08\x09\x3a" + junk))
def test_any_bytes_are_a_profile_or_an_error_for_people(tmp_path, data):
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    try:
        found = READER.profile(str(path), {"sequence": 4} if b"sequence" in data else None)
    except DataError:
        return
    assert found.pass_flops >= 0
    assert found.weight_bytes <= 20_000 * len(data)


NAMES = (
    "axis", "axes", "perm", "pads", "strides", "dilations", "kernel_shape", "group", "keepdims", "to", "num_heads",
    "kv_num_heads", "q_num_heads", "hidden_size", "equation", "mode", "split", "num_outputs", "K", "N", "bits", "k",
    "blocksize", "transA", "transB", "dtype", "shape", "scales", "sizes", "output_shape", "output_padding", "auto_pad",
    "ceil_mode", "starts", "ends", "repeats", "batch_dims", "onesided", "inverse", "direction", "layout", "value_ints",
    "qkv_hidden_sizes", "nodes_treeids", "classlabels_ints", "coefficients", "num_scan_inputs",
    "keep_aspect_ratio_policy",
)  # fmt: skip
VALUES = (
    st.integers(-3, 9)
    | st.sampled_from([2**31, -(2**63), 2**63 - 1])
    | st.lists(st.integers(-2, 5), min_size=1, max_size=5)
    | st.floats(width=32)
    | st.sampled_from(["SAME_UPPER", "VALID", "ij,jk->ik", "...i->i", "linear", "bidirectional", "not_larger", ""])
)
INPUTS = (
    st.lists(st.integers(0, 4), max_size=5).map(tuple)
    | st.lists(st.integers(0, 4), max_size=4)
    | st.lists(st.integers(-3, 6), max_size=4).map(lambda values: np.array(values, np.int64))
    | st.sampled_from(
        [None, np.array(2), np.array(-(2**63)), np.array([2.5, 0.5], np.float32), np.array(np.inf), 2**40]
    )
).map(lambda value: (value,) if isinstance(value, int) else value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(
    op=st.sampled_from(
        [(domain, name) for domain, table in RULES.items() for name in table] + [("", "Loop"), ("", "If")]
    ),
    shapes=st.lists(INPUTS, max_size=7),
    given_=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4),
    opset=st.sampled_from([1, 6, 9, 13, 23]),
    outputs=st.integers(1, 4),
)
def test_any_operation_on_anything_is_a_profile_or_an_error_for_people(tmp_path, op, shapes, given_, opset, outputs):
    net, model = one(op[1], shapes, domain=op[0], opset=opset, outputs=outputs, **given_)
    path = net.write(tmp_path, model)
    try:
        found = READER.profile(path)
    except DataError:
        return
    assert found.pass_flops >= 0


# Against ONNX itself


def cases() -> list[Any]:
    """Return ONNX's own tests of every operation: models, inputs and outputs (they ship within the package)."""
    from onnx.backend.test.case.node import collect_testcases  # noqa: PLC0415 - it takes a second

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with np.errstate(all="ignore"):
            return [case for case in collect_testcases() if case.data_sets]


# Operations of whose rules there is none; their tests are profiled, and their shapes not compared.
NO_RULE = (
    "Adagrad", "Adam", "CastMap", "CategoryMapper", "DictVectorizer", "FlexAttention", "Gradient", "ImageDecoder",
    "LinearAttention", "Momentum", "StringNormalizer", "StringSplit", "TfIdfVectorizer", "TreeEnsemble",
)  # fmt: skip


def baked(case: Any) -> onnx.ModelProto:
    """Return a case's model with all inputs but the first as constants, and nothing declared of what comes out."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    stored = {item.name for item in model.graph.initializer}
    inputs = [item for item in model.graph.input if item.name not in stored]
    del model.graph.input[:], model.graph.value_info[:]
    for at, (item, value) in enumerate(zip(inputs, case.data_sets[0][0], strict=False)):
        plain = isinstance(value, np.ndarray | np.generic) and item.type.HasField("tensor_type")
        if not plain:
            model.graph.input.append(item)
        elif at and value.size <= 64:
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), item.name))
        else:
            shape = list(np.asarray(value).shape)
            model.graph.input.append(made.info(item.name, shape, item.type.tensor_type.elem_type))
    for item in model.graph.output:
        if item.type.HasField("tensor_type"):
            item.type.tensor_type.ClearField("shape")
    return model


def test_shapes_are_those_of_onnxs_own_tests_of_every_operation(tmp_path):
    path = tmp_path / "model.onnx"
    compared = wrong = refused = 0
    for case in cases():
        model = baked(case)
        path.write_bytes(model.SerializeToString())
        try:
            shapes, profile = shapes_of(str(path)), READER.profile(str(path))
        except DataError:
            refused += 1
            continue
        assert all(name.rpartition(".")[2] in NO_RULE for name in profile.unknown_ops), profile.unknown_ops
        if profile.unknown_ops or profile.dynamic:
            continue
        for item, value in zip(model.graph.output, case.data_sets[0][1], strict=False):
            if isinstance(value, np.ndarray | np.generic) and item.name in shapes:
                compared += 1
                wrong += shapes[item.name] != np.asarray(value).shape
    assert wrong == 0
    assert compared > 1000
    assert refused <= 12  # sequences of values of open sizes, and Scan as of opset 8


def test_every_model_that_onnx_ships_is_read():
    """The figures are the GFLOPS (multiply-adds) of torchvision's table of weights for the same nets."""
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data"
    known = {"light_resnet50": 4.09, "light_vgg19": 19.63, "light_densenet121": 2.83, "light_squeezenet": 0.35}
    for path in sorted(folder.glob("light/*.onnx")) + sorted(folder.glob("*/*/model.onnx")):
        found = READER.profile(str(path))
        if path.stem in known:
            assert product_flops(found) / 2e9 == pytest.approx(known[path.stem], rel=0.01)


@pytest.mark.parametrize(
    "make", [made.conv_net, made.transformer, made.quantized_qdq, made.quantized_operators, made.loop]
)
def test_every_value_has_the_shape_that_onnx_runtime_gives_it(tmp_path, make):
    net, model = make()
    dims = {"batch": 2, "sequence": 5} if make is made.transformer else {"N" if make is made.conv_net else "batch": 2}
    path = net.write(tmp_path, model)
    shapes = shapes_of(path, dims)
    names = [name for node in model.graph.node for name in node.output]
    feed = {}
    for item in model.graph.input:
        kind = helper.tensor_dtype_to_np_dtype(item.type.tensor_type.elem_type)
        sizes = [dims.get(dim.dim_param, dim.dim_value) for dim in item.type.tensor_type.shape.dim]
        feed[item.name] = np.zeros(sizes, kind)
    declared = {item.name for item in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in declared)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for name, value in zip(names, session.run(names, feed), strict=True):
        assert shapes[name] == value.shape, name
