"""Branches and loops: graphs within a node, of which it may depend on values which run, and how often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from brimful.readers.onnx.call import Call, axis_of, replaced
from brimful.readers.onnx.frames import Frame
from brimful.readers.onnx.ledger import Ledger
from brimful.readers.onnx.messages import Graph, Node
from brimful.readers.onnx.order import title
from brimful.readers.onnx.tensors import BOOL, INT64
from brimful.readers.onnx.values import Misfit, Shape, Value, checked

_MOST_TRIPS = 10**9
_UNKNOWN_TRIPS = "how often it loops depends on the input; once is assumed"
_UNKNOWN_BRANCH = "which branch it takes depends on the input; the costlier is assumed"
_BOUND_TRIPS = "how often it loops depends on the input; the most is assumed"
_GROWS = "what it carries changes its shape from one loop to the next; that of the first is assumed"


class Runs(Protocol):
    """What branches and loops need of the walk."""

    ledger: Ledger

    def inside(self, graph: Graph, inputs: Sequence[Value], frame: Frame, depth: int) -> list[Value]:
        """Run through a graph within a node, and return what it gives."""
        ...


class Control(Call):
    """A node with graphs within it."""

    __slots__ = ("depth", "frame", "walk")

    def __init__(self, walk: Runs, node: Node, inputs: list[Value | None], frame: Frame, depth: int) -> None:
        super().__init__(node, inputs, frame.opsets.get("", 1), frame.declared)
        self.walk, self.frame, self.depth = walk, frame, depth

    def graph(self, name: str) -> Graph:
        """Return an attribute that is a graph."""
        value = self.node.attributes.get(name)
        if not isinstance(value, Graph):
            raise Misfit(f"its attribute {name} is no graph")
        return value

    def run(self, graph: Graph, inputs: Sequence[Value]) -> list[Value]:
        """Run through a graph within it."""
        return self.walk.inside(graph, inputs, self.frame, self.depth)

    def note(self, what: str) -> None:
        """Remember what was assumed of it."""
        self.walk.ledger.note(what, title(self.node))


def branch(control: Control) -> list[Value]:
    """Run the branch that the condition says, or the costlier of both."""
    condition = control.need(0).data
    graphs = [control.graph("then_branch"), control.graph("else_branch")]
    if condition is not None and len(condition) == 1:
        return control.run(graphs[0 if condition[0] else 1], ())
    walk, ledger = control.walk, control.walk.ledger
    tried: list[tuple[Ledger, list[Value]]] = []
    for graph in graphs:
        walk.ledger = ledger.branch()
        tried.append((walk.ledger, control.run(graph, ())))
    walk.ledger = ledger
    chosen = 0 if tried[0][0].flops >= tried[1][0].flops else 1
    ledger.merge(tried[chosen][0])
    for tensor in tried[1 - chosen][0].used.values():
        ledger.used[id(tensor)] = tensor  # both branches' weights are loaded
    control.note(_UNKNOWN_BRANCH)
    other = tried[1 - chosen][1]
    for value, rival in zip(tried[chosen][1], other, strict=False):
        if value.shape != rival.shape:
            value.guessed = True
    return tried[chosen][1]


def loop(control: Control) -> list[Value]:
    """Run the body as often as it is known to run, else once."""
    body = control.graph("body")
    carried = control.inputs[2:]
    states = [_forgotten(value) for value in carried if value is not None]
    if len(states) != len(carried) or len(body.inputs) != len(states) + 2 or len(body.outputs) <= len(states):
        raise Misfit(f"its body takes {len(body.inputs)} values and gives {len(body.outputs)}")
    trips = _trips(control, body)
    times = 1 if trips is None else trips
    count, condition = Value((), INT64), Value((), BOOL)
    results = _repeated(control, body, [count, condition, *states], times)[1:]
    outputs = []
    for start, end in zip(states, results, strict=False):
        if start.shape != end.shape and trips != 1:
            control.note(_GROWS)
            end.guessed = True
        outputs.append(start if trips == 0 else end)
    outputs.extend(_stacked(control, value, 0, times, guessed=trips is None) for value in results[len(states) :])
    return outputs


def _trips(control: Control, body: Graph) -> int | None:
    """Return how often a loop runs, or None; a condition that stays as it was does not end it."""
    most, condition = control.number(0), control.numbers(1)
    given = control.maybe(1) is not None
    last, asked = body.outputs[0].name, body.inputs[1].name
    if given and condition is not None and condition[:1] == (0,):
        return 0
    stays = last == asked or not given or _is_true(body, last) or _passes(body, last, asked)
    if most is None or not 0 <= most <= _MOST_TRIPS:
        control.note(_UNKNOWN_TRIPS)
        return None
    if not stays:
        control.note(_BOUND_TRIPS)
    return most


def _passes(body: Graph, last: str, asked: str) -> bool:
    return any(
        node.op_type == "Identity" and node.inputs == (asked,) and node.outputs == (last,) for node in body.nodes
    )


def _is_true(body: Graph, name: str) -> bool:
    tensor = body.initializers.get(name)
    for node in body.nodes:
        if node.op_type == "Constant" and node.outputs == (name,):
            tensor = node.attributes.get("value")
    values = getattr(tensor, "values", None)
    return values is not None and len(values) == 1 and bool(values[0])


def _repeated(control: Control, body: Graph, inputs: list[Value], trips: int) -> list[Value]:
    ledger = control.walk.ledger
    before = ledger.times
    ledger.times = min(before * trips, 2**60)
    try:
        return control.run(body, inputs)
    finally:
        ledger.times = before


def _forgotten(value: Value) -> Value:
    """Return a value as a loop carries it: of the same shape, with elements that change."""
    copy = Value(value.shape, value.type)
    copy.guessed, copy.buffer, copy.items = value.guessed, value.buffer, value.items
    return copy


def _stacked(control: Control, value: Value, axis: int, trips: int, *, guessed: bool) -> Value:
    """Return what the loop collects: each run's result along a new axis."""
    shape = checked((*value.shape[:axis], trips, *value.shape[axis:]))
    control.walk.ledger.release(value)
    out = Value(shape, value.type)
    out.guessed = guessed or value.guessed
    control.walk.ledger.hold(out)
    return out


def scan(control: Control) -> list[Value]:
    """Run the body for each slice of the inputs."""
    body, count = control.graph("body"), control.integer("num_scan_inputs")
    if control.version < 9:
        raise Misfit("it is a Scan of opset 8, which had another form: convert the model to a newer opset")
    given = control.given()
    states = [_forgotten(value) for value in given[: len(given) - count]]
    if not 1 <= count <= len(given) or len(body.inputs) != len(given) or len(body.outputs) < len(states):
        raise Misfit(f"its body takes {len(body.inputs)} values, and it gives {len(given)}")
    axes = control.integers("scan_input_axes") or (0,) * count
    slices, lengths = _slices(given[-count:], axes)
    if len(set(lengths)) > 1 and not any(value.guessed for value in given):
        raise Misfit(f"its inputs have {', '.join(map(str, lengths))} slices")
    results = _repeated(control, body, [*states, *slices], lengths[0])
    out_axes = control.integers("scan_output_axes") or (0,) * (len(results) - len(states))
    outputs = list(results[: len(states)])
    for value, axis in zip(results[len(states) :], out_axes, strict=False):
        outputs.append(_stacked(control, value, axis_of(axis, value.rank + 1), lengths[0], guessed=False))
    return outputs


def _slices(values: list[Value], axes: Shape) -> tuple[list[Value], list[int]]:
    if len(axes) != len(values):
        raise Misfit("its axes do not fit its inputs")
    slices, lengths = [], []
    for value, axis in zip(values, axes, strict=True):
        at = axis_of(axis, value.rank)
        lengths.append(value.shape[at])
        slices.append(Value(replaced(value.shape, at, 0)[:at] + value.shape[at + 1 :], value.type))
    return slices, lengths


def sequence_map(control: Control) -> list[Value]:
    """Run the body for each value of a sequence."""
    body, first = control.graph("body"), control.need(0)
    items = first.items or ()
    inputs = [value.items[0] if value.items else value for value in control.given()]
    if len(inputs) != len(body.inputs):
        raise Misfit(f"its body takes {len(body.inputs)} values")
    results = _repeated(control, body, inputs, len(items))
    for value in results:
        value.items = (Value(value.shape, value.type),) * len(items)
    return results


RULES: dict[str, Callable[[Control], list[Value]]] = {
    "If": branch,
    "Loop": loop,
    "Scan": scan,
    "SequenceMap": sequence_map,
}
