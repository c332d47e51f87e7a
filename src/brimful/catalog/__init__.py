"""The catalogue: dated tables of what can be rented, what it can do, and what its errors mean. Read only.

    from brimful.catalog import load
    load().offer("g6f.large").accelerators

`load` opens it, `Catalog` answers; `write_table` and `merge` are for the verb that refreshes it. Nothing here goes to a
network or knows where a user's files lie.
"""

from __future__ import annotations

from pathlib import Path

from brimful.catalog.contents import SHIPPED, Catalog, load, merge
from brimful.catalog.form import Entry, write
from brimful.catalog.rows import Table, document

__all__ = ["SHIPPED", "Catalog", "Entry", "Table", "load", "merge", "write_table"]


def write_table(path: Path, table: Table) -> str:
    """Write a table to a file, whole or not at all, and return the digest that seals it."""
    return write(path, document(table))
