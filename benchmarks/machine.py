"""The machine that a figure was measured on, in one line, without its name."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path


def describe() -> str:
    """Return date, CPU, cores, kernel and Python."""
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
        if line.startswith(("model name", "CPU part")):
            model = line.partition(":")[2].strip()
            break
    cores = len(os.sched_getaffinity(0))
    system = f"Linux {platform.release()}, Python {platform.python_version()}"
    return f"{datetime.now(UTC):%Y-%m-%d}, {model}, {cores} cores, {system}"
