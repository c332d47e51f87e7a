"""MLPerf inference results: closed division, and of the open one what ran an unchanged model on a CPU.

Counts are per node. Single-stream keeps one device busy however many there are, and its published latency is the 90th
percentile: the mean is 1000 / throughput. Multi-stream sends 8 samples at once since v2.0 and reports the 99th
percentile; before v2.0 it was another test. Server and interactive rates are what met a latency limit.
"""

from __future__ import annotations

import re

from tools.fit_sources.clean import Cleaner, Raw, precision
from tools.fit_sources.mlperf_names import MIG, engine, model_of, odd_device

_CHANGED = re.compile(r"pruned|obert|jpqd|minilm", re.IGNORECASE)
_SCENARIOS = {
    "offline": "offline", "server": "server", "interactive": "server", "singlestream": "single-stream",
    "multistream": "multi-stream",
}  # fmt: skip
_WEIGHTS = {"offline": 1.0, "single-stream": 1.0, "server": 0.3, "multi-stream": 0.3}
_HALF_PRECISE = ("99.9", "rnnt")  # of v0.7's "int8,fp16" systems, what ran in fp16


def add(raw: Raw, into: Cleaner) -> None:
    """Clean one row."""
    why = _unusable(raw)
    if why:
        into.drop(why)
        return
    hardware = odd_device(raw["hardware"]) or raw["hardware"]
    chip = into.chip(hardware)
    if chip is None:
        return
    model, sizes = model_of(raw["model"], _round(raw))
    scenario = _SCENARIOS[raw["scenario"].lower()]
    flags = _flags(raw)
    count = 1 if scenario in ("single-stream", "multi-stream") and chip.kind != "cpu" else _count(raw)
    if count is None:
        into.drop("no count of devices")
        return
    name, version = engine(raw.notes.get("fw", ""))
    mig = MIG.search(raw["hardware"])
    rate = raw.number("throughput")
    batch = {"single-stream": 1, "multi-stream": 8}.get(scenario)
    into.keep(
        model=model,
        device=chip.model,
        count=count * int(mig[1] or 1) if mig else count,
        share=round(int(mig[2]) / 7, 6) if mig else 1.0,
        engine=name,
        version=version,
        precision=_precision(raw),
        batch=batch,
        scenario=scenario,
        throughput_per_s=8000 / latency
        if scenario == "multi-stream" and (latency := raw.number("latency_ms"))
        else rate,
        latency_ms=1000 / rate if batch == 1 and rate else raw.number("latency_ms") if batch == 8 else None,
        source=f"mlperf-{_round(raw)}",
        weight=_weight(scenario, flags),
        flags="|".join(flags),
        **sizes,
    )


def _round(raw: Raw) -> str:
    return raw["source"].removeprefix("mlperf_inference_")


def _unusable(raw: Raw) -> str:
    """Say why a row is left out before anything is read from it, or ""."""
    division, scenario = raw.notes.get("division"), raw["scenario"].lower()
    if division == "network":
        return "network division: the clients' network is in the way"
    if "Nodes:" in raw["hardware"] or "1 Node:" in raw["hardware"]:
        return "different devices in one system"
    if division == "open" and not raw["hardware"].startswith("CPU"):
        return "open division on an accelerator: the model may be changed"
    if _CHANGED.search(raw["model"]):
        return "open division: a pruned or distilled model"
    if scenario == "multistream" and _round(raw) in ("v0.7", "v1.0", "v1.1"):
        return "multi-stream before v2.0: another test"
    if division == "open" and scenario in ("multistream", "offline") and "tflite" in raw.notes["system"]:
        return "open division: copies of the single-stream run under another scenario"
    return ""


def _count(raw: Raw) -> int | None:
    nodes = 1 if raw.notes["system"].startswith("1-node") else int(raw.notes["nodes"])
    if raw["hardware"].startswith("CPU"):
        return int(raw.notes["sockets"]) * nodes
    return int(raw["count"]) * nodes if raw["count"].isdigit() and raw["count"] != "0" else None


def _precision(raw: Raw) -> str:
    if raw["precision"] == "int8,fp16":
        return "fp16" if any(word in raw["model"] for word in _HALF_PRECISE) else "int8"
    return precision(raw["precision"])


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
        "submitter-ctuning": raw.notes["submitter"].lower() in ("ctuning", "gateoverflow"),
    }
    return [name for name, here in found.items() if here]


def _weight(scenario: str, flags: list[str]) -> float:
    weight = _WEIGHTS[scenario]
    for flag in ("maxq", "power-mode", "shared", "nodes", "open", "submitter-ctuning"):
        if flag in flags:
            weight *= 0.3
    return round(weight, 4)
