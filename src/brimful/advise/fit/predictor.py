"""The predictor: physics with learned efficiencies, then what trees learned of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brimful.advise.fit.case import Array, Case
from brimful.advise.fit.features import features
from brimful.advise.fit.physics import START, Terms, Times, levels, slopes, terms, times
from brimful.advise.fit.trees import Trees


@dataclass(frozen=True)
class Predictor:
    """What was learned: a vector for each level of a case, trees, and the devices that were seen."""

    vectors: dict[str, Array]
    trees: Trees | None
    own_trees: Trees | None = None  # for devices that were seen: what is particular to them
    devices: tuple[str, ...] = ()

    def log_s(self, cases: Sequence[Case]) -> Array:
        """Return the logarithm of the seconds that each case takes."""
        if not cases:
            return np.zeros(0)
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
        return out

    def physics(self, cases: Sequence[Case]) -> tuple[Terms, Times]:
        """Return the operations of cases and what physics alone says of them."""
        found = terms(cases)
        parameters = np.tile(START, (len(cases), 1))
        for place, case in enumerate(cases):
            for name, weight in described(case):
                vector = self.vectors.get(name)
                if vector is not None:
                    parameters[place] += weight * vector
        return found, times(found, parameters)

    def _place(self, case: Case) -> float:
        name = case.chip.model
        return float(self.devices.index(name)) if name in self.devices else float("nan")


def described(case: Case) -> list[tuple[str, float]]:
    """Return everything that the parameters of a case are the sum of, with its weight."""
    return [(name, 1.0) for name in levels(case)] + [(f"slope {k}", v) for k, v in slopes(case.chip).items()]
