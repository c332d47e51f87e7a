"""The catalogue's own nouns: what a row is where the model has no noun for it.

Offers, accelerators and CPU families are nouns of the model, because advice is about them. These here are tables to
look things up in: a driver branch, an error number, a package, a service that has ended.
"""

from __future__ import annotations

from datetime import date

from brimful.model.noun import Noun, noun, unknown

_NOT_GIVEN = "the source gives none"


@noun
class ShippedFile(Noun):
    """A line of the manifest: a file of the package, and how to know that it is whole."""

    file: str
    table: str
    date: date
    rows_count: int
    sha256: str
    source: str
    licence: str


@noun
class DriverBranch(Noun):
    """A branch of NVIDIA's data-centre drivers on one platform, and until when it is looked after."""

    branch: str
    platform: str
    track: str
    released_on: date
    fixes_until: date | None = unknown()
    fixes_ended: bool | None = unknown()
    ends_on: date
    latest: str
    latest_on: date
    source: str
    licence: str


@noun
class Xid(Noun):
    """An error number that the NVIDIA driver writes into the kernel's log, and what NVIDIA says to do."""

    xid: int
    mnemonic: str
    description: str
    immediate_action: str | None = unknown(_NOT_GIVEN)
    investigatory_action: str | None = unknown(_NOT_GIVEN)
    source: str
    licence: str


@noun
class DcgmError(Noun):
    """A finding of DCGM's diagnostics: its name, what it means, what to do.

    DCGM counts errors and their categories from 0 each, so that a code means nothing without its group.
    """

    code: int
    group: str
    name: str
    meaning: str
    next_step: str | None = unknown(_NOT_GIVEN)
    source: str
    licence: str


@noun
class NeuronPackage(Noun):
    """One version of a package of AWS Neuron, and the instance families it supports."""

    component: str
    package: str
    version: str
    release: str
    families: tuple[str, ...]
    pythons: tuple[str, ...] = ()
    released_on: date | None = unknown("the manifest of that release gives no day")
    source: str
    licence: str


@noun
class OperatorList(Noun):
    """The operators that a target's documentation names as supported, in the names of a framework.

    What is absent from a list is unknown, never unsupported: the lists are shorter than the compilers.
    """

    target: str
    dialect: str  # onnx, aten, tensorflow, xla
    operators: tuple[str, ...]
    note: str = ""
    source: str
    licence: str


@noun
class ModelFit(Noun):
    """How well a family of models fits a Neuron target, and whether that was supported when the page was written."""

    family: str
    target: str
    fit: str
    support: str
    note: str = ""
    source: str
    licence: str
