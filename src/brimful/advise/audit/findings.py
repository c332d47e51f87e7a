"""What the facts say is wrong, for how much money. One function a matter; FINDERS is the list of them.

To add one: write the function, add it to FINDERS. A practice that a finding names is not met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from brimful.advise.audit import release, watch
from brimful.advise.audit.facts import Cited, Facts
from brimful.advise.audit.smaller import smaller_offer
from brimful.model.advice import Finding, Severity
from brimful.model.hardware import Device, Machine, Offer, Status
from brimful.model.text import command_line, counted
from brimful.model.units import HOURS_PER_MONTH, format_seconds, format_share, format_usd

STALE_CATALOG_DAYS = 92  # prices and types change by the quarter
RELEASABLE_SHARE = 0.05  # below this a release gains less than its cold starts cost
UNDER_USED_P95_PERCENT = 70.0  # SageMaker Debugger's LowGPUUtilization
_NO_NVLINK = ("g3", "g4", "g5", "g6", "gr6", "g7")


def idle(facts: Facts) -> Iterator[Finding]:
    """Find machines whose accelerators could have been let go for a good part of the time."""
    for item in facts.accelerated():
        machine, usages = item.noun, watch.usages_of(facts, item.noun)
        known = min((watch.known_s(cited.noun) for cited in usages), default=0.0)
        if machine.state != "running" or known < watch.MIN_KNOWN_S or not watch.is_covered(facts, machine):
            continue
        share = min(cited.noun.releasable_share for cited in usages)  # all must be free at once: at most this
        if share < RELEASABLE_SHARE:
            continue
        now, timeout = min(cited.noun.idle_at_end_s for cited in usages), usages[0].noun.timeout_s
        command, no_command = release.command(facts, machine, idle_now=now > timeout)
        worth, no_worth = _worth(facts, machine, share)
        yield Finding(
            code="idle-accelerator",
            severity=Severity.HIGH,
            subject=machine.machine,
            what=f"{machine.machine} ({machine.instance}) did nothing in {share * 100:.0f} % of {format_seconds(known)}"
            + (f", and in its last {format_seconds(now)}" if now > timeout else ""),
            why=f"let go after {format_seconds(timeout)} without work, it would have cost that much less"
            + ("; at most, as its devices may be idle at different times" if len(usages) > 1 else "")
            + (f"; its region is not said, {facts.region} is assumed" if machine.region is None else ""),
            fix=release.how(facts, machine),
            command=command,
            evidence=(item.id, *(cited.id for cited in usages)),
            practices=(10, 12),
            usd_per_month=worth,
            missing=({} if command else {"command": no_command}) | ({} if worth is not None else no_worth),
        )


def _worth(facts: Facts, machine: Machine, share: float) -> tuple[float | None, dict[str, str]]:
    """Return what a share of a machine's time is worth a month, or why that is not known."""
    price = facts.price_of(machine)
    if release.is_billed_anyway(machine):
        return None, {"usd_per_month": f"{machine.purchase} is billed whether the machine runs or not"}
    if price is None:
        return None, {"usd_per_month": facts.price_gap(machine)}
    return round(price * HOURS_PER_MONTH * share, 2), {}


def withdrawn(facts: Facts) -> Iterator[Finding]:
    """Find machines of types that can no longer be had: once stopped, they may never start again."""
    for item in facts.machines:
        cited = facts.cited_offer(item.noun)
        if cited is None or cited.noun.status is not Status.WITHDRAWN:
            continue
        offer = cited.noun
        yield Finding(
            code="withdrawn-type",
            severity=Severity.MEDIUM,
            subject=item.noun.machine,
            what=f"{item.noun.machine} is a {offer.instance}, which {offer.withdrawal_told}",
            why="a machine of a withdrawn type may not start again once it is stopped, and no new one can be had",
            fix=f"move it to {' or '.join(offer.successors) or 'a type that is available'}",
            command=release.compare(offer),
            evidence=(item.id, cited.id),
            practices=(5,),
            missing={"usd_per_month": "what the move saves depends on the successor's speed for the workload"},
        )


def too_large(facts: Facts) -> Iterator[Finding]:
    """Find machines whose one GPU does so little, in so little memory, that a share of a GPU would do."""
    for item in facts.accelerated():
        machine, usages = item.noun, watch.usages_of(facts, item.noun)
        price, offer = facts.price_of(machine), facts.cited_offer(machine)
        if machine.state != "running" or price is None or offer is None or len(usages) != 1:
            continue
        usage = usages[0].noun
        region = facts.region_of(machine)
        better = smaller_offer(facts, offer.noun, usage, price, region) if watch.is_dense(usage) else None
        if better is None or better.usd_per_hour is None:
            continue
        saved = (price - better.usd_per_hour) * HOURS_PER_MONTH
        yield Finding(
            code="gpu-too-large",
            severity=Severity.MEDIUM,
            subject=machine.machine,
            what=f"{machine.machine} ({machine.instance}) never needs over {usage.max_percent:.0f} % of its GPU",
            why=f"{_share(better)} does that for {format_usd(better.usd_per_hour)} an hour, not {format_usd(price)}",
            fix=f"measure it on {better.instance}; if it keeps its latency there, move it",
            command=release.compare(offer.noun, better.instance),
            evidence=(item.id, offer.id, usages[0].id),
            practices=(12, 63),
            usd_per_month=round(saved, 2),
        )


def _share(offer: Offer) -> str:
    part = (offer.accelerators or ())[0]
    return f"{format_share(part.share)} of an {part.model}" if part.share < 1 else f"a {part.model}"


def under_used(facts: Facts) -> Iterator[Finding]:
    """Find devices that are busy for less than the profiler's bound, nearly always."""
    watched = watch.watched(facts)
    low = [cited for cited in watched if cited.noun.p95_percent < UNDER_USED_P95_PERCENT]
    if low:
        bound = f"{UNDER_USED_P95_PERCENT:.0f} %"
        stay = "stays" if len(low) == 1 else "stay"
        yield Finding(
            code="under-used",
            severity=Severity.LOW,
            subject=low[0].noun.device,
            what=f"{len(low)} of {counted(len(watched), 'watched device')} {stay} under {bound} for 95 % of the time",
            why=f"{_first(cited.noun.device for cited in low)}: a larger batch, a faster data path or a smaller device "
            "would use what is paid for",
            fix="raise the batch size, look for a CPU or input bottleneck, or take a smaller device",
            evidence=tuple(cited.id for cited in low),
            practices=(48,),
            missing={"command": "which of the three it is needs a profile of the job"},
        )


def _first(names: Iterable[str]) -> str:
    """Name the first three of many."""
    listed = list(names)
    return ", ".join(listed[:3]) + (" …" if len(listed) > 3 else "")


def unwatched(facts: Facts) -> Iterator[Finding]:
    """Find accelerated machines of whose accelerators, or some of them, no history exists."""
    running = [item for item in facts.accelerated() if item.noun.state == "running"]
    silent = [item for item in running if not watch.is_covered(facts, item.noun)]
    if not silent:
        return
    names = _first(item.noun.machine for item in silent)
    told: dict[str, Any] = {
        "severity": Severity.MEDIUM,
        "subject": silent[0].noun.machine,
        "why": f"{_cost(facts, silent)}, and nobody can say whether {'it works' if len(silent) == 1 else 'they work'}",
        "evidence": tuple(item.id for item in silent),
    }
    if not facts.has_history:  # they may send metrics: that nobody showed them to us is not against practice 3
        yield Finding(
            code="no-history",
            what=f"no history was given: what {counted(len(silent), 'accelerated machine')} did is unknown: {names}",
            fix="write what their devices did into a file (docs/inventory.md), and name it with --history",
            command="brimful audit --inventory machines.toml --history trace:usage.csv",
            missing={"usd_per_month": "they may be busy"},
            **told,
        )
        return
    yield Finding(
        code="unwatched-accelerator",
        what=f"the history lacks accelerators of {counted(len(silent), 'machine')}: {names}",
        fix="have the CloudWatch agent, dcgm-exporter or neuron-monitor collect their metrics",
        practices=() if all(watch.usages_of(facts, item.noun) for item in silent) else (3,),
        missing={"command": "how metrics are collected depends on the machine", "usd_per_month": "they may be busy"},
        **told,
    )


def _cost(facts: Facts, machines: list[Cited[Machine]]) -> str:
    """Say what machines cost an hour, as far as their prices are known; what is not known is not 0."""
    prices = [price for item in machines if (price := facts.price_of(item.noun)) is not None]
    unknown = len(machines) - len(prices)
    if not prices:
        return "its price is not known" if unknown == 1 else "their prices are not known"
    least = f"at least {format_usd(sum(prices))} an hour (the price of {unknown} is not known)"
    return f"{'it costs' if len(machines) == 1 else 'they cost'} " + (
        least if unknown else f"{format_usd(sum(prices))} an hour"
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
            what=f"{_named(item.noun)} runs the NVIDIA driver {version}; "
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


def _named(device: Device) -> str:
    """Name a device, and say of one that was not measured that it was not."""
    return device.device if device.source == "measured" else f"{device.device} ({device.source})"


def version_key(version: str) -> tuple[int, ...]:
    """Return a driver version as numbers, so that 580.9 stands before 580.65.06."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def no_nvlink(facts: Facts) -> Iterator[Finding]:
    """Find training on several GPUs of types that have no NVLink between them."""
    for item in facts.accelerated():
        machine = item.noun
        if machine.workload != "training" or not machine.instance.startswith(_NO_NVLINK):
            continue
        if watch.device_count(facts, machine) > 1:
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
    """Find a catalogue of which the prices that count here are older than a quarter."""
    used = {offer.price_date: offer.region for cited in facts.offers.values() if (offer := cited.noun).price_date}
    oldest = min(day for day in (*used, facts.prices_on) if day)
    age = (facts.today - oldest).days
    if age > STALE_CATALOG_DAYS:
        yield Finding(
            code="stale-catalogue",
            severity=Severity.LOW,
            what=f"the catalogue's prices are {age} days old ({oldest})",
            why="types come and go by the quarter, and advice is as good as the prices it rests on",
            fix="refresh it; that needs AWS credentials that may describe EC2 and read prices",
            command=command_line("brimful", "catalog", "refresh", "--region", used.get(oldest, facts.region)),
            evidence=(facts.catalog_id,),
            practices=(4,),
            missing={"usd_per_month": "no price is known to be wrong"},
        )


def nothing_shown(facts: Facts) -> Iterator[Finding]:
    """Say that an audit without an inventory, or with an empty one, sees this machine alone."""
    if not facts.machines:
        reason = "the inventory lists no machine" if facts.has_inventory else "no inventory was given"
        yield Finding(
            code="no-inventory",
            severity=Severity.INFO,
            what=f"only this machine was looked at: {reason}",
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
