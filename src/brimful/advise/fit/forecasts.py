"""What the verb asks of a predictor; `foresee.py` has the one that is shipped, tests bring their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from brimful.advise.fit.answer import Foreseen
from brimful.advise.fit.query import Query
from brimful.model.hardware import Chip
from brimful.model.work import Profile

Question = tuple[Query, Profile, Chip]
Measured = tuple[Query, Profile, Chip, float]  # with the seconds of one call


class Forecasts(Protocol):
    """Foresees many calls at once, and learns from a user's own measurements."""

    def foresee(self, asked: Sequence[Question], /) -> list[Foreseen]:
        """Return what each query would measure, in their order."""
        ...

    def corrected(self, measured: Sequence[Measured], /) -> Forecasts:
        """Return a predictor that has learned from measurements."""
        ...
