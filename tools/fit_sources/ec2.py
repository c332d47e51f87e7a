"""MLPerf results from machines whose system name is that of an EC2 instance type: its chip, its vCPUs, its own file.

measured_on_ec2.csv.gz has mean latencies and comes first; what measured.csv.gz adds (C5a, T2, T3) follows. The TFLite
runs of 2024 report one single-stream run under three scenarios: the copies are left out.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from brimful.catalog import load
from tools.fit_sources import mlperf
from tools.fit_sources.clean import Cleaner, Raw

_TYPE = re.compile(r"(?<![a-z0-9])([a-z]{1,3}\d[a-z]{0,3})[._]((?:\d*x?large)|metal)(?![a-wyz])", re.IGNORECASE)
_FAMILIES = ("a1", "c5", "c5a", "c6i", "c6gd", "dl2q", "g4dn", "inf1", "m5dn", "m5zn", "m7g", "t2", "t3", "t4g")


def raw_rows(folder: Path) -> Iterator[Raw]:
    """Yield the rows of measured_on_ec2.csv.gz in the form of measured.csv.gz."""
    with gzip.open(folder / "measured_on_ec2.csv.gz", "rt", encoding="utf-8", newline="") as stream:
        for cells in csv.DictReader(stream):
            yield _as_measured(cells)


def _as_measured(cells: dict[str, str]) -> Raw:
    accelerated = cells["hardware"] not in ("", "-")
    notes = {
        "division": cells["division"],
        "submitter": cells["submitter"],
        "system": cells["system"],
        "nodes": cells["nodes"],
        "sockets": "1",
        "fw": cells["framework"],
        "cpu": cells["cpu"],
        "mean_ms": cells["mean_latency_ms"],
    }
    own = {
        "hardware": cells["hardware"] if accelerated else f"CPU {cells['cpu']}",
        "count": "1" if accelerated and cells["count"] == "0" else cells["count"],
    }
    return Raw(cells | own, notes)


def instance_of(system: str) -> str:
    """Return the instance type that a system's name contains, or ""."""
    match = _TYPE.search(system)
    if match is None or match[1].lower() not in _FAMILIES:
        return ""
    return f"{match[1]}.{match[2]}".lower()


@cache
def vcpus_of(instance: str) -> int | None:
    """Return how many vCPUs the catalogue says it has."""
    offer = load().offer(instance)
    return None if offer is None else offer.vcpus


def key_of(raw: Raw) -> tuple[str, ...]:
    """Return what tells a run from another: the same in both files."""
    return raw.notes["system"], raw["model"], raw["precision"], raw["scenario"].lower()


def add(raw: Raw, into: Cleaner) -> None:
    """Clean one row; `mlperf` does what is the same, on one socket."""
    instance = instance_of(raw.notes["system"])
    if raw.notes.get("division") == "open" and raw["model"].startswith(("mobilebert", "obert", "bert-base-pruned")):
        into.drop("open division: a pruned, distilled or quantised-aware variant")
        return
    mlperf.add(raw, into, instance=instance, vcpus=vcpus_of(instance), trusted=True)
