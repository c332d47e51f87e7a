"""The six seams: what a back-end must be able to do. At most three methods each, and nothing to inherit from.

A back-end is a class that is made from one string, the address behind its name (`file:metrics.csv` makes
`FileProbe("metrics.csv")`; `""` when there is none), and that has a `check()`, which raises `Unavailable` or
`HardwareAbsent`, with the way to get it, when it cannot work here. `check()` is cheap and touches no hardware state:
`brimful doctor` calls it for every back-end. Which back-ends exist stands in `registry.py`; whether one keeps its
promises is tested by the kits in `testing.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from brimful.model.advice import Act, Action
from brimful.model.evidence import Sample
from brimful.model.hardware import Device, Machine
from brimful.model.noun import Noun, noun
from brimful.model.work import Profile, Setting, Workload


@noun
class Support(Noun):
    """Whether an engine can run a workload on a device, and why (not)."""

    yes: bool
    reason: str


@noun
class Series(Noun):
    """The known values of one metric of one device, in order of time. What lies between them is unknown, not zero."""

    device: str
    metric: str
    times_s: tuple[float, ...]
    values: tuple[float, ...]
    source: str = "recorded"

    def _agree(self) -> None:
        """Refuse values without times and times out of order."""
        if len(self.times_s) != len(self.values):
            raise ValueError(f"{len(self.times_s)} times and {len(self.values)} values: each value needs its time")
        if any(later <= sooner for sooner, later in zip(self.times_s, self.times_s[1:], strict=False)):
            raise ValueError("times_s must rise from one value to the next")


@noun
class Window(Noun):
    """A stretch of time, in seconds since the epoch or the start of a trace: from start, up to but without end."""

    start_s: float
    end_s: float

    def _agree(self) -> None:
        """Refuse a window that ends before it starts."""
        if self.end_s < self.start_s:
            raise ValueError(f"end_s is {self.end_s}: before start_s, which is {self.start_s}")


class Backend(Protocol):
    """What every back-end has beside its seam's methods."""

    def __init__(self, where: str) -> None:
        """Open the back-end at an address; an empty one is its natural place."""
        ...

    @classmethod
    def check(cls) -> None:
        """Raise Unavailable or HardwareAbsent when the back-end cannot work here."""
        ...


class Probe(Backend, Protocol):
    """Sees devices and what they are doing."""

    def devices(self) -> Sequence[Device]:
        """Return the devices that are there now."""
        ...

    def sample(self) -> Sequence[Sample]:
        """Return what each device does now; what cannot be read is a Sample without a value, and a reason."""
        ...

    def close(self) -> None:
        """Let go of handles and children; a second call does nothing."""
        ...


class Runner(Protocol):
    """A loaded workload, ready to be called."""

    def run(self) -> None:
        """Do the work of one call, and return when the device has finished it."""
        ...

    def close(self) -> None:
        """Free what was loaded; a second call does nothing."""
        ...


class Engine(Backend, Protocol):
    """Runs workloads."""

    def supports(self, workload: Workload, device: Device) -> Support:
        """Say whether the workload can run on the device, and why (not)."""
        ...

    def load(self, workload: Workload, setting: Setting) -> Runner:
        """Load the workload with a setting."""
        ...


class Store(Backend, Protocol):
    """Holds objects by key; keys use `/` whatever the platform."""

    def list(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield (key, size) of every object whose key starts with the prefix, in order of key."""
        ...

    def read(self, key: str, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes from start up to end (to the last when None) of an object."""
        ...

    def put(self, key: str, data: bytes | Iterable[bytes]) -> None:
        """Store an object whole or not at all."""
        ...


class Cloud(Backend, Protocol):
    """Knows rented machines and acts on them."""

    def machines(self) -> Sequence[Machine]:
        """Return the machines with, for each, the actions it allows and what undoes them."""
        ...

    def look(self, machine: str) -> Machine:
        """Return one machine as it is now."""
        ...

    def do(self, action: Action, *, dry_run: bool) -> Act:
        """Carry out an action, or say what it would do."""
        ...


class Reader(Backend, Protocol):
    """Reads a model's file into what it costs to compute."""

    def reads(self, path: str) -> bool:
        """Say whether this reader knows the file, by name and first bytes, without reading all of it."""
        ...

    def profile(self, path: str, dims: Mapping[str, int] | None = None) -> Profile:
        """Return what one pass costs; `dims` binds the sizes that the file leaves open, by their names."""
        ...


class History(Backend, Protocol):
    """Answers what devices did in the past."""

    def devices(self, window: Window) -> Sequence[str]:
        """Return the devices with at least one known value in the window."""
        ...

    def series(self, device: str, metric: str, window: Window) -> Series:
        """Return the known values of a metric in the window."""
        ...
