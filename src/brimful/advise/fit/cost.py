"""What answers cost: on demand, on spot, at a factor that the user gives; per million, per run; and where one pays.

Intervals pass through: a longer time costs more, so low stays low and high stays high.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from brimful.model.errors import UsageError
from brimful.model.evidence import Interval
from brimful.model.noun import Noun, noun, unknown, with_gaps

MILLION, THOUSAND, HOUR_S = 1e6, 1e3, 3600.0
# Power as a share of the cap, low, mid and high. Idle: captured nvidia-smi outputs, from 7 % (RTX 3060, 3080) over 11 %
# (H200) and 13 % (A100) to 38 % (T4 that holds its clocks). Busy: the 10th, 50th and 90th percentile of 12,894 GEMMs on
# H200, B200 and GB200, some of them small (aiconfigurator's measurements).
IDLE_SHARES = (0.07, 0.13, 0.38)
BUSY_SHARES = (0.21, 0.55, 0.98)
_MOST_RATE = 1e9
_SAME = 1e-4
_NEVER = 1e-9  # interruptions an hour
_MOST_EXPONENT = 300.0  # e to this is more than any time, and still a number

Price = Callable[[float], float | None]  # requests a second -> dollars an hour, or None when it cannot serve them


def usd_per(count: float, usd_per_hour: float, throughput_per_s: Interval) -> Interval:
    """Return what `count` items cost (a million requests, a thousand tokens, the samples of an epoch)."""
    if throughput_per_s.low <= 0:
        raise ValueError("a throughput of 0 has no cost per item")
    low, mid, high = (
        usd_per_hour * count / HOUR_S / rate
        for rate in (throughput_per_s.high, throughput_per_s.mid, throughput_per_s.low)
    )
    return Interval(low=low, mid=mid, high=high, coverage=throughput_per_s.coverage)


def usd_for(usd_per_hour: float, time_s: Interval) -> Interval:
    """Return what a run of so many seconds costs."""
    low, mid, high = (usd_per_hour * end / HOUR_S for end in (time_s.low, time_s.mid, time_s.high))
    return Interval(low=low, mid=mid, high=high, coverage=time_s.coverage)


def usd_per_served(count: float, usd_per_hour: float, replicas: int, queries_per_s: float) -> float:
    """Return what `count` requests cost when replicas are there for a rate, whether they are busy or not."""
    if queries_per_s <= 0:
        raise ValueError("without requests there is no cost per request")
    return usd_per_hour * replicas * count / HOUR_S / queries_per_s


def reserved(usd_per_hour: float, factor: float) -> float:
    """Return the price under a commitment, as a factor of on-demand that the user gives (0.6: 40 % off)."""
    if not (math.isfinite(factor) and 0 < factor <= 1):
        raise UsageError(
            f"the price factor {factor} cannot be used",
            why="a reserved price or a savings plan costs more than 0 and at most 1 of on-demand",
            fix="give what you pay as a share of on-demand, e.g. --price-factor 0.6",
        )
    return usd_per_hour * factor


def checked_on_demand(usd_per_hour: float, kind: str) -> float:
    """Return a price if it is on demand; a committed price beside on-demand ones would decide the ranking by itself.

    Neuron's benchmark pages divide by an "RI-Effective hourly rate" of a term that they do not state: 0.328 for
    inf2.xlarge, where on-demand is 0.7582.
    """
    if kind.strip().lower().replace("_", "-").replace(" ", "-") != "on-demand":
        raise UsageError(
            f"the price of {usd_per_hour:g} USD an hour is {kind!r}, not on-demand",
            why="answers are compared at on-demand prices; Neuron's RI-effective ones are less than half of them",
            fix="take the on-demand price (brimful catalog show INSTANCE) and give your discount as --price-factor",
        )
    return usd_per_hour


@noun
class Spot(Noun):
    """A run on spot capacity: how much longer it takes, what it costs, and how often to write checkpoints."""

    usd: Interval
    time_s: Interval
    checkpoint_every_s: float
    lost_share: float  # of the time: work done again, checkpoints, starts
    interruptions: float  # expected, over the run at its mid
    saving_usd: float  # against on-demand, at the mid; below 0: spot costs more


def young_daly_s(checkpoint_s: float, between_interruptions_s: float) -> float:
    """Return the interval between checkpoints that loses least: sqrt(2 x cost of one x time between interruptions).

    Young 1974, and Daly 2006 whose higher-order form counts where a checkpoint is not small against that time.
    """
    if checkpoint_s <= 0:
        return min(between_interruptions_s, 60.0)  # free checkpoints: often
    if checkpoint_s >= 2 * between_interruptions_s:
        return between_interruptions_s
    ratio = checkpoint_s / (2 * between_interruptions_s)
    return math.sqrt(2 * checkpoint_s * between_interruptions_s) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - checkpoint_s


def spot(
    work_s: Interval,
    spot_usd_per_hour: float,
    on_demand_usd_per_hour: float,
    interruptions_per_hour: float,
    checkpoint_s: float,
    restart_s: float = 120.0,
) -> Spot:
    """Return what a run with checkpoints costs on spot; interruptions come at random at a constant rate.

    Between two checkpoints an interruption loses what was done since the last, and a restart. The expected time of a
    stretch of work w with checkpoint c at rate r is (e^(r (w + c)) - 1) / r x e^(r restart) (Daly 2006).
    """
    rate = interruptions_per_hour / HOUR_S if interruptions_per_hour > _NEVER else 0.0
    every = young_daly_s(checkpoint_s, 1 / rate) if rate > 0 else math.inf
    stretch = max(every, 1.0)

    def expected(work: float) -> float:
        if rate <= 0:
            return work
        step = min(stretch, max(work, 1.0))
        lost = math.expm1(min(rate * (step + checkpoint_s), _MOST_EXPONENT)) * math.exp(
            min(rate * restart_s, _MOST_EXPONENT)
        )
        return work / step * lost / rate

    low, mid, high = (expected(end) for end in (work_s.low, work_s.mid, work_s.high))
    time = Interval(low=low, mid=mid, high=high, coverage=work_s.coverage)
    cost = usd_for(spot_usd_per_hour, time)
    return Spot(
        usd=cost,
        time_s=time,
        checkpoint_every_s=stretch if rate > 0 else max(work_s.mid, 1.0),
        lost_share=1 - work_s.mid / mid if mid > 0 else 0.0,
        interruptions=rate * mid,
        saving_usd=usd_for(on_demand_usd_per_hour, work_s).mid - cost.mid,
    )


@noun
class BreakEven(Noun):
    """The request rate from which one answer is cheaper than another, and stays so as far as was looked."""

    rate_per_s: float | None = unknown()
    usd_per_hour: float | None = unknown()


def stepped(usd_per_hour: float, needed: Callable[[float], int | None]) -> Price:
    """Return the price an hour as a function of the rate, for as many replicas as each rate needs."""

    def price(rate_per_s: float) -> float | None:
        count = needed(rate_per_s)
        return None if count is None else count * usd_per_hour

    return price


def break_even(small: Price, large: Price, most_per_s: float = _MOST_RATE) -> BreakEven:
    """Return from which rate on `large` costs no more than `small`, where both are steps that rise with the rate.

    Steps may cross more than once. The rate that is returned is the lowest with nothing cheaper above it among the
    rates looked at: powers of two, and every doubling that the answer lies in halved down to 0.01 %.
    """
    rates = [2.0**power for power in range(-20, 61) if 2.0**power <= most_per_s]
    pays = [_pays(small, large, rate) for rate in rates]
    if not pays or not pays[-1]:
        why = "it never costs less, at any rate" if not any(pays) else "at high rates the other is the cheaper again"
        return with_gaps(BreakEven, why)
    first = len(pays) - 1
    while first > 0 and pays[first - 1]:
        first -= 1
    if first == 0:
        return BreakEven(rate_per_s=0.0, **_hourly(large(rates[0])))
    low, high = rates[first - 1], rates[first]
    while high / low > 1 + _SAME:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _pays(small, large, middle) else (middle, high)
    return BreakEven(rate_per_s=high, **_hourly(large(high)))


def _hourly(usd: float | None) -> dict[str, Any]:
    return {"usd_per_hour": usd, "missing": {} if usd is not None else {"usd_per_hour": "its price is unknown"}}


def _pays(small: Price, large: Price, rate_per_s: float) -> bool:
    """Say whether `large` serves the rate at no higher price; what cannot serve it costs more than anything."""
    dear, cheap = small(rate_per_s), large(rate_per_s)
    return cheap is not None and (dear is None or cheap <= dear)


@noun
class Power(Noun):
    """What devices draw, estimated from their cap: an interval, since no meter was read."""

    watts: Interval | None = unknown()
    joules_per_item: Interval | None = unknown()
    items_per_joule: float | None = unknown()


def power(
    cap_watts: float | None, devices: int, utilization_share: float, throughput_per_s: float, coverage: float = 0.8
) -> Power:
    """Return the power of devices that are busy so much of the time: the idle power, and the rest by utilisation."""
    if cap_watts is None:
        return with_gaps(Power, "the maker publishes no power limit of this device")
    share = min(max(utilization_share, 0.0), 1.0)
    low, mid, high = (
        cap_watts * devices * (idle + (busy - idle) * share)
        for idle, busy in zip(IDLE_SHARES, BUSY_SHARES, strict=True)
    )
    watts = Interval(low=low, mid=mid, high=high, coverage=coverage)
    if throughput_per_s <= 0:
        return with_gaps(Power, "nothing is computed", watts=watts)
    joules = Interval(
        low=low / throughput_per_s, mid=mid / throughput_per_s, high=high / throughput_per_s, coverage=coverage
    )
    return Power(watts=watts, joules_per_item=joules, items_per_joule=throughput_per_s / mid if mid > 0 else None)
