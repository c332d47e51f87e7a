"""What a transformer costs, from its measures alone: operations of one pass, parameters, and what it keeps.

`forward` gives the operations of a pass over new tokens behind kept ones: a prefill has none kept, a step of decoding
has one new token. Embedding tables are looked up, so their weights are read by the row and not once a call; everything
else that is read once a call stands in `weight_elements`, experts by how many of them are expected to be touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from brimful.costs.layers import (
    attention_parameters,
    feed_parameters,
    key_matrices,
    layer_ops,
    linear_parameters,
    linear_sizes,
    output_matrix,
    query_matrices,
    sparse_layers,
    value_size,
)
from brimful.costs.parts import Pass, activated, added, looked_up, matmul, norm, simple, times
from brimful.costs.profile import PLAIN_BYTES, gathered, profiled
from brimful.model.work import OpCost, OpKind, Profile, Transformer

_CONV_TAPS = 4  # of the short convolution before a gated delta rule


def input_tokens(t: Transformer, asked: int) -> int:
    """Return how many tokens an input has: of an image or a clip it is fixed, whatever was asked."""
    return t.patches + t.class_tokens if t.patches else asked


def forward(
    t: Transformer,
    *,
    tokens: int,
    batch: int = 1,
    past: int = 0,
    generate: bool = False,
    source: int | None = None,
    fused: bool = True,
) -> tuple[OpCost, ...]:
    """Return the operations of one pass over `tokens` new tokens a sequence, behind `past` kept ones.

    While generating, only the last token's outcome is computed. `source` is how long the input of an encoder's side is
    (else as long as what stands behind it: past and tokens). With `fused`, as engines do today, the scores of an
    attention never reach memory; without, they are written and read as a plain graph says.
    """
    tokens = input_tokens(t, tokens)
    reach = source if source is not None else past + tokens
    length = input_tokens(t.encoder, reach) if t.encoder is not None else 0
    work = Pass(tokens=tokens, batch=batch, past=past, source=length, generate=generate, fused=fused)
    ops: tuple[OpCost, ...] = ()
    if t.encoder is not None and not past:
        ops = forward(t.encoder, tokens=length, batch=batch, fused=fused)
    return gathered((*ops, *_entrance(t, work), *layer_ops(t, work), *_exit(t, work)))


def _entrance(t: Transformer, work: Pass) -> Iterator[OpCost]:
    width = _table_width(t)
    if t.stem_flops or t.stem_parameters:
        patches, size = t.patches * work.batch, t.patches * work.batch * t.hidden
        kind = OpKind.CONV
        yield simple(kind, "Conv", t.stem_flops * work.batch, patches * t.patch_elements, size, t.stem_parameters)
    if t.patch_elements:
        patches = t.patches * work.batch
        flops, weights = 2.0 * patches * t.patch_elements * t.hidden, t.patch_elements * t.hidden
        yield simple(OpKind.CONV, "Conv", flops, patches * t.patch_elements, patches * t.hidden, weights)
    elif t.vocabulary:
        yield looked_up(work.rows, width)
    if t.positions:
        yield looked_up(work.tokens, _position_width(t))
        yield added(work.rows * _position_width(t))
    if t.token_types:
        yield looked_up(work.rows, width)
        yield added(work.rows * width)
    if width != t.hidden:
        yield matmul(work.rows, width, t.hidden)
    yield from times(t.outer_norms, (norm(work.rows, t.hidden, t.norm_vectors),))


def _exit(t: Transformer, work: Pass) -> Iterator[OpCost]:
    rows = work.batch if work.generate else work.rows
    width = _table_width(t)
    if t.head == "masked":
        yield matmul(rows, t.hidden, width, bias=True)
        yield from activated(rows * width, gated=False)
        yield norm(rows, width, 2)
    elif t.head == "language" and width != t.hidden:
        yield matmul(rows, t.hidden, width)
    if t.head in ("language", "masked"):
        yield matmul(rows, width, t.vocabulary)
    read = work.rows if t.head in ("labels", "dense labels") else work.batch
    if t.head in ("pooler", "pooled classes", "dense labels"):
        yield matmul(read, t.hidden, t.hidden, bias=True)
    if t.head in ("classes", "pooled classes", "labels", "dense labels", "projection") and t.classes:
        yield matmul(read, t.hidden, t.classes, bias=t.head != "projection")


def parameters(t: Transformer) -> int:
    """Return how many weights the model has, its encoder's side included; what is used twice counts once."""
    ordinary = t.layers - t.linear_layers
    keys, values = linear_sizes(t)
    linear = linear_parameters(t) + _CONV_TAPS * (2 * keys + values) + 2 * t.linear_heads + t.linear_head_size
    layers = attention_parameters(t) * ordinary + (linear * t.linear_layers if t.linear_layers else 0)
    layers += feed_parameters(t) + t.layers * t.norms * t.norm_vectors * t.hidden
    if t.cross and t.encoder is not None:
        layers += _cross_parameters(t, t.encoder) * t.layers
    if t.shared_layers:
        layers //= t.layers
    outer = t.outer_norms * t.norm_vectors * _outer_width(t)
    beside = parameters(t.encoder) if t.encoder is not None else 0
    return layers + outer + _table_parameters(t) + _head_parameters(t) + t.rest_parameters + t.stem_parameters + beside


def matrix_parameters(t: Transformer) -> tuple[int, int]:
    """Return the weights that quantisers take: those of the layers' matrices, and which of them are the experts'."""
    experts = replace(t, shared_intermediate=0, intermediate=0, biases=False)
    inside = feed_parameters(experts) - sparse_layers(t) * t.hidden * t.experts
    layers = attention_parameters(t) * (t.layers - t.linear_layers) + linear_parameters(t) * t.linear_layers
    if t.cross and t.encoder is not None:
        layers += _cross_parameters(t, t.encoder) * t.layers
    whole = layers + feed_parameters(t) - sparse_layers(t) * t.hidden * t.experts
    other, beside = matrix_parameters(t.encoder) if t.encoder is not None else (0, 0)
    return whole // (t.layers if t.shared_layers else 1) + other, inside + beside


def _cross_parameters(t: Transformer, encoder: Transformer) -> int:
    matrices = [*query_matrices(t), *key_matrices(t, encoder.hidden), output_matrix(t)]
    weights = sum(inside * outside + outside * t.biases for inside, outside in matrices)
    return weights + t.norm_vectors * t.hidden


def _table_parameters(t: Transformer) -> int:
    width = _table_width(t)
    words = 0 if t.patch_elements else t.vocabulary * width
    rows = t.positions * _position_width(t) + t.token_types * width + (t.class_tokens + t.relative_positions) * t.hidden
    bridge = width * t.hidden if width != t.hidden else 0
    return words + rows + bridge + t.patch_elements * t.hidden


def _head_parameters(t: Transformer) -> int:
    width = _table_width(t)
    table = 0 if t.tied_embeddings else t.vocabulary * width
    square = t.hidden * t.hidden + t.hidden
    classes = t.hidden * t.classes + t.classes
    return {
        "language": table + (t.hidden * width if width != t.hidden else 0),
        "masked": table + t.hidden * width + width + 2 * width + t.vocabulary,
        "pooler": square,
        "pooled classes": square + classes,
        "classes": classes,
        "labels": classes,
        "dense labels": square + classes,
        "projection": t.hidden * t.classes,
    }.get(t.head, 0)


def _table_width(t: Transformer) -> int:
    return t.hidden if t.embedding_size is None else t.embedding_size


def _position_width(t: Transformer) -> int:
    """Return how wide the table of positions is: an encoder's is added to the words, a decoder's to the stream."""
    return t.hidden if t.decoder else _table_width(t)


def _outer_width(t: Transformer) -> int:
    """Return how wide the norm outside of the layers is: an encoder's own stands on its narrower embeddings."""
    return t.hidden if t.decoder else _table_width(t)


def kv_cache_elements(t: Transformer, tokens: int, source: int | None = None) -> int:
    """Return how many numbers one sequence keeps after so many tokens, those over the encoder's side included.

    A window caps what its layers keep; a latent attention keeps its latents; a layer with a state keeps that.
    """
    each = t.latent if t.latent is not None else t.kv_heads * (t.head_size + value_size(t))
    full = t.layers - t.windowed_layers - t.linear_layers
    window = tokens if t.window is None else min(tokens, t.window)
    keys, values = linear_sizes(t)
    state = t.linear_heads * t.linear_head_size**2 + (_CONV_TAPS - 1) * (2 * keys + values)
    kept = each * (full * tokens + t.windowed_layers * window) + t.linear_layers * state
    if t.cross and t.encoder is not None:
        length = input_tokens(t.encoder, tokens if source is None else source)
        kept += t.layers * t.kv_heads * (t.head_size + value_size(t)) * length
    return kept if t.decoder else 0


def activation_elements(t: Transformer, tokens: int, batch: int = 1, *, generate: bool = False) -> int:
    """Return about how many numbers are alive at once in a pass: the stream, and the widest step beside it.

    A step's input and its outcome are alive together, as is what a layer began with: what PyTorch held on an H200.
    Attention is taken as fused; keys and values that are kept are not among them.
    """
    rows = input_tokens(t, tokens) * batch
    attended = t.heads * (t.head_size * 2 + value_size(t) * 2)
    fed = 3 if t.gated else 2
    dense = t.intermediate * fed if t.dense_layers or not t.experts else 0
    sparse = (t.experts_per_token * t.expert_intermediate + t.shared_intermediate) * fed
    layers = rows * (4 * t.hidden + max(attended, dense, sparse))
    wide = t.vocabulary if t.head in ("language", "masked") else 0
    end = rows * t.hidden + (batch if generate else rows) * wide
    other = activation_elements(t.encoder, tokens, batch) if t.encoder is not None else 0
    return max(layers, end, other)


def prefill(t: Transformer, tokens: int, batch: int = 1, **known: Any) -> Profile:
    """Return the profile of a first pass over so many tokens a sequence; a decoder gives one token each.

    Of a model of two sides that translates, `tokens` are the encoder's, and its decoder passes the first of its own.
    """
    tokens = input_tokens(t, tokens)
    if t.cross:
        ops = forward(t, tokens=1, batch=batch, generate=True, source=tokens)
    else:
        ops = forward(t, tokens=tokens, batch=batch, generate=t.decoder)
    return _profile(t, ops, batch, {"sequence": tokens}, activation_elements(t, tokens, batch, generate=True), known)


def decode(t: Transformer, context: int, batch: int = 1, **known: Any) -> Profile:
    """Return the profile of one more token for each sequence, behind a context of so many; only a decoder has one."""
    if not t.decoder:
        raise ValueError(f"a {t.family} is no decoder: it has no next token")
    ops = forward(t, tokens=1, batch=batch, past=context, generate=True)
    return _profile(t, ops, batch, {"context": context}, activation_elements(t, 1, batch, generate=True), known)


def _profile(
    t: Transformer, ops: tuple[OpCost, ...], batch: int, dims: dict[str, int], alive: int, known: dict[str, Any]
) -> Profile:
    given: dict[str, Any] = {
        "model": t.family,
        "source": "its measures",
        "samples_count": batch,
        "parameters": parameters(t),
        "activation_bytes": alive * PLAIN_BYTES,
        "dims": {"batch": batch, **dims},
        "transformer": t,
        "missing": {"weight_bytes": "the setting's precision decides"} if "weight_bytes" not in known else {},
    }
    return profiled(ops, **{**given, **known})
