from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimful.model.errors import BrimfulError, DataError, Unavailable
from brimful.model.hardware import DeviceKind
from brimful.probes.host import HostProbe, portable
from brimful.probes.host.tree import cpu_list
from brimful.testing import check_probe

GIB_KIB = 1024**2

XEON = """\
processor\t: {n}
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) Platinum 8488C @ 2.40GHz
physical id\t: 0
core id\t\t: {core}
flags\t\t: fpu sse avx avx2 fma f16c avx512f avx512_vnni avx512_bf16 avx_vnni amx_bf16 amx_tile amx_int8

"""
# The Features line of a Graviton3, as the kernel prints it there.
GRAVITON3 = """\
processor\t: {n}
BogoMIPS\t: 2100.00
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma lrcpc dcpop \
sha3 sm3 sm4 asimddp sha512 sve asimdfhm dit uscat ilrcpc flagm ssbs paca pacg dcpodp svei8mm svebf16 i8mm bf16 dgh rng
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x1
CPU part\t: 0xd40
CPU revision\t: 1

"""
NET = (
    "Inter-|   Receive\n face |bytes    packets\n    lo: 900 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0\n"
    "  eth0:{rx} 1 0 0 0 0 0 0 {tx} 1 0\n"
)
DISK = (
    " 259 0 nvme0n1 10 0 {r} 5 20 0 {w} 9 0 1 1\n"
    " 259 1 nvme0n1p1 10 0 {r} 5 20 0 {w} 9 0 1 1\n"
    " 7 0 loop0 1 0 8 0 0 0 0\n"
)


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def stat(user: int, idle: int, cpus: int) -> str:
    lines = [f"cpu  {user} 0 0 {idle} 0 0 0 0 0 0", *(f"cpu{n} 0 0 0 0 0 0 0 0 0 0" for n in range(cpus))]
    return "\n".join([*lines, "btime 1700000000", ""])


def xeon(cores: int = 4, threads: int = 2) -> dict[str, str]:
    cpus = cores * threads
    return {
        "proc/cpuinfo": "".join(XEON.format(n=n, core=n % cores) for n in range(cpus)),
        "proc/stat": stat(100, 900, cpus),
        "proc/meminfo": f"MemTotal: {16 * GIB_KIB} kB\nMemAvailable: {12 * GIB_KIB} kB\n",
        "proc/uptime": "1000.00 900.00\n",
        "proc/loadavg": "1.50 1.00 0.50 2/300 4000\n",
        "proc/self/status": f"Name:\tpython\nCpus_allowed_list:\t0-{cpus - 1}\n",
        "proc/sys/kernel/hostname": "recorded-host\n",
        "proc/net/dev": NET.format(rx=1000, tx=500),
        "proc/diskstats": DISK.format(r=8, w=16),
        "sys/bus/pci/devices/0000:00:00.0/vendor": "0x8086\n",
        "sys/bus/pci/devices/0000:00:00.0/device": "0x1237\n",
        "sys/bus/pci/devices/0000:00:00.0/class": "0x060000\n",
    }


def pci(address: str, vendor: int, device: int, code: int = 0x030200) -> dict[str, str]:
    folder = f"sys/bus/pci/devices/{address}"
    return {
        f"{folder}/vendor": f"0x{vendor:04x}\n",
        f"{folder}/device": f"0x{device:04x}\n",
        f"{folder}/class": f"0x{code:06x}\n",
    }


def probe(root: Path) -> HostProbe:
    return HostProbe(str(root))


def values(host: HostProbe) -> dict[str, float | str]:
    """Return each metric of the CPU: its value, or the reason why there is none."""
    return {
        sample.metric: sample.missing["value"] if sample.value is None else sample.value
        for sample in host.sample()
        if sample.device == "cpu"
    }


def test_the_cpu_is_described_from_a_recorded_tree(tmp_path):
    cpu = probe(write(tmp_path, xeon())).devices()[0]
    assert (cpu.device, cpu.device_kind, cpu.vendor) == ("cpu", DeviceKind.CPU, "Intel")
    assert cpu.model == "Intel(R) Xeon(R) Platinum 8488C @ 2.40GHz"
    assert (cpu.cores, cpu.share, cpu.clock_mhz) == (4, 1.0, 2400.0)
    assert cpu.memory_bytes == cpu.usable_memory_bytes == 16 * 1024**3
    assert (cpu.source, cpu.host) == ("recorded", "recorded-host")
    assert cpu.isa == (
        "avx", "avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni",
        "amx_tile", "amx_bf16", "amx_int8",
    )  # fmt: skip


def test_an_arm_cpu_is_named_by_its_part_and_counted_by_sysfs(tmp_path):
    files = {"proc/cpuinfo": "".join(GRAVITON3.format(n=n) for n in range(4)), "proc/stat": stat(1, 1, 4)}
    for n in range(4):
        files[f"sys/devices/system/cpu/cpu{n}/topology/thread_siblings_list"] = f"{n}\n"
    files["sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"] = "2600000\n"
    cpu = probe(write(tmp_path, files)).devices()[0]
    assert (cpu.vendor, cpu.model, cpu.cores, cpu.clock_mhz) == ("Arm", "Neoverse-V1", 4, 2600.0)
    assert cpu.isa == ("asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "svei8mm", "svebf16")
    assert cpu.memory_bytes is None
    assert "memory_bytes" in cpu.missing


def test_an_arm_cpu_of_an_unknown_part_keeps_its_number(tmp_path):
    text = GRAVITON3.format(n=0).replace("0xd40", "0xfff").replace("0x41", "0xc0")
    cpu = probe(write(tmp_path, {"proc/cpuinfo": text})).devices()[0]
    assert (cpu.vendor, cpu.model, cpu.cores) == ("Ampere", "CPU part 0xfff of implementer 0xc0", None)


@pytest.mark.parametrize(
    "cpuinfo", ["", "processor\t: 0\n", "nonsense", "\0\0", "processor: 99999999999999999999999\n"]
)
def test_a_cpu_that_says_nothing_is_unknown_and_no_error(tmp_path, cpuinfo):
    cpu = probe(write(tmp_path, {"proc/cpuinfo": cpuinfo})).devices()[0]
    assert (cpu.vendor, cpu.model, cpu.isa, cpu.cores) == (None, None, (), None)
    assert cpu.missing["cores"]


def test_a_virtual_machine_without_flags_has_no_isa_and_its_cores(tmp_path):
    files = xeon()
    files["proc/cpuinfo"] = "".join(
        f"processor\t: {n}\nvendor_id\t: AuthenticAMD\nmodel name\t: QEMU\ncore id\t: {n}\nphysical id\t: 0\n\n"
        for n in range(2)
    )
    cpu = probe(write(tmp_path, files)).devices()[0]
    assert (cpu.vendor, cpu.isa, cpu.cores) == ("AMD", (), 2)


CGROUP_2 = {
    "proc/self/cgroup": "0::/kubepods/pod1\n",
    "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
    "sys/fs/cgroup/kubepods/cpu.max": "400000 100000\n",
    "sys/fs/cgroup/kubepods/pod1/cpu.max": "250000 100000\n",
    "sys/fs/cgroup/kubepods/pod1/cpu.stat": "usage_usec 1000000\nuser_usec 900000\n",
    "sys/fs/cgroup/kubepods/memory.max": f"{2 * 1024**3}\n",
    "sys/fs/cgroup/kubepods/memory.current": f"{1024**3}\n",
    "sys/fs/cgroup/kubepods/memory.stat": f"anon 1\ninactive_file {512 * 1024**2}\n",
    "sys/fs/cgroup/kubepods/pod1/memory.max": "max\n",
}
CGROUP_1 = {
    "proc/self/cgroup": "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n0::/\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{2 * 1024**3}\n",
    "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{1024**3}\n",
    "sys/fs/cgroup/memory/memory.stat": f"cache 1\ntotal_inactive_file {512 * 1024**2}\n",
    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "250000\n",
    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/cpu,cpuacct/cpuacct.usage": "1000000000\n",
}


@pytest.mark.parametrize("cgroup", [CGROUP_2, CGROUP_1], ids=["version 2", "version 1, mounted at its own group"])
def test_a_container_has_the_share_the_memory_and_the_load_of_its_limits(tmp_path, cgroup):
    host = probe(write(tmp_path, {**xeon(), **cgroup}))
    cpu = host.devices()[0]
    assert (cpu.share, cpu.cores) == (2.5 / 8, 3)
    assert (cpu.memory_bytes, cpu.usable_memory_bytes) == (16 * 1024**3, 2 * 1024**3)
    first = values(host)
    assert (first["cpu_limit_count"], first["memory_limit_bytes"]) == (2.5, 2.0 * 1024**3)
    assert first["memory_used_bytes"] == 0.5 * 1024**3
    write(tmp_path, {"proc/uptime": "1010.0 1.0\n"})  # ten seconds later, with 20 CPU seconds used of 25
    write(tmp_path, {
        "sys/fs/cgroup/kubepods/pod1/cpu.stat": "usage_usec 21000000\n",
        "sys/fs/cgroup/cpu,cpuacct/cpuacct.usage": "21000000000\n",
    })  # fmt: skip
    assert values(host)["utilization_percent"] == pytest.approx(80.0)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("sys/fs/cgroup/kubepods/pod1/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/kubepods/pod1/cpu.max", "6400000 100000\n"),
        ("sys/fs/cgroup/kubepods/pod1/cpu.max", "rubbish\n"),
    ],
)
def test_a_limit_that_does_not_bind_is_no_limit(tmp_path, path, text):
    files = {**xeon(), "proc/self/cgroup": "0::/kubepods/pod1\n", path: text}
    host = probe(write(tmp_path, files))
    assert host.devices()[0].share == 1.0
    assert values(host)["cpu_limit_count"] == "no control group sets one"


def test_version_1_says_unlimited_with_a_huge_number(tmp_path):
    files = {**xeon(), **CGROUP_1, "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}
    cpu = probe(write(tmp_path, files)).devices()[0]
    assert cpu.usable_memory_bytes == cpu.memory_bytes


def test_a_cpuset_leaves_the_cores_that_it_names(tmp_path):
    files = {**xeon(cores=4, threads=2), "proc/self/status": "Cpus_allowed_list:\t0-1,4-5\n"}
    cpu = probe(write(tmp_path, files)).devices()[0]
    assert (cpu.cores, cpu.share) == (2, 0.5)  # 0 and 4 are one core, 1 and 5 another


@pytest.mark.parametrize(
    ("vendor", "device", "code", "kind", "name"),
    [
        (0x10DE, 0x27B8, 0x030200, DeviceKind.GPU, "L4"),
        (0x10DE, 0x1EB8, 0x030200, DeviceKind.GPU, "T4"),
        (0x10DE, 0xABCD, 0x030000, DeviceKind.GPU, "PCI device 10de:abcd"),
        (0x1002, 0x74A1, 0x120000, DeviceKind.GPU, "Instinct MI300X"),
        (0x1D0F, 0x7064, 0x088000, DeviceKind.NEURON, "Inferentia"),
        (0x1D0F, 0x7164, 0x088000, DeviceKind.NEURON, "Trainium1"),
        (0x1D0F, 0x7264, 0x088000, DeviceKind.NEURON, "Inferentia2"),
        (0x1D0F, 0x7364, 0x088000, DeviceKind.NEURON, "Trainium2"),
        (0x1D0F, 0x7564, 0x088000, DeviceKind.NEURON, "Trainium3"),
        (0x1DA3, 0x1020, 0x120000, DeviceKind.GAUDI, "Gaudi2"),
        (0x1DA3, 0xFFFF, 0x120000, DeviceKind.GAUDI, "PCI device 1da3:ffff"),
        (0x8086, 0x0BDA, 0x038000, DeviceKind.GPU, "Data Center GPU Max 1100"),
    ],
)
def test_accelerators_are_known_by_their_pci_numbers(tmp_path, vendor, device, code, kind, name):
    host = probe(write(tmp_path, {**xeon(), **pci("0000:00:1e.0", vendor, device, code)}))
    _, seen = host.devices()
    assert (seen.device, seen.device_kind, seen.model) == ("pci:0000:00:1e.0", kind, name)
    assert (seen.memory_bytes, seen.cores, seen.source) == (None, None, "recorded")
    assert seen.missing["memory_bytes"] == "seen on the PCI bus; no driver was asked"
    assert "no " in seen.missing["driver_version"]
    assert host.unseen is None
    (sample,) = [sample for sample in host.sample() if sample.device == seen.device]
    assert (sample.metric, sample.value) == ("utilization_percent", None)
    assert values(host)["pci_accelerators_count"] == 1.0


@pytest.mark.parametrize(
    ("vendor", "device", "code"),
    [
        (0x10DE, 0x22A3, 0x068000),  # an NVSwitch
        (0x10DE, 0x10F7, 0x040300),  # a GPU's audio
        (0x1D0F, 0xEC20, 0x020000),  # an AWS network card
        (0x1D0F, 0x8061, 0x010802),  # an AWS disk
        (0x8086, 0x46A6, 0x030000),  # a laptop's graphics
        (0x1AF4, 0x1050, 0x030000),  # a virtual screen
    ],
)
def test_what_computes_nothing_is_no_accelerator(tmp_path, vendor, device, code):
    assert len(probe(write(tmp_path, {**xeon(), **pci("0000:00:1e.0", vendor, device, code)})).devices()) == 1


@pytest.mark.parametrize(
    "line",
    [
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.216.03  Thu Apr  3 01:14:19 UTC 2025\n",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.216.03  Release Build  (dvs-builder@x)\n",
        "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  535.216.03  Release\nGCC version:  gcc 13.3.0\n",
    ],
)
def test_the_nvidia_driver_says_its_version_and_the_model_in_proc(tmp_path, line):
    information = "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3b\n"
    files = {
        **xeon(),
        **pci("0000:62:00.0", 0x10DE, 0x2330),
        "proc/driver/nvidia/version": line,
        "proc/driver/nvidia/gpus/0000:62:00.0/information": information,
    }
    gpu = probe(write(tmp_path, files)).devices()[1]
    assert (gpu.model, gpu.driver_version) == ("NVIDIA H100 80GB HBM3", "535.216.03")
    assert gpu.uuid == "GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3b"


def test_a_uuid_that_the_driver_does_not_know_yet_is_unknown(tmp_path):
    information = "Model: \t\t Tesla T4\nGPU UUID: \t GPU-????????-????-????-????-????????????\n"
    files = {
        **xeon(),
        **pci("0000:00:1e.0", 0x10DE, 0x1EB8),
        "proc/driver/nvidia/gpus/0000:00:1e.0/information": information,
    }
    assert probe(write(tmp_path, files)).devices()[1].uuid is None


def test_neuron_and_amd_drivers_say_their_version_in_sys(tmp_path):
    files = {
        **xeon(),
        **pci("0000:00:1e.0", 0x1D0F, 0x7264, 0x088000),
        **pci("0000:00:1f.0", 0x1002, 0x740F, 0x038000),
        "sys/module/neuron/version": "2.16.7.0\n",
        "sys/module/amdgpu/version": "6.3.6\n",
        "sys/bus/pci/devices/0000:00:1f.0/mem_info_vram_total": "68702699520\n",
    }
    _, neuron, amd = probe(write(tmp_path, files)).devices()
    assert neuron.driver_version == "2.16.7.0"
    assert (amd.driver_version, amd.memory_bytes) == ("6.3.6", 68702699520)


def test_a_bus_that_cannot_be_read_is_said_and_is_not_no_device(tmp_path):
    files = {name: text for name, text in xeon().items() if not name.startswith("sys/")}
    host = probe(write(tmp_path, files))
    assert len(host.devices()) == 1
    assert "cannot be read" in (host.unseen or "")
    assert "cannot be read" in str(values(host)["pci_accelerators_count"])


def test_a_device_on_the_bus_that_says_nothing_is_said(tmp_path):
    files = {**xeon(), **pci("0000:00:1e.0", 0x10DE, 0x27B8), "sys/bus/pci/devices/0000:00:1f.0/vendor": "rubbish"}
    host = probe(write(tmp_path, files))
    assert len(host.devices()) == 2
    assert "1 of 3 devices" in (host.unseen or "")
    assert "1 of 3 devices" in str(values(host)["pci_accelerators_count"])


def test_rates_are_unknown_at_the_first_look_and_right_at_the_second(tmp_path):
    host = probe(write(tmp_path, xeon()))
    first = values(host)
    assert {name for name, value in first.items() if value == "it is a rate, and this was the first look"} == {
        "utilization_percent",
        "network_received_bytes_per_s",
        "network_sent_bytes_per_s",
        "disk_read_bytes_per_s",
        "disk_written_bytes_per_s",
    }
    assert (first["memory_used_bytes"], first["load_1min_count"]) == (4 * 1024**3, 1.5)
    write(tmp_path, {
        "proc/uptime": "1010.00 900.00\n",
        "proc/stat": stat(175, 925, 8),
        "proc/net/dev": NET.format(rx=11000, tx=1500),
        "proc/diskstats": DISK.format(r=28, w=16),
    })  # fmt: skip
    second = values(host)
    assert second["utilization_percent"] == pytest.approx(75.0)
    assert second["network_received_bytes_per_s"] == pytest.approx(1000.0)
    assert second["network_sent_bytes_per_s"] == pytest.approx(100.0)
    assert second["disk_read_bytes_per_s"] == pytest.approx(20 * 512 / 10)  # the partition is inside its disk
    assert second["disk_written_bytes_per_s"] == 0.0
    assert host.sample()[0].time_s == 1700001010.0


def test_counters_that_run_backwards_or_stand_still_give_no_rate(tmp_path):
    host = probe(write(tmp_path, xeon()))
    values(host)
    assert "no time has passed" in str(values(host)["disk_read_bytes_per_s"])
    assert "did not advance" in str(values(host)["utilization_percent"])
    write(tmp_path, {"proc/uptime": "1001.0 1\n", "proc/net/dev": NET.format(rx=10, tx=1)})
    assert "went backwards" in str(values(host)["network_received_bytes_per_s"])
    write(tmp_path, {"proc/uptime": "1002.0 1\n", "proc/net/dev": NET.replace("eth0", "eth9").format(rx=10, tx=1)})
    assert "none of it was there" in str(values(host)["network_received_bytes_per_s"])


def test_bridges_do_not_count_twice_where_the_kernel_names_real_devices(tmp_path):
    net = NET.format(rx=0, tx=0) + "  docker0: 5 0 0 0 0 0 0 0 5 0\n"
    host = probe(write(tmp_path, {**xeon(), "proc/net/dev": net, "sys/class/net/eth0/device/vendor": "0x1d0f"}))
    values(host)
    write(tmp_path, {"proc/uptime": "1001.0 1\n", "proc/net/dev": net.replace(": 5 ", ": 999999 ")})
    assert values(host)["network_received_bytes_per_s"] == 0.0


def test_the_power_of_all_packages_is_summed(tmp_path):
    rapl = {
        "sys/class/powercap/intel-rapl:0/energy_uj": "1000000\n",
        "sys/class/powercap/intel-rapl:1/energy_uj": "0\n",
    }
    core = {"sys/class/powercap/intel-rapl:0:0/energy_uj": "5\n"}
    host = probe(write(tmp_path, {**xeon(), **rapl, **core}))
    values(host)
    write(tmp_path, {
        "proc/uptime": "1002.0 1\n",
        "sys/class/powercap/intel-rapl:0/energy_uj": "201000000\n",
        "sys/class/powercap/intel-rapl:1/energy_uj": "100000000\n",
        "sys/class/powercap/intel-rapl:0:0/energy_uj": "999999999\n",
    })  # fmt: skip
    assert values(host)["power_watts"] == pytest.approx(150.0)


def test_an_empty_tree_gives_reasons_and_no_values(tmp_path):
    (tmp_path / "proc").mkdir()
    host = probe(tmp_path)
    values(host)
    assert all(isinstance(value, str) for value in values(host).values())
    assert [device.device for device in host.devices()] == ["cpu"]


def test_a_folder_that_holds_no_host_is_refused(tmp_path):
    with pytest.raises(DataError, match="neither a folder proc"):
        HostProbe(str(tmp_path / "nothing"))


def test_this_host_can_be_looked_at():
    HostProbe.check()
    host = HostProbe("")
    cpu = host.devices()[0]
    assert cpu.source == "measured"
    assert cpu.memory_bytes
    host.sample()
    time.sleep(0.05)
    found = values(host)
    assert isinstance(found["memory_used_bytes"], float)
    assert abs(host.sample()[0].time_s - time.time()) < 60


def test_the_host_keeps_the_promises_of_a_probe(tmp_path):
    check_probe(lambda: HostProbe(""))
    files = {**xeon(), **pci("0000:00:1e.0", 0x10DE, 0x27B8), **pci("0000:00:1f.0", 0x10DE, 0x27B8)}
    write(tmp_path, files)

    def lose(_probe: object) -> str:
        shutil.rmtree(tmp_path / "sys/bus/pci/devices/0000:00:1f.0")
        return "pci:0000:00:1f.0"

    unknown = [("pci:0000:00:1e.0", "utilization_percent"), ("cpu", "power_watts"), ("cpu", "cpu_limit_count")]
    check_probe(lambda: probe(tmp_path), unknown=unknown, lose=lose, source="recorded")


def test_an_accelerator_that_falls_off_the_bus_is_said_to_be_gone(tmp_path):
    host = probe(write(tmp_path, {**xeon(), **pci("0000:00:1e.0", 0x10DE, 0x27B8)}))
    host.sample()
    shutil.rmtree(tmp_path / "sys/bus/pci/devices/0000:00:1e.0")
    (sample,) = [sample for sample in host.sample() if sample.device.startswith("pci:")]
    assert sample.missing["value"] == "it is no longer on the PCI bus"


def test_without_proc_psutil_tells_what_it_can(monkeypatch):
    monkeypatch.setattr("brimful.probes.host.Path.exists", lambda _: False)
    HostProbe.check()
    host = HostProbe("")
    (cpu,) = host.devices()
    assert cpu.memory_bytes
    assert host.unseen
    first, second = values(host), values(host)
    assert first["utilization_percent"] == "it is a rate, and this was the first look"
    assert isinstance(second["utilization_percent"], float)
    assert portable.device() == cpu
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(Unavailable, match="cannot be looked at"):
        HostProbe.check()


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Give up root, for whom nothing is denied."""
    if os.getuid() == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(os.getuid())


def test_no_permission_is_a_reason_and_no_error():
    with tempfile.TemporaryDirectory() as folder:  # not tmp_path, which only its owner may enter
        root = write(Path(folder), {**xeon(), **pci("0000:00:1e.0", 0x10DE, 0x27B8)})
        root.chmod(0o755)
        (root / "sys/bus/pci/devices").chmod(0)
        (root / "proc/meminfo").chmod(0)
        with as_nobody():
            host = probe(root)
            (cpu,) = host.devices()
            used = values(host)["memory_used_bytes"]
        (root / "sys/bus/pci/devices").chmod(0o755)
    why = "/sys/bus/pci/devices cannot be read (Permission denied): whether there are accelerators is not known"
    assert host.unseen == why
    assert (cpu.memory_bytes, cpu.cores) == (None, 4)
    assert used == "/proc/meminfo does not tell it"


FUZZED = [
    "proc/cpuinfo", "proc/stat", "proc/meminfo", "proc/uptime", "proc/loadavg", "proc/self/status", "proc/self/cgroup",
    "proc/net/dev", "proc/diskstats", "proc/sys/kernel/hostname", "proc/driver/nvidia/version",
    "proc/driver/nvidia/gpus/0000:00:1e.0/information", "sys/bus/pci/devices/0000:00:1e.0/vendor",
    "sys/bus/pci/devices/0000:00:1e.0/mem_info_vram_total", "sys/fs/cgroup/kubepods/pod1/cpu.max",
    "sys/fs/cgroup/kubepods/memory.max", "sys/fs/cgroup/kubepods/pod1/cpu.stat",
    "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "sys/class/powercap/intel-rapl:0/energy_uj",
]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_content_of_any_file_raises_anything_but_an_error_for_people(tmp_path, data):
    base = {**xeon(), **CGROUP_2, **pci("0000:00:1e.0", 0x10DE, 0x27B8)}
    root = write(tmp_path, {name: base.get(name, "1\n") for name in {*base, *FUZZED}})
    name = data.draw(st.sampled_from(FUZZED))
    original = str(base.get(name, "1000000\n"))
    numbers = st.sampled_from(["0", "-1", "18446744073709551616", "9" * 5000, "1e400", "nan", "", "max", "²", "\ud7ff"])
    changed = st.one_of(
        st.binary(max_size=200),
        numbers.map(lambda number: "".join(number if char.isdigit() else char for char in original[:400]).encode()),
        st.integers(0, len(original)).map(lambda cut: original[:cut].encode()),
    )
    write(root, {name: data.draw(changed)})
    try:
        host = probe(root)
        host.devices()
        host.sample()
        write(root, {name: data.draw(changed)})
        host.sample()
    except BrimfulError:
        pass


@given(st.text(max_size=20))
def test_a_cpu_list_is_a_set_or_nothing(text):
    found = cpu_list(text)
    assert found is None or all(0 <= cpu <= 0xFFFF for cpu in found)


def test_cpu_lists_are_read_as_the_kernel_writes_them():
    assert cpu_list("0-3,8,10-11") == {0, 1, 2, 3, 8, 10, 11}
    assert cpu_list("3-0") is None
