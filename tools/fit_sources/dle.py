"""NVIDIA's DeepLearningExamples, parsed from text: to check against here, never to be passed on (per-model licences).

Only rows whose figures agree with themselves are kept: one batch, and a latency that goes with the rate, or no latency.
"""

from __future__ import annotations

import re

from tools.fit_sources.clean import Cleaner, Raw, precision

_DEVICES = {"DGX A100": "A100", "DGX-1": "V100-SXM2-16GB", "DGX-2": "V100-SXM3-32GB", "DGX-2H": "V100-SXM3-32GB-450W"}
_MEMORY = re.compile(r"(A100|V100|T4|A30)\s*(\d+)\s*GB")
_PRECISIONS = {"mixed": "fp16", "amp": "fp16"}
_TOLERANCE = 0.15


def add(raw: Raw, into: Cleaner) -> None:
    """Clean one row."""
    batch = raw["batch"]
    if not batch.isdigit() or batch == "0":
        into.drop("no single batch")
        return
    rate, latency = raw.number("throughput"), raw.number("latency_ms")
    counts = raw.number("count")
    if rate is None or counts not in (1.0, 2.0, 4.0, 8.0, 16.0):
        into.drop("no rate, or a count that no system of these has")
        return
    if latency is not None and abs(rate * latency / 1000 / int(batch) - 1) > _TOLERANCE:
        into.drop("rate, batch and latency disagree (several requests at once, tokens, or misread)")
        return
    chip = into.chip(_device(raw))
    if chip is None:
        return
    name = precision(_PRECISIONS.get(raw["precision"].lower(), raw["precision"]))
    into.keep(
        model=raw["model"],
        device=chip.model,
        count=int(counts),
        engine=_engine(raw),
        precision=name,
        batch=int(batch),
        mode="training" if raw["scenario"] == "train" else "inference",
        scenario="throughput",
        throughput_per_s=rate,
        latency_ms=1000 * int(batch) / rate if latency is not None else None,
        source="nvidia-dle",
        weight=0.3,
        flags="parsed-from-text",
    )


def _device(raw: Raw) -> str:
    """Return the device with the memory that the table's heading names."""
    hardware = raw["hardware"].split(",")[0]
    found = _MEMORY.search(raw.notes.get("ctx", ""))
    name = _DEVICES.get(hardware, raw["hardware"].rpartition(",")[2])
    if hardware == "DGX A100" and not found:
        name = "A100-SXM4-40GB"
    return f"{found[1]} {found[2]}GB" if found else name


def _engine(raw: Raw) -> str:
    text = f"{raw.notes.get('ctx', '')} {raw['source']}".lower()
    for word, name in (("tensorrt", "tensorrt"), ("tf-trt", "tensorrt"), ("onnx", "onnxruntime")):
        if word in text:
            return name
    return "tensorflow" if "tensorflow" in text else "mxnet" if "mxnet" in text else "torch"
