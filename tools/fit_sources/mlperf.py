"""MLPerf inference results: closed division, and of the open one what ran an unchanged model on a CPU.

Counts are per node. Single-stream keeps one device busy however many there are, and its published latency is the 90th
percentile: the mean is 1000 / throughput. Multi-stream sends 8 samples at once since v2.0 and reports the 99th
percentile; before v2.0 it was another test. Server and interactive rates are what met a latency limit.
"""

from __future__ import annotations

import re

from brimful.model.hardware import DeviceKind
from tools.fit_sources.clean import Cleaner, Raw, precision
from tools.fit_sources.mlperf_names import MIG, engine, model_of, odd_device

_CHANGED = re.compile(r"pruned|obert|jpqd|minilm", re.IGNORECASE)
_SCENARIOS = {
    "offline": "offline", "server": "server", "interactive": "server", "singlestream": "single-stream",
    "multistream": "multi-stream",
}  # fmt: skip
_WEIGHTS = {"offline": 1.0, "single-stream": 1.0, "server": 0.3, "multi-stream": 0.3}
# What NVIDIA's code runs in fp8 on Hopper, though the results say fp16, the weights' own: BERT at 99.9 % is as fast
# there as in int8, and with two bytes for each weight of Llama 2 70B one H200 would have no room left for its cache.
_EIGHT_BITS = ("bert-99.9", "gptj", "llama", "mixtral")
_UNPADDING = ("tensorrt", "torch")  # NVIDIA's and Intel's code packs the questions, whose mean length is about 177
_OLD_STREAMS = ("v0.7", "v1.0", "v1.1")
_HALF_PRECISE = ("99.9", "rnnt")  # of v0.7's "int8,fp16" systems, what ran in fp16


def add(raw: Raw, into: Cleaner, *, instance: str = "", vcpus: int | None = None, trusted: bool = False) -> None:
    """Clean one row; `instance` and `vcpus` say where it ran when that is known, `trusted` passes over who ran it."""
    why = _unusable(raw)
    if why:
        into.drop(why)
        return
    chip = into.chip(odd_device(raw["hardware"]) or raw["hardware"])
    if chip is None:
        return
    model, sizes = model_of(raw["model"], _round(raw))
    scenario = _SCENARIOS[raw["scenario"].lower()]
    flags = _flags(raw)
    alone = scenario in ("single-stream", "multi-stream") and chip.kind is not DeviceKind.CPU
    count = 1 if alone else _count(raw)
    if count is None:
        into.drop("no count of devices")
        return
    name, version = _engine(raw)
    mig = MIG.search(raw["hardware"])
    if "single-thread" in flags:
        vcpus = 1
    into.keep(
        model=model,
        device=chip.model,
        count=_slices(count, mig[1]) if mig else count,
        share=round(int(mig[2]) / 7, 6) if mig else 1.0,
        instance=instance,
        vcpus=vcpus,
        engine=name,
        version=version,
        precision=_corrected(raw, name, flags, hopper=chip.architecture.startswith("Hopper")),
        scenario=scenario,
        source=f"mlperf-{_round(raw)}",
        weight=_WEIGHTS[scenario] if trusted else _weight(scenario, flags),
        flags="|".join(flags),
        **_figures(raw, scenario),
        **sizes,
    )


def _slices(count: int, each: str | None) -> int:
    """Return how many MIG slices worked; where one of each GPU is used, the count is of GPUs, and one of them ran."""
    return count * int(each) if each and each != "1" else 1


def _figures(raw: Raw, scenario: str) -> dict[str, float | int | None]:
    """Return batch, rate and latency, each by the rules of its scenario."""
    rate, latency = raw.number("throughput"), raw.number("latency_ms")
    if scenario == "single-stream":
        if "mean_ms" in raw.notes:
            return {"batch": 1, "throughput_per_s": rate, "latency_ms": float(raw.notes["mean_ms"])}
        return {"batch": 1, "throughput_per_s": rate, "latency_ms": 1000 / rate if rate else None}
    if scenario == "multi-stream":
        return {"batch": 8, "throughput_per_s": 8000 / latency if latency else None, "latency_ms": latency}
    return {"throughput_per_s": rate}


def _corrected(raw: Raw, name: str, flags: list[str], *, hopper: bool) -> str:
    """Return the precision that was computed in, where the published one is that of the model before conversion."""
    said = _precision(raw)
    if name == "tensorrt" and said == "fp32":
        flags.append("precision-corrected")
        return "fp16" if any(word in raw["model"] for word in _HALF_PRECISE) else "int8"
    if name == "tensorrt" and said == "fp16" and hopper and raw["model"].startswith(_EIGHT_BITS):
        flags.append("precision-corrected")
        return "fp8"
    if name == "neuron" and said == "fp32":
        flags.append("autocast")
        return "bf16"
    return said


def _round(raw: Raw) -> str:
    return raw["source"].removeprefix("mlperf_inference_")


def _unusable(raw: Raw) -> str:
    """Say why a row is left out before anything is read from it, or ""."""
    scenario, opened = raw["scenario"].lower(), raw.notes["division"] == "open"
    copied = scenario in ("multistream", "offline") and "tflite" in raw.notes["system"]
    rules = {
        "network division: the clients' network is in the way": raw.notes["division"] == "network",
        "different devices in one system": "Nodes:" in raw["hardware"] or "1 Node:" in raw["hardware"],
        "open division on an accelerator: the model may be changed": opened and not _may_be_open(raw),
        "open division: a pruned or distilled model": opened and _is_changed(raw),
        "multi-stream before v2.0: another test": scenario == "multistream" and _round(raw) in _OLD_STREAMS,
        "multi-stream whose latency is one sample's, not eight samples'": scenario == "multistream" and _by_one(raw),
        "open division: copies of the single-stream run under another scenario": opened and copied,
    }
    return next((why for why, here in rules.items() if here), "")


def _is_changed(raw: Raw) -> bool:
    """Say whether a submission changed the model: by its name, or because its submitter's product does that."""
    sparse = raw["model"] == "resnet50" and "deepsparse" in raw.notes["system"]
    return bool(_CHANGED.search(raw["model"])) or raw.notes["submitter"] == "Deci" or sparse


def _by_one(raw: Raw) -> bool:
    """Say whether a multi-stream latency is of single samples: so it is wherever the code is not NVIDIA's own."""
    mine = raw.notes["submitter"].lower() in ("ctuning", "gateoverflow", "krai", "dividiti", "octoml")
    return mine or engine(raw.notes.get("fw", ""))[0] != "tensorrt"


def _may_be_open(raw: Raw) -> bool:
    """Say whether an open submission is of an unchanged model: on CPUs, and NVIDIA's own code run by others."""
    return raw["hardware"].startswith("CPU") or raw.notes["submitter"].lower() == "ctuning"


def _count(raw: Raw) -> int | None:
    nodes = 1 if raw.notes["system"].startswith("1-node") else int(raw.notes["nodes"])
    if raw["hardware"].startswith("CPU"):
        return int(raw.notes["sockets"]) * nodes
    return int(raw["count"]) * nodes if raw["count"].isdigit() and raw["count"] != "0" else None


def _precision(raw: Raw) -> str:
    if raw["precision"] == "int8,fp16":
        return "fp16" if any(word in raw["model"] for word in _HALF_PRECISE) else "int8"
    return precision(raw["precision"])


def _engine(raw: Raw) -> tuple[str, str]:
    """Return the engine; where the system's name contains one, it is right and the framework's text may be copied."""
    system = raw.notes["system"].lower()
    found = engine(raw.notes.get("fw", ""))
    for name in ("armnn", "tflite"):
        if name in system.replace("armnn_tflite", "armnn").replace("tflite_armnn", "armnn"):
            return name, found[1] if found[0] == name else ""
    return found


def _flags(raw: Raw) -> list[str]:
    system = raw.notes["system"]
    found = {
        "maxq": "maxq" in system.lower(),
        "power-mode": "-power." in system,
        "triton": "triton" in system.lower(),
        "mig": "MIG" in raw["hardware"],
        "shared": "HeteroMultiUse" in system,
        "open": raw.notes["division"] == "open",
        "nodes": raw.notes["nodes"] != "1" and not system.startswith("1-node"),
        "virtual": bool(re.search(r"irtualized|-\d+C$|-\d+Q$", raw["hardware"])),
        "interactive": raw["scenario"].lower() == "interactive",
        "p99-as-mean": raw["scenario"].lower() == "multistream",
        "single-thread": raw.notes["submitter"].lower() == "ctuning" and _engine(raw)[0] == "tflite",
        "unpadded": raw["model"].startswith("bert-99") and _engine(raw)[0] in _UNPADDING,
        "submitter-ctuning": raw.notes["submitter"].lower() in ("ctuning", "gateoverflow"),
    }
    return [name for name, here in found.items() if here]


def _weight(scenario: str, flags: list[str]) -> float:
    weight = _WEIGHTS[scenario]
    for flag in ("maxq", "power-mode", "shared", "nodes", "open", "submitter-ctuning"):
        if flag in flags:
            weight *= 0.3
    return round(weight, 4)
