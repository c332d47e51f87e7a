"""EC2's description of an instance type, made an Offer: one pure function and the tables that it needs.

`offer_from_describe` takes one item of DescribeInstanceTypes. It knows neither prices nor whether the type can be had:
the offer it makes has no price and the status unknown, until `ec2_offers` lays the other answers over it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any

import msgspec

from brimful.catalog.ec2_devices import TRAINIUM2, fitted
from brimful.model.hardware import DeviceKind, Fitted, Offer, Status
from brimful.model.noun import with_gaps
from brimful.model.units import MIB

SOURCE = "AWS EC2 API: DescribeInstanceTypes and DescribeInstanceTypeOfferings"
LICENCE = "LicenseRef-facts"
_NOT_LISTED = "EC2 lists none for this type"
_SHARED_EBS = "EC2 lists none: the type shares its network with EBS"
_REASONS = {
    "ebs_bytes_per_s": _SHARED_EBS,
    "ebs_peak_bytes_per_s": _SHARED_EBS,
    "ebs_iops": _SHARED_EBS,
    "clock_mhz": "EC2 lists no clock for this type",
}


class _Memory(msgspec.Struct, frozen=True):
    size_mib: int | None = msgspec.field(default=None, name="SizeInMiB")


class _Cores(msgspec.Struct, frozen=True):
    count: int | None = msgspec.field(default=None, name="Count")


class _Part(msgspec.Struct, frozen=True):
    """One entry of GpuInfo, NeuronInfo, InferenceAcceleratorInfo, FpgaInfo or MediaAcceleratorInfo."""

    name: str = msgspec.field(name="Name")
    maker: str | None = msgspec.field(default=None, name="Manufacturer")
    count: int | None = msgspec.field(default=None, name="Count")
    logical_count: int | None = msgspec.field(default=None, name="LogicalGpuCount")
    share: float | None = msgspec.field(default=None, name="GpuPartitionSize")
    memory: _Memory | None = msgspec.field(default=None, name="MemoryInfo")
    cores: _Cores | None = msgspec.field(default=None, name="CoreInfo")


class _Gpus(msgspec.Struct, frozen=True):
    parts: list[_Part] = msgspec.field(default=[], name="Gpus")


class _Neurons(msgspec.Struct, frozen=True):
    parts: list[_Part] = msgspec.field(default=[], name="NeuronDevices")


class _Fpgas(msgspec.Struct, frozen=True):
    parts: list[_Part] = msgspec.field(default=[], name="Fpgas")


class _Others(msgspec.Struct, frozen=True):
    parts: list[_Part] = msgspec.field(default=[], name="Accelerators")


class _Vcpus(msgspec.Struct, frozen=True):
    vcpus: int | None = msgspec.field(default=None, name="DefaultVCpus")
    cores: int | None = msgspec.field(default=None, name="DefaultCores")


class _Processor(msgspec.Struct, frozen=True):
    architectures: list[str] = msgspec.field(default=[], name="SupportedArchitectures")
    maker: str | None = msgspec.field(default=None, name="Manufacturer")
    clock_ghz: float | None = msgspec.field(default=None, name="SustainedClockSpeedInGhz")


class _Card(msgspec.Struct, frozen=True):
    base_gbps: float | None = msgspec.field(default=None, name="BaselineBandwidthInGbps")
    peak_gbps: float | None = msgspec.field(default=None, name="PeakBandwidthInGbps")


class _Network(msgspec.Struct, frozen=True):
    cards: list[_Card] = msgspec.field(default=[], name="NetworkCards")
    efa: bool | None = msgspec.field(default=None, name="EfaSupported")


class _EbsRates(msgspec.Struct, frozen=True):
    base_mbytes: float | None = msgspec.field(default=None, name="BaselineThroughputInMBps")
    peak_mbytes: float | None = msgspec.field(default=None, name="MaximumThroughputInMBps")
    base_iops: int | None = msgspec.field(default=None, name="BaselineIops")


class _Ebs(msgspec.Struct, frozen=True):
    rates: _EbsRates = msgspec.field(default=_EbsRates(), name="EbsOptimizedInfo")


class _Disk(msgspec.Struct, frozen=True):
    count: int = msgspec.field(name="Count")
    kind: str = msgspec.field(default="ssd", name="Type")
    size_gb: int = msgspec.field(default=0, name="SizeInGB")


class _Storage(msgspec.Struct, frozen=True):
    total_gb: int | None = msgspec.field(default=None, name="TotalSizeInGB")
    disks: list[_Disk] | None = msgspec.field(default=None, name="Disks")
    nvme: str = msgspec.field(default="supported", name="NvmeSupport")

    @property
    def is_nvme_flash(self) -> bool:
        """Say whether data can be staged there at speed: old types have spinning disks, or flash behind a slow bus."""
        return self.nvme != "unsupported" and all(disk.kind == "ssd" for disk in self.disks or ())


class _Type(msgspec.Struct, frozen=True):
    """An item of DescribeInstanceTypes, as far as an offer needs it."""

    instance: str = msgspec.field(name="InstanceType")
    vcpu: _Vcpus = msgspec.field(default=_Vcpus(), name="VCpuInfo")
    memory: _Memory = msgspec.field(default=_Memory(), name="MemoryInfo")
    processor: _Processor = msgspec.field(default=_Processor(), name="ProcessorInfo")
    network: _Network = msgspec.field(default=_Network(), name="NetworkInfo")
    ebs: _Ebs = msgspec.field(default=_Ebs(), name="EbsInfo")
    has_storage: bool | None = msgspec.field(default=None, name="InstanceStorageSupported")
    storage: _Storage = msgspec.field(default=_Storage(), name="InstanceStorageInfo")
    gpu: _Gpus = msgspec.field(default=_Gpus(), name="GpuInfo")
    neuron: _Neurons = msgspec.field(default=_Neurons(), name="NeuronInfo")
    inference: _Others = msgspec.field(default=_Others(), name="InferenceAcceleratorInfo")
    fpga: _Fpgas = msgspec.field(default=_Fpgas(), name="FpgaInfo")
    media: _Others = msgspec.field(default=_Others(), name="MediaAcceleratorInfo")


def offer_from_describe(item: Mapping[str, Any], *, region: str, day: date) -> Offer:
    """Return the offer that an item of DescribeInstanceTypes describes, without price and status.

    An item that is not in EC2's form, or whose figures contradict one another, is a ValueError that says why.
    """
    try:
        return _offer(msgspec.convert(item, _Type), region, day)
    except (msgspec.ValidationError, ValueError, OverflowError) as error:
        raise ValueError(f"EC2's description cannot be read: {error}") from error


def family_of(instance: str) -> str:
    """Return the family of an instance type: `g6f` of `g6f.large`, `ml.g5` of `ml.g5.xlarge`."""
    return instance.rpartition(".")[0] or instance


def _offer(found: _Type, region: str, day: date) -> Offer:
    known = _specification(found)
    return with_gaps(
        Offer,
        _NOT_LISTED,
        instance=found.instance,
        family=family_of(found.instance),
        **known,
        region=region,
        specification_date=day,
        status=Status.UNKNOWN,
        note=" ".join(_notes(found)),
        source=SOURCE,
        licence=LICENCE,
        missing={name: why for name, why in _REASONS.items() if known[name] is None},
    )


def _specification(found: _Type) -> dict[str, Any]:
    rates, cards = found.ebs.rates, found.network.cards
    return {
        "vcpus": found.vcpu.vcpus,
        "cores": found.vcpu.cores,  # a vCPU is half a core on most types and a whole one on others
        "memory_bytes": _times(found.memory.size_mib, MIB),
        "arch": _architecture(found.processor.architectures),
        "cpu_vendor": found.processor.maker,
        "clock_mhz": _times(found.processor.clock_ghz, 1000),
        "accelerators": tuple(_accelerators(found)),
        "network_bytes_per_s": _total_bytes_per_s(card.base_gbps for card in cards),
        "network_peak_bytes_per_s": _total_bytes_per_s(card.peak_gbps for card in cards),
        "efa": found.network.efa,
        "ebs_bytes_per_s": None if rates.base_mbytes is None else rates.base_mbytes * 1e6,
        "ebs_peak_bytes_per_s": None if rates.peak_mbytes is None else rates.peak_mbytes * 1e6,
        "ebs_iops": rates.base_iops,
        **_disks(found),
    }


def _notes(found: _Type) -> Iterator[str]:
    if any(_is_odd_trainium2(part) for part in found.neuron.parts):
        yield TRAINIUM2
    if found.has_storage and found.storage.disks and not found.storage.is_nvme_flash:
        disks = " + ".join(f"{disk.count} x {disk.size_gb} GB" for disk in found.storage.disks)
        yield f"Its local disks ({disks}) are no NVMe flash."


def _times(value: float | None, factor: float) -> int | None:
    return None if value is None else round(value * factor)


def _architecture(listed: list[str]) -> str | None:
    """Return the architecture that a program is built for today: an old type that also runs i386 is x86_64."""
    return next((name for name in listed if name != "i386"), listed[0] if listed else None)


def _total_bytes_per_s(gbps: Iterable[float | None]) -> float | None:
    """Add up the network cards; when one of them has no figure the sum is unknown, not smaller."""
    figures = list(gbps)
    known = [figure for figure in figures if figure is not None]
    return sum(known) * 1e9 / 8 if figures and len(known) == len(figures) else None


def _disks(found: _Type) -> dict[str, int | None]:
    if found.has_storage is False or not found.storage.is_nvme_flash:
        return {"nvme_bytes": 0, "nvme_disks": 0}
    storage = found.storage
    return {
        "nvme_bytes": _times(storage.total_gb, 10**9),  # disks are sold in decimal gigabytes
        "nvme_disks": None if storage.disks is None else sum(disk.count for disk in storage.disks),
    }


def _accelerators(found: _Type) -> Iterator[Fitted]:
    """Yield what EC2 spreads over five structures; the deprecated one repeats Inferentia, and must not count twice."""
    neuron = {part.name for part in found.neuron.parts}
    for part in found.gpu.parts:
        yield _fitted(part, DeviceKind.GAUDI if part.maker == "Habana" else DeviceKind.GPU)
    for part in found.neuron.parts:
        yield _fitted(part, DeviceKind.NEURON)
    for part in found.inference.parts:
        if part.name not in neuron:
            yield _fitted(part, DeviceKind.NEURON if part.maker == "AWS" else DeviceKind.NPU)
    for part in found.fpga.parts:
        yield _fitted(part, DeviceKind.FPGA)
    for part in found.media.parts:
        yield _fitted(part, DeviceKind.MEDIA)


def _fitted(part: _Part, kind: DeviceKind) -> Fitted:
    """Return one entry of an accelerator structure as what is fitted."""
    return fitted(
        part.name,
        kind,
        # A share of a GPU is listed with the count 0: what a program sees is the logical count, of a part of a device.
        count=part.logical_count or part.count or 0,
        listed_mib=part.memory.size_mib if part.memory else None,
        share=1.0 if part.share is None else part.share,
        maker=part.maker,
        cores=part.cores.count if part.cores else None,
    )


def _is_odd_trainium2(part: _Part) -> bool:
    return part.name == "Trainium2" and part.memory is not None and part.memory.size_mib == 524288
