"""Give each of the 92 practices its verdict.

The order: out of scope -> not applicable; a finding names it -> not met; a proof holds -> met; else unknown, with the
evidence that would decide it. A practice is never met without a proof, and a proof cites records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from brimful.advise.audit.facts import Cited, Facts
from brimful.advise.audit.findings import FINDERS, MIN_KNOWN_S, UNDER_USED_P95_PERCENT
from brimful.advise.audit.scope import scope
from brimful.catalog.practices import Practice
from brimful.model.advice import Finding, PracticeStatus, Verdict
from brimful.model.hardware import DeviceKind


@dataclass(frozen=True, slots=True)
class Proof:
    """Why a practice is met, and the records that show it."""

    because: str
    evidence: tuple[str, ...]


def find(facts: Facts) -> list[Finding]:
    """Return everything that is wrong, what is worth most first."""
    found = [finding for finder in FINDERS for finding in finder(facts)]
    return sorted(found, key=lambda item: (-(item.usd_per_month or 0.0), -item.severity.rank))


def first_things(findings: Sequence[Finding], count: int = 3) -> list[Finding]:
    """Return what to do first: of each machine the one thing that is worth most, and then what else there is."""
    subjects: set[str] = set()
    first: list[Finding] = []
    later: list[Finding] = []
    for finding in findings:
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
    """Practice 4: a dated catalogue that knows and prices every machine; a stale one is a finding."""
    priced = [item for item in facts.machines if facts.price_of(item.noun) is not None]
    if not facts.machines or len(priced) < len(facts.machines):
        return None
    return Proof(
        f"the catalogue of {facts.prices_on} knows and prices all {len(priced)} machines",
        (facts.catalog_id, *(item.id for item in priced)),
    )


def _drivers_are_current(facts: Facts) -> Proof | None:
    """Practice 9: every NVIDIA device here tells its driver, and none is behind; no other host may be left out."""
    cards = [item for item in facts.devices if item.noun.vendor == "NVIDIA"]
    known = {branch.branch for branch in facts.branches}
    if not cards or facts.accelerated():
        return None
    if any((item.noun.driver_version or "").partition(".")[0] not in known for item in cards):
        return None
    return Proof("every NVIDIA driver here is the latest of a branch that gets fixes", tuple(item.id for item in cards))


def _nothing_sleeps(facts: Facts) -> Proof | None:
    """Practice 10: every accelerated machine has a dense history of hours in which releasing it would gain nothing."""
    evidence: list[str] = []
    for item in facts.accelerated():
        usages = facts.usages_of(item.noun)
        long = all((one.noun.end_s - one.noun.start_s) * one.noun.known_share >= MIN_KNOWN_S for one in usages)
        if item.noun.state == "running" and not (usages and long):
            return None
        evidence += [item.id, *(one.id for one in usages)]
    if not evidence or facts.accelerator_devices():
        return None
    return Proof("no accelerated machine was idle long enough to be released", tuple(evidence))


def _devices_are_busy(facts: Facts) -> Proof | None:
    """Practice 48: every accelerated machine is watched, and every device reaches the profiler's bound."""
    watched = facts.watched_accelerators()
    if not watched or any(not facts.usages_of(item.noun) for item in facts.accelerated()):
        return None
    return Proof(
        f"the 95th percentile of every watched device is at least {UNDER_USED_P95_PERCENT:.0f} %",
        tuple(item.id for item in watched),
    )


PROOFS: dict[int, Callable[[Facts], Proof | None]] = {
    1: _measured_on_both,
    4: _catalog_is_fresh,
    9: _drivers_are_current,
    10: _nothing_sleeps,
    48: _devices_are_busy,
}
