"""Recurrent cells: the products of each step. What is elementwise within a cell is small beside them, and left out."""

from __future__ import annotations

from functools import partial

from brimful.model.work import OpKind
from brimful.readers.onnx.call import Call, Cost, Rule
from brimful.readers.onnx.values import Misfit


def recurrent(call: Call, *, gates: int, states: int) -> Cost:
    """Step through a sequence with so many gates and states."""
    value, weights, recurrence = call.need(0), call.need(1), call.need(2)
    if value.rank != 3 or weights.rank != 3 or recurrence.rank != 3:
        raise Misfit(f"it steps over shape {list(value.shape)} with weights of shape {list(weights.shape)}")
    batch_first = call.integer("layout")
    steps, batch, width = value.shape
    if batch_first:
        steps, batch = batch, steps
    directions = 2 if call.text("direction", "forward") == "bidirectional" else 1
    packed = call.node.op_type == "DynamicQuantizeLSTM"
    hidden = call.integer("hidden_size") or recurrence.shape[2]
    given = weights.shape[1] if packed else weights.shape[2]
    if given != width or weights.shape[0] != directions:
        raise Misfit(f"its weights of shape {list(weights.shape)} do not fit the shape {list(value.shape)}")
    out = (batch, steps, directions, hidden) if batch_first else (steps, directions, batch, hidden)
    call.out(out, value.type)
    state = (batch, directions, hidden) if batch_first else (directions, batch, hidden)
    for _ in range(states):
        call.out(state, value.type)
    return OpKind.RECURRENT, 2.0 * gates * hidden * (width + hidden) * steps * batch * directions


TABLE: dict[str, Rule] = {
    "LSTM": partial(recurrent, gates=4, states=2),
    "GRU": partial(recurrent, gates=3, states=1),
    "RNN": partial(recurrent, gates=1, states=1),
}
CONTRIB: dict[str, Rule] = {"DynamicQuantizeLSTM": partial(recurrent, gates=4, states=2)}
