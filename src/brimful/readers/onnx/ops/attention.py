"""Attention as one operation, standard and ONNX Runtime's own: queries by keys, softmax, by values.

A causal or windowed mask is not taken off: kernels differ in whether they save it. Mixtures of experts stand here too.
ONNX Runtime's operators: docs/ContribOperators.md of github.com/microsoft/onnxruntime.
"""

from __future__ import annotations

from brimful.model.work import OpKind
from brimful.readers.onnx.call import Call, Cost, Rule
from brimful.readers.onnx.values import Misfit, Open, Shape


def scores(batch: int, heads: int, queries: int, keys: int, sizes: int) -> float:
    """Return the flops of attention; `sizes` is the head size of keys and of values, added up."""
    return 2.0 * batch * heads * queries * keys * sizes + 5.0 * batch * heads * queries * keys


def _heads(call: Call, name: str = "num_heads", default: int = 0) -> int:
    heads = call.integer(name, default)
    if heads < 1:
        raise Misfit(f"its {name} is {heads}")
    return heads


def attention(call: Call) -> Cost:
    """Attend as opset 23 defines it, with values of three or four dimensions."""
    query, key, value = call.need(0).shape, call.need(1).shape, call.need(2).shape
    if len(query) == 3:
        heads, kv_heads = _heads(call, "q_num_heads"), _heads(call, "kv_num_heads")
        query, key, value = _in_heads(query, heads), _in_heads(key, kv_heads), _in_heads(value, kv_heads)
    if not len(query) == len(key) == len(value) == 4 or query[3] != key[3] or key[2] != value[2]:
        raise Misfit(f"it attends {list(query)} to keys {list(key)} and values {list(value)}")
    past = call.maybe(4)
    total = key[2] + (past.shape[2] if past is not None and past.rank == 4 else 0)
    batch, heads, count, size = query
    flat = call.need(0).rank == 3
    call.out((batch, count, heads * value[3]) if flat else (batch, heads, count, value[3]), call.need(0).type)
    for at, width in ((1, size), (2, value[3])):
        if len(call.node.outputs) > at:
            call.out((batch, key[1], total, width), call.need(1).type)
    if len(call.node.outputs) > 3:
        call.out((batch, heads, count, total), call.need(0).type)
    return OpKind.ATTENTION, scores(batch, heads, count, total, size + value[3])


def _in_heads(shape: Shape, heads: int) -> Shape:
    if len(shape) != 3 or shape[2] % heads:
        raise Misfit(f"the shape {list(shape)} does not divide into {heads} heads")
    return shape[0], heads, shape[1], shape[2] // heads


def packed_attention(call: Call) -> Cost:
    """Project one input to queries, keys and values, then attend (Attention, QAttention of com.microsoft)."""
    value, weights = call.need(0), call.need(1)
    heads = _heads(call)
    if value.rank != 3 or weights.rank != 2 or value.shape[2] != weights.shape[0]:
        raise Misfit(f"it projects {list(value.shape)} by weights of shape {list(weights.shape)}")
    batch, count, width = value.shape
    sizes = call.integers("qkv_hidden_sizes") or (weights.shape[1] // 3,) * 3
    if len(sizes) != 3 or min(sizes) < 1:
        raise Misfit(f"its qkv_hidden_sizes are {list(sizes)!r:.80}")
    quantized = call.node.op_type == "QAttention"
    past = call.maybe(8 if quantized else 4)
    total = count + (past.shape[3] if past is not None and past.rank == 5 else 0)
    kind = call.need(3).type if quantized else value.type
    call.out((batch, count, sizes[2]), kind)
    if len(call.node.outputs) > 1:
        call.out((2, batch, heads, total, sizes[1] // heads), kind)
    project = 2.0 * batch * count * width * weights.shape[1]
    return OpKind.ATTENTION, project + scores(batch, heads, count, total, (sizes[0] + sizes[2]) // heads)


def multi_head(call: Call) -> Cost:
    """Attend with projected queries, keys and values, packed or not (MultiHeadAttention and kin)."""
    query = call.need(0)
    heads = _heads(call)
    batch, count = query.shape[0], query.shape[1] if query.rank > 1 else 1
    if query.rank not in (3, 5):
        raise Misfit(f"its query has the shape {list(query.shape)}")
    width = query.shape[2] if query.rank == 3 else heads * query.shape[4]
    size, keys, value_width = width // heads, count, width
    key, value = call.maybe(1), call.maybe(2)
    if key is not None and key.rank >= 3:
        keys = key.shape[2] if key.rank == 4 else key.shape[1]
    if value is not None and value.rank in (3, 4):
        value_width = value.shape[2] if value.rank == 3 else heads * value.shape[3]
    past = next(
        (item for item in call.inputs[5:9] if item is not None and item.rank == 4 and item.shape[3] == size), None
    )
    joined = past is not None and not (key is not None and key.rank == 4)
    total = keys + past.shape[2] if past is not None and joined else keys
    call.out((batch, count, value_width), query.type)
    for at, width_ in ((1, size), (2, value_width // heads)):
        if len(call.node.outputs) > at:
            call.out((batch, heads, total, width_), query.type)
    return OpKind.ATTENTION, scores(batch, heads, count, total, size + value_width // heads)


def grouped_query(call: Call) -> Cost:
    """Attend with fewer heads for keys and values, and a cache of them."""
    query, key, past = call.need(0), call.maybe(1), call.maybe(3)
    heads, kv_heads = _heads(call), _heads(call, "kv_num_heads")
    if query.rank != 3:
        raise Misfit(f"its query has the shape {list(query.shape)}")
    batch, count, width = query.shape
    size = width // heads if key is not None else width // (heads + 2 * kv_heads)
    before = past.shape[2] if past is not None and past.rank == 4 else 0
    known = call.number(6)  # total_sequence_length, when it is fixed
    total = known if known is not None and known >= count else before + count
    call.out((batch, count, heads * size), query.type)
    for at in (1, 2):
        if len(call.node.outputs) > at:
            call.out((batch, kv_heads, total, size), query.type)
    return OpKind.ATTENTION, scores(batch, heads, count, total, 2 * size)


def rotary(call: Call) -> Cost:
    """Turn pairs of elements: two products and a sum for each element."""
    value = call.need(0)
    call.like()
    return OpKind.ELEMENTWISE, 3.0 * value.size


def relative_bias(call: Call) -> Cost:
    """Look up a bias for each pair of places."""
    table, queries, keys = call.need(0), call.number(1), call.number(2)
    if queries is None or keys is None or table.rank != 2:
        raise Open("its lengths are not known")
    out = call.out((1, table.shape[1], queries, keys), table.type)
    call.weights = min(table.size, out.size)
    return OpKind.GATHER, 0.0


def experts(call: Call) -> Cost:
    """Send each token to k experts (MoE, QMoE): the products of those, and all weights that they can touch."""
    value, router = call.need(0), call.need(1)
    first = call.need(2)
    packed = 8 // call.integer("expert_weight_bits", 4) if call.node.op_type == "QMoE" else 1
    stored = [item for item in call.given()[2:] if item.rank == 3 and item.constant]
    if first.rank != 3 or not value.rank or not router.rank or not first.shape[0]:
        raise Misfit(f"its experts have the shape {list(first.shape)}")
    tokens, chosen = value.size // max(1, value.shape[-1]), call.integer("k", 1)
    call.like()
    elements = sum(item.size for item in stored) * packed
    for item in stored:
        if packed > 1:
            item.bits = 8 // packed
            for tensor in item.stored:
                tensor.elements = item.size * packed
    share = min(first.shape[0], max(1, tokens * chosen))
    call.weights = elements * share // first.shape[0]
    return OpKind.MATMUL, 2.0 * tokens * chosen * elements / first.shape[0]


TABLE: dict[str, Rule] = {"Attention": attention, "RotaryEmbedding": rotary}
CONTRIB: dict[str, Rule] = {
    "Attention": packed_attention,
    "QAttention": packed_attention,
    **dict.fromkeys(("MultiHeadAttention", "DecoderMaskedMultiHeadAttention"), multi_head),
    **dict.fromkeys(("GroupQueryAttention", "SparseAttention"), grouped_query),
    "RotaryEmbedding": rotary,
    "RelativePositionBias": relative_bias,
    "MoE": experts,
    "QMoE": experts,
}
