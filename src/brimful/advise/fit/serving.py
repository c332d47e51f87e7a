"""How one unit (a device, a share of one, a CPU's cores) serves what is asked: which setting, which batch, how much.

Several machines share the load evenly, each with a queue of its own for its units; so the wait is that of one machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from brimful.advise.fit.queueing import FULLEST, steady
from brimful.advise.fit.request import Request
from brimful.advise.fit.services import Call, Spans, Table
from brimful.advise.fit.traffic import Served, fewest_for_trace, fewest_replicas, serve, serve_trace
from brimful.model.units import format_seconds
from brimful.model.work import Slo

_GROUP = 6  # units whose common queue is computed; more are as many such groups beside one another
_ROOMY = 0.8  # how full generation is run: a batch of sequences that grows as it likes needs room
_Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Serving:
    """A unit with a setting and the largest batch that the SLO allows; rates are those of one unit."""

    table: Table
    call: Call
    batches: tuple[int, ...]
    missed: str | None  # why the SLO cannot be kept, however many there are
    reachable_ms: float

    @property
    def per_s(self) -> Spans:
        """Return the samples a second of full batches."""
        low, mid, high = self.call.ms
        size = self.call.batch * 1000
        return size / high, size / mid, size / low

    @property
    def key(self) -> tuple[object, ...]:
        """Return what tells servings apart."""
        return (*self.table.key, self.call.batch, self.batches)


@dataclass(frozen=True, slots=True)
class Waits:
    """What requests see of so many units at a rate: milliseconds low, mid, high (None: it grows without bound)."""

    units: int
    p50_ms: tuple[float, float, float | None]
    p99_ms: tuple[float, float, float | None]
    busy_share: float
    load_share: float
    meets_share: float
    batch: int


def best(tables: Sequence[tuple[Table, tuple[int, ...]]], request: Request) -> Serving | None:
    """Return the setting with the highest rate that keeps the SLO; without any, the one that comes closest."""
    found = [serving(table, allowed, request.slo) for table, allowed in tables if allowed]
    return min(found, key=lambda item: (item.missed is not None, _worth(item), item.table.way.engine), default=None)


def _worth(item: Serving) -> float:
    return -item.per_s[1] if item.missed is None else item.reachable_ms


def serving(table: Table, allowed: tuple[int, ...], slo: Slo) -> Serving:
    """Return how one table serves under an SLO, with batches of the allowed sizes."""
    calls = [call for call in table.calls if call.batch in allowed]
    within = [call for call in calls if _keeps(call, calls[0], slo)]
    alone = min(call.ms[1] for call in calls)
    top = max(within or calls[:1], key=lambda call: (call.batch / call.ms[1], -call.batch))
    sizes = tuple(call.batch for call in within if call.batch <= top.batch) or (calls[0].batch,)
    return Serving(table, top, sizes, None if within else _missed(calls[0], slo), alone)


def _keeps(call: Call, first: Call, slo: Slo) -> bool:
    """Say whether a call of a batch ends within what the SLO allows, without any waiting."""
    limits = [value for value in (slo.p50_ms, slo.p99_ms) if value is not None]
    if limits and call.ms[1] > min(limits):
        return False
    if slo.per_token_ms is not None and call.per_token_ms is not None and call.per_token_ms[1] > slo.per_token_ms:
        return False
    alone = first.first_token_ms
    return slo.first_token_ms is None or alone is None or alone[1] <= slo.first_token_ms


def _missed(call: Call, slo: Slo) -> str:
    parts = []
    limits = [value for value in (slo.p50_ms, slo.p99_ms) if value is not None]
    if limits and call.ms[1] > min(limits):
        parts.append(f"one call takes {format_seconds(call.ms[1] / 1000)}")
    if slo.first_token_ms is not None and call.first_token_ms and call.first_token_ms[1] > slo.first_token_ms:
        parts.append(f"the first token takes {format_seconds(call.first_token_ms[1] / 1000)}")
    if slo.per_token_ms is not None and call.per_token_ms and call.per_token_ms[1] > slo.per_token_ms:
        parts.append(f"each token takes {format_seconds(call.per_token_ms[1] / 1000)}")
    return f"SLO missed: {' and '.join(parts)}, however many there are"


def least_units(found: Serving, per_s: float) -> int:
    """Return a number of units that fewer can never do with at a rate."""
    return max(1, math.ceil(per_s / (FULLEST * found.per_s[1]) - 1e-9))


def units_for(found: Serving, per_s: float, slo: Slo) -> Waits | None:
    """Return the fewest units that keep the SLO at a rate, and what requests then see; None: no number does."""
    if found.call.per_token_ms is not None:
        return _generating(found, per_s, slo, least_units(found, per_s / _ROOMY))
    groups = math.ceil(least_units(found, per_s) / _GROUP)
    fewest = fewest_replicas(found.table.service, found.batches, per_s / groups, slo)
    return None if fewest.served is None else _waits(fewest.served, groups)


def waits(found: Serving, per_s: float, units: int, slo: Slo) -> Waits | None:
    """Return what requests see of so many units at a rate."""
    if found.call.per_token_ms is not None:
        return _generating(found, per_s, slo, units)
    groups = math.ceil(units / _GROUP)
    each = max(1, units // groups)
    served = serve(found.table.service, found.batches, per_s * each / units, each, slo)
    return None if served is None else _waits(served, groups, units)


def units_for_trace(found: Serving, times_ms: _Array, slo: Slo, per_machine: int) -> Waits | None:
    """Return the fewest units, in whole machines, that keep the SLO over a trace, every request followed."""
    fewest = fewest_for_trace(times_ms, found.table.service, found.batches, slo)
    if fewest.served is None:
        return None
    count = math.ceil(fewest.served.replicas / per_machine) * per_machine
    if count == fewest.served.replicas:
        return _waits(fewest.served, 1)
    return _waits(serve_trace(times_ms, found.table.service, found.batches, count, slo), 1)


def _waits(served: Served, groups: int, units: int | None = None) -> Waits:
    return Waits(
        units=units or served.replicas * groups,
        p50_ms=(served.p50_ms_low, served.p50_ms, served.p50_ms_high),
        p99_ms=(served.p99_ms_low, served.p99_ms, served.p99_ms_high),
        busy_share=served.utilization_share,
        load_share=served.load_share if served.load_share is not None else 1.0,
        meets_share=served.meets_share,
        batch=served.batch,
    )


def _generating(found: Serving, per_s: float, slo: Slo, units: int) -> Waits | None:
    """Return what requests to a language model see: as many sequences run at once as the rate makes.

    Sequences in flight are the rate times how long one takes with so many in flight (Little's law). A prompt waits for
    other prompts (M/D/1); the interval of the call is kept in proportion.
    """
    calls = [call for call in found.table.calls if call.batch in found.batches]
    rate = per_s / units
    sizes = np.array([float(call.batch) for call in calls])
    spans = [np.array([call.ms[end] for call in calls]) for end in range(3)]
    took = [_in_flight(rate, sizes, times) for times in spans]
    if took[1] is None:
        return None
    first = calls[0].first_token_ms or (0.0, 0.0, 0.0)
    queue = steady([max(first[1], 1e-6)], rate)
    wait = (queue.p99_ms - first[1]) if queue is not None else math.inf
    if not math.isfinite(wait):
        return None
    load = rate / found.per_s[1]
    # A token's time grows with the sequences in flight: at the most that the SLO allows it is kept by construction.
    excess = (first[1] + wait) / slo.first_token_ms if slo.first_token_ms else 0.0
    excess = max(excess, (took[1] + wait) / slo.p99_ms if slo.p99_ms else 0.0)
    spread = math.log(calls[0].ms[2] / calls[0].ms[1]) if calls[0].ms[1] > 0 else 0.0
    p50 = (took[0] or 0.0, took[1], took[2])
    return Waits(
        units=units,
        p50_ms=p50,
        p99_ms=(p50[0] + wait, p50[1] + wait, None if p50[2] is None else p50[2] + wait),
        busy_share=min(1.0, load),
        load_share=min(1.0, load),
        meets_share=kept_share(excess, spread),
        batch=found.call.batch,
    )


def _in_flight(rate_per_s: float, sizes: _Array, times_ms: _Array) -> float | None:
    """Return how long a sequence takes when they come at a rate, or None when that is more than the batches take."""
    grid = np.geomspace(1.0, sizes[-1], 64) if sizes[-1] > 1 else np.ones(1)
    time = np.interp(grid, sizes, times_ms)
    room = np.nonzero(grid / (time / 1000) >= rate_per_s)[0]
    return float(time[room[0]]) if len(room) else None


def kept_share(excess: float, spread: float, coverage: float = 0.8) -> float:
    """Return the probability that a limit is kept, from the predicted share of it and the logarithm's half-width."""
    if excess <= 0:
        return 1.0
    if spread <= 0:
        return float(excess <= 1)
    return NormalDist().cdf(-math.log(excess) / (spread / NormalDist().inv_cdf((1 + coverage) / 2)))
