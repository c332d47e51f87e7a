"""Norms, softmax, reductions and searches. A norm or a softmax counts five flops for each element.

Batch normalisation with stored statistics is a multiplication and an addition: two.
"""

from __future__ import annotations

import math

from brimful.model.work import OpKind
from brimful.readers.onnx.call import Call, Cost, Rule, axes_of, axis_of, replaced
from brimful.readers.onnx.tensors import FLOAT, INT64, Numbers
from brimful.readers.onnx.values import MOST_FOLDED, Misfit, Value


def batch_norm(call: Call) -> Cost:
    """Scale and shift each channel by stored statistics."""
    value = call.need(0)
    call.like()
    call.aside(3, 4)  # running statistics are kept beside the parameters, not among them
    for at in range(1, len(call.node.outputs)):
        statistics = call.maybe(3 if at % 2 else 4)
        if statistics is not None:
            call.out(statistics.shape, statistics.type)
    return OpKind.NORM, 2.0 * value.size


def norm(call: Call) -> Cost:
    """Normalise: the result has the input's shape."""
    value = call.need(0)
    call.like()
    if call.node.op_type == "LayerNormalization" or call.node.op_type.startswith(("Simplified", "RMS")):
        axis = axis_of(call.integer("axis", -1), value.rank)
        for at in (1, 2):
            if at < len(call.node.outputs):
                call.out((*value.shape[:axis], *(1,) * (value.rank - axis)), call.integer("stash_type", FLOAT))
    return OpKind.NORM, 5.0 * value.size


def skip_norm(call: Call) -> Cost:
    """Add, then normalise; the fourth output is the sum."""
    value = call.need(0)
    call.like()
    for at in (1, 2):
        if at < len(call.node.outputs):
            call.out((*value.shape[:-1], 1), FLOAT)
    if len(call.node.outputs) > 3:
        call.like()
    return OpKind.NORM, 6.0 * value.size


def embed_norm(call: Call) -> Cost:
    """Add the embeddings of words, places and segments, then normalise."""
    ids, words = call.need(0), call.need(2)
    if ids.rank != 2 or words.rank != 2:
        raise Misfit(f"it embeds ids of shape {list(ids.shape)} by a table of shape {list(words.shape)}")
    out = call.out((*ids.shape, words.shape[1]), words.type)
    call.out((ids.shape[0],), 6)
    if len(call.node.outputs) > 2:
        call.out(out.shape, words.type)
    tables = sum(1 for at in (2, 3, 4) if call.maybe(at) is not None)
    call.weights = min(tables * out.size, sum(value.size for value in call.given() if value.constant))
    return OpKind.NORM, 7.0 * out.size


def softmax(call: Call) -> Cost:
    """Give shares that add up to one."""
    value = call.need(0)
    call.like()
    return OpKind.SOFTMAX, 5.0 * value.size


_REDUCED_FLOPS = {"ReduceL2": 2, "ReduceSumSquare": 2, "ReduceLogSum": 1, "ReduceLogSumExp": 3}


def reduce(call: Call) -> Cost:
    """Sum, multiply or compare along axes."""
    value = call.need(0)
    given = call.maybe(1) is not None
    axes = call.listed("axes", 1)
    if axes is None and given:
        return _reduced_somewhere(call, value)
    if not axes and call.integer("noop_with_empty_axes"):
        call.like(0, value.data)
        return None
    dropped = axes_of(axes, value.rank) if axes else tuple(range(value.rank))
    keep = call.integer("keepdims", 1)
    shape = tuple(
        1 if axis in dropped else length for axis, length in enumerate(value.shape) if keep or axis not in dropped
    )
    call.out(shape, value.type, _reduced(call.node.op_type, value, dropped))
    return OpKind.REDUCE, float(_REDUCED_FLOPS.get(call.node.op_type, 1) * value.size)


def _reduced_somewhere(call: Call, value: Value) -> Cost:
    """Bound a reduction along computed axes by its input."""
    call.guess("the axes that it reduces are computed from the input's values")
    declared = call.declared_shape(0)
    call.out(tuple(declared) if declared is not None and None not in declared else value.shape, value.type)
    return OpKind.REDUCE, float(value.size)


def _reduced(op_type: str, value: Value, dropped: tuple[int, ...]) -> Numbers | None:
    if value.data is None or not value.data or value.size > MOST_FOLDED or len(dropped) != value.rank:
        return None
    if op_type == "ReduceProd":
        result = 1
        for number in value.data:
            result *= int(number) if isinstance(number, int) else 1
            if abs(result) > 2**63:
                return None
        return (result,) if all(isinstance(number, int) for number in value.data) else (math.prod(value.data),)
    if op_type == "ReduceSum":
        return (sum(value.data),)
    if op_type not in ("ReduceMax", "ReduceMin"):
        return None
    return (max(value.data) if op_type == "ReduceMax" else min(value.data),)


def arg(call: Call) -> Cost:
    """Find the greatest or the least along an axis."""
    value = call.need(0)
    axis = axis_of(call.integer("axis"), value.rank)
    shape = (
        replaced(value.shape, axis, 1) if call.integer("keepdims", 1) else value.shape[:axis] + value.shape[axis + 1 :]
    )
    call.out(shape, INT64)
    return OpKind.REDUCE, float(value.size)


def top_k(call: Call) -> Cost:
    """Find the k greatest: a comparison for each element and each doubling of k."""
    value = call.need(0)
    axis = axis_of(call.integer("axis", -1), value.rank)
    k = call.integer("k") if call.version < 10 else call.number(1)
    if k is None:
        call.guess("how many it takes is computed from the input's values; all are assumed")
        k = value.shape[axis]
    if k > value.shape[axis]:
        if not value.guessed:
            raise Misfit(f"it takes {k} of {value.shape[axis]} elements")
        k = value.shape[axis]
    shape = replaced(value.shape, axis, k)
    call.out(shape, value.type)
    call.out(shape, INT64)
    return OpKind.OTHER, float(value.size * max(1, k.bit_length()))


def cumulate(call: Call) -> Cost:
    """Add or multiply up along an axis."""
    value = call.need(0)
    data = None
    if call.node.op_type == "CumSum" and value.rank == 1 and value.data is not None and value.size <= MOST_FOLDED:
        plain = not call.integer("exclusive") and not call.integer("reverse")
        data = _running(value.data) if plain else None
    call.like(0, data)
    return OpKind.REDUCE, float(value.size)


def _running(data: Numbers) -> Numbers:
    total, sums = 0.0 if any(isinstance(number, float) for number in data) else 0, []
    for number in data:
        total += number
        sums.append(total)
    return tuple(sums)


def det(call: Call) -> Cost:
    """Give the determinant of each matrix."""
    value = call.need(0)
    if value.rank < 2:
        raise Misfit("its input is no matrix")
    call.out(value.shape[:-2], value.type)
    return OpKind.OTHER, float(value.size * value.shape[-1])


def loss(call: Call) -> Cost:
    """Compare scores with labels."""
    scores, labels = call.need(0), call.need(1)
    call.out(labels.shape if call.text("reduction", "mean") == "none" else (), scores.type)
    if len(call.node.outputs) > 1:
        call.like()
    softmax_too = call.node.op_type == "SoftmaxCrossEntropyLoss"
    return OpKind.SOFTMAX, float((6 if softmax_too else 1) * scores.size)


TABLE: dict[str, Rule] = {
    "BatchNormalization": batch_norm,
    **dict.fromkeys(
        (
            "LayerNormalization",
            "RMSNormalization",
            "SimplifiedLayerNormalization",  # ONNX Runtime puts it, though its own, among the standard ones
            "InstanceNormalization",
            "GroupNormalization",
            "LpNormalization",
            "MeanVarianceNormalization",
            "LRN",
        ),
        norm,
    ),
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), softmax),
    **dict.fromkeys(
        (
            "ReduceSum",
            "ReduceMean",
            "ReduceMax",
            "ReduceMin",
            "ReduceProd",
            "ReduceL1",
            "ReduceL2",
            "ReduceLogSum",
            "ReduceLogSumExp",
            "ReduceSumSquare",
        ),
        reduce,
    ),
    **dict.fromkeys(("ArgMax", "ArgMin"), arg),
    "TopK": top_k,
    **dict.fromkeys(("CumSum", "CumProd"), cumulate),
    "Det": det,
    **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), loss),
    "SkipLayerNormalization": skip_norm,
    "SkipSimplifiedLayerNormalization": skip_norm,
}
CONTRIB: dict[str, Rule] = {
    "LayerNormalization": norm,
    "SimplifiedLayerNormalization": norm,
    "RMSNormalization": norm,
    "SkipLayerNormalization": skip_norm,
    "SkipSimplifiedLayerNormalization": skip_norm,
    "EmbedLayerNormalization": embed_norm,
    "GroupNorm": norm,
    "SkipGroupNorm": skip_norm,
    "QLinearSoftmax": softmax,
    "QLinearReduceMean": reduce,
}
