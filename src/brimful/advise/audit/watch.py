"""How well the use of machines is known. What a proof or a finding rests on must be seen whole: each device, for hours.

Of a machine that does not run, nothing needs to be seen; of one whose state, type or devices are unknown, nothing is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from brimful.advise.audit.facts import Cited, Facts
from brimful.model.evidence import Usage
from brimful.model.hardware import DeviceKind, Machine

MIN_KNOWN_S = 6 * 3600.0  # a shorter history says little about a machine that is paid by the month
DENSE_SHARE = 0.9  # with more of the time unknown, what was not seen may be what matters
OFF = ("stopped", "terminated")
_CPU = re.compile(r"cpu[-_:.]?\d*", re.IGNORECASE)


def usages_of(facts: Facts, machine: Machine) -> list[Cited[Usage]]:
    """Return what is known of the use of a machine's accelerators; a CPU in the same history is none."""
    return [item for item in facts.usages_of(machine) if not _CPU.fullmatch(item.noun.device.rpartition("/")[2])]


def known_s(usage: Usage) -> float:
    """Return for how long it is known what a device did."""
    return (usage.end_s - usage.start_s) * usage.known_share


def is_dense(usage: Usage) -> bool:
    """Say whether a history is long enough, and has few enough holes, to speak for the device."""
    return known_s(usage) >= MIN_KNOWN_S and usage.known_share >= DENSE_SHARE


def device_count(facts: Facts, machine: Machine) -> int:
    """Return how many accelerators a machine has."""
    return sum(part.count for part in facts.accelerators_of(machine) or ())


def is_covered(facts: Facts, machine: Machine) -> bool:
    """Say whether each accelerator of a machine (or each core of each) has a history of its own.

    A series that bears the machine's own name stands for one device, and for none beside series of the devices.
    """
    names = {item.noun.device for item in usages_of(facts, machine)}
    seen = len(names - {machine.machine}) or len(names)
    cores = sum(part.count * (part.cores or 1) for part in facts.accelerators_of(machine) or ())
    return seen in (device_count(facts, machine), cores)


def watched_whole(facts: Facts) -> list[Cited[Usage]] | None:
    """Return the use of every accelerator there is; None when there may be one whose use is not known for hours."""
    if not _here_is_none(facts):
        return None
    found: list[Cited[Usage]] = []
    for item in facts.machines:
        machine = item.noun
        if machine.state in OFF and machine.purchase in ("on-demand", "spot"):
            continue
        if facts.accelerators_of(machine) is None:
            return None
        if not device_count(facts, machine):
            continue
        usages = usages_of(facts, machine)
        if (
            machine.state != "running"
            or not is_covered(facts, machine)
            or not all(is_dense(one.noun) for one in usages)
        ):
            return None
        found += usages
    return found or None


def _here_is_none(facts: Facts) -> bool:
    """Say whether this machine was seen, and has no accelerator: what those of it do is in no history."""
    kinds = {item.noun.device_kind for item in facts.devices}
    return kinds == {DeviceKind.CPU} and not facts.unseen


def stray_devices(facts: Facts) -> list[str]:
    """Return the devices of the history that no machine of the inventory claims."""
    claimed = {item.id for machine in facts.machines for item in facts.usages_of(machine.noun)}
    return [item.noun.device for item in facts.usages if item.id not in claimed] if facts.machines else []


def watched(facts: Facts) -> Sequence[Cited[Usage]]:
    """Return the dense histories of accelerators: of accelerated machines or, without machines, of all devices."""
    if not facts.machines:
        return [item for item in facts.usages if is_dense(item.noun)]
    running = [item.noun for item in facts.accelerated() if item.noun.state not in OFF]
    return [item for machine in running for item in usages_of(facts, machine) if is_dense(item.noun)]
