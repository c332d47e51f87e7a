"""What a walk over a graph adds up: operations and their costs, weights that are used, memory that is alive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from brimful.model.noun import with_gaps
from brimful.model.work import OpCost, OpKind
from brimful.readers.onnx.tensors import FLOATS, INT32, QUANTIZED, TYPES, Tensor
from brimful.readers.onnx.values import Buffer, Value

# kind, operation, flops, weight elements, elements read, elements written, bits of a weight (0: not fixed)
Key = tuple[OpKind, str, float, int, int, int, int]


class Ledger:
    """Sums over what was walked so far."""

    __slots__ = ("alive", "dynamic", "flops", "op_types", "ops", "peak", "times", "unknown", "used")

    def __init__(self, alive: int = 0, times: int = 1) -> None:
        self.ops = Counter[Key]()
        self.op_types = Counter[str]()
        self.used: dict[int, Tensor] = {}  # by identity
        self.unknown: dict[str, None] = {}
        self.dynamic: dict[str, list[str]] = {}  # what is assumed -> the nodes of which it is
        self.flops = 0.0
        self.alive = self.peak = alive
        self.times = times  # how often what is walked now is run

    def branch(self) -> Ledger:
        """Return a ledger for something that may not be run after all."""
        return Ledger(self.alive, self.times)

    def merge(self, other: Ledger) -> None:
        """Add what a branch cost."""
        self.ops.update(other.ops)
        self.op_types.update(other.op_types)
        self.used |= other.used
        self.unknown |= other.unknown
        for what, nodes in other.dynamic.items():
            self.dynamic.setdefault(what, []).extend(nodes)
        self.flops += other.flops
        self.alive, self.peak = other.alive, max(self.peak, other.peak)

    def note(self, what: str, node: str) -> None:
        """Remember an assumption about a node."""
        self.dynamic.setdefault(what, []).append(node)

    def add(self, key: Key) -> None:
        """Count an operation."""
        if self.times:
            self.ops[key] += self.times
            self.flops += key[2] * self.times

    def use(self, value: Value) -> None:
        """Note that the weights behind a value are read."""
        for tensor in value.stored:
            self.used[id(tensor)] = tensor

    def hold(self, value: Value) -> None:
        """Give a new value its memory."""
        buffer = Buffer(value.bytes)
        if value.items:
            buffer.size = sum(item.bytes for item in value.items)
        buffer.holders = 1
        value.buffer = buffer
        self.alive += buffer.size
        self.peak = max(self.peak, self.alive)

    def release(self, value: Value) -> None:
        """Let a name go; the memory goes with the last one."""
        buffer = value.buffer
        if buffer is not None:
            buffer.holders -= 1
            if buffer.holders == 0:
                self.alive -= buffer.size

    def costs(self) -> Iterator[OpCost]:
        """Yield the operations, those that are alike together."""
        for (kind, op_type, flops, weights, read, write, bits), count in self.ops.items():
            known = {"weight_bits": bits} if bits else {}
            yield with_gaps(
                OpCost,
                "the setting's precision decides",
                op=kind,
                op_type=op_type,
                ops_count=count,
                flops=flops,
                weight_elements=weights,
                read_elements=read,
                write_elements=write,
                **known,
            )

    def assumptions(self) -> tuple[str, ...]:
        """Return what was assumed, each with how many nodes it is of and the name of the first."""
        return tuple(
            f"{nodes[0]}: {what}" if len(nodes) == 1 else f"{nodes[0]} and {len(nodes) - 1:,} more: {what}"
            for what, nodes in self.dynamic.items()
        )

    def parameters(self) -> Counter[str]:
        """Return how many parameters of which type are used: no scales, statistics, shapes or single numbers."""
        types = Counter[str]()
        for tensor in self.used.values():
            weight = tensor.type in FLOATS or tensor.type in QUANTIZED or (tensor.type == INT32 and tensor.bias)
            if weight and tensor.shape and not tensor.side:
                types[TYPES[tensor.type][1]] += tensor.elements
        return types

    def weight_bytes(self) -> int:
        """Return how many bytes of the file, or of those beside it, are used."""
        return sum(tensor.size for tensor in self.used.values())
