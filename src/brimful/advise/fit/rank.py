"""From a model, a load and everything that can be rented to answers in order: the whole of `fit`, without any I/O.

Predictions are shared: machines with the same device are foreseen once. Where requests come at a rate, what waiting
does is worked out for the cheapest by a lower bound first, and no further than the answers that can matter; the rest is
told with that bound.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from brimful.advise.fit import training_rows
from brimful.advise.fit.beside import Beside, beside
from brimful.advise.fit.choose import COVERAGE, Choice, Selection, choose
from brimful.advise.fit.cost import HOUR_S, MILLION
from brimful.advise.fit.forecasts import Forecasts
from brimful.advise.fit.places import Market, Place, places
from brimful.advise.fit.ranking import Excluded, Ranking, Reachable
from brimful.advise.fit.request import Load, Request
from brimful.advise.fit.rows import Row, full, interval, machine_rate, online, ranked
from brimful.advise.fit.services import Memory, Services, Table, Unit, foresee, units_of
from brimful.advise.fit.serving import Serving, Waits, best, least_units, units_for, units_for_trace, waits
from brimful.advise.fit.settings import ways
from brimful.advise.fit.switching import switched
from brimful.model.work import Profile

_CLOSE = 36  # rows whose waiting is worked out, beside the best of each kind
_OF_EACH = 2  # of CPUs, of shares, of Neuron devices: looked at even when others cost less
_TRACE_CLOSE = 6
_SWITCHED = 3  # answers to a trace for which is told what switching off between requests would save
_BENCH_HOURS = 0.2  # a machine is up for ten minutes, and a little
DEARER = 3.0  # times the cheapest: what costs more than this at least is not looked at any closer


Cite = Callable[[Row], tuple[str, ...]]


@dataclass(frozen=True)
class Outcome:
    """The rows in order, before they are told: what they rest on may be written down first, and then be cited."""

    rows: Mapping[str, Row]
    chosen: Selection
    excluded: Mapping[str, str]
    reachable: Reachable | None
    request: Request
    model: str
    memory: Memory

    def ranking(self, cite: Cite = lambda _: ()) -> Ranking:
        """Return the answers as nouns; `cite` names the records that a row rests on."""
        answers = [ranked(self.rows[name], self.request, cite(self.rows[name])) for name in self.chosen.order]
        rows = [self.rows[name] for name in self.chosen.order]
        extra: Beside = beside(rows, {item.instance: item for item in answers}, self.chosen, self.request, self.model)
        kinds: dict[str, int] = {}
        for row in rows:
            kinds[_sort(row.place)] = kinds.get(_sort(row.place), 0) + 1
        missing = dict(extra.missing)
        if rows and rows[0].meets_share < COVERAGE and _surer(rows) is None:
            missing["surer"] = "none keeps it with 80 %"
        if self.reachable is None:
            missing["reachable"] = "what was asked can be kept" if rows else "nothing could be told to be quickest"
        return Ranking(
            answers=tuple(answers),
            candidates=self.chosen.candidates,
            candidate_shares=self.chosen.best_shares,
            decide_with=extra.decide.command if extra.decide else None,
            decide=extra.decide,
            excluded=tuple(Excluded(instance=name, reason=why) for name, why in sorted(self.excluded.items())),
            cpu=extra.cpu,
            surer=_surer(rows),
            purpose_built=extra.purpose_built,
            fractional=extra.fractional,
            reachable=self.reachable,
            counts={**dict(sorted(kinds.items())), "excluded": len(self.excluded)},
            missing=missing,
        )


def rank(
    profile: Profile,
    request: Request,
    market: Market,
    forecasts: Forecasts,
    model: str = "MODEL",
    always: str | None = None,
) -> Outcome:
    """Return every machine type as an answer or with the reason why it is none.

    `model` is what commands call it; `always` names a type that is worked out however dear it is.
    """
    there = places(market, profile, request)
    memory = Memory(profile, request)
    units = {}
    for place in there.found:
        tried = ways(place.inside.chip, profile, request)
        precision = tried[0].precision if not isinstance(tried, str) else "fp32"
        units[place.offer.instance] = units_of(place.inside, memory, precision)
    services = foresee(units.values(), profile, request, forecasts)
    ranker = _Ranker(request, market, memory, services, units, dict(there.excluded), profile, always)
    rows = {row.place.offer.instance: row for row in ranker.rows(there.found)}
    chosen = choose(_choice(row) for row in rows.values())
    reachable = _reachable(ranker, request) if not rows else None
    return Outcome(rows, chosen, ranker.excluded, reachable, request, model, memory)


@dataclass
class _Ranker:
    """Makes rows of places, and keeps why others are none."""

    request: Request
    market: Market
    memory: Memory
    services: Services
    units: Mapping[str, Unit]
    excluded: dict[str, str]
    profile: Profile
    always: str | None = None
    reachable: tuple[float, float, Place] | None = None
    _known: dict[object, Serving | None] = field(default_factory=dict)
    _waiting: dict[object, Waits | None] = field(default_factory=dict)

    def rows(self, found: Sequence[Place]) -> list[Row]:
        """Return the rows of all places that can answer."""
        able: list[tuple[Place, Serving]] = []
        for place in sorted(found, key=lambda item: item.offer.instance):
            serving = self._serving(place)
            if isinstance(serving, str):
                self.excluded[place.offer.instance] = serving
            elif serving.missed is not None:
                self.excluded[place.offer.instance] = serving.missed
                self._closest(place, serving)
            else:
                able.append((place, serving))
        if self.request.load in (Load.ONLINE, Load.TRACE):
            return self._at_a_rate(able)
        make: Callable[[Place, Serving], Row | str] = functools.partial(full, request=self.request)
        if self.request.load is Load.TRAINING:
            make = functools.partial(
                training_rows.row, request=self.request, profile=self.profile, sheet=self.market.sheet
            )
        return self._kept([(place, make(place, serving)) for place, serving in able])

    def _kept(self, made: Sequence[tuple[Place, Row | str]]) -> list[Row]:
        rows = []
        for place, row in made:
            if isinstance(row, str):
                self.excluded[place.offer.instance] = row
            else:
                rows.append(row)
        return rows

    def _serving(self, place: Place) -> Serving | str:
        """Return how a unit of a place serves best, or why it cannot: memory, engine or precision."""
        unit = self.units[place.offer.instance]
        refused = self.services.refused.get(unit.key)
        if refused is not None:
            return refused
        tables = self.services.of(unit)
        allowed = [
            (replace(table, unit=unit) if table.unit != unit else table, self._allowed(unit, table)) for table in tables
        ]
        found = self._best(tuple((table.key, sizes) for table, sizes in allowed), allowed)
        if found is None:
            table = tables[0]
            return self.memory.refusal(unit, table.way.precision, table.calls[0].batch)
        return found

    def _allowed(self, unit: Unit, table: Table) -> tuple[int, ...]:
        sizes = tuple(call.batch for call in table.calls)
        return tuple(size for size in sizes if self.memory.fits(unit, table.way.precision, size))

    def _best(self, key: tuple[object, ...], allowed: Sequence[tuple[Table, tuple[int, ...]]]) -> Serving | None:
        if key not in self._known:
            self._known[key] = best(allowed, self.request)
        return self._known[key]

    def _closest(self, place: Place, serving: Serving) -> None:
        """Keep the quickest of those that miss the SLO; of equally quick ones the cheapest."""
        here = (serving.reachable_ms, place.usd_per_hour, place)
        if self.reachable is None or here[:2] < self.reachable[:2]:
            self.reachable = here

    # --- requests at a rate ---

    def _at_a_rate(self, able: Sequence[tuple[Place, Serving]]) -> list[Row]:
        per_s = self.rate()
        bound = sorted(
            (((self._least_usd(*each, per_s), each[0].offer.instance), *each) for each in able),
            key=lambda item: item[0],
        )
        rows: list[Row] = []
        seen: dict[str, int] = {}
        close = _CLOSE if self.request.load is Load.ONLINE else _TRACE_CLOSE
        for (least, name), place, serving in bound:
            sort = _sort(place)
            wanted = seen.get(sort, 0) < _OF_EACH or name == self.always
            cheapest = min((row.cost[1] for row in rows), default=None)
            far = cheapest is not None and least > DEARER * cheapest
            if (len(rows) >= close or far) and not wanted:
                self.excluded[name] = _too_dear(least, cheapest)
                continue
            row = online(place, serving, per_s, functools.partial(self._waits, place, serving, per_s))
            if isinstance(row, str):
                self.excluded[name] = row
                if row.startswith("SLO"):
                    self._closest(place, serving)
                continue
            rows.append(row)
            seen[sort] = seen.get(sort, 0) + 1
        times = self.market.times_ms
        if self.request.load is Load.TRACE and times is not None:
            cheapest_rows = sorted(rows, key=lambda row: row.cost[1])[:_SWITCHED]
            return [switched(row, times) if row in cheapest_rows else row for row in rows]
        return rows

    def rate(self) -> float:
        """Return the requests a second: what is asked, or the mean of a trace."""
        times = self.market.times_ms
        if self.request.load is Load.TRACE and times is not None and len(times) > 1:
            return float((len(times) - 1) / max(times[-1] - times[0], 1e-3) * 1000)
        return self.request.queries_per_s or 1.0

    def _least_usd(self, place: Place, serving: Serving, per_s: float) -> float:
        """Return what a million requests cost at least: as many machines as throughput alone asks for."""
        rate, _ = machine_rate(place, serving)
        each = max(1, place.inside.count // serving.table.unit.split)
        machines = max(-(-least_units(serving, per_s) // each), per_s / rate[1])
        return max(1.0, float(machines)) * place.usd_per_hour * MILLION / HOUR_S / per_s

    def _waits(self, place: Place, serving: Serving, per_s: float, units: int) -> Waits | None:
        each = max(1, place.inside.count // serving.table.unit.split)
        key = (serving.key, units, each if self.request.load is Load.TRACE else 1)
        if key not in self._waiting:
            self._waiting[key] = self._work_out(serving, per_s, units, each)
        return self._waiting[key]

    def _work_out(self, serving: Serving, per_s: float, units: int, each: int) -> Waits | None:
        times, slo = self.market.times_ms, self.request.slo
        if self.request.load is Load.TRACE and times is not None and serving.call.per_token_ms is None:
            return units_for_trace(serving, times, slo, each)
        return units_for(serving, per_s, slo) if units == 0 else waits(serving, per_s, units, slo)


def _sort(place: Place) -> str:
    return "share" if place.spare else place.kind.value


def _too_dear(least: float, cheapest: float | None) -> str:
    times = "" if not cheapest else f", {least / cheapest:.1f} times the cheapest"
    return f"dearer: at least ${least:,.2f} a million{times}; not looked at any closer"


def _surer(rows: Sequence[Row]) -> str | None:
    """Return the cheapest row that keeps what was asked with 80 %, where the first one does not."""
    if not rows or rows[0].meets_share >= COVERAGE:
        return None
    return next((row.place.offer.instance for row in rows if row.meets_share >= COVERAGE), None)


def _choice(row: Row) -> Choice:
    return Choice(
        key=row.place.offer.instance,
        cost_usd=interval(row.cost, row.serving.table.coverage),
        meets_share=row.meets_share,
        bench_usd=row.place.usd_per_hour * row.count * _BENCH_HOURS,
        error_group=row.error_group,
    )


def _reachable(ranker: _Ranker, request: Request) -> Reachable | None:
    if ranker.reachable is None:
        return None
    ms, usd, place = ranker.reachable
    why = ranker.excluded[place.offer.instance]
    rate = request.queries_per_s
    known = {} if not rate else {"usd_per_million": usd * MILLION / HOUR_S / rate}
    return Reachable(
        instance=place.offer.instance,
        latency_p99_ms=ms,
        usd_per_hour=usd,
        why=why,
        missing={} if known else {"usd_per_million": "no rate is stated"},
        **known,
    )
