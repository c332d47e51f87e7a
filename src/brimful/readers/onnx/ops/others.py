"""Detection, signals, sequences and the classical models of ai.onnx.ml."""

from __future__ import annotations

import math

from brimful.model.work import OpKind
from brimful.readers.onnx.call import Call, Cost, Rule, axis_of, replaced
from brimful.readers.onnx.tensors import FLOAT, INT64, STRING
from brimful.readers.onnx.values import Misfit, Open, Shape, Value

_MOST_ITEMS = 512


def non_max_suppression(call: Call) -> Cost:
    """Keep the best boxes: at most so many of each class as it is allowed, or all."""
    boxes, found = call.need(0), call.need(1)
    if boxes.rank != 3 or found.rank != 3:
        raise Misfit(f"its boxes have the shape {list(boxes.shape)} and its scores {list(found.shape)}")
    batch, classes, count = found.shape
    most = call.number(2)
    kept = count if most is None else max(0, min(most, count))
    call.guess("how many boxes it keeps depends on the input; the most is assumed")
    call.out((batch * classes * kept, 3), INT64)
    return OpKind.OTHER, float(found.size * max(1, math.log2(count + 1)) + 10.0 * batch * classes * kept * kept)


def fourier(call: Call) -> Cost:
    """Transform to frequencies or back: 5 n log2 n flops, as the fast transform needs."""
    value, length = call.need(0), call.number(1)
    axis = call.integer("axis", 1)
    if call.version >= 20:
        given = call.maybe(2)
        axis = -2 if given is None else call.number(2) or 0
        if given is not None and given.data is None:
            raise Open("its axis is not known")
    axis = axis_of(axis, value.rank)
    if call.maybe(1) is not None and length is None:
        call.guess("the length of the transform is computed from the input's values")
    size = value.shape[axis] if length is None else length
    onesided, inverse = call.integer("onesided"), call.integer("inverse")
    bins = size // 2 + 1 if onesided and not inverse else size
    if onesided and inverse and length is None:
        bins = 2 * (size - 1)
    shape = (*replaced(value.shape, axis, bins)[:-1], 1 if onesided and inverse else 2)
    call.out(shape, value.type)
    rows = value.size // max(1, value.shape[axis] * value.shape[-1])
    return OpKind.OTHER, 5.0 * rows * size * math.log2(max(2, size))


def short_fourier(call: Call) -> Cost:
    """Transform stretches of a signal."""
    value, step, window, length = call.need(0), call.number(1), call.maybe(2), call.number(3)
    size = length if length is not None else window.shape[0] if window is not None and window.rank == 1 else None
    if step is None or size is None or step < 1 or size < 1 or value.rank not in (2, 3):
        raise Open("the step or the length of its stretches is not known")
    frames = max(0, (value.shape[1] - size) // step + 1)
    bins = size // 2 + 1 if call.integer("onesided", 1) else size
    call.out((value.shape[0], frames, bins, 2), value.type)
    return OpKind.OTHER, 5.0 * value.shape[0] * frames * size * math.log2(max(2, size))


def sequence_construct(call: Call) -> Cost:
    """Make a sequence of values."""
    _sequence(call, tuple(call.given()))
    return None


def _sequence(call: Call, items: tuple[Value, ...]) -> None:
    if len(items) > _MOST_ITEMS:
        raise Misfit(f"it makes a sequence of {len(items)} values")
    first = items[0] if items else None
    out = call.out(first.shape if first else (), first.type if first else FLOAT)
    out.items = items


def sequence_insert(call: Call) -> Cost:
    """Put a value into a sequence."""
    items, value = list(_items(call)), call.need(1)
    at = call.number(2) if call.maybe(2) is not None else len(items)
    if at is None or not -len(items) <= at <= len(items):
        raise Open("where it puts the value is not known")
    items.insert(at, value)
    _sequence(call, tuple(items))
    return None


def sequence_erase(call: Call) -> Cost:
    """Take a value out of a sequence."""
    items = list(_items(call))
    at = call.number(1) if call.maybe(1) is not None else -1
    if at is None or not -len(items) <= at < len(items):
        raise Open("which value it takes out is not known")
    del items[at]
    _sequence(call, tuple(items))
    return None


def sequence_at(call: Call) -> Cost:
    """Give one value of a sequence."""
    items, at = _items(call), call.number(1)
    if at is None and items and all(item.shape == items[0].shape for item in items):
        at = 0
    if at is None or not -len(items) <= at < len(items):
        raise Open("which value of the sequence it takes is not known")
    call.out(items[at].shape, items[at].type, items[at].data)
    return None


def sequence_length(call: Call) -> Cost:
    """Count the values of a sequence."""
    call.out((), INT64, (len(_items(call)),))
    return None


def _items(call: Call) -> tuple[Value, ...]:
    items = call.need(0).items
    if items is None:
        raise Misfit("its input is no sequence that is known")
    return items


def split_to_sequence(call: Call) -> Cost:
    """Cut a value into a sequence of parts."""
    value = call.need(0)
    axis = axis_of(call.integer("axis"), value.rank)
    split, length = call.maybe(1), value.shape[axis]
    lengths = call.numbers(1) if split is not None else (1,) * min(length, _MOST_ITEMS + 1)
    if lengths is None:
        raise Open("how it divides is not known")
    if split is not None and split.rank == 0:
        size = max(1, lengths[0])
        lengths = tuple(min(size, length - at) for at in range(0, min(length, size * _MOST_ITEMS), size))
    keep = split is not None or call.integer("keepdims", 1)
    shapes = [
        replaced(value.shape, axis, part) if keep else value.shape[:axis] + value.shape[axis + 1 :] for part in lengths
    ]
    _sequence(call, tuple(Value(shape, value.type) for shape in shapes))
    return OpKind.COPY, 0.0


def concat_from_sequence(call: Call) -> Cost:
    """Join the values of a sequence."""
    items = _items(call)
    if not items:
        raise Misfit("its sequence is empty")
    first = items[0]
    if call.integer("new_axis"):
        axis = axis_of(call.integer("axis"), first.rank + 1)
        call.out((*first.shape[:axis], len(items), *first.shape[axis:]), first.type)
        return OpKind.COPY, 0.0
    axis = axis_of(call.integer("axis"), first.rank)
    if any(item.rank != first.rank for item in items):
        raise Misfit("the values of its sequence do not join")
    call.out(replaced(first.shape, axis, sum(item.shape[axis] for item in items)), first.type)
    return OpKind.COPY, 0.0


def optional(call: Call) -> Cost:
    """Wrap or unwrap a value that may be absent."""
    value = call.maybe(0)
    if value is None:
        call.out((), FLOAT)
        return None
    out = call.out(value.shape, value.type, value.data)
    out.items = value.items
    return None


def optional_has(call: Call) -> Cost:
    """Say whether a value is there: one that a graph is given is taken to be."""
    value = call.maybe(0)
    call.out((), 9, (value is not None,) if value is None or value.constant else None)
    return None


def text(call: Call) -> Cost:
    """Work on text, element by element."""
    value = call.need(0)
    call.out(value.shape, STRING if call.node.op_type != "RegexFullMatch" else 9)
    return OpKind.OTHER, float(value.size)


def scaled(call: Call) -> Cost:
    """Do one thing to each element (Scaler, Normalizer, Binarizer, Imputer of ai.onnx.ml)."""
    value = call.need(0)
    call.out(value.shape, FLOAT)
    return OpKind.ELEMENTWISE, 2.0 * value.size


def _rows(value: Value) -> tuple[int, int]:
    """Return samples and features; a single sample has no dimension for samples."""
    if value.rank == 1:
        return 1, value.shape[0]
    if value.rank != 2:
        raise Misfit(f"its input has the shape {list(value.shape)}")
    return value.shape[0], value.shape[1]


def _classes(call: Call) -> int:
    for name in ("classlabels_int64s", "classlabels_ints", "classlabels_strings"):
        labels = call.node.attributes.get(name)
        if isinstance(labels, tuple) and labels:
            return len(labels)
    return 2


def _labels(call: Call) -> int:
    return STRING if call.node.attributes.get("classlabels_strings") else INT64


def linear(call: Call) -> Cost:
    """Multiply by the coefficients in the attributes (LinearClassifier, LinearRegressor, SVMs)."""
    rows, _ = _rows(call.need(0))
    numbers = call.node.attributes.get("coefficients")
    count = len(numbers) if isinstance(numbers, tuple) else 0
    if call.node.op_type.endswith("Classifier"):
        call.out((rows,), _labels(call))
        call.out((rows, _classes(call)), FLOAT)
    else:
        call.out((rows, call.integer("targets", 1)), FLOAT)
    call.weights = count
    return OpKind.MATMUL, 2.0 * rows * count


def trees(call: Call) -> Cost:
    """Walk down each tree: a comparison for each level, of a tree as deep as a balanced one."""
    rows, _ = _rows(call.need(0))
    ids = call.integers("nodes_treeids") or ()
    count = len(set(ids))
    depth = math.log2(len(ids) / count + 1) if count else 0.0
    if call.node.op_type.endswith("Classifier"):
        call.out((rows,), _labels(call))
        call.out((rows, _classes(call)), FLOAT)
    else:
        call.out((rows, call.integer("n_targets", 1)), FLOAT)
    call.weights = 2 * len(ids)
    return OpKind.OTHER, float(rows * count * depth)


def label_encoder(call: Call) -> Cost:
    """Exchange labels."""
    value = call.need(0)
    keys = next((name for name in call.node.attributes if name.startswith("values_")), "values_int64s")
    call.out(value.shape, {"values_strings": STRING, "values_floats": FLOAT}.get(keys, INT64))
    return OpKind.OTHER, float(value.size)


def array_features(call: Call) -> Cost:
    """Take some columns."""
    value, places = call.need(0), call.need(1)
    shape: Shape = (*value.shape[:-1], places.size) if value.rank > 1 else (1, places.size)
    call.out(shape, value.type)
    return OpKind.GATHER, 0.0


def zip_map(call: Call) -> Cost:
    """Give each sample's scores as a table."""
    value = call.need(0)
    call.out(value.shape, value.type)
    return OpKind.COPY, 0.0


def feature_vector(call: Call) -> Cost:
    """Put columns side by side."""
    values = call.given()
    rows = {_rows(value)[0] for value in values}
    if len(rows) != 1:
        raise Misfit("its inputs have different numbers of samples")
    call.out((rows.pop(), sum(_rows(value)[1] for value in values)), FLOAT)
    return OpKind.COPY, 0.0


def encoded(call: Call) -> Cost:
    """Write a row of zeros and a one for each category."""
    value = call.need(0)
    categories = call.node.attributes.get("cats_int64s") or call.node.attributes.get("cats_strings")
    if not isinstance(categories, tuple):
        raise Misfit("its categories are missing")
    call.out((*value.shape, len(categories)), FLOAT)
    return OpKind.COPY, 0.0


TABLE: dict[str, Rule] = {
    "NonMaxSuppression": non_max_suppression,
    "DFT": fourier,
    "STFT": short_fourier,
    "SequenceConstruct": sequence_construct,
    "SequenceEmpty": sequence_construct,
    "SequenceInsert": sequence_insert,
    "SequenceErase": sequence_erase,
    "SequenceAt": sequence_at,
    "SequenceLength": sequence_length,
    "SplitToSequence": split_to_sequence,
    "ConcatFromSequence": concat_from_sequence,
    "Optional": optional,
    "OptionalGetElement": optional,
    "OptionalHasElement": optional_has,
    **dict.fromkeys(("StringConcat", "RegexFullMatch"), text),
}
LEARNED: dict[str, Rule] = {
    **dict.fromkeys(("Scaler", "Normalizer", "Binarizer", "Imputer"), scaled),
    **dict.fromkeys(("LinearClassifier", "LinearRegressor", "SVMClassifier", "SVMRegressor"), linear),
    **dict.fromkeys(("TreeEnsembleClassifier", "TreeEnsembleRegressor"), trees),
    "LabelEncoder": label_encoder,
    "ArrayFeatureExtractor": array_features,
    "ZipMap": zip_map,
    "FeatureVectorizer": feature_vector,
    "OneHotEncoder": encoded,
}
