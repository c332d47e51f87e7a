"""A named model as a row of the table: its operations at one size of input, and how each grows with that size.

The model is profiled at two sizes; of operations that stand at the same place in both, the exponent of growth is kept
(a convolution's work grows with the square of the side, global attention's with its fourth power).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from brimful.model.work import OpCost

Operations = Callable[[int], Sequence[OpCost]]
_DIGITS = 2


def row(operations: Operations, size: int, other: int | None) -> dict[str, Any]:
    """Return {"size": …, "grows": …, "ops": [[kind, type, count, flops, weights, read, write, *exponents], …]}."""
    here = operations(size)
    there = None if other is None else _like(operations, other, here)
    counts = Counter[tuple[Any, ...]]()
    for place, op in enumerate(here):
        growth = (0.0,) * 4 if there is None else _growth(op, there[place], other / size if other else 1.0)
        counts[(op.op.value, op.op_type, *_amounts(op), *growth)] += op.ops_count
    return {
        "size": size,
        "grows": there is not None,
        "ops": [[key[0], key[1], count, *key[2:]] for key, count in counts.items()],
    }


def _like(operations: Operations, size: int, here: Sequence[OpCost]) -> Sequence[OpCost] | None:
    """Return the operations at another size if they are the same ones; a model of fixed size refuses another."""
    try:
        there = operations(size)
    except Exception:  # noqa: BLE001 - whatever a stranger's module raises, it means that it takes no other size
        return None
    same = [op.op_type for op in there] == [op.op_type for op in here]
    return there if same else None


def _amounts(op: OpCost) -> tuple[int, int, int, int]:
    return round(op.flops), op.weight_elements, op.read_elements, op.write_elements


def _growth(here: OpCost, there: OpCost, scale: float) -> tuple[float, ...]:
    return tuple(
        round(math.log(more / some) / math.log(scale), _DIGITS) + 0.0 if some > 0 and more > 0 else 0.0
        for some, more in zip(_amounts(here), _amounts(there), strict=True)
    )
