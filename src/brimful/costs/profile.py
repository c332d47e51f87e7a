"""From single operations to the profile of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from brimful.model.noun import with_gaps
from brimful.model.work import OpCost, Profile

PLAIN_BYTES = 4  # the sums of a profile are told at fp32; the setting's precision counts when one is predicted


def gathered(ops: Iterable[OpCost]) -> tuple[OpCost, ...]:
    """Return the operations with those that are alike counted together, in order of first appearance."""
    counts = Counter[tuple[object, ...]]()
    first: dict[tuple[object, ...], OpCost] = {}
    for op in ops:  # by a key, for making a noun costs more than all the rest
        alike = (
            op.op, op.op_type, op.flops, op.weight_elements, op.read_elements, op.write_elements, op.weight_bits
        )  # fmt: skip
        first.setdefault(alike, op)
        counts[alike] += op.ops_count
    return tuple(
        op if op.ops_count == counts[alike] else replace(op, ops_count=counts[alike]) for alike, op in first.items()
    )


def profiled(ops: Iterable[OpCost], **known: Any) -> Profile:
    """Return the profile that operations add up to; `known` are its other fields."""
    ops = gathered(ops)
    types = Counter[str]()
    for op in ops:
        types[op.op_type] += op.ops_count
    read = sum(op.ops_count * (op.read_elements + op.weight_elements) for op in ops)
    sums: dict[str, Any] = {
        "pass_flops": float(sum(op.ops_count * op.flops for op in ops)),
        "read_bytes": read * PLAIN_BYTES,
        "write_bytes": sum(op.ops_count * op.write_elements for op in ops) * PLAIN_BYTES,
        "op_types": dict(sorted(types.items())),
    }
    return with_gaps(Profile, "its reader does not say", **{**sums, "ops": ops, **known})
