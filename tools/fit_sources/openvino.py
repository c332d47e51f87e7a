"""OpenVINO's published benchmarks: Intel's CPUs, GPUs and NPUs, batch 1.

Throughput rows run as many requests at once as suit the device; latency rows run one. On GPUs OpenVINO computes fp32
models in fp16 unless told otherwise, and its figures for both agree. Its Xeon servers have two sockets: what most of
them reach in fp32 is more than one socket can do.
"""

from __future__ import annotations

import re
from typing import Any

from brimful.model.hardware import DeviceKind
from tools.fit_sources.clean import Cleaner, Raw, precision

# What OpenVINO's documentation says of the inputs.
_SIZES: dict[str, tuple[int | None, int | None]] = {
    "resnet-50": (224, None), "mobilenet-v2": (224, None), "yolo_v8n": (640, None), "yolo11": (640, None),
    "yolo_v5m": (640, None), "yolo_v3_tiny": (416, None), "mask_rcnn_resnet50_atrous_coco": (800, None),
    "bert-base-cased": (None, 124), "bert-large-uncased-whole-word-masking-squad-0001": (None, 384),
    "bert-large-uncased": (None, 384), "stable-diffusion-v1-5": (512, None), "stable-diffusion-v2-1": (512, None),
    "lcm-dreamshaper-v7": (512, None), "flux.1-schnell": (1024, None),
}  # fmt: skip
_NAMES = {"manual_yolo11": "yolo11", "mistral-7b-v0.1": "mistral-7b-v0.1"}
_IMAGES = ("stable-diffusion", "lcm-", "flux", "ltx-video", "sdxl")
_NOT_TEXT = ("whisper", "distil-large", "embedding", "reranker", "llava", "-vl-", "minicpm-v", "minicpm-o", "internvl",
             "vision", "multimodal", "fara")  # fmt: skip
_PART = re.compile(r"(CPU\+iGPU|iGPU|NPU|CPU)(?:-only)?$")

Common = dict[str, Any]


def add(raw: Raw, into: Cleaner) -> None:
    """Clean one row."""
    hardware = _hardware(raw)
    if "CPU+iGPU" in hardware:
        into.drop("two devices at once (CPU+iGPU)")
        return
    chip = into.chip(hardware)
    if chip is None:
        return
    model = raw["model"].lower().strip()
    common: Common = {
        "model": _NAMES.get(model, model),
        "device": chip.model,
        "count": 2 if _two_sockets(chip.model) else 1,
        "engine": "openvino",
        "version": _version(raw["source"]),
        "precision": precision(raw["precision"]),
        "batch": 1,
        "source": "openvino",
    }
    flags = _flags(raw)
    if chip.kind is DeviceKind.GPU and common["precision"] == "fp32":
        common["precision"] = "fp16"
        flags.append("fp32-model")
    if raw["scenario"].startswith("llm"):
        _add_tokens(raw, into, common, flags)
    elif raw.notes.get("unit", "").startswith("Tokens") or _is_text_model(model):
        _add_unsized_tokens(raw, into, common, flags)
    else:
        _add_plain(raw, into, common, flags)


def _hardware(raw: Raw) -> str:
    """Return the device's name; rows of a chip with several devices say elsewhere which one was meant."""
    name = raw["hardware"]
    if raw["scenario"].startswith("llm"):
        return f"{name} iGPU"  # the page that shows them: "on built-in GPUs"
    said = raw.notes.get("ie", "").rpartition(", ")[2]
    if not _PART.search(name) and _PART.search(said) and "Core" in name:
        return f"{name} {said}"
    return name


def _two_sockets(model: str) -> bool:
    return model.startswith("Xeon") and not model.startswith(("Xeon W", "Xeon E", "Xeon D"))


def _flags(raw: Raw) -> list[str]:
    flags = ["server"] if raw["precision"].endswith("_ovms") else []
    if "A-Series" in raw["hardware"]:
        flags.append("device-assumed")
    if re.fullmatch(r".*B-Series Graphics dGPU-only", raw["hardware"]):
        flags.append("device-assumed")
    return flags


def _version(source: str) -> str:
    """Return the day of the state of the file, as the version of what it holds."""
    match = re.search(r"\((\d{4}-\d\d-\d\d)\)", source)
    return match[1] if match else "HEAD"


def _is_text_model(model: str) -> bool:
    return bool(re.search(r"llama|phi-|mistral|qwen|glm|gemma|minicpm|stablelm|zephyr|baichuan|bloomz", model))


def _add_plain(raw: Raw, into: Cleaner, common: Common, flags: list[str]) -> None:
    latency = raw.number("latency_ms")
    unit = raw.notes["unit"]
    if latency is not None and "sec" in unit:
        latency *= 1000
    image, sequence = _SIZES.get(str(common["model"]), (None, None))
    into.keep(
        **common,
        scenario="latency" if raw["scenario"] == "inference-latency" else "throughput",
        image_size=image,
        sequence=sequence,
        throughput_per_s=raw.number("throughput"),
        latency_ms=latency,
        weight=0.5 if "device-assumed" in flags else 1.0,
        flags="|".join(flags),
    )


def _add_unsized_tokens(raw: Raw, into: Cleaner, common: Common, flags: list[str]) -> None:
    """Keep a language model's rate without lengths: time of a token after the first, in ms or as tokens a second."""
    rate, latency = raw.number("throughput"), raw.number("latency_ms")
    if common["count"] == 2 and rate is not None:
        flags.append("batch-unknown")  # servers may serve several requests at once: nobody says
    into.keep(
        **common,
        scenario="llm",
        tpot_ms=latency if latency is not None else 1000 / rate if rate else None,
        weight=0.1 if "batch-unknown" in flags else 0.5,
        flags="|".join([*flags, "lengths-unknown"]),
    )


def _add_tokens(raw: Raw, into: Cleaner, common: Common, flags: list[str]) -> None:
    model = str(common["model"])
    if any(word in model for word in _IMAGES):
        into.drop("an image model in a table of tokens")
        return
    if any(word in model for word in _NOT_TEXT):
        flags.append("not-text-alone")
    length = re.search(r"in(\d+)-out", raw["scenario"])
    first, each = raw.notes.get("first_token_ms", ""), raw.number("latency_ms")
    if "368H" in raw["hardware"]:
        # In this file the columns disagree (throughput is 1000 / first token): the time of a token is what is meant.
        flags.append("rate-and-time-disagree")
    into.keep(
        **common,
        scenario="llm",
        tokens_in=int(length[1]) if length else None,
        ttft_ms=float(first) if first else None,
        tpot_ms=each,
        weight=0.1 if "not-text-alone" in flags else 0.5 if flags else 1.0,
        flags="|".join(flags),
    )
