"""Operations that give their input another shape, and those that make values from nothing or from shapes."""

from __future__ import annotations

import math

from brimful.model.work import OpKind
from brimful.readers.onnx.call import Call, Cost, Rule, axes_of, axis_of, product
from brimful.readers.onnx.tensors import FLOAT, INT64, MOST_RANK, STRING, TYPES
from brimful.readers.onnx.values import MOST_FOLDED, Misfit, Open, Shape, Value, checked, constant


def reshape(call: Call) -> Cost:
    """Give another shape; a computed one is taken from what the file declares, as far as it goes."""
    value = call.need(0)
    target = call.integers("shape") if call.version < 5 else call.numbers(1)
    if target is None:
        call.guess("the new shape is computed from the input's values")
        shape = _guessed(call, value)
    else:
        shape = _resolved(call, value, target)
    if call.version >= 5 and len(shape) > 64:
        raise Misfit(f"its shape has {len(shape)} dimensions")
    call.out(shape, value.type, value.data)
    return None


def _resolved(call: Call, value: Value, target: Shape) -> Shape:
    lengths = list(target)
    if not call.integer("allowzero"):
        for axis, length in enumerate(lengths):
            if length == 0:
                if axis >= value.rank:
                    raise Misfit(f"its shape {list(target)!r:.80} keeps a dimension that {list(value.shape)} has not")
                lengths[axis] = value.shape[axis]
    if lengths.count(-1) > 1 or min(lengths, default=0) < -1:
        raise Misfit(f"its shape is {list(target)!r:.80}")
    if -1 in lengths:
        rest = product(tuple(length for length in lengths if length != -1))
        if rest == 0 or value.size % rest:
            raise Misfit(f"the shape {list(value.shape)} does not become {list(target)!r:.80}")
        lengths[lengths.index(-1)] = value.size // rest
    if math.prod(lengths) != value.size:
        raise Misfit(f"the shape {list(value.shape)} does not become {list(target)!r:.80}")
    return tuple(lengths)


def _guessed(call: Call, value: Value) -> Shape:
    """Return a declared shape with at most one gap filled; else all in the last of so many dimensions."""
    declared = call.declared_shape(0)
    if declared is not None:
        rest = product(tuple(length for length in declared if length is not None))
        gaps = sum(length is None for length in declared)
        if gaps and rest and value.size % rest == 0:
            first = list(declared).index(None)
            filled = [1 if length is None else length for length in declared]
            filled[first] = value.size // rest
            return tuple(filled)
        if rest == value.size:
            return tuple(declared)
    wanted = call.maybe(1)
    rank = wanted.shape[0] if wanted is not None and wanted.rank == 1 and 1 <= wanted.shape[0] <= 8 else 1
    return (*(1,) * (rank - 1), value.size)


def flatten(call: Call) -> Cost:
    """Make a matrix."""
    value = call.need(0)
    axis = call.integer("axis", 1)
    axis = axis if axis == value.rank else axis_of(axis, max(value.rank, 1))
    call.out((product(value.shape[:axis]), product(value.shape[axis:])), value.type, value.data)
    return None


def squeeze(call: Call) -> Cost:
    """Drop dimensions of length 1."""
    value = call.need(0)
    axes = call.listed("axes", 1)
    if axes is None:
        shape = tuple(length for length in value.shape if length != 1)
    else:
        dropped = axes_of(axes, value.rank)
        if any(value.shape[axis] != 1 for axis in dropped) and not value.guessed:
            raise Misfit(f"it drops dimensions {list(axes)} of {list(value.shape)}, which are not all 1")
        shape = tuple(length for axis, length in enumerate(value.shape) if axis not in dropped)
    call.out(shape, value.type, value.data if product(shape) == value.size else None)
    return None


def unsqueeze(call: Call) -> Cost:
    """Add dimensions of length 1."""
    value = call.need(0)
    axes = call.listed("axes", 1)
    if axes is None:
        raise Open("the dimensions that it adds are not known")
    if value.rank + len(axes) > MOST_RANK:
        raise Misfit(f"a result would have {value.rank + len(axes)} dimensions")
    places = sorted(axes_of(axes, value.rank + len(axes)))
    if len(set(places)) < len(places):
        raise Misfit(f"it adds the dimensions {list(axes)!r:.80}")
    shape = list(value.shape)
    for axis in places:
        shape.insert(axis, 1)
    call.out(tuple(shape), value.type, value.data)
    return None


def identity(call: Call) -> Cost:
    """Give the input another name."""
    value = call.need(0)
    out = call.like(0, value.data)
    out.items = value.items
    return None


def shape_of(call: Call) -> Cost:
    """Give the shape as numbers."""
    value = call.need(0)
    lengths = value.shape
    if call.has("start") or call.has("end"):
        lengths = lengths[slice(call.integer("start"), call.integer("end", value.rank))]
    call.out((len(lengths),), INT64, lengths)
    return None


def size_of(call: Call) -> Cost:
    """Give the number of elements."""
    call.out((), INT64, (call.need(0).size,))
    return None


def constant_(call: Call) -> Cost:
    """Give what the node itself holds."""
    tensor = call.tensor("value") or call.tensor("sparse_value")
    if tensor is not None:
        call.outputs.append(constant(tensor))
        return None
    for name, kind in (("value_int", INT64), ("value_float", FLOAT)):
        if call.has(name):
            call.out((), kind, (call.integer(name) if kind == INT64 else call.real(name),))
            return None
    for name, kind in (("value_ints", INT64), ("value_floats", FLOAT)):
        numbers = call.node.attributes.get(name)
        if isinstance(numbers, tuple) and all(isinstance(number, int | float) for number in numbers):
            call.out((len(numbers),), kind, numbers)
            return None
    texts = call.node.attributes.get("value_strings")
    call.out((len(texts),) if isinstance(texts, tuple) else (), STRING)
    return None


def constant_of_shape(call: Call) -> Cost:
    """Fill a shape with one number."""
    tensor = call.tensor("value")
    kind = FLOAT if tensor is None else tensor.type
    value = 0 if tensor is None else tensor.values[0] if tensor.values else None
    shape = call.numbers(0)
    if shape is None:
        call.guess("the shape that it fills is computed from the input's values")
        declared = call.declared_shape(0)
        if declared is None or None in declared:
            raise Open("the shape that it fills is not known")
        shape = tuple(declared)
    size = product(checked(shape))
    call.out(shape, kind, None if value is None or size > MOST_FOLDED else (value,) * size)
    return OpKind.COPY, 0.0


def range_(call: Call) -> Cost:
    """Count from one number to another."""
    values = [call.need(at) for at in range(3)]
    kind = values[0].type
    if any(value.data is None or value.size != 1 for value in values):
        call.guess("how far it counts is computed from the input's values")
        declared = call.declared_shape(0)
        if declared is None or None in declared:
            raise Open("how far it counts is not known")
        call.out(tuple(declared), kind)
        return OpKind.COPY, 0.0
    start, limit, delta = (value.data[0] for value in values if value.data is not None)
    if not delta or not all(math.isfinite(number) for number in (start, limit, delta)):
        raise Misfit(f"it counts from {start} to {limit} in steps of {delta}")
    exact = all(isinstance(number, int) for number in (start, limit, delta))
    count = max(0, int(-((start - limit) // delta)) if exact else math.ceil((limit - start) / delta))
    data = tuple(start + delta * at for at in range(count)) if count <= MOST_FOLDED else None
    call.out((count,), kind, data)
    return OpKind.COPY, 0.0


def _kind(call: Call, default: int) -> int:
    kind = call.integer("dtype", default)
    if kind not in TYPES:
        raise Misfit(f"its type is {kind}, which ONNX does not have")
    return kind


def random(call: Call) -> Cost:
    """Draw numbers."""
    op = call.node.op_type
    if op.endswith("Like") or op == "Bernoulli":
        value = call.need(0)
        out = call.out(value.shape, _kind(call, value.type))
    elif op == "Multinomial":
        value = call.need(0)
        out = call.out((*value.shape[:1], call.integer("sample_size", 1)), _kind(call, 6))
    else:
        out = call.out(call.integers("shape") or (), _kind(call, FLOAT))
    return OpKind.OTHER, float(out.size)


def eye_like(call: Call) -> Cost:
    """Make a matrix of zeros with a diagonal of ones."""
    value = call.need(0)
    call.out(value.shape, _kind(call, value.type))
    return OpKind.COPY, 0.0


def window(call: Call) -> Cost:
    """Make a window function."""
    size = call.number(0)
    if size is None:
        raise Open("the length of its window is not known")
    out = call.out((size,), call.integer("output_datatype", FLOAT))
    return OpKind.ELEMENTWISE, float(4 * out.size)


def mel_weights(call: Call) -> Cost:
    """Make the matrix that turns frequencies into mel bands."""
    bands, length = call.number(0), call.number(1)
    if bands is None or length is None:
        raise Open("the size of its matrix is not known")
    out = call.out((length // 2 + 1, bands), call.integer("output_datatype", FLOAT))
    return OpKind.ELEMENTWISE, float(out.size)


TABLE: dict[str, Rule] = {
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Identity": identity,
    "Shape": shape_of,
    "Size": size_of,
    "Constant": constant_,
    "ConstantOfShape": constant_of_shape,
    "Range": range_,
    **dict.fromkeys(
        (
            "RandomNormal",
            "RandomUniform",
            "RandomNormalLike",
            "RandomUniformLike",
            "Bernoulli",
            "Multinomial",
        ),
        random,
    ),
    "EyeLike": eye_like,
    **dict.fromkeys(("HannWindow", "HammingWindow", "BlackmanWindow"), window),
    "MelWeightMatrix": mel_weights,
}
CONTRIB: dict[str, Rule] = {"Range": range_}
RANDOM = frozenset(
    ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial")
)
