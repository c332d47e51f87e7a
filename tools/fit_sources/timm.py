"""timm's benchmark tables: image models in PyTorch, one device, batch and time of a step given."""

from __future__ import annotations

from tools.fit_sources.clean import Cleaner, Raw, precision

_TOLERANCE = 0.03


def add(raw: Raw, into: Cleaner) -> None:
    """Clean one row."""
    chip = into.chip(raw["hardware"])
    batch, throughput, step_ms = raw.number("batch"), raw.number("throughput"), raw.number("latency_ms")
    if chip is None:
        return
    if batch is None or throughput is None:
        into.drop("no batch or no throughput")
        return
    flags = ["amp"] if "amp" in raw["precision"] else []
    if step_ms is None or abs(throughput * step_ms / 1000 / batch - 1) > _TOLERANCE:
        flags.append("rate-and-time-disagree")
    training = raw["scenario"] == "train"
    into.keep(
        model=raw["model"],
        device=chip.model,
        engine="torch",
        version=_version(raw.notes["pt"]),
        precision=precision(raw["precision"]),
        layout=raw.notes["layout"],
        compiled=raw.notes["compile"],
        batch=int(batch),
        mode="training" if training else "inference",
        scenario="throughput",
        image_size=int(raw.notes["img"]),
        throughput_per_s=throughput,
        latency_ms=1000 * batch / throughput,
        source="timm",
        weight=1.0 if "rate-and-time-disagree" not in flags else 0.3,
        flags="|".join(flags),
    )


def _version(text: str) -> str:
    """Read "291" as 2.9.1 and "113" as 1.13: from 2.0 on the last figure is the patch."""
    if text.startswith("1"):
        return f"1.{text[1:]}"
    return f"{text[0]}.{text[1]}.{text[2:]}"
