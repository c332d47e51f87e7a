"""What was seen or foreseen, from the Run and its Sources to a Measurement, a Prediction and a Usage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import pairwise

from brimful.model.hardware import Device
from brimful.model.noun import Noun, noun, unknown
from brimful.model.work import Setting, Workload


@noun
class Run(Noun):
    """One use of brimful; the first line of its journal. `v` is the version of the journal's form."""

    run: str
    v: int
    version: str
    host: str
    started_at: str
    command: tuple[str, ...] = ()
    note: str = ""


@noun
class Source(Noun):
    """Something from outside that a run rested on: a table of the catalogue, an inventory, a history."""

    what: str
    where: str
    dated: str | None = unknown("it bears no date")
    simulated: bool = False


@noun
class Environment(Noun):
    """Where a measurement was made, in what may change its figures."""

    cpu_model: str | None = unknown()
    isa: tuple[str, ...] = ()
    cores: int | None = unknown()
    memory_bytes: int | None = unknown()
    governor: str | None = unknown()
    kernel: str | None = unknown()
    container_cpu_limit: float | None = unknown("no limit is set")
    versions: Mapping[str, str] = field(default_factory=dict)
    model_sha256: str | None = unknown("the model is no file")


_LATENCIES = ("min_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms")


@noun
class Figures(Noun):
    """What a measurement found. Latencies are those of one call with the setting's batch."""

    calls_count: int
    wall_s: float
    mean_ms: float | None = unknown()
    min_ms: float | None = unknown()
    p50_ms: float | None = unknown()
    p90_ms: float | None = unknown()
    p99_ms: float | None = unknown()
    max_ms: float | None = unknown()
    device_ms: float | None = unknown()
    throughput_per_s: float | None = unknown()
    energy_joules: float | None = unknown()
    cpu_s: float | None = unknown()
    peak_memory_bytes: int | None = unknown()
    accuracy: Mapping[str, float] = field(default_factory=dict)

    def _agree(self) -> None:
        """Refuse percentiles out of order and a mean outside the range."""
        known = [(name, value) for name in _LATENCIES if (value := getattr(self, name)) is not None]
        for (low, less), (high, more) in pairwise(known):
            if more < less:
                raise ValueError(f"{high} is {more}: below {low}, which is {less}")
        if self.mean_ms is not None:
            if self.min_ms is not None and self.mean_ms < self.min_ms * (1 - 1e-9):
                raise ValueError(f"mean_ms is {self.mean_ms}: below min_ms, which is {self.min_ms}")
            if self.max_ms is not None and self.mean_ms > self.max_ms * (1 + 1e-9):
                raise ValueError(f"mean_ms is {self.mean_ms}: above max_ms, which is {self.max_ms}")


@noun
class Measurement(Noun):
    """A workload on a device with a setting, and what came out; all raw times are kept."""

    workload: Workload
    device: Device
    setting: Setting
    figures: Figures
    environment: Environment
    raw_ms: tuple[float, ...] = ()
    raw_file: str | None = unknown("the raw times stand in raw_ms")
    instance: str | None = unknown("it was not measured on a known instance type")
    usd_per_hour: float | None = unknown("no price was given")
    refused: str | None = unknown("it holds")  # why the figures must not be used


@noun
class Interval(Noun):
    """A foreseen figure: between low and high with the probability `coverage`, most likely mid."""

    low: float
    mid: float
    high: float
    coverage: float

    def _agree(self) -> None:
        """Refuse an interval out of order."""
        if not (0 <= self.low <= self.mid <= self.high and 0 < self.coverage < 1):
            raise ValueError(f"{self.low} - {self.mid} - {self.high} at {self.coverage} is no interval of a figure")


@noun
class Prediction(Noun):
    """What a measurement would find, with intervals and the records or tables it rests on."""

    workload: Workload
    device: str
    setting: Setting
    latency_ms: Interval | None = unknown()
    throughput_per_s: Interval | None = unknown()
    limited_by: str | None = unknown()
    basis: tuple[str, ...]

    def _agree(self) -> None:
        """Refuse a prediction that rests on nothing."""
        if not self.basis:
            raise ValueError("basis is empty: a prediction says what it rests on")


@noun
class Sample(Noun):
    """One value of one metric of one device at one time; the metric's name ends in its unit."""

    time_s: float
    device: str
    metric: str
    value: float | None = unknown()


@noun
class Usage(Noun):
    """What a device did over a stretch of time, summed up from samples. Unknown time is never idle time.

    `known_share` is the part of the stretch that samples cover. The idle figures are shares of that known time:
    `idle_share` by value alone, `releasable_share` what would be left if the device had been let go after each
    `timeout_s` without work.
    """

    device: str
    metric: str
    start_s: float
    end_s: float
    samples_count: int
    known_share: float
    mean_percent: float
    p5_percent: float
    p95_percent: float
    max_percent: float
    idle_share: float
    releasable_share: float
    timeout_s: float
    idle_at_end_s: float
    memory_used_bytes: int | None = unknown("the history has no memory_used_bytes")
    source: str = "recorded"


@noun
class Stage(Noun):
    """A named step of the data path: how long it worked and how long it waited."""

    name: str
    busy_s: float
    wait_s: float
    items_count: int
    threads: int = 1
    queue_depth: float | None = unknown("the stage has no queue")
