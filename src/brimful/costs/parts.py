"""The operations that transformers are made of, each from its sizes.

Flops follow the convention of OpCost (a multiplication and an addition are two); those of norms, softmaxes and other
steps of single elements are rounded counts of what their formulas need, and together below a hundredth of any model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from brimful.model.work import OpCost, OpKind

_NORM_FLOPS = 6  # an element: square, sum, scale, and the mean or the shift
_SOFTMAX_FLOPS = 5  # an element: highest, difference, exponential, sum, quotient
_ROTARY_FLOPS = 3  # an element: two products and a sum


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass: so many new tokens of each of so many sequences, behind so many whose keys and values are kept."""

    tokens: int
    batch: int
    past: int = 0
    source: int = 0  # tokens of the encoder's side, an input
    generate: bool = False  # only the last token's outcome is wanted
    fused: bool = True  # attention is one operation, whose scores never reach memory

    @property
    def rows(self) -> int:
        """Return how many new tokens there are in all."""
        return self.tokens * self.batch

    def seen(self, window: int | None) -> int:
        """Return how many tokens each new one is compared with."""
        reach = self.past + self.tokens
        return reach if window is None else min(reach, window)

    def kept(self, window: int | None) -> int:
        """Return how many tokens' keys and values a sequence's new tokens read together."""
        reach = self.past + self.tokens
        return reach if window is None else min(reach, window + self.tokens - 1)


def times(count: int, ops: Iterable[OpCost]) -> tuple[OpCost, ...]:
    """Return the operations, each done so many times more; none when the count is 0."""
    return tuple(replace(op, ops_count=op.ops_count * count) for op in ops) if count > 0 else ()


def matmul(rows: int, inside: int, outside: int, *, bias: bool = False, bits: int | None = None) -> OpCost:
    """Return weights times activations; a bias is part of it."""
    return OpCost(
        op=OpKind.MATMUL,
        op_type="MatMul",
        flops=2.0 * rows * inside * outside,
        weight_elements=inside * outside + outside * bias,
        read_elements=rows * inside,
        write_elements=rows * outside,
        weight_bits=bits,
    )


def experts(rows: int, touched: float, inside: int, outside: int, *, bits: int | None = None) -> OpCost:
    """Return one matrix of every expert that is touched, over as many rows as the experts see together."""
    return OpCost(
        op=OpKind.MATMUL,
        op_type="MatMul",
        flops=2.0 * rows * inside * outside,
        weight_elements=round(touched * inside * outside),
        read_elements=rows * inside,
        write_elements=rows * outside,
        weight_bits=bits,
    )


def simple(kind: OpKind, op_type: str, flops: float, read: int, write: int, weights: int = 0) -> OpCost:
    """Return any other operation."""
    return OpCost(
        op=kind, op_type=op_type, flops=flops, read_elements=read, write_elements=write, weight_elements=weights
    )


def norm(rows: int, width: int, vectors: int) -> OpCost:
    """Return a norm over rows of a width; it keeps so many vectors of that width."""
    name = "LayerNormalization" if vectors == 2 else "RMSNormalization"
    size = rows * width
    return simple(OpKind.NORM, name, float(_NORM_FLOPS * size), size, size, vectors * width)


def added(size: int) -> OpCost:
    """Return the sum of two tensors."""
    return simple(OpKind.ELEMENTWISE, "Add", float(size), 2 * size, size)


def activated(size: int, *, gated: bool) -> tuple[OpCost, ...]:
    """Return what stands between the matrices of a feed-forward part."""
    curve = simple(OpKind.ELEMENTWISE, "Swish" if gated else "Gelu", 4.0 * size, size, size)
    return (curve, simple(OpKind.ELEMENTWISE, "Mul", float(size), 2 * size, size)) if gated else (curve,)


def rotated(size: int) -> OpCost:
    """Return the turning of queries and keys by their positions."""
    return simple(OpKind.ELEMENTWISE, "RotaryEmbedding", float(_ROTARY_FLOPS * size), size, size)


def looked_up(rows: int, width: int) -> OpCost:
    """Return rows read from a table: its other rows are not touched, so nothing of it is read once a call."""
    return simple(OpKind.GATHER, "Gather", 0.0, rows * width, rows * width)


@dataclass(frozen=True, slots=True)
class Heads:
    """The sizes of one attention: heads, of keys and values, and how long a query and a value are."""

    queries: int
    keys: int
    key_size: int
    value_size: int
    kept: int | None = None  # numbers a token that keys and values are read from, where heads share them


def attention(work: Pass, heads: Heads, seen: int, kept: int) -> tuple[OpCost, ...]:
    """Return activations times activations: each new token's queries against `seen` keys, then their values.

    What a causal mask hides is counted, as graphs and other counters do; an engine that skips it saves up to half. The
    softmax of a fused attention is hidden behind its products, and adds nothing.
    """
    asked = work.rows * heads.queries * heads.key_size
    told = work.rows * heads.queries * heads.value_size
    scores = work.rows * heads.queries * seen
    keys = work.batch * kept * (heads.kept if heads.kept is not None else heads.keys * heads.key_size)
    values = work.batch * kept * heads.keys * heads.value_size if heads.kept is None else 0
    first, second = 2.0 * scores * heads.key_size, 2.0 * scores * heads.value_size
    if work.fused:
        return (simple(OpKind.ATTENTION, "Attention", first + second, asked + keys + values, told),)
    return (
        simple(OpKind.ATTENTION, "MatMul", first, asked + keys, scores),
        simple(OpKind.SOFTMAX, "Softmax", float(_SOFTMAX_FLOPS * scores), scores, scores),
        simple(OpKind.ATTENTION, "MatMul", second, scores + (values or keys), told),
    )
