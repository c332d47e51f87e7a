"""What an architecture computes in one clock, and from that a device's peak rates: units x clock x work in a clock.

One table for GPUs (work of a streaming multiprocessor, compute unit, Xe core or execution unit) and one for CPUs (work
of a core). A multiplication and an addition count as two. Matrix units count wherever a framework uses them without
being asked, so that the peak is a bound for what can be measured.

Tensor rates come in two sizes: products of fp16 may be summed in fp32, as frameworks do, or in fp16. GeForce cards do
the first at half the rate of the second, the professional cards of the same chip do not. `fp16` here is with sums in
fp32; where sums in fp16 are faster, that rate stands beside it as `fast`.

Sources: the makers' architecture white papers and programming guides, and for CPUs the vendors' optimisation manuals.
Without a dot-product instruction a CPU multiplies 8-bit integers in pairs and adds the sums up: twice the rate of fp32
at best (OpenVINO reaches 1.7 times on Coffee Lake).
"""

from __future__ import annotations

from dataclasses import dataclass

# (fp64, fp32, tf32, fp16, bf16, fp8, int8, int4, fp4) of one unit in one clock; 0 where it has none. The fp16 of
# architectures with tensor cores is the rate with sums in fp16; `half` parts halve what is summed in fp32.
_NAMES = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "int4", "fp4")
_GPU: dict[str, tuple[int, ...]] = {
    "Kepler sm30": (16, 384, 0, 0, 0, 0, 0, 0, 0),
    "Kepler sm35": (128, 384, 0, 0, 0, 0, 0, 0, 0),
    "Kepler sm37": (128, 384, 0, 0, 0, 0, 0, 0, 0),
    "Maxwell sm52": (8, 256, 0, 0, 0, 0, 0, 0, 0),
    "Maxwell sm53": (8, 256, 0, 512, 0, 0, 0, 0, 0),
    "Pascal sm60": (128, 128, 0, 256, 0, 0, 0, 0, 0),
    "Pascal sm61": (8, 256, 0, 0, 0, 0, 1024, 0, 0),
    "Pascal sm62": (8, 256, 0, 512, 0, 0, 0, 0, 0),
    "Volta sm70": (64, 128, 0, 1024, 0, 0, 512, 0, 0),
    "Volta sm72": (4, 128, 0, 1024, 0, 0, 2048, 0, 0),
    "Turing sm75": (4, 128, 0, 1024, 0, 0, 2048, 4096, 0),
    "Turing sm75 without tensor cores": (4, 128, 0, 256, 0, 0, 512, 0, 0),
    "Ampere sm80": (128, 128, 1024, 2048, 2048, 0, 4096, 8192, 0),
    "Ampere sm86": (4, 256, 512, 1024, 1024, 0, 2048, 4096, 0),
    "Ampere sm87": (4, 256, 1024, 2048, 2048, 0, 4096, 8192, 0),
    "Ada sm89": (4, 256, 512, 1024, 1024, 2048, 2048, 4096, 0),
    "Hopper sm90": (256, 256, 2048, 4096, 4096, 8192, 8192, 0, 0),
    "Blackwell sm100": (128, 256, 4096, 8192, 8192, 16384, 16384, 0, 32768),
    "Blackwell Ultra sm103": (4, 256, 4096, 8192, 8192, 16384, 512, 0, 49152),
    "Blackwell sm110": (4, 256, 4096, 8192, 8192, 16384, 16384, 0, 32768),
    "Blackwell sm120": (4, 256, 512, 1024, 1024, 2048, 2048, 0, 4096),
    "Blackwell sm121": (4, 256, 512, 1024, 1024, 2048, 2048, 0, 4096),
    "GCN4 gfx803": (8, 128, 0, 128, 0, 0, 0, 0, 0),
    "GCN5 gfx900": (8, 128, 0, 256, 0, 0, 0, 0, 0),
    "GCN5 gfx906": (64, 128, 0, 256, 0, 0, 512, 0, 0),
    "CDNA1 gfx908": (64, 256, 0, 1024, 512, 0, 1024, 0, 0),
    "CDNA2 gfx90a": (256, 256, 0, 1024, 1024, 0, 1024, 0, 0),
    "CDNA3 gfx942": (256, 256, 1024, 2048, 2048, 4096, 4096, 0, 0),
    "CDNA4 gfx950": (128, 256, 0, 4096, 4096, 8192, 8192, 0, 16384),
    "RDNA1 gfx1010": (8, 128, 0, 256, 0, 0, 0, 0, 0),
    "RDNA1 gfx1011": (8, 128, 0, 256, 0, 0, 512, 0, 0),
    "RDNA2 gfx1030": (8, 128, 0, 256, 0, 0, 512, 1024, 0),
    "RDNA2 gfx1031": (8, 128, 0, 256, 0, 0, 512, 1024, 0),
    "RDNA2 gfx1032": (8, 128, 0, 256, 0, 0, 512, 1024, 0),
    "RDNA3 gfx1100": (8, 256, 0, 512, 512, 0, 512, 1024, 0),
    "RDNA3 gfx1101": (8, 256, 0, 512, 512, 0, 512, 1024, 0),
    "RDNA3 gfx1102": (8, 256, 0, 512, 512, 0, 512, 1024, 0),
    "RDNA3 gfx1103": (8, 256, 0, 512, 512, 0, 512, 1024, 0),
    "RDNA3.5 gfx1150": (8, 256, 0, 512, 512, 0, 512, 1024, 0),
    "RDNA3.5 gfx1151": (8, 256, 0, 512, 512, 0, 512, 1024, 0),
    "RDNA4 gfx1200": (8, 256, 0, 1024, 1024, 2048, 2048, 4096, 0),
    "RDNA4 gfx1201": (8, 256, 0, 1024, 1024, 2048, 2048, 4096, 0),
    # Intel: an execution unit up to Xe-LPG+, a Xe core from Xe-HPG on
    "Gen9.5": (4, 16, 0, 32, 0, 0, 0, 0, 0),
    "Gen11": (0, 16, 0, 32, 0, 0, 0, 0, 0),
    "Xe-LP": (0, 16, 0, 32, 0, 0, 64, 0, 0),
    "Xe-LPG": (2, 16, 0, 32, 0, 0, 64, 0, 0),
    "Xe-LPG+": (2, 16, 0, 128, 128, 0, 256, 512, 0),
    "Xe-HPG": (0, 256, 0, 2048, 2048, 0, 4096, 8192, 0),
    "Xe2-HPG": (16, 256, 0, 2048, 2048, 0, 4096, 8192, 0),
    "Xe2-LPG": (16, 256, 0, 2048, 2048, 0, 4096, 8192, 0),
    "Xe3-LPG": (16, 256, 0, 2048, 2048, 0, 4096, 8192, 0),
    "Xe-HPC": (256, 256, 2048, 4096, 4096, 0, 8192, 0, 0),
}
_SUMMED_IN_FP32 = ("tf32", "fp16", "bf16", "fp8")


def gpu_rates(architecture: str, units: int, boost_mhz: float, sums: str) -> tuple[dict[str, float], float | None]:
    """Return a GPU's peaks by precision, and its fp16 peak with sums in fp16 when that is another one."""
    work = dict(zip(_NAMES, _GPU[architecture], strict=True))
    clock = units * boost_mhz * 1e6
    fast = clock * work["fp16"] if sums == "half" else None
    if sums == "half":
        work |= {name: work[name] // 2 for name in _SUMMED_IN_FP32}
    return {name: clock * each for name, each in work.items() if each}, fast


@dataclass(frozen=True, slots=True)
class Core:
    """What one core of a CPU does in a clock, and the instructions that do it, in the kernel's names."""

    maker: str
    fp32: float
    int8: float
    isa: tuple[str, ...] = ()
    bf16: float = 0
    fp16: float = 0

    def rates(self) -> dict[str, float]:
        """Return the work of a clock by precision; fp64 is half of fp32 on every core here."""
        work = {"fp64": self.fp32 / 2, "fp32": self.fp32, "bf16": self.bf16, "fp16": self.fp16, "int8": self.int8}
        return {name: each for name, each in work.items() if each}


_AVX2 = ("avx2", "fma")
_AVX512 = (*_AVX2, "avx512f")
_VNNI = (*_AVX512, "avx512_vnni")
_AMX = (*_VNNI, "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16")
_AVX_VNNI = (*_AVX2, "avx_vnni")
_NEON = ("asimd",)
_DOT = ("asimd", "asimdhp", "asimddp")
_MATRIX = (*_DOT, "i8mm", "bf16")
_SVE, _SVE2 = (*_MATRIX, "sve"), (*_MATRIX, "sve", "sve2")

CORES: dict[str, Core] = {
    "Penryn": Core("Intel", 8, 0, ("sse4_1",)),
    "Sandy Bridge-EP": Core("Intel", 16, 0, ("avx",)),
    "Ivy Bridge-EP": Core("Intel", 16, 0, ("avx",)),
    "Haswell-EP": Core("Intel", 32, 64, _AVX2),
    "Haswell-EX": Core("Intel", 32, 64, _AVX2),
    "Broadwell-EP": Core("Intel", 32, 64, _AVX2),
    "Skylake": Core("Intel", 32, 64, _AVX2),  # the client core, sold as Kaby, Coffee and Comet Lake too
    "Skylake-SP": Core("Intel", 64, 128, _AVX512),
    "Cascade Lake-SP": Core("Intel", 64, 256, _VNNI),
    "Cascade Lake-SP 1 FMA": Core("Intel", 32, 128, _VNNI),
    "Cooper Lake-SP": Core("Intel", 64, 256, (*_VNNI, "avx512_bf16"), bf16=128),
    "Ice Lake-SP": Core("Intel", 64, 256, _VNNI),
    "Tiger Lake": Core("Intel", 32, 128, _VNNI),
    "Rocket Lake": Core("Intel", 32, 128, _VNNI),
    "Sapphire Rapids": Core("Intel", 64, 2048, _AMX, bf16=1024, fp16=128),
    "Emerald Rapids": Core("Intel", 64, 2048, _AMX, bf16=1024, fp16=128),
    "Granite Rapids": Core("Intel", 64, 2048, (*_AMX, "amx_fp16"), bf16=1024, fp16=1024),
    "Sierra Forest": Core("Intel", 16, 64, _AVX_VNNI),
    "Golden Cove": Core("Intel", 32, 128, _AVX_VNNI),
    "Redwood Cove": Core("Intel", 32, 128, _AVX_VNNI),
    "Lion Cove": Core("Intel", 32, 128, _AVX_VNNI),
    "Cougar Cove": Core("Intel", 32, 128, _AVX_VNNI),
    "Gracemont": Core("Intel", 16, 64, _AVX_VNNI),
    "Crestmont": Core("Intel", 16, 64, _AVX_VNNI),
    "Skymont": Core("Intel", 32, 128, _AVX_VNNI),
    "Darkmont": Core("Intel", 32, 128, _AVX_VNNI),
    "Tremont": Core("Intel", 8, 16, ("sse4_2",)),
    "Zen 1": Core("AMD", 16, 32, _AVX2),
    "Zen 2": Core("AMD", 32, 64, _AVX2),
    "Zen 3": Core("AMD", 32, 64, _AVX2),
    "Zen 4": Core("AMD", 32, 128, (*_VNNI, "avx512_bf16"), bf16=64),
    "Zen 5": Core("AMD", 64, 256, (*_VNNI, "avx512_bf16", "avx_vnni"), bf16=128),
    "Zen 5 mobile": Core("AMD", 32, 128, (*_VNNI, "avx512_bf16", "avx_vnni"), bf16=64),
    "Cortex-A53": Core("Arm", 8, 16, _NEON),
    "Cortex-A55": Core("Arm", 8, 32, _DOT, fp16=16),
    "Cortex-A72": Core("Arm", 8, 16, _NEON),
    "Cortex-A73": Core("Arm", 8, 16, _NEON),
    "Cortex-A76": Core("Arm", 16, 64, _DOT, fp16=32),
    "Cortex-A78AE": Core("Arm", 16, 64, _DOT, fp16=32),
    "Carmel": Core("NVIDIA", 16, 32, ("asimd", "asimdhp"), fp16=32),
    "Neoverse N1": Core("Arm", 16, 64, _DOT, fp16=32),
    "Neoverse V1": Core("Arm", 32, 256, _SVE, bf16=128, fp16=64),
    "Neoverse V2": Core("Arm", 32, 256, _SVE2, bf16=128, fp16=64),
    "Neoverse V3": Core("Arm", 32, 256, _SVE2, bf16=128, fp16=64),
    "AmpereOne": Core("Arm", 16, 128, _MATRIX, bf16=64, fp16=32),
    "Firestorm": Core("Apple", 32, 128, _DOT, fp16=64),
    "Icestorm": Core("Apple", 16, 64, _DOT, fp16=32),
    "Avalanche": Core("Apple", 32, 256, _MATRIX, bf16=128, fp16=64),
    "Everest": Core("Apple", 32, 256, _MATRIX, bf16=128, fp16=64),
    "Sawtooth": Core("Apple", 16, 128, _MATRIX, bf16=64, fp16=32),
    "M4 P-core": Core("Apple", 32, 256, _MATRIX, bf16=128, fp16=64),
}
