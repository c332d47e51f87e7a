"""The host's counters, and the rates between two looks at them. A counter that is absent has a reason, never a zero."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from brimful.probes.host import limits
from brimful.probes.host.tree import Tree, whole

_SECTOR_BYTES = 512  # /proc/diskstats counts in these whatever the disk's own sectors are
_DISK = re.compile(r"sd[a-z]+|vd[a-z]+|xvd[a-z]+|hd[a-z]+|nvme[0-9]+n[0-9]+|mmcblk[0-9]+")  # whole disks, no partitions
_JIFFIES = 8  # user nice system idle iowait irq softirq steal; the guest times after them are inside user and nice
_FIRST = "it is a rate, and this was the first look"

Reading = tuple[float | None, str]  # a value, or None and the reason


class Counters(NamedTuple):
    """One look: what has been counted since the machine, or the group, began."""

    time_s: float
    clock_s: float
    jiffies: tuple[int, ...] | None
    group_cpu_s: float | None
    received: Mapping[str, int]
    sent: Mapping[str, int]
    disk_read: Mapping[str, int]
    disk_written: Mapping[str, int]
    microjoules: Mapping[str, int]


def read(tree: Tree, limit: limits.Limits) -> Counters:
    """Take one look."""
    time_s, clock_s = _now(tree)
    received, sent = _network(tree)
    disk_read, disk_written = _disks(tree)
    return Counters(
        time_s=time_s,
        clock_s=clock_s,
        jiffies=_jiffies(tree),
        group_cpu_s=limits.cpu_seconds(tree, limit),
        received=received,
        sent=sent,
        disk_read=disk_read,
        disk_written=disk_written,
        microjoules=_energy(tree),
    )


def rates(before: Counters | None, now: Counters, limit: limits.Limits) -> Iterator[tuple[str, Reading]]:
    """Yield (metric, reading) of everything that lies between two looks."""
    yield "utilization_percent", _utilization(before, now, limit)
    for metric, field, what in (
        ("network_received_bytes_per_s", "received", "network device"),
        ("network_sent_bytes_per_s", "sent", "network device"),
        ("disk_read_bytes_per_s", "disk_read", "disk"),
        ("disk_written_bytes_per_s", "disk_written", "disk"),
    ):
        yield metric, _rate(before, now, field, f"no {what} can be counted in /proc here")
    value, why = _rate(
        before, now, "microjoules", "no energy counter can be read (RAPL in /sys/class/powercap; root's)"
    )
    yield "power_watts", (None if value is None else value / 1e6, why)


def _rate(before: Counters | None, now: Counters, field: str, absent: str) -> Reading:
    """Return the sum of the rates of what was there at both looks."""
    later: Mapping[str, int] = getattr(now, field)
    if not later:
        return None, absent
    if before is None:
        return None, _FIRST
    sooner: Mapping[str, int] = getattr(before, field)
    both = later.keys() & sooner.keys()
    wall_s = now.clock_s - before.clock_s
    if not both or wall_s <= 0:
        return None, "no time has passed since the last look" if both else "none of it was there at the last look"
    steps = [later[name] - sooner[name] for name in both]
    if min(steps) < 0:
        return None, "a counter went backwards since the last look"
    return sum(steps) / wall_s, ""


def _utilization(before: Counters | None, now: Counters, limit: limits.Limits) -> Reading:
    """Return how much of the CPUs that may be used was used: of the limit in a limited group, of the machine else."""
    if now.jiffies is None and now.group_cpu_s is None:
        return None, "/proc/stat cannot be read"
    if before is None:
        return None, _FIRST
    if limit.cpus is not None and now.group_cpu_s is not None and before.group_cpu_s is not None:
        return _share(now.group_cpu_s - before.group_cpu_s, (now.clock_s - before.clock_s) * limit.cpus)
    if now.jiffies is None or before.jiffies is None:
        return None, "/proc/stat cannot be read"
    steps = [later - sooner for later, sooner in zip(now.jiffies, before.jiffies, strict=True)]
    return _share(sum(steps) - steps[3] - steps[4], sum(steps))  # idle, and idle while a disk works


def _share(used: float, of: float) -> Reading:
    """Return a percentage; a group may run a little over its limit for a moment, which is still all of it."""
    if of <= 0 or used < 0:
        return None, "the CPU's counters did not advance since the last look"
    return min(100.0, 100 * used / of), ""


def _now(tree: Tree) -> tuple[float, float]:
    """Return (time, steady clock); those of a recorded tree are its own, so that replaying it gives its rates."""
    if not tree.recorded:
        return time.time(), time.monotonic()
    uptime = re.match(r"[0-9]{1,12}(\.[0-9]{1,9})?", tree.text("proc/uptime") or "")
    up_s = float(uptime[0]) if uptime else 0.0
    return float(_boot(tree)) + up_s, up_s


def _boot(tree: Tree) -> int:
    for line in (tree.text("proc/stat") or "").splitlines():
        if line.startswith("btime "):
            return min(whole(line[6:].strip()) or 0, 2**40)
    return 0


def _jiffies(tree: Tree) -> tuple[int, ...] | None:
    words = (tree.text("proc/stat") or "").partition("\n")[0].split()
    counts = [whole(word) for word in words[1 : _JIFFIES + 1]]
    if words[:1] != ["cpu"] or len(counts) < _JIFFIES:
        return None
    known = [count for count in counts if count is not None]
    return tuple(known) if len(known) == _JIFFIES else None


def _network(tree: Tree) -> tuple[dict[str, int], dict[str, int]]:
    """Return bytes in and out: of real devices where the kernel tells them from bridges, else of all but loopback."""
    received: dict[str, int] = {}
    sent: dict[str, int] = {}
    for line in (tree.text("proc/net/dev") or "").splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        if not colon or len(words) < 9 or name.strip() == "lo":  # the ninth column is bytes sent
            continue
        into, out = whole(words[0]), whole(words[8])
        if into is not None and out is not None:
            received[name.strip()], sent[name.strip()] = into, out
    real = {name for name in received if "/" not in name and tree.names_or_none(f"sys/class/net/{name}/device")}
    if real:
        return {name: received[name] for name in real}, {name: sent[name] for name in real}
    return received, sent


def _disks(tree: Tree) -> tuple[dict[str, int], dict[str, int]]:
    reads: dict[str, int] = {}
    writes: dict[str, int] = {}
    for line in (tree.text("proc/diskstats") or "").splitlines():
        words = line.split()
        if len(words) < 10 or not _DISK.fullmatch(words[2]):  # the tenth column is sectors written
            continue
        read_, written = whole(words[5]), whole(words[9])
        if read_ is not None and written is not None:
            reads[words[2]], writes[words[2]] = read_ * _SECTOR_BYTES, written * _SECTOR_BYTES
    return reads, writes


def _energy(tree: Tree) -> dict[str, int]:
    """Return the microjoules of each CPU package; parts of a package (core, dram) are inside it or beside the point."""
    counts: dict[str, int] = {}
    for name in tree.names_or_none("sys/class/powercap"):
        if re.fullmatch(r"intel-rapl:[0-9]+", name):
            count = tree.whole(f"sys/class/powercap/{name}/energy_uj")
            if count is not None:
                counts[name] = count
    return counts
