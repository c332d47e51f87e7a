"""A Forecaster to arrays and back: what the shipped file holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from brimful.advise.fit.foresee import Forecaster, Spread
from brimful.advise.fit.predictor import Predictor
from brimful.advise.fit.trees import Trees

Arrays = Mapping[str, npt.NDArray[Any]]
_TREES = ("roots", "feature", "threshold", "left", "right", "missing_left", "value")


def arrays_of(predictor: Predictor) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Return a predictor as arrays, and the names that they stand for."""
    names = sorted(predictor.vectors)
    out: dict[str, npt.NDArray[Any]] = {
        "vectors": np.array([predictor.vectors[name] for name in names], np.float32).reshape(len(names), -1)
    }
    depths = {}
    for label, trees in (("trees", predictor.trees), ("own", predictor.own_trees)):
        if trees is not None:
            depths[label] = trees.depth
            for part in _TREES:
                value = getattr(trees, part)
                out[f"{label}_{part}"] = _small(value)
    return out, {"levels": names, "devices": list(predictor.devices), "depths": depths}


def _small(value: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return half the bytes of a float; a threshold that is no bound stays one."""
    if value.dtype != np.float64:
        return value
    most = float(np.finfo(np.float32).max)
    small: npt.NDArray[np.float32] = np.clip(value, -most, most).astype(np.float32)
    return small


def forecaster(arrays: Arrays, card: Mapping[str, Any]) -> Forecaster:
    """Return the forecaster that arrays and their card hold."""
    vectors = dict(zip(card["levels"], arrays["vectors"].astype(np.float64), strict=True))
    predictor = Predictor(vectors, _trees(arrays, card, "trees"), _trees(arrays, card, "own"), tuple(card["devices"]))
    widths = {name: (float(low), float(high)) for name, (low, high) in card["spread"].items()}
    return Forecaster(predictor, Spread(widths), tuple(card["about"]), frozenset(card["seen"]))


def _trees(arrays: Arrays, card: Mapping[str, Any], label: str) -> Trees | None:
    if label not in card["depths"]:
        return None
    parts = {part: arrays[f"{label}_{part}"] for part in _TREES}
    parts = {part: value.astype(np.float64) if value.dtype == np.float32 else value for part, value in parts.items()}
    return Trees(**parts, depth=int(card["depths"][label]))
