"""What `fit` writes into the journal before it says anything: the question, the model, predictions, offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brimful.advise.fit.answer import Foreseen
from brimful.advise.fit.rows import Row
from brimful.catalog import Catalog
from brimful.journal.write import Writer
from brimful.model.evidence import Interval, Prediction, Source
from brimful.model.hardware import Precision
from brimful.model.noun import with_gaps
from brimful.model.work import Profile, Setting, Workload
from brimful.verbs.doctor import newest_price


@dataclass
class Record:
    """A journal that is being written; records are cited by the ids that it gives them."""

    writer: Writer
    workload: Workload
    common: tuple[str, ...]
    _predictions: dict[object, str] = field(default_factory=dict)
    _offers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def begin(
        cls, writer: Writer, catalog: Catalog, workload: Workload, profile: Profile, own: Mapping[str, str]
    ) -> Record:
        """Write down what every answer rests on: the catalogue, the question, the model, the user's own files."""
        dated = newest_price(catalog.offers).isoformat()
        sources = [Source(what="catalogue", where="shipped and refreshed", dated=dated)]
        sources += [Source(what=what, where=where) for what, where in own.items()]
        common = [writer.append(item) for item in (*sources, workload, profile)]
        return cls(writer, workload, tuple(common))

    def prediction(self, device: str, told: Foreseen) -> str:
        """Write down one prediction and return its id."""
        return self.writer.append(
            Prediction(
                workload=self.workload,
                device=device,
                setting=setting_of(told),
                latency_ms=plain_interval(told.latency_ms),
                throughput_per_s=plain_interval(told.throughput_per_s),
                limited_by=told.limited_by,
                basis=(*self.common, *told.basis),
            )
        )

    def row(self, row: Row) -> tuple[str, ...]:
        """Write down what a row rests on, each record once, and return the ids."""
        key, name = row.serving.key, row.place.offer.instance
        if key not in self._predictions:
            unit = row.serving.table.unit
            part = f" x {unit.share:g}" if unit.share < 1 else f", {unit.cores:g} cores" if unit.cores else ""
            self._predictions[key] = self.prediction(f"{unit.chip.model}{part}", row.serving.call.told)
        if name not in self._offers:
            self._offers[name] = self.writer.append(row.place.offer)
        return self._predictions[key], self._offers[name], *self.common


def plain_interval(told: Interval) -> Interval:
    """Return the same interval in Python's own floats: the predictor's may be numpy's, which JSON does not know."""
    return Interval(low=float(told.low), mid=float(told.mid), high=float(told.high), coverage=told.coverage)


def setting_of(told: Foreseen) -> Setting:
    """Return the setting of what was foreseen, as the journal keeps it."""
    base = told.precision.removesuffix("-amp")
    known: dict[str, Any] = {"precision": Precision(base)} if base in tuple(Precision) else {}
    if told.layout:
        known["layout"] = told.layout
    options = {"compiled": told.compiled} if told.compiled not in ("", "eager") else {}
    return with_gaps(Setting, "the engine decides", engine=told.engine, batch=told.batch, options=options, **known)
