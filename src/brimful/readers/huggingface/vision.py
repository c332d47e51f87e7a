"""The models of images, family by family; what each does is taken from its code in huggingface/transformers 5.23.0."""

from __future__ import annotations

from collections.abc import Callable

from brimful.readers.huggingface.config import Config
from brimful.readers.huggingface.encoders import image_head
from brimful.readers.huggingface.measures import (
    HEADS,
    HIDDEN,
    INNER,
    LAYERS,
    Measures,
    add_rest,
    feed_biases,
    output_biases,
)


def _sides(c: Config, image: int | None) -> tuple[int, int]:
    """Return how many patches an image has, and how many numbers a patch."""
    patch = c.count("patch_size", default=16, least=1)
    side = image if image is not None else c.count("image_size", default=224, least=1)
    if side < patch:
        raise ValueError(f"an image of {side} pixels has no patch of {patch}")
    return (side // patch) ** 2, c.count("num_channels", default=3, least=1) * patch * patch


def _plain(c: Config, image: int | None, *, tokens: int = 1) -> Measures:
    """Return a ViT: a convolution without overlap, learned positions, then BERT's layers with the norms before."""
    hidden, heads = c.count(*HIDDEN, least=1), c.count(*HEADS, least=1)
    patches, elements = _sides(c, image)
    learned, _ = _sides(c, None)
    return {
        "family": c.family,
        "decoder": False,
        "layers": c.count(*LAYERS, least=1),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": heads,
        "head_size": max(1, hidden // heads),
        "intermediate": c.count(*INNER, default=4 * hidden),
        "gated": False,
        "biases": True,
        "norm_vectors": 2,
        "vocabulary": 0,
        "positions": learned + tokens,
        "patches": patches,
        "patch_elements": elements,
        "class_tokens": tokens,
        "head": "none",
        "rest_parameters": hidden,  # the convolution's biases
    }


def _vit(c: Config, image: int | None) -> Measures:
    m = _plain(c, image, tokens=2 if c.family == "deit" else 1)
    m["head"], m["classes"] = image_head(c, "pooler")
    if not c.flag("qkv_bias", default=True):
        m["biases"] = False
        add_rest(m, output_biases(m) + feed_biases(m))
    if any("Teacher" in str(item) for item in c.items("architectures")):  # DeiT's two heads, one for each token
        m["head"], m["classes"] = "classes", 2 * image_head(c, "classes")[1]
    return m


def _beit(c: Config, image: int | None) -> Measures:
    """No biases of keys; positions relative, in a table; each part's outcome scaled by a vector."""
    m = _plain(c, image)
    m["head"], m["classes"] = image_head(c, "none")
    if not c.flag("use_absolute_position_embeddings"):
        m["positions"] = 0
    learned, _ = _sides(c, None)
    table = ((2 * round(learned**0.5) - 1) ** 2 + 3) * m["heads"]
    tables = m["layers"] * c.flag("use_relative_position_bias") + c.flag("use_shared_relative_position_bias")
    m["biases"] = False
    add_rest(m, table * tables + feed_biases(m) + 3 * output_biases(m))
    if c.ratio("layer_scale_init_value", default=0.1) > 0:
        add_rest(m, 2 * m["layers"] * m["hidden"])
    if c.flag("use_mask_token"):
        add_rest(m, m["hidden"])
    return m


def _dinov2(c: Config, image: int | None) -> Measures:
    registers = c.count("num_register_tokens", default=4) if c.family.endswith("registers") else 0
    m = _plain(c, image)
    m["head"], m["classes"] = image_head(c, "none")
    m["class_tokens"] += registers
    m["intermediate"] = int(m["hidden"] * c.ratio("mlp_ratio", default=4.0))
    if c.flag("use_swiglu_ffn"):
        m.update(gated=True, intermediate=(m["intermediate"] * 2 // 3 + 7) // 8 * 8)
    if m["head"] == "classes":  # over the class token and the mean of the patches
        add_rest(m, m["hidden"] * m["classes"])
    add_rest(m, (2 * m["layers"] + 1) * m["hidden"])
    return m


def clip_vision(c: Config, image: int | None) -> Measures:
    """Return CLIP's side of images: a norm before the layers too, and a convolution without biases."""
    m = _plain(c, image)
    m.update(outer_norms=2, rest_parameters=0)
    if any("WithProjection" in str(item) for item in c.items("architectures")):
        m.update(head="projection", classes=c.count("projection_dim", default=512))
    return m


def siglip_vision(c: Config, image: int | None) -> Measures:
    """Return SigLIP's side of images: no class token; a learned probe attends over the patches at the end."""
    m = _plain(c, image, tokens=0)
    if c.flag("vision_use_head", default=True):
        hidden, inner, tokens = m["hidden"], m["intermediate"], m["patches"]
        m["stem_parameters"] = 4 * hidden * hidden + 4 * hidden + 2 * hidden * inner + inner + hidden + 3 * hidden
        m["stem_flops"] = 4.0 * hidden * (tokens * hidden + hidden + tokens + inner)
    return m


VISION: dict[str, Callable[[Config, int | None], Measures]] = {
    "vit": _vit, "deit": _vit, "vit_msn": _vit, "beit": _beit, "data2vec-vision": _beit, "dinov2": _dinov2,
    "dinov2_with_registers": _dinov2, "clip_vision_model": clip_vision, "siglip_vision_model": siglip_vision,
}  # fmt: skip
