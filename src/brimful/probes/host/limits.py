"""What a container may use: CPU and memory limits of control groups, version 1 and 2, and what it uses of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from brimful.probes.host.tree import Tree, pairs, whole


class Limits(NamedTuple):
    """The tightest limits on this process; a group's folder is where its use can be read."""

    cpus: float | None
    cpu_group: str | None
    memory_bytes: int | None
    memory_group: str | None


def read(tree: Tree) -> Limits:
    """Return the tightest limits that the process's groups and all groups above them set, below what there is."""
    cpus = [(found, path) for path in _groups(tree, "cpu") if (found := _cpus(tree, path)) is not None]
    memory = [(found, path) for path in _groups(tree, "memory") if (found := _memory(tree, path)) is not None]
    # No limit is a number too: 2^63 - 4096 in version 1. So a limit counts only where it is below what there is.
    cpu = min((item for item in cpus if item[0] < _count_cpus(tree)), default=(None, None))
    most = meminfo(tree).get("MemTotal") or math.inf
    mem = min((item for item in memory if 0 < item[0] < most), default=(None, None))
    return Limits(cpus=cpu[0], cpu_group=cpu[1], memory_bytes=mem[0], memory_group=mem[1])


def cpu_seconds(tree: Tree, limits: Limits) -> float | None:
    """Return the CPU time that the limited group has used since it began."""
    if limits.cpu_group is None:
        return None
    micros = _stat(tree, f"{limits.cpu_group}/cpu.stat", "usage_usec")
    if micros is not None:
        return micros / 1e6
    for path in _groups(tree, "cpuacct"):  # version 1 counts in another controller, mostly of the same path
        nanos = tree.whole(f"{path}/cpuacct.usage")
        if nanos is not None:
            return nanos / 1e9
    return None


def memory_used(tree: Tree, limits: Limits) -> int | None:
    """Return what the limited group holds, without the file cache that the kernel would give back at once."""
    if limits.memory_group is None:
        return None
    group = limits.memory_group
    used = tree.whole(f"{group}/memory.current")
    cache = "inactive_file"
    if used is None:
        used, cache = tree.whole(f"{group}/memory.usage_in_bytes"), "total_inactive_file"
    if used is None:
        return None
    return max(0, used - (_stat(tree, f"{group}/memory.stat", cache) or 0))


def _groups(tree: Tree, controller: str) -> Iterator[str]:
    """Yield the folders of the process's group and of those above it that exist, innermost first."""
    names, path = _membership(tree, controller)
    if path is None:
        return
    bases = (
        [f"sys/fs/cgroup/{names}", f"sys/fs/cgroup/{controller}"]
        if names
        else ["sys/fs/cgroup", "sys/fs/cgroup/unified"]
    )
    parts = [part for part in path.split("/") if part]
    if ".." in parts:  # the group lies outside of what this container sees
        parts = []
    for base in dict.fromkeys(bases):
        for depth in range(len(parts), -1, -1):
            folder = "/".join([base, *parts[:depth]])
            if tree.names_or_none(folder):
                yield folder


def _membership(tree: Tree, controller: str) -> tuple[str, str | None]:
    """Return (controllers mounted together, path in them); the names are empty for version 2."""
    unified: str | None = None
    for line in (tree.text("proc/self/cgroup") or "").splitlines():
        number, names, path = (*line.split(":", 2), "", "")[:3]
        if number == "0" and not names:
            unified = path
        elif controller in names.split(",") and "/" not in names:
            return names, path
    return "", unified


def _cpus(tree: Tree, folder: str) -> float | None:
    quota, _, period = (tree.line(f"{folder}/cpu.max") or "").partition(" ")
    if not quota:
        quota = tree.line(f"{folder}/cpu.cfs_quota_us") or ""
        period = tree.line(f"{folder}/cpu.cfs_period_us") or ""
    used, of = whole(quota), whole(period)
    return used / of if used and of else None


def _memory(tree: Tree, folder: str) -> int | None:
    limit = tree.whole(f"{folder}/memory.max")
    return limit if limit is not None else tree.whole(f"{folder}/memory.limit_in_bytes")


def meminfo(tree: Tree) -> dict[str, int]:
    """Return /proc/meminfo in bytes."""
    told = ((key, whole(value.removesuffix("kB").strip())) for key, value in pairs(tree.text("proc/meminfo")))
    return {key: min(kib * 1024, 2**63 - 1) for key, kib in told if kib is not None}


def _count_cpus(tree: Tree) -> float:
    lines = (tree.text("proc/stat") or "").splitlines()
    return sum(1 for line in lines if re.match("cpu[0-9]", line)) or math.inf


def _stat(tree: Tree, path: str, name: str) -> int | None:
    for line in (tree.text(path) or "").splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return whole(value.strip())
    return None
