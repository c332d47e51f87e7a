"""What is asked of the hardware, and what it costs to compute: Workload, Profile, Setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from brimful.model.hardware import Precision
from brimful.model.noun import Noun, noun, unknown

_NOT_ASKED = "not asked"


class Mode(StrEnum):
    """The kinds of work."""

    INFERENCE = "inference"
    TRAINING = "training"
    TRANSCODE = "transcode"
    COMMAND = "command"


class Scenario(StrEnum):
    """How requests arrive, in MLPerf's sense; `replay` is a file of arrival times."""

    SINGLE_STREAM = "single-stream"
    MULTI_STREAM = "multi-stream"
    SERVER = "server"
    OFFLINE = "offline"
    REPLAY = "replay"


@noun
class Slo(Noun):
    """What an answer must keep; what is not asked does not bind."""

    p50_ms: float | None = unknown(_NOT_ASKED)
    p99_ms: float | None = unknown(_NOT_ASKED)
    first_token_ms: float | None = unknown(_NOT_ASKED)
    per_token_ms: float | None = unknown(_NOT_ASKED)
    within_s: float | None = unknown(_NOT_ASKED)

    def _agree(self) -> None:
        """Refuse a 99th percentile below the median."""
        if self.p50_ms is not None and self.p99_ms is not None and self.p99_ms < self.p50_ms:
            raise ValueError(f"p99_ms is {self.p99_ms}: below p50_ms, which is {self.p50_ms}")


@noun
class Arrivals(Noun):
    """How much work comes, and when."""

    queries_per_s: float | None = unknown(_NOT_ASKED)
    total_count: int | None = unknown(_NOT_ASKED)
    trace: str | None = unknown("no file of arrivals was given")


@noun
class Workload(Noun):
    """What is asked: a model or a command, its input, how it arrives, what it must keep, what it may cost."""

    model: str
    mode: Mode
    scenario: Scenario | None = unknown(_NOT_ASKED)
    dims: Mapping[str, int] = field(default_factory=dict)
    data: str | None = unknown("the input was not described")
    slo: Slo = field(default_factory=Slo)
    arrivals: Arrivals = field(default_factory=Arrivals)
    budget_usd: float | None = unknown(_NOT_ASKED)


@noun
class Profile(Noun):
    """What one pass over one input costs, whatever the hardware."""

    model: str
    source: str
    parameters: int | None = unknown()
    weight_bytes: int | None = unknown()
    pass_flops: float | None = unknown()
    read_bytes: int | None = unknown()
    write_bytes: int | None = unknown()
    activation_bytes: int | None = unknown()
    op_types: Mapping[str, int] = field(default_factory=dict)
    weight_types: Mapping[str, int] = field(default_factory=dict)
    unknown_ops: tuple[str, ...] = ()


@noun
class Setting(Noun):
    """One point of the space that can be searched: how a workload is run on a device."""

    engine: str
    precision: Precision | None = unknown("the engine decides")
    batch: int = 1
    threads: int | None = unknown("the engine decides")
    streams: int | None = unknown("the engine decides")
    cores: int | None = unknown("the engine decides")
    layout: str | None = unknown("the engine decides")
    options: Mapping[str, str] = field(default_factory=dict)

    def _agree(self) -> None:
        """Refuse counts below one."""
        for name in ("batch", "threads", "streams", "cores"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}: it starts at 1")
