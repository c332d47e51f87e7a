"""What most decoders say in the same words: the measures of a transformer from the usual keys.

A family's own ways are laid over what `usual` returns; a family that nobody told of here has the usual ways of today:
two RMS norms a layer, a gated feed-forward part, rotary positions, no biases.
"""

from __future__ import annotations

from typing import Any

from brimful.readers.huggingface.config import Config

Measures = dict[str, Any]

HIDDEN = ("hidden_size", "n_embd", "d_model", "dim")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
KV_HEADS = ("num_key_value_heads", "multi_query_group_num", "num_kv_heads", "n_head_kv")
HEAD_SIZE = ("head_dim", "kv_channels", "d_kv", "attention_head_size")
INNER = ("intermediate_size", "ffn_dim", "n_inner", "d_ff", "ffn_hidden_size", "hidden_dim")
VOCABULARY = ("vocab_size", "padded_vocab_size", "n_vocab")
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
CHOSEN = ("num_experts_per_tok", "num_experts_per_token", "moe_top_k", "moe_k", "top_k_experts")


def usual(c: Config) -> Measures:
    """Return the measures of a decoder with the usual ways, from whichever of the usual keys are there."""
    hidden = c.count(*HIDDEN, least=1)
    heads = c.count(*HEADS, least=1)
    return {
        "family": c.family or "unnamed",
        "decoder": True,
        "layers": c.count(*LAYERS, least=1),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": c.count(*KV_HEADS, default=heads, least=1),
        "head_size": c.count(*HEAD_SIZE, default=max(1, hidden // heads), least=1),
        "intermediate": c.count(*INNER, default=4 * hidden),
        "gated": True,
        "vocabulary": c.count(*VOCABULARY),
        "tied_embeddings": c.flag("tie_word_embeddings", default=False),
        "rest_parameters": 0,
    }


def add_rest(m: Measures, more: int) -> None:
    """Count weights that no other measure tells."""
    m["rest_parameters"] = m.get("rest_parameters", 0) + more


def qkv_biases(m: Measures) -> int:
    """Return how many biases the queries, keys and values of all layers have."""
    return int(m["layers"] * m["head_size"] * (m["heads"] + 2 * m["kv_heads"]))


def output_biases(m: Measures) -> int:
    """Return how many biases the output of all attentions has."""
    return int(m["layers"] * m["hidden"])


def feed_biases(m: Measures) -> int:
    """Return how many biases the feed-forward parts of all layers have."""
    return int(m["layers"] * (m["intermediate"] * (2 if m["gated"] else 1) + m["hidden"]))


def head_norms(m: Measures, vectors: int = 1) -> int:
    """Return the weights of norms over each query's and each key's head, shared by the heads."""
    return int(2 * vectors * m["layers"] * m["head_size"])


def wide_norms(m: Measures) -> int:
    """Return the weights of norms over all queries and all keys of a token."""
    return int(m["layers"] * m["head_size"] * (m["heads"] + m["kv_heads"]))


def with_experts(c: Config, m: Measures, inner: int | None = None) -> None:
    """Add experts, where the configuration has them: how many, how many a token takes, which layers have none."""
    count = c.count(*EXPERTS, default=0)
    if count < 2:
        return
    layers = m["layers"]
    sparse = _sparse(c, layers)
    shared = c.maybe("shared_expert_intermediate_size", "shared_intermediate_size")
    each = c.count("moe_intermediate_size", default=m["intermediate"] if inner is None else inner)
    m.update(
        experts=count,
        experts_per_token=c.count(*CHOSEN, default=1, least=1),
        expert_intermediate=each,
        shared_intermediate=shared if shared is not None else c.count("n_shared_experts", default=0) * each,
        dense_layers=layers - max(0, sparse),
    )


def _sparse(c: Config, layers: int) -> int:
    """Return how many layers have experts, by whichever way the configuration says it."""
    kinds = c.items("mlp_layer_types")
    if len(kinds) == layers:
        return kinds.count("sparse")
    often = c.raw.get("moe_layer_freq")
    if isinstance(often, list):  # one number a layer
        return min(layers, sum(item not in (0, False, None) for item in often))
    first = min(c.count("first_k_dense_replace", default=0), layers)
    step = max(1, c.count("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_freq", default=1))
    dense = {item for item in c.items("mlp_only_layers") if isinstance(item, int) and 0 <= item < layers}
    return (layers - first) // step - len(dense)


def with_latent(c: Config, m: Measures) -> None:
    """Add a latent attention: what is kept of a token is one vector for all heads (DeepSeek-V2, arXiv 2405.04434)."""
    rope = c.count("qk_rope_head_dim", least=1)
    plain = c.count("qk_nope_head_dim", least=1)
    m.update(
        kv_heads=m["heads"],
        head_size=rope + plain,
        value_size=c.count("v_head_dim", default=plain, least=1),
        latent=c.count("kv_lora_rank", least=1) + rope,
        rope_size=rope,
    )
    if (queries := c.raw.get("q_lora_rank", c.count("q_lora_rank", default=0))) not in (None, 0):
        m["query_latent"] = c.count("q_lora_rank", least=1) if queries else None


def with_windows(c: Config, m: Measures, *, every: int = 0) -> None:
    """Add a window: of the layers that the configuration names, or else of all but each `every`-th (0: of all)."""
    window = c.maybe("sliding_window", "window_size", "attention_chunk_size", least=0)
    if not window:
        return
    kinds = [item for item in c.items("layer_types") if isinstance(item, str)]
    pattern = c.maybe("sliding_window_pattern", "_sliding_window_pattern") or every
    if len(kinds) == m["layers"]:
        windowed = sum("sliding" in kind or "chunked" in kind for kind in kinds)
    else:
        windowed = m["layers"] - m["layers"] // pattern if pattern else m["layers"]
    if windowed:
        m.update(window=window, windowed_layers=windowed)
