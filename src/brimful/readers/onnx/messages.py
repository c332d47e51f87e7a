"""The messages of an ONNX file that say what is computed: model, graph, node, attribute, types, functions.

Fields by their numbers in onnx.proto (github.com/onnx/onnx, Apache-2.0). Documentation, training information and
whatever the reader has no use for are skipped.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any

from brimful.readers.onnx.tensors import Folder, Tensor, tensor_of
from brimful.readers.onnx.wire import FIXED32, LENGTH, VARINT, Damaged, Part, packed_floats, packed_numbers, signed

MOST_NODES = 200_000  # of a file; the largest exports have a quarter of it
_MOST_TENSORS = 200_000
_MOST_NUMBERS = 8_000_000  # in attributes; the largest forests of trees have that many
_MOST_DEPTH = 24  # graphs within graphs

Dim = int | str | None
Names = tuple[str, ...]


_NODE_TEXTS = {3: "name", 4: "op_type", 7: "domain", 8: "overload"}


class Info:
    """What a graph declares of a value: its kind, its type, its dimensions as numbers, names or nothing."""

    __slots__ = ("dims", "kind", "name", "type")

    def __init__(self, name: str, kind: str, element: int, dims: tuple[Dim, ...] | None) -> None:
        self.name, self.kind, self.type, self.dims = name, kind, element, dims


class Reference:
    """An attribute whose value is an attribute of the function around it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Node:
    """One operation as the file has it."""

    __slots__ = ("attributes", "domain", "inputs", "name", "op_type", "outputs", "overload")

    def __init__(self) -> None:
        self.inputs: Names = ()
        self.outputs: Names = ()
        self.name = self.op_type = self.domain = self.overload = ""
        self.attributes: dict[str, Any] = {}

    def graphs(self) -> list[Graph]:
        """Return the graphs within it."""
        return [value for value in self.attributes.values() if isinstance(value, Graph)]


class Graph:
    """Nodes and what they work on."""

    __slots__ = ("infos", "initializers", "inputs", "name", "nodes", "outputs")

    def __init__(self) -> None:
        self.name = ""
        self.nodes: list[Node] = []
        self.initializers: dict[str, Tensor] = {}
        self.inputs: list[Info] = []
        self.outputs: list[Info] = []
        self.infos: dict[str, Info] = {}


class Function:
    """A function of the model's own: nodes with names for what goes in and out."""

    __slots__ = ("defaults", "graph", "inputs", "opsets", "outputs")

    def __init__(self) -> None:
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.defaults: dict[str, Any] = {}
        self.opsets: dict[str, int] = {}
        self.graph = Graph()


class Model:
    """A whole file."""

    __slots__ = ("functions", "graph", "opsets", "producer")

    def __init__(self) -> None:
        self.graph: Graph | None = None
        self.opsets: dict[str, int] = {}
        self.functions: dict[tuple[str, str, str], Function] = {}
        self.producer = ""


def domain_of(text: str) -> str:
    """Return a domain's name; the standard one has two."""
    return "" if text == "ai.onnx" else text


class Parser:
    """Reads the messages of one file."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._nodes = self._tensors = self._numbers = 0

    def model(self, part: Part) -> Model:
        """Read a ModelProto."""
        model = Model()
        for number, wire, start, end in part.fields():
            if wire != LENGTH:
                if number in (7, 8, 25):
                    raise Damaged(f"field {number} of the model has the wire type {wire}: it is no ONNX file")
            elif number == 2:
                model.producer = part.text(start, min(end, start + 200))
            elif number == 7:
                if model.graph is not None:
                    raise Damaged("it has two graphs")
                model.graph = self._graph(part.part(start, end), 0)
            elif number == 8:
                domain, version = _opset(part.part(start, end))
                model.opsets[domain] = version
            elif number == 25:
                self._function(part.part(start, end), model.functions)
        return model

    def _graph(self, part: Part, depth: int) -> Graph:
        if depth > _MOST_DEPTH:
            raise Damaged(f"graphs are nested more than {_MOST_DEPTH} deep")
        graph = Graph()
        for number, wire, start, end in part.fields():
            if number == 1 and wire == LENGTH:
                graph.nodes.append(self._node(part.part(start, end), depth))
            elif number == 2 and wire == LENGTH:
                graph.name = part.text(start, min(end, start + 200))
            elif number in (5, 15) and wire == LENGTH:
                self._initializer(graph, part.part(start, end), sparse=number == 15)
            elif number in (11, 12) and wire == LENGTH:
                (graph.inputs if number == 11 else graph.outputs).append(_info(part.part(start, end)))
            elif number == 13 and wire == LENGTH:
                info = _info(part.part(start, end))
                graph.infos[info.name] = info
            elif number in (1, 5, 11, 12, 13):
                raise Damaged(f"field {number} of a graph has the wire type {wire}")
        return graph

    def _initializer(self, graph: Graph, part: Part, *, sparse: bool) -> None:
        tensor = self._sparse(part) if sparse else self._tensor(part)
        if tensor.name in graph.initializers:
            raise Damaged(f"the name {tensor.name!r:.80} is given to two initializers")
        graph.initializers[tensor.name] = tensor

    def _tensor(self, part: Part) -> Tensor:
        self._tensors += 1
        if self._tensors > _MOST_TENSORS:
            raise Damaged(f"it holds more than {_MOST_TENSORS:,} tensors")
        return tensor_of(part, self._folder)

    def _sparse(self, part: Part) -> Tensor:
        """Read a SparseTensorProto as what it stands for: a dense tensor whose stored size is that of its values."""
        dims: list[int] = []
        values: Tensor | None = None
        for number, wire, start, end in part.fields():
            if number == 1 and wire == LENGTH:
                values = self._tensor(part.part(start, end))
            elif number == 3:
                dims.extend(packed_numbers(part, wire, start, end))
        if values is None or any(length < 0 for length in dims):
            raise Damaged("a sparse tensor has no values or a negative dimension")
        tensor = Tensor(values.name, tuple(dims), values.type)
        tensor.size = values.size
        return tensor

    def _node(self, part: Part, depth: int) -> Node:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise Damaged(f"it has more than {MOST_NODES:,} nodes, which is more than brimful reads")
        node, inputs, outputs, intern = Node(), [], [], sys.intern
        for number, wire, start, end in part.fields():
            if wire != LENGTH:
                if number <= 5:
                    raise Damaged(f"field {number} of a node has the wire type {wire}")
            elif number == 1:
                inputs.append(intern(part.text(start, end)))
            elif number == 2:
                outputs.append(intern(part.text(start, end)))
            elif number == 5:
                name, value = self._attribute(part.part(start, end), depth)
                node.attributes[name] = value
            elif number in _NODE_TEXTS:
                setattr(node, _NODE_TEXTS[number], intern(part.text(start, min(end, start + 200))))
        node.inputs, node.outputs, node.domain = tuple(inputs), tuple(outputs), domain_of(node.domain)
        return node

    def _attribute(self, part: Part, depth: int) -> tuple[str, Any]:
        name, reference, kind = "", "", 0
        single: dict[int, Any] = {}
        lists: dict[int, list[Any]] = {}
        for number, wire, start, end in part.fields():
            if number == 1 and wire == LENGTH:
                name = sys.intern(part.text(start, end))
            elif number == 20 and wire == VARINT:
                kind = start
            elif number == 21 and wire == LENGTH:
                reference = part.text(start, end)
            elif number in (7, 8):
                read: Callable[..., list[Any]] = packed_floats if number == 7 else packed_numbers
                numbers = read(part, wire, start, end)
                self._numbers += len(numbers)
                if self._numbers > _MOST_NUMBERS:
                    raise Damaged(f"its attributes hold more than {_MOST_NUMBERS:,} numbers")
                lists.setdefault(number, []).extend(numbers)
            elif number in (9, 10, 11) and wire == LENGTH:
                lists.setdefault(number, []).append(self._value(part, number - 5, wire, start, end, depth))
            elif 2 <= number <= 6 or number == 22:
                single[number] = self._value(part, number, wire, start, end, depth)
        if reference:
            return name, Reference(reference)
        return name, _chosen(kind, single, lists)

    def _value(self, part: Part, number: int, wire: int, start: int, end: int, depth: int) -> Any:
        """Read one value of an attribute, by the number of its field."""
        expected = {2: FIXED32, 3: VARINT}.get(number, LENGTH)
        if wire != expected:
            raise Damaged(f"field {number} of an attribute has the wire type {wire}")
        if number == 2:
            return struct.unpack("<f", part.slice(start, end))[0]
        if number == 3:
            return signed(start)
        if number == 4:
            return part.slice(start, min(end, start + 100_000))
        if number == 5:
            return self._tensor(part.part(start, end))
        if number == 22:
            return self._sparse(part.part(start, end))
        return self._graph(part.part(start, end), depth + 1)

    def _function(self, part: Part, table: dict[tuple[str, str, str], Function]) -> None:
        function, texts = Function(), {1: "", 10: "", 13: ""}
        for number, wire, start, end in part.fields():
            if wire != LENGTH:
                continue
            if number in texts:
                texts[number] = part.text(start, end)
            elif number in (4, 5):
                (function.inputs if number == 4 else function.outputs).append(sys.intern(part.text(start, end)))
            elif number == 7:
                function.graph.nodes.append(self._node(part.part(start, end), 0))
            elif number == 9:
                key, version = _opset(part.part(start, end))
                function.opsets[key] = version
            elif number == 11:
                key, value = self._attribute(part.part(start, end), 0)
                function.defaults[key] = value
            elif number == 12:
                info = _info(part.part(start, end))
                function.graph.infos[info.name] = info
        table[domain_of(texts[10]), texts[1], texts[13]] = function


# AttributeProto.AttributeType -> the field that holds such a value
_FIELD_OF = {1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 6: 7, 7: 8, 8: 9, 9: 10, 10: 11, 11: 22}
_DEFAULTS: dict[int, Any] = {2: 0.0, 3: 0, 4: b""}  # what proto3 leaves out


def _chosen(kind: int, single: dict[int, Any], lists: dict[int, list[Any]]) -> Any:
    """Return the value that an attribute's type names, or the one that is there."""
    number = _FIELD_OF.get(kind, 0)
    if 7 <= number <= 11:
        return tuple(lists.get(number, ()))
    if number:
        return single.get(number, _DEFAULTS.get(number))
    if lists:
        return tuple(next(iter(lists.values())))
    return next(iter(single.values()), None)


def _opset(part: Part) -> tuple[str, int]:
    domain, version = "", 0
    for number, wire, start, end in part.fields():
        if number == 1 and wire == LENGTH:
            domain = domain_of(part.text(start, end))
        elif number == 2 and wire == VARINT:
            version = signed(start)
    return domain, version


def _info(part: Part) -> Info:
    info = Info("", "tensor", 0, None)
    for number, wire, start, end in part.fields():
        if number == 1 and wire == LENGTH:
            info.name = sys.intern(part.text(start, end))
        elif number == 2 and wire == LENGTH:
            _type(part.part(start, end), info, 0)
    return info


_TYPE_KINDS = {1: "tensor", 4: "sequence", 5: "map", 7: "opaque", 8: "sparse", 9: "optional"}


def _type(part: Part, info: Info, depth: int) -> None:
    """Read a TypeProto: of a sequence or an optional value, the type of what is within, one level after another."""
    if depth > _MOST_DEPTH:
        raise Damaged("types are nested too deeply")
    for number, wire, start, end in part.fields():
        if wire != LENGTH or number not in _TYPE_KINDS:
            continue
        if depth == 0:
            info.kind = _TYPE_KINDS[number]
        inner = part.part(start, end)
        if number in (1, 8):
            _tensor_type(inner, info)
        elif number in (4, 9):
            for field, kind, first, last in inner.fields():
                if field == 1 and kind == LENGTH:
                    _type(inner.part(first, last), info, depth + 1)


def _tensor_type(part: Part, info: Info) -> None:
    for number, wire, start, end in part.fields():
        if number == 1 and wire == VARINT:
            info.type = start
        elif number == 2 and wire == LENGTH:
            shape = part.part(start, end)
            info.dims = tuple(
                _dim(shape.part(first, last))
                for field, kind, first, last in shape.fields()
                if field == 1 and kind == LENGTH
            )


def _dim(part: Part) -> Dim:
    dim: Dim = None
    for number, wire, start, end in part.fields():
        if number == 1 and wire == VARINT:
            dim = signed(start)
        elif number == 2 and wire == LENGTH:
            dim = part.text(start, min(end, start + 500)) or None
    return dim
