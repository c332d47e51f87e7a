"""MLPerf training results: samples to the target divided by the time, which has evaluation and start-up in it.

The number of samples is known for some benchmarks; rows without it say only how long the whole took, and are left out.
"""

from __future__ import annotations

from typing import Any

from tools.fit_sources.clean import Cleaner, Raw

_MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "resnet": ("resnet50", {"image_size": 224}),
    "retinanet": ("retinanet-resnext50", {"image_size": 800}),
    "maskrcnn": ("maskrcnn-resnet50", {"image_size": 800}),
    "bert": ("bert-large", {"sequence": 512}),
    "llama2_70b_lora": ("llama-2-70b-lora", {"sequence": 8192}),
    "gpt3": ("gpt3-175b", {"sequence": 2048}),
    "llama31_405b": ("llama-3.1-405b", {"sequence": 8192}),
    "llama31_8b": ("llama-3.1-8b", {"sequence": 8192}),
    "stable_diffusion": ("stable-diffusion-v2", {"image_size": 512}),
    "dlrm_dcnv2": ("dlrm-v2", {}),
}


def add(raw: Raw, into: Cleaner) -> None:
    """Clean one row."""
    rate, batch = raw.number("throughput"), raw.number("batch")
    if rate is None:
        into.drop("time to train without a known number of samples")
        return
    chip = into.chip(raw["hardware"])
    if chip is None:
        return
    if not raw["count"].isdigit() or raw["count"] == "0":
        into.drop("no count of devices")
        return
    name, sizes = _MODELS.get(raw["model"], (raw["model"], {}))
    count = int(raw["count"])
    several = raw.notes["nodes"] not in ("", "1")
    into.keep(
        model=name,
        device=chip.model,
        count=count,
        engine="unknown",
        batch=int(batch) if batch else None,
        mode="training",
        scenario="train-to-target",
        throughput_per_s=rate,
        source=raw["source"].replace("mlperf_training_", "mlperf-training-"),
        weight=0.05 if several else 0.3,
        flags="nodes|evaluation-included" if several else "evaluation-included",
        **sizes,
    )
