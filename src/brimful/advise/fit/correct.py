"""What a user's own measurements say of other predictions, and how sure they make them.

The error of a prediction has parts: one of the device, one of the model, one of the two together, and the rest. What
was measured tells of each part as far as it shares it (a Gaussian process with these parts as its covariance). A
single measurement on a device says too little of the device: on CPUs it was seen to make predictions worse, so a
device's own part is believed from three on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brimful.advise.fit.case import KINDS, Array, Case, sums

DEVICE, MODEL, BOTH, REST, NOISE = 0.30, 0.12, 0.10, 0.08, 0.03  # standard deviations of the logarithm
KNOWN_DEVICE = 0.06  # of a device that the predictor was trained on
ENOUGH = 3
_ALIKE = 0.25  # how far apart the mixes of two models are that are half alike
_MOST = 1500
_FLOPS_AN_ELEMENT = 50  # what a device computes while it moves one


@dataclass(frozen=True)
class Place:
    """Where a prediction stands among others: its device and engine, its model, and its mix of operations."""

    device: str
    engine: str
    known: bool
    model: str
    mix: tuple[float, ...]


def place_of(case: Case, model: str, *, known: bool) -> Place:
    """Return where a pass of a model stands; its mix is by arithmetic and traffic together."""
    ops = case.ops
    weight = ops.flops * ops.count + _FLOPS_AN_ELEMENT * (ops.read + ops.write) * ops.count
    mix = sums(ops.kind, weight, len(KINDS)) / max(weight.sum(), 1.0)
    return Place(case.chip.model, case.engine, known, model, tuple(mix))


class Correction:
    """What measured errors say of others."""

    def __init__(self, places: Sequence[Place], errors: Array) -> None:
        self._places = tuple(places[-_MOST:])
        self._counts = Counter((place.device, place.engine) for place in self._places)
        covariance = self._between(self._places, self._places)
        covariance[np.diag_indices_from(covariance)] += NOISE**2 + REST**2
        self._factor = np.linalg.cholesky(covariance)
        self._weights = self._solve(np.asarray(errors[-_MOST:], dtype=np.float64))

    def __call__(self, places: Sequence[Place]) -> tuple[Array, Array]:
        """Return the expected error of each prediction, and the share of its variance that remains."""
        shared = self._between(places, self._places)
        expected: Array = shared @ self._weights
        explained = np.einsum("ij,ij->i", shared, self._solve(shared.T).T)
        before = np.array([_variance(place) for place in places])
        remaining: Array = np.clip((before - explained) / before, REST**2 / before, 1.0)
        return expected, remaining

    def _solve(self, right: Array) -> Array:
        out: Array = np.linalg.solve(self._factor.T, np.linalg.solve(self._factor, right))
        return out

    def _between(self, some: Sequence[Place], others: Sequence[Place]) -> Array:
        device = _same([(p.device, p.engine) for p in some], [(p.device, p.engine) for p in others])
        model = _same([p.model for p in some], [p.model for p in others])
        mix, mixes = np.array([p.mix for p in some]), np.array([p.mix for p in others])
        distance = ((mix[:, None, :] - mixes[None, :, :]) ** 2).sum(axis=2)
        alike = np.maximum(model, 0.7 * np.exp(-distance / (2 * _ALIKE**2)))
        scale = np.outer([_device(p) for p in some], [_device(p) for p in others])
        enough = np.array([self._counts[p.device, p.engine] >= ENOUGH for p in others], dtype=np.float64)
        total: Array = scale * device * enough + MODEL**2 * alike + BOTH**2 * device * alike
        return total


def _same(some: Sequence[object], others: Sequence[object]) -> Array:
    numbers: dict[object, int] = {}
    left = np.array([numbers.setdefault(item, len(numbers)) for item in some])
    right = np.array([numbers.setdefault(item, len(numbers)) for item in others])
    out: Array = (left[:, None] == right[None, :]).astype(np.float64)
    return out


def _device(place: Place) -> float:
    return KNOWN_DEVICE if place.known else DEVICE


def _variance(place: Place) -> float:
    return _device(place) ** 2 + MODEL**2 + BOTH**2 + REST**2
