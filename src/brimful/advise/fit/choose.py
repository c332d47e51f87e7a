"""From answers with intervals to an order, the set that may hold the cheapest, and the measurement that would decide.

An answer's cost is taken as log-normal on either side of its mid, so that its interval holds the truth with the
interval's own coverage. Answers err independently, except those with the same `error_group`: they rest on the same
prediction (one device in two sizes of machine), so the dearer one cannot turn out to be the cheaper.

An answer is a candidate when its interval begins below the end of the best one's: then neither is excluded. Many
answers just outside may together hold the cheapest all the same, so the likeliest of them are added until the set
holds it with the stated coverage.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from brimful.model.evidence import Interval
from brimful.model.noun import Noun, noun, unknown

COVERAGE = 0.8
INDIFFERENT = 0.05  # two answers whose costs may differ by no more than this are as good as decided
MEASURED_ERROR = 0.026  # what two measurements of one system differ by: median CV of MLPerf's 403 repeated systems
_FAR = 2.5  # in half-widths of an interval: 3.2 standard deviations at a coverage of 0.8
_DRAWS = 4096
_DECIDE_DRAWS = 512
_DECIDE_AMONG = 8
_DECIDE_MOST = 3
_LEAST_COST = 1e-12
_Array = npt.NDArray[np.float64]


@noun
class Choice(Noun):
    """One answer as the choice among them sees it."""

    key: str
    cost_usd: Interval
    meets_share: float = 1.0  # the probability that it keeps the SLO
    bench_usd: float | None = unknown("what a run of the benchmark on it costs is not known")
    error_group: str | None = unknown("its error is its own")


@noun
class Decision(Noun):
    """What to measure so that one candidate is left; `tied_share` is the probability that it does not settle it."""

    measure: tuple[str, ...]
    bench_usd: float
    tied_share: float


@noun
class Selection(Noun):
    """The answers in order, those that may be the cheapest that keeps the SLO, and how to find out which of them is.

    `best_shares` goes with `candidates`: the probability of each that it is the one. `coverage_share` is their sum.
    """

    order: tuple[str, ...]
    candidates: tuple[str, ...]
    best_shares: tuple[float, ...]
    coverage_share: float
    decide: Decision | None = unknown()


def choose(choices: Iterable[Choice], coverage: float = COVERAGE) -> Selection:
    """Return the order of the answers, the candidates for the cheapest, and the measurement that would decide."""
    ranked = sorted(choices, key=_rank)
    if len({choice.key for choice in ranked}) < len(ranked):
        raise ValueError("two choices have the same key: a key names one answer")
    order = tuple(choice.key for choice in ranked)
    pool = _within_reach(_without_dominated([choice for choice in ranked if choice.meets_share > 0]), coverage)
    if not pool:
        why = "no answer can keep the SLO"
        return Selection(order=order, candidates=(), best_shares=(), coverage_share=0.0, missing={"decide": why})
    shares = _best_shares(pool)
    chosen = _candidates(pool, shares, coverage)
    decide, why = _decision([pool[place] for place in chosen], [shares[place] for place in chosen])
    return Selection(
        order=order,
        candidates=tuple(pool[place].key for place in chosen),
        best_shares=tuple(shares[place] for place in chosen),
        coverage_share=min(1.0, sum(shares[place] for place in chosen)),
        decide=decide,
        missing={} if decide else {"decide": why},
    )


def _rank(choice: Choice) -> tuple[bool, float, float, str]:
    return choice.meets_share < 0.5, choice.cost_usd.mid, choice.cost_usd.high, choice.key


def _without_dominated(ranked: Sequence[Choice]) -> list[Choice]:
    """Leave out what cannot be the cheapest whatever its group's error turns out to be."""
    kept: list[Choice] = []
    groups: dict[str, list[Choice]] = {}
    for choice in ranked:
        rivals = groups.setdefault(choice.error_group, []) if choice.error_group is not None else []
        if not any(_dominates(rival, choice) for rival in rivals):
            rivals.append(choice)
            kept.append(choice)
    return kept


def _within_reach(pool: list[Choice], coverage: float) -> list[Choice]:
    """Leave out what would have to err by more than three standard deviations to matter: most of a long list."""
    limit = _limit(pool, coverage)
    if limit is None:
        return pool
    return [choice for choice in pool if _far_low(choice.cost_usd) <= limit]


def _far_low(cost: Interval) -> float:
    """Return what the cost is at least, but for errors of more than three standard deviations."""
    return float(cost.mid * (cost.low / cost.mid) ** _FAR) if cost.mid > 0 else 0.0


def _limit(pool: Sequence[Choice], coverage: float) -> float | None:
    """Return the cost that the cheapest has at most, by the interval of an answer that keeps the SLO."""
    return min((choice.cost_usd.high for choice in pool if choice.meets_share >= coverage), default=None)


def _dominates(rival: Choice, choice: Choice) -> bool:
    ours, theirs = choice.cost_usd, rival.cost_usd
    cheaper = theirs.low <= ours.low and theirs.mid <= ours.mid and theirs.high <= ours.high
    return cheaper and rival.meets_share >= choice.meets_share


@dataclass(frozen=True, slots=True)
class _Spreads:
    """Costs as logarithms: the middle, and how far one standard deviation reaches down and up."""

    mid: _Array
    down: _Array
    up: _Array
    meets: _Array

    @classmethod
    def of(cls, choices: Sequence[Choice]) -> _Spreads:
        def logs(end: str) -> _Array:
            return np.log([max(getattr(choice.cost_usd, end), _LEAST_COST) for choice in choices])

        reach = np.array([NormalDist().inv_cdf((1 + choice.cost_usd.coverage) / 2) for choice in choices])
        mid, low, high = logs("mid"), logs("low"), logs("high")
        meets = np.array([choice.meets_share for choice in choices])
        return cls(mid, (mid - low) / reach, (high - mid) / reach, meets)

    def drawn(self, count: int) -> _Array:
        """Return possible truths, one a row: the logarithm of each cost, infinite where the SLO is missed.

        The generator is seeded: the same answers give the same set.
        """
        dice = np.random.default_rng(20261119)
        normal = dice.standard_normal((count, len(self.mid)))
        cost = self.mid + normal * np.where(normal < 0, self.down, self.up)
        missed = dice.random((count, len(self.mid))) >= self.meets
        return np.asarray(np.where(missed, np.inf, cost))


def _best_shares(pool: Sequence[Choice]) -> list[float]:
    """Return the probability of each answer that it is the cheapest, given that any keeps the SLO."""
    drawn = _Spreads.of(pool).drawn(_DRAWS)
    possible = np.isfinite(drawn).any(axis=1)
    if not possible.any():
        return [choice.meets_share / sum(item.meets_share for item in pool) for choice in pool]
    counts = np.bincount(drawn[possible].argmin(axis=1), minlength=len(pool))
    return [float(count) for count in counts / possible.sum()]


def _candidates(pool: Sequence[Choice], shares: Sequence[float], coverage: float) -> list[int]:
    """Return the places of the candidates, in the pool's order."""
    limit = _limit(pool, coverage) or 0.0
    chosen = {
        place for place, choice in enumerate(pool) if choice.cost_usd.low <= limit and choice.meets_share > 1 - coverage
    }
    covered = sum(shares[place] for place in chosen)
    for place in sorted(range(len(pool)), key=lambda place: (-shares[place], place)):
        if covered >= coverage and chosen:
            break
        if place not in chosen:
            chosen.add(place)
            covered += shares[place]
    return sorted(chosen)


def _decision(candidates: Sequence[Choice], shares: Sequence[float]) -> tuple[Decision | None, str]:
    """Return the measurement with the lowest price for each decision that it brings, or why there is none."""
    if len(candidates) == 1:
        return None, "there is one candidate: nothing is left to decide"
    priced = [place for place, choice in enumerate(candidates) if choice.bench_usd is not None]
    if not priced:
        return None, "of no candidate is it known what a run of the benchmark costs"
    priced = sorted(priced, key=lambda place: (-shares[place], place))[:_DECIDE_AMONG]
    spreads = _Spreads.of(candidates)
    drawn = spreads.drawn(_DECIDE_DRAWS)
    options = [
        _measured(candidates, places, _tied_share(candidates, drawn, places))
        for size in range(1, min(_DECIDE_MOST, len(priced)) + 1)
        for places in combinations(priced, size)
    ]
    return min(options, key=_price_of_deciding), ""


def _price_of_deciding(decision: Decision) -> tuple[float, float, int, tuple[str, ...]]:
    """Return the price for each time that it decides; what never does comes last."""
    decides = 1 - decision.tied_share
    price = decision.bench_usd / decides if decides > 0 else float("inf")
    return price, decision.tied_share, len(decision.measure), decision.measure


def _measured(candidates: Sequence[Choice], places: tuple[int, ...], tied: float) -> Decision:
    bench = sum(candidates[place].bench_usd or 0.0 for place in places)
    return Decision(measure=tuple(candidates[place].key for place in places), bench_usd=bench, tied_share=tied)


def _tied_share(candidates: Sequence[Choice], drawn: _Array, places: tuple[int, ...]) -> float:
    """Return how often two candidates are left once those at `places` are known to a measurement's error."""
    low, high = _bounds(candidates, drawn.shape[0])
    for place in places:
        low[:, place] = drawn[:, place] - MEASURED_ERROR
        high[:, place] = drawn[:, place] + MEASURED_ERROR
    best = high.argmin(axis=1)
    limit = np.take_along_axis(high, best[:, None], axis=1) - np.log1p(INDIFFERENT)
    rivals = low < limit
    np.put_along_axis(rivals, best[:, None], values=False, axis=1)
    return float((rivals.any(axis=1) | ~np.isfinite(limit[:, 0])).mean())


def _bounds(candidates: Sequence[Choice], rows: int) -> tuple[_Array, _Array]:
    """Return the ends of the intervals as logarithms; what may well miss the SLO excludes nobody."""
    low = np.log([max(choice.cost_usd.low, _LEAST_COST) for choice in candidates])
    high = np.log([max(choice.cost_usd.high, _LEAST_COST) for choice in candidates])
    unsure = np.array([choice.meets_share < COVERAGE for choice in candidates])
    return np.tile(low, (rows, 1)), np.tile(np.where(unsure, np.inf, high), (rows, 1))
