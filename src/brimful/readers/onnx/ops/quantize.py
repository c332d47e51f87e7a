"""To and from few bits: a multiplication and a rounding an element. Scales and zero points are no parameters."""

from __future__ import annotations

from brimful.model.work import OpKind
from brimful.readers.onnx.call import Call, Cost, Rule
from brimful.readers.onnx.tensors import FLOAT, TYPES, UINT8
from brimful.readers.onnx.values import Misfit, Value, broadcast


def _biases(value: Value | None) -> None:
    """Mark integers that are parameters, though their type is one of shapes."""
    for tensor in value.stored if value is not None else ():
        tensor.bias = True


def _type(call: Call, name: str, default: int) -> int:
    kind = call.integer(name) or default
    if kind not in TYPES:
        raise Misfit(f"its {name} is {kind}, which ONNX does not have")
    return kind


def quantize(call: Call) -> Cost:
    """Round to few bits."""
    value, zero = call.need(0), call.maybe(2)
    call.aside(1, 2)
    call.out(value.shape, _type(call, "output_dtype", UINT8 if zero is None else zero.type))
    return OpKind.ELEMENTWISE, 2.0 * value.size


def dequantize(call: Call) -> Cost:
    """Go back to floats, and remember how many bits there were: a product of such values is one of integers."""
    value, scale = call.need(0), call.need(1)
    call.aside(1, 2)
    _biases(value)
    out = call.out(value.shape, _type(call, "output_dtype", scale.type))
    out.quantized = TYPES.get(value.type, (0, ""))[0]
    return OpKind.ELEMENTWISE, 2.0 * value.size


def dynamic_quantize(call: Call) -> Cost:
    """Find the range, then round to eight bits."""
    value = call.need(0)
    call.out(value.shape, UINT8)
    call.out((), FLOAT)
    call.out((), UINT8)
    return OpKind.ELEMENTWISE, 4.0 * value.size


def quantized_same(call: Call) -> Cost:
    """Do an elementwise operation on quantised values (QLinearSigmoid, QLinearLeakyRelu)."""
    value = call.need(0)
    call.aside(*range(1, len(call.inputs)))
    call.like()
    return OpKind.ELEMENTWISE, 3.0 * value.size


def quantized_binary(call: Call) -> Cost:
    """Add or multiply quantised values: inputs come as value, scale, zero point."""
    first, second = call.need(0), call.need(3)
    call.aside(1, 2, 4, 5, 6, 7)
    out = call.out(broadcast(first.shape, second.shape), first.type)
    return OpKind.ELEMENTWISE, 3.0 * out.size


def quantized_concat(call: Call) -> Cost:
    """Join quantised values: output scale and zero point first, then value, scale, zero point for each."""
    values: list[Value] = [call.need(at) for at in range(2, len(call.inputs), 3)]
    if not values:
        raise Misfit("it has no inputs")
    axis = call.integer("axis")
    shape = list(values[0].shape)
    if not -len(shape) <= axis < len(shape) or any(value.rank != len(shape) for value in values):
        raise Misfit(f"its inputs do not join along axis {axis}")
    shape[axis] = sum(value.shape[axis] for value in values)
    call.out(tuple(shape), values[0].type)
    return OpKind.COPY, 0.0


def with_scales(rule: Rule, *places: int) -> Rule:
    """Return a rule for an operation whose inputs at some places are scales and zero points."""

    def quantized(call: Call) -> Cost:
        call.aside(*places)
        if call.node.op_type == "QLinearConv":
            _biases(call.maybe(8))
        return rule(call)

    return quantized


TABLE: dict[str, Rule] = {
    "QuantizeLinear": quantize,
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamic_quantize,
}
CONTRIB: dict[str, Rule] = {
    "QuantizeLinear": quantize,
    "DequantizeLinear": dequantize,
    "QLinearSigmoid": quantized_same,
    "QLinearLeakyRelu": quantized_same,
    "QLinearAdd": quantized_binary,
    "QLinearMul": quantized_binary,
    "QLinearConcat": quantized_concat,
}
