"""The models of two sides: translators, whose decoder attends over their encoder, and models of images beside text.

What each family does is taken from its code in huggingface/transformers 5.23.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from brimful.readers.huggingface.config import Config
from brimful.readers.huggingface.measures import Measures, add_rest, usual
from brimful.readers.huggingface.vision import clip_vision, siglip_vision

_TAPS = 3


def _t5(c: Config, image: int | None) -> Measures:
    """T5: RMS norms, no biases, one table of relative positions a side, one table of words for both."""
    del image
    decoder = usual(c)
    form = c.text("feed_forward_proj", default="relu")
    decoder.update(gated=form.startswith("gated"), cross=True, tied_embeddings=c.flag("tie_word_embeddings"))
    encoder = {**decoder, "decoder": False, "cross": False, "vocabulary": 0, "tied_embeddings": True, "head": "none"}
    decoder["layers"] = c.count("num_decoder_layers", default=decoder["layers"], least=1)
    tables = c.count("relative_attention_num_buckets", default=32) * decoder["heads"]
    add_rest(decoder, tables * (decoder["layers"] if c.family == "umt5" else 1))
    add_rest(encoder, tables * (encoder["layers"] if c.family == "umt5" else 1))
    if c.family == "switch_transformers":
        _switched(c, encoder, "num_sparse_encoder_layers")
        _switched(c, decoder, "num_sparse_decoder_layers")
    return {**decoder, "encoder": encoder}


def _switched(c: Config, m: Measures, key: str) -> None:
    """Add experts of which each token takes one."""
    m.update(
        experts=c.count("num_experts"),
        experts_per_token=1,
        expert_intermediate=m["intermediate"],
        dense_layers=max(0, m["layers"] - c.count(key)),
    )


def _side(c: Config, name: str) -> Measures:
    hidden, heads = c.count("d_model", least=1), c.count(f"{name}_attention_heads", least=1)
    return {
        "family": c.family,
        "decoder": name == "decoder",
        "layers": c.count(f"{name}_layers", least=1),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": heads,
        "head_size": max(1, hidden // heads),
        "intermediate": c.count(f"{name}_ffn_dim"),
        "gated": False,
        "biases": True,
        "norm_vectors": 2,
        "vocabulary": 0,
        "tied_embeddings": True,
        "head": "none",
        "rest_parameters": 0,
    }


def _bart(c: Config, image: int | None) -> Measures:
    """BART and its kin: they differ in their positions and in the norms around the layers."""
    del image
    encoder, decoder = _side(c, "encoder"), _side(c, "decoder")
    more = {"bart": 2, "mbart": 2, "plbart": 2}.get(c.family, 0)
    rows = 0 if c.family in ("m2m_100", "nllb-moe") else c.count("max_position_embeddings") + more
    around = {"marian": 0, "mbart": 2}.get(c.family, 1)
    for side in (encoder, decoder):
        side.update(positions=rows, outer_norms=around)
    words = c.count("vocab_size", least=1)
    decoder.update(vocabulary=words, tied_embeddings=True, head="language", cross=True, encoder=encoder)
    return decoder


def _whisper(c: Config, image: int | None) -> Measures:
    """Whisper: two convolutions over a clip, the second of which keeps every other frame; keys without biases."""
    del image
    encoder, decoder = _side(c, "encoder"), _side(c, "decoder")
    hidden, tokens = encoder["hidden"], c.count("max_source_positions", default=1500, least=1)
    first, second = _TAPS * c.count("num_mel_bins", default=80) * hidden, _TAPS * hidden * hidden
    encoder.update(
        patches=tokens,
        positions=tokens,
        stem_parameters=first + second + 2 * hidden,
        stem_flops=2.0 * (first * 2 * tokens + second * tokens),
    )
    decoder.update(
        vocabulary=c.count("vocab_size", least=1),
        head="language",
        cross=True,
        encoder=encoder,
        positions=c.count("max_target_positions", default=448),
    )
    for side, attentions in ((encoder, 1), (decoder, 2)):
        side["biases"] = False
        add_rest(side, side["layers"] * ((3 * attentions + 1) * hidden + side["intermediate"]))
    return decoder


def clip_text(c: Config) -> Measures:
    """Return CLIP's side of text: a decoder's layers with BERT's parts, and one vector at the end."""
    m = usual(c)
    m.update(
        decoder=False, gated=False, biases=True, norm_vectors=2, head="none", tied_embeddings=True,
        positions=c.count("max_position_embeddings", default=77),
    )  # fmt: skip
    if any("WithProjection" in str(item) for item in c.items("architectures")):
        m.update(head="projection", classes=c.count("projection_dim", default=512))
    return m


def siglip_text(c: Config) -> Measures:
    """Return SigLIP's side of text: CLIP's, with a square matrix at the end."""
    m = clip_text(c)
    m.update(head="classes", classes=c.count("projection_size", default=m["hidden"]))
    return m


def _clip(c: Config, image: int | None) -> Measures:
    text = clip_text(c.part("text_config", family="clip_text_model"))
    pixels = clip_vision(c.part("vision_config", family="clip_vision_model"), image)
    width = c.count("projection_dim", default=512)
    pixels.update(head="projection", classes=width)
    text.update(head="projection", classes=width, encoder=pixels, family="clip")
    add_rest(text, 1)
    return text


def _siglip(c: Config, image: int | None) -> Measures:
    text = siglip_text(c.part("text_config", family="siglip_text_model"))
    text.update(encoder=siglip_vision(c.part("vision_config", family="siglip_vision_model"), image), family="siglip")
    add_rest(text, 2)
    return text


_Sided = Callable[[Config, int | None], dict[str, Any]]

TWO_SIDED: dict[str, _Sided] = {
    "t5": _t5, "mt5": _t5, "umt5": _t5, "longt5": _t5, "switch_transformers": _t5, "bart": _bart, "mbart": _bart,
    "pegasus": _bart, "marian": _bart, "m2m_100": _bart, "plbart": _bart, "whisper": _whisper, "clip": _clip,
    "siglip": _siglip,
}  # fmt: skip

TEXT_SIDES: dict[str, Callable[[Config], Measures]] = {
    "clip_text_model": clip_text, "siglip_text_model": siglip_text,
}  # fmt: skip
