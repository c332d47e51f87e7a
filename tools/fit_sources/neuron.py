"""AWS's published Neuron benchmarks: Inferentia and Trainium, per instance. A file of its own: CC-BY-SA-4.0.

Models given in fp32 are computed in bf16 by the compiler's automatic cast. Medians stand for means. `count` is devices:
every run fills its instance, whose devices EC2 lists.
"""

from __future__ import annotations

import re
from typing import Any

from brimful.catalog import load
from tools.fit_sources.clean import Cleaner, Raw, precision

_NUMBER = re.compile(r"\d+")
_CAST = "autocast"


def add(raw: Raw, into: Cleaner) -> None:
    """Clean one row."""
    instance = raw["hardware"].lower().split("/")[0]
    offer = load().offer(instance)
    fitted = offer.accelerators[0] if offer and offer.accelerators else None
    if fitted is None:
        into.drop(f"no such instance type: {instance}")
        return
    batch = _first(raw["batch"])
    common = {
        "model": _model(raw["model"]),
        "device": fitted.model,
        "count": fitted.count,
        "instance": instance,
        "engine": "neuron",
        "version": raw.notes.get("Neuron Version", ""),
        "precision": _precision(raw),
        "batch": batch,
        "source": "neuron",
    }
    flags = [_CAST] if "fp32" in raw["precision"].lower() else []
    if raw["scenario"] == "train":
        _add_training(raw, into, common, flags)
    elif "TTFT Latency P50 (ms)" in raw.notes:
        _add_tokens(raw, into, common, flags)
    else:
        _add_plain(raw, into, common, flags)


def _model(name: str) -> str:
    inside = re.search(r"\((bert-[\w-]+)\)", name)
    return inside[1] if inside else name


def _first(text: str) -> int | None:
    match = _NUMBER.search(text)
    return int(match[0]) if match else None


def _precision(raw: Raw) -> str:
    """Return the precision of the matrix products: fp32 models are cast."""
    text = raw["precision"].strip('"').lower()
    if text.startswith(("autocast", "bf16")) or "fp32" in text:
        return "bf16"
    return precision(text)


def _add_plain(raw: Raw, into: Cleaner, common: dict[str, Any], flags: list[str]) -> None:
    sequence = _first(raw.notes.get("Sequence Length") or raw.notes.get("Seq. Length", ""))
    if sequence is None:
        found = re.search(r"sequence-length=(\d+)", raw["precision"])
        sequence = int(found[1]) if found else None
    size = _first(raw.notes.get("Image Size", ""))
    rate, latency = raw.number("throughput"), raw.number("latency_ms")
    if "Latency per Token P50 (ms)" in raw.notes:
        into.drop("an encoder-decoder's time per token without its lengths")
        return
    into.keep(
        **common,
        scenario="latency" if "Real Time" in raw["scenario"] else "throughput",
        image_size=size,
        sequence=sequence,
        throughput_per_s=rate,
        latency_ms=latency,
        flags="|".join([*flags, "median-as-mean"]),
    )


def _add_tokens(raw: Raw, into: Cleaner, common: dict[str, Any], flags: list[str]) -> None:
    first, each = float(raw.notes["TTFT Latency P50 (ms)"]), float(raw.notes["TPOT Latency P50 (ms)"])
    tokens_out = int(raw.notes["Output Length"])
    latency = first + each * (tokens_out - 1)
    into.keep(
        **common,
        scenario="llm",
        tokens_in=int(raw.notes["Input Length"]),
        tokens_out=tokens_out,
        throughput_per_s=1000 * common["batch"] / latency,
        latency_ms=latency,
        ttft_ms=first,
        tpot_ms=each,
        flags="|".join([*flags, f"tp{raw.notes['TP Degree']}", "median-as-mean"]),
    )


def _add_training(raw: Raw, into: Cleaner, common: dict[str, Any], flags: list[str]) -> None:
    nodes = int(raw.notes["Nodes"])
    rate = float(raw.notes["Performance [seq/sec]"])
    own = {
        "count": common["count"] * nodes,
        "batch": _first(raw.notes["Globalbatch"]),
        "sequence": _first(raw.notes.get("Sequence Length", "")),
    }
    into.keep(
        **common | own,
        mode="training",
        scenario="throughput",
        throughput_per_s=rate,
        weight=1.0 if nodes == 1 else 0.1,
        flags="|".join([*flags, *(["nodes"] if nodes > 1 else [])]),
    )
