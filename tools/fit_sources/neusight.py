"""NeuSight's end-to-end measurements: language models in fp32 PyTorch, whole passes over a sequence."""

from __future__ import annotations

from tools.fit_sources.clean import Cleaner, Raw

_MODELS = {
    "bert_large": "bert-large", "gpt2_large": "gpt2-large", "gpt3_xl": "gpt3-xl", "gpt3_27": "gpt3-2.7b",
    "opt_13": "opt-1.3b", "switchxl4": "switch-xl-4",
}  # fmt: skip


def add(raw: Raw, into: Cleaner) -> None:
    """Clean one row; those on four GPUs say how the model was divided."""
    chip = into.chip(raw["hardware"])
    batch, latency = raw.number("batch"), raw.number("latency_ms")
    if chip is None or batch is None or latency is None:
        return
    kind = raw["precision"].removeprefix("fp32").strip()
    divided = kind.startswith(("tp", "pp", "dp"))
    into.keep(
        model=_MODELS[raw["model"]],
        device=chip.model,
        count=4 if divided else 1,
        engine="torch",
        version="2.1",
        precision="fp32",
        compiled="inductor" if kind == "fusion" else "eager",
        batch=int(batch),
        mode="training" if raw["scenario"] == "train" else "inference",
        scenario="throughput",
        sequence=int(raw.notes["seq"]),
        throughput_per_s=1000 * batch / latency,
        latency_ms=latency,
        source="neusight",
        weight=0.3 if divided else 1.0,
        flags=kind if divided else "",
    )
