"""What the facts say is wrong, for how much money. One function a matter; FINDERS is the list of them.

To add one: write the function, add it to FINDERS. A practice that a finding names is not met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date

from brimful.advise.audit.facts import Cited, Facts
from brimful.advise.audit.smaller import smaller_offer
from brimful.model.advice import Finding, Severity
from brimful.model.evidence import Usage
from brimful.model.hardware import Machine, Offer, Status, WithdrawalEvidence
from brimful.model.text import counted
from brimful.model.units import HOURS_PER_MONTH, format_seconds, format_share, format_usd

STALE_CATALOG_DAYS = 92  # prices and types change by the quarter
RELEASABLE_SHARE = 0.05  # below this a release gains less than its cold starts cost
MIN_KNOWN_S = 6 * 3600.0  # a shorter history says little about a machine that is paid by the month
UNDER_USED_P95_PERCENT = 70.0  # SageMaker Debugger's LowGPUUtilization
_NO_NVLINK = ("g3", "g4", "g5", "g6", "gr6", "g7")
_PROTECTING_TAGS = ("brimful:keep", "protected", "do-not-stop")


def idle(facts: Facts) -> Iterator[Finding]:
    """Find machines whose accelerators could have been let go for a good part of the time."""
    for item in facts.accelerated():
        machine, usages = item.noun, facts.usages_of(item.noun)
        if machine.state != "running" or not usages or min(map(_known_s, usages)) < MIN_KNOWN_S:
            continue
        share = min(
            cited.noun.releasable_share for cited in usages
        )  # all its devices must be free at once, at most this
        if share < RELEASABLE_SHARE or _watched(usages) < _device_count(facts, machine):
            continue
        price = facts.price_of(machine)
        now = min(cited.noun.idle_at_end_s for cited in usages)
        timeout = usages[0].noun.timeout_s
        command = _release_command(facts, machine, idle_now=now > timeout)
        yield Finding(
            code="idle-accelerator",
            severity=Severity.HIGH,
            subject=machine.machine,
            what=f"{machine.machine} ({machine.instance}) did nothing in {share * 100:.0f} % of the "
            f"{format_seconds(min(map(_known_s, usages)))} on record"
            + (f", and nothing in the last {format_seconds(now)}" if now > timeout else ""),
            why=f"releasing it after {format_seconds(timeout)} without work would have saved that share of its price"
            + ("; at most, as its devices may be idle at different times" if len(usages) > 1 else ""),
            fix=_how_to_release(facts, machine),
            command=command,
            evidence=(item.id, *(cited.id for cited in usages)),
            practices=(10, 12),
            usd_per_month=None if price is None else round(price * HOURS_PER_MONTH * share, 2),
            missing=_reasons(facts, machine, no_command=command is None),
        )


def _known_s(cited: Cited[Usage]) -> float:
    usage = cited.noun
    return (usage.end_s - usage.start_s) * usage.known_share


def _watched(usages: list[Cited[Usage]]) -> int:
    return len({cited.noun.device for cited in usages})


def _device_count(facts: Facts, machine: Machine) -> int:
    return sum(part.count for part in facts.accelerators_of(machine) or ())


def _reasons(facts: Facts, machine: Machine, *, no_command: bool) -> dict[str, str]:
    reasons = {}
    if no_command:
        reasons["command"] = "it is not idle now, or must not be stopped from outside: see the fix"
    if facts.price_of(machine) is None:
        reasons["usd_per_month"] = f"the price of {machine.instance} ({machine.purchase}) is not known"
    return reasons


def _how_to_release(facts: Facts, machine: Machine) -> str:
    offer = facts.offer_of(machine)
    if machine.owner:
        return f"let its owner ({machine.owner}) scale it in; stopping it behind the owner's back starts a new one"
    kept = [tag for tag in _PROTECTING_TAGS if tag in machine.tags]
    if kept:
        return f"it is tagged {kept[0]}: ask who set the tag, then stop it or let it scale to zero"
    if offer and offer.status is Status.WITHDRAWN:
        return "do not stop it: its type is withdrawn and may not start again; move it to a successor, and stop that"
    local = "copy what lies on its instance store first, a stop loses it; then " if offer and offer.nvme_bytes else ""
    return f"{local}stop it while it is idle (without --dry-run), or give it a schedule or scale-to-zero"


def _release_command(facts: Facts, machine: Machine, *, idle_now: bool) -> str | None:
    """Return what to type: never a stop of what somebody else owns, protects, uses now or could not start again."""
    if machine.cloud != "ec2" or machine.owner or any(tag in machine.tags for tag in _PROTECTING_TAGS):
        return None
    offer = facts.offer_of(machine)
    if offer and offer.status is Status.WITHDRAWN:
        return _compare_command(offer)
    region = machine.region or facts.region
    stop = f"aws ec2 stop-instances --dry-run --region {region} --instance-ids {machine.machine}"
    return stop if idle_now else None


def _compare_command(offer: Offer) -> str:
    return f"brimful catalog show {' '.join((offer.instance, *offer.successors))}"


def withdrawn(facts: Facts) -> Iterator[Finding]:
    """Find machines of types that can no longer be had: once stopped, they may never start again."""
    for item in facts.machines:
        cited = facts.offers.get(item.noun.instance)
        if cited is None or cited.noun.status is not Status.WITHDRAWN:
            continue
        offer = cited.noun
        announced = offer.withdrawal is WithdrawalEvidence.ANNOUNCED
        how = "announced" if announced else "absent from AWS's lists since"
        yield Finding(
            code="withdrawn-type",
            severity=Severity.MEDIUM,
            subject=item.noun.machine,
            what=f"{item.noun.machine} is a {offer.instance}, which is withdrawn ({how} {_day(offer.withdrawn_on)})",
            why="a machine of a withdrawn type may not start again once it is stopped, and no new one can be had",
            fix=f"move it to {' or '.join(offer.successors) or 'a type that is available'}",
            command=_compare_command(offer),
            evidence=(item.id, cited.id),
            practices=(5,),
            missing={"usd_per_month": "what the move saves depends on the successor's speed for the workload"},
        )


def _day(day: date | None) -> str:
    return day.isoformat() if day else "date unknown"


def too_large(facts: Facts) -> Iterator[Finding]:
    """Find machines whose one GPU does so little, in so little memory, that a share of a GPU would do."""
    for item in facts.accelerated():
        machine, usages = item.noun, facts.usages_of(item.noun)
        price, offer = facts.price_of(machine), facts.offers.get(machine.instance)
        if machine.state != "running" or price is None or offer is None or len(usages) != 1:
            continue
        usage = usages[0].noun
        better = smaller_offer(facts, offer.noun, usage, price) if _known_s(usages[0]) >= MIN_KNOWN_S else None
        if better is None or better.usd_per_hour is None:
            continue
        saved = (price - better.usd_per_hour) * HOURS_PER_MONTH
        yield Finding(
            code="gpu-too-large",
            severity=Severity.MEDIUM,
            subject=machine.machine,
            what=f"{machine.machine} ({machine.instance}) never used more than {usage.max_percent:.0f} % of its GPU",
            why=f"{_share(better)} does that for {format_usd(better.usd_per_hour)} an hour, not {format_usd(price)}",
            fix=f"measure the workload on {better.instance}; if it keeps its latency there, move it",
            command=f"brimful catalog show {machine.instance} {better.instance}",
            evidence=(item.id, offer.id, usages[0].id),
            practices=(12, 63),
            usd_per_month=round(saved, 2),
        )


def _share(offer: Offer) -> str:
    part = (offer.accelerators or ())[0]
    return f"{format_share(part.share)} of an {part.model}" if part.share < 1 else f"a {part.model}"


def under_used(facts: Facts) -> Iterator[Finding]:
    """Find devices that are busy for less than the profiler's bound, nearly always."""
    watched = facts.watched_accelerators()
    low = [cited for cited in watched if cited.noun.p95_percent < UNDER_USED_P95_PERCENT]
    if low:
        bound = f"{UNDER_USED_P95_PERCENT:.0f} %"
        names = ", ".join(cited.noun.device for cited in low[:3]) + (" …" if len(low) > 3 else "")
        yield Finding(
            code="under-used",
            severity=Severity.LOW,
            subject=low[0].noun.device,
            what=f"{len(low)} of {counted(len(watched), 'watched device')} stay under {bound} for 95 % of the time",
            why=f"{names}: a larger batch, a faster data path or a smaller device would use what is paid for",
            fix="raise the batch size, look for a CPU or input bottleneck, or take a smaller device",
            evidence=tuple(cited.id for cited in low),
            practices=(48,),
            missing={"command": "which of the three it is needs a profile of the job"},
        )


def unwatched(facts: Facts) -> Iterator[Finding]:
    """Find accelerated machines of which no history exists."""
    silent = [item for item in facts.accelerated() if item.noun.state == "running" and not facts.usages_of(item.noun)]
    if silent and facts.has_history:
        names = ", ".join(item.noun.machine for item in silent[:3]) + (" …" if len(silent) > 3 else "")
        prices = [price for item in silent if (price := facts.price_of(item.noun)) is not None]
        yield Finding(
            code="unwatched-accelerator",
            severity=Severity.MEDIUM,
            subject=silent[0].noun.machine,
            what=f"nothing is known about the use of {counted(len(silent), 'accelerated machine')}: {names}",
            why=f"that costs at least {format_usd(sum(prices))} an hour, and nobody can say whether it works",
            fix="have the CloudWatch agent, dcgm-exporter or neuron-monitor collect their metrics",
            evidence=tuple(item.id for item in silent),
            practices=(3,),
            missing={
                "command": "how metrics are collected depends on the machine",
                "usd_per_month": "they may be busy",
            },
        )


def old_driver(facts: Facts) -> Iterator[Finding]:
    """Find NVIDIA drivers of branches that get no more fixes, and drivers behind their branch."""
    branches = {branch.branch: branch for branch in facts.branches}
    for item in facts.devices:
        version = item.noun.driver_version
        branch = branches.get((version or "").partition(".")[0])
        if version is None or branch is None or item.noun.vendor != "NVIDIA":
            continue
        ended = branch.ends_on <= facts.today
        if not ended and version_key(version) >= version_key(branch.latest):
            continue
        current = max(
            (one for one in facts.branches if one.ends_on > facts.today), key=lambda one: one.ends_on, default=branch
        )
        yield Finding(
            code="old-driver",
            severity=Severity.MEDIUM if ended else Severity.LOW,
            subject=item.noun.device,
            what=f"{item.noun.device} runs the NVIDIA driver {version}; "
            + (
                f"its branch R{branch.branch} ended on {branch.ends_on}"
                if ended
                else f"R{branch.branch} is at {branch.latest}"
            ),
            why="an old driver lacks security fixes, and newer CUDA and framework builds refuse it",
            fix=f"install {current.latest} (R{current.branch}, looked after until {current.ends_on})"
            if ended
            else f"install {branch.latest}",
            evidence=(item.id,),
            practices=(9,),
            missing={
                "command": "it depends on how the driver was installed",
                "usd_per_month": "it is a matter of safety",
            },
        )


def version_key(version: str) -> tuple[int, ...]:
    """Return a driver version as numbers, so that 580.9 stands before 580.65.06."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def no_nvlink(facts: Facts) -> Iterator[Finding]:
    """Find training on several GPUs of types that have no NVLink between them."""
    for item in facts.accelerated():
        machine = item.noun
        if machine.tags.get("workload") != "training" or not machine.instance.startswith(_NO_NVLINK):
            continue
        if _device_count(facts, machine) > 1:
            yield Finding(
                code="training-without-nvlink",
                severity=Severity.MEDIUM,
                subject=machine.machine,
                what=f"{machine.machine} ({machine.instance}) trains on several GPUs that have no NVLink",
                why="gradients cross PCIe and the host, so each further GPU adds much less than one",
                fix="take one larger GPU, or a P type with NVLink (p4d, p5, p6); keep this one for many models at once",
                command="brimful catalog show 'p*' 'count>1' status=available",
                evidence=(item.id,),
                practices=(71,),
                missing={"usd_per_month": "it depends on how much of a step is communication"},
            )


def stale_catalog(facts: Facts) -> Iterator[Finding]:
    """Find a catalogue whose prices are older than a quarter."""
    age = (facts.today - facts.prices_on).days
    if age > STALE_CATALOG_DAYS:
        yield Finding(
            code="stale-catalogue",
            severity=Severity.LOW,
            what=f"the catalogue's newest prices are {age} days old ({facts.prices_on})",
            why="types come and go by the quarter, and advice is as good as the prices it rests on",
            fix="refresh it; that needs AWS credentials that may describe EC2 and read prices",
            command=f"brimful catalog refresh --region {facts.region}",
            evidence=(facts.catalog_id,),
            practices=(4,),
            missing={"usd_per_month": "no price is known to be wrong"},
        )


def nothing_shown(facts: Facts) -> Iterator[Finding]:
    """Say that an audit without an inventory sees this machine alone."""
    if not facts.has_inventory:
        yield Finding(
            code="no-inventory",
            severity=Severity.INFO,
            what="only this machine was looked at: no inventory was given",
            why="what a fleet wastes can be told only of the machines that brimful is shown",
            fix="list the machines in a file (docs/inventory.md) and name it",
            command="brimful audit --inventory machines.toml --history trace:usage.csv",
            evidence=(facts.catalog_id,),
            missing={"usd_per_month": "nothing is known about other machines"},
        )


FINDERS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    idle,
    too_large,
    withdrawn,
    unwatched,
    no_nvlink,
    old_driver,
    under_used,
    stale_catalog,
    nothing_shown,
)
