"""The machine form of every answer: one object with `v` and `kind`; null has its reason in `missing` beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from brimful.config import Value
from brimful.journal.read import Journal
from brimful.model.errors import BrimfulError
from brimful.model.noun import Noun, plain
from brimful.model.text import unicode_text

VERSION = 1


def answer(kind: str, body: Mapping[str, Any] | Noun) -> str:
    """Return an answer, a noun or a mapping of them, as one line of JSON."""
    return msgspec.json.encode({"v": VERSION, "kind": kind, **_unicode(plain(body))}).decode()


def _unicode(value: Any) -> Any:
    """Return a plain value in which every text is Unicode: paths and arguments are bytes, and may be anything."""
    if isinstance(value, str):
        return unicode_text(value)
    if isinstance(value, dict):
        return {unicode_text(key): _unicode(item) for key, item in value.items()}
    return [_unicode(item) for item in value] if isinstance(value, list) else value


def error(problem: BrimfulError) -> str:
    """Return an error in the same form, so that a program that asked for JSON gets JSON."""
    body = {"what": problem.what, "why": problem.why, "fix": problem.fix, "exit_code": problem.exit_code}
    return answer("error", body)


def settings(values: Iterable[Value]) -> dict[str, Any]:
    """Return the settings with their origins."""
    listed = []
    for item in values:
        row: dict[str, Any] = {"key": item.key.name, "value": item.value, "origin": item.origin}
        listed.append(row if item.value is not None else {**row, "missing": {"value": "it is not set"}})
    return {"settings": listed}


def journal(found: Journal) -> dict[str, Any]:
    """Return a run with all its records."""
    records = [{"kind": item.kind, "id": item.id, "at": item.at, **plain(item.noun)} for item in found.records]
    return {"run": found.run.run, "records": records, "warnings": list(found.warnings)}
