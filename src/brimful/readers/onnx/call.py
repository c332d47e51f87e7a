"""One node at work: its inputs and attributes, read with care, and the outputs that its operation gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from brimful.model.work import OpKind
from brimful.readers.onnx.messages import Node
from brimful.readers.onnx.tensors import Numbers, Tensor
from brimful.readers.onnx.values import MOST_FOLDED, Misfit, Shape, Value, checked

Cost = tuple[OpKind, float] | None  # None: it costs nothing, its outputs are its first input seen otherwise
Rule = Callable[["Call"], Cost]
_MOST_INT = 2**63 - 1


class Call:
    """What a rule is given, and where it leaves what it found."""

    __slots__ = ("declared", "inputs", "node", "outputs", "reason", "version", "weights")

    def __init__(self, node: Node, inputs: list[Value | None], version: int, declared: Mapping[str, Any]) -> None:
        self.node, self.inputs, self.version, self.declared = node, inputs, version, declared
        self.outputs: list[Value] = []
        self.reason = ""  # why its shape depends on values, when it does
        self.weights: int | None = None  # weights that it reads, when these are not all it is given

    def need(self, at: int) -> Value:
        """Return an input that must be there."""
        if at < len(self.inputs):
            value = self.inputs[at]
            if value is not None:
                return value
        raise Misfit(f"its input {at} is missing")

    def maybe(self, at: int) -> Value | None:
        """Return an input, or None when it is left out."""
        return self.inputs[at] if at < len(self.inputs) else None

    def given(self) -> list[Value]:
        """Return the inputs that are there."""
        return [value for value in self.inputs if value is not None]

    def wants(self, at: int) -> bool:
        """Say whether somebody uses an output."""
        return at < len(self.node.outputs) and self.node.outputs[at] != ""

    def has(self, name: str) -> bool:
        """Say whether an attribute is given."""
        return self.node.attributes.get(name) is not None

    def integer(self, name: str, default: int = 0) -> int:
        """Return an attribute that is a whole number."""
        value = self.node.attributes.get(name, default)
        if not isinstance(value, int):
            raise Misfit(f"its attribute {name} is no whole number")
        return value

    def real(self, name: str, default: float = 0.0) -> float:
        """Return an attribute that is a number."""
        value = self.node.attributes.get(name, default)
        if not isinstance(value, int | float):
            raise Misfit(f"its attribute {name} is no number")
        return float(value)

    def integers(self, name: str, default: Shape | None = None) -> Shape | None:
        """Return an attribute that is a list of whole numbers."""
        value = self.node.attributes.get(name)
        if value is None:
            return default
        if not isinstance(value, tuple) or not all(isinstance(item, int) for item in value):
            raise Misfit(f"its attribute {name} is no list of whole numbers")
        return value

    def text(self, name: str, default: str = "") -> str:
        """Return an attribute that is text."""
        value = self.node.attributes.get(name)
        if value is None:
            return default
        if not isinstance(value, bytes):
            raise Misfit(f"its attribute {name} is no text")
        return value.decode("utf-8", "backslashreplace")

    def tensor(self, name: str) -> Tensor | None:
        """Return an attribute that is a tensor."""
        value = self.node.attributes.get(name)
        return value if isinstance(value, Tensor) else None

    def numbers(self, at: int) -> Shape | None:
        """Return the whole numbers that an input is known to hold."""
        value = self.maybe(at)
        if value is None or value.data is None:
            return None
        return whole(value.data)

    def number(self, at: int) -> int | None:
        """Return the one whole number that an input is known to hold."""
        numbers = self.numbers(at)
        return numbers[0] if numbers is not None and len(numbers) == 1 else None

    def listed(self, name: str, at: int) -> Shape | None:
        """Return whole numbers that older versions have as an attribute and newer ones as an input."""
        return self.integers(name) if self.has(name) else self.numbers(at)

    def out(self, shape: Shape, kind: int, data: Numbers | None = None) -> Value:
        """Add the next output; data beyond what shape arithmetic needs is let go."""
        shape = checked(shape)
        if data is not None and (len(data) > MOST_FOLDED or not _sound(data)):
            data = None
        value = Value(shape, kind, data)
        self.outputs.append(value)
        return value

    def like(self, at: int = 0, data: Numbers | None = None) -> Value:
        """Add an output of an input's shape and type."""
        source = self.need(at)
        return self.out(source.shape, source.type, data)

    def aside(self, *places: int) -> None:
        """Mark what is stored for some inputs as no parameters: scales, zero points, running statistics."""
        for at in places:
            value = self.maybe(at)
            for tensor in value.stored if value is not None else ():
                tensor.side = True

    def guess(self, reason: str) -> None:
        """Note that the outputs' shapes are bounds or assumptions, and why."""
        self.reason = self.reason or reason

    def declared_shape(self, at: int) -> Any:
        """Return what the file declares of an output's shape: numbers, and None where it says nothing; or None."""
        return self.declared.get(self.node.outputs[at]) if at < len(self.node.outputs) else None


def _sound(data: Numbers) -> bool:
    """Say whether all numbers are such as ONNX's types hold: arithmetic on lies must not grow without end."""
    return all(-_MOST_INT - 1 <= number <= _MOST_INT or isinstance(number, float) for number in data)


def whole(data: Numbers) -> Shape | None:
    """Return numbers as integers, or None when some are not finite."""
    try:
        return tuple(int(number) for number in data)
    except (OverflowError, ValueError):
        return None


def axis_of(axis: int, rank: int) -> int:
    """Return an axis counted from the front."""
    if not -rank <= axis < rank:
        raise Misfit(f"it names the axis {axis} of a value with {rank} dimensions")
    return axis + rank if axis < 0 else axis


def axes_of(axes: Shape, rank: int) -> Shape:
    """Return axes counted from the front."""
    return tuple(axis_of(axis, rank) for axis in axes)


def replaced(shape: Shape, axis: int, length: int) -> Shape:
    """Return a shape with one length changed."""
    return (*shape[:axis], length, *shape[axis + 1 :])


def product(shape: Shape) -> int:
    """Return how many elements a shape has."""
    return math.prod(shape)
