"""Rows of a catalogue file to nouns, and back.

A cell is the plain form of a field. Two columns differ from their fields: `source` holds the id (or ids) of entries in
the file's head, which give both the field `source` and the field `licence`; `missing` holds `{field: reason id}`, and
only for those unknown fields whose noun does not say the reason by itself. A column in which every cell is what the
noun takes when it is told nothing is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, TypeVar

import msgspec

from brimful.catalog.form import VERSION, Document, Entry, File
from brimful.model.noun import Noun, plain

_N = TypeVar("_N", bound=Noun)
_WRONG = (msgspec.ValidationError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError)


@dataclass(frozen=True, slots=True)
class Table:
    """What a catalogue file says: a name, the day of its state, rows, and the sources by a short id.

    `sources` may be left empty: a row whose source is not among them gets an entry dated as the table is.
    """

    table: str
    date: date
    rows: tuple[Noun, ...]
    sources: Mapping[str, Entry] = field(default_factory=dict)


def nouns(file: File, document: Document, cls: type[_N]) -> tuple[_N, ...]:
    """Return the rows of a document as nouns; a wrong one is a CatalogError that names file and row."""
    make = _row_reader(document, cls)
    try:
        return tuple(msgspec.convert([make(row) for row in document.rows], list[cls]))  # type: ignore[valid-type]
    except _WRONG:
        # Once more, one by one and slowly, to say which row it was.
        for number, row in enumerate(document.rows, 1):
            _check_row(file, make, cls, number, row)
        raise


def _check_row(file: File, make: Callable[[list[Any]], Any], cls: type[Noun], number: int, row: list[Any]) -> None:
    try:
        msgspec.convert(make(row), cls)
    except _WRONG as error:
        why = f"it names the id {error}, which the head lacks" if isinstance(error, KeyError) else str(error)
        raise file.error(f"has a wrong row: row {number}", f"{why} (the row begins {str(row)[:80]})") from error


def _row_reader(document: Document, cls: type[Noun]) -> Callable[[list[Any]], dict[str, Any]]:
    """Return a function from a row to the keyword form of a noun."""
    known = {item.name for item in fields(cls)}
    columns = [name if name in known else "" for name in document.columns]  # "" is passed over
    sources = {key: (entry.source, entry.licence) for key, entry in document.sources.items()}
    reasons = document.reasons
    joined: dict[Any, tuple[str, str]] = {}

    def cite(ids: Any) -> tuple[str, str]:
        key = ids if isinstance(ids, str) else tuple(ids)
        if key not in joined:
            joined[key] = sources[key] if isinstance(key, str) else _join([sources[item] for item in key])
        return joined[key]

    def read(row: list[Any]) -> dict[str, Any]:
        cells = dict(zip(columns, row, strict=True))
        cells.pop("", None)
        cells["source"], cells["licence"] = cite(cells["source"])
        gaps = cells.pop("missing", None)
        if gaps is not None:
            cells["missing"] = {name: reasons[key] for name, key in gaps.items()}
        return cells

    return read


def _join(parts: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """Put several sources into one text, and their licences into one expression as SPDX writes it."""
    texts, licences = zip(*parts, strict=True)
    return "; ".join(texts), " AND ".join(dict.fromkeys(licences))


def document(table: Table) -> Document:
    """Return the file form of a table; the inverse of `nouns`."""
    heads = {key: (entry.source, entry.licence) for key, entry in table.sources.items()}
    reasons: dict[str, str] = {}
    items = fields(type(table.rows[0])) if table.rows else ()
    names = [item.name for item in items if item.name not in ("licence", "missing")]
    defaults = {item.name: item.metadata.get("why") for item in items}
    cells, reasoned = [], set[str]()
    for row in table.rows:
        gaps = {name: _id(reasons, why) for name, why in row.missing.items() if why != defaults[name]}
        plain_row = [_cited(row, heads) if name == "source" else _cell(getattr(row, name)) for name in names]
        cells.append([*plain_row, gaps or None])
        reasoned |= gaps.keys()
    unsaid = {
        item.name: None if item.name == "missing" else item.default for item in items if item.name not in reasoned
    }
    columns, cells = _without(unsaid, [*names, "missing"], cells)
    dates = {key: entry.date for key, entry in table.sources.items()}
    return Document(
        kind="catalog",
        v=VERSION,
        table=table.table,
        date=table.date,
        columns=columns,
        sources={key: Entry(*head, date=dates.get(key, table.date)) for key, head in heads.items()},
        reasons={key: why for why, key in reasons.items()},
        rows=cells,
    )


def _without(unsaid: dict[str, Any], columns: list[str], cells: list[list[Any]]) -> tuple[list[str], list[list[Any]]]:
    """Leave out the columns of which every cell is what the noun takes when it is told nothing."""
    kept = [
        place
        for place, name in enumerate(columns)
        if name not in unsaid or any(row[place] != _cell(unsaid[name]) for row in cells)
    ]
    return [columns[place] for place in kept], [[row[place] for place in kept] for row in cells]


def _id(reasons: dict[str, str], why: str) -> str:
    return reasons.setdefault(why, f"r{len(reasons) + 1}")


def _cited(row: Any, heads: dict[str, tuple[str, str]]) -> str | list[str]:
    """Return the id or ids under which the head knows a row's source; make an entry when it does not."""
    wanted = (row.source, row.licence)
    for key, head in heads.items():
        if head == wanted:
            return key
    by_text = {source: key for key, (source, _) in heads.items()}
    ids = [by_text.get(part, "") for part in row.source.split("; ")]
    if all(ids) and _join([heads[key] for key in ids]) == wanted:
        return ids
    key = next(name for number in range(len(heads) + 1) if (name := f"s{number + 1}") not in heads)
    heads[key] = wanted
    return key


def _cell(value: Any) -> Any:
    """Return the plain form of a field; a whole number loses its '.0', which costs a tenth of the file."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    if isinstance(value, Mapping):
        return {key: _cell(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_cell(item) for item in value]
    if isinstance(value, Noun):
        inner = {item.name: getattr(value, item.name) for item in fields(value) if item.name != "missing"}
        out = {name: _cell(item) for name, item in inner.items() if item is not None}
        return out | ({"missing": dict(value.missing)} if value.missing else {})
    return plain(value)
