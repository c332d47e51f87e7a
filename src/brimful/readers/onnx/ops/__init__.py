"""What each operation gives and costs: one rule an operation, in tables by domain."""

from __future__ import annotations

from brimful.readers.onnx.call import Rule
from brimful.readers.onnx.ops import (
    attention,
    convolution,
    elementwise,
    moves,
    norms,
    others,
    pools,
    products,
    quantize,
    recurrent,
    views,
)

_STANDARD: dict[str, Rule] = {}
_MICROSOFT: dict[str, Rule] = {}
for _module in (
    attention,
    convolution,
    elementwise,
    moves,
    norms,
    pools,
    products,
    quantize,
    recurrent,
    views,
):
    _STANDARD |= _module.TABLE
    _MICROSOFT |= _module.CONTRIB
_STANDARD |= others.TABLE

for _table, _name, _places in (
    (_STANDARD, "QLinearConv", (1, 2, 4, 5, 6, 7)),
    (_STANDARD, "QLinearMatMul", (1, 2, 4, 5, 6, 7)),
    (_STANDARD, "ConvInteger", (2, 3)),
    (_STANDARD, "MatMulInteger", (2, 3)),
    (_MICROSOFT, "QGemm", (1, 2, 4, 5, 7, 8)),
    (_MICROSOFT, "QAttention", (3, 4, 6, 7)),
    (_MICROSOFT, "DynamicQuantizeMatMul", (2, 3)),
    (_MICROSOFT, "MatMulIntegerToFloat", (2, 3, 4, 5)),
    (_MICROSOFT, "MatMulNBits", (2, 3)),
    (_MICROSOFT, "MatMulBnb4", (2,)),
    (_MICROSOFT, "DynamicQuantizeLSTM", (8, 9, 10, 11)),
    (_MICROSOFT, "QLinearAveragePool", (1, 2, 3, 4)),
    (_MICROSOFT, "QLinearGlobalAveragePool", (1, 2, 3, 4)),
    (_MICROSOFT, "QLinearSoftmax", (1, 2, 3, 4)),
):
    _table[_name] = quantize.with_scales(_table[_name], *_places)

RULES: dict[str, dict[str, Rule]] = {
    "": _STANDARD,
    "com.microsoft": _MICROSOFT,
    "ai.onnx.ml": others.LEARNED,
}
RANDOM = views.RANDOM


def rule_of(domain: str, op_type: str) -> Rule | None:
    """Return the rule of an operation, or None when it is not known."""
    table = RULES.get(domain)
    return table.get(op_type) if table is not None else None
