"""How a device used its time, from the known values of a metric. Pure; what is not known is never called idle.

A value holds until the next one, unless that comes later than three usual steps, or than half the timeout: then it
holds for one usual step, half the timeout at most, and the rest of the gap is unknown. A stretch of idleness ends at a
value above the threshold and at every gap. So a series that is coarser than the timeout can show is mostly unknown.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from brimful.model.evidence import Usage

IDLE_PERCENT = 1.0
TIMEOUT_S = 1800.0
_GAP_STEPS = 3.0  # a sample later than three usual steps is missing data, not a slow sampler
_LEAST_HOLD_S = 1.0  # samples a second apart are dense for any timeout


@dataclass(frozen=True, slots=True)
class _Piece:
    """A value and how long it held."""

    seconds: float
    value: float
    gap_after: bool


def usage(
    device: str,
    metric: str,
    times_s: Sequence[float],
    values: Sequence[float],
    *,
    timeout_s: float = TIMEOUT_S,
    memory_used_bytes: int | None = None,
    source: str = "recorded",
) -> Usage | None:
    """Sum up a series; None when it has fewer than two values, which say nothing about time."""
    if len(times_s) < 2:
        return None
    pieces = list(_pieces(times_s, values, max(_LEAST_HOLD_S, timeout_s / 2)))
    known = sum(piece.seconds for piece in pieces)
    stretches = list(_idle_stretches(pieces))
    end_s = times_s[-1] + pieces[-1].seconds
    spread = _Spread(pieces)
    return Usage(
        device=device,
        metric=metric,
        start_s=times_s[0],
        end_s=end_s,
        samples_count=len(times_s),
        known_share=min(1.0, known / (end_s - times_s[0])),
        mean_percent=_within(sum(piece.seconds * piece.value for piece in pieces) / known, values),
        p5_percent=spread.quantile(0.05),
        p95_percent=spread.quantile(0.95),
        max_percent=max(values),
        idle_share=min(1.0, sum(stretches) / known),
        releasable_share=min(1.0, sum(max(0.0, stretch - timeout_s) for stretch in stretches) / known),
        timeout_s=timeout_s,
        idle_at_end_s=stretches[-1] if stretches and values[-1] <= IDLE_PERCENT else 0.0,
        source=source,
        memory_used_bytes=memory_used_bytes,
    )


def _pieces(times_s: Sequence[float], values: Sequence[float], longest_s: float) -> Iterator[_Piece]:
    """Yield how long each value held: no longer than `longest_s`, for much could have run unseen in between."""
    step = median(later - sooner for sooner, later in pairwise(times_s))
    for index, value in enumerate(values):
        until_next = times_s[index + 1] - times_s[index] if index + 1 < len(times_s) else step
        gap = until_next > min(_GAP_STEPS * step, longest_s)
        yield _Piece(min(step, longest_s) if gap else until_next, value, gap)


def _idle_stretches(pieces: Sequence[_Piece]) -> Iterator[float]:
    """Yield how long each unbroken stretch without work lasted."""
    running = 0.0
    for piece in pieces:
        if piece.value <= IDLE_PERCENT:
            running += piece.seconds
        if running and (piece.gap_after or piece.value > IDLE_PERCENT):
            yield running
            running = 0.0
    if running:
        yield running


class _Spread:
    """Quantiles of the values, each weighted by the time it held."""

    def __init__(self, pieces: Sequence[_Piece]) -> None:
        self._ordered = sorted(pieces, key=lambda piece: piece.value)
        self._until: list[float] = []
        total = 0.0
        for piece in self._ordered:
            total += piece.seconds
            self._until.append(total)

    def quantile(self, share: float) -> float:
        """Return the value below which the device was for this share of the known time."""
        place = bisect_left(self._until, share * self._until[-1])
        return self._ordered[min(place, len(self._ordered) - 1)].value


def _within(value: float, values: Sequence[float]) -> float:
    """Keep a mean inside its values: adding floats may leave them by the last digit."""
    return min(max(value, min(values)), max(values))
