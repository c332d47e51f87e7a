"""How long the catalogue takes to load: `python benchmarks/catalog.py`; medians over fresh interpreters."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

TABLES = ("offers", "accelerators", "cpus", "drivers", "xids", "dcgm_errors", "neuron_packages", "ended_services")
RUNS = 15
_ONCE = f"""
import json, sys, time
start = time.perf_counter()
from brimful.catalog import load
found = {{"import": time.perf_counter() - start}}
catalog = load()
for table in {TABLES}:
    before = time.perf_counter()
    getattr(catalog, table)
    found[table] = time.perf_counter() - before
found["all tables"] = sum(found[table] for table in {TABLES})
found["import and all tables"] = time.perf_counter() - start
json.dump(found, sys.stdout)
"""


def main() -> None:
    """Run fresh interpreters and print the medians in milliseconds."""
    runs = []
    for _ in range(RUNS + 1):  # the first one compiles what is not compiled yet, and does not count
        command = [sys.executable, "-c", _ONCE]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        runs.append(json.loads(done.stdout))
    for name in runs[0]:
        times = [run[name] * 1000 for run in runs[1:]]
        sys.stdout.write(f"{name:22} {statistics.median(times):6.1f} ms  ({min(times):.1f} to {max(times):.1f})\n")


if __name__ == "__main__":
    main()
