"""What the CPU is: maker, model, the instructions that matter here, cores, memory and how much of it may be used."""

from __future__ import annotations

import math
import platform
import re
from collections.abc import Mapping
from typing import NamedTuple

from brimful.model.hardware import Device, DeviceKind
from brimful.model.noun import with_gaps
from brimful.probes.host.limits import Limits, meminfo
from brimful.probes.host.tree import Tree, cpu_list, whole

NAME = "cpu"

# The instructions that change what a model costs on a CPU, as Linux spells them; the order is that of the answer.
ISA = (
    "avx", "avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni",
    "amx_tile", "amx_bf16", "amx_int8", "amx_fp16",
    "asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "sve2", "svei8mm", "svebf16",
)  # fmt: skip

_VENDORS = {"GenuineIntel": "Intel", "AuthenticAMD": "AMD", "HygonGenuine": "Hygon"}
# Arm's register MIDR_EL1 as util-linux and the kernel name its parts (arch/arm64/include/asm/cputype.h).
_IMPLEMENTERS = {"0x41": "Arm", "0x46": "Fujitsu", "0x48": "HiSilicon", "0x4e": "NVIDIA", "0x51": "Qualcomm",
                 "0x61": "Apple", "0x6d": "Microsoft", "0xc0": "Ampere"}  # fmt: skip
_ARM_PARTS = {"0xd08": "Cortex-A72", "0xd0c": "Neoverse-N1", "0xd40": "Neoverse-V1", "0xd49": "Neoverse-N2",
              "0xd4f": "Neoverse-V2", "0xd84": "Neoverse-V3", "0xd8e": "Neoverse-N3"}  # fmt: skip
_NOT_TOLD = "neither /proc nor /sys tells it here"


class Cpu(NamedTuple):
    """The CPU as this process may use it."""

    vendor: str | None
    model: str | None
    isa: tuple[str, ...]
    cores: int | None
    logical: int
    usable_cpus: float
    clock_mhz: float | None


def read(tree: Tree, limits: Limits) -> Cpu:
    """Return what /proc/cpuinfo and /sys/devices/system/cpu tell, within the limits."""
    blocks = _blocks(tree.text("proc/cpuinfo"))
    facts = {key: value for block in blocks for key, value in reversed(block.items()) if value}
    numbered = {number: block for block in blocks if (number := whole(block.get("processor"))) is not None}
    allowed = _allowed(tree) & numbered.keys() or set(numbered)
    usable = float(len(allowed))
    if limits.cpus is not None and limits.cpus < usable:
        usable = limits.cpus
    cores = _cores(tree, {number: numbered[number] for number in allowed})
    model = _model(facts)
    return Cpu(
        vendor=_VENDORS.get(vendor := facts.get("vendor_id", ""), vendor)
        or _IMPLEMENTERS.get(facts.get("CPU implementer", "")),
        model=model,
        isa=_isa(facts),
        cores=None if cores is None else min(cores, max(1, math.ceil(usable))),
        logical=len(numbered),
        usable_cpus=usable,
        clock_mhz=_clock(tree, model),
    )


def device(tree: Tree, limits: Limits) -> Device:
    """Return the CPU as a device; a limited container has a share of it, and fewer cores and bytes."""
    cpu = read(tree, limits)
    memory = meminfo(tree).get("MemTotal") or None
    usable = memory if limits.memory_bytes is None else limits.memory_bytes
    return with_gaps(
        Device,
        _NOT_TOLD,
        device=NAME,
        device_kind=DeviceKind.CPU,
        vendor=cpu.vendor,
        model=cpu.model,
        host=host_name(tree),
        share=cpu.usable_cpus / cpu.logical if cpu.logical else 1.0,
        cores=cpu.cores,
        memory_bytes=memory,
        usable_memory_bytes=usable,
        clock_mhz=cpu.clock_mhz,
        isa=cpu.isa,
        source="recorded" if tree.recorded else "measured",
        missing={
            "uuid": "a CPU has no identity of its own",
            "index": "all sockets count as one device",
            "driver_version": "a CPU has no driver",
            "power_cap_watts": "no power limit was asked for",
        },
    )


def host_name(tree: Tree) -> str | None:
    """Return the name of the host; a recorded one never takes this host's name."""
    name = tree.line("proc/sys/kernel/hostname")
    return name if name or tree.recorded else platform.node() or None


def _blocks(text: str | None) -> list[dict[str, str]]:
    blocks: list[dict[str, str]] = [{}]
    for line in (text or "").splitlines():
        key, colon, value = line.partition(":")
        if not line.strip():
            blocks.append({})
        elif colon:
            blocks[-1].setdefault(key.strip(), " ".join(value.split()))
    return [block for block in blocks if block]


def _allowed(tree: Tree) -> set[int]:
    """Return the CPUs this process may run on, as a cpuset or taskset limits them; none when it is not told."""
    for line in (tree.text("proc/self/status") or "").splitlines():
        key, _, value = line.partition(":")
        if key == "Cpus_allowed_list":
            return set(cpu_list(value.strip()) or ())
    return set()


def _cores(tree: Tree, blocks: Mapping[int, Mapping[str, str]]) -> int | None:
    """Count physical cores: hyper-threads of one core count once."""
    told = {(block.get("physical id"), block.get("core id")) for block in blocks.values()}
    if told and not any(None in pair for pair in told):
        return len(told)
    siblings = {tree.line(f"sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list") for number in blocks}
    return len(siblings) if siblings and None not in siblings else None


def _isa(facts: Mapping[str, str]) -> tuple[str, ...]:
    flags = set(f"{facts.get('flags', '')} {facts.get('Features', '')}".split())
    return tuple(name for name in ISA if name in flags)


def _model(facts: Mapping[str, str]) -> str | None:
    named = facts.get("model name")
    if named and named != "unknown":
        return named
    part = facts.get("CPU part")
    if facts.get("CPU implementer") == "0x41" and part in _ARM_PARTS:
        return _ARM_PARTS[part]
    if part:
        return f"CPU part {part} of implementer {facts.get('CPU implementer', 'unknown')}"
    return None


def _clock(tree: Tree, model: str | None) -> float | None:
    khz = tree.whole("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
    if khz:
        return khz / 1000
    told = re.search(r"@ ([0-9]{1,2}\.[0-9]{1,3})GHz", model or "")
    return round(float(told[1]) * 1000, 3) if told else None
