"""Small ONNX models for tests and benchmarks, made with onnx.helper. Weights are zeros, or holes in a file beside."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Dim = int | str | None


class Builder:
    """Collects nodes and weights, and makes a model of them."""

    def __init__(self, holes: str = "") -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._holes = holes
        self._size = 0
        self._count = 0

    def op(self, op_type: str, *inputs: str, domain: str = "", outputs: int | Sequence[str] = 1, **attributes: Any):
        """Add a node, and return its output, or its outputs when there are several."""
        self._count += 1
        if isinstance(outputs, int):
            outputs = [f"{op_type.lower()}_{self._count}_{at}" for at in range(outputs)]
        name = f"/{op_type}_{self._count}"
        self.nodes.append(helper.make_node(op_type, list(inputs), list(outputs), name, domain=domain, **attributes))
        return outputs[0] if len(outputs) == 1 else outputs

    def weight(self, *shape: int, kind: int = TensorProto.FLOAT) -> str:
        """Add a weight, of zeros or a hole."""
        self._count += 1
        name = f"weight_{self._count}"
        if self._holes:
            tensor = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
            size = int(np.prod(shape)) * helper.tensor_dtype_to_np_dtype(kind).itemsize
            for key, value in (("location", self._holes), ("offset", self._size), ("length", size)):
                tensor.external_data.add(key=key, value=str(value))
            self._size += size
        else:
            tensor = numpy_helper.from_array(np.zeros(shape, helper.tensor_dtype_to_np_dtype(kind)), name)
        self.weights.append(tensor)
        return name

    def numbers(self, values: Any, kind: Any = np.int64) -> str:
        """Add a small constant whose values matter."""
        self._count += 1
        name = f"numbers_{self._count}"
        self.weights.append(numpy_helper.from_array(np.array(values, kind), name))
        return name

    def model(
        self,
        inputs: dict[str, Sequence[Dim]],
        outputs: Sequence[str],
        *,
        kinds: dict[str, int] | None = None,
        opset: int = 17,
        functions: Sequence[onnx.FunctionProto] = (),
        others: dict[str, int] | None = None,
    ) -> onnx.ModelProto:
        """Return the model; outputs are declared without shapes, so that nothing can be copied from there."""
        kinds = kinds or {}
        graph = helper.make_graph(
            self.nodes,
            "made",
            [info(name, shape, kinds.get(name, TensorProto.FLOAT)) for name, shape in inputs.items()],
            [info(name, None, kinds.get(name, TensorProto.FLOAT)) for name in outputs],
            self.weights,
        )
        opsets = [helper.make_opsetid("", opset)]
        opsets += [helper.make_opsetid(domain, version) for domain, version in (others or {}).items()]
        return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=9)

    def write(self, folder: Path, model: onnx.ModelProto, name: str = "model.onnx") -> str:
        """Write the model, and its weights as a hole of the right size."""
        if self._holes:
            (folder / self._holes).touch()
            os.truncate(folder / self._holes, self._size)
        path = folder / name
        path.write_bytes(model.SerializeToString())
        return str(path)


def info(name: str, shape: Sequence[Dim] | None, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    """Declare a value."""
    return helper.make_tensor_value_info(name, kind, shape)


def tensor(values: Any, kind: Any = np.int64, name: str = "") -> onnx.TensorProto:
    """Return a tensor of values."""
    return numpy_helper.from_array(np.array(values, kind), name)


def _conv(net: Builder, value: str, channels: tuple[int, int], kernel: int, stride: int = 1, group: int = 1) -> str:
    weights = net.weight(channels[1], channels[0] // group, kernel, kernel)
    bias = net.weight(channels[1])
    pads, shape = [kernel // 2] * 4, [kernel] * 2
    return net.op("Conv", value, weights, bias, kernel_shape=shape, pads=pads, strides=[stride] * 2, group=group)


def _bottleneck(net: Builder, value: str, channels: tuple[int, int, int], stride: int) -> str:
    before, inner, after = channels
    out = net.op("Relu", _conv(net, value, (before, inner), 1))
    out = net.op("Relu", _conv(net, out, (inner, inner), 3, stride))
    out = _conv(net, out, (inner, after), 1)
    if stride != 1 or before != after:
        value = _conv(net, value, (before, after), 1, stride)
    return net.op("Relu", net.op("Add", out, value))


def resnet50(batch: Dim = "batch", holes: str = "weights.bin") -> tuple[Builder, onnx.ModelProto]:
    """Return ResNet-50 as exporters write it, batch normalisation folded: 25.5 M parameters, 4.09 G multiply-adds."""
    net = Builder(holes)
    value = net.op("Relu", _conv(net, "image", (3, 64), 7, 2))
    value = net.op("MaxPool", value, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    before = 64
    for blocks, inner, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        for block in range(blocks):
            value = _bottleneck(net, value, (before, inner, inner * 4), stride if block == 0 else 1)
            before = inner * 4
    value = net.op("Flatten", net.op("GlobalAveragePool", value))
    value = net.op("Gemm", value, net.weight(1000, 2048), net.weight(1000), transB=1)
    return net, net.model({"image": (batch, 3, 224, 224)}, [value])


def _size(net: Builder, value: str, axis: int) -> str:
    """Return one length of a value as legacy exporters compute it."""
    return net.op("Unsqueeze", net.op("Gather", net.op("Shape", value), net.numbers(axis)), net.numbers([0]))


def _heads(net: Builder, value: str, heads: int, size: int) -> str:
    shape = net.op(
        "Concat", _size(net, value, 0), _size(net, value, 1), net.numbers([heads]), net.numbers([size]), axis=0
    )
    return net.op("Transpose", net.op("Reshape", value, shape), perm=[0, 2, 1, 3])


def _linear(net: Builder, value: str, before: int, after: int) -> str:
    return net.op("Add", net.op("MatMul", value, net.weight(before, after)), net.weight(after))


def _layer(net: Builder, value: str, hidden: int, heads: int) -> str:
    size = hidden // heads
    query, key, values = (_heads(net, _linear(net, value, hidden, hidden), heads, size) for _ in range(3))
    scores = net.op("MatMul", query, net.op("Transpose", key, perm=[0, 1, 3, 2]))
    shares = net.op("Softmax", net.op("Div", scores, net.numbers(size**0.5, np.float32)), axis=-1)
    out = net.op("Transpose", net.op("MatMul", shares, values), perm=[0, 2, 1, 3])
    flat = net.op("Concat", _size(net, out, 0), _size(net, out, 1), net.numbers([hidden]), axis=0)
    out = _linear(net, net.op("Reshape", out, flat), hidden, hidden)
    value = net.op("LayerNormalization", net.op("Add", value, out), net.weight(hidden), net.weight(hidden))
    inner = _linear(net, value, hidden, 4 * hidden)
    gelu = net.op("Mul", inner, net.op("Add", net.op("Erf", inner), net.numbers(1.0, np.float32)))
    out = _linear(net, gelu, 4 * hidden, hidden)
    return net.op("LayerNormalization", net.op("Add", value, out), net.weight(hidden), net.weight(hidden))


def transformer(
    layers: int = 2, hidden: int = 64, heads: int = 4, words: int = 100, holes: str = ""
) -> tuple[Builder, onnx.ModelProto]:
    """Return an encoder with open batch and sequence, whose shapes are computed as legacy exporters compute them."""
    net = Builder(holes)
    value = net.op("Gather", net.weight(words, hidden), "ids")
    for _ in range(layers):
        value = _layer(net, value, hidden, heads)
    return net, net.model({"ids": ("batch", "sequence")}, [value], kinds={"ids": TensorProto.INT64})


def quantized_qdq() -> tuple[Builder, onnx.ModelProto]:
    """Return a convolution and a product between QuantizeLinear and DequantizeLinear, with weights of eight bits."""
    net = Builder()
    scale, zero = net.numbers(0.1, np.float32), net.numbers(0, np.uint8)
    signed = net.numbers(0, np.int8)

    def stored(*shape: int) -> str:
        return net.op("DequantizeLinear", net.weight(*shape, kind=TensorProto.INT8), scale, signed)

    def through(value: str) -> str:
        return net.op("DequantizeLinear", net.op("QuantizeLinear", value, scale, zero), scale, zero)

    bias = net.op("DequantizeLinear", net.weight(8, kind=TensorProto.INT32), scale)
    value = net.op("Conv", through("x"), stored(8, 3, 3, 3), bias, pads=[1] * 4)
    value = net.op("Flatten", through(value))
    value = net.op("MatMul", value, stored(8 * 16, 10))
    return net, net.model({"x": ("batch", 3, 4, 4)}, [value])


def quantized_operators() -> tuple[Builder, onnx.ModelProto]:
    """Return the same with QLinearConv and QLinearMatMul."""
    net = Builder()
    scale, zero, signed = net.numbers(0.1, np.float32), net.numbers(0, np.uint8), net.numbers(0, np.int8)
    value = net.op("QuantizeLinear", "x", scale, zero)
    weights, bias = net.weight(8, 3, 3, 3, kind=TensorProto.INT8), net.weight(8, kind=TensorProto.INT32)
    value = net.op("QLinearConv", value, scale, zero, weights, scale, signed, scale, zero, bias, pads=[1] * 4)
    value = net.op("Flatten", value)
    weights = net.weight(8 * 16, 10, kind=TensorProto.INT8)
    value = net.op("QLinearMatMul", value, scale, zero, weights, scale, signed, scale, zero)
    return net, net.model({"x": ("batch", 3, 4, 4)}, [net.op("DequantizeLinear", value, scale, zero)])


def branch(condition: str = "input", *, folded: bool | None = None) -> tuple[Builder, onnx.ModelProto]:
    """Return an If with a product in one branch and an addition in the other."""
    net = Builder()
    weights = net.weight(4, 4)
    costly = helper.make_graph(
        [helper.make_node("MatMul", ["x", weights], ["big"], "/inner")], "then", [], [info("big", None)]
    )
    cheap = helper.make_graph([helper.make_node("Add", ["x", "x"], ["small"])], "else", [], [info("small", None)])
    inputs: dict[str, Sequence[Dim]] = {"x": ("batch", 4)}
    if folded is None:
        inputs[condition] = ()
    else:
        condition = net.numbers(folded, np.bool_)
    value = net.op("If", condition, then_branch=costly, else_branch=cheap)
    return net, net.model(inputs, [value], kinds={condition: TensorProto.BOOL})


def loop(trips: int | None = 5) -> tuple[Builder, onnx.ModelProto]:
    """Return a Loop with a product in its body, whose results it also collects."""
    net = Builder()
    weights = net.weight(4, 4)
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["still"]),
            helper.make_node("MatMul", ["before", weights], ["after"], "/step"),
            helper.make_node("Identity", ["after"], ["kept"]),
        ],
        "body",
        [info("at", (), TensorProto.INT64), info("go", (), TensorProto.BOOL), info("before", None)],
        [info("still", (), TensorProto.BOOL), info("after", None), info("kept", None)],
    )
    inputs: dict[str, Sequence[Dim]] = {"x": ("batch", 4)}
    if trips is None:
        inputs["trips"] = ()
    most = "trips" if trips is None else net.numbers(trips)
    last, collected = net.op("Loop", most, net.numbers(True, np.bool_), "x", outputs=2, body=body)  # noqa: FBT003 - data
    return net, net.model(inputs, [last, collected], kinds={"trips": TensorProto.INT64})


def function(name: str = "Twice", inner: str = "Relu") -> tuple[Builder, onnx.ModelProto]:
    """Return a model with a function of its own, with an attribute that it hands on."""
    net = Builder()
    leaky = helper.make_node("LeakyRelu", ["a"], ["b"])
    leaky.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    nodes = [leaky, helper.make_node(inner, ["b"], ["c"], domain="" if inner == "Relu" else "my.ops")]
    made = helper.make_function("my.ops", name, ["a"], ["c"], nodes, [helper.make_opsetid("", 17)], ["slope"])
    value = net.op(name, net.op("MatMul", "x", net.weight(4, 8)), domain="my.ops", slope=0.1)
    return net, net.model({"x": ("batch", 4)}, [value], functions=[made], others={"my.ops": 1})


def conv_net() -> tuple[Builder, onnx.ModelProto]:
    """Return a small net with what convolutional nets are made of."""
    net = Builder()
    value = net.op("Relu", _conv(net, "image", (3, 8), 3, 2))
    value = net.op("BatchNormalization", value, *(net.weight(8) for _ in range(4)))
    value = net.op("Clip", _conv(net, value, (8, 8), 3, 1, 8), net.numbers(0.0, np.float32))
    value = net.op("Resize", value, "", net.numbers([1, 1, 2, 2], np.float32), mode="linear")
    value = net.op("Concat", value, net.op("MaxPool", value, kernel_shape=[3, 3], pads=[1] * 4), axis=1)
    value = net.op("Reshape", net.op("GlobalAveragePool", value), net.numbers([0, -1]))
    return net, net.model({"image": ("N", 3, 16, 16)}, [net.op("Gemm", value, net.weight(16, 10), net.weight(10))])
