"""What an audit is about: which of the practices' concerns are in its scope, are not, or cannot be told.

A concern is out of scope only as far as brimful was shown: this machine's devices and the machines of the inventory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from brimful.advise.audit.facts import Facts
from brimful.advise.audit.release import is_kubernetes
from brimful.model.hardware import UNTOLD_CLOUD, Device, DeviceKind, Fitted, Machine
from brimful.model.text import counted

_NO_AUTOBOOST_FAMILIES = ("g2", "g3", "g3s", "p2")  # where boosting is to be switched off, says EC2's user guide
_WORKLOADS = ("training", "inference", "transcode", "render")  # the values of the tag that practices speak of


@dataclass(frozen=True, slots=True)
class Concern:
    """Whether something is in scope (None: cannot be told), why, and on what evidence."""

    applies: bool | None
    because: str
    evidence: tuple[str, ...]


def concern(name: str, facts: Facts) -> Concern:
    """Tell whether a concern of the practices' table is in scope."""
    return _CONCERNS[name](facts)


def _hardware(
    what: str, device: Callable[[Device], bool | None], fitted: Callable[[Fitted, str], bool]
) -> Callable[[Facts], Concern]:
    """Make a concern that depends on which devices there are; `device` returns None of one that it cannot tell."""

    def tell(facts: Facts) -> Concern:
        unclear = {f"the bus of {item.noun.device}": item.id for item in facts.unseen}
        if not facts.devices:  # not seen is not absent
            unclear["this machine"] = facts.catalog_id
        for seen in facts.devices:
            told = device(seen.noun)
            if told:
                return Concern(applies=True, because=f"{seen.noun.model or what} is here", evidence=(seen.id,))
            if told is None:
                unclear[seen.noun.device] = seen.id
        for item in facts.machines:
            parts = facts.accelerators_of(item.noun)
            if parts is None:
                unclear[item.noun.instance] = item.id
            elif any(fitted(part, item.noun.instance.partition(".")[0]) for part in parts):
                return Concern(applies=True, because=f"{item.noun.machine} has it", evidence=(item.id,))
        if unclear:
            because = f"what {', '.join(sorted(unclear))} carries is not known"
            return Concern(applies=None, because=because, evidence=tuple(unclear.values()))
        return Concern(applies=False, because=_none_has(facts, what), evidence=_all(facts))

    return tell


def _none_has(facts: Facts, what: str) -> str:
    if facts.machines:
        article = "an" if what.startswith(("a", "NV")) else "a"
        return (
            f"neither this machine nor the inventory ({counted(len(facts.machines), 'machine')}) has {article} {what}"
        )
    return f"this machine has no {what}, and {_no_machines(facts)}"


def _no_machines(facts: Facts) -> str:
    return "the inventory lists no machine" if facts.has_inventory else "no inventory was given"


def _all(facts: Facts) -> tuple[str, ...]:
    ids = tuple(item.id for item in (*facts.devices, *facts.machines))
    return ids or (facts.catalog_id,)


def _machines(what: str, test: Callable[[Machine], bool | None]) -> Callable[[Facts], Concern]:
    """Make a concern that depends on how machines are rented or tagged; without machines it cannot be told."""

    def tell(facts: Facts) -> Concern:
        told = {item.id: test(item.noun) for item in facts.machines}
        for item in facts.machines:
            if told[item.id]:
                return Concern(applies=True, because=f"{item.noun.machine} is {what}", evidence=(item.id,))
        if not told:
            return Concern(applies=None, because=_no_machines(facts), evidence=())
        if None in told.values():
            return Concern(applies=None, because="the inventory does not say which cloud it is about", evidence=())
        return Concern(applies=False, because=f"no machine of the inventory is {what}", evidence=tuple(told))

    return tell


def _on(*clouds: str) -> Callable[[Machine], bool | None]:
    """Make a test for the clouds; of a machine whose inventory names none it cannot be told."""
    return lambda machine: None if machine.cloud.startswith(UNTOLD_CLOUD) else machine.cloud in clouds


def _work(*kinds: str) -> Callable[[Facts], Concern]:
    """Make a concern that depends on `workload` tags; what may be an accelerator, and has none, leaves it open."""

    def tell(facts: Facts) -> Concern:
        known = [item for item in facts.machines if item.noun.workload in kinds]
        if known:
            name = known[0].noun
            return Concern(applies=True, because=f"{name.machine} does {name.workload}", evidence=(known[0].id,))
        if not facts.machines:
            return Concern(applies=None, because=_no_machines(facts), evidence=())
        here = _ACCELERATOR(replace(facts, machines=()))
        if here.applies is not False:
            return Concern(applies=None, because="what the accelerators of this machine do is not known", evidence=())
        for item in facts.machines:
            if facts.accelerators_of(item.noun) != () and item.noun.workload not in _WORKLOADS:
                because = f"what {item.noun.machine} does is not known: no tag workload={kinds[0]} or another"
                return Concern(applies=None, because=because, evidence=())
        because = f"every accelerated machine is tagged with another workload than {kinds[0]}"
        if not facts.accelerated():
            because = _none_has(facts, "accelerator")
        return Concern(applies=False, because=because, evidence=_all(facts))

    return tell


def _is(value: object, *wanted: object) -> bool | None:
    """Say whether a value is one of some; None when it is not known."""
    return None if value is None else value in wanted


def _is_accelerator(device: Device) -> bool | None:
    return None if device.device_kind is None else device.device_kind is not DeviceKind.CPU


def _is_nvidia(device: Device) -> bool | None:
    return False if device.device_kind is DeviceKind.CPU else _is(device.vendor, "NVIDIA")


def _both(first: Callable[[Facts], Concern], second: Callable[[Facts], Concern]) -> Callable[[Facts], Concern]:
    """Make a concern that is in scope when two others are."""

    def tell(facts: Facts) -> Concern:
        one, other = first(facts), second(facts)
        return next((found for found in (one, other) if found.applies is False), one if one.applies is None else other)

    return tell


def _many_devices(facts: Facts) -> Concern:
    for item in facts.machines:
        if sum(part.count for part in facts.accelerators_of(item.noun) or ()) > 1:
            return Concern(applies=True, because=f"{item.noun.machine} has several", evidence=(item.id,))
    here = facts.accelerator_devices()
    if len(here) > 1:
        return Concern(applies=True, because="this machine has several", evidence=tuple(item.id for item in here))
    accelerated = _ACCELERATOR(facts)
    if accelerated.applies is None:
        return accelerated
    unclear = [item.noun.device for item in facts.unseen]
    unclear += [item.noun.device for item in facts.devices if item.noun.device_kind is None]
    unclear += [item.noun.instance for item in facts.machines if facts.accelerators_of(item.noun) is None]
    if unclear or not facts.devices:
        because = f"what {', '.join(sorted(set(unclear))) or 'this machine'} carries is not known"
        return Concern(applies=None, because=because, evidence=())
    return Concern(applies=False, because=_none_has(facts, "second accelerator"), evidence=_all(facts))


def _any(facts: Facts) -> Concern:
    return Concern(applies=True, because="it concerns everybody", evidence=(facts.catalog_id,))


def _is_neuron(name: str) -> bool:
    return name.lower().startswith(("inferentia", "trainium"))


_ACCELERATOR = _hardware("accelerator", _is_accelerator, lambda part, family: bool(part and family))
_NVIDIA = _hardware("NVIDIA GPU", _is_nvidia, lambda part, _: part.vendor == "NVIDIA")
_NEURON = _hardware(
    "Neuron device", lambda seen: _is(seen.device_kind, DeviceKind.NEURON), lambda part, _: _is_neuron(part.model)
)
_TRAINING = _work("training")
_SAGEMAKER = _machines("on SageMaker", _on("sagemaker"))

_CONCERNS: dict[str, Callable[[Facts], Concern]] = {
    "any": _any,
    "accelerator": _ACCELERATOR,
    "nvidia": _NVIDIA,
    "nvidia-g2-g3-p2": _hardware(
        "GPU of G2, G3 or P2",
        lambda seen: _is(seen.model, "K520", "M60", "K80"),
        lambda part, family: part.vendor == "NVIDIA" and family in _NO_AUTOBOOST_FAMILIES,
    ),
    "neuron": _NEURON,
    "inf1": _hardware(
        "first-generation Inferentia",
        lambda seen: _is(seen.model, "Inferentia"),
        lambda part, _: part.model == "Inferentia",
    ),
    "neuron-training": _both(_NEURON, _TRAINING),
    "multi-gpu": _many_devices,
    "training": _TRAINING,
    "dataset": _TRAINING,
    "inference": _work("inference"),
    "transcode": _work("transcode", "render"),
    "spot": _machines("bought as spot", lambda machine: machine.purchase == "spot"),
    "ec2": _machines("on EC2", _on("ec2")),
    "cloudwatch": _machines("on EC2 or SageMaker", _on("ec2", "sagemaker")),
    "sagemaker": _SAGEMAKER,
    "sagemaker-training": _both(_SAGEMAKER, _TRAINING),
    "kubernetes": _machines("tagged by Kubernetes", is_kubernetes),
}


def scope(names: Iterable[str], facts: Facts) -> Concern:
    """Join concerns: in scope when any is, out of scope when all are."""
    told = [concern(name, facts) for name in names]
    return next(_by_rank(told))


def _by_rank(told: list[Concern]) -> Iterator[Concern]:
    for applies in (True, None, False):
        yield from (found for found in told if found.applies is applies)
