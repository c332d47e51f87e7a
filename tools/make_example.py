"""Make the bundled example: a simulated fleet of seven machines and two days of what their accelerators did.

    python -m tools.make_example

The same seed gives the same files; nothing in them was measured.
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "src" / "brimful" / "example"
STEP_S, HOURS = 300, 48
MIB = 1024**2

Shape = Callable[[float, random.Random], float]  # (hour, dice) -> percent


def embedder(hour: float, dice: random.Random) -> float:
    """Simulate a service with a daily rhythm that never needs much of its GPU."""
    return max(0.0, 3.5 + 2.5 * math.sin(hour / 24 * 2 * math.pi) + dice.uniform(-1.5, 1.5))


def nightly(hour: float, dice: random.Random) -> float:
    """Simulate a training job from eight in the evening to six in the morning."""
    return dice.uniform(88, 99) if hour % 24 >= 20 or hour % 24 < 6 else 0.0


def training(hour: float, dice: random.Random) -> float:
    """Simulate a training job that waits for its gradients."""
    return dice.uniform(58, 92) if hour else 0.0


def forgotten(hour: float, dice: random.Random) -> float:
    """Simulate a notebook that somebody left open after the first morning."""
    return dice.uniform(5, 80) if 1 < hour < 9 and dice.random() < 0.6 else 0.0


def steady(hour: float, dice: random.Random) -> float:
    """Simulate an inference service that is well filled."""
    return min(100.0, 78 + 8 * math.sin(hour / 24 * 2 * math.pi) + dice.uniform(-6, 6))


DEVICES: dict[str, tuple[Shape, int]] = {
    "i-0example1": (embedder, 1890),
    "i-0example2": (nightly, 14200),
    **{f"i-0example3/gpu{index}": (training, 20100) for index in range(4)},
    "i-0example4": (forgotten, 31800),
    "i-0example5": (steady, 18300),
}


def rows() -> Iterator[tuple[int, str, str, int]]:
    """Yield time_s, device, utilization_percent, memory_used_bytes; one device has an hour without data."""
    dice = random.Random(20261119)  # noqa: S311 - a fixed seed, for a file that is the same every time
    for time_s in range(0, HOURS * 3600, STEP_S):
        for device, (shape, memory) in DEVICES.items():
            value = shape(time_s / 3600, dice)
            if device == "i-0example5" and 30 <= time_s / 3600 < 31:
                continue  # the collector was down: unknown, not idle
            yield time_s, device, f"{value:.0f}", memory * MIB


def main() -> None:
    """Write usage.csv; machines.toml is written by hand."""
    with (FOLDER / "usage.csv").open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("time_s", "device", "utilization_percent", "memory_used_bytes"))
        out.writerows(rows())


if __name__ == "__main__":
    main()
