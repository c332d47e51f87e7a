"""One prediction as an answer: its figures with their ends, what it rests on, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brimful.advise.fit.answer import COVERAGE, Foreseen
from brimful.advise.fit.forecasts import Question
from brimful.advise.fit.query import generates
from brimful.model.errors import BrimfulError
from brimful.model.hardware import Chip
from brimful.model.noun import Noun, noun, unknown
from brimful.model.text import unicode_text
from brimful.model.units import format_seconds
from brimful.model.work import Profile

_FIGURES = (
    "latency_ms", "latency_ms_low", "latency_ms_high", "throughput_per_s", "throughput_per_s_low",
    "throughput_per_s_high",
)  # fmt: skip


@noun
class Answered(Noun):
    """What a query would measure; `reason` says what limits it, or why there is no answer."""

    latency_ms: float | None = unknown()  # the mean service time of one call of that batch
    latency_ms_low: float | None = unknown()
    latency_ms_high: float | None = unknown()
    throughput_per_s: float | None = unknown()  # of all devices together
    throughput_per_s_low: float | None = unknown()
    throughput_per_s_high: float | None = unknown()
    coverage: float = COVERAGE
    first_token_ms: float | None = unknown("it writes no tokens")
    per_token_ms: float | None = unknown("it writes no tokens")
    limited_by: str | None = unknown()
    setting: str | None = unknown()
    basis: tuple[str, ...] = ()
    reason: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the file with its answer; `id` is what the line calls itself, or its number."""

    id: Any
    answer: Answered


@dataclass(frozen=True, slots=True)
class Predicted:
    """One prediction, what it is of, and the run whose journal it stands in."""

    model: str
    device: str
    run: str
    journal: str
    answer: Answered
    warnings: tuple[str, ...] = ()


def refused(error: Exception) -> Answered:
    """Return an answer without figures, and why."""
    told = f"{error.what}: {error.why}; {error.fix}" if isinstance(error, BrimfulError) else str(error)
    told = unicode_text(told) or "it cannot be answered"
    return Answered(reason=told, missing=dict.fromkeys((*_FIGURES, "limited_by", "setting"), told))


def answered(question: Question, told: Foreseen | Exception, notes: tuple[str, ...] = ()) -> Answered:
    """Return an answer with what was foreseen."""
    if isinstance(told, Exception):
        return refused(told)
    query, profile, chip = question
    tokens: dict[str, Any] = {}
    if told.first_token_ms is not None and told.per_token_ms is not None:
        tokens = {"first_token_ms": float(told.first_token_ms.mid), "per_token_ms": float(told.per_token_ms.mid)}
    latency, rate = told.latency_ms, told.throughput_per_s
    return Answered(
        latency_ms=float(latency.mid),  # numpy's own floats are none that JSON knows
        latency_ms_low=float(latency.low),
        latency_ms_high=float(latency.high),
        throughput_per_s=float(rate.mid),
        throughput_per_s_low=float(rate.low),
        throughput_per_s_high=float(rate.high),
        coverage=latency.coverage,
        limited_by=told.limited_by,
        setting=setting_words(told),
        basis=(*told.basis, profile.source, *notes),
        reason=_reason(query.count, chip, told, profile, notes),
        **tokens,
    )


def setting_words(told: Foreseen) -> str:
    """Say how a call runs: engine, precision, batch, and what else is not usual."""
    extra = [word for word in (told.compiled, told.layout) if word not in ("", "eager", "nchw")]
    return " ".join([told.engine, told.precision, f"batch {told.batch}", *extra])


def _reason(count: int, chip: Chip, told: Foreseen, profile: Profile, notes: tuple[str, ...]) -> str:
    several = f"{count} x " if count > 1 else ""
    part = f", most of it {' and '.join(kind.value for kind in told.kinds[:2])}" if told.kinds else ""
    least = format_seconds(told.roofline_ms / 1000)
    what = "the whole answer" if generates(profile) and told.first_token_ms is not None else "the call"
    return "; ".join(
        [f"{several}{chip.model}, {setting_words(told)}: limited by {told.limited_by}{part}",
         f"by its datasheet {what} takes {least} at least", *notes]
    )  # fmt: skip
