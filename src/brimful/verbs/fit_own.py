"""A user's own measurements out of the journals of earlier runs, as what corrects predictions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from brimful.advise.fit import words
from brimful.advise.fit.forecasts import Measured
from brimful.advise.fit.query import Query, plan
from brimful.journal.read import FILE_NAME, read, runs
from brimful.model.errors import BrimfulError
from brimful.model.evidence import Measurement
from brimful.model.work import Scenario
from brimful.verbs.fit_queries import Lookup

_SAYS_SO = b'"kind":"measurement"'  # what a journal with a measurement holds; most hold none and need no parsing
_FAILURES = (BrimfulError, OSError, ValueError)


def remembered(root: Path, lookup: Lookup) -> list[Measured]:
    """Return what the journals under a run directory measured, of models and devices that brimful knows.

    What was refused as impossible, names a model that is no longer there or a device without facts tells nothing here;
    a journal that cannot be read is told by `brimful show`, not by a prediction.
    """
    found: list[Measured] = []
    for measurement in _measurements(root):
        try:
            found.append(_measured(measurement, lookup))
        except _FAILURES:
            continue
    return found


def _measurements(root: Path) -> Iterator[Measurement]:
    try:
        directories = runs(root)
    except BrimfulError:
        return
    for directory in directories:
        try:
            if _SAYS_SO not in (directory / FILE_NAME).read_bytes():
                continue
            records = read(directory).records
        except _FAILURES:
            continue
        yield from (item.noun for item in records if isinstance(item.noun, Measurement) and item.noun.refused is None)


def _measured(measurement: Measurement, lookup: Lookup) -> Measured:
    work, setting, figures = measurement.workload, measurement.setting, measurement.figures
    chip = lookup.devices.chip(measurement.device.model or "")
    profile = lookup.models.find(work.model, work.dims.get("image_size"), work.dims.get("sequence"))
    known = {
        "engine": words.engine(setting.engine) or setting.engine,
        "precision": None if setting.precision is None else setting.precision.value,
        "layout": setting.layout,
        "compiled": setting.options.get("compiled"),
        "batch": setting.batch,
        "scenario": None if work.scenario in (None, Scenario.REPLAY) else work.scenario.value,
        "image_size": work.dims.get("image_size"),
        "sequence": work.dims.get("sequence"),
        "tokens_in": work.dims.get("tokens_in"),
        "tokens_out": work.dims.get("tokens_out"),
        "cores": None if setting.cores is None else float(setting.cores),
    }
    gaps = {name: "the measurement does not say" for name, value in known.items() if value is None}
    query = Query(**known, mode=work.mode, share=measurement.device.share, missing=gaps)  # type: ignore[arg-type]
    took_ms = figures.mean_ms if figures.mean_ms is not None else figures.p50_ms
    if took_ms is not None:
        return query, profile, chip, took_ms / 1000
    if not figures.throughput_per_s:
        raise ValueError("it measured neither a time nor a rate")
    each = plan(query, profile, chip)
    return query, profile, chip, each.batch * each.side_by_side / figures.throughput_per_s
