"""Simulated devices, for tests and demonstrations. Nothing here looks at any hardware.

Every value is a pure function of (seed, device, metric, tick): two probes made alike say the same, in any order of
calls, on any machine. What the figures look like is meant to be plausible, and is no statement about a product.
"""

from __future__ import annotations

import difflib
import re
import time
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from brimful.model.errors import UsageError
from brimful.model.evidence import Sample
from brimful.model.hardware import Device, DeviceKind
from brimful.model.noun import with_gaps
from brimful.model.units import GIB

METRICS = ("utilization_percent", "memory_used_bytes", "power_watts", "temperature_celsius")
STATES = ("busy", "idle", "held", "silent")
_EPOCH_S = 1_767_225_600.0  # 2026-01-01, so that a run without start= is the same for ever
_MOST_DEVICES = 100_000
_AMBIENT_CELSIUS = 28.0


class _Model(NamedTuple):
    kind: DeviceKind
    vendor: str
    memory_bytes: int
    power_watts: float | None


class _Spec(NamedTuple):
    models: tuple[str, ...]
    seed: int
    states: tuple[str, ...]
    lost_at: dict[int, int]
    start_s: float
    every_s: float


_GPU, _NEURON = DeviceKind.GPU, DeviceKind.NEURON
_MODELS = {
    "T4": _Model(_GPU, "NVIDIA", 16 * GIB, 70.0),
    "L4": _Model(_GPU, "NVIDIA", 24 * GIB, 72.0),
    "A10G": _Model(_GPU, "NVIDIA", 24 * GIB, 300.0),
    "L40S": _Model(_GPU, "NVIDIA", 48 * GIB, 350.0),
    "A100": _Model(_GPU, "NVIDIA", 80 * GIB, 400.0),
    "H100": _Model(_GPU, "NVIDIA", 80 * GIB, 700.0),
    "H200": _Model(_GPU, "NVIDIA", 141 * GIB, 700.0),
    "B200": _Model(_GPU, "NVIDIA", 180 * GIB, 1000.0),
    "MI300X": _Model(_GPU, "AMD", 192 * GIB, 750.0),
    "Gaudi2": _Model(DeviceKind.GAUDI, "Intel", 96 * GIB, 600.0),
    "Inferentia2": _Model(_NEURON, "AWS", 32 * GIB, None),
    "Trainium1": _Model(_NEURON, "AWS", 32 * GIB, None),
    "Trainium2": _Model(_NEURON, "AWS", 96 * GIB, None),
    "CPU": _Model(DeviceKind.CPU, "nobody", 64 * GIB, None),
}

# state -> share of the metric's full scale (utilisation, memory, power), and by how much it moves
_SHARES = {"busy": (0.91, 0.72, 0.88), "idle": (0.0, 0.01, 0.14), "held": (0.0, 0.70, 0.24), "silent": (0.0, 0.4, 0.0)}
_SWING = 0.08


class FakeProbe:
    """Simulated devices: `fake:8xL4`, `fake:2xH100,1xCPU,seed=3`.

    Options: `states=busy/idle/held/silent` (given to the devices in turn), `lose=1@3` (device 1 vanishes at the fourth
    sample), `seed=N`, `every=SECONDS` between samples, `start=SECONDS` or `start=now`.
    """

    def __init__(self, where: str) -> None:
        self._spec = _parse(where or "2xL4")
        self._tick = 0

    @classmethod
    def check(cls) -> None:
        """Do nothing: it works everywhere."""

    def devices(self) -> Sequence[Device]:
        """Return the devices that have not vanished by now."""
        return [_device(self._spec, index) for index in range(len(self._spec.models)) if not self._lost(index)]

    def sample(self) -> Sequence[Sample]:
        """Return every metric of every device, and move on by one tick."""
        samples = [self._sample(index, metric) for index in range(len(self._spec.models)) for metric in METRICS]
        self._tick += 1
        return samples

    def close(self) -> None:
        """Do nothing: nothing is held."""

    def _lost(self, index: int) -> bool:
        return self._tick >= self._spec.lost_at.get(index, self._tick + 1)

    def _sample(self, index: int, metric: str) -> Sample:
        spec = self._spec
        time_s = spec.start_s + self._tick * spec.every_s
        name = _name(spec.models[index], index)
        gap = "the simulated device has vanished" if self._lost(index) else _gap(spec, index, metric)
        if gap is not None:
            return Sample(time_s=time_s, device=name, metric=metric, missing={"value": gap})
        return Sample(time_s=time_s, device=name, metric=metric, value=_value(spec, index, metric, self._tick))


def _name(model: str, index: int) -> str:
    return f"{_MODELS[model].kind}{index}"


def _device(spec: _Spec, index: int) -> Device:
    name = spec.models[index]
    model = _MODELS[name]
    return with_gaps(
        Device,
        "the device is simulated",
        device=_name(name, index),
        device_kind=model.kind,
        vendor=model.vendor,
        model=name,
        host="simulated",
        index=index,
        uuid=f"FAKE-{spec.seed}-{index}",
        memory_bytes=model.memory_bytes,
        power_cap_watts=model.power_watts,
        source="simulated",
    )


def _state(spec: _Spec, index: int) -> str:
    return spec.states[index % len(spec.states)]


def _gap(spec: _Spec, index: int, metric: str) -> str | None:
    """Say why a metric has no value, if it has none."""
    if metric == "power_watts" and _MODELS[spec.models[index]].power_watts is None:
        return "the simulated device has no power meter"
    if _state(spec, index) == "silent" and metric in ("utilization_percent", "power_watts"):
        return "the simulated driver does not answer for it"
    return None


def _value(spec: _Spec, index: int, metric: str, tick: int) -> float:
    model = _MODELS[spec.models[index]]
    busy, memory, power = _SHARES[_state(spec, index)]
    text = f"{spec.seed}/{index}/{metric}/{tick}"
    wobble = (zlib.crc32(text.encode()) / 0xFFFFFFFF * 2 - 1) * _SWING if busy else 0.0
    if metric == "utilization_percent":
        return round(100 * min(1.0, busy + wobble), 1)
    if metric == "memory_used_bytes":
        return float(int(model.memory_bytes * (memory + wobble / 4)))
    if metric == "power_watts":
        return round((model.power_watts or 0.0) * (power + wobble), 1)
    return round(_AMBIENT_CELSIUS + 45 * (power + wobble), 1)


def _parse(where: str) -> _Spec:
    models: list[str] = []
    options: dict[str, str] = {}
    lost_at: dict[int, int] = {}
    for part in (part.strip() for part in where.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            models += _group(part)
        elif name == "lose":
            device, _, tick = value.partition("@")
            lost_at[_whole(part, device)] = _whole(part, tick)
        elif name in ("seed", "states", "every", "start"):
            options[name] = value
        else:
            raise _wrong(part, f"the options are seed, states, lose, every and start, not {name!r}")
    if not 0 < len(models) <= _MOST_DEVICES or any(index >= len(models) for index in lost_at):
        raise _wrong(where, f"it names {len(models)} devices: 1 to {_MOST_DEVICES}, and those to lose among them")
    return _Spec(
        models=tuple(models),
        seed=_whole("seed", options.get("seed", "0")),
        states=_states(options.get("states", "/".join(STATES))),
        lost_at=lost_at,
        start_s=time.time() if options.get("start") == "now" else _seconds("start", options, _EPOCH_S),
        every_s=_seconds("every", options, 1.0),
    )


def _group(part: str) -> list[str]:
    match = re.fullmatch(r"(?:([0-9]{1,6})x)?([A-Za-z][A-Za-z0-9]*)", part)
    by_lower = {name.lower(): name for name in _MODELS}
    if match is None or match[2].lower() not in by_lower:
        near = difflib.get_close_matches(match[2].lower() if match else part.lower(), by_lower, n=1)
        hint = f"; did you mean {by_lower[near[0]]}?" if near else ""
        raise _wrong(part, f"the simulated models are {', '.join(_MODELS)}{hint}")
    return [by_lower[match[2].lower()]] * int(match[1] or 1)


def _states(text: str) -> tuple[str, ...]:
    states = tuple(text.split("/"))
    if not set(states) <= set(STATES):
        raise _wrong(f"states={text}", f"the states are {', '.join(STATES)}, divided by /")
    return states


def _whole(what: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise _wrong(what, f"{text!r} is no whole number (a device to lose is written lose=1@3)")
    return int(text)


def _seconds(name: str, options: dict[str, str], default: float) -> float:
    text = options.get(name, str(default))
    if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", text):
        raise _wrong(f"{name}={text}", f"{text!r} is no number of seconds")
    return float(text)


def _wrong(part: str, why: str) -> UsageError:
    return UsageError(
        f"the simulated devices {part!r} cannot be read",
        why=why,
        fix="write a count and a model, and options after commas, e.g. fake:8xL4,seed=3,lose=1@3",
    )
