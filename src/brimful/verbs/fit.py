"""fit: which hardware for this workload, with an error bar and a reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from brimful.advise.fit.answered import Line, Predicted, answered
from brimful.advise.fit.forecasts import Forecasts, Question
from brimful.advise.fit.query import Query
from brimful.advise.fit.request import Request
from brimful.catalog import Catalog, load
from brimful.config import Config
from brimful.journal.write import Writer, new_run
from brimful.model.evidence import Interval, Prediction, Source
from brimful.model.hardware import Precision
from brimful.model.noun import with_gaps
from brimful.model.text import counted, readable_path
from brimful.model.work import Profile, Setting
from brimful.verbs.doctor import newest_price
from brimful.verbs.fit_devices import Devices
from brimful.verbs.fit_models import Models, is_file
from brimful.verbs.fit_queries import Lookup, answers, measurements, read_lines, with_scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Which model: a file (or `hf:`, `timm:` before what it is), or a name."""

    path: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """What the user adds: facts of devices, and measurements of their own."""

    device_facts: Path | None = None
    measured: Path | None = None


class Desk:
    """What every way to ask `fit` needs: the catalogue, models, devices, the predictor with the user's corrections."""

    def __init__(self, config: Config, own: Own, forecasts: Forecasts | None = None) -> None:
        self.catalog: Catalog = load(config.path("catalog_dir"))
        self.region = config.text("region") or "us-east-1"
        self.lookup = Lookup(Models(), Devices.of(self.catalog, self.region, own.device_facts))
        self.forecasts = forecasts if forecasts is not None else _shipped()
        self.warnings: list[str] = []
        self.own_count = 0
        if own.measured is not None:
            self._correct(own.measured)

    def _correct(self, path: Path) -> None:
        measured, wrong = measurements(path, self.lookup)
        self.own_count = len(measured)
        self.warnings += [f"{wrong[0]}"] if len(wrong) == 1 else []
        if len(wrong) > 1:
            self.warnings.append(f"{counted(len(wrong), 'line')} cannot be used; the first: {wrong[0]}")
        self.forecasts = self.forecasts.corrected(measured)

    def profile(self, model: Model, request: Request) -> Profile:
        """Return what the model costs."""
        models, size, tokens = self.lookup.models, request.image_size, request.sequence or request.tokens_in
        name = model.path or model.name or ""
        if model.path is not None and (is_file(name) or Path(name).exists() or ":" not in name):
            return models.sized(name, size, tokens, request.dims)
        return models.named(name, size, tokens)


def _shipped() -> Forecasts:
    from brimful.verbs.forecast import load_forecaster  # noqa: PLC0415 - the model's file is read only when it is used

    return load_forecaster()


def queries(
    config: Config, path: Path, own: Own | None = None, *, forecasts: Forecasts | None = None
) -> tuple[Iterator[Line], list[str]]:
    """Return the answer to each line of a file of queries, in order, and what is wrong with the measurements."""
    desk = Desk(config, own or Own(), forecasts)
    return answers(read_lines(path), desk.lookup, desk.forecasts), desk.warnings


def predict(
    config: Config,
    model: Model,
    request: Request,
    own: Own | None = None,
    *,
    forecasts: Forecasts | None = None,
    command: tuple[str, ...] = (),
) -> Predicted:
    """Return one prediction, for the device that the request names, and write it into a new run."""
    desk = Desk(config, own or Own(), forecasts)
    profile = desk.profile(model, request)
    there = desk.lookup.devices.device(request.device or "")
    query = _query(request, share=there.share, cores=there.cores)
    question: Question = (with_scenario(query, there.chip), profile, there.chip)
    told = desk.forecasts.foresee([question])[0]
    answer = answered(question, told, (there.doubt,) if there.doubt else ())
    with Writer.create(config.path("run_dir"), new_run(version("brimful"), command)) as writer:
        dated = newest_price(desk.catalog.offers).isoformat()
        cited = (
            writer.append(Source(what="catalogue", where="shipped and refreshed", dated=dated)),
            writer.append(request.workload(profile.model)),
            writer.append(profile),
        )
        prediction = Prediction(
            workload=request.workload(profile.model),
            device=there.chip.model,
            setting=setting_of(told),
            latency_ms=_plain(told.latency_ms),
            throughput_per_s=_plain(told.throughput_per_s),
            limited_by=told.limited_by,
            basis=(*cited, *told.basis),
        )
        identity = writer.append(prediction)
    answer = replace(answer, basis=(identity, *cited, *answer.basis))
    return Predicted(
        profile.model,
        there.chip.model,
        writer.run.run,
        readable_path(writer.directory),
        answer,
        tuple(desk.warnings),
    )


def _plain(told: Interval) -> Interval:
    """Return the same interval in Python's own floats."""
    return Interval(low=float(told.low), mid=float(told.mid), high=float(told.high), coverage=told.coverage)


def setting_of(told: Any) -> Setting:
    """Return the setting of what was foreseen, as the journal keeps it."""
    base = told.precision.removesuffix("-amp")
    known: dict[str, Any] = {"precision": Precision(base)} if base in tuple(Precision) else {}
    if told.layout:
        known["layout"] = told.layout
    options = {"compiled": told.compiled} if told.compiled not in ("", "eager") else {}
    return with_gaps(Setting, "the engine decides", engine=told.engine, batch=told.batch, options=options, **known)


def _query(request: Request, *, share: float, cores: float | None) -> Query:
    known = {
        "engine": request.engine,
        "precision": request.precision,
        "batch": request.batch,
        "sequence": request.sequence,
        "tokens_in": request.tokens_in,
        "tokens_out": request.tokens_out,
        "image_size": request.image_size,
        "cores": cores,
    }
    return with_gaps(Query, "it was not said", mode=request.mode, share=share, **known)
