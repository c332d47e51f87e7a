"""The predictor: physics with learned efficiencies, then what trees learned of the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from brimful.advise.fit.case import Array, Case
from brimful.advise.fit.features import features
from brimful.advise.fit.physics import START, WIDTH, Terms, Times, levels, slopes, terms, times
from brimful.advise.fit.trees import Trees


@dataclass(frozen=True)
class Predictor:
    """What was learned: a vector for each level of a case, trees, and the devices that were seen."""

    vectors: dict[str, Array]
    trees: Trees | None
    own_trees: Trees | None = None  # for devices that were seen: what is particular to them
    devices: tuple[str, ...] = ()

    def log_s(self, cases: Sequence[Case]) -> tuple[Array, tuple[Terms, Times]]:
        """Return the logarithm of the seconds that each case takes, and what physics alone says of it."""
        found, taken = self.physics(cases)
        out = taken.log_s
        rows = features(cases, found, taken)
        if self.trees is not None:
            out = out + self.trees(rows)
        if self.own_trees is not None:
            place = np.array([self._place(case) for case in cases])
            seen = ~np.isnan(place)
            if seen.any():
                out = out + np.where(seen, self.own_trees(np.column_stack([rows, place])), 0.0)
        return out, (found, taken)

    def physics(self, cases: Sequence[Case]) -> tuple[Terms, Times]:
        """Return the operations of cases and what physics alone says of them."""
        found = terms(cases)
        parameters = np.empty((len(cases), WIDTH))
        known: dict[tuple[tuple[str, float], ...], Array] = {}
        for place, case in enumerate(cases):
            key = tuple(described(case))
            if key not in known:
                known[key] = self._sum(key)
            parameters[place] = known[key]
        return found, times(found, parameters)

    def _sum(self, parts: Iterable[tuple[str, float]]) -> Array:
        total = START.copy()
        for name, weight in parts:
            vector = self.vectors.get(name)
            if vector is not None:
                total += weight * vector
        return total

    def _place(self, case: Case) -> float:
        name = case.chip.model
        return float(self.devices.index(name)) if name in self.devices else float("nan")


def described(case: Case) -> list[tuple[str, float]]:
    """Return everything that the parameters of a case are the sum of, with its weight."""
    return [(name, 1.0) for name in levels(case)] + [(f"slope {k}", v) for k, v in slopes(case.chip).items()]
