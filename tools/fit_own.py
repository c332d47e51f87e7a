"""Turns what `tools.measure_torch` measured into rows to learn from: `python -m tools.fit_own MEASURED.jsonl NAME`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from tools.fit_data import SHIPPED, Row, write


def main() -> None:
    """Write tools/data/fit/NAME.csv.gz."""
    measured = [json.loads(line) for line in Path(sys.argv[1]).read_text("utf-8").splitlines()]
    name = sys.argv[2]
    found = [row(item, f"{name}-{place:03d}", name) for place, item in enumerate(measured) if item["latency_ms"]]
    about = ("Measured by brimful with tools/measure_torch.py on a lent NVIDIA H200, 2026-11-19. Apache-2.0.",)
    print(write(SHIPPED / f"{name}.csv.gz", about, found))


def row(item: dict[str, Any], identity: str, source: str) -> Row:
    """Return one measurement as a row."""
    version = re.search(r"torch ([\d.]+)", item["ran_on"])
    amp = item["precision"].endswith("-amp")
    return Row(
        id=identity,
        model=item["model"].removeprefix("timm:"),
        device="H200-SXM-141GB",
        engine="torch",
        version=version[1] if version else "",
        precision=item["precision"].removesuffix("-amp"),
        layout=item["layout"],
        compiled=item["compiled"],
        batch=item["batch"],
        scenario="throughput",
        throughput_per_s=round(item["batch"] / item["latency_ms"] * 1e3, 4),
        latency_ms=round(item["latency_ms"], 5),
        group=identity,
        source=source,
        flags="amp" if amp else "",
    )


if __name__ == "__main__":
    main()
