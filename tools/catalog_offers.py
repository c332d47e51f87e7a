"""Offers: EC2's instance types from the cleaned list, and what is known of those that the list no longer describes."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from brimful.catalog.ec2_devices import TRAINIUM2, fitted
from brimful.model.hardware import DeviceKind, Fitted, Offer, Status
from brimful.model.noun import with_gaps
from brimful.model.units import MIB
from tools.catalog_sources import PRICES, SPECIFICATION, cite
from tools.catalog_withdrawn import ABSENT, DOUBTED, OFFERED_IN, Absent

Row = dict[str, str]
REGION = "us-east-1"

# Families whose local disks are spinning, or attached by another way than NVMe: no place to stage data at speed.
_NO_NVME = frozenset({"c1", "c3", "d2", "d3", "d3en", "h1", "i2", "m1", "m2", "m3", "r3", "x1", "x1e"})


def offers(source: Path) -> list[Offer]:
    """Build an offer for each instance type of the source's list."""
    with (source / "aws_instances.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return [_described(row) if row["in_moto"] == "True" else _absent(row) for row in sorted(rows, key=_order)]


def _order(row: Row) -> tuple[str, float, str]:
    """Sort by family, then by size, so that the file reads like a price list."""
    return row["family"], float(row["vcpu"] or 0), row["instance_type"]


def _described(row: Row) -> Offer:
    """Build the offer of a type that EC2 describes; one that it offers in other regions alone is unknown here."""
    name = row["instance_type"]
    known = _specification(row)
    price = float(row["od_us_east_1"]) if row["od_us_east_1"] else None
    doubt = DOUBTED.get(name)
    return Offer(
        instance=name,
        family=row["family"],
        **{field: value for field, value in known.items() if value is not None},
        usd_per_hour=price,
        region=REGION,
        price_date=PRICES if price else None,
        specification_date=SPECIFICATION,
        missing=_reasons(name, known, price),
        note=" ".join(_notes(row, doubt)),
        **_standing(name, doubt),
        **cite(*_cited(row, price, doubt)),
    )


def _absent(row: Row) -> Offer:
    """Build the offer of a type that has a price and that EC2 no longer describes."""
    name = row["instance_type"]
    item = ABSENT[name]
    return with_gaps(
        Offer,
        "EC2 no longer describes this type",
        instance=name,
        family=row["family"],
        accelerators=item.accelerators,
        usd_per_hour=float(row["od_us_east_1"]),
        region=REGION,
        price_date=PRICES,
        note=item.note,
        **_standing(name, item),
        **cite("karpenter", *item.sources),
    )


def _standing(name: str, item: Absent | None) -> dict[str, Any]:
    """Return the status: what EC2 describes but offers in other regions only cannot be told available in this one."""
    if item is None:
        return {"status": Status.UNKNOWN if name in OFFERED_IN else Status.AVAILABLE}
    if item.status is Status.UNKNOWN:
        return {"status": Status.UNKNOWN}
    return {
        "status": item.status,
        "withdrawn_on": item.on,
        "withdrawal": item.by,
        "successors": item.successors,
    }


def _notes(row: Row, doubt: Absent | None) -> list[str]:
    notes = [doubt.note] if doubt else []
    if row["instance_type"] in OFFERED_IN:
        notes.append(f"EC2 does not offer it in us-east-1 (2026-08-01), but in {OFFERED_IN[row['instance_type']]}.")
    if row["accel_name"] == "Trainium2":
        notes.append(TRAINIUM2)
    if row["family"] in _NO_NVME and row["nvme_gb"]:
        disks = f"{float(row['nvme_disks']):.0f} x {float(row['nvme_gb']) / float(row['nvme_disks']):.0f} GB"
        notes.append(f"Its local disks ({disks}) are no NVMe flash.")
    return notes


def _cited(row: Row, price: float | None, doubt: Absent | None) -> list[str]:
    cited = ["moto", *(["karpenter"] if price else []), *(doubt.sources if doubt else ())]
    if row["instance_type"] in OFFERED_IN:
        cited.append("offered")
    return cited + _CITED.get(row["gpu_name"] or row["accel_name"], [])


# What stands behind figures of memory that are not EC2's.
_CITED = {"T4": ["smi-telegraf"], "H100": ["smi-exporter"], "H200": ["smi-exporter"], "Trainium2": ["neuron"]}


def _reasons(name: str, known: dict[str, Any], price: float | None) -> dict[str, str]:
    reasons = {
        field: _WHY.get(field, "EC2 lists none for this type") for field, value in known.items() if value is None
    }
    if price is None:
        why = "EC2 does not offer this type in us-east-1"
        if name.startswith("mac"):
            why = "a Mac is rented as a dedicated host, which has its own price list"
        reasons |= {"usd_per_hour": why, "price_date": why}
    return reasons


_NOT_OPTIMISED = "EC2 lists none: the type shares its network with EBS"
_WHY = {
    "ebs_bytes_per_s": _NOT_OPTIMISED,
    "ebs_peak_bytes_per_s": _NOT_OPTIMISED,
    "ebs_iops": _NOT_OPTIMISED,
    "clock_mhz": "EC2 lists no clock for this type",
}


def _specification(row: Row) -> dict[str, Any]:
    flash = row["family"] not in _NO_NVME
    return {
        "vcpus": _whole(row["vcpu"]),
        "cores": _whole(row["cores"]),  # a vCPU is half a core on most types and a whole one on others
        "memory_bytes": _whole(row["memory_mib"], MIB),
        "arch": row["arch"],
        "cpu_vendor": row["cpu_manufacturer"],
        "clock_mhz": _whole(row["clock_ghz"], 1000),
        "accelerators": _accelerators(row),
        "network_bytes_per_s": _scaled(row["net_baseline_gbps"], 1e9 / 8),
        "network_peak_bytes_per_s": _scaled(row["net_peak_gbps"], 1e9 / 8),
        "efa": row["efa"] == "True",
        "ebs_bytes_per_s": _scaled(row["ebs_base_mbs"], 1e6),
        "ebs_peak_bytes_per_s": _scaled(row["ebs_max_mbs"], 1e6),
        "ebs_iops": _whole(row["ebs_base_iops"]),
        "nvme_bytes": _whole(row["nvme_gb"] or "0", 10**9) if flash else 0,  # disks are sold in decimal gigabytes
        "nvme_disks": _whole(row["nvme_disks"] or "0") if flash else 0,
    }


def _scaled(cell: str, factor: float) -> float | None:
    return float(cell) * factor if cell else None


def _whole(cell: str, factor: int = 1) -> int | None:
    return round(float(cell) * factor) if cell else None


def _accelerators(row: Row) -> tuple[Fitted, ...]:
    if row["gpu_name"]:
        # A share of a GPU is listed with the count 0: a program sees the logical count, each a part of a device.
        count = row["gpu_logical_count"] or row["gpu_count"]
        share = float(row["gpu_partition"] or 1)
        return (_fit(row["gpu_name"], DeviceKind.GPU, count, row["gpu_mem_mib_each"], row["gpu_manufacturer"], share),)
    if row["accel_name"]:
        kind = DeviceKind.NPU if row["accel_name"].startswith("Qualcomm") else DeviceKind.NEURON
        cores = _whole(row["accel_cores_each"])
        return (_fit(row["accel_name"], kind, row["accel_count"], row["accel_mem_mib_each"], cores=cores),)
    if row["fpga_name"]:
        return (_fit(row["fpga_name"], DeviceKind.FPGA, row["fpga_count"], row["fpga_mem_mib"]),)
    if row["media_name"]:
        # The list has no memory of media accelerators; EC2's API says 24,576 MiB of the U30, the only one.
        return (_fit(row["media_name"], DeviceKind.MEDIA, row["media_count"], "24576", "Xilinx"),)
    return ()


def _fit(
    name: str, kind: DeviceKind, count: str, mib: str, maker: str = "", share: float = 1.0, *, cores: int | None = None
) -> Fitted:
    listed = int(float(mib))
    return fitted(name, kind, count=int(float(count)), listed_mib=listed, share=share, maker=maker, cores=cores)
