"""Finds the efficiencies of `advise/fit/physics.py` by descending the error of the logarithm of the time.

Every level of a case (its class, its engine, its chip …) has a vector of its own; each pays for its length, the
particular more than the general, so that what all devices share is learned as shared. The gradient is written out by
hand: with it the formula stands in numpy alone, in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brimful.advise.fit.case import KINDS, Array, Case, sums
from brimful.advise.fit.physics import HOST, SHARP, START, WHOLE, WIDTH, Terms, slower, terms
from brimful.advise.fit.predictor import described

_COSTS = {"class": 0.05, "engine": 0.5, "phase": 0.5, "precision": 1.5, "isa": 1.5, "layout": 1.0, "mode": 1.0,
          "scenario": 1.0, "maker": 10.0, "architecture": 8.0, "chip": 15.0, "slope": 5.0}  # fmt: skip
_ONLY_WHOLE = ("scenario",)
_CHIP_ONLY = ("chip", "architecture", "maker")
_KINDS = len(KINDS)
_GROUP_COST = 6.0  # a chip's efficiencies of kinds of the same sort move together rather than apart
_HUBER = 0.15


@dataclass(frozen=True)
class Design:
    """Which vectors each case is the sum of, and with what weight, as a sparse matrix."""

    names: tuple[str, ...]
    matrix: Any

    def sum(self, theta: Array) -> Array:
        """Return the parameters of each case."""
        out: Array = START + self.matrix @ theta
        return out

    def back(self, gradient: Array) -> Array:
        """Return the gradient of each vector from that of each case."""
        out: Array = self.matrix.T @ gradient
        return out


def design(cases: Sequence[Case]) -> Design:
    """Lay out the levels and slopes of cases."""
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]  # noqa: PLC0415 - LightGBM brings it along

    names: dict[str, int] = {}
    rows: list[tuple[int, int, float]] = []
    for place, case in enumerate(cases):
        rows += [(place, names.setdefault(name, len(names)), weight) for name, weight in described(case)]
    table = np.array(rows, dtype=np.float64)
    places = (table[:, 0].astype(np.intp), table[:, 1].astype(np.intp))
    return Design(tuple(names), csr_matrix((table[:, 2], places), shape=(len(cases), len(names))))


def fit(cases: Sequence[Case], log_s: Array, weights: Array, steps: int = 250, rate: float = 0.04) -> dict[str, Array]:
    """Return the vector of each level."""
    found, plan = terms(cases), design(cases)
    theta = np.zeros((len(plan.names), WIDTH))
    price = np.array([_price(name) for name in plan.names])
    moment, spread = np.zeros_like(theta), np.zeros_like(theta)
    total = weights.sum()
    for step in range(1, steps + 1):
        gradient = _gradient(found, plan.sum(theta), log_s, weights)
        slope = plan.back(gradient) / total + price * theta / total
        slope += _together(plan.names, theta) / total
        moment = 0.9 * moment + 0.1 * slope
        spread = 0.99 * spread + 0.01 * slope**2
        now = rate * min(1.0, 2.0 * (1 - step / (steps + 1)))
        theta -= now * (moment / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.99**step)) + 1e-9)
    return dict(zip(plan.names, theta, strict=True))


def _price(name: str) -> Array:
    sort = name.partition(" ")[0]
    price = np.full(WIDTH, _COSTS[sort])
    if sort in _ONLY_WHOLE:
        price[:WHOLE] = 1e4
    if sort in ("chip", "slope", "architecture", "maker"):
        price[HOST] = 1e4
    return price


def _together(names: Sequence[str], theta: Array) -> Array:
    """Return the gradient that draws the efficiencies of one chip's kinds to their mean."""
    out = np.zeros_like(theta)
    for place, name in enumerate(names):
        if name.partition(" ")[0] in (*_CHIP_ONLY, "slope"):
            for part in range(3):
                span = slice(part * _KINDS, (part + 1) * _KINDS)
                own = theta[place, span]
                out[place, span] = _GROUP_COST * (own - own.mean())
    return out


def _gradient(found: Terms, parameters: Array, log_s: Array, weights: Array) -> Array:
    """Return the gradient of the weighted error with respect to the parameters of each case."""
    own, rows = parameters[found.case], np.arange(len(found.kind))
    arithmetic = found.compute_s * np.exp(own[rows, found.kind])
    traffic = found.traffic_s * np.exp(own[rows, _KINDS + found.kind])
    fixed = np.exp(own[rows, 2 * _KINDS + found.kind]) * found.count
    longer = slower(arithmetic, traffic)
    part = (arithmetic / np.maximum(longer, 1e-300)) ** SHARP
    device = sums(found.case, longer * found.count + fixed, found.cases) + found.extra_s
    host: Array = sums(found.case, found.count, found.cases) * np.exp(parameters[:, HOST])
    both = slower(device, host)
    error = np.log(both + 1e-30) + parameters[:, WHOLE] - log_s
    pull = weights * error / np.sqrt(error**2 + _HUBER**2)
    of_device = (device / both) ** SHARP
    scale = (pull * of_device / device)[found.case]
    out = np.zeros((found.cases, WIDTH))
    for place, value in enumerate((longer * found.count * part, longer * found.count * (1 - part), fixed)):
        flat = sums(found.case * _KINDS + found.kind, value * scale, found.cases * _KINDS)
        out[:, place * _KINDS : (place + 1) * _KINDS] = flat.reshape(found.cases, _KINDS)
    out[:, WHOLE] = pull
    out[:, HOST] = pull * (1 - of_device)
    return out
