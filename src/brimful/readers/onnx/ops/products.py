"""Products of matrices: 2 x m x n x k flops each. A bias is taken to be fused and counts nothing."""

from __future__ import annotations

import math
from functools import partial

from brimful.model.work import OpKind
from brimful.readers.onnx.call import Call, Cost, Rule, product
from brimful.readers.onnx.tensors import FLOAT, INT32
from brimful.readers.onnx.values import Misfit, Shape, Value, broadcast


def kind_of(*factors: Value) -> OpKind:
    """Return ATTENTION for a product of activations alone, MATMUL when one factor is stored."""
    return OpKind.MATMUL if any(value.constant for value in factors) else OpKind.ATTENTION


def multiplied(first: Shape, second: Shape) -> tuple[Shape, float]:
    """Return the shape of a product and its flops, by the rule of numpy's matmul."""
    if not first or not second:
        raise Misfit("a factor has no dimensions")
    left = (1, *first) if len(first) == 1 else first
    right = (*second, 1) if len(second) == 1 else second
    if left[-1] != right[-2]:
        raise Misfit(f"the shapes {list(first)} and {list(second)} cannot be multiplied")
    batch = broadcast(left[:-2], right[:-2]) if len(left) > 2 or len(right) > 2 else ()
    flops = 2.0 * product(batch) * left[-2] * left[-1] * right[-1]
    rows = () if len(first) == 1 else (left[-2],)
    columns = () if len(second) == 1 else (right[-1],)
    return (*batch, *rows, *columns), flops


def matmul(call: Call, *, second: int = 1, kind: int = 0) -> Cost:
    """Multiply two values."""
    one, other = call.need(0), call.need(second)
    shape, flops = multiplied(one.shape, other.shape)
    call.out(shape, kind or one.type)
    return kind_of(one, other), flops


def gemm(call: Call) -> Cost:
    """Multiply two matrices, each perhaps transposed."""
    one, other = call.need(0), call.need(1)
    quantized = call.node.op_type == "QGemm"
    other = call.need(3) if quantized else other
    if one.rank != 2 or other.rank != 2:
        raise Misfit(f"it multiplies values of {one.rank} and {other.rank} dimensions, not matrices")
    left = one.shape[::-1] if call.integer("transA") else one.shape
    right = other.shape[::-1] if call.integer("transB") else other.shape
    shape, flops = multiplied(left, right)
    call.out(shape, FLOAT if quantized and len(call.given()) < 9 else one.type)
    return kind_of(one, other), flops


def fused_matmul(call: Call) -> Cost:
    """Multiply as MatMul, with the last two dimensions perhaps exchanged."""
    one, other = call.need(0), call.need(1)
    left, right = one.shape, other.shape
    for name in ("transBatchA", "transBatchB"):
        if call.integer(name):
            raise Misfit(f"{name} is not known")
    if call.integer("transA") and len(left) > 1:
        left = (*left[:-2], left[-1], left[-2])
    if call.integer("transB") and len(right) > 1:
        right = (*right[:-2], right[-1], right[-2])
    shape, flops = multiplied(left, right)
    call.out(shape, one.type)
    return kind_of(one, other), flops


def matmul_blocks(call: Call) -> Cost:
    """Multiply with weights of a few bits each, packed in blocks (MatMulNBits, MatMulBnb4, MatMulFpQ4)."""
    value = call.need(0)
    rows, columns = call.integer("K"), call.integer("N")
    if not value.rank or value.shape[-1] != rows or columns < 1:
        raise Misfit(f"it multiplies {list(value.shape)} with a matrix of {rows} x {columns}")
    out = call.out((*value.shape[:-1], columns), value.type)
    call.weights = rows * columns
    weights = call.need(1)
    if weights.constant:
        weights.bits = call.integer("bits", 4)
        for tensor in weights.stored:
            tensor.elements = rows * columns  # several in each stored byte
    return OpKind.MATMUL, 2.0 * out.size * rows


def einsum(call: Call) -> Cost:
    """Multiply and sum by an equation; several factors are taken from left to right."""
    terms, result = _equation(call)
    inputs = call.given()
    sizes: dict[str, int] = {}
    spelled = []
    for term, value in zip(terms, inputs, strict=True):
        spelled.append(_spelled(term, value.shape, sizes))
    if "..." in result:
        dots = max((term for term in spelled), key=lambda term: sum(char.isdigit() for char in term))
        result = result.replace("...", "".join(char for char in dots if char.isdigit()))
    if any(label not in sizes for label in result):
        raise Misfit("its equation names a result that no factor has")
    call.out(tuple(sizes[label] for label in result), inputs[0].type)
    if len(inputs) == 1:
        return OpKind.REDUCE, float(inputs[0].size)
    return kind_of(*inputs), _steps(spelled, result, sizes)


def _equation(call: Call) -> tuple[list[str], str]:
    text = call.text("equation").replace(" ", "")
    left, arrow, result = text.partition("->")
    terms = left.split(",")
    if not arrow:
        labels = sorted({char for char in left if char.isalpha()})
        result = ("..." if "..." in left else "") + "".join(char for char in labels if left.count(char) == 1)
    if len(terms) != len(call.given()) or len(text) > 1000:
        raise Misfit(f"its equation {text!r:.60} does not fit its {len(call.given())} inputs")
    return terms, result


def _spelled(term: str, shape: Shape, sizes: dict[str, int]) -> str:
    """Return a factor's labels, with digits for what its dots stand for, and note their sizes."""
    bare = term.replace("...", "")
    gap = len(shape) - len(bare)
    if "..." in term and 0 <= gap <= 10:
        term = term.replace("...", "0123456789"[10 - gap :])
    if len(term) != len(shape) or not all(char.isalnum() for char in term):
        raise Misfit(f"its equation's {term!r:.40} does not fit the shape {list(shape)}")
    for label, length in zip(term, shape, strict=True):
        have = sizes.setdefault(label, length)
        if have == 1:
            sizes[label] = length
        elif length not in (1, have):
            raise Misfit(f"its equation's {label} is {have} and {length}")
    return term


def _steps(terms: list[str], result: str, sizes: dict[str, int]) -> float:
    flops, done = 0.0, set(terms[0])
    for at, term in enumerate(terms[1:], 1):
        labels = done | set(term)
        flops += 2.0 * math.prod(sizes[label] for label in labels)
        later = set(result).union(*terms[at + 1 :])
        done = labels & later
    return flops


def dynamic_quantize_matmul(call: Call) -> Cost:
    """Quantise the first factor, multiply, and give floats."""
    return matmul(call, kind=FLOAT)


def sparse_matmul(call: Call) -> Cost:
    """Multiply with many zeros, which are counted as if they were numbers."""
    return matmul(call)


TABLE: dict[str, Rule] = {
    "MatMul": matmul,
    "Gemm": gemm,
    "MatMulInteger": partial(matmul, kind=INT32),
    "QLinearMatMul": partial(matmul, second=3),
    "Einsum": einsum,
}
CONTRIB: dict[str, Rule] = {
    "FusedMatMul": fused_matmul,
    "FusedMatMulActivation": fused_matmul,
    "TransposeMatMul": fused_matmul,
    "FusedGemm": gemm,
    "GemmFastGelu": matmul,
    "GemmFloat8": gemm,
    "QGemm": gemm,
    "MatMulInteger16": partial(matmul, kind=INT32),
    "MatMulIntegerToFloat": dynamic_quantize_matmul,
    "DynamicQuantizeMatMul": dynamic_quantize_matmul,
    "QLinearMatMul": partial(matmul, second=3),
    "MatMulNBits": matmul_blocks,
    "MatMulBnb4": matmul_blocks,
    "MatMulFpQ4": matmul_blocks,
    "SparseToDenseMatMul": sparse_matmul,
}
