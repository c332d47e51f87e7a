"""A store that says what it lacks."""

from __future__ import annotations

from brimful.model.errors import Unavailable


class ElsewhereStore:
    """Objects somewhere else."""

    def __init__(self, where: str) -> None:
        self.where = where

    @classmethod
    def check(cls) -> None:
        """Raise: it never works."""
        raise Unavailable("nowhere to go", why="there is no road", fix="build a road")
