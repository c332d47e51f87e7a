"""Learns a Predictor from examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from brimful.advise.fit.case import Array
from brimful.advise.fit.features import features
from brimful.advise.fit.predictor import Predictor
from tools.predictor.boost import boost
from tools.predictor.cases import Example
from tools.predictor.physics_fit import fit

_OWN_ROUNDS = 350


def weigh(examples: Sequence[Example]) -> Array:
    """Return weights: what has many rows counts for more, but by their root alone, lest one source drown the others."""
    devices = Counter(item.device for item in examples)
    settings = Counter(_setting(item) for item in examples)
    weights = np.array(
        [item.row.weight / (devices[item.device] ** 0.5 * settings[_setting(item)] ** 0.2) for item in examples]
    )
    scaled: Array = weights / weights.mean()
    return scaled


def _setting(item: Example) -> tuple[str, ...]:
    return item.device, item.case.engine, item.case.precision, item.case.scenario, item.case.layout


def train(examples: Sequence[Example], *, steps: int = 200, own: bool = True, trees: bool = True) -> Predictor:
    """Return what the examples teach."""
    cases = [item.case for item in examples]
    log_s = np.array([item.log_s for item in examples])
    weights = weigh(examples)
    vectors = fit(cases, log_s, weights, steps)
    if not trees:
        return Predictor(vectors, None)
    physics = Predictor(vectors, None)
    found, taken = physics.physics(cases)
    rows = features(cases, found, taken)
    general = boost(rows, log_s - taken.log_s, weights)
    if not own:
        return Predictor(vectors, general)
    left = log_s - taken.log_s - general(rows)
    devices = tuple(sorted({item.device for item in examples}))
    place = np.array([float(devices.index(item.device)) for item in examples])
    special = boost(np.column_stack([rows, place]), left, weights, _OWN_ROUNDS)
    return Predictor(vectors, general, special, devices)
