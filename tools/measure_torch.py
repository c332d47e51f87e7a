"""Measures queries with PyTorch where a GPU (or only a CPU) is: `python -m tools.measure_torch QUERIES.jsonl OUT.jsonl`.

Needs timm. Each query is a model of timm with random weights, in evaluation mode, at its batch, precision and layout. A
call is timed from an idle device to an idle device; the first calls are not counted; the mean of at least two seconds or
ten calls is written, with the spread and what it ran on. What fails is written too, with the reason.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

_WARM, _LEAST_CALLS, _LEAST_S = 5, 10, 2.0


def main() -> None:
    """Measure every query of a file."""
    queries, out = Path(sys.argv[1]), Path(sys.argv[2])
    with out.open("w", encoding="utf-8") as file:
        for line in queries.read_text("utf-8").splitlines():
            query = json.loads(line)
            try:
                answer = {**query, **_measure(query)}
            except Exception as error:  # noqa: BLE001 - one model that fails must not end the others
                answer = {**query, "latency_ms": None, "reason": f"{type(error).__name__}: {error}"[:200]}
            file.write(json.dumps(answer) + "\n")
            file.flush()
            print(answer["id"], answer["latency_ms"], flush=True)


def _measure(query: dict[str, Any]) -> dict[str, Any]:
    import timm  # noqa: PLC0415
    import torch  # noqa: PLC0415

    device = "cpu" if query["device"].startswith("cpu") else "cuda"
    kind = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[query["precision"].partition("-")[0]]
    amp = query["precision"].endswith("-amp")
    module = timm.create_model(query["model"].removeprefix("timm:")).to(device).eval()
    side = query.get("image_size") or timm.get_pretrained_cfg(query["model"].removeprefix("timm:")).input_size[-1]
    inputs = torch.randn(query["batch"], 3, side, side, device=device)
    if not amp:
        module, inputs = module.to(kind), inputs.to(kind)
    if query.get("layout") == "nhwc":
        module, inputs = module.to(memory_format=torch.channels_last), inputs.to(memory_format=torch.channels_last)
    if query.get("compiled") == "inductor":
        module = torch.compile(module)
    times: list[float] = []
    with torch.inference_mode(), torch.autocast(device, kind, enabled=amp):
        for _ in range(_WARM):
            module(inputs)
        start = time.monotonic()
        while len(times) < _LEAST_CALLS or time.monotonic() - start < _LEAST_S:
            _idle(device)
            began = time.perf_counter()
            module(inputs)
            _idle(device)
            times.append((time.perf_counter() - began) * 1e3)
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    mean = statistics.fmean(times)
    return {
        "latency_ms": mean,
        "p50_ms": statistics.median(times),
        "calls": len(times),
        "ran_on": f"{name}, torch {torch.__version__}, timm {timm.__version__}",
    }


def _idle(device: str) -> None:
    import torch  # noqa: PLC0415

    if device == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
