"""The decoders, family by family: what each does differently from the usual.

What a family does is taken from its code in huggingface/transformers 5.23.0 (src/transformers/models), or, of models
that bring their own code, from that: chatglm, baichuan, internlm, minicpm, exaone.
"""

from __future__ import annotations

from collections.abc import Callable

from brimful.readers.huggingface.config import Config
from brimful.readers.huggingface.measures import (
    Measures,
    add_rest,
    feed_biases,
    head_norms,
    output_biases,
    qkv_biases,
    usual,
    wide_norms,
    with_experts,
    with_latent,
    with_windows,
)


def _llama(c: Config) -> Measures:
    m = usual(c)
    if c.flag("attention_bias", "bias"):
        add_rest(m, qkv_biases(m) + output_biases(m))
    if c.flag("mlp_bias"):
        add_rest(m, feed_biases(m))
    with_experts(c, m)
    return m


def _mistral(c: Config) -> Measures:
    m = _llama(c)
    with_windows(c, m)
    return m


def _qwen2(c: Config) -> Measures:
    m = usual(c)
    if c.flag("qkv_bias", default=True):
        add_rest(m, qkv_biases(m))
    with_experts(c, m)
    if c.family == "qwen2_moe":
        add_rest(m, (m["layers"] - m.get("dense_layers", 0)) * m["hidden"])  # the gate of the shared expert
    _qwen_windows(c, m)
    return m


def _qwen3(c: Config) -> Measures:
    m = _llama(c)
    add_rest(m, head_norms(m))
    _qwen_windows(c, m)
    return m


def _qwen_windows(c: Config, m: Measures) -> None:
    window = c.maybe("sliding_window")
    if c.flag("use_sliding_window") and window:
        m.update(window=window, windowed_layers=max(0, m["layers"] - c.count("max_window_layers", default=0)))


def _qwen3_next(c: Config) -> Measures:
    """Three layers of four keep a state; the fourth has a gated attention."""
    m = usual(c)
    kinds = c.items("layer_types")
    every = max(1, c.count("full_attention_interval", default=4))
    m.update(
        gated_attention=True,
        linear_layers=kinds.count("linear_attention") if kinds else m["layers"] - m["layers"] // every,
        linear_heads=c.count("linear_num_value_heads", default=32),
        linear_key_heads=c.count("linear_num_key_heads", default=16),
        linear_head_size=c.count("linear_value_head_dim", default=128),
    )
    with_experts(c, m)
    full = m["layers"] - min(m["layers"], m["linear_layers"])
    add_rest(m, 2 * full * m["head_size"])
    if m.get("experts"):
        add_rest(m, (m["layers"] - m["dense_layers"]) * m["hidden"])
    return m


def _gemma(c: Config) -> Measures:
    m = _llama(c)
    if c.family != "gemma":
        m["norms"] = 4
        with_windows(c, m, every=2 if c.family == "gemma2" else 6)
    if c.family.startswith("gemma3"):
        add_rest(m, head_norms(m))
    return m


def _phi(c: Config) -> Measures:
    m = usual(c)
    m.update(gated=False, biases=True, norms=1, norm_vectors=2)
    add_rest(m, m["vocabulary"] + (head_norms(m, 2) if c.flag("qk_layernorm") else 0))
    return m


def _phi3(c: Config) -> Measures:
    m = usual(c)
    with_windows(c, m)
    return m


def _phimoe(c: Config) -> Measures:
    m = _llama(c)
    m.update(norm_vectors=2)
    add_rest(m, m["vocabulary"] if c.flag("lm_head_bias") else 0)
    with_windows(c, m)
    return m


def _gpt2(c: Config) -> Measures:
    m = usual(c)
    m.update(gated=False, biases=True, norm_vectors=2, positions=c.count("n_positions", "n_ctx", default=1024))
    if c.family == "gpt_bigcode":
        m["kv_heads"] = 1 if c.flag("multi_query", default=True) else m["heads"]
    return m


def _gpt_neo(c: Config) -> Measures:
    m = usual(c)
    m.update(gated=False, norm_vectors=2, positions=c.count("max_position_embeddings"))
    add_rest(m, output_biases(m) + feed_biases(m))
    m.update(window=c.count("window_size", default=256, least=1), windowed_layers=m["layers"] // 2)
    return m


def _gptj(c: Config) -> Measures:
    m = usual(c)
    m.update(gated=False, norms=1, norm_vectors=2)
    add_rest(m, feed_biases(m) + m["vocabulary"])
    return m


def _gpt_neox(c: Config) -> Measures:
    m = usual(c)
    m.update(gated=False, norm_vectors=2)
    add_rest(m, feed_biases(m) + (qkv_biases(m) + output_biases(m) if c.flag("attention_bias", default=True) else 0))
    return m


def _opt(c: Config) -> Measures:
    m = usual(c)
    before = c.flag("do_layer_norm_before", default=True)
    m.update(gated=False, biases=True, norm_vectors=2, positions=c.count("max_position_embeddings") + 2)
    m.update(outer_norms=1 if before else 0)
    if (width := c.maybe("word_embed_proj_dim", least=1)) is not None and width != m["hidden"]:
        m["embedding_size"] = width
    return m


def _bloom(c: Config) -> Measures:
    m = usual(c)
    m.update(gated=False, biases=True, norm_vectors=2, outer_norms=2, intermediate=4 * m["hidden"])
    return m


def _falcon(c: Config) -> Measures:
    m = usual(c)
    new = c.flag("new_decoder_architecture")
    apart = c.flag("parallel_attn", default=True) and not new
    ones = c.count("num_ln_in_parallel_attn", default=2 if new else 1)
    if not new:
        m["kv_heads"] = 1 if c.flag("multi_query", default=True) else m["heads"]
    m.update(gated=False, norm_vectors=2, norms=1 if apart or (new and ones == 1) else 2, biases=c.flag("bias"))
    return m


def _mpt(c: Config) -> Measures:
    m = usual(c)
    m.update(gated=False, intermediate=round(c.ratio("expansion_ratio", default=4) * m["hidden"]))
    m["kv_heads"] = c.part("attn_config").count("kv_n_heads", default=m["heads"], least=1)
    return m


def _stablelm(c: Config) -> Measures:
    m = usual(c)
    m.update(norm_vectors=2, norms=1 if c.flag("use_parallel_residual") else 2)
    if c.flag("use_qkv_bias"):
        add_rest(m, qkv_biases(m))
    if c.flag("qk_layernorm"):
        add_rest(m, wide_norms(m))
    return m


def _starcoder2(c: Config) -> Measures:
    m = usual(c)
    m.update(gated=False, norm_vectors=2, biases=c.flag("use_bias", default=True))
    with_windows(c, m)
    return m


def _chatglm(c: Config) -> Measures:
    """ChatGLM2, 3 and GLM-4 with their own code; the first ChatGLM has plain parts and biases everywhere."""
    m = usual(c)
    if "inner_hidden_size" in c:
        m.update(gated=False, biases=True, norm_vectors=2, intermediate=c.count("inner_hidden_size"))
        return m
    if not c.flag("multi_query_attention"):
        m["kv_heads"] = m["heads"]
    if c.flag("add_qkv_bias", default=True):
        add_rest(m, qkv_biases(m))
    return m


def _glm(c: Config) -> Measures:
    m = usual(c)
    m["norms"] = 4 if c.family == "glm4" else 2
    if c.flag("attention_bias", default=True):
        add_rest(m, qkv_biases(m))
    with_experts(c, m)
    if c.flag("use_qk_norm"):
        add_rest(m, head_norms(m))
    _chosen_by_score(m, c.family == "glm4_moe")
    return m


def _deepseek(c: Config) -> Measures:
    m = usual(c)
    with_latent(c, m)
    with_experts(c, m)
    _chosen_by_score(m, c.text("topk_method", default="noaux_tc" if c.family != "deepseek_v2" else "") == "noaux_tc")
    return m


def _chosen_by_score(m: Measures, yes: bool) -> None:  # noqa: FBT001 - the name asks the question
    """Count the score that each expert carries, which balances how often it is chosen."""
    if yes and m.get("experts"):
        add_rest(m, (m["layers"] - m["dense_layers"]) * m["experts"])


def _minicpm3(c: Config) -> Measures:
    m = usual(c)
    with_latent(c, m)
    return m


def _minicpm(c: Config) -> Measures:
    m = _llama(c)
    m["tied_embeddings"] = c.flag("tie_word_embeddings", default=True)
    return m


def _olmo(c: Config) -> Measures:
    m = _llama(c)
    if c.family == "olmo":
        m["norm_vectors"] = 0
        return m
    add_rest(m, wide_norms(m))
    with_windows(c, m, every=4)
    return m


def _cohere(c: Config) -> Measures:
    m = _llama(c)
    m["norms"] = 1
    if c.flag("use_qk_norm"):
        add_rest(m, wide_norms(m))
    with_windows(c, m, every=4)
    return m


def _exaone4(c: Config) -> Measures:
    m = _llama(c)
    add_rest(m, head_norms(m))
    with_windows(c, m, every=4)
    return m


def _gpt_oss(c: Config) -> Measures:
    m = usual(c)
    with_experts(c, m)
    add_rest(m, qkv_biases(m) + output_biases(m) + m["layers"] * m["heads"])  # and a sink for each head
    if m.get("experts"):
        inner = m["expert_intermediate"]
        add_rest(m, m["layers"] * m["experts"] * (1 + 2 * inner + m["hidden"]))
    with_windows(c, m, every=2)
    return m


def _llama4(c: Config) -> Measures:
    m = _llama(c)
    inner = m["intermediate"]
    with_experts(c, m, inner=inner)
    m.update(intermediate=c.count("intermediate_size_mlp", default=inner), shared_intermediate=inner)
    if chosen := c.items("moe_layers"):
        m["dense_layers"] = max(0, m["layers"] - len(chosen))
    with_windows(c, m, every=4)
    return m


def _nemotron(c: Config) -> Measures:
    m = _llama(c)
    m.update(gated=False, norm_vectors=2)
    return m


def _plain_llama(c: Config) -> Measures:
    m = _llama(c)
    m["gated"] = False
    return m


def _dbrx(c: Config) -> Measures:
    attention, feed = c.part("attn_config"), c.part("ffn_config")
    m = usual(c)
    m["kv_heads"] = attention.count("kv_n_heads", default=m["heads"], least=1)
    m["intermediate"] = feed.count("ffn_hidden_size", default=4 * m["hidden"])
    with_experts(feed, m)
    return m


def _persimmon(c: Config) -> Measures:
    m = usual(c)
    m.update(gated=False, biases=True, norm_vectors=2)
    if c.flag("qk_layernorm", default=True):
        add_rest(m, head_norms(m, 2))
    return m


def _minimax_m2(c: Config) -> Measures:
    m = _llama(c)
    _chosen_by_score(m, yes=True)
    if c.flag("use_qk_norm", default=True):
        add_rest(m, wide_norms(m))
    return m


def _hunyuan(c: Config) -> Measures:
    m = _llama(c)
    add_rest(m, head_norms(m))
    return m


DECODERS: dict[str, Callable[[Config], Measures]] = {
    "llama": _llama, "yi": _llama, "baichuan": _llama, "internlm": _llama, "internlm2": _llama, "mimo": _qwen2,
    "smollm3": _llama, "granite": _llama, "granitemoe": _llama, "exaone": _llama, "helium": _llama, "seed_oss": _qwen2,
    "ernie4_5": _llama, "aquila": _llama, "internlm3": _llama, "mixtral": _mistral, "mistral": _mistral,
    "mistral3": _mistral, "ministral": _mistral, "qwen2": _qwen2, "qwen2_moe": _qwen2, "qwen3": _qwen3,
    "qwen2_vl_text": _qwen2, "qwen2_5_vl_text": _qwen2, "qwen3_vl_text": _qwen3, "qwen3_vl_moe_text": _qwen3,
    "qwen3_moe": _qwen3, "qwen3_next": _qwen3_next, "qwen3_5_text": _qwen3_next, "qwen3_5_moe_text": _qwen3_next,
    "gemma": _gemma, "gemma2": _gemma, "gemma3_text": _gemma, "phi": _phi, "phi3": _phi3, "phimoe": _phimoe,
    "gpt2": _gpt2, "gpt_bigcode": _gpt2, "gpt_neo": _gpt_neo, "gptj": _gptj, "codegen": _gptj, "gpt_neox": _gpt_neox,
    "opt": _opt, "bloom": _bloom, "falcon": _falcon, "RefinedWebModel": _falcon, "RefinedWeb": _falcon, "mpt": _mpt,
    "stablelm": _stablelm, "stablelm_epoch": _stablelm, "starcoder2": _starcoder2, "chatglm": _chatglm, "glm": _glm,
    "glm4": _glm, "glm4_moe": _glm, "deepseek_v2": _deepseek, "deepseek_v3": _deepseek, "deepseek_v32": _deepseek,
    "glm_moe_dsa": _deepseek, "kimi_k2": _deepseek, "minicpm": _minicpm, "minicpm3": _minicpm3,
    "olmo": _olmo, "olmo2": _olmo, "olmo3": _olmo,
    "olmoe": _olmo, "cohere": _cohere, "cohere2": _cohere, "exaone4": _exaone4, "gpt_oss": _gpt_oss,
    "llama4_text": _llama4, "nemotron": _nemotron, "arcee": _plain_llama, "dbrx": _dbrx, "persimmon": _persimmon,
    "minimax_m2": _minimax_m2, "hunyuan_v1_dense": _hunyuan,
}  # fmt: skip
