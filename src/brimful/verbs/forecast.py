"""The shipped predictor, opened."""

from __future__ import annotations

from functools import cache

from brimful.advise.fit.foresee import Forecaster
from brimful.advise.fit.model import forecaster
from brimful.catalog.predictor import load


@cache
def load_forecaster() -> Forecaster:
    """Return the shipped forecaster; it is read once."""
    return forecaster(*load())
