"""What the facts say to do, and what was done: Severity, Finding, Action, Plan, Act, Verdict."""

from __future__ import annotations

from enum import StrEnum

from brimful.model.noun import Noun, noun, unknown


class Severity(StrEnum):
    """How much a finding matters, least first."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    @property
    def rank(self) -> int:
        """Return the place in the order, so that severities can be compared."""
        return list(Severity).index(self)


@noun
class Finding(Noun):
    """Something to act on: what was seen, why it matters, what to type, on what evidence, for what money."""

    code: str
    severity: Severity
    what: str
    why: str
    fix: str
    command: str | None = unknown("there is no single command for it")
    evidence: tuple[str, ...]
    practices: tuple[int, ...] = ()
    subject: str = ""
    usd_per_month: float | None = unknown("what it is worth is not known")

    def _agree(self) -> None:
        """Refuse a finding that cites nothing: no advice without a record."""
        if not (self.evidence and self.what and self.why and self.fix):
            raise ValueError(f"the finding {self.code} needs what, why, fix and evidence")


@noun
class Action(Noun):
    """One step of a plan; `inverse` undoes it."""

    action: str
    target: str
    why: str
    inverse: str | None = unknown("nothing undoes it")
    saving_usd_per_month: float | None = unknown()
    evidence: tuple[str, ...]


@noun
class Plan(Noun):
    """Steps in their order, with what they should gain."""

    actions: tuple[Action, ...]
    saving_usd_per_month: float | None = unknown()


@noun
class Act(Noun):
    """What was done, or would have been: the record of one action carried out."""

    action: str
    target: str
    dry_run: bool
    outcome: str
    inverse: str | None = unknown("nothing undoes it")
    evidence: tuple[str, ...] = ()


class PracticeStatus(StrEnum):
    """Where a practice stands."""

    MET = "met"
    NOT_MET = "not_met"
    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not_applicable"


@noun
class Verdict(Noun):
    """Where one of the 92 practices stands, why, on what evidence; an unknown one's `fix` says what would decide it."""

    number: int
    title: str
    section: str
    status: PracticeStatus
    because: str
    evidence: tuple[str, ...]
    fix: str | None = unknown("nothing is to be done")
    usd_per_month: float | None = unknown("what it is worth is not known")

    def _agree(self) -> None:
        """Refuse a practice that is called met, not met or not applicable without evidence."""
        if self.status is not PracticeStatus.UNKNOWN and not self.evidence:
            raise ValueError(f"practice {self.number} cannot be {self.status} without evidence")
        if self.status in (PracticeStatus.UNKNOWN, PracticeStatus.NOT_MET) and self.fix is None:
            raise ValueError(
                f"practice {self.number} is {self.status}: fix must say what to do or what would decide it"
            )
