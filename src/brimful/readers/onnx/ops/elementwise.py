"""Operations on one element at a time, and the arithmetic on shapes that they do."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from brimful.model.work import OpKind
from brimful.readers.onnx.call import Call, Cost, Rule
from brimful.readers.onnx.tensors import BOOL, DOUBLE, FLOAT, FLOATS, HALF, INT64, TYPES, Numbers
from brimful.readers.onnx.values import MOST_FOLDED, Misfit, Value, broadcast, spread

# Flops for each element of the result. One is the rule; what is defined by a formula counts the formula's steps.
_ONE = """Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Log Neg Not Reciprocal Relu Round Sigmoid
Sign Sin Sinh Sqrt Tan Tanh BitwiseNot ThresholdedRelu"""
UNARY = dict.fromkeys(_ONE.split(), 1) | {
    "LeakyRelu": 2, "PRelu": 2, "HardSigmoid": 2, "Swish": 2, "Shrink": 2, "Softplus": 3, "Softsign": 3, "Elu": 3,
    "Selu": 3, "HardSwish": 4, "Celu": 4, "Mish": 4, "Gelu": 5,
}  # fmt: skip
CONTRIB_UNARY = {"Gelu": 5, "QuickGelu": 3, "FastGelu": 8, "BiasGelu": 6}


def _same(flops: int) -> Rule:
    def rule(call: Call) -> Cost:
        value = call.need(0)
        call.like(0, _unary_data(call.node.op_type, value))
        return OpKind.ELEMENTWISE, float(flops * value.size)

    return rule


_UNARY_FOLDS: dict[str, Callable[[Any], Any]] = {
    "Abs": abs, "Neg": operator.neg, "Not": operator.not_, "Ceil": math.ceil, "Floor": math.floor, "Sqrt": math.sqrt,
    "Reciprocal": lambda number: 1 / number, "Relu": lambda number: max(number, 0),
    "Sign": lambda number: (number > 0) - (number < 0), "Round": round,
}  # fmt: skip


def _unary_data(op_type: str, value: Value) -> Numbers | None:
    fold = _UNARY_FOLDS.get(op_type)
    if fold is None or value.data is None or len(value.data) > MOST_FOLDED:
        return None
    cast = float if value.type in FLOATS else _kept
    try:
        return tuple(cast(fold(number)) for number in value.data)
    except (ValueError, OverflowError, ZeroDivisionError):
        return None


def _kept(number: Any) -> Any:
    return number


def _divided(first: Any, second: Any) -> Any:
    """Divide as ONNX does: whole numbers lose what is behind the point."""
    if isinstance(first, int) and isinstance(second, int):
        quotient = abs(first) // abs(second)
        return quotient if (first < 0) == (second < 0) else -quotient
    return first / second


def _power(first: Any, second: Any) -> Any:
    if abs(second) > 64 or abs(first) > 2**31:
        raise ValueError("too large to be a shape")
    return first**second


_BINARY_FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Div": _divided, "Pow": _power,
    "Mod": operator.mod, "FMod": math.fmod, "Min": min, "Max": max,
    "Equal": operator.eq, "Greater": operator.gt, "Less": operator.lt, "GreaterOrEqual": operator.ge,
    "LessOrEqual": operator.le, "And": lambda a, b: bool(a and b), "Or": lambda a, b: bool(a or b),
    "Xor": lambda a, b: bool(a) != bool(b),
}  # fmt: skip
_COMPARISONS = frozenset(("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor"))
BINARY = (*_BINARY_FOLDS, "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Sum", "Mean")


def binary(call: Call) -> Cost:
    """Give the shape that the inputs have together, and the elements when they are known."""
    inputs = call.given()
    if not inputs:
        raise Misfit("it has no inputs")
    shape = _together(call, inputs)
    kind = BOOL if call.node.op_type in _COMPARISONS else inputs[0].type
    out = call.out(shape, kind, None)
    if len(inputs) == 2 and out.size <= MOST_FOLDED:
        out.data = _folded(_operation(call), inputs[0], inputs[1], out)
    elif len(inputs) == 1:
        out.data = inputs[0].data
    return OpKind.ELEMENTWISE, float(out.size * max(1, len(inputs) - 1))


def _together(call: Call, inputs: list[Value]) -> tuple[int, ...]:
    """Return the common shape; before opset 7 the second input may begin at an axis of the first."""
    if len(inputs) == 2:
        first, second = inputs[0].shape, inputs[1].shape
        if first == second:
            return first
        if call.version < 7 and call.integer("broadcast"):
            return first
        return broadcast(first, second)
    return broadcast(*(value.shape for value in inputs))


def _folded(op_type: str, first: Value, second: Value, out: Value) -> Numbers | None:
    fold = _BINARY_FOLDS.get(op_type)
    if fold is None or first.data is None or second.data is None:
        return None
    try:
        data: Numbers = tuple(
            map(fold, spread(first.data, first.shape, out.shape), spread(second.data, second.shape, out.shape))
        )
    except (ValueError, OverflowError, ZeroDivisionError, TypeError, IndexError):
        return None
    return data if all(isinstance(n, int | float) and -(2**63) <= n < 2**63 for n in data) else None


def _operation(call: Call) -> str:
    """Return the operation's name; Mod is two."""
    return "FMod" if call.node.op_type == "Mod" and call.integer("fmod") else call.node.op_type


def where(call: Call) -> Cost:
    """Choose between two values."""
    condition, first, second = call.need(0), call.need(1), call.need(2)
    out = call.out(broadcast(condition.shape, first.shape, second.shape), first.type)
    if None not in (condition.data, first.data, second.data) and out.size <= MOST_FOLDED:
        picks, *sides = (
            spread(value.data, value.shape, out.shape) for value in (condition, first, second) if value.data is not None
        )
        out.data = tuple(one if pick else other for pick, one, other in zip(picks, *sides, strict=True))
    return OpKind.ELEMENTWISE, float(out.size)


def cast(call: Call) -> Cost:
    """Change the type; a conversion moves elements and computes nothing."""
    value = call.need(0)
    if call.node.op_type == "CastLike":
        kind = call.need(1).type
    elif call.version < 6:
        kind = _NAMES.get(call.text("to"), FLOAT)
    else:
        kind = call.integer("to", FLOAT)
    if kind not in TYPES:
        raise Misfit(f"it casts to the type {kind}, which ONNX does not have")
    call.out(value.shape, kind, _cast_data(value, kind))
    return (OpKind.COPY, 0.0) if kind != value.type else None


_NAMES = {"FLOAT": FLOAT, "DOUBLE": DOUBLE, "FLOAT16": HALF, "INT64": INT64, "INT32": 6, "BOOL": BOOL, "UINT8": 2}


def _cast_data(value: Value, kind: int) -> Numbers | None:
    if value.data is None or len(value.data) > MOST_FOLDED:
        return None
    to: Callable[[Any], Any] = bool if kind == BOOL else float if kind in FLOATS else int
    try:
        return tuple(to(number) for number in value.data)
    except (ValueError, OverflowError):
        return None


def dropout(call: Call) -> Cost:
    """Do nothing, as in inference; the mask is all that it adds."""
    value = call.need(0)
    call.like()
    if call.wants(1):
        call.out(value.shape, BOOL)
    return None


def clip(call: Call) -> Cost:
    """Bound each element."""
    value = call.need(0)
    call.like(0, value.data if value.type not in FLOATS and value.size <= 1 and len(call.given()) == 1 else None)
    return OpKind.ELEMENTWISE, float(value.size)


def is_check(call: Call) -> Cost:
    """Give a truth value for each element."""
    value = call.need(0)
    call.out(value.shape, BOOL)
    return OpKind.ELEMENTWISE, float(value.size)


def bitcast(call: Call) -> Cost:
    """Read the same bits as another type of the same width."""
    kind = call.integer("to", FLOAT)
    if kind not in TYPES:
        raise Misfit(f"it casts to the type {kind}, which ONNX does not have")
    call.out(call.need(0).shape, kind)
    return None


def gated(call: Call) -> Cost:
    """Multiply one value with the Swish of another."""
    value = call.need(0)
    call.like()
    return OpKind.ELEMENTWISE, 3.0 * value.size


def bias_split_gelu(call: Call) -> Cost:
    """Multiply one half of the last dimension with the GELU of the other."""
    value = call.need(0)
    if not value.rank:
        raise Misfit("its input has no dimension to split")
    out = call.out((*value.shape[:-1], value.shape[-1] // 2), value.type)
    return OpKind.ELEMENTWISE, float(7 * out.size)


TABLE: dict[str, Rule] = {
    **{name: _same(flops) for name, flops in UNARY.items()},
    **dict.fromkeys(BINARY, binary),
    "Where": where,
    "Cast": cast,
    "CastLike": cast,
    "BitCast": bitcast,
    "Dropout": dropout,
    "Clip": clip,
    "SwiGLU": gated,
    "IsNaN": is_check,
    "IsInf": is_check,
}
CONTRIB: dict[str, Rule] = {
    **{name: _same(flops) for name, flops in CONTRIB_UNARY.items()},
    "BiasSplitGelu": bias_split_gelu,
    "BiasDropout": dropout,
    "BitmaskDropout": dropout,
}
