"""The 92 practices that an audit holds machines against; their texts stand in practices.toml beside this file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Practice:
    """One practice: what is to be reached, whom it concerns, what would decide it and what to do when it is not met."""

    number: int
    section: str
    title: str
    source: str
    concerns: tuple[str, ...]
    decides: str
    fix: str


def practices() -> tuple[Practice, ...]:
    """Read the table, in order of number."""
    with (Path(__file__).parent / "practices.toml").open("rb") as file:
        rows = tomllib.load(file)["practice"]
    return tuple(Practice(**{**row, "concerns": tuple(row["concerns"])}) for row in rows)
