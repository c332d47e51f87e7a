"""A part of the catalogue as a table that fits 80 columns, and what there is to know about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.table import Table
from rich.text import Text

from brimful.model.answers import Choice
from brimful.model.hardware import EndedService, Fitted, Offer, Status
from brimful.model.noun import Noun
from brimful.model.text import counted
from brimful.model.units import format_bytes, format_share, format_usd
from brimful.report.text import UNKNOWN, number, render, said, table, width

# What each column shows, and in which order columns are left out where the terminal is too narrow for all of them.
_COLUMNS: dict[str, Callable[[Offer], str]] = {
    "instance": lambda offer: offer.instance,
    "vCPU": lambda offer: number(offer.vcpus),
    "cores": lambda offer: number(offer.cores),
    "memory": lambda offer: UNKNOWN if offer.memory_bytes is None else format_bytes(offer.memory_bytes),
    "accelerators": lambda offer: _fitted(offer.accelerators),
    "usable each": lambda offer: _usable(offer.accelerators),
    "Gbps": lambda offer: _gbps(offer.network_bytes_per_s),
    "$/hour": lambda offer: UNKNOWN if offer.usd_per_hour is None else format_usd(offer.usd_per_hour)[1:],
    "status": lambda offer: offer.status.value,
}
_LEFT_OUT_FIRST = ("cores", "Gbps", "usable each", "memory")
_GAP = 2
_MANY = 8  # more values than this are missing for one reason: nothing but what is shown is known


def text(found: Choice) -> str:
    """Draw a part of the catalogue; the status has a column only when something cannot simply be had."""
    services = [said(_ended(item), "yellow") for item in found.services]
    if not found.instances and services:
        return render(*services)
    if not found.instances:
        nothing = f"no instance type matches {' '.join(found.words)}{_untold(found)}"
        return render(said(nothing), *(said(hint) for hint in found.hints))
    doubtful = any(offer.status is not Status.AVAILABLE for offer in found.instances)
    foot = f"{_dates(found.instances)}{'' if doubtful else '; all available'}{_untold(found)}"
    rows = _rows(found.instances, set(_COLUMNS) - (set() if doubtful else {"status"}))
    return render(rows, Text(), *_notes(found), *services, said(foot, "dim"))


def _rows(offers: Iterable[Offer], wanted: set[str]) -> Table:
    cells = {name: [name, *map(show, offers)] for name, show in _COLUMNS.items() if name in wanted}
    for name in _LEFT_OUT_FIRST:
        if sum(max(map(len, column)) + _GAP for column in cells.values()) - _GAP > width():
            del cells[name]
    rows = table(*cells, right=cells.keys() - {"instance", "accelerators", "status"})
    for column in rows.columns:
        column.no_wrap = True
    for row in list(zip(*cells.values(), strict=True))[1:]:
        rows.add_row(*row)
    return rows


def _fitted(parts: tuple[Fitted, ...] | None) -> str:
    if parts is None:
        return UNKNOWN
    shares = ("" if part.share == 1 else f"{format_share(part.share)} " for part in parts)
    return " + ".join(f"{part.count} x {share}{part.model}" for part, share in zip(parts, shares, strict=True)) or "-"


def _usable(parts: tuple[Fitted, ...] | None) -> str:
    """Return how much of each device's nominal memory a program can use: 22.4/24 GiB."""
    return UNKNOWN if parts is None else " + ".join(map(_of_nominal, parts)) or "-"


def _of_nominal(part: Fitted) -> str:
    if part.memory_bytes is None:
        return UNKNOWN
    nominal = format_bytes(part.memory_bytes)
    if part.usable_memory_bytes is None:
        return f"{UNKNOWN}/{nominal}"
    usable, _, unit = format_bytes(part.usable_memory_bytes).partition(" ")
    return f"{usable if nominal.endswith(unit) else f'{usable} {unit}'}/{nominal}"


def _gbps(bytes_per_s: float | None) -> str:
    if bytes_per_s is None:
        return UNKNOWN
    rate = bytes_per_s * 8 / 1e9
    return f"{rate:.3g}" if rate < 100 else f"{rate:.0f}"


def _ended(service: EndedService) -> str:
    days = [f"closed to new customers on {service.closed_to_new_on}"] if service.closed_to_new_on else []
    days += [f"ended on {service.ended_on}"] if service.ended_on else []
    instead = f"; instead: {', '.join(service.successors)}" if service.successors else ""
    return f"{service.service} is withdrawn (announced by AWS; {', '.join(days)}){instead}\n{service.note}"


def _notes(found: Choice) -> list[Text]:
    """Say of each withdrawn type how we know it and what to take instead; for one type alone, say all there is."""
    notes = [said(hint) for hint in found.hints]
    for offer in found.instances:
        if offer.withdrawal is not None:
            instead = f"; instead: {', '.join(offer.successors)}" if offer.successors else ""
            notes.append(said(f"{offer.instance} {offer.withdrawal_told}{instead}", "yellow"))
    if len(found.instances) == 1:
        offer = found.instances[0]
        notes += [said(offer.note)] if offer.note else []
        notes += [said(line, "dim") for line in _reasons(offer)]
    return [*notes, Text()] if notes else []


def _reasons(noun: Noun) -> list[str]:
    """Say why values are missing, a line for each reason and not for each value; of many one would read no list."""
    by_reason: dict[str, list[str]] = {}
    for name, why in noun.missing.items():
        by_reason.setdefault(why, []).append(name)
    told = {why: names for why, names in by_reason.items() if "not withdrawn" not in why}
    return [
        f"{UNKNOWN} nothing else is known: {why}" if len(names) > _MANY else f"{UNKNOWN} {', '.join(names)}: {why}"
        for why, names in told.items()
    ]


def _dates(offers: Iterable[Offer]) -> str:
    offers = list(offers)
    days = sorted({day for offer in offers if (day := offer.price_date) is not None})
    shown = f"prices of {days[0]}{f' to {days[-1]}' if len(days) > 1 else ''}" if days else "no price is known"
    regions = ", ".join(sorted({offer.region for offer in offers}))
    return f"{counted(len(offers), 'type')} in {regions}, on demand, {shown}; {UNKNOWN} is unknown, not zero"


def _untold(found: Choice) -> str:
    if not found.untold:
        return ""
    what = ", ".join(f"{key} of {count}" for key, count in found.untold_by.items())
    return f"; {found.untold} more may match, but not all is known of them: {what}"
