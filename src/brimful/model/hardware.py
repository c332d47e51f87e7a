"""What computes, and what it can be rented as: Device, Accelerator, Chip, Fitted, Offer, EndedService, Machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import date
from enum import StrEnum

from brimful.model.noun import Noun, noun, unknown


class Precision(StrEnum):
    """The number formats that hardware has rates for."""

    FP64 = "fp64"
    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"
    FP4 = "fp4"
    INT8 = "int8"
    INT4 = "int4"


class DeviceKind(StrEnum):
    """The families of devices."""

    CPU = "cpu"
    GPU = "gpu"
    NEURON = "neuron"
    GAUDI = "gaudi"
    FPGA = "fpga"
    MEDIA = "media"
    NPU = "npu"


class Status(StrEnum):
    """Whether an instance type can be had; a price or an enum entry is no proof that it can."""

    AVAILABLE = "available"
    WITHDRAWN = "withdrawn"
    UNKNOWN = "unknown"


class WithdrawalEvidence(StrEnum):
    """How we know that a type is withdrawn."""

    ANNOUNCED = "announced"
    ABSENT = "absent from the lists since"


@noun
class Device(Noun):
    """One thing that computes, on one host: a CPU, a GPU or a share of one, a NeuronCore group."""

    device: str
    device_kind: DeviceKind | None = unknown()
    vendor: str | None = unknown()
    model: str | None = unknown()
    host: str | None = unknown()
    index: int | None = unknown("it has no number on its host")
    uuid: str | None = unknown()
    share: float = 1.0
    cores: int | None = unknown()
    memory_bytes: int | None = unknown()
    usable_memory_bytes: int | None = unknown()
    clock_mhz: float | None = unknown()
    power_cap_watts: float | None = unknown()
    driver_version: str | None = unknown()
    isa: tuple[str, ...] = ()
    source: str = "measured"  # "simulated" and "recorded" devices say so wherever they appear

    def _agree(self) -> None:
        """Refuse an impossible share of a device."""
        if not 0 < self.share <= 1:
            raise ValueError(f"share is {self.share}: a device is there by a share above 0 and at most 1")
        _check_usable(self.usable_memory_bytes, self.memory_bytes)


def _check_usable(usable: int | None, total: int | None) -> None:
    if usable is not None and total is not None and usable > total:
        raise ValueError(f"usable_memory_bytes is {usable}: more than memory_bytes, which is {total}")


@noun
class Accelerator(Noun):
    """A model of accelerator: its datasheet. Rates are peaks, dense, in FLOP (or OP) per second."""

    model: str
    vendor: str
    kind: DeviceKind
    architecture: str
    aliases: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    peak_flops: Mapping[str, float] = field(default_factory=dict)
    memory_bytes: int | None = unknown()
    usable_memory_bytes: int | None = unknown()
    bandwidth_bytes_per_s: float | None = unknown()
    cache_bytes: int | None = unknown()
    power_cap_watts: float | None = unknown()
    cores: int | None = unknown()
    interconnect: str | None = unknown()
    decoders: str | None = unknown()
    encoders: str | None = unknown()
    attainable_share: float | None = unknown()
    confidence: str = "high"
    unverified: tuple[str, ...] = ()
    source: str
    licence: str

    def _agree(self) -> None:
        """Refuse rates of precisions that do not exist."""
        for name in self.peak_flops:
            Precision(name)
        _check_usable(self.usable_memory_bytes, self.memory_bytes)


@noun
class Chip(Noun):
    """A model of device that computes, GPU and CPU alike, by the facts that its speed follows from.

    `compute_units` are what its maker counts: streaming multiprocessors, compute units, Xe cores, physical cores,
    NeuronCores. Rates are dense peaks in FLOP (or OP) per second. `fp16` is with sums in fp32, as frameworks compute;
    `fast_fp16_flops` is with sums in fp16, where a device does that at another rate. A CPU's rates are of one socket,
    those of all its cores at `sustained_mhz`, or at `boost_mhz` where that is unknown. A precision that is absent has
    no unit of its own: it is computed in the next wider one.
    """

    model: str
    vendor: str
    kind: DeviceKind
    architecture: str
    year: int | None = unknown()
    aliases: tuple[str, ...] = ()
    families: tuple[str, ...] = ()  # EC2's families of instances that may have it
    compute_units: int | None = unknown()
    threads: int | None = unknown("it has no threads that programs see")
    base_mhz: float | None = unknown()
    sustained_mhz: float | None = unknown("no figure for all cores at once is known")
    boost_mhz: float | None = unknown()
    peak_flops: Mapping[str, float] = field(default_factory=dict)
    fast_fp16_flops: float | None = unknown("sums in fp16 are no faster than those in fp32")
    memory_bytes: int | None = unknown()
    memory_type: str | None = unknown("its memory is known by its rate alone")
    memory_bus_bits: int | None = unknown("its memory is known by its rate alone")
    bandwidth_bytes_per_s: float | None = unknown()
    cache_bytes: int | None = unknown()
    power_cap_watts: float | None = unknown()
    pcie_bytes_per_s: float | None = unknown()
    link_bytes_per_s: float | None = unknown("it has no links to others of its kind but the bus")
    isa: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    source: str
    licence: str

    def _agree(self) -> None:
        """Refuse rates of precisions that do not exist, and clocks out of order."""
        for name in self.peak_flops:
            Precision(name)
        clocks = [value for value in (self.base_mhz, self.sustained_mhz, self.boost_mhz) if value is not None]
        if clocks != sorted(clocks):
            raise ValueError(f"{self.model}: base, sustained and boost clock are {clocks}: they must not fall")


@noun
class CpuFamily(Noun):
    """The CPU behind a family of instances. Per-core peaks are estimates, and marked so in `unverified`."""

    family: str
    model: str
    architecture: str
    vendor: str
    vcpus_max: int
    threads_per_core: int
    clock_mhz: float | None = unknown()
    isa: tuple[str, ...] = ()
    memory_channels: str
    bandwidth_bytes_per_s: float | None = unknown()
    peak_core_flops: Mapping[str, float] = field(default_factory=dict)
    unverified: tuple[str, ...] = ()
    note: str = ""
    source: str
    licence: str

    def _agree(self) -> None:
        """Refuse rates of precisions that do not exist."""
        for name in self.peak_core_flops:
            Precision(name)


@noun
class Fitted(Noun):
    """The accelerators of one model in an instance type.

    `count` is how many devices the machine shows, `share` how much of a whole one each of them is (an eighth of an L4:
    count 1, share 0.125). `memory_bytes` is the nominal memory of each (that is, of the share), `usable_memory_bytes`
    what a program can allocate of it at most.
    """

    model: str
    vendor: str
    kind: DeviceKind
    count: int
    share: float
    memory_bytes: int | None = unknown()
    usable_memory_bytes: int | None = unknown()
    cores: int | None = unknown()

    def _agree(self) -> None:
        """Refuse a count or a share of nothing."""
        if self.count < 1 or not 0 < self.share <= 1:
            raise ValueError(f"{self.count} x {self.share} of {self.model}: count starts at 1, share lies above 0")
        _check_usable(self.usable_memory_bytes, self.memory_bytes)


@noun
class Offer(Noun):
    """An instance type at a price in a region on a date."""

    instance: str
    family: str
    vcpus: int | None = unknown()
    cores: int | None = unknown()
    memory_bytes: int | None = unknown()
    arch: str | None = unknown()
    cpu_vendor: str | None = unknown()
    clock_mhz: float | None = unknown()
    accelerators: tuple[Fitted, ...] | None = unknown()
    network_bytes_per_s: float | None = unknown()
    network_peak_bytes_per_s: float | None = unknown()
    efa: bool | None = unknown()
    ebs_bytes_per_s: float | None = unknown()
    ebs_peak_bytes_per_s: float | None = unknown()
    ebs_iops: int | None = unknown()
    nvme_bytes: int | None = unknown()
    nvme_disks: int | None = unknown()
    usd_per_hour: float | None = unknown()
    spot_usd_per_hour: float | None = unknown("no spot price was fetched: brimful catalog refresh")
    spot_date: date | None = unknown("no spot price was fetched: brimful catalog refresh")
    region: str
    price_date: date | None = unknown()
    specification_date: date | None = unknown()
    status: Status
    withdrawn_on: date | None = unknown("it is not withdrawn")
    withdrawal: WithdrawalEvidence | None = unknown("it is not withdrawn")
    successors: tuple[str, ...] = ()
    note: str = ""
    source: str
    licence: str

    def _agree(self) -> None:
        """Refuse a withdrawal of what is not withdrawn, and one without its evidence."""
        withdrawn = self.status is Status.WITHDRAWN
        if withdrawn != (self.withdrawal is not None) or (self.withdrawn_on is not None and not withdrawn):
            raise ValueError(f"{self.instance} is {self.status}: a withdrawn type, and no other, says how we know")
        if self.usd_per_hour == 0:
            raise ValueError(f"{self.instance} costs 0: an unknown price is None with a reason")

    @property
    def withdrawal_told(self) -> str:
        """Say since when a withdrawn type is withdrawn, and how that is known."""
        day = self.withdrawn_on or "a date unknown"
        if self.withdrawal is WithdrawalEvidence.ANNOUNCED:
            return f"was withdrawn on {day} (announced by AWS)"
        return f"is withdrawn (absent from EC2's lists since {day})"


@noun
class EndedService(Noun):
    """An accelerator that was rented as a service, not as an instance type, and can no longer be had."""

    service: str
    names: tuple[str, ...]  # what its sizes were called, as patterns: "eia2.*"
    closed_to_new_on: date | None = unknown("the source gives none")
    ended_on: date | None = unknown("the source gives none")
    successors: tuple[str, ...] = ()
    note: str = ""
    source: str
    licence: str


UNTOLD_CLOUD = "inventory"  # how the cloud of a machine begins when its inventory does not name one


@noun
class Machine(Noun):
    """One rented machine, as its cloud (or an inventory file) describes it."""

    machine: str
    cloud: str
    instance: str
    region: str | None = unknown()
    state: str = "running"
    owner: str | None = unknown()
    tags: Mapping[str, str] = field(default_factory=dict)
    usd_per_hour: float | None = unknown("the catalogue's price counts")
    launched_at: str | None = unknown()
    purchase: str = "on-demand"
    actions: Mapping[str, str] = field(
        default_factory=dict
    )  # what may be done -> what undoes it ("" when nothing does)

    @property
    def workload(self) -> str | None:
        """What the machine does, as its tag `workload` says."""
        return next((value.lower() for tag, value in self.tags.items() if tag.lower() == "workload" and value), None)
