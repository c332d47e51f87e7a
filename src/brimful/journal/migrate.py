"""Bring a record of an older version of the journal's form up to the present one.

A new optional field needs nothing here. A breaking change raises VERSION and adds one pure step: from the record of
version n (the decoded JSON of one line) to that of version n + 1. Old journals are never rewritten: they are brought up
whenever they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from brimful.journal.schema import VERSION

Step = Callable[[dict[str, Any]], dict[str, Any]]

STEPS: dict[int, Step] = {}  # version 1 is the first there is


def migrate(
    record: dict[str, Any], written_as: int, steps: Mapping[int, Step] = STEPS, until: int = VERSION
) -> dict[str, Any]:
    """Return the record in the form of version `until`; the input is left as it is."""
    for version in range(written_as, until):
        record = steps[version](dict(record))
    return record
