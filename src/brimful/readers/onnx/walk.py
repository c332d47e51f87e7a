"""The walk over a graph: each node's rule is asked for its shapes and its cost, in the order in which they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brimful.model.work import OpKind
from brimful.readers.onnx.call import Call, Cost
from brimful.readers.onnx.control import RULES as CONTROL
from brimful.readers.onnx.control import Control
from brimful.readers.onnx.dims import Dims
from brimful.readers.onnx.frames import Frame
from brimful.readers.onnx.ledger import Ledger
from brimful.readers.onnx.messages import Function, Graph, Info, Model, Node, Reference
from brimful.readers.onnx.ops import RANDOM, rule_of
from brimful.readers.onnx.order import captured, check_names, last_uses, ordered, title
from brimful.readers.onnx.tensors import FLOAT, FLOATS, QUANTIZED
from brimful.readers.onnx.values import Misfit, Open, Value, checked, constant
from brimful.readers.onnx.wire import Damaged

_MOST_VISITS = 200_000  # nodes run through, functions and their copies included
_MOST_FOLDED = 4_000_000  # elements of shape arithmetic, in all
_MOST_DEPTH = 48
_PRODUCTS = frozenset((OpKind.CONV, OpKind.GROUPED, OpKind.MATMUL, OpKind.ATTENTION, OpKind.RECURRENT))
_PARTIAL = frozenset((OpKind.COPY, OpKind.GATHER))
_WEIGHTS = FLOATS | QUANTIZED
_SHAPES = frozenset((6, 7, 9))
_FIXED_BY_DIMS = frozenset(("Shape", "Size"))


class Walk:
    """A walk over one model, which leaves its sums in `ledger`; `shapes` is filled when it is given."""

    def __init__(self, model: Model, dims: Dims, shapes: dict[str, tuple[int, ...]] | None = None) -> None:
        self._model, self._dims, self._shapes = model, dims, shapes
        self._visits = self._folded = 0
        self.ledger = Ledger()

    def run(self, graph: Graph) -> None:
        """Walk over the model's main graph."""
        frame = self._frame(graph, None, self._model.opsets)
        for info in graph.inputs:
            if info.name not in graph.initializers:
                frame.values[info.name] = value = self._input(info)
                self.ledger.hold(value)
        if not graph.outputs and not graph.nodes:
            raise Damaged("its graph is empty")
        self._nodes(graph, frame, 0)
        for info in graph.outputs:
            found = frame.find(info.name)
            if found is None:
                raise Damaged(f"its output {info.name!r:.80} is given by nothing")
            self.ledger.use(found)

    def _input(self, info: Info) -> Value:
        if info.kind in ("tensor", "sparse") and info.dims is None:
            raise Damaged(f"its input {info.name!r:.80} has no shape, not even how many dimensions it has")
        value = Value(self._dims.shape(info), info.type)
        if info.kind == "sequence":
            value.items = (Value(value.shape, value.type),)
            self.ledger.note("a sequence as input is taken to hold one value", info.name[:80])
        return value

    def _frame(self, graph: Graph, parent: Frame | None, opsets: Mapping[str, int]) -> Frame:
        check_names(graph)
        infos = {info.name: info for info in graph.outputs} | graph.infos
        frame = Frame(parent, opsets, infos, self._dims)
        for name, tensor in graph.initializers.items():
            frame.values[name] = constant(tensor)
        return frame

    def _nodes(self, graph: Graph, frame: Frame, depth: int) -> None:
        """Run through the nodes, and let values go after their last use."""
        if depth > _MOST_DEPTH:
            raise Damaged("functions or graphs are nested without end")
        uses = {at: captured(node) for at, node in enumerate(graph.nodes) if node.attributes and node.graphs()}
        nodes = ordered(graph.nodes, frame, uses)
        last = last_uses(nodes, graph.outputs)
        values, ledger = frame.values, self.ledger
        inputs = {info.name for info in graph.inputs} if depth == 0 else set()
        mine = inputs | {name for node in nodes for name in node.outputs}
        ends: dict[int, list[str]] = {}
        for name, at in last.items():
            ends.setdefault(at, []).append(name)
        for at, node in enumerate(nodes):
            self._node(node, frame, depth)
            ledger = self.ledger
            for name in node.outputs:
                if name and name not in last and name in values:
                    ledger.release(values.pop(name))
            for name in ends.get(at, ()):
                if name in mine and name in values:
                    ledger.release(values.pop(name))

    def _node(self, node: Node, frame: Frame, depth: int) -> None:
        self._visits += 1
        if self._visits > _MOST_VISITS:
            raise Damaged(f"its functions and graphs come to more than {_MOST_VISITS:,} nodes")
        inputs: list[Value | None] = []
        for name in node.inputs:
            value = frame.find(name) if name else None
            if name and value is None:
                raise Damaged(f"the node {title(node)} needs {name!r:.80}, which nothing gives")
            inputs.append(value)
        if frame.attributes is not None:
            node = _resolved(node, frame.attributes)
        try:
            outputs = self._outputs(node, inputs, frame, depth)
        except Misfit as error:
            raise Damaged(f"the node {title(node)} does not fit: {error}") from error
        self._name(node, outputs, frame)

    def _name(self, node: Node, outputs: list[Value], frame: Frame) -> None:
        """Put what a node gives under its names, and let go what nobody named."""
        shapes = self._shapes
        for at, value in enumerate(outputs):
            name = node.outputs[at] if at < len(node.outputs) else ""
            if not name:
                self.ledger.release(value)
                continue
            frame.values[name] = value
            if value.data is not None:
                self._folded += len(value.data)
                value.data = value.data if self._folded <= _MOST_FOLDED else None
            if shapes is not None:
                shapes[name] = value.shape

    def _outputs(self, node: Node, inputs: list[Value | None], frame: Frame, depth: int) -> list[Value]:
        rule = rule_of(node.domain, node.op_type)
        if rule is None:
            inner = CONTROL.get(node.op_type) if not node.domain else None
            if inner is not None:
                self.ledger.op_types[node.op_type] += 1
                return inner(Control(self, node, inputs, frame, depth))
            function = self._function(node)
            if function is not None:
                return self._call(function, node, inputs, frame, depth)
            return self._unknown(node, inputs, frame)
        call = Call(node, inputs, frame.opsets.get(node.domain, 1), frame.declared)
        try:
            cost = rule(call)
        except Open as error:
            call.guess(str(error))
            cost = self._assumed(call, frame)
        except Misfit:
            if not any(value is not None and value.guessed for value in inputs):
                raise
            cost = self._assumed(call, frame)
        return self._settle(call, cost)

    def _settle(self, call: Call, cost: Cost) -> list[Value]:
        """Count what a node costs, and mark its outputs as what they are."""
        ledger, outputs = self.ledger, call.outputs
        given = [value for value in call.inputs if value is not None]
        ledger.op_types[name_of(call.node)] += 1
        if call.reason:
            ledger.note(call.reason, title(call.node))
        guessed = bool(call.reason) or any(value.guessed for value in given)
        if not guessed and _stands(call.node, given):
            if call.node.op_type not in _FIXED_BY_DIMS:
                _fold(given, outputs)
            for value in outputs:
                value.constant = True
            return outputs
        for value in given:
            if value.stored:
                ledger.use(value)
        for value in outputs:
            value.guessed = guessed
        if cost is None:
            self._share(given, outputs)
        else:
            _count(call, cost, given, ledger)
            for value in outputs:
                ledger.hold(value)
        return outputs

    def _share(self, given: list[Value], outputs: list[Value]) -> None:
        """Let a view hold the memory of what it is a view of."""
        for at, value in enumerate(outputs):
            source = given[0] if given and not at else None
            if source is None or source.buffer is None:
                self.ledger.hold(value)
            else:
                value.buffer = source.buffer
                value.quantized = source.quantized
                source.buffer.holders += 1

    def _unknown(self, node: Node, inputs: list[Value | None], frame: Frame) -> list[Value]:
        self.ledger.unknown[name_of(node)] = None
        call = Call(node, inputs, 1, frame.declared)
        return self._settle(call, self._assumed(call, frame, OpKind.UNKNOWN))

    def _assumed(self, call: Call, frame: Frame, kind: OpKind = OpKind.OTHER) -> Cost:
        """Give outputs of the declared shapes, or of the first input's."""
        call.outputs.clear()
        first = next((value for value in call.inputs if value is not None and not value.constant), None)
        for at, name in enumerate(call.node.outputs):
            declared = call.declared_shape(at)
            whole = declared is not None and None not in declared
            shape = checked(tuple(declared)) if whole else first.shape if first is not None else ()
            if not whole and name:
                call.guess("its result's shape is not known; that of its first input is assumed")
            call.out(shape, frame.declared.type(name) or (first.type if first is not None else FLOAT))
        return kind, float(sum(value.size for value in call.outputs))

    def _function(self, node: Node) -> Function | None:
        functions = self._model.functions
        if not functions:
            return None
        return functions.get((node.domain, node.op_type, node.overload)) or functions.get(
            (node.domain, node.op_type, "")
        )

    def _call(
        self, function: Function, node: Node, inputs: list[Value | None], frame: Frame, depth: int
    ) -> list[Value]:
        """Run through a function's nodes with the node's inputs under the function's names."""
        inner = self._frame(function.graph, None, function.opsets or frame.opsets)
        inner.attributes = {**function.defaults, **node.attributes}
        for name, value in zip(function.inputs, inputs, strict=False):
            if value is not None:
                inner.values[name] = value
        for name in function.inputs[len(inputs) :]:
            inner.values.setdefault(name, _absent())
        for name, value in zip(function.inputs, inputs, strict=False):
            if value is None:
                inner.values[name] = _absent()
        graph = Graph()
        graph.nodes = function.graph.nodes
        graph.outputs = [Info(name, "tensor", 0, None) for name in function.outputs]
        self._nodes(graph, inner, depth + 1)
        return self.results(graph, inner)

    def results(self, graph: Graph, frame: Frame) -> list[Value]:
        """Return what a graph within another gives; a value passed through is held once more."""
        made = {name for node in graph.nodes for name in node.outputs}
        found: list[Value] = []
        for info in graph.outputs:
            value = frame.find(info.name)
            if value is None:
                raise Damaged(f"the output {info.name!r:.80} of a graph or function is given by nothing")
            if info.name not in made and value.buffer is not None:
                value.buffer.holders += 1
            made.discard(info.name)
            found.append(value)
        return found

    def inside(self, graph: Graph, inputs: Sequence[Value], frame: Frame, depth: int) -> list[Value]:
        """Run through a graph within a node, and return what it gives."""
        inner = self._frame(graph, frame, frame.opsets)
        for info, value in zip(graph.inputs, inputs, strict=False):
            inner.values[info.name] = value
        self._nodes(graph, inner, depth + 1)
        return self.results(graph, inner)


def _absent() -> Value:
    """Return what stands for an input that a function is not given."""
    value = Value((), FLOAT)
    value.constant = True
    return value


def _resolved(node: Node, attributes: Mapping[str, Any]) -> Node:
    """Return a node whose attributes are those of the function around it where they refer to them."""
    if not any(isinstance(value, Reference) for value in node.attributes.values()):
        return node
    copy = Node()
    for slot in ("inputs", "outputs", "name", "op_type", "domain", "overload"):
        setattr(copy, slot, getattr(node, slot))
    for name, value in node.attributes.items():
        real = attributes.get(value.name) if isinstance(value, Reference) else value
        if real is not None and not isinstance(real, Reference):
            copy.attributes[name] = real
    return copy


def name_of(node: Node) -> str:
    """Return an operation's name, with its domain when it is not a standard one."""
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def _stands(node: Node, given: list[Value]) -> bool:
    """Say whether what a node gives is the same whatever the input holds."""
    if node.op_type in _FIXED_BY_DIMS:
        return True
    return node.op_type not in RANDOM and all(value.constant for value in given)


def _fold(given: list[Value], outputs: list[Value]) -> None:
    """Let constants made of constants remember what is stored behind them."""
    stored: list[Any] = []
    bits = 0
    for at, value in enumerate(given):
        if at == 0 or value.type not in _SHAPES or value.data is None:
            stored.extend(tensor for tensor in value.stored if tensor not in stored)
            bits = bits or value.bits
    for value in outputs:
        if stored and not value.stored:
            value.stored, value.bits = tuple(stored), bits


def _count(call: Call, cost: tuple[OpKind, float], given: list[Value], ledger: Ledger) -> None:
    kind, flops = cost
    weights = read = bits = most = 0
    for value in given:
        if not value.constant:
            read += value.size
            if value.quantized and kind in _PRODUCTS:
                bits = bits or value.quantized
        elif value.stored and value.type in _WEIGHTS:
            weights += value.size
            if value.size > most:
                most, bits = value.size, value.bits
        elif value.type not in _SHAPES or value.data is None:
            read += value.size
    write = sum(value.size for value in call.outputs)
    if call.weights is not None:
        weights = call.weights
    if kind in _PARTIAL:
        read = min(read, write + sum(value.size for value in given[1:2]))
    ledger.add((kind, name_of(call.node), flops, weights, read, write, 0 if bits == 32 else bits))
