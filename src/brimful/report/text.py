"""The form for people: plain tables and paragraphs that read well at 80 columns, without colour, and at 2 a.m.

Every function takes a record and returns text. Colours are put in only for a terminal; NO_COLOR is kept.
"""

from __future__ import annotations

import io
import shutil
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from brimful.config import Value
from brimful.journal.read import Journal
from brimful.model.advice import Finding
from brimful.model.answers import Diagnosis, ListedRun, View
from brimful.model.hardware import Device
from brimful.model.noun import Noun, plain
from brimful.model.text import printable, readable_path
from brimful.model.units import format_bytes, format_usd

UNKNOWN = "?"
_WIDE = 200  # a pipe or a file has no width: nothing is cut there


def width() -> int:
    """Return how many columns there are to write in."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDE


def screen_rows() -> int:
    """Return how many rows the terminal has, without the one of the prompt that follows."""
    return shutil.get_terminal_size().lines - 1


def render(*parts: RenderableType) -> str:
    """Return what rich makes of the parts, for this terminal or for a file."""
    out = io.StringIO()
    terminal = sys.stdout.isatty()
    console = Console(file=out, force_terminal=terminal, width=width(), highlight=False)
    for part in parts:
        console.print(part, soft_wrap=not terminal or getattr(part, "no_wrap", False) is True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def table(*columns: str, right: Iterable[str] = ()) -> Table:
    """Return an empty table without lines; the columns in `right` hold numbers."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return made


def said(text: str, style: str = "") -> Text:
    """Return text from outside, safe for a terminal and free of markup."""
    return Text(printable(text), style=style)


def number(value: int | None) -> str:
    """Return a whole number, or the sign of the unknown."""
    return UNKNOWN if value is None else str(value)


def settings(values: Iterable[Value], *, origin: bool) -> str:
    """Draw the settings."""
    rows = table("setting", "value", *(["from"] if origin else []))
    for item in values:
        value = said(item.value) if item.value is not None else Text("not set", style="dim")
        rows.add_row(item.key.name, value, *([said(item.origin)] if origin else []))
    return render(rows)


def devices(found: Iterable[Device]) -> Table:
    """Draw devices."""
    rows = table("device", "model", "memory", "driver", "seen", right=("memory",))
    for item in found:
        memory = UNKNOWN if item.memory_bytes is None else format_bytes(item.memory_bytes)
        model = (item.model or UNKNOWN) + (f", {item.cores} cores" if item.cores else "")
        rows.add_row(said(item.device), said(model), memory, said(item.driver_version or "-"), item.source)
    return rows


def diagnosis(found: Diagnosis) -> str:
    """Draw what doctor found: this machine, brimful's own parts, and every back-end."""
    rows = table("seam", "back-end", "works", "what it is, or why it does not work")
    for state in found.backends:
        rows.add_row(state.seam, said(state.name), _yes(works=state.available), _reason(state.reason, state.fix))
    parts = table("part", "works", "")
    for part in found.parts:
        parts.add_row(said(part.part), _yes(works=part.works), _reason(part.reason, part.fix))
    head = said(f"brimful {found.version} on Python {found.python}, {found.platform}", "bold")
    return render(head, Text(), devices(found.devices), Text(), parts, Text(), rows)


def _yes(*, works: bool) -> Text:
    return Text("yes", style="green") if works else Text("no", style="red")


def _reason(reason: str, fix: str | None) -> Text:
    return said(reason) if fix is None else said(f"{reason}\nfix: {fix}")


def look(found: View) -> str:
    """Draw this machine and what to do next."""
    todo = table("next", "")
    for item in found.suggestions:
        todo.add_row(Text(item.command, style="cyan"), said(item.why))
    problems = [said(f"{item.part}: {item.reason}\nfix: {item.fix}") for item in found.problems]
    return render(devices(found.devices), *problems, Text(), todo)


def runs(found: Iterable[ListedRun], root: Path) -> str:
    """Draw the list of runs."""
    found = list(found)
    if not found:
        return f"no run yet under {printable(readable_path(root))}; `brimful audit` writes the first one"
    rows = table("run", "started", "records", "command", right=("records",))
    for column in rows.columns[:2]:
        column.no_wrap = True  # a run is named by its id: one that is cut in two cannot be copied
        column.overflow = "ignore"
    for item in found:
        command = " ".join(item.command) or "-"
        broken = item.missing.get("records")
        rows.add_row(
            said(item.run),
            (item.started_at or UNKNOWN)[:19],
            number(item.records),
            said(broken or command, "red" if broken else ""),
        )
    return render(rows)


def journal(found: Journal) -> str:
    """Draw a run: its head, how many records of each kind, its findings, and the rest line by line."""
    run = found.run
    head = [
        said(f"run {run.run}", "bold"),
        said(f"brimful {run.version} on {run.host}, {run.started_at[:19]} UTC: {' '.join(run.command) or '-'}"),
        said(readable_path(found.path), "dim"),
    ]
    counts = Counter(item.kind for item in found.records)
    rows = table("record", "kind", "what it says")
    for item in found.records[1:]:
        rows.add_row(item.id.rpartition("/")[2], item.kind, said(_gist(item.kind, item.noun)))
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items() if kind != "run")
    return render(*head, Text(), rows, Text(), said(kinds or "no record beside the run itself", "dim"))


def _gist(kind: str, noun: Noun) -> str:
    """Return the first few known values of a record; a finding and its like speak for themselves."""
    if isinstance(noun, Finding):
        worth = f"{format_usd(noun.usd_per_month)} a month: " if noun.usd_per_month is not None else ""
        return worth + noun.what
    known = {name: value for name, value in plain(noun).items() if isinstance(value, str | int | float) and value != ""}
    return ", ".join(f"{_short(kind, name)} {value}".strip() for name, value in list(known.items())[:5])


def _short(kind: str, name: str) -> str:
    """Return a field's name without what the column beside it says already: the device of a device is just its name."""
    return "" if name == kind else name.removeprefix(f"{kind}_")
