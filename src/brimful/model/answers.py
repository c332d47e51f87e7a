"""What verbs answer: the records that the command line prints, as text or as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from brimful.model.advice import Finding, Verdict
from brimful.model.hardware import Device, EndedService, Offer
from brimful.model.noun import Noun, noun, unknown

_NOTHING_TO_DO = "nothing is to be done"


@noun
class BackendState(Noun):
    """One back-end of one seam, and whether it can be used here."""

    seam: str
    name: str
    available: bool
    reason: str
    fix: str | None = unknown(_NOTHING_TO_DO)


@noun
class Part(Noun):
    """A part of brimful itself: whether it works, and if not, how to get it."""

    part: str
    works: bool
    reason: str
    fix: str | None = unknown(_NOTHING_TO_DO)


@noun
class Diagnosis(Noun):
    """doctor: this machine, brimful's own parts, and every back-end."""

    version: str
    python: str
    platform: str
    parts: tuple[Part, ...]
    devices: tuple[Device, ...]
    backends: tuple[BackendState, ...]


@noun
class Suggestion(Noun):
    """A command, and what it would tell."""

    command: str
    why: str


@noun
class View(Noun):
    """Bare brimful: this machine, and what to do next."""

    devices: tuple[Device, ...]
    problems: tuple[Part, ...]
    suggestions: tuple[Suggestion, ...]


@noun
class ListedRun(Noun):
    """show without a run: one line of the list of runs."""

    run: str
    started_at: str | None = unknown()
    command: tuple[str, ...] = ()
    records: int | None = unknown()


@noun
class Choice(Noun):
    """catalog show: what a filter lets through, cheapest first, and services that have ended if one is named.

    `untold` is how many more there may be: a value that is not known kept them from being told; `untold_by`
    counts by key.
    """

    instances: tuple[Offer, ...]
    services: tuple[EndedService, ...] = ()
    untold: int
    untold_by: Mapping[str, int]
    hints: tuple[str, ...]
    words: tuple[str, ...]


@noun
class Audit(Noun):
    """audit: what to do first, what is wrong, and the 92 rows; all of it stands in the run's journal as well.

    `simulated` names the sources that were not measured: what they tell of does not exist.
    """

    run: str
    journal: str
    about: str
    counts: Mapping[str, int]
    first: tuple[Finding, ...]
    findings: tuple[Finding, ...]
    practices: tuple[Verdict, ...]
    warnings: tuple[str, ...] = ()
    simulated: tuple[str, ...] = ()
