"""The host itself: its CPU, memory, disks and network, and which accelerators stand on its PCI bus."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from brimful.model.errors import DataError, Unavailable
from brimful.model.evidence import Sample
from brimful.model.hardware import Device
from brimful.model.text import readable_path
from brimful.probes.host import counters, cpu, limits, pci, portable
from brimful.probes.host.counters import Counters, Reading
from brimful.probes.host.tree import Tree


class HostProbe:
    """This host, from /proc and /sys; or a recorded one: `host:FOLDER` reads FOLDER/proc and FOLDER/sys.

    The CPU, with all its sockets, is the device `cpu`. Each accelerator on the PCI bus is a device `pci:ADDRESS` of
    which little is known until its own driver is asked, which other probes do. In a container with limits, cores,
    share, usable memory and utilisation are those of the container. `unseen` says why `devices()` may be incomplete.
    """

    def __init__(self, where: str) -> None:
        self._tree = Tree(where)
        self._before: Counters | None = None
        self._first = True
        self._on_bus: list[str] = []
        self.unseen: str | None = None
        self._portable = not where and not Path("/proc/stat").exists()
        if where and not any((Path(where) / name).is_dir() for name in ("proc", "sys")):
            raise DataError(
                f"{readable_path(where)} holds no recorded host",
                why="there is neither a folder proc nor a folder sys in it",
                fix="name the folder that holds copies of /proc and /sys, or leave it out for this host",
            )

    @classmethod
    def check(cls) -> None:
        """Raise Unavailable on a host that has neither /proc nor psutil."""
        if Path("/proc/stat").exists():
            return
        try:
            import psutil  # noqa: F401, PLC0415 - needed on hosts without /proc alone
        except ImportError as error:
            raise Unavailable(
                "this host cannot be looked at", why=f"it has no /proc, and {error}", fix="pip install psutil"
            ) from error

    def devices(self) -> Sequence[Device]:
        """Return the CPU and every accelerator on the PCI bus."""
        if self._portable:
            self.unseen = "there is no /sys here: whether there are accelerators is not known"
            return [portable.device()]
        found, self.unseen = pci.accelerators(self._tree, cpu.host_name(self._tree))
        return [cpu.device(self._tree, limits.read(self._tree)), *found]

    def sample(self) -> Sequence[Sample]:
        """Return what the host does now; rates begin with the second call."""
        first, self._first = self._first, False
        if self._portable:
            return portable.sample(first=first)
        limit = limits.read(self._tree)
        now = counters.read(self._tree, limit)
        before, self._before = self._before, now
        readings = [(cpu.NAME, *item) for item in (*counters.rates(before, now, limit), *_levels(self._tree, limit))]
        return [_sample(now.time_s, *item) for item in (*readings, *self._bus())]

    def close(self) -> None:
        """Do nothing: nothing is held."""

    def _bus(self) -> Iterator[tuple[str, str, Reading]]:
        """Yield what is known of the accelerators: how many, and that nobody has asked what they do."""
        found, why = pci.accelerators(self._tree, None)
        yield cpu.NAME, "pci_accelerators_count", (None if why else float(len(found)), why or "")
        names = [device.device for device in found]
        gone = [name for name in self._on_bus if name not in names]
        self._on_bus = names + gone
        for name in names:
            yield name, "utilization_percent", (None, pci.UNASKED)
        for name in gone:
            yield name, "utilization_percent", (None, why or "it is no longer on the PCI bus")


def _levels(tree: Tree, limit: limits.Limits) -> Iterator[tuple[str, Reading]]:
    """Yield what is so at one moment, and needs no second look."""
    memory = limits.meminfo(tree)
    used = limits.memory_used(tree, limit)
    if used is None and {"MemTotal", "MemAvailable"} <= memory.keys():
        used = max(0, memory["MemTotal"] - memory["MemAvailable"])
    yield "memory_used_bytes", (None if used is None else float(used), "/proc/meminfo does not tell it")
    words = (tree.text("proc/loadavg") or "").split()
    load = _decimal(words[0]) if words else None
    yield "load_1min_count", (load, "/proc/loadavg does not tell it")
    yield "cpu_limit_count", (limit.cpus, "no control group sets one")
    size = limit.memory_bytes
    yield "memory_limit_bytes", (None if size is None else float(size), "no control group sets one")


def _decimal(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) else None


def _sample(time_s: float, device: str, metric: str, reading: Reading) -> Sample:
    value, why = reading
    missing = {} if value is not None else {"value": why}
    return Sample(time_s=time_s, device=device, metric=metric, value=value, missing=missing)
