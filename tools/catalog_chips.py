"""The facts about every device that people name: tools/data/devices/*.csv, with the rates that follow from them.

What a table gives is what makers print; rates are computed from it (chip_rates.py) unless the table gives them, which
it does where the printed rate belongs to another clock than the printed boost clock. Nearly all of it was written down
from memory of those prints, and the sources say so; `doubts` names what the writer was not sure of. What the given
tables hold (accelerator_specs.csv, cpu_specs.csv) was compared: a test keeps them in agreement.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from brimful.model.hardware import Chip, DeviceKind
from brimful.model.noun import with_gaps
from brimful.model.units import GIB, MIB
from tools.catalog_sources import cite
from tools.chip_rates import CORES, gpu_rates

DEVICES = Path(__file__).parent / "data" / "devices"
_UNGIVEN = "the sources at hand give none"
_SHARED = "it uses the memory of its host"
_UNFITTED = "the machine's owner decides how much is fitted"
_PCIE = {"2": 0.5e9, "3": 0.985e9, "4": 1.969e9, "5": 3.938e9, "6": 7.563e9}  # bytes per second and lane, each way
_CHANNEL_BITS = 64
_AMD, _INTEL = "amd-memory", "intel"
# The tables' short names of what is doubtful -> the fields.
_DOUBTS = {
    "units": "compute_units",
    "cores": "compute_units",
    "watts": "power_cap_watts",
    "mts": "bandwidth_bytes_per_s",
    "memory_channels": "bandwidth_bytes_per_s",
    "march": "architecture",
    "model": "architecture",
}

Row = dict[str, str]


def chips(_: Path | None = None) -> list[Chip]:
    """Build the facts about every device, in the order of the tables."""
    cpus = {row["model"]: row for row in _rows("cpus")}
    return [
        *(_gpu(row, "NVIDIA", "nvidia-memory") for row in _rows("nvidia")),
        *(_gpu(row, "Intel" if row["arch"].startswith("Xe") else "AMD", _maker(row)) for row in _rows("amd_intel")),
        *(_other(row) for row in _rows("others")),
        *(_cpu(row) for row in cpus.values()),
        *(_igpu(row, cpus[row["model"]]) for row in _rows("igpu")),
        *(_npu(row, cpus[row["model"]]) for row in _rows("npu")),
    ]


def _rows(name: str) -> Iterator[Row]:
    with (DEVICES / f"{name}.csv").open(newline="", encoding="utf-8") as stream:
        yield from csv.DictReader(line for line in stream if not line.startswith("#"))


def _maker(row: Row) -> str:
    return _INTEL if row["arch"].startswith("Xe") else _AMD


def _gpu(row: Row, vendor: str, source: str) -> Chip:
    rates, fast = gpu_rates(row["arch"], int(row["units"]), float(row["boost"]), row["sums"])
    given = _given(row["rates"])
    if "fp16" in given and fast is not None:
        fast = given["fp16"] * 2
    return with_gaps(
        Chip,
        _UNGIVEN,
        model=row["model"],
        vendor=vendor,
        kind=DeviceKind.GPU,
        architecture=row["arch"],
        peak_flops=rates | given,
        fast_fp16_flops=fast,
        missing={} if row["mem_gib"] else {"memory_bytes": _SHARED},
        **_common(row),
        **cite(source),
    )


def _common(row: Row) -> dict[str, Any]:
    """Return the fields that tables of accelerators share."""
    cache = row.get("l2_mib") or row.get("cache_mib")
    return {
        "year": int(row["year"]),
        "aliases": _list(row["aliases"]),
        "families": tuple(row["families"].split()),
        "compute_units": _number(row["units"], whole=True),
        "base_mhz": _number(row.get("base", "")),
        "boost_mhz": _number(row["boost"]),
        "memory_bytes": _number(row["mem_gib"], GIB, whole=True),
        "bandwidth_bytes_per_s": _number(row["bw_gbs"], 1e9),
        "cache_bytes": _number(cache or "", MIB, whole=True),
        "power_cap_watts": _number(row["watts"]),
        "pcie_bytes_per_s": _pcie(row.get("pcie", "")),
        "link_bytes_per_s": _number(row["link_gbs"], 1e9),
        "unverified": _doubts(row["doubts"]),
    }


def _other(row: Row) -> Chip:
    return with_gaps(
        Chip,
        _UNGIVEN,
        model=row["model"],
        vendor=row["vendor"],
        kind=DeviceKind(row["kind"]),
        architecture=row["architecture"],
        peak_flops=_given(row["rates"]),
        **_common(row),
        **cite(row["source"]),
    )


def _cpu(row: Row) -> Chip:
    """Build a CPU of one socket; small cores count with their own work and clock."""
    core = CORES[row["march"]]
    clock = float(row["sustained"] or row["boost"])
    parts = [(int(row["cores"]), core, clock), *_small(row["small"])]
    rates: dict[str, float] = {}
    for name in core.rates():
        rates[name] = sum(count * part.rates().get(name, 0.0) * mhz * 1e6 for count, part, mhz in parts)
    vendor = "AWS" if row["model"].startswith("Graviton") else _cpu_vendor(row["model"], core.maker)
    return with_gaps(
        Chip,
        _UNGIVEN,
        model=row["model"],
        vendor=vendor,
        kind=DeviceKind.CPU,
        architecture=row["march"],
        year=int(row["year"]),
        aliases=_list(row["aliases"]),
        families=tuple(row["families"].split()),
        compute_units=sum(count for count, _, _ in parts),
        threads=int(row["threads"]),
        base_mhz=_number(row["base"]),
        sustained_mhz=_number(row["sustained"]),
        boost_mhz=_number(row["boost"]),
        peak_flops={name: float(round(rate)) for name, rate in rates.items()},
        memory_type=f"{row['memory']}-{row['mts']}",
        memory_bus_bits=round(float(row["channels64"]) * _CHANNEL_BITS),
        cache_bytes=_number(row["l3_mib"], MIB, whole=True),
        power_cap_watts=_number(row["watts"]),
        pcie_bytes_per_s=_pcie(row["pcie"]),
        bandwidth_bytes_per_s=_bandwidth(row),
        isa=core.isa,
        unverified=_doubts(row["doubts"]),
        missing={"memory_bytes": _UNFITTED},
        **cite({"AMD": _AMD, "Intel": _INTEL}.get(vendor, "arm")),
    )


def _cpu_vendor(model: str, maker: str) -> str:
    word = model.partition(" ")[0]
    return {"NVIDIA": "NVIDIA", "Jetson": "NVIDIA", "Ampere": "Ampere", "AmpereOne": "Ampere"}.get(word, maker)


def _small(cell: str) -> Iterator[tuple[int, Any, float]]:
    """Read the other kinds of cores: "8x Gracemont @3700; 2x Crestmont @2500"."""
    for part in _list(cell):
        count, rest = part.split("x ", 1)
        name, mhz = rest.rsplit(" @", 1)
        yield int(count), CORES[name], float(mhz)


def _bandwidth(row: Row) -> float:
    return float(row["channels64"]) * _CHANNEL_BITS / 8 * float(row["mts"]) * 1e6


def _igpu(row: Row, host: Row) -> Chip:
    """Build the GPU inside a CPU: its memory, and most of its power, are the host's."""
    rates, _ = gpu_rates(row["arch"], int(row["units"]), float(row["boost"]), "")
    return _inside(
        row,
        host,
        "iGPU",
        kind=DeviceKind.GPU,
        architecture=row["arch"],
        compute_units=int(row["units"]),
        boost_mhz=float(row["boost"]),
        peak_flops=rates,
        aliases=_list(row["aliases"]),
    )


def _npu(row: Row, host: Row) -> Chip:
    rates = {"int8": _number(row["int8_tops"], 1e12), "fp16": _number(row["fp16_tflops"], 1e12)}
    return _inside(
        row,
        host,
        "NPU",
        kind=DeviceKind.NPU,
        architecture=f"NPU of {host['march']}",
        peak_flops={name: rate for name, rate in rates.items() if rate},
    )


def _inside(row: Row, host: Row, what: str, **known: Any) -> Chip:
    vendor = CORES[host["march"]].maker
    return with_gaps(
        Chip,
        _UNGIVEN,
        model=f"{row['model']} {what}",
        vendor=vendor,
        year=int(row["year"]),
        bandwidth_bytes_per_s=_bandwidth(host),
        memory_type=f"{host['memory']}-{host['mts']}",
        memory_bus_bits=round(float(host["channels64"]) * _CHANNEL_BITS),
        power_cap_watts=_number(host["watts"]),
        unverified=_doubts(row["doubts"]),
        missing={"memory_bytes": _SHARED, "pcie_bytes_per_s": "it is part of the CPU"},
        **known,
        **cite(_INTEL if vendor == "Intel" else _AMD),
    )


def _given(cell: str) -> dict[str, float]:
    """Read rates in TFLOPS: "fp16=70 int8=140"."""
    pairs = (part.split("=") for part in cell.split())
    return {name: float(value) * 1e12 for name, value in pairs}


def _pcie(cell: str) -> float | None:
    """Read a generation and lanes, "4x16", as bytes per second each way."""
    if not cell:
        return None
    generation, lanes = cell.split("x")
    return float(round(_PCIE[generation] * int(lanes)))


def _number(cell: str, factor: float = 1.0, *, whole: bool = False) -> Any:
    if not cell:
        return None
    value = float(cell) * factor
    return round(value) if whole else value


def _list(cell: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in cell.split(";") if part.strip())


def _doubts(cell: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_DOUBTS.get(word, word) for word in cell.split()))


def by_model(rows: Iterable[Chip]) -> dict[str, Chip]:
    """Return the chips under their names; two of one name are a mistake in the tables."""
    found: dict[str, Chip] = {}
    for chip in rows:
        if chip.model in found:
            raise ValueError(f"the device {chip.model!r} stands twice in {DEVICES}")
        found[chip.model] = chip
    return found
