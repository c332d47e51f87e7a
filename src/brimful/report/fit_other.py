"""Live video and FPGAs, for people: what there is, what it costs, and where each figure comes from."""

from __future__ import annotations

from rich.text import Text

from brimful.advise.fit.fpga import FpgaAnswer
from brimful.advise.fit.transcode import Transcoding
from brimful.model.text import counted
from brimful.report.text import UNKNOWN, render, said, table

_ROWS = 8


def transcoding(found: Transcoding, form: str, streams: int, journal: str, top: int | None = None) -> str:
    """Draw what transcodes so many streams."""
    head = said(f"{counted(streams, 'live stream')} of {form}", "bold")
    rows = table("", "machines", "$/hour", "$/stream-hour", "streams each", "limit", right=("$/hour",))
    shown = found.answers[: top or _ROWS]
    for number, item in enumerate(shown, 1):
        each, cost = item.streams_each, item.usd_per_stream_hour
        doubt = " *" if item.unverified else ""
        rows.add_row(
            str(number),
            said(f"{item.count} x {item.instance}"),
            f"{item.count * item.usd_per_hour:.3f}",
            f"{cost.mid:.3g} ({cost.low:.3g}-{cost.high:.3g}){doubt}",
            f"{each.mid:.0f}" if each.low == each.high else f"{each.mid:.0f} ({each.low:.0f}-{each.high:.0f})",
            item.limited_by,
        )
    basis = dict.fromkeys(item.basis for item in shown)
    doubts = dict.fromkeys(doubt for item in shown for doubt in item.unverified)
    lines = [said(f"rests on: {item}", "dim") for item in basis]
    if doubts:
        lines.append(said(f"* unverified: {'; '.join(doubts)}", "yellow"))
    return render(head, rows, *lines, _evidence(journal))


def fpga(found: FpgaAnswer, journal: str) -> str:
    """Draw what there is for a task on FPGAs."""
    rows = table("machine", "FPGAs", "vCPU", "$/hour", right=("vCPU", "$/hour"))
    for item in found.offers:
        price = UNKNOWN if item.usd_per_hour is None else f"{item.usd_per_hour:.3f}"
        rows.add_row(said(item.instance), said(f"{item.fpgas} x {item.fpga}"), str(item.vcpus or UNKNOWN), price)
    claims = [said(f"published, not measured here: {claim}") for claim in found.published]
    gone = [said(f"withdrawn: {', '.join(found.withdrawn)}", "dim")] if found.withdrawn else []
    needs = said(f"nothing is ranked: it takes {found.needs}")
    return render(said(f"FPGAs for {found.task}", "bold"), rows, *claims, needs, *gone, _evidence(journal))


def _evidence(journal: str) -> Text:
    line = said(f"evidence: {journal}", "dim")
    line.no_wrap = True
    return line
