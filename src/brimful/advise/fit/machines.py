"""What computes in an instance type, and why a type is left out: the first step from offers to answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from brimful.model.hardware import Chip, DeviceKind, Fitted, Offer, Status

ChipsOf = Callable[[Offer], Iterable[Chip]]

# The share of each vCPU that the price of a burstable type buys; above it credits run out (EC2 user guide, "Key
# concepts for burstable performance instances"; t3a and t4g are as t3).
_BASELINES = {
    "nano": 0.05, "micro": 0.10, "small": 0.20, "medium": 0.20, "large": 0.30, "xlarge": 0.40, "2xlarge": 0.40,
}  # fmt: skip
_BASELINES_T2 = {**_BASELINES, "xlarge": 0.225, "2xlarge": 0.17}
_BURSTABLE = frozenset({"t1", "t2", "t3", "t3a", "t4g"})
_T1_BASELINE = 0.10

_NOT_FOR_MODELS = {
    DeviceKind.FPGA: "its FPGAs do what an image makes them do: brimful fit --task fpga:NAME tells of them",
    DeviceKind.MEDIA: "its media engines encode video and run no models: brimful fit --transcode tells of them",
}
_NO_STACK = {
    "Radeon Pro V520": "its Radeon Pro V520 has no maintained machine-learning stack (ROCm does not list it)",
    "Cloud AI 100": "its Cloud AI 100 needs Qualcomm's own compiler, which brimful has no figures for",
}


@dataclass(frozen=True, slots=True)
class Inside:
    """What computes in a machine: so many of a chip, each there by a share; of a CPU so many cores of each socket."""

    chip: Chip
    count: int
    share: float = 1.0
    cores: float | None = None
    usable_bytes: int | None = None  # of each device; of a CPU the machine's memory
    doubt: str = ""

    @property
    def is_cpu(self) -> bool:
        """Say whether it is the machine's own CPU."""
        return self.chip.kind is DeviceKind.CPU


def inside(offer: Offer, chips_of: ChipsOf) -> Inside | str:
    """Return what computes in a type, or why that is not known: its accelerators or, without any, its CPU."""
    chips = tuple(chips_of(offer))
    if offer.accelerators is None:
        return "what is fitted in it is not known"
    if offer.accelerators:
        return _accelerated(offer.accelerators[0], chips)
    return _cpu(offer, [chip for chip in chips if chip.kind is DeviceKind.CPU])


def _accelerated(fitted: Fitted, chips: Iterable[Chip]) -> Inside | str:
    if fitted.kind in _NOT_FOR_MODELS:
        return _NOT_FOR_MODELS[fitted.kind]
    found = [chip for chip in chips if chip.kind is not DeviceKind.CPU]
    if not found:
        return f"brimful has no facts about its {fitted.model}"
    usable = fitted.usable_memory_bytes or fitted.memory_bytes
    return Inside(found[0], fitted.count, fitted.share, usable_bytes=usable)


def _cpu(offer: Offer, chips: list[Chip]) -> Inside | str:
    if not chips:
        return "brimful has no facts about its CPU"
    if offer.cores is None:
        return "how many cores it has is not known"
    chip = chips[0]
    doubt = ""
    if len(chips) > 1:
        doubt = f"EC2 gives a {' or a '.join(item.model for item in chips)}: the first is taken"
    cores = offer.cores
    if (chip.threads or 0) > (chip.compute_units or 0) and cores == offer.vcpus:
        cores = max(1, cores // 2)  # EC2 counts threads as cores for some old types (t2)
    sockets = max(1, -(-cores // chip.compute_units)) if chip.compute_units else 1
    return Inside(chip, sockets, cores=cores / sockets, usable_bytes=offer.memory_bytes, doubt=doubt)


def left_out(offer: Offer) -> str | None:
    """Say why a type can be no answer, whatever is asked, or None."""
    if offer.status is Status.WITHDRAWN:
        successors = f"; instead: {', '.join(offer.successors)}" if offer.successors else ""
        return f"it {offer.withdrawal_told}{successors}"
    if offer.usd_per_hour is None:
        return f"its price is unknown: {offer.missing.get('usd_per_hour', 'the catalogue has none')}"
    if offer.status is not Status.AVAILABLE:
        return f"whether it can be had is not known: {offer.note}".removesuffix(": ")
    for fitted in offer.accelerators or ():
        if fitted.model in _NO_STACK:
            return _NO_STACK[fitted.model]
    return None


def lasting_share(offer: Offer) -> float:
    """Return the share of its CPU that a type's price buys for good: 1, and less for burstable types."""
    if offer.family not in _BURSTABLE:
        return 1.0
    if offer.family == "t1":
        return _T1_BASELINE
    table = _BASELINES_T2 if offer.family == "t2" else _BASELINES
    return table.get(offer.instance.partition(".")[2], 0.1)
