"""The audit on one screen: what to do first, for what money, with which command; then counts, and rows on demand."""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from brimful.model.advice import Finding, PracticeStatus, Severity, Verdict
from brimful.model.answers import Audit
from brimful.model.text import counted
from brimful.model.units import format_usd
from brimful.report.text import render, said, table

_STYLES = {
    PracticeStatus.MET: "green",
    PracticeStatus.NOT_MET: "red",
    PracticeStatus.UNKNOWN: "yellow",
    PracticeStatus.NOT_APPLICABLE: "dim",
}
_WORDS = {status: status.value.replace("_", " ") for status in PracticeStatus}


def text(found: Audit, *, every: bool = False) -> str:
    """Draw an audit: one screen, or all rows as well."""
    parts: list[RenderableType] = [said(f"audit of {found.about}", "bold"), Text()]
    if found.first:
        parts.append(said("Do first", "bold"))
        for number, finding in enumerate(found.first, 1):
            parts += _thing(number, finding)
    if every:
        parts += [*_rows(found), Text()]
    counts = ", ".join(f"{found.counts.get(status.value, 0)} {_WORDS[status]}" for status in PracticeStatus)
    parts.append(said(f"{len(found.practices)} practices: {counts}" + ("" if every else "   (--all shows them)")))
    more = len(found.findings) - len(found.first)
    rest = f"; {counted(more, 'more finding')}: brimful show {found.run}" if more > 0 else ""
    parts.append(said(f"evidence: {found.journal}{rest}", "dim"))
    return render(*parts)


def _thing(number: int, finding: Finding) -> list[RenderableType]:
    worth = "" if finding.usd_per_month is None else f"{format_usd(finding.usd_per_month)} a month: "
    lines: list[RenderableType] = [Text.assemble(f"{number}. ", (worth, "bold"), said(finding.what))]
    told = [Text.assemble(("why: ", "bold"), said(finding.why)), Text.assemble(("fix: ", "bold"), said(finding.fix))]
    lines += [Padding(line, (0, 0, 0, 3)) for line in told]
    if finding.command is not None:  # never wrapped by us, so that it can be copied in one piece
        lines.append(Text.assemble(("   $ ", "dim"), (finding.command, "cyan"), no_wrap=True))
    return [*lines, Text()]


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
