"""What the predictor answers: seconds of a call and samples a second, each with an interval, and what it rests on."""

from __future__ import annotations

from brimful.model.evidence import Interval
from brimful.model.noun import Noun, noun, unknown
from brimful.model.work import OpKind

COVERAGE = 0.8


@noun
class Foreseen(Noun):
    """A call as it is foreseen: `batch` samples in `latency_ms`; all devices together do `throughput_per_s`.

    `limited_by` is compute, memory, launch or network, by the largest part of the time; `shares` says how the time
    divides among kinds of operations. `engine`, `precision` and the rest are what was taken where nothing was asked.
    """

    latency_ms: Interval
    throughput_per_s: Interval
    batch: int
    engine: str
    precision: str
    layout: str
    compiled: str
    limited_by: str
    kinds: tuple[OpKind, ...] = ()  # the costliest first
    first_token_ms: Interval | None = unknown("it writes no tokens")
    per_token_ms: Interval | None = unknown("it writes no tokens")
    roofline_ms: float  # no device of these facts can be quicker
    basis: tuple[str, ...]  # what it rests on, in words
