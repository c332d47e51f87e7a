"""Operations that move elements and compute nothing: slices, joins, gathers, transposes."""

from __future__ import annotations

from brimful.model.work import OpKind
from brimful.readers.onnx.call import Call, Cost, Rule, axes_of, axis_of, product, replaced
from brimful.readers.onnx.tensors import INT64, Numbers
from brimful.readers.onnx.values import MOST_FOLDED, Misfit, Open, Shape, Value, broadcast, places, spread, strides_of

_COPY: Cost = (OpKind.COPY, 0.0)
_FAR = 2**62


def small(value: Value) -> Numbers | None:
    """Return a value's elements when they are known and few."""
    return value.data if value.data is not None and value.size <= MOST_FOLDED else None


def picked(data: Numbers, found: list[int]) -> Numbers:
    """Return the elements at some places."""
    return tuple(data[place] for place in found)


def transpose(call: Call) -> Cost:
    """Exchange dimensions."""
    value = call.need(0)
    order = axes_of(call.integers("perm") or tuple(range(value.rank - 1, -1, -1)), value.rank)
    if sorted(order) != list(range(value.rank)):
        raise Misfit(f"its perm {list(order)} is no order of {value.rank} dimensions")
    shape = tuple(value.shape[axis] for axis in order)
    data = small(value)
    if data is not None:
        strides = strides_of(value.shape)
        data = picked(data, places(shape, [strides[axis] for axis in order]))
    call.out(shape, value.type, data)
    kept = [axis for axis in order if value.shape[axis] != 1]
    return None if kept == sorted(kept) else _COPY  # where only lengths of 1 move, nothing does


def concat(call: Call) -> Cost:
    """Join values along an axis."""
    values = call.given()
    if not values:
        raise Misfit("it has no inputs")
    first = values[0]
    axis = axis_of(call.integer("axis", 1 if call.version < 4 else 0), first.rank)
    for value in values[1:]:
        if value.rank != first.rank or replaced(value.shape, axis, 0) != replaced(first.shape, axis, 0):
            raise Misfit(f"the shapes {list(first.shape)} and {list(value.shape)} do not join along axis {axis}")
    shape = replaced(first.shape, axis, sum(value.shape[axis] for value in values))
    call.out(shape, first.type, _joined(values, first.rank))
    return _COPY


def _joined(values: list[Value], rank: int) -> Numbers | None:
    if rank != 1 or sum(value.size for value in values) > MOST_FOLDED:
        return None
    parts: list[int | float | bool] = []
    for value in values:
        if value.data is None:
            return None
        parts.extend(value.data)
    return tuple(parts)


def slice_(call: Call) -> Cost:
    """Take every n-th element between two places."""
    value = call.need(0)
    starts, ends = call.listed("starts", 1), call.listed("ends", 2)
    axes = call.listed("axes", 3)
    steps = call.numbers(4)
    unknown_axes = axes is None and call.maybe(3) is not None
    if starts is None or ends is None or unknown_axes or (steps is None and call.maybe(4) is not None):
        return _unknown_slice(call, value)
    axes = axes_of(axes if axes is not None else tuple(range(len(starts))), value.rank)
    steps = steps if steps is not None else (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Misfit("its starts, ends, axes and steps differ in length")
    begin, stride, shape = [0] * value.rank, [1] * value.rank, list(value.shape)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if step == 0:
            raise Misfit("it slices in steps of 0")
        begin[axis], shape[axis] = _cut(value.shape[axis], start, end, step)
        stride[axis] = step
    out = tuple(shape)
    call.out(out, value.type, _cut_data(value, begin, stride, out))
    return None if out == value.shape and min(stride, default=1) == 1 else _COPY


def _cut(length: int, start: int, end: int, step: int) -> tuple[int, int]:
    """Return where a slice begins and how many elements it has."""
    places_ = range(length)[max(-_FAR, min(start, _FAR)) : max(-_FAR, min(end, _FAR)) : step]
    return (places_.start, len(places_)) if length else (0, 0)


def _cut_data(value: Value, begin: list[int], stride: list[int], shape: Shape) -> Numbers | None:
    data = small(value)
    if data is None or product(shape) > MOST_FOLDED:
        return None
    strides = strides_of(value.shape)
    start = sum(at * width for at, width in zip(begin, strides, strict=True))
    steps = [width * step for width, step in zip(strides, stride, strict=True)]
    return picked(data, places(shape, steps, start)) if product(shape) else ()


def _unknown_slice(call: Call, value: Value) -> Cost:
    """Bound a slice whose ends are computed by the whole; axes that it does not name stay as they are."""
    call.guess("where its slice ends is computed from the input's values")
    declared = call.declared_shape(0)
    shape = value.shape
    if declared is not None and len(declared) == value.rank:
        shape = tuple(own if have is None else have for have, own in zip(declared, shape, strict=True))
    call.out(shape, value.type)
    return _COPY


def split(call: Call) -> Cost:
    """Cut a value into parts along an axis."""
    value = call.need(0)
    axis = axis_of(call.integer("axis"), value.rank)
    count = len(call.node.outputs)
    lengths = call.integers("split") or call.numbers(1)
    if lengths is None:
        if call.maybe(1) is not None:
            call.guess("how its split divides is computed from the input's values")
        if call.has("num_outputs") and call.integer("num_outputs") != count:
            raise Misfit(f"it splits into {call.integer('num_outputs')} parts and has {count} outputs")
        lengths = _even(value.shape[axis], count)
    if sum(lengths) != value.shape[axis] or len(lengths) < len(call.node.outputs) or min(lengths, default=0) < 0:
        raise Misfit(f"it splits {value.shape[axis]} elements into {list(lengths)!r:.80}")
    data, start = small(value), 0
    for length in lengths[: len(call.node.outputs)]:
        part = data[start : start + length] if data is not None and value.rank == 1 else None
        call.out(replaced(value.shape, axis, length), value.type, part)
        start += length
    return _COPY


def _even(length: int, count: int) -> Shape:
    if not count:
        raise Misfit("it has no outputs")
    size = -(-length // count)
    parts = [max(0, min(size, length - size * at)) for at in range(count)]
    return tuple(parts)


def gather(call: Call) -> Cost:
    """Take slices at computed places: of a stored table only the rows that are taken are read."""
    value, places_ = call.need(0), call.need(1)
    axis = axis_of(call.integer("axis"), value.rank)
    shape = (*value.shape[:axis], *places_.shape, *value.shape[axis + 1 :])
    out = call.out(shape, value.type, _gathered(value, places_, axis))
    if value.constant:
        call.weights = min(value.size, out.size)
    return OpKind.GATHER, 0.0


def _gathered(value: Value, indices: Value, axis: int) -> Numbers | None:
    data, at = small(value), small(indices)
    if data is None or at is None or axis or value.rank != 1:
        return None
    try:
        return tuple(data[int(place)] for place in at)
    except IndexError as error:
        raise Misfit(f"it takes element {max(at)} of {value.size}") from error


def gather_elements(call: Call) -> Cost:
    """Take single elements at computed places."""
    value, indices = call.need(0), call.need(1)
    out = call.out(indices.shape, value.type)
    if value.constant:
        call.weights = min(value.size, out.size)
    return OpKind.GATHER, 0.0


def gather_nd(call: Call) -> Cost:
    """Take slices at places that have several coordinates."""
    value, indices = call.need(0), call.need(1)
    batch = call.integer("batch_dims")
    if not indices.rank or not 0 <= batch < indices.rank or batch + indices.shape[-1] > value.rank:
        raise Misfit(f"its indices of shape {list(indices.shape)} do not fit the shape {list(value.shape)}")
    out = call.out((*indices.shape[:-1], *value.shape[batch + indices.shape[-1] :]), value.type)
    if value.constant:
        call.weights = min(value.size, out.size)
    return OpKind.GATHER, 0.0


def scatter(call: Call) -> Cost:
    """Put elements at computed places."""
    call.like()
    return OpKind.GATHER, 0.0


def tensor_scatter(call: Call) -> Cost:
    """Write a stretch of a cache."""
    call.like()
    return _COPY


def pad(call: Call) -> Cost:
    """Surround a value."""
    value = call.need(0)
    pads = call.integers("pads") or call.integers("paddings") or call.numbers(1)
    axes = call.numbers(3)
    if pads is None or (axes is None and call.maybe(3) is not None):
        call.guess("how much it pads is computed from the input's values")
        declared = call.declared_shape(0)
        whole = declared is not None and len(declared) == value.rank and None not in declared
        call.out(declared if whole else value.shape, value.type)
        return _COPY
    axes = axes_of(axes if axes is not None else tuple(range(value.rank)), value.rank)
    if len(pads) != 2 * len(axes):
        raise Misfit(f"its {len(pads)} pads do not fit {len(axes)} dimensions")
    shape = list(value.shape)
    for at, axis in enumerate(axes):
        shape[axis] += pads[at] + pads[at + len(axes)]
    call.out(tuple(shape), value.type, value.data if not any(pads) else None)
    return _COPY if any(pads) else None


def expand(call: Call) -> Cost:
    """Repeat a value along new dimensions."""
    value, target = call.need(0), call.numbers(1)
    if target is None:
        call.guess("the shape that it expands to is computed from the input's values")
        declared = call.declared_shape(0)
        call.out(declared if declared is not None and None not in declared else value.shape, value.type)
        return _COPY
    if min(target, default=0) < -1:
        raise Misfit(f"it expands to {list(target)!r:.80}")
    target = tuple(1 if length == -1 else length for length in target)  # as torch writes "keep"
    shape = broadcast(value.shape, target)
    data = small(value)
    if data is not None:
        data = spread(data, value.shape, shape) if product(shape) <= MOST_FOLDED else None
    call.out(shape, value.type, data)
    return None if shape == value.shape else _COPY


def tile(call: Call) -> Cost:
    """Repeat a value."""
    value, repeats = call.need(0), call.numbers(1)
    if call.version < 6:
        return _old_tile(call, value)
    if repeats is None:
        call.guess("how often it repeats is computed from the input's values")
        declared = call.declared_shape(0)
        call.out(declared if declared is not None and None not in declared else value.shape, value.type)
        return _COPY
    if len(repeats) != value.rank:
        raise Misfit(f"its {len(repeats)} repeats do not fit {value.rank} dimensions")
    shape = tuple(length * times for length, times in zip(value.shape, repeats, strict=True))
    data = small(value)
    out = call.out(shape, value.type)
    if data is not None and value.rank == 1 and out.size <= MOST_FOLDED:
        out.data = data * repeats[0]
    return _COPY


def _old_tile(call: Call, value: Value) -> Cost:
    """Repeat along one axis, as opset 1 did."""
    times, axis = call.number(1), call.number(2)
    if times is None or axis is None:
        raise Open("how often it repeats is not known")
    at = axis_of(axis, value.rank)
    call.out(replaced(value.shape, at, value.shape[at] * times), value.type)
    return _COPY


def reverse_sequence(call: Call) -> Cost:
    """Turn each sequence around."""
    call.like()
    return _COPY


def one_hot(call: Call) -> Cost:
    """Write a row of zeros and a one for each index."""
    indices, depth, values = call.need(0), call.number(1), call.need(2)
    if depth is None:
        call.guess("how many classes it has is computed from the input's values")
        declared = call.declared_shape(0)
        if declared is None or None in declared:
            raise Open("how many classes it has is not known")
        call.out(declared, values.type)
        return _COPY
    axis = call.integer("axis", -1)
    axis = axis_of(axis, indices.rank + 1)
    call.out((*indices.shape[:axis], depth, *indices.shape[axis:]), values.type)
    return _COPY


def trilu(call: Call) -> Cost:
    """Keep one triangle of each matrix."""
    call.like()
    return _COPY


def nonzero(call: Call) -> Cost:
    """Give the places of what is not zero: at most all."""
    value = call.need(0)
    if value.data is not None and value.size <= MOST_FOLDED:
        found = [at for at, number in enumerate(value.data) if number]
        coordinates = [
            at // stride % length
            for length, stride in zip(value.shape, strides_of(value.shape), strict=True)
            for at in found
        ]
        call.out((value.rank, len(found)), INT64, tuple(coordinates))
        return OpKind.OTHER, float(value.size)
    call.guess("how many elements are not zero depends on the input; all are assumed")
    call.out((value.rank, value.size), INT64)
    return OpKind.OTHER, float(value.size)


def compress(call: Call) -> Cost:
    """Keep what a condition says: at most all."""
    value, condition = call.need(0), call.need(1)
    count = sum(map(bool, condition.data)) if condition.data is not None else None
    if count is None:
        call.guess("how many elements it keeps depends on the input; all are assumed")
    if not call.has("axis"):
        call.out((value.size if count is None else count,), value.type)
        return _COPY
    axis = axis_of(call.integer("axis"), value.rank)
    call.out(replaced(value.shape, axis, value.shape[axis] if count is None else count), value.type)
    return _COPY


def unique(call: Call) -> Cost:
    """Give each different element once: at most all."""
    value = call.need(0)
    call.guess("how many elements differ depends on the input; all are assumed to")
    if call.has("axis"):
        count = value.shape[axis_of(call.integer("axis"), value.rank)]
        call.like()
    else:
        count = value.size
        call.out((count,), value.type)
    for at in (1, 2, 3):
        if at < len(call.node.outputs):
            call.out((count,), INT64)
    return OpKind.OTHER, float(value.size)


TABLE: dict[str, Rule] = {
    "Transpose": transpose,
    "Concat": concat,
    "Slice": slice_,
    "Split": split,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    **dict.fromkeys(("Scatter", "ScatterElements", "ScatterND"), scatter),
    "TensorScatter": tensor_scatter,
    "Pad": pad,
    "Expand": expand,
    "Tile": tile,
    "ReverseSequence": reverse_sequence,
    "OneHot": one_hot,
    "Trilu": trilu,
    "NonZero": nonzero,
    "Compress": compress,
    "Unique": unique,
}
CONTRIB: dict[str, Rule] = {"GatherND": gather_nd, "Trilu": trilu, "Unique": unique}
