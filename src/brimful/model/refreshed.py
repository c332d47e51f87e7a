"""What a refresh of the catalogue answers: Refreshed, region by region, with every change that it made."""

from __future__ import annotations

from brimful.model.hardware import Status
from brimful.model.noun import Noun, noun, unknown


@noun
class PriceChange(Noun):
    """A type whose on-demand price is another one than before."""

    instance: str
    before_usd_per_hour: float | None = unknown("it had no price before")
    after_usd_per_hour: float | None = unknown("it has no price now")


@noun
class StatusChange(Noun):
    """A type that can be had now and could not before, or the other way round."""

    instance: str
    before: Status
    after: Status


@noun
class SkippedRows(Noun):
    """Rows of an answer that could not be used, and why; some of them by name."""

    part: str
    why: str
    rows_count: int
    examples: tuple[str, ...]


@noun
class RefreshedRegion(Noun):
    """What a refresh of one region read, wrote and changed."""

    region: str
    files: tuple[str, ...]
    described_count: int
    offered_count: int
    priced_count: int
    spot_count: int | None = unknown("no spot prices were read")
    sagemaker_count: int | None = unknown("no prices of SageMaker were read")
    added: tuple[str, ...]
    removed: tuple[str, ...]
    statuses: tuple[StatusChange, ...]
    prices: tuple[PriceChange, ...]
    spot_changed_count: int
    skipped: tuple[SkippedRows, ...]
    warnings: tuple[str, ...]


@noun
class FailedRegion(Noun):
    """A region that was not refreshed: its old files stand as they were."""

    region: str
    what: str
    why: str
    fix: str


@noun
class Refreshed(Noun):
    """What a refresh did, region by region."""

    regions: tuple[RefreshedRegion, ...]
    failed: tuple[FailedRegion, ...]
