"""The settings that are tried on a device: engine, precision, batches; what may cost accuracy only when allowed."""

from __future__ import annotations

from dataclasses import dataclass

from brimful.advise.fit.query import generates
from brimful.advise.fit.request import Load, Request
from brimful.model.hardware import Chip, DeviceKind
from brimful.model.work import Profile

_GPU_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_CPU_BATCHES = (1, 8, 64)  # a core is full with one sample: few sizes tell enough
_TRAIN_BATCHES = {False: (8, 16, 32, 64, 128, 256), True: (8, 32)}
_TOKEN_BATCHES = {False: (1, 4, 16, 64, 256), True: (1, 4, 16)}
_SERVERS = ("vllm", "trtllm")  # of language models on NVIDIA's devices
_NO_TRAINING = ("Inferentia", "Inferentia2")


@dataclass(frozen=True, slots=True)
class Try:
    """One way to run a model on a device."""

    engine: str
    precision: str
    compiled: str | None = None


def ways(chip: Chip, profile: Profile, request: Request) -> tuple[Try, ...] | str:
    """Return the ways to try on a device, or why there is none."""
    engines = _engines(chip, profile, request)
    if request.engine is not None:
        engines = tuple(name for name in engines if name == request.engine) or _asked(chip, request.engine)
    if not engines:
        what = f"{request.engine} does not run on it" if request.engine else "no engine that brimful knows trains on it"
        return f"{chip.model}: {what}"
    precisions = _precisions(chip, profile, request)
    if not precisions:
        return f"{chip.model} has no unit for {request.precision}"
    return tuple(
        Try(engine, precision, "inductor" if engine == "torch" and chip.kind is DeviceKind.GPU else None)
        for engine in engines
        for precision in precisions
    )


def _engines(chip: Chip, profile: Profile, request: Request) -> tuple[str, ...]:
    training = request.load is Load.TRAINING
    if chip.kind is DeviceKind.NEURON:
        return () if training and chip.model in _NO_TRAINING else ("neuron",)
    if training:
        return ("torch",)
    if chip.kind is DeviceKind.CPU:
        return ("openvino",) if chip.vendor in ("Intel", "AMD") else ("onnxruntime",)
    if chip.vendor != "NVIDIA":
        return ("openvino",) if chip.vendor == "Intel" else ("torch",)
    return _SERVERS if generates(profile) and request.sequence is None else ("tensorrt", "torch")


def _asked(chip: Chip, engine: str) -> tuple[str, ...]:
    """Return an engine that is not tried by itself, where it runs on such a device at all."""
    runs = {
        "tensorrt": chip.vendor == "NVIDIA", "trtllm": chip.vendor == "NVIDIA",
        "neuron": chip.kind is DeviceKind.NEURON,
        "openvino": chip.vendor in ("Intel", "AMD"), "vllm": chip.kind in (DeviceKind.GPU, DeviceKind.CPU),
        "sglang": chip.kind is DeviceKind.GPU,
    }  # fmt: skip
    return (engine,) if runs.get(engine, chip.kind in (DeviceKind.GPU, DeviceKind.CPU)) else ()


def _precisions(chip: Chip, profile: Profile, request: Request) -> tuple[str, ...]:
    if request.precision is not None:
        return (request.precision,) if _has(chip, request.precision) else ()
    found = _usual(chip, profile)
    if request.allow_int8 and "int8" in chip.peak_flops and request.load is not Load.TRAINING:
        found = (*found, "int8")
    return found


def _has(chip: Chip, precision: str) -> bool:
    """Say whether a device computes in a precision, or may keep its weights in it (int4, fp8, fp4)."""
    return precision in chip.peak_flops or precision in ("fp32", "int4", "fp4", "fp8")


def _usual(chip: Chip, profile: Profile) -> tuple[str, ...]:
    """Return the precisions that cost no accuracy to speak of, as people take them on such a device."""
    if chip.kind is DeviceKind.CPU:
        quick = any(name in chip.isa for name in ("amx_bf16", "avx512_bf16"))
        return ("fp32", "bf16") if quick else ("fp32",)
    if chip.kind is DeviceKind.NEURON:
        return ("bf16",)
    if profile.transformer is not None and profile.transformer.decoder and "bf16" in chip.peak_flops:
        return ("bf16",)
    return ("fp16",) if "fp16" in chip.peak_flops else ("fp32",)


def batches(chip: Chip, profile: Profile, request: Request) -> tuple[int, ...]:
    """Return the batches to try; one that is asked for stands alone."""
    if request.batch is not None:
        return (request.batch,)
    cpu = chip.kind is DeviceKind.CPU
    if request.load is Load.TRAINING:
        return _TRAIN_BATCHES[cpu]
    if generates(profile) and request.sequence is None:
        return _TOKEN_BATCHES[cpu]
    return _CPU_BATCHES if cpu else _GPU_BATCHES
