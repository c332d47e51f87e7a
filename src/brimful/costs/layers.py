"""The layers of a transformer: which matrices each part has, and which operations a pass through it takes.

Both the count of parameters and the operations come from the same lists of matrices, so that they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterator

from brimful.costs.parts import Heads, Pass, activated, added, attention, experts, matmul, norm, rotated, simple, times
from brimful.model.work import OpCost, OpKind, Transformer

Matrix = tuple[int, int]  # from so many numbers a token to so many


def value_size(t: Transformer) -> int:
    """Return how long a value is."""
    return t.head_size if t.value_size is None else t.value_size


def sparse_layers(t: Transformer) -> int:
    """Return how many layers have experts."""
    return t.layers - t.dense_layers if t.experts else 0


def touched_experts(t: Transformer, rows: int) -> float:
    """Return how many distinct experts so many tokens are expected to touch, when each is as likely as any other."""
    share = t.experts_per_token / t.experts
    return t.experts * (1.0 - (1.0 - share) ** rows)


def query_matrices(t: Transformer) -> list[Matrix]:
    """Return the matrices that queries pass."""
    width = t.heads * t.head_size * (2 if t.gated_attention else 1)
    if t.query_latent is None:
        return [(t.hidden, width)]
    return [(t.hidden, t.query_latent), (t.query_latent, width)]


def key_matrices(t: Transformer, inside: int | None = None) -> list[Matrix]:
    """Return the matrices that keys and values pass; `inside` is how wide what they come from is."""
    inside = t.hidden if inside is None else inside
    if t.latent is None:
        return [(inside, t.kv_heads * t.head_size), (inside, t.kv_heads * value_size(t))]
    return [(inside, t.latent), (t.latent - t.rope_size, t.heads * (t.head_size - t.rope_size + value_size(t)))]


def output_matrix(t: Transformer) -> Matrix:
    """Return the matrix that the heads' outcomes pass."""
    return t.heads * value_size(t), t.hidden


def feed_matrices(t: Transformer, inner: int) -> list[Matrix]:
    """Return the matrices of a feed-forward part."""
    return [(t.hidden, inner)] * (2 if t.gated else 1) + [(inner, t.hidden)] if inner else []


def linear_sizes(t: Transformer) -> tuple[int, int]:
    """Return how many numbers a token the keys and the values of a linear layer have together."""
    return t.linear_key_heads * t.linear_head_size, t.linear_heads * t.linear_head_size


def linear_matrices(t: Transformer) -> list[Matrix]:
    """Return the matrices of a layer that keeps a state: queries, keys, values with their gate, rates, output."""
    keys, values = linear_sizes(t)
    return [(t.hidden, 2 * keys + values), (t.hidden, values), (t.hidden, 2 * t.linear_heads), (values, t.hidden)]


def attention_parameters(t: Transformer) -> int:
    """Return the weights of one layer's attention."""
    return _weights(t, [*query_matrices(t), *key_matrices(t), output_matrix(t)]) + latent_norms(t)


def latent_norms(t: Transformer) -> int:
    """Return the weights of the norms inside a latent attention."""
    return (t.query_latent or 0) + (t.latent - t.rope_size if t.latent is not None else 0)


def feed_parameters(t: Transformer) -> int:
    """Return the weights of the feed-forward parts of all layers."""
    sparse = sparse_layers(t)
    each = _weights(t, feed_matrices(t, t.expert_intermediate)) * t.experts + t.hidden * t.experts
    shared = _weights(t, feed_matrices(t, t.shared_intermediate))
    dense = _weights(t, feed_matrices(t, t.intermediate))
    return sparse * (each + shared) + (t.layers - sparse) * dense


def linear_parameters(t: Transformer) -> int:
    """Return the weights in the matrices of one layer that keeps a state."""
    return _weights(t, linear_matrices(t))


def _weights(t: Transformer, matrices: list[Matrix]) -> int:
    return sum(inside * outside + outside * t.biases for inside, outside in matrices)


def layer_ops(t: Transformer, work: Pass) -> Iterator[OpCost]:
    """Yield the operations of all layers, those of alike layers counted together."""
    yield from times(t.layers, (norm(work.rows, t.hidden, t.norm_vectors),) * t.norms)
    yield from times(2 * t.layers, (added(work.rows * t.hidden),))
    full = t.layers - t.linear_layers - t.windowed_layers
    yield from times(t.layers - t.linear_layers, _projected(t, work))
    yield from times(full, _compared(t, work, None))
    yield from times(t.windowed_layers, _compared(t, work, t.window))
    yield from times(t.linear_layers, _remembered(t, work))
    if t.relative_positions:
        yield from times(t.layers, _disentangled(t, work))
    if t.cross:
        yield from times(t.layers, _crossed(t, work))
    yield from times(t.layers - sparse_layers(t), _fed(t, work.rows, t.intermediate))
    yield from times(sparse_layers(t), _routed(t, work.rows))


def _through(t: Transformer, rows: int, matrices: list[Matrix]) -> tuple[OpCost, ...]:
    return tuple(matmul(rows, inside, outside, bias=t.biases, bits=t.weight_bits) for inside, outside in matrices)


def _projected(t: Transformer, work: Pass) -> tuple[OpCost, ...]:
    """Return the matrices around an attention; with kept latents, keys and values are never spelt out."""
    keys = key_matrices(t)
    if t.latent is not None and work.past:
        keys = keys[:1]
    matrices = [*query_matrices(t), *keys, output_matrix(t)]
    turned = () if t.positions or not t.decoder else (rotated(work.rows * (t.heads + t.kv_heads) * t.head_size),)
    gates = work.rows * t.heads * t.head_size
    gate = (simple(OpKind.ELEMENTWISE, "Mul", float(gates), 2 * gates, gates),) if t.gated_attention else ()
    return (*_through(t, work.rows, matrices), *turned, *gate)


def _compared(t: Transformer, work: Pass, window: int | None) -> tuple[OpCost, ...]:
    seen, kept = work.seen(window), work.kept(window)
    values = value_size(t)
    if t.latent is None or not work.past:
        heads = t.kv_heads if t.latent is None else t.heads
        return attention(work, Heads(t.heads, heads, t.head_size, values), seen, kept)
    # Behind kept latents: the second matrix of keys and values is moved to the queries and the outcomes, head by head,
    # so that all heads compare with the latents themselves (DeepSeek-V2, arXiv 2405.04434, section 2.1.2).
    inner, plain = t.latent - t.rope_size, t.head_size - t.rope_size
    asked = matmul(work.rows, plain, t.heads * inner, bits=t.weight_bits)
    told = matmul(work.rows, inner, t.heads * values, bits=t.weight_bits)
    return (asked, *attention(work, Heads(t.heads, 1, t.latent, inner, kept=t.latent), seen, kept), told)


def _disentangled(t: Transformer, work: Pass) -> tuple[OpCost, ...]:
    """Return what comparing with a table of relative positions adds (DeBERTa, arXiv 2006.03654, section 3.2).

    The table passes the matrices of queries and keys, which are read already; then content meets positions both ways.
    """
    rows, width = t.relative_positions, t.heads * t.head_size
    passed = simple(OpKind.MATMUL, "MatMul", 2.0 * rows * t.hidden * width, rows * t.hidden, rows * width)
    scores = work.rows * t.heads * rows
    read = work.rows * width + rows * width
    met = simple(OpKind.ATTENTION, "MatMul", 2.0 * scores * t.head_size, read, scores)
    moved = simple(OpKind.GATHER, "GatherElements", 0.0, work.rows * t.heads * work.tokens, 0)
    return times(2, (passed, met, moved))


def _crossed(t: Transformer, work: Pass) -> tuple[OpCost, ...]:
    """Return an attention over what the encoder gave; its keys and values are made in the first pass, and kept."""
    assert t.encoder is not None  # noqa: S101 - the noun refuses cross without one
    first = () if work.past else _through(t, work.source * work.batch, key_matrices(t, t.encoder.hidden))
    around = _through(t, work.rows, [*query_matrices(t), output_matrix(t)])
    heads = Heads(t.heads, t.kv_heads, t.head_size, value_size(t))
    between = norm(work.rows, t.hidden, t.norm_vectors), added(work.rows * t.hidden)
    return (*first, *around, *attention(work, heads, work.source, work.source), *between)


def _remembered(t: Transformer, work: Pass) -> tuple[OpCost, ...]:
    """Return a layer that keeps a state: a gated delta rule (arXiv 2412.06464), its short convolution included."""
    keys, values = linear_sizes(t)
    state = work.batch * t.linear_heads * t.linear_head_size**2
    mixed = work.rows * (2 * keys + values)
    flops = 8.0 * work.rows * t.linear_heads * t.linear_head_size**2  # decay, look up, correct, ask: two each
    return (
        *_through(t, work.rows, linear_matrices(t)),
        simple(OpKind.GROUPED, "Conv", 8.0 * mixed, mixed, mixed, 4 * (2 * keys + values)),
        simple(OpKind.ATTENTION, "LinearAttention", flops, mixed + state, work.rows * values + state),
        norm(work.rows, values, 1),
    )


def _fed(t: Transformer, rows: int, inner: int) -> tuple[OpCost, ...]:
    if not inner:
        return ()
    return (*_through(t, rows, feed_matrices(t, inner)), *activated(rows * inner, gated=t.gated))


def _routed(t: Transformer, rows: int) -> tuple[OpCost, ...]:
    """Return the experts of one layer: the choice, the chosen matrices, and what every token passes."""
    if not t.experts:
        return ()
    touched = touched_experts(t, rows)
    all_rows = rows * t.experts_per_token
    bits = t.experts_bits if t.experts_bits is not None else t.weight_bits
    chosen = matmul(rows, t.hidden, t.experts)
    inner = t.expert_intermediate
    through = tuple(experts(all_rows, touched, a, b, bits=bits) for a, b in feed_matrices(t, inner))
    scores = rows * t.experts
    return (
        chosen,
        simple(OpKind.SOFTMAX, "Softmax", 5.0 * scores, scores, scores),
        simple(OpKind.REDUCE, "TopK", float(scores), scores, 2 * all_rows),
        *through,
        *activated(all_rows * inner, gated=t.gated),
        simple(OpKind.REDUCE, "ReduceSum", 2.0 * all_rows * t.hidden, all_rows * t.hidden, rows * t.hidden),
        *_fed(t, rows, t.shared_intermediate),
    )
