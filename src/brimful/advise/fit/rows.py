"""One machine type as an answer: its place, how a unit of it serves, and the load, to figures with their ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from brimful.advise.fit.cost import HOUR_S, MILLION, Power, power, usd_per_served
from brimful.advise.fit.places import Place
from brimful.advise.fit.query import TOKENS_OUT
from brimful.advise.fit.ranking import Ranked
from brimful.advise.fit.request import Load, Request
from brimful.advise.fit.services import Spans
from brimful.advise.fit.serving import Serving, Waits, kept_share
from brimful.model.evidence import Interval
from brimful.model.text import counted
from brimful.model.units import format_seconds

_FULLEST = 0.97
_CPU_IS_HOST = "its CPU decodes the input as well"


@dataclass(frozen=True, slots=True)
class Row:
    """A type with its figures; `waits` is there when requests come at stated times."""

    place: Place
    serving: Serving
    count: int
    rate: Spans  # of one machine, at full load
    limited_by: str
    cost: Spans  # of a million
    waits: Waits | None = None
    meets_share: float = 1.0
    run_s: Spans | None = None
    notes: tuple[str, ...] = ()

    @property
    def error_group(self) -> str:
        """Return what the prediction is of: rows of one group err together."""
        return " ".join(map(str, self.serving.table.key))


def machine_rate(place: Place, serving: Serving) -> tuple[Spans, str]:
    """Return the samples a second of one machine with full batches, and what limits it: a device, or what feeds it."""
    units = max(1, place.inside.count // serving.table.unit.split)
    low, mid, high = (rate * units for rate in serving.per_s)
    feed = place.feed
    if feed is None:
        return (low, mid, high), serving.call.limited_by
    fed = feed.items_per_s
    if place.inside.is_cpu and "host decode" in feed.parts:  # one CPU does both: their times add up
        both = (_both(low, fed.low), _both(mid, fed.mid), _both(high, fed.high))
        return both, "host decode" if fed.mid < mid else serving.call.limited_by
    limited = feed.limited_by if fed.mid < mid else serving.call.limited_by
    return (min(low, fed.low), min(mid, fed.mid), min(high, fed.high)), limited


def _both(one: float, other: float) -> float:
    """Return the rate of two steps that take turns on the same cores."""
    return 1 / (1 / one + 1 / other)


def full(place: Place, serving: Serving, request: Request) -> Row | str:
    """Return a type at full load: as much as it takes, or so many items within a time."""
    if place.lasting_share < 1:
        return (
            f"burstable: its price buys {place.lasting_share:.0%} of its CPU for good, and work without pause needs all"
        )
    rate, limited = machine_rate(place, serving)
    count, meets = 1, 1.0
    within, total = request.slo.within_s, request.total_count
    if total is not None and within is not None:
        wanted = total / within
        count = max(1, math.ceil(wanted / rate[1] - 1e-9))
        meets = kept_share(wanted / (count * rate[1]), math.log(rate[1] / rate[0]))
    if request.slo.p99_ms is not None or request.slo.p50_ms is not None:
        limit = min(value for value in (request.slo.p99_ms, request.slo.p50_ms) if value is not None)
        spans = serving.call.ms
        meets = kept_share(spans[1] / limit, math.log(spans[2] / spans[1]))
    run = None if total is None else _inverse(total, rate, count)
    return Row(place, serving, count, rate, limited, per_million(place.usd_per_hour, rate), None, meets, run)


def per_million(usd_per_hour: float, rate: Spans) -> Spans:
    """Return what a million samples cost at a rate."""
    low, mid, high = rate
    dollars = usd_per_hour * MILLION / HOUR_S
    return dollars / high, dollars / mid, dollars / low


def _inverse(total: float, rate: Spans, count: int) -> Spans:
    low, mid, high = rate
    return total / (high * count), total / (mid * count), total / (low * count)


def online(place: Place, serving: Serving, per_s: float, waits_of: Callable[[int], Waits | None]) -> Row | str:
    """Return as many machines of a type as keep the SLO at a rate; `waits_of` tells what so many units make of it.

    Called with 0 it says how many units are needed at least.
    """
    rate, limited = machine_rate(place, serving)
    needed = waits_of(0)
    if needed is None:
        return "SLO missed: no number of them keeps it at this rate"
    each = max(1, place.inside.count // serving.table.unit.split)
    count = max(math.ceil(needed.units / each), math.ceil(per_s / (_FULLEST * rate[1]) - 1e-9))
    if count * each != needed.units:
        needed = waits_of(count * each) or needed
    busy = max(needed.busy_share, per_s / (count * rate[1]) if place.feed is not None else 0.0)
    if busy > place.lasting_share:
        return (
            f"burstable: it would be busy {busy:.0%} of the time, and its price buys {place.lasting_share:.0%} for good"
        )
    cost = _served_cost(place, serving, per_s, count, needed.load_share)
    return Row(place, serving, count, rate, limited, cost, needed, needed.meets_share)


def _served_cost(place: Place, serving: Serving, per_s: float, count: int, load: float) -> Spans:
    """Return what a million requests cost, at the ends with as many machines as those would need."""
    mid = serving.call.ms[1]
    counts = [_machines(count, load, end / mid) for end in serving.call.ms]
    low, middle, high = (usd_per_served(MILLION, place.usd_per_hour, number, per_s) for number in counts)
    return min(low, middle), middle, max(middle, high)


def _machines(count: int, load: float, slower: float) -> int:
    """Return how many machines the load needs when calls take `slower` times what was foreseen."""
    room = max(load, 0.8)
    return max(1, count if slower >= 1 and load * slower <= room else math.ceil(count * load * slower / room - 1e-9))


_UNSAID = {name: str(item.metadata["why"]) for item in fields(Ranked) if (name := item.name) and "why" in item.metadata}


def ranked(row: Row, request: Request, basis: tuple[str, ...] = ()) -> Ranked:
    """Return a row as the noun that is answered."""
    place, call = row.place, row.serving.call
    low, mid, high = (rate * row.count for rate in row.rate)
    drawn = _power(row, mid)
    known: dict[str, Any] = {
        "watts": None if drawn.watts is None else drawn.watts.mid,
        "items_per_joule": drawn.items_per_joule,
        "support": place.support,
        "utilization": None if row.waits is None else min(1.0, row.waits.busy_share),
        **_latencies(row),
        **_tokens(row, request),
        **_run(row, request),
    }
    known = {name: value for name, value in known.items() if value is not None}
    reasons = {"watts": drawn.missing.get("watts"), "items_per_joule": drawn.missing.get("items_per_joule")}
    if row.waits is not None:
        reasons |= dict.fromkeys(_HIGH, "at the slow end of the prediction requests come faster than they are served")
    return Ranked(
        instance=place.offer.instance,
        count=row.count,
        share=place.inside.share,
        device=place.inside.chip.model,
        devices=place.inside.count,
        kind=place.kind.value,
        usd_per_hour=place.usd_per_hour * row.count,
        price=place.price,
        call_ms_low=call.ms[0],
        call_ms=call.ms[1],
        call_ms_high=call.ms[2],
        throughput_per_s_low=low,
        throughput_per_s=mid,
        throughput_per_s_high=high,
        usd_per_million_low=row.cost[0],
        usd_per_million=row.cost[1],
        usd_per_million_high=row.cost[2],
        meets_share=row.meets_share,
        limited_by=row.limited_by,
        why=why(row, request),
        setting=setting(row),
        basis=basis,
        notes=tuple(item for item in (place.inside.doubt, _host_note(place), _arm_note(place), *row.notes) if item),
        missing={name: reasons.get(name) or reason for name, reason in _UNSAID.items() if name not in known},
        **known,
    )


_HIGH = ("latency_p50_ms_high", "latency_p99_ms_high")


def _fed_share(row: Row) -> float:
    """Return how much of the time devices work where their host lets through less than they could do."""
    units = max(1, row.place.inside.count // row.serving.table.unit.split)
    return min(1.0, row.rate[1] / (row.serving.per_s[1] * units))


def _power(row: Row, most_per_s: float) -> Power:
    place, waits = row.place, row.waits
    cap = place.inside.chip.power_cap_watts
    busy, through = (
        (_fed_share(row), most_per_s) if waits is None else (waits.busy_share, most_per_s * waits.load_share)
    )
    return power(None if cap is None else cap * portion(place), row.count * place.inside.count, busy, through)


def portion(place: Place) -> float:
    """Return how much of each of its devices a type has: a share of a GPU, or some of a socket's cores."""
    inside = place.inside
    if inside.cores is None or not inside.chip.compute_units:
        return inside.share
    return min(1.0, inside.cores / inside.chip.compute_units)


def _arm_note(place: Place) -> str:
    arm = place.offer.arch == "arm64" and not place.inside.is_cpu
    return "its host is an Arm CPU: images and wheels must be built for it" if arm else ""


def _host_note(place: Place) -> str:
    return _CPU_IS_HOST if place.inside.is_cpu and place.feed is not None and "host decode" in place.feed.parts else ""


def _latencies(row: Row) -> dict[str, Any]:
    if row.waits is None:
        return {}
    out: dict[str, Any] = {}
    for name, spans in (("p50", row.waits.p50_ms), ("p99", row.waits.p99_ms)):
        ends = sorted(value for value in spans if value is not None)
        out[f"latency_{name}_ms_low"], out[f"latency_{name}_ms"] = ends[0], spans[1]
        out[f"latency_{name}_ms_high"] = None if spans[2] is None else ends[-1]
    return out


def _tokens(row: Row, request: Request) -> dict[str, Any]:
    call = row.serving.call
    if call.first_token_ms is None or call.per_token_ms is None:
        return {}
    tokens = request.tokens_out or TOKENS_OUT
    first = row.serving.table.calls[0].first_token_ms or call.first_token_ms  # of one prompt alone
    return {
        "first_token_ms": first[1],
        "per_token_ms": call.per_token_ms[1],
        "usd_per_1k_tokens": row.cost[1] / MILLION / tokens * 1000,
    }


def _run(row: Row, request: Request) -> dict[str, Any]:
    if row.run_s is None:
        return {}
    hourly = row.place.usd_per_hour * row.count / HOUR_S
    low, mid, high = (hourly * seconds for seconds in row.run_s)
    epoch = {"epoch_usd": mid / (request.epochs or 1.0)} if request.load is Load.TRAINING else {}
    return {"run_s": row.run_s[1], "run_usd_low": low, "run_usd": mid, "run_usd_high": high, **epoch}


def setting(row: Row) -> str:
    """Say how it runs: engine, precision, batch, devices."""
    table, call = row.serving.table, row.serving.call
    size = f"batch {call.batch}" if row.waits is None or call.batch == 1 else f"batches up to {call.batch}"
    split = f", each model over {table.unit.split} devices" if table.unit.split > 1 else ""
    compiled = " (compiled)" if table.way.compiled == "inductor" else ""
    return f"{table.way.engine}{compiled} {table.way.precision}, {size}{split}"


def why(row: Row, request: Request) -> str:
    """Say in one line why it stands where it stands."""
    if row.place.feed is not None and row.limited_by == row.place.feed.limited_by:
        own = row.serving.per_s[1] * max(1, row.place.inside.count // row.serving.table.unit.split)
        return (
            f"its host lets through {_number(row.rate[1])}/s of the {_number(own)}/s that its "
            f"{row.place.inside.chip.model} could do"
        )
    several = f"{row.count} of them are" if row.count > 1 else "it is"
    if row.waits is not None:
        limit = request.slo.p99_ms
        told = f"; p99 {format_seconds(row.waits.p99_ms[1] / 1000)}"
        allowed = f" of {format_seconds(limit / 1000)} allowed" if limit is not None else ""
        return f"{several} busy {row.waits.busy_share:.0%} of the time{told}{allowed}"
    if row.run_s is not None and request.load is Load.TRAINING:
        several = f" on {row.place.inside.count} devices" if row.place.inside.count > 1 else ""
        return f"trained in {format_seconds(row.run_s[1])}{several}, at {_number(row.rate[1])}/s"
    if row.run_s is not None:
        machines = counted(row.count, "machine")
        return f"done in {format_seconds(row.run_s[1])} by {machines}, at {_number(row.rate[1] * row.count)}/s"
    return f"{_number(row.rate[1])}/s when it is never idle, {format_seconds(row.serving.call.ms[1] / 1000)} a call"


def _number(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.3g}"


def interval(spans: Spans, coverage: float) -> Interval:
    """Return an interval from its ends."""
    return Interval(low=spans[0], mid=spans[1], high=spans[2], coverage=coverage)
