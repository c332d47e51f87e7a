"""From a configuration to a transformer: which family it is, and what it says of its quantisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brimful.model.work import Transformer
from brimful.readers.huggingface.config import Config
from brimful.readers.huggingface.decoders import DECODERS
from brimful.readers.huggingface.encoders import ENCODERS
from brimful.readers.huggingface.measures import EXPERTS, Measures, usual, with_experts, with_latent
from brimful.readers.huggingface.sides import TEXT_SIDES, TWO_SIDED
from brimful.readers.huggingface.vision import VISION

# Families that have the usual keys and are built otherwise: figures from those keys would be wrong without a word.
OTHERWISE = {
    "mobilebert": "its layers are bottlenecks of several widths",
    "swin": "its stages have several widths",
    "swinv2": "its stages have several widths",
    "funnel": "its sequences shrink from block to block",
    "longformer": "some of its tokens attend to all, as the input says",
    "xlnet": "it attends in two streams",
    "reformer": "it attends by hashes",
    "perceiver": "it attends over arrays of its own",
    "rwkv": "it has no attention",
    "mamba": "it has no attention",
    "mamba2": "it has no attention",
    "jamba": "some of its layers are Mamba's",
    "bamba": "some of its layers are Mamba's",
    "falcon_mamba": "it has no attention",
    "falcon_h1": "its layers are partly Mamba's",
    "nemotron_h": "some of its layers are Mamba's",
    "granitemoehybrid": "some of its layers are Mamba's",
    "zamba2": "some of its layers are Mamba's",
    "recurrent_gemma": "some of its layers are recurrent",
    "deepseek_v4": "its attention is compressed in ways that are not told here",
    "deepseek_ref": "its attention is compressed in ways that are not told here",
    "kimi_linear": "some of its layers have an attention of their own",
    "nemotron-nas": "each of its layers has sizes of its own",
    "gemma3n_text": "its layers have several widths and share keys and values",
}

_TEXT_PARTS = ("text_config", "llm_config", "language_config", "thinker_config", "decoder")


class BuiltOtherwiseError(ValueError):
    """A model that is known to be built in another way."""


@dataclass(frozen=True, slots=True)
class Found:
    """A transformer, and what a reader of its figures must know."""

    transformer: Transformer
    notes: tuple[str, ...]


def understood(raw: dict[str, Any], image: int | None = None) -> Found:
    """Return the transformer that a configuration describes; what it does not tell raises ValueError."""
    c, notes = _inner(Config(raw))
    if c.family in OTHERWISE:
        raise BuiltOtherwiseError(f"a {c.family} has the usual sizes, and {OTHERWISE[c.family]}")
    if c.items("block_configs"):
        raise BuiltOtherwiseError("each of its layers has sizes of its own (block_configs)")
    measures, generic = _measured(c, image)
    if generic:
        notes = (*notes, f"the family {c.family or 'without a name'!r} is not known: read by its usual keys")
    return Found(transformer=_made(measures), notes=notes)


def _inner(c: Config) -> tuple[Config, tuple[str, ...]]:
    """Return the part of a model of several inputs that is its decoder, if it is one."""
    if c.family in TWO_SIDED:
        return c, ()
    for key in _TEXT_PARTS:
        part = c.raw.get(key)
        if isinstance(part, dict) and part:
            family = f"{c.family}_text" if c.family else ""
            inner = c.part(key, family=family)
            if "architectures" in c.raw and "architectures" not in inner.raw:
                inner.raw["architectures"] = c.raw["architectures"]
            if "tie_word_embeddings" in c.raw:
                inner.raw.setdefault("tie_word_embeddings", c.raw["tie_word_embeddings"])
            return inner, (f"of its parts, the decoder of text alone ({key} of {c.family or 'the model'})",)
    return c, ()


def _measured(c: Config, image: int | None) -> tuple[Measures, bool]:
    """Return the measures, and whether the family is unknown."""
    if c.family in TWO_SIDED:
        return TWO_SIDED[c.family](c, image), False
    if c.family in VISION:
        return VISION[c.family](c, image), False
    for table in (DECODERS, ENCODERS, TEXT_SIDES):
        if c.family in table:
            return table[c.family](c), False
    return _generic(c), True


def _generic(c: Config) -> Measures:
    m = usual(c)
    if "kv_lora_rank" in c and "qk_rope_head_dim" in c:
        with_latent(c, m)
    if c.maybe(*EXPERTS):
        with_experts(c, m)
    names = [item for item in c.items("architectures") if isinstance(item, str)]
    if names and not any("Causal" in name or "LMHead" in name or "Generation" in name for name in names):
        m.update(decoder=False, head="none", gated=False, biases=True, norm_vectors=2)
        m["positions"] = c.count("max_position_embeddings", default=0)
    return m


def _made(measures: Measures) -> Transformer:
    known = dict(measures)
    encoder = known.pop("encoder", None)
    if encoder is not None:
        known["encoder"] = _made(encoder)
    return Transformer(**known)
