"""How far off the predictor is where the truth was held back, as the intervals that ship."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from brimful.advise.fit.answer import COVERAGE
from brimful.advise.fit.case import Array
from brimful.advise.fit.foresee import strata
from tools.predictor.cases import Example
from tools.predictor.train import train

_FEWEST = 30
_FEWEST_DEVICES = 3
TRUSTED = 0.25  # a row of less weight says little about us
_NARROWEST = 0.04


def held_out(
    examples: Sequence[Example], group: Callable[[Example], str], folds: int, *, steps: int, own: bool, seed: int = 1
) -> Array:
    """Return truth minus prediction (logarithms) with each group predicted by a model that never saw it."""
    names = sorted({group(item) for item in examples})
    of = dict(zip(names, np.random.default_rng(seed).permutation(len(names)) % folds, strict=True))
    fold = np.array([of[group(item)] for item in examples])
    errors = np.zeros(len(examples))
    for number in range(folds):
        inside = [item for item, place in zip(examples, fold, strict=True) if place != number]
        places = [place for place, its in enumerate(fold) if its == number]
        if places:
            model = train(inside, steps=steps, own=own)
            log_s, _ = model.log_s([examples[place].case for place in places])
            errors[places] = np.array([examples[place].log_s for place in places]) - log_s
    return errors


def widths(examples: Sequence[Example], errors: Array, seen: str) -> dict[str, tuple[float, float]]:
    """Return half-widths (below, above) for each stratum, devices counting alike however many rows they have."""
    found_in: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for item, error in zip(examples, errors, strict=True):
        if item.row.weight < TRUSTED:
            continue
        for key in strata(item.case, seen):
            found_in[key].append((item.device, float(error)))
    out = {}
    for key, found in found_in.items():
        devices = {device for device, _ in found}
        if len(found) >= _FEWEST and (seen != "model" or len(devices) >= _FEWEST_DEVICES):
            out[key] = _band(found)
    return out


def _band(found: Sequence[tuple[str, float]]) -> tuple[float, float]:
    """Return the band that holds COVERAGE of the errors, each device weighing the root of its rows."""
    counts: dict[str, int] = defaultdict(int)
    for device, _ in found:
        counts[device] += 1
    order = sorted((error, counts[device] ** -0.5) for device, error in found)
    total = sum(weight for _, weight in order)
    tail, low, high, passed = (1 - COVERAGE) / 2, 0.0, 0.0, 0.0
    for error, weight in order:
        if passed < tail * total:
            low = error
        passed += weight
        if passed <= (1 - tail) * total:
            high = error
    return max(_NARROWEST, -low), max(_NARROWEST, high)
