"""What reading ONNX costs: CPU time and memory, on ResNet-50, on 10,000 nodes, and on weights of 8 GB beside the model.

python -m benchmarks.onnx [ROUNDS]

Needs `onnx`, which makes the models; brimful does not. Weights are holes in files, so nothing here takes up a disk. CPU
time is that of the process, the median of the rounds; memory is the most that Python held above what it held before.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from benchmarks.machine import describe
from brimful.readers.onnx import OnnxReader

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from onnx_models import resnet50, transformer

READER = OnnxReader()
Read = Callable[[], object]


def bytes_read() -> int:
    """Return how many bytes this process has read."""
    text = Path("/proc/self/io").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("rchar:"))


def measure(name: str, path: str, dims: dict[str, int], rounds: int) -> None:
    """Print one model's line."""
    profile = READER.profile(path, dims)
    times = []
    for _ in range(rounds):
        start = time.process_time()
        READER.profile(path, dims)
        times.append(time.process_time() - start)
    before = bytes_read()
    READER.profile(path, dims)
    read = bytes_read() - before
    tracemalloc.start()
    READER.profile(path, dims)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    nodes = sum(profile.op_types.values())
    print(
        f"  {name:<34} {nodes:>7,} nodes {statistics.median(times) * 1e3:>8.1f} ms CPU ({min(times) * 1e3:.1f} to "
        f"{max(times) * 1e3:.1f}) {peak / 2**20:>6.1f} MiB {read / 1e6:>7.2f} MB read of "
        f"{((profile.weight_bytes or 0) + Path(path).stat().st_size) / 1e6:,.0f} MB"
    )


def main(rounds: int = 9) -> None:
    """Print the machine, then all models."""
    print(describe())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, (net, model), dims in (
            ("ResNet-50", resnet50(), {}),
            ("BERT-base (12 layers)", transformer(12, 768, 12, 30522, "bert.bin"), {"sequence": 384}),
            ("transformer, 10,000 nodes", transformer(167, 64, 4, 100, "long.bin"), {"sequence": 128}),
            ("transformer, 8 GB of weights", transformer(40, 2048, 16, 32000, "wide.bin"), {"sequence": 128}),
        ):
            measure(title, net.write(folder, model), dims, rounds)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
