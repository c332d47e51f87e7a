"""How long a pass takes, from the roofline of each of its operations and a few learned efficiencies.

An operation takes what the slower of its arithmetic and its traffic takes, each at a learned share of the device's
peak, and a fixed time on top. The logarithms of these three are sums over what describes the case (its class of device,
its engine, its precision, its layout, its architecture, its chip), so a combination that nobody measured is still the
sum of parts that somebody did. A pass is the sum of its operations, or what the host needs to start them, if that is
longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from brimful.advise.fit.case import KINDS, Array, Case, sums
from brimful.model.hardware import Chip, DeviceKind
from brimful.model.work import Mode, OpKind

SHARP = 3.0  # how sharply the slower of two replaces their sum; both overlap a little on real devices
PARTS = 3  # arithmetic, traffic, fixed time
WIDTH = PARTS * len(KINDS) + 2  # ... of each kind, then the whole pass, then what the host needs for one operation
WHOLE, HOST = WIDTH - 2, WIDTH - 1
START = np.concatenate([np.full(len(KINDS), 0.4), np.full(len(KINDS), 0.4), np.full(len(KINDS), -11.5), [0.0, -12.0]])

PHASES = ("prefill", "decode")  # of a language model: hardware works quite differently in the two

_COMPUTE = {OpKind.CONV, OpKind.GROUPED, OpKind.MATMUL, OpKind.ATTENTION, OpKind.RECURRENT}
COMPUTED = np.array([kind in _COMPUTE for kind in KINDS])
_ON_VECTORS = np.array([kind not in _COMPUTE for kind in KINDS])


@dataclass(frozen=True)
class Terms:
    """The operations of many cases in one table, ready for parameters; `case` says whose each row is."""

    case: npt.NDArray[np.intp]
    kind: npt.NDArray[np.intp]
    count: Array
    compute_s: Array  # at the peak
    traffic_s: Array  # at the full bandwidth
    extra_s: Array  # a case: what its devices exchange
    cases: int


@dataclass(frozen=True)
class Times:
    """What a pass takes, and what of it each kind takes by which cause."""

    log_s: Array  # a case
    row_s: Array  # a row of the terms, all its operations together
    parts: tuple[Array, Array, Array]  # a row of the terms: arithmetic, traffic, fixed time


def terms(cases: Sequence[Case]) -> Terms:
    """Lay the operations of all cases under one another."""
    rows: list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Array, Array, Array]] = []
    extra = np.zeros(len(cases))
    for place, case in enumerate(cases):
        ops, factor = case.ops, case.batch / case.ops.samples / case.split
        rate = np.where(_ON_VECTORS[ops.kind], case.peak("fp32"), case.peak())
        weight_bytes = np.where(np.isnan(ops.weight_bits), case.weight_bytes, ops.weight_bits / 8)
        traffic = (ops.read + ops.write) * factor * case.activation_bytes + ops.weights / case.split * weight_bytes
        passes = 3.0 if case.mode is Mode.TRAINING else 1.0  # backwards costs twice what forwards does
        rows.append(
            (
                np.full(len(ops.kind), place),
                ops.kind,
                ops.count,
                passes * ops.flops * factor / rate,
                passes * traffic / case.bandwidth,
            )
        )
        extra[place] = _exchange_s(case)
    whose, kind, count, compute_s, traffic_s = (np.concatenate(column) for column in zip(*rows, strict=True))
    return Terms(whose, kind, count, compute_s, traffic_s, extra, len(cases))


_EXCHANGE_START_S = 8e-6  # one small all-reduce inside a machine
_PCIE_BYTES_PER_S = 2.5e10


def _exchange_s(case: Case) -> float:
    if case.split == 1:
        return 0.0
    link = case.chip.link_bytes_per_s
    rate = link / 2 if link else (case.chip.pcie_bytes_per_s or _PCIE_BYTES_PER_S)
    sent = case.exchanged_elements * case.batch / case.ops.samples * case.activation_bytes
    return case.exchanges * _EXCHANGE_START_S + sent * 2 * (case.split - 1) / case.split / rate


def times(found: Terms, parameters: Array) -> Times:
    """Return what passes take; `parameters` has a row of WIDTH for each case."""
    width = len(KINDS)
    own = parameters[found.case]
    rows = np.arange(len(found.kind))
    arithmetic = found.compute_s * np.exp(own[rows, found.kind])
    traffic = found.traffic_s * np.exp(own[rows, width + found.kind])
    fixed = np.exp(own[rows, 2 * width + found.kind])
    row_s = (slower(arithmetic, traffic) + fixed) * found.count
    device = sums(found.case, row_s, found.cases) + found.extra_s
    host = sums(found.case, found.count, found.cases) * np.exp(parameters[:, HOST])
    log_s = np.log(slower(device, host) + 1e-30) + parameters[:, WHOLE]
    return Times(log_s, row_s, (arithmetic * found.count, traffic * found.count, fixed * found.count))


def slower(one: Array, other: Array) -> Array:
    """Return the larger of two, rounded off where they are alike."""
    most = np.maximum(np.maximum(one, other), 1e-300)
    longer: Array = most * ((one / most) ** SHARP + (other / most) ** SHARP) ** (1 / SHARP)
    return longer


# --- what describes a case ---


_FRAMEWORKS = ("tensorflow", "keras", "mxnet", "jax", "flax", "paddle", "onnxruntime")


def levels(case: Case) -> Iterator[str]:
    """Yield what the parameters of a case are the sum of, the general first."""
    family = case.chip.kind.value
    engine = f"{case.engine}-{case.compiled}" if case.engine == "torch" else case.engine
    yield f"class {family}"
    if engine in _FRAMEWORKS and family != "cpu":
        yield f"engine {family} torch-eager"  # what a framework does that starts operations one by one, then its own
    yield f"engine {family} {engine}"
    yield f"precision {family} {case.precision}"
    yield f"precision {family} {engine} {case.precision}"
    if case.layout != "nchw":
        yield f"layout {family} {engine} {case.layout}"
    if case.mode is Mode.TRAINING:
        yield f"mode {family} {engine} training"
    if case.scenario in PHASES:
        yield f"phase {family} {case.scenario}"
        yield f"phase {family} {engine} {case.scenario}"
    elif case.scenario:
        yield f"scenario {family} {engine} {case.scenario}"
    if case.chip.isa:
        yield f"isa {_best_isa(case.chip)} {case.precision}"
    yield f"maker {family} {case.chip.vendor}"
    yield f"architecture {case.chip.architecture}"
    yield f"chip {case.chip.model}"


_ISAS = ("amx_tile", "avx512_vnni", "avx512f", "avx_vnni", "avx2", "sse4_2", "sve2", "sve", "i8mm", "dotprod", "neon")


def _best_isa(chip: Chip) -> str:
    return next((name for name in _ISAS if name in chip.isa), "none")


# What a compute unit of each architecture draws at a GHz where power does not hold it back: watts / (units x GHz) of
# its least limited large part. A part far below that cannot keep its clock in dense work, whatever its datasheet says.
_FREE_WATTS = {
    "Pascal sm60": 3.6, "Pascal sm61": 5.2, "Volta sm70": 2.45, "Turing sm75": 2.2, "Ampere sm80": 2.6,
    "Ampere sm86": 2.5, "Ada sm89": 1.4, "Hopper sm90": 2.7, "Blackwell sm100": 3.4, "Blackwell Ultra sm103": 3.4,
    "Blackwell sm120": 1.4,
}  # fmt: skip


def slopes(chip: Chip) -> Mapping[str, float]:
    """Return the facts of a chip on which efficiencies depend by degrees, as logarithms around zero."""
    family = chip.kind.value
    units, clock = chip.compute_units or 0, chip.sustained_mhz or chip.boost_mhz or 0.0
    found = {}
    free = _FREE_WATTS.get(chip.architecture)
    if chip.power_cap_watts and units and clock:
        density = chip.power_cap_watts / (units * clock / 1000)
        if free:
            found[f"watts {family}"] = min(0.0, math.log(density / free))
        elif chip.kind is DeviceKind.CPU:
            found[f"watts {family}"] = math.log(density / 2.0)
    if chip.kind is DeviceKind.CPU and chip.base_mhz and clock:
        found[f"base {family}"] = math.log(chip.base_mhz / clock) + 0.5
    if chip.cache_bytes and chip.bandwidth_bytes_per_s and chip.kind is not DeviceKind.CPU:
        found[f"cache {family}"] = math.log(chip.cache_bytes / 4e7) / 3
    if units:
        found[f"units {family}"] = math.log(units / 100) / 3
    if chip.year:
        found[f"year {family}"] = (chip.year - 2020) / 5
    peak = chip.peak_flops.get("fp16") or chip.peak_flops.get("fp32")
    if peak and chip.bandwidth_bytes_per_s:
        found[f"balance {family}"] = math.log(peak / chip.bandwidth_bytes_per_s / 100) / 3
    return found
