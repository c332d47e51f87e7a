"""The audit on one screen: what to do first, for what money, with which command; then counts, and rows on demand."""

from __future__ import annotations

import math
import sys

from rich.console import Console, RenderableType
from rich.text import Text

from brimful.model.advice import Finding, PracticeStatus, Severity, Verdict
from brimful.model.answers import Audit
from brimful.model.text import counted, printable
from brimful.model.units import format_usd
from brimful.report.text import render, said, screen_rows, table, width

_STYLES = {
    PracticeStatus.MET: "green",
    PracticeStatus.NOT_MET: "red",
    PracticeStatus.UNKNOWN: "yellow",
    PracticeStatus.NOT_APPLICABLE: "dim",
}
_WORDS = {status: status.value.replace("_", " ") for status in PracticeStatus}


_PARTS = ("what", "fix", "why")  # in the order in which they get room


def text(found: Audit, *, every: bool = False) -> str:
    """Draw an audit: one screen, or all findings and all rows."""
    head = said(f"audit of {found.about}", "bold")
    foot = _foot(found, every=every)
    things = [_Thing(number, item) for number, item in enumerate(found.findings if every else found.first, 1)]
    if sys.stdout.isatty() and not every:
        _fit(things, screen_rows() - sum(map(_height, (head, *foot))))
    parts: list[RenderableType] = [head, said("Do first" if things else "Nothing to do was found", "bold")]
    for thing in things:
        parts += [*thing.lines(), Text()]
    if every:
        parts += [*_rows(found), Text()]
    return render(*parts, *foot)


def _foot(found: Audit, *, every: bool) -> list[Text]:
    counts = ", ".join(f"{found.counts.get(status.value, 0)} {_WORDS[status]}" for status in PracticeStatus)
    lines = [said(f"{len(found.practices)} practices: {counts}")]
    more = len(found.findings) - len(found.first)
    if not every:
        lines.append(said((f"{counted(more, 'more finding')}, " if more > 0 else "") + "all texts and rows: --all"))
    evidence = said(f"evidence: {found.journal}", "dim")
    evidence.no_wrap = True  # so that the path can be copied in one piece
    return [*lines, evidence]


def _height(line: Text) -> int:
    """Return how many rows of the terminal a line takes."""
    return math.ceil(line.cell_len / width()) if line.no_wrap else len(_wrapped(line, width()))


def _wrapped(line: Text, columns: int) -> list[Text]:
    return list(line.wrap(Console(width=columns), columns)) or [Text()]


class _Thing:
    """One thing to do: its texts, wrapped, and how many rows of each there is room for."""

    def __init__(self, number: int, finding: Finding) -> None:
        worth = "" if finding.usd_per_month is None else f"{format_usd(finding.usd_per_month)} a month: "
        whole = {
            "what": Text.assemble((worth, "bold"), said(finding.what)),
            "why": Text.assemble(("why: ", "bold"), said(finding.why)),
            "fix": Text.assemble(("fix: ", "bold"), said(finding.fix)),
        }
        self._number = f"{number}. "
        columns = max(20, width() - len(self._number)) if sys.stdout.isatty() else sys.maxsize
        self.texts = {
            part: [line] if columns == sys.maxsize else _wrapped(line, columns) for part, line in whole.items()
        }
        self._columns = columns
        self.room = {part: len(lines) for part, lines in self.texts.items()}
        self.command: Text | None = None
        if finding.command is not None:  # never wrapped by us, so that it can be copied in one piece
            self.command = Text.assemble(("   $ ", "dim"), (printable(finding.command), "cyan"), no_wrap=True)

    def lines(self) -> list[RenderableType]:
        """Return what there is room for: what, why, fix and the command."""
        shown = [line for part in ("what", "why", "fix") for line in self._cut(part)]
        indent = " " * len(self._number)
        lines: list[RenderableType] = [
            Text(self._number if at == 0 else indent) + line for at, line in enumerate(shown)
        ]
        return [*lines, *([self.command] if self.command is not None else [])]

    def _cut(self, part: str) -> list[Text]:
        lines, room = self.texts[part], self.room[part]
        if 0 < room < len(lines):
            last = lines[room - 1].copy()
            last.rstrip()
            while last.cell_len > self._columns - 2 and " " in last.plain:  # a word is there whole or not at all
                last.right_crop(len(last) - last.plain.rindex(" "))
            return [*lines[: room - 1], last.append(" …")]
        return lines[:room]


def _fit(things: list[_Thing], rows: int) -> None:
    """Share out the rows of a screen: one for each text of each thing first, then a second one, while there are any."""
    free = rows - 1 - sum(1 + (_height(thing.command) if thing.command is not None else 0) for thing in things)
    for thing in things:
        thing.room = dict.fromkeys(_PARTS, 0)
    longest = max((len(lines) for thing in things for lines in thing.texts.values()), default=0)
    for level in range(1, longest + 1):
        for part in _PARTS:
            for thing in things:
                must = level == 1 and part == "what"
                if len(thing.texts[part]) >= level and (free > 0 or must):
                    thing.room[part] = level
                    free -= 1


def _rows(found: Audit) -> list[RenderableType]:
    rows = table("no.", "practice", "status", "why, and what would change it", right=("no.",))
    for verdict in found.practices:
        status = Text(_WORDS[verdict.status], style=_STYLES[verdict.status])
        rows.add_row(str(verdict.number), said(verdict.title), status, _told(verdict))
    return [rows]


def _told(verdict: Verdict) -> Text:
    worth = "" if verdict.usd_per_month is None else f" ({format_usd(verdict.usd_per_month)} a month)"
    out = said(verdict.because + worth)
    if verdict.fix is not None:
        word = "to decide: " if verdict.status is PracticeStatus.UNKNOWN else "fix: "
        out.append(f"\n{word}", style="dim").append(said(verdict.fix))
    return out


def exit_code(found: Audit, fail_on: str) -> int:
    """Return 1 when a finding is at least as severe as asked, else 0."""
    if fail_on == "never":
        return 0
    return int(any(item.severity.rank >= Severity(fail_on).rank for item in found.findings))
