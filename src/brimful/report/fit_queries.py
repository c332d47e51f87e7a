"""Predictions as lines: one JSON object for each query, or one row of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from rich.text import Text

from brimful.advise.fit.answered import Answered, Line, Predicted
from brimful.model.noun import plain
from brimful.model.text import printable
from brimful.model.units import format_seconds
from brimful.report import json
from brimful.report.text import UNKNOWN, render, said, table

_AT_ONCE = 500
_KIND = "prediction"


def json_lines(found: Iterable[Line]) -> Iterator[str]:
    """Yield the answers as JSON, one a line, some lines at a time."""
    lines = iter(found)
    while some := list(islice(lines, _AT_ONCE)):
        yield "\n".join(json.answer(_KIND, {"id": item.id, **_body(item.answer)}) for item in some)


def _body(answer: Answered) -> dict[str, Any]:
    found: dict[str, Any] = plain(answer)
    return found


def one_json(found: Predicted) -> str:
    """Return one prediction as JSON."""
    return json.answer(
        _KIND,
        {"id": found.model, "device": found.device, **_body(found.answer), "run": found.run, "journal": found.journal},
    )


def text_lines(found: Iterable[Line]) -> Iterator[str]:
    """Yield the answers as a table, some rows at a time."""
    lines = iter(found)
    while some := list(islice(lines, _AT_ONCE)):
        rows = table("query", "one call", "80 % within", "per second", "80 % within", "why", right=("one call",))
        for item in some:
            rows.add_row(said(str(item.id)), *_cells(item.answer), said(item.answer.reason))
        yield render(rows)


def _cells(answer: Answered) -> tuple[str, str, str, str]:
    if answer.latency_ms is None or answer.throughput_per_s is None:
        return UNKNOWN, "", UNKNOWN, ""
    low, high = answer.latency_ms_low or 0.0, answer.latency_ms_high or 0.0
    slow, fast = answer.throughput_per_s_low or 0.0, answer.throughput_per_s_high or 0.0
    return (
        format_seconds(answer.latency_ms / 1000),
        f"{format_seconds(low / 1000)} to {format_seconds(high / 1000)}",
        rate(answer.throughput_per_s),
        f"{rate(slow)} to {rate(fast)}",
    )


def rate(per_s: float) -> str:
    """Print a rate with three figures."""
    if per_s >= 1000:
        return f"{float(f'{per_s:.3g}'):,.0f}"
    return f"{per_s:.3g}"


def one(found: Predicted) -> str:
    """Draw one prediction for people."""
    answer = found.answer
    call, within, per_s, per_s_within = _cells(answer)
    rows = table("", "predicted", "80 % within")
    rows.add_row("one call", Text(call, style="bold"), within)
    rows.add_row("per second", Text(per_s, style="bold"), per_s_within)
    if answer.first_token_ms is not None and answer.per_token_ms is not None:
        rows.add_row("first token", format_seconds(answer.first_token_ms / 1000), "")
        rows.add_row("each further token", format_seconds(answer.per_token_ms / 1000), "")
    head = said(f"{found.model} on {found.device}, {answer.setting or ''}", "bold")
    basis = [said(f"rests on: {printable(item)}", "dim") for item in answer.basis if "/" not in item[:40]]
    evidence = said(f"evidence: {found.journal}", "dim")
    evidence.no_wrap = True
    return render(head, rows, said(answer.reason), *basis, evidence)
