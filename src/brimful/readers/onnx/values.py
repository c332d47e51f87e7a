"""What is known of a value on its way through a graph, and of the memory that it takes."""

from __future__ import annotations

import math

from brimful.readers.onnx.tensors import MOST_ELEMENTS, MOST_RANK, TYPES, Numbers, Tensor

Shape = tuple[int, ...]
MOST_FOLDED = 1024  # elements that shape arithmetic keeps the values of


class Misfit(ValueError):  # noqa: N818 - read as "the node is a misfit"
    """A node that does not fit what it is given."""


class Open(Misfit):
    """A node whose shape depends on values that are known only when it runs."""


class Buffer:
    """Memory that values share, and how many names still hold it."""

    __slots__ = ("holders", "size")

    def __init__(self, size: int) -> None:
        self.size, self.holders = size, 0


class Value:
    """A value: its shape and type, its elements when they are few and known, and what is stored behind it.

    `constant`: it does not depend on the input. `bits`: how wide the stored weights behind it are. `guessed`: its
    shape is a bound or an assumption, since it depends on the input's values. `items`: the values of a sequence.
    """

    __slots__ = (
        "bits",
        "buffer",
        "constant",
        "data",
        "guessed",
        "items",
        "quantized",
        "shape",
        "size",
        "stored",
        "type",
    )

    def __init__(self, shape: Shape, kind: int, data: Numbers | None = None) -> None:
        self.shape, self.type, self.data = shape, kind, data
        self.size = math.prod(shape)
        self.constant = self.guessed = False
        self.bits = self.quantized = 0
        self.stored: tuple[Tensor, ...] = ()
        self.items: tuple[Value, ...] | None = None
        self.buffer: Buffer | None = None

    @property
    def rank(self) -> int:
        """Return how many dimensions it has."""
        return len(self.shape)

    @property
    def bytes(self) -> int:
        """Return its size at the type that the file gives it."""
        return (self.size * TYPES.get(self.type, (32, ""))[0] + 7) // 8


def checked(shape: Shape) -> Shape:
    """Return a shape that something can have."""
    if len(shape) > MOST_RANK:
        raise Misfit(f"a result would have {len(shape)} dimensions")
    for length in shape:
        if length < 0:
            raise Misfit(f"a result would have the shape {list(shape)!r:.80}")
    if math.prod(shape) > MOST_ELEMENTS:
        raise Misfit(f"a result of shape {list(shape)!r:.80} is larger than any memory")
    return shape


def constant(tensor: Tensor) -> Value:
    """Return what a stored tensor is at first."""
    value = Value(tensor.shape, tensor.type, tensor.values)
    value.constant = True
    value.stored = (tensor,)
    value.bits = TYPES[tensor.type][0]
    return value


def broadcast(*shapes: Shape) -> Shape:
    """Return the shape that shapes have together, by the rule of numpy."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    rank = max(map(len, shapes))
    out = [1] * rank
    for shape in shapes:
        offset = rank - len(shape)
        for axis, length in enumerate(shape):
            if length != 1:
                have = out[offset + axis]
                if have not in (1, length):
                    raise Misfit(f"the shapes {', '.join(str(list(s)) for s in shapes)} do not go together")
                out[offset + axis] = length
    return tuple(out)


def strides_of(shape: Shape) -> list[int]:
    """Return how far apart the elements of each dimension are, in elements."""
    strides, step = [0] * len(shape), 1
    for axis in range(len(shape) - 1, -1, -1):
        strides[axis] = step
        step *= shape[axis]
    return strides


def places(shape: Shape, strides: list[int], start: int = 0) -> list[int]:
    """Return where the elements of a view of that shape lie; only for shapes of few elements."""
    found = [start]
    for length, stride in zip(shape, strides, strict=True):
        found = [place + stride * at for place in found for at in range(length)]
    return found


def spread(data: Numbers, shape: Shape, target: Shape) -> Numbers:
    """Return the elements of a value as broadcasting to the target repeats them."""
    if shape == target:
        return data
    if len(data) == 1:
        return data * math.prod(target)
    gap = len(target) - len(shape)
    strides = [0] * gap + [
        0 if length == 1 else stride for length, stride in zip(shape, strides_of(shape), strict=True)
    ]
    return tuple(data[place] for place in places(target, strides))
