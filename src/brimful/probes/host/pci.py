"""Accelerators on the PCI bus, by vendor and device number: that they are there, before any driver is asked."""

from __future__ import annotations

import re
from typing import NamedTuple

from brimful.model.hardware import Device, DeviceKind
from brimful.model.noun import with_gaps
from brimful.model.text import readable_path
from brimful.probes.host.tree import Tree, pairs

FOLDER = "sys/bus/pci/devices"
UNASKED = "seen on the PCI bus; no driver was asked"
_DISPLAY, _PROCESSING = 0x03, 0x12  # the PCI classes of display controllers and of processing accelerators


class _Vendor(NamedTuple):
    name: str
    kind: DeviceKind
    classes: tuple[int, ...]  # which PCI classes count; none when the device number alone decides
    models: dict[int, str]


# Numbers and names: pci.ids (pci-ids.ucw.cz) of 2026-08-22; Neuron's also in the driver's neuron_device.h.
_VENDORS = {
    0x10DE: _Vendor("NVIDIA", DeviceKind.GPU, (_DISPLAY,), {
        0x1DB1: "V100 SXM2 16GB", 0x1DB4: "V100 PCIe 16GB", 0x1DB5: "V100 SXM2 32GB", 0x1DB6: "V100 PCIe 32GB",
        0x1EB4: "T4G", 0x1EB8: "T4", 0x2236: "A10", 0x2237: "A10G", 0x20B7: "A30", 0x2235: "A40",
        0x20B0: "A100 SXM4 40GB", 0x20B1: "A100 PCIe 40GB", 0x20B2: "A100 SXM4 80GB", 0x20B5: "A100 PCIe 80GB",
        0x26B5: "L40", 0x26B9: "L40S", 0x27B8: "L4", 0x2330: "H100 SXM5 80GB", 0x2331: "H100 PCIe",
        0x2321: "H100 NVL 94GB", 0x2335: "H200 SXM 141GB", 0x233B: "H200 NVL", 0x2342: "GH200", 0x2329: "H20",
        0x2901: "B200", 0x2941: "GB200", 0x3182: "B300", 0x31C2: "GB300",
        0x2BB5: "RTX PRO 6000 Blackwell Server Edition", 0x2C3A: "RTX PRO 4500 Blackwell Server Edition",
    }),
    0x1002: _Vendor("AMD", DeviceKind.GPU, (_DISPLAY, _PROCESSING), {
        0x7360: "Radeon Pro V520", 0x7362: "Radeon Pro V520", 0x738C: "Instinct MI100", 0x7408: "Instinct MI250X",
        0x740C: "Instinct MI250X", 0x740F: "Instinct MI210", 0x74A0: "Instinct MI300A", 0x74A1: "Instinct MI300X",
        0x74B5: "Instinct MI300X VF", 0x74A5: "Instinct MI325X", 0x74B9: "Instinct MI325X VF",
        0x75A0: "Instinct MI350X", 0x75A3: "Instinct MI355X",
    }),
    0x1D0F: _Vendor("AWS", DeviceKind.NEURON, (), {
        0x7064: "Inferentia", 0x7065: "Inferentia", 0x7066: "Inferentia", 0x7067: "Inferentia",
        0x7164: "Trainium1", 0x7264: "Inferentia2", 0x7364: "Trainium2", 0x7564: "Trainium3", 0x7565: "Trainium3",
    }),
    0x1DA3: _Vendor("Intel", DeviceKind.GAUDI, (), {
        0x1000: "Gaudi", 0x1010: "Gaudi", 0x1020: "Gaudi2", 0x1060: "Gaudi3", 0x1063: "Gaudi3",
    }),
    0x8086: _Vendor("Intel", DeviceKind.GPU, (), {
        0x0BD5: "Data Center GPU Max 1550", 0x0BD6: "Data Center GPU Max 1550", 0x0BD9: "Data Center GPU Max 1100",
        0x0BDA: "Data Center GPU Max 1100", 0x0BDB: "Data Center GPU Max 1100", 0x0B69: "Data Center GPU Max 1450",
        0x56C0: "Data Center GPU Flex 170", 0x56C1: "Data Center GPU Flex 140",
    }),
}  # fmt: skip


def accelerators(tree: Tree, host: str | None) -> tuple[list[Device], str | None]:
    """Return the accelerators on the bus, and why there may be others (None when the whole bus was read)."""
    try:
        addresses = tree.names(FOLDER)
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        return [], f"/{FOLDER} cannot be read ({cause}): whether there are accelerators is not known"
    found, mute = [], []
    for address in addresses:
        numbers = [_hex(tree.line(f"{FOLDER}/{address}/{name}")) for name in ("vendor", "device", "class")]
        if None in numbers:
            mute.append(address)
            continue
        vendor, number, code = (number or 0 for number in numbers)
        model = _model(vendor, number, code >> 16)
        if model is not None:
            found.append(_device(tree, host, address, vendor, model))
    if mute:
        return (
            found,
            f"{len(mute)} of {len(addresses)} devices on the PCI bus, e.g. {mute[0]!a}, do not say what they are",
        )
    return found, None


def _model(vendor: int, number: int, code: int) -> str | None:
    """Name an accelerator; None for a device that is none."""
    known = _VENDORS.get(vendor)
    if known is None:
        return None
    name = known.models.get(number)
    if name is not None and (not known.classes or code in known.classes):
        return name
    if code in known.classes or (vendor == 0x1DA3 and code == _PROCESSING):
        return f"PCI device {vendor:04x}:{number:04x}"
    return None


def _device(tree: Tree, host: str | None, address: str, vendor: int, model: str) -> Device:
    known = _VENDORS[vendor]
    told = dict(pairs(tree.text(f"proc/driver/nvidia/gpus/{address}/information"))) if vendor == 0x10DE else {}
    uuid = told.get("GPU UUID", "")
    driver = _driver(tree, vendor)
    return with_gaps(
        Device,
        UNASKED,
        device=f"pci:{readable_path(address)}",
        device_kind=known.kind,
        vendor=known.name,
        model=told.get("Model") or model,
        host=host,
        uuid=uuid if uuid and "?" not in uuid else None,  # the driver writes ? until a program has opened the GPU
        memory_bytes=tree.whole(f"{FOLDER}/{address}/mem_info_vram_total") or None,  # amdgpu alone tells it here
        driver_version=driver,
        source="recorded" if tree.recorded else "measured",
        missing={
            "index": UNASKED,
            **({} if driver else {"driver_version": f"no {known.name} driver says its version here"}),
        },
    )


def _driver(tree: Tree, vendor: int) -> str | None:
    if vendor == 0x10DE:
        # "… x86_64 Kernel Module  535.129.03  …", and the open one "… Kernel Module for x86_64  560.35.03  …"
        text = tree.text("proc/driver/nvidia/version") or ""
        told = re.search(r"Kernel Module +(?:for \S+ +)?([0-9]+(?:\.[0-9]+)+)", text)
        return told[1] if told else None
    module = {0x1D0F: "neuron", 0x1002: "amdgpu"}.get(vendor)
    return tree.line(f"sys/module/{module}/version") if module else None


def _hex(text: str | None) -> int | None:
    return int(text, 16) if text and re.fullmatch(r"0x[0-9a-fA-F]{1,8}", text) else None
