"""One thing to predict: what is computed, on what, and how; and its numbers in the form that arithmetic wants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from brimful.model.hardware import Chip, DeviceKind
from brimful.model.work import Mode, OpKind, Profile

Array = npt.NDArray[np.float64]
KINDS = tuple(OpKind)
_PLACE = {kind: place for place, kind in enumerate(KINDS)}

# Rates of a precision that a device lacks are those of the next wider one that it has.
_WIDER = {
    "fp4": "fp8", "int4": "int8", "fp8": "fp16", "int8": "fp16", "bf16": "fp16", "fp16": "fp32", "tf32": "fp32",
    "fp64": "fp32",
}  # fmt: skip
_ACTIVATION_BYTES = {"fp64": 8.0, "fp32": 4.0, "tf32": 4.0, "fp16": 2.0, "bf16": 2.0, "int8": 1.0, "fp8": 1.0}
_WEIGHT_BYTES = {"int4": 0.5, "fp4": 0.5}
_NO_RATE = 1e12  # of a device whose facts give none: its own measurements must tell
_USUAL_BANDWIDTH = 5e10
_CORE_BYTES_PER_S = 1.2e10  # what one core of a server draws by itself; a few of them draw more than their part
_WEIGHT_ONLY = {"int4": "fp16", "fp4": "fp8"}  # the precision of what such weights are multiplied with


def sums(places: npt.NDArray[np.intp], values: Array, number: int) -> Array:
    """Return, for each place, the sum of the values that belong there."""
    return np.bincount(places, values, number).astype(np.float64, copy=False)


@dataclass(frozen=True)
class Ops:
    """The operations of a profile as columns, each over all samples of the profile."""

    kind: npt.NDArray[np.intp]
    count: Array
    flops: Array
    weights: Array
    read: Array
    write: Array
    weight_bits: Array  # nan: the setting decides
    samples: int

    @classmethod
    def of(cls, profile: Profile) -> Ops:
        """Take a profile apart."""
        rows = [
            (
                _PLACE[op.op],
                op.ops_count,
                op.flops,
                op.weight_elements,
                op.read_elements,
                op.write_elements,
                np.nan if op.weight_bits is None else op.weight_bits,
            )
            for op in profile.ops
        ]
        table = np.array(rows, dtype=np.float64).reshape(-1, 7)
        kind = table[:, 0].astype(np.intp)
        count, flops, weights, read, write, bits = (table[:, place] for place in range(1, 7))
        return cls(kind, count, flops, weights, read, write, bits, profile.samples_count)


_LATEST: dict[int, tuple[Profile, Ops]] = {}  # by identity: a profile is large, and comparing two is slow
_MOST_KEPT = 4096


def ops_of(profile: Profile) -> Ops:
    """Return the operations of a profile as columns, worked out once."""
    kept = _LATEST.get(id(profile))
    if kept is None or kept[0] is not profile:
        if len(_LATEST) >= _MOST_KEPT:
            _LATEST.clear()
        kept = _LATEST[id(profile)] = (profile, Ops.of(profile))
    return kept[1]


@dataclass(frozen=True)
class Case:
    """A pass over `batch` samples: of these operations, on this device (or share, or several), by this engine."""

    ops: Ops
    chip: Chip
    engine: str
    precision: str
    batch: int = 1
    layout: str = "nchw"
    compiled: str = "eager"
    mode: Mode = Mode.INFERENCE
    scenario: str = ""
    share: float = 1.0  # of the chip: its compute and its bandwidth
    cores: float | None = None  # of a CPU: how many of its physical cores
    split: int = 1  # devices that share each pass (tensor parallelism)
    exchanged_elements: float = 0.0  # what they send one another in a pass, each
    exchanges: int = 0

    @cached_property
    def portion(self) -> float:
        """How much of the chip computes for this case."""
        if self.cores is not None and self.chip.compute_units:
            return min(1.0, self.cores / self.chip.compute_units)
        return self.share

    def peak(self, precision: str | None = None) -> float:
        """Return the dense peak in FLOP/s of what is used, at a precision or the next wider one that there is."""
        name = precision or self.computed_in
        rates = self.chip.peak_flops
        while name not in rates and name in _WIDER:
            name = _WIDER[name]
        slowest = min(rates.values(), default=_NO_RATE)  # a device without a wider unit does it in what it has
        return (rates.get(name) or slowest) * self.portion

    @property
    def computed_in(self) -> str:
        """The precision of the multiplications."""
        base = self.precision.removesuffix("-amp").partition(",")[0]
        return _WEIGHT_ONLY.get(base, base) if base not in self.chip.peak_flops else base

    @property
    def bandwidth(self) -> float:
        """Bytes a second between the device and its memory."""
        whole = self.chip.bandwidth_bytes_per_s or _USUAL_BANDWIDTH
        if self.cores is not None and self.chip.kind is DeviceKind.CPU:
            return min(whole, max(whole * self.portion, self.cores * _CORE_BYTES_PER_S))
        return whole * self.portion

    @property
    def activation_bytes(self) -> float:
        """Bytes of an activation's element."""
        return activation_bytes_of(self.precision)

    @property
    def weight_bytes(self) -> float:
        """Bytes of a weight, unless the file fixes it."""
        return weight_bytes_of(self.precision)


def activation_bytes_of(precision: str) -> float:
    """Return the bytes of an activation's element at a precision."""
    base = precision.removesuffix("-amp").partition(",")[0]
    return _ACTIVATION_BYTES.get(_WEIGHT_ONLY.get(base, base), 4.0)


def weight_bytes_of(precision: str) -> float:
    """Return the bytes of a weight at a precision."""
    base = precision.removesuffix("-amp").partition(",")[0]
    return _WEIGHT_BYTES.get(base, _ACTIVATION_BYTES.get(base, 4.0))
