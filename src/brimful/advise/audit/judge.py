"""Give each of the 92 practices its verdict.

The order: out of scope -> not applicable; a finding names it -> not met; a proof holds -> met; else unknown, with the
evidence that would decide it. A practice is never met without a proof, and a proof cites records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from brimful.advise.audit import watch
from brimful.advise.audit.facts import Cited, Facts
from brimful.advise.audit.findings import FINDERS, STALE_CATALOG_DAYS, UNDER_USED_P95_PERCENT
from brimful.advise.audit.scope import scope
from brimful.catalog.practices import Practice
from brimful.model.advice import Finding, PracticeStatus, Verdict
from brimful.model.evidence import Usage
from brimful.model.hardware import DeviceKind
from brimful.model.text import counted

STEADY_P5_PERCENT = 10.0  # below it now and then, the work stalls: SageMaker Debugger's LowGPUUtilization again

WORTHLESS_USD = 0.01  # a month


@dataclass(frozen=True, slots=True)
class Proof:
    """Why a practice is met, and the records that show it."""

    because: str
    evidence: tuple[str, ...]


def find(facts: Facts) -> list[Finding]:
    """Return everything that is wrong, what is worth most first."""
    found = [finding for finder in FINDERS for finding in finder(facts)]
    return sorted(found, key=lambda item: (_is_worthless(item), -(item.usd_per_month or 0.0), -item.severity.rank))


def _is_worthless(finding: Finding) -> bool:
    """Say whether it is known that a finding is worth nothing; not knowing what it is worth is another matter."""
    return finding.usd_per_month is not None and finding.usd_per_month < WORTHLESS_USD


def first_things(findings: Sequence[Finding], count: int = 3) -> list[Finding]:
    """Return what to do first: of each machine the one thing that is worth most, and then what else there is."""
    subjects: set[str] = set()
    first: list[Finding] = []
    later: list[Finding] = []
    for finding in findings:
        if _is_worthless(finding):
            continue
        (later if finding.subject in subjects else first).append(finding)
        subjects |= {finding.subject} - {""}
    return [*first, *later][:count]


def judge(practices: Sequence[Practice], facts: Facts, findings: Sequence[Cited[Finding]]) -> list[Verdict]:
    """Return the verdict on each practice, in order of number."""
    return [_verdict(practice, facts, findings) for practice in practices]


def _verdict(practice: Practice, facts: Facts, findings: Sequence[Cited[Finding]]) -> Verdict:
    told = scope(practice.concerns, facts)
    if told.applies is False:
        return _say(practice, PracticeStatus.NOT_APPLICABLE, told.because, told.evidence)
    against = [item for item in findings if practice.number in item.noun.practices]
    if against:
        return _not_met(practice, against)
    proof = PROOFS[practice.number](facts) if practice.number in PROOFS else None
    if proof is not None:
        return _say(practice, PracticeStatus.MET, proof.because, proof.evidence)
    because = "no record decides it yet" if told.applies else f"whether it applies is not known: {told.because}"
    return _say(practice, PracticeStatus.UNKNOWN, because, (), fix=practice.decides)


def _not_met(practice: Practice, against: Sequence[Cited[Finding]]) -> Verdict:
    worth = [item.noun.usd_per_month for item in against if item.noun.usd_per_month is not None]
    more = f" (and {len(against) - 1} more)" if len(against) > 1 else ""
    return _say(
        practice,
        PracticeStatus.NOT_MET,
        against[0].noun.what + more,
        tuple(item.id for item in against),
        fix=against[0].noun.fix if len(against) == 1 else practice.fix,
        usd_per_month=round(sum(worth), 2) if worth else None,
    )


def _say(practice: Practice, status: PracticeStatus, because: str, evidence: tuple[str, ...], **more: Any) -> Verdict:
    return Verdict(
        number=practice.number,
        title=practice.title,
        section=practice.section,
        status=status,
        because=because,
        evidence=evidence,
        **more,
    )


def _measured_on_both(facts: Facts) -> Proof | None:
    """Practice 1: one workload, measured on a CPU and on an accelerator."""
    by_workload: dict[str, dict[bool, str]] = {}
    for item in facts.measurements:
        if item.noun.refused is None and item.noun.device.device_kind is not None:
            on_cpu = item.noun.device.device_kind is DeviceKind.CPU
            by_workload.setdefault(item.noun.workload.model, {})[on_cpu] = item.id
    for model, ids in by_workload.items():
        if len(ids) == 2:
            return Proof(f"{model} was measured on a CPU and on an accelerator", tuple(ids.values()))
    return None


def _catalog_is_fresh(facts: Facts) -> Proof | None:
    """Practice 4: a catalogue that knows and prices every machine in its region, and that none too long ago."""
    cited: list[str] = []
    for item in facts.machines:
        offer = facts.cited_offer(item.noun)
        if offer is None or facts.list_price_of(item.noun) is None or offer.noun.price_date is None:
            return None
        if (facts.today - offer.noun.price_date).days > STALE_CATALOG_DAYS:
            return None
        cited += [item.id, offer.id]
    if not cited:
        return None
    because = f"the catalogue of {facts.prices_on} knows and prices {counted(len(facts.machines), 'machine')}"
    return Proof(because, (facts.catalog_id, *cited))


def _drivers_are_current(facts: Facts) -> Proof | None:
    """Practice 9: every NVIDIA device here tells its driver, and none is behind; no other host may be left out."""
    cards = [item for item in facts.devices if item.noun.vendor == "NVIDIA"]
    known = {branch.branch for branch in facts.branches}
    machines_told = all(facts.accelerators_of(item.noun) == () for item in facts.machines)
    here_told = not facts.unseen and all(item.noun.device_kind is not None for item in facts.devices)
    if not cards or not machines_told or not here_told:
        return None
    if any((item.noun.driver_version or "").partition(".")[0] not in known for item in cards):
        return None
    return Proof("every NVIDIA driver here is the latest of a branch that gets fixes", tuple(item.id for item in cards))


def _nothing_sleeps(facts: Facts) -> Proof | None:
    """Practice 10: every accelerator was seen for hours in which releasing it would gain nothing; else a finding."""
    whole = watch.watched_whole(facts)
    return (
        None if whole is None else _by_use(facts, "no accelerated machine was idle long enough to be released", whole)
    )


def _devices_are_busy(facts: Facts) -> Proof | None:
    """Practice 48: every accelerator was seen for hours, reaches the profiler's bound, and never falls far below."""
    whole = watch.watched_whole(facts)
    if whole is None or any(item.noun.p5_percent < STEADY_P5_PERCENT for item in whole):
        return None
    p95, p5 = f"{UNDER_USED_P95_PERCENT:.0f} %", f"{STEADY_P5_PERCENT:.0f} %"
    return _by_use(facts, f"every accelerator's 95th percentile is at least {p95}, its 5th at least {p5}", whole)


def _by_use(facts: Facts, because: str, usages: Sequence[Cited[Usage]]) -> Proof:
    machines = tuple(item.id for item in facts.machines)  # those without an accelerator, or stopped, show it as well
    return Proof(because, (*machines, *(item.id for item in usages)))


PROOFS: dict[int, Callable[[Facts], Proof | None]] = {
    1: _measured_on_both,
    4: _catalog_is_fresh,
    9: _drivers_are_current,
    10: _nothing_sleeps,
    48: _devices_are_busy,
}
