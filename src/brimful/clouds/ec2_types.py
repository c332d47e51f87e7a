"""EC2's description of an instance type, made an Offer: one pure function and the tables that it needs.

`offer_from_describe` takes one item of DescribeInstanceTypes. It knows neither prices nor whether the type can be had:
the offer it makes has no price and the status unknown, until `ec2_offers` lays the other answers over it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any

import msgspec

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
TRAINIUM2 = "EC2's API gives 524,288 MiB per Trainium2; AWS's Neuron documentation gives 96 GiB, which counts here."

# EC2's name -> (what people type, vendor, kind). A name that is not here stands as EC2 gives it, as its maker's.
_MODELS: dict[str, tuple[str, str, DeviceKind]] = {
    "RTX PRO Server 6000": ("RTX PRO 6000", "NVIDIA", DeviceKind.GPU),
    "Gaudi HL-205": ("Gaudi", "Intel", DeviceKind.GAUDI),  # EC2 lists it as a GPU of Habana's
    "Qualcomm AI100": ("Cloud AI 100", "Qualcomm", DeviceKind.NPU),
    "Virtex UltraScale+ (VU47P)": ("VU47P", "Xilinx", DeviceKind.FPGA),
    "Virtex UltraScale (VU9P)": ("VU9P", "Xilinx", DeviceKind.FPGA),
}

# (model, EC2's MiB of a whole device) -> (nominal MiB, usable MiB or why it is unknown). EC2's one figure is the
# nominal size for some, for others the seller's decimal gigabytes turned into MiB (A10G and L4: 24e9 bytes = 22,888
# MiB), for B200 and B300 what the driver reports. A usable figure is the driver's total, as nvidia-smi was seen to
# print it.
_NO_CAPTURE = "EC2 gives the nominal size, and no captured output of the driver shows what is left of it"
_NOT_PUBLISHED = "AWS publishes no figure below the nominal one"
_NOT_KNOWN = "brimful has no usable size for this device yet: EC2's one figure may be the nominal one"
_NO_SIZE = "EC2 gives no memory for it"
_NO_ALLOCATOR = "an FPGA has no allocator: the design decides"
_MEMORY: dict[tuple[str, int], tuple[int, int | str]] = {
    ("T4", 16384): (16384, 15360),
    ("T4g", 16384): (16384, _NO_CAPTURE),
    ("A10G", 22888): (24576, 22888),
    ("L4", 22888): (24576, 22888),
    ("L40S", 45776): (49152, 45776),  # the driver's total is 46,068; the lower figure counts
    ("V100", 16384): (16384, _NO_CAPTURE),
    ("V100", 32768): (32768, _NO_CAPTURE),
    ("A100", 40960): (40960, _NO_CAPTURE),
    ("A100", 81920): (81920, 81920),
    ("H100", 81920): (81920, 81559),
    ("H200", 144384): (144384, 143771),  # sold as 141 GB and meaning GiB
    ("B200", 183359): (184320, 183359),  # sold as 180 GB, meaning GiB
    ("B300", 275040): (294912, 275040),  # sold as 288 GB, meaning GiB of HBM fitted
    ("RTX PRO 4500", 32768): (32768, _NO_CAPTURE),
    ("RTX PRO 6000", 98304): (98304, _NO_CAPTURE),
    ("Radeon Pro V520", 8192): (8192, _NO_CAPTURE),
    ("Inferentia", 8192): (8192, _NOT_PUBLISHED),
    ("Inferentia2", 32768): (32768, _NOT_PUBLISHED),
    ("Trainium", 32768): (32768, _NOT_PUBLISHED),
    ("Trainium2", 524288): (98304, _NOT_PUBLISHED),  # five times what the device has: see TRAINIUM2
    ("Cloud AI 100", 16000): (16384, 16000),
    ("Gaudi", 32768): (32768, 32768),
    ("VU9P", 65536): (65536, _NO_ALLOCATOR),
    ("VU47P", 81920): (81920, _NO_ALLOCATOR),
    ("U30", 24576): (24576, "the encoder's firmware decides"),
}
_SIZE_TOLERANCE = 0.01  # of a share EC2 rounds the MiB; two sizes of one model lie much further apart


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
    """Return one entry of an accelerator structure as what is fitted; `kind` counts when the name is not known."""
    maker = "AWS" if kind is DeviceKind.NEURON else part.maker or "unknown"
    model, vendor, kind = _MODELS.get(part.name, (part.name, maker, kind))
    share = 1.0 if part.share is None else part.share
    nominal, usable = _memory(model, share, part.memory.size_mib if part.memory else None)
    cores = part.cores.count if part.cores else None
    reasons = {"usable_memory_bytes": usable, "memory_bytes": _NO_SIZE, "cores": "EC2 lists no cores for it"}
    known = {
        "memory_bytes": nominal,
        "usable_memory_bytes": usable * MIB if isinstance(usable, int) else None,
        "cores": cores,
    }
    return Fitted(
        model=model,
        vendor=vendor,
        kind=kind,
        # A share of a GPU is listed with the count 0: what a program sees is the logical count, of a part of a device.
        count=part.logical_count or part.count or 0,
        share=share,
        missing={name: str(reasons[name]) for name, value in known.items() if value is None},
        **known,
    )


def _memory(model: str, share: float, listed_mib: int | None) -> tuple[int | None, int | str]:
    """Return the nominal bytes of a device or a share of one, and its usable MiB or why they are unknown."""
    if listed_mib is None or not 0 < share <= 1:
        return None, _NO_SIZE
    sizes = _sizes(model, listed_mib / share)
    if share < 1:  # EC2 lists what the share has
        return round((sizes[0] if sizes else listed_mib / share) * MIB * share), listed_mib
    nominal, usable = sizes or (listed_mib, _NOT_KNOWN)
    return nominal * MIB, usable


def _sizes(model: str, whole_mib: float) -> tuple[int, int | str] | None:
    for (name, listed), sizes in _MEMORY.items():
        if name == model and abs(whole_mib - listed) <= listed * _SIZE_TOLERANCE:
            return sizes
    return None


def _is_odd_trainium2(part: _Part) -> bool:
    return part.name == "Trainium2" and part.memory is not None and part.memory.size_mib == 524288
