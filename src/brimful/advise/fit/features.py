"""What of a case the efficiencies do not say: its mix of operations, how they fill the device, its settings.

A device appears only by how the work fits it (elements for each compute unit, traffic for its cache), never by its name
or its size, so that what is learned here holds on devices that nobody has measured.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from brimful.advise.fit.case import KINDS, Array, Case, sums
from brimful.advise.fit.physics import Terms, Times
from brimful.model.hardware import DeviceKind
from brimful.model.work import Mode, OpKind

ENGINES = ("torch", "tensorrt", "onnxruntime", "openvino", "tflite", "neuron", "vllm", "sglang", "trtllm", "kernels")
PRECISIONS = ("fp32", "tf32", "fp16-amp", "bf16-amp", "fp16", "bf16", "int8", "fp8", "int4", "fp4")
_SHAPES = tuple(
    (name, kinds)
    for name, kinds in {
        "conv": (OpKind.CONV,),
        "grouped": (OpKind.GROUPED,),
        "matmul": (OpKind.MATMUL,),
        "attention": (OpKind.ATTENTION,),
        "rest": tuple(k for k in KINDS if k not in (OpKind.CONV, OpKind.GROUPED, OpKind.MATMUL, OpKind.ATTENTION)),
    }.items()
)
NAMES = (
    *(f"share {kind.value}" for kind in KINDS),
    "share arithmetic",
    "share traffic",
    "share fixed",
    "log operations",
    "log mean operation",
    *(
        f"{what} {name}"
        for name, _ in _SHAPES
        for what in ("log intensity", "log elements a unit", "log traffic of cache")
    ),
    "log batch",
    "log pass",
    "engine",
    "compiled",
    "precision",
    "nhwc",
    "training",
    "cpu",
)


def features(cases: Sequence[Case], found: Terms, taken: Times) -> Array:
    """Return a row for each case, a column for each of NAMES."""
    number = found.cases
    whole = sums(found.case, taken.row_s, number) + 1e-30

    def total(values: Array, where: npt.NDArray[np.bool_] | None = None) -> Array:
        out: Array = sums(found.case, values if where is None else values * where, number)
        return out

    columns = [total(taken.row_s, found.kind == place) / whole for place in range(len(KINDS))]
    columns += [total(part) / whole for part in taken.parts]
    count = total(found.count)
    columns += [np.log(count + 1), np.log(whole / (count + 1))]
    units = np.array([(case.chip.compute_units or 1) * case.portion for case in cases])
    cache = np.array([(case.chip.cache_bytes or 1e7) * case.portion for case in cases])
    for _, kinds in _SHAPES:
        where = np.isin(found.kind, [KINDS.index(kind) for kind in kinds])
        number_of = total(found.count, where) + 1e-9
        arithmetic, traffic = total(taken.parts[0], where), total(taken.parts[1], where)
        columns.append(np.where(number_of > 0.5, np.log((arithmetic + 1e-12) / (traffic + 1e-12)), np.nan))
        moved = total(found.traffic_s * found.count, where) / number_of * _bandwidths(cases)
        columns.append(np.where(number_of > 0.5, np.log((moved + 1) / units), np.nan))
        columns.append(np.where(number_of > 0.5, np.log((moved + 1) / cache), np.nan))
    columns += [np.log([float(case.batch) for case in cases]), np.log(whole)]
    columns += [np.array(column, dtype=np.float64) for column in zip(*map(_settings, cases), strict=True)]
    table: Array = np.stack(columns, axis=1)
    return table


def _bandwidths(cases: Sequence[Case]) -> Array:
    return np.array([case.bandwidth for case in cases])


def _settings(case: Case) -> tuple[float, ...]:
    return (
        _place(case.engine, ENGINES),
        float(case.compiled != "eager"),
        _place(case.precision, PRECISIONS),
        float(case.layout == "nhwc"),
        float(case.mode is Mode.TRAINING),
        float(case.chip.kind is DeviceKind.CPU),
    )


def _place(name: str, known: tuple[str, ...]) -> float:
    return float(known.index(name)) if name in known else float("nan")
