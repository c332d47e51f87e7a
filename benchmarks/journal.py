"""What an acknowledged record costs: appends with and without a sync to the disk, interleaved, and reading back.

python -m benchmarks.journal [RECORDS]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.machine import describe
from brimful.journal.read import read
from brimful.journal.write import Writer, new_run
from brimful.model.advice import Finding, Severity


def main(records: int = 2000) -> None:
    """Print the median time of an append of both kinds, their ratio, and the rate of reading."""
    finding = Finding(code="c", severity=Severity.INFO, what="w" * 80, why="y" * 80, fix="f" * 80, evidence=("r/1",))
    times: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory(dir=".") as folder, Writer.create(Path(folder), new_run("benchmark")) as writer:
        for _ in range(records):
            for durable, found in times.items():
                start = time.perf_counter()
                writer.append(finding, durable=durable)
                found.append(time.perf_counter() - start)
        start = time.perf_counter()
        count = len(read(writer.directory).records)
        reading = time.perf_counter() - start
    print(describe())
    plain, synced = (statistics.median(times[durable]) * 1e6 for durable in (False, True))
    print(f"append           {plain:8.0f} µs (median of {records})")
    print(f"append and sync  {synced:8.0f} µs, {synced / plain:.1f} times as long")
    print(f"read back        {reading / count * 1e6:8.0f} µs a record")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
