"""fit: which hardware for this workload, with an error bar and a reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

from brimful.advise.fit.answered import Line, Predicted, answered
from brimful.advise.fit.arrivals import arrivals
from brimful.advise.fit.explain import explain
from brimful.advise.fit.forecasts import Forecasts, Measured, Question
from brimful.advise.fit.places import Market
from brimful.advise.fit.query import Query
from brimful.advise.fit.rank import Outcome, rank
from brimful.advise.fit.ranking import Fitting
from brimful.advise.fit.request import Request
from brimful.catalog import Catalog, load
from brimful.config import Config
from brimful.journal.write import Writer, new_run
from brimful.model.errors import UsageError
from brimful.model.noun import with_gaps
from brimful.model.text import counted, readable_path
from brimful.model.work import Profile
from brimful.verbs.fit_devices import Devices
from brimful.verbs.fit_models import Models, is_file
from brimful.verbs.fit_own import remembered
from brimful.verbs.fit_queries import Lookup, answers, measurements, read_lines
from brimful.verbs.fit_record import Record

_WRITTEN = 40  # rows whose predictions and offers are written down; the rest cite the catalogue and the model


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Which model: a file (or `hf:`, `timm:` before what it is), or a name."""

    path: str | None = None
    name: str | None = None

    @property
    def words(self) -> str:
        """Return how a command names it."""
        return f"--name {self.name}" if self.path is None else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """What the user adds: facts of devices, and measurements of their own."""

    device_facts: Path | None = None
    measured: Path | None = None

    @property
    def told(self) -> dict[str, str]:
        """Return the files by what they are."""
        given = {"device facts": self.device_facts, "own measurements": self.measured}
        return {what: readable_path(path) for what, path in given.items() if path is not None}


class Desk:
    """What every way to ask `fit` needs: the catalogue, models, devices, the predictor with the user's corrections."""

    def __init__(self, config: Config, own: Own, forecasts: Forecasts | None = None) -> None:
        self.catalog: Catalog = load(config.path("catalog_dir"))
        self.region = config.text("region") or "us-east-1"
        self.lookup = Lookup(Models(), Devices.of(self.catalog, self.region, own.device_facts))
        self.forecasts: Forecasts = forecasts if forecasts is not None else _shipped()
        self.warnings: list[str] = []
        measured = remembered(config.path("run_dir"), self.lookup)
        if own.measured is not None:
            measured += self._given(own.measured)
        if measured:
            self.forecasts = self.forecasts.corrected(measured)

    def _given(self, path: Path) -> list[Measured]:
        measured, wrong = measurements(path, self.lookup)
        if len(wrong) == 1:
            self.warnings.append(wrong[0])
        elif wrong:
            self.warnings.append(f"{counted(len(wrong), 'line')} cannot be used; the first: {wrong[0]}")
        return measured

    def profile(self, model: Model, request: Request) -> Profile:
        """Return what the model costs."""
        models, size, tokens = self.lookup.models, request.image_size, request.sequence or request.tokens_in
        name = model.path or model.name or ""
        if model.path is not None and (is_file(name) or Path(name).exists() or ":" not in name):
            return models.sized(name, size, tokens, request.dims)
        return models.named(name, size, tokens)

    def market(self, request: Request) -> Market:
        """Return what can be rented in the region."""
        found = [offer for offer in self.catalog.offers if offer.region == self.region]
        if not found:
            raise UsageError(
                f"the catalogue has nothing of the region {self.region}",
                why=f"it has {', '.join(sorted({offer.region for offer in self.catalog.offers}))}",
                fix=f"brimful catalog refresh --region {self.region} fetches it; or name another one with --region",
            )
        return Market(
            offers=found,
            chips_of=self.lookup.devices.chips_of,
            sheet=self.catalog.fitted,
            operators=self.catalog.operators,
            fits=self.catalog.model_fits,
            times_ms=None if request.trace is None else _times_ms(Path(request.trace)),
        )


def _shipped() -> Forecasts:
    from brimful.verbs.forecast import load_forecaster  # noqa: PLC0415 - the model's file is read only when it is used

    return load_forecaster()


def _times_ms(path: Path) -> npt.NDArray[np.float64]:
    times: npt.NDArray[np.float64] = arrivals(read_lines(path), str(path)) * 1000
    return times


def fit(
    config: Config,
    model: Model,
    request: Request,
    own: Own | None = None,
    *,
    forecasts: Forecasts | None = None,
    explained: str | None = None,
    command: tuple[str, ...] = (),
) -> Fitting:
    """Rank everything that can be rented for a workload, and write what the answer rests on into a new run.

    `explained` names an instance type to tell of in full.
    """
    own = own or Own()
    desk = Desk(config, own, forecasts)
    profile = desk.profile(model, request)
    found = rank(profile, request, desk.market(request), desk.forecasts, model.words, explained and explained.lower())
    told = explain(found, found.memory, explained) if explained else None
    workload = request.workload(profile.model)
    with Writer.create(config.path("run_dir"), new_run(version("brimful"), command)) as writer:
        record = Record.begin(writer, desk.catalog, workload, profile, own.told)
        written = _cited(found)
        ranking = found.ranking(lambda row: record.row(row) if row.place.offer.instance in written else record.common)
    return Fitting(
        run=writer.run.run,
        journal=readable_path(writer.directory),
        model=profile.model,
        workload=workload,
        region=desk.region,
        ranking=ranking,
        explained=told,
        missing={} if told is not None else {"explained": "nothing was to be explained"},
        warnings=tuple(desk.warnings),
    )


def _cited(found: Outcome) -> set[str]:
    """Return the rows whose predictions are written down: the first ones, the candidates, the best of each kind."""
    names = {*found.chosen.order[:_WRITTEN], *found.chosen.candidates[:_WRITTEN]}
    seen: set[str] = set()
    for name in found.chosen.order:
        place = found.rows[name].place
        sort = "share" if place.spare else place.kind.value
        if sort not in seen:
            seen.add(sort)
            names.add(name)
    return names


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
    own = own or Own()
    desk = Desk(config, own, forecasts)
    profile = desk.profile(model, request)
    there = desk.lookup.devices.device(request.device or "")
    query = _query(request, share=there.share, cores=there.cores)
    question: Question = (query, profile, there.chip)
    told = desk.forecasts.foresee([question])[0]
    with Writer.create(config.path("run_dir"), new_run(version("brimful"), command)) as writer:
        record = Record.begin(writer, desk.catalog, request.workload(profile.model), profile, own.told)
        cited = (record.prediction(there.chip.model, told), *record.common)
    answer = answered(question, told, (there.doubt,) if there.doubt else ())
    return Predicted(
        profile.model,
        there.chip.model,
        writer.run.run,
        readable_path(writer.directory),
        replace(answer, basis=(*cited, *answer.basis)),
        tuple(desk.warnings),
    )


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
