"""Boosted trees as arrays, evaluated with numpy: what ships needs no framework."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from brimful.advise.fit.case import Array

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Trees:
    """All nodes of all trees under one another; a leaf is a node whose children are itself."""

    roots: Ints
    feature: Ints
    threshold: Array
    left: Ints
    right: Ints
    missing_left: npt.NDArray[np.bool_]
    value: Array
    depth: int

    def __call__(self, rows: Array) -> Array:
        """Return the sum of all trees for each row; nan goes the way that it went in training."""
        at = np.tile(self.roots, (len(rows), 1))
        lines = np.arange(len(rows))[:, None]
        for _ in range(self.depth):
            seen = rows[lines, self.feature[at]]
            left = np.where(np.isnan(seen), self.missing_left[at], seen <= self.threshold[at])
            at = np.where(left, self.left[at], self.right[at])
        total: Array = self.value[at].sum(axis=1)
        return total
