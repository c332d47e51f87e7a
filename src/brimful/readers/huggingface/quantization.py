"""How many bits a configuration keeps weights in, and what the scales beside them cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brimful.readers.huggingface.config import Config, inner_configs

_TYPE_BITS = {
    "float64": 64, "float32": 32, "float": 32, "bfloat16": 16, "float16": 16, "half": 16, "float8_e4m3fn": 8,
    "float8_e5m2": 8, "int8": 8,
}  # fmt: skip
_NAMES = {64: "fp64", 32: "fp32", 8: "fp8"}


_FIXED = {
    "mxfp4": (4, 4.25, "fp4"),  # a scale of eight bits for 32 weights: OCP Microscaling Formats 1.0
    "nvfp4": (4, 4.5, "fp4"),  # a scale of eight bits for 16 weights
    "modelopt_fp4": (4, 4.5, "fp4"),
}


@dataclass(frozen=True, slots=True)
class Quantization:
    """How the layers' matrices are kept: bits of a weight, bits of all that is kept for it, and which matrices."""

    method: str
    bits: int
    kept_bits: float
    name: str
    experts_only: bool = False


def plain_bits(raw: dict[str, Any]) -> tuple[int, str] | None:
    """Return the bits of a weight that is not quantised and what they are called, if the configuration says it."""
    for inner in inner_configs(raw):
        for key in ("torch_dtype", "dtype"):
            value = inner.get(key)
            if isinstance(value, str) and (bits := _TYPE_BITS.get(value.removeprefix("torch."))):
                return bits, "bf16" if "bfloat" in value else _NAMES.get(bits, "fp16")
    return None


def quantization(raw: dict[str, Any]) -> Quantization | None:
    """Return how the weights are quantised, None when they are not or nobody knows how."""
    table = next((c["quantization_config"] for c in inner_configs(raw) if c.get("quantization_config")), None)
    if not isinstance(table, dict):
        return None
    c = Config(table, "")
    method = c.text("quant_method", "quant_algo", default="unnamed").lower()
    found = _by_method(c, method)
    if found is None:
        return None
    bits, kept, name = found
    skipped = str(table.get("modules_to_not_convert") or table.get("ignore") or table.get("exclude_modules") or "")
    return Quantization(
        method=method, bits=bits, kept_bits=kept, name=name, experts_only="attn" in skipped and "experts" not in skipped
    )


def _by_method(c: Config, method: str) -> tuple[int, float, str] | None:
    """Return bits of a weight, bits with its share of scales, and the name of the type."""
    if method.removesuffix("_marlin") in ("gptq", "awq", "autoround", "auto-round", "intel/auto-round"):
        bits = c.count("bits", "w_bit", default=4, least=1)
        group = c.raw.get("group_size", c.raw.get("q_group_size", 128))
        share = (16 + bits) / group if isinstance(group, int) and group > 0 else 0.0  # an fp16 scale, and a zero point
        return bits, bits + share, f"int{bits}"
    if method in ("fp8", "fbgemm_fp8"):
        block = [item for item in c.items("weight_block_size") if isinstance(item, int) and item > 0]
        return 8, 8 + (32 / (block[0] * block[1]) if len(block) == 2 else 0.0), "fp8"
    if method in ("bitsandbytes", "bnb"):
        return _by_bitsandbytes(c)
    return _FIXED.get(method) or (_by_groups(c) if method in ("compressed-tensors", "modelopt") else None)


def _by_bitsandbytes(c: Config) -> tuple[int, float, str] | None:
    if c.flag("load_in_4bit", "_load_in_4bit"):  # an fp32 scale for 64 weights; or scales of scales of 256 of them
        return 4, 4.127 if c.flag("bnb_4bit_use_double_quant") else 4.5, "fp4"
    return (8, 8.0, "int8") if c.flag("load_in_8bit", "_load_in_8bit") else None


def _by_groups(c: Config) -> tuple[int, float, str] | None:
    for inner in inner_configs(c.raw):
        weights = inner.get("weights")
        if isinstance(weights, dict):
            part = Config(weights, "")
            bits = part.count("num_bits", default=8, least=1)
            group = part.maybe("group_size")
            kind = "fp" if part.text("type", default="int") == "float" else "int"
            scale = 8 if (kind, bits) == ("fp", 4) else 16
            return bits, bits + (scale / group if group else 0.0), f"{kind}{bits}"
    name = c.text("quant_algo", "format", default="").lower()
    return (4, 4.5, "fp4") if "nvfp4" in name else (8, 8.0, "fp8") if "fp8" in name else None
