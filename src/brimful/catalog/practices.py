"""The 92 practices that an audit holds machines against; their texts stand in practices.toml beside this file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from brimful.catalog.form import File
from brimful.model.text import reason

TABLE = Path(__file__).parent / "practices.toml"


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


def practices(path: Path | None = None) -> tuple[Practice, ...]:
    """Read the table, in order of number; a damaged one is a CatalogError like that of any other table."""
    path = path or TABLE
    file = File(path, shipped=True)
    try:
        rows = tomllib.loads(path.read_text("utf-8"))["practice"]
        return tuple(Practice(**{**row, "concerns": tuple(row["concerns"])}) for row in rows)
    except OSError as error:
        raise file.error("cannot be read", reason(error)) from error
    except KeyError as error:
        raise file.error("is damaged", f"it has no {error}") from error
    except (ValueError, TypeError) as error:  # not UTF-8 and not TOML are both ValueErrors
        raise file.error("is damaged", reason(error)) from error
