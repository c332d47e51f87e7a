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
from brimful.model.answers import Choice, Diagnosis, ListedRun, View
from brimful.model.hardware import Device, EndedService, Fitted, Offer
from brimful.model.noun import Noun, plain
from brimful.model.text import counted, printable, readable_path
from brimful.model.units import format_bit_rate, format_bytes, format_share, format_usd

UNKNOWN = "?"
_WIDE = 200  # a pipe or a file has no width: nothing is cut there


def render(*parts: RenderableType) -> str:
    """Return what rich makes of the parts, for this terminal or for a file."""
    out = io.StringIO()
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else _WIDE
    console = Console(file=out, force_terminal=terminal, width=width, highlight=False, soft_wrap=not terminal)
    for part in parts:
        console.print(part)
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


def settings(values: Iterable[Value], *, origin: bool) -> str:
    """Draw the settings."""
    rows = table("setting", "value", *(["from"] if origin else []))
    for item in values:
        value = said(item.value) if item.value is not None else Text("not set", style="dim")
        rows.add_row(item.key.name, value, *([said(item.origin)] if origin else []))
    return render(rows)


def choice(found: Choice) -> str:
    """Draw a part of the catalogue."""
    services = [said(_ended(item), "yellow") for item in found.services]
    if not found.instances and services:
        return render(*services)
    if not found.instances:
        nothing = f"no instance type matches {' '.join(found.words)}{_untold(found)}"
        return render(said(nothing), *(said(hint) for hint in found.hints))
    numbers = ("vCPU", "cores", "memory", "usable of each", "network", "$/hour")
    rows = table(
        "instance",
        "vCPU",
        "cores",
        "memory",
        "accelerators",
        "usable of each",
        "network",
        "$/hour",
        "status",
        right=numbers,
    )
    for offer in found.instances:
        rows.add_row(*_offer_cells(offer))
    return render(rows, Text(), *_notes(found), *services, said(_dates(found.instances) + _untold(found), "dim"))


def _ended(service: EndedService) -> str:
    days = [f"closed to new customers on {service.closed_to_new_on}"] if service.closed_to_new_on else []
    days += [f"ended on {service.ended_on}"] if service.ended_on else []
    instead = f"; instead: {', '.join(service.successors)}" if service.successors else ""
    return f"{service.service} is withdrawn (announced; {', '.join(days)}){instead}\n{service.note}"


def _offer_cells(offer: Offer) -> list[str]:
    parts = offer.accelerators
    each = sorted({_each(part) for part in parts or ()})
    return [
        offer.instance,
        _number(offer.vcpus),
        _number(offer.cores),
        _bytes(offer.memory_bytes),
        UNKNOWN if parts is None else " + ".join(map(_fitted, parts)) or "-",
        " / ".join(each) or ("-" if parts is not None else UNKNOWN),
        UNKNOWN if offer.network_bytes_per_s is None else format_bit_rate(offer.network_bytes_per_s),
        UNKNOWN if offer.usd_per_hour is None else format_usd(offer.usd_per_hour),
        offer.status.value if offer.withdrawn_on is None else f"{offer.status} {offer.withdrawn_on}",
    ]


def _fitted(part: Fitted) -> str:
    share = "" if part.share == 1 else f"{format_share(part.share)} "
    return f"{part.count} x {share}{part.model}"


def _each(part: Fitted) -> str:
    """Return how much of a device's nominal memory a program can use."""
    if part.usable_memory_bytes == part.memory_bytes:
        return _bytes(part.memory_bytes)
    return f"{_bytes(part.usable_memory_bytes)} of {_bytes(part.memory_bytes)}"


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)


def _bytes(value: int | None) -> str:
    return UNKNOWN if value is None else format_bytes(value)


def _notes(found: Choice) -> list[Text]:
    """Say of each withdrawn type how we know it and what to take instead; for one type alone, say all there is."""
    notes = [said(hint) for hint in found.hints]
    for offer in found.instances:
        if offer.withdrawal is not None:
            instead = f"; instead: {', '.join(offer.successors)}" if offer.successors else ""
            day = offer.withdrawn_on or "date unknown"
            notes.append(said(f"{offer.instance} is withdrawn ({offer.withdrawal} {day}){instead}", "yellow"))
    if len(found.instances) == 1:
        offer = found.instances[0]
        notes += [said(offer.note)] if offer.note else []
        notes += [said(line, "dim") for line in _reasons(offer)]
    return [*notes, Text()] if notes else []


def _reasons(noun: Noun) -> list[str]:
    """Say why values are missing, a line for each reason and not for each value."""
    by_reason: dict[str, list[str]] = {}
    for name, why in noun.missing.items():
        by_reason.setdefault(why, []).append(name)
    return [f"? {', '.join(names)}: {why}" for why, names in by_reason.items() if "not withdrawn" not in why]


def _dates(offers: Iterable[Offer]) -> str:
    offers = list(offers)
    days = sorted({day for offer in offers if (day := offer.price_date) is not None})
    shown = f"{days[0]}" if len(days) == 1 else f"{days[0]} to {days[-1]}" if days else "no known date"
    regions = ", ".join(sorted({offer.region for offer in offers}))
    return f"{counted(len(offers), 'type')} in {regions}, on demand, prices of {shown}; {UNKNOWN} is unknown, not zero"


def _untold(found: Choice) -> str:
    if not found.untold:
        return ""
    what = ", ".join(f"{key} of {count}" for key, count in found.untold_by.items())
    return f"; {found.untold} more may match, but not all is known of them: {what}"


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
    for item in found:
        command = " ".join(item.command) or "-"
        broken = item.missing.get("records")
        rows.add_row(
            said(item.run),
            (item.started_at or UNKNOWN)[:19],
            _number(item.records),
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
        rows.add_row(item.id.rpartition("/")[2], item.kind, said(_gist(item.noun)))
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items() if kind != "run")
    return render(*head, Text(), rows, Text(), said(kinds or "no record beside the run itself", "dim"))


def _gist(noun: Noun) -> str:
    """Return the first few known values of a record; a finding and its like speak for themselves."""
    if isinstance(noun, Finding):
        worth = f"{format_usd(noun.usd_per_month)} a month: " if noun.usd_per_month is not None else ""
        return worth + noun.what
    known = {name: value for name, value in plain(noun).items() if isinstance(value, str | int | float) and value != ""}
    return ", ".join(f"{name} {value}" for name, value in list(known.items())[:5])
