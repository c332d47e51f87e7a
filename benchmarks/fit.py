# ruff: noqa: E402 - how many threads numpy starts is settled before it is imported
"""What `fit` costs: CPU time and memory of a whole ranking, and of 10,000 queries.

python -m benchmarks.fit [ROUNDS]

The ranking is that of every instance type of the catalogue, from a profile to answers as nouns; the catalogue, the
devices and the predictor are read before the clock starts, as they are once in a process. CPU time is that of all
threads, the median of the rounds. ResNet-50 is a named model; the long graph is an ONNX file of 10,000 nodes, whose
reading counts as well and needs `onnx` to be made.
"""

from __future__ import annotations

import os
import sys

for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # as the command line has it; before numpy comes
    os.environ.setdefault(name, "1")

import json
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from brimful.advise.fit.places import Market
from brimful.advise.fit.rank import rank
from brimful.advise.fit.request import read
from brimful.catalog import chips, load
from brimful.model.work import Profile
from brimful.report.fit_queries import json_lines
from brimful.verbs.fit_devices import Devices
from brimful.verbs.fit_models import Models, read_model
from brimful.verbs.fit_queries import Lookup, answers
from brimful.verbs.forecast import load_forecaster

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from onnx_models import transformer

CATALOG, FORECASTS = load(), load_forecaster()
MARKET = Market(
    CATALOG.offers,
    lambda offer: chips.shipped().of_family(offer.family),
    CATALOG.fitted,
    CATALOG.operators,
    CATALOG.model_fits,
)
LOADS: dict[str, dict[str, Any]] = {
    "full load": {},
    "40 requests a second, p99 50 ms": {"qps": "40", "p99": "50ms"},
    "4,000 a second, p99 50 ms, jpeg:110KB": {"qps": "4000", "p99": "50ms", "data": "jpeg:110KB"},
    "200M within 6 h": {"offline": "200M", "within": "6h"},
    "training, 90 epochs of 1.2M": {"train": True, "dataset": "1.2M", "epochs": "90", "data": "jpeg:110KB"},
}
LLM = {"qps": "3", "tokens_in": 1500, "tokens_out": 300, "ttft": "500ms", "tpot": "40ms"}


def median_ms(work: Callable[[], object], rounds: int) -> float:
    """Return the median CPU time of some work in milliseconds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times) * 1000


def ranking(title: str, profile: Callable[[], Profile], options: dict[str, Any], rounds: int) -> None:
    """Print one ranking's line."""
    took = median_ms(lambda: rank(profile(), read(options), MARKET, FORECASTS).ranking(), rounds)
    print(f"  {title:<62} {took:>7.0f} ms CPU")


def queries(count: int) -> None:
    """Print the line of so many queries, with their reading and their JSON."""
    devices = ("T4", "A100-SXM4-80GB", "H100-SXM5-80GB", "L4", "Graviton3", "Xeon Platinum 8488C", "Inferentia2")
    models = ("resnet50", "timm:convnext_base", "bert-large", "timm:vit_base_patch16_224", "yolo_v8n", "llama-2-7b")
    asked = [
        json.dumps({"id": at, "model": models[at % 6], "device": devices[at % 7], "batch": 1 << at % 8})
        for at in range(count)
    ]
    lookup = Lookup(Models(), Devices.of(CATALOG, "us-east-1"))
    took = median_ms(lambda: sum(len(lines) for lines in json_lines(answers(asked, lookup, FORECASTS))), 1)
    print(f"  {f'{count:,} queries':<62} {took:>7.0f} ms CPU")


def main(rounds: int = 7) -> None:
    """Print the machine, then all figures."""
    print(describe())
    models = Models()
    for title, options in LOADS.items():
        ranking(f"ResNet-50, {title}", lambda: models.named("resnet50"), options, rounds)
    ranking("Llama 2 7B, 3 requests a second", lambda: models.named("llama-2-7b", None, 1500), LLM, rounds)
    with tempfile.TemporaryDirectory() as folder:
        net, model = transformer(167, 64, 4, 100, "long.bin")
        path = net.write(Path(folder), model)
        ranking("10,000 nodes, full load, read from the file", lambda: read_model(path, {"sequence": 128}), {}, rounds)
    queries(10_000)
    print(f"  most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
