"""A ranking as one page that needs nothing else: the chart of cost against latency, and all answers in a table.

The chart is drawn here, as SVG; nothing is fetched when the page is opened. Both axes are logarithmic. The line joins
the answers that no other beats in both; the bars are the ends of the 80 % intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from brimful.advise.fit.ranking import Fitting, Ranked
from brimful.model.text import printable
from brimful.model.units import format_seconds
from brimful.report.fit import left_out, title
from brimful.report.fit_queries import rate

_WIDTH, _HEIGHT = 860, 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 20, 50
_MOST_DOTS, _MOST_ROWS, _MOST_LABELS = 400, 300, 9
_BARS_OF = 40  # the first answers have their intervals drawn: with all of them nothing can be seen
_COLOURS = {
    "cpu": ("#6b7280", "CPU"),
    "gpu": ("#2563eb", "GPU"),
    "share": ("#059669", "share of a GPU"),
    "neuron": ("#d97706", "Inferentia, Trainium"),
    "other": ("#7c3aed", "other"),
}
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#111827;background:#fff}
h1{font-size:1.25rem;margin:0 0 .25rem}h2{font-size:1rem;margin:2rem 0 .5rem}p{margin:.25rem 0}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:13px}
th,td{padding:.3rem .6rem .3rem 0;text-align:right;border-bottom:1px solid #e5e7eb;vertical-align:top}
th:nth-child(2),td:nth-child(2),th:last-child,td:last-child{text-align:left}td small{color:#6b7280}
svg{width:100%;height:auto}code{background:#f3f4f6;padding:.1rem .3rem;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
.basis{color:#6b7280;font-size:12px;overflow-wrap:anywhere}tr.set td:nth-child(2){font-weight:600}
@media (prefers-color-scheme:dark){body{color:#e5e7eb;background:#111827}th,td{border-color:#374151}
code{background:#1f2937}svg text{fill:#d1d5db!important}svg .grid{stroke:#374151!important}}
"""


@dataclass(frozen=True, slots=True)
class _Dot:
    """An answer on the chart: its latency and cost, each with its ends."""

    answer: Ranked
    x: tuple[float, float, float]
    y: tuple[float, float, float]

    @property
    def sort(self) -> str:
        kind = "share" if self.answer.share < 1 else self.answer.kind
        return kind if kind in _COLOURS else "other"


def page(found: Fitting) -> str:
    """Return a ranking as an HTML page."""
    ranking = found.ranking
    words = escape(printable(title(found)))
    body = [f"<h1>{words}</h1>", f"<p>{_summary(found)}</p>"]
    dots = _dots(ranking.answers[:_MOST_DOTS])
    if dots:
        body += ["<h2>Cost and latency</h2>", _chart(dots), f"<p><small>{_legend(found)}</small></p>"]
    body += ["<h2>Answers</h2>", _table(ranking.answers[:_MOST_ROWS], set(ranking.candidates))]
    more = len(ranking.answers) - _MOST_ROWS
    if more > 0:
        body.append(f"<p><small>{more:,} more types cost more; --json has all of them.</small></p>")
    body += ["<h2>Left out</h2>", f"<p>{escape(left_out(ranking))}</p>"]
    body += ["<details><summary>each of them</summary><table>", *_excluded(found), "</table></details>"]
    body += ["<h2>Evidence</h2>", f"<p class=basis>{escape(found.journal)} · brimful show {escape(found.run)}</p>"]
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{words}</title>'
    view = '<meta name="viewport" content="width=device-width,initial-scale=1">'
    return f"{head}{view}<style>{_STYLE}</style></head><body>{''.join(body)}</body></html>\n"


def _summary(found: Fitting) -> str:
    ranking = found.ranking
    if not ranking.answers:
        best = ranking.reachable
        if best is None:
            return "Nothing that can be rented does this."
        return escape(
            f"Nothing that can be rented keeps this. The quickest is {best.instance} at ${best.usd_per_hour:,.2f} an "
            f"hour: {_ms(best.latency_p99_ms)} for one request without any waiting."
        )
    first = ranking.answers[0]
    parts = [f"First: <b>{escape(_name(first))}</b>, {_money(first.usd_per_million)} a million. {escape(first.why)}."]
    if len(ranking.candidates) > 1:
        parts.append(f"May be the cheapest: {escape(', '.join(ranking.candidates))}.")
    if ranking.decide_with is not None:
        parts.append(f"To decide: <code>{escape(ranking.decide_with)}</code>.")
    if ranking.cpu.instance is not None:
        parts.append(f"CPU: {escape(ranking.cpu.instance)}, {_money(ranking.cpu.usd_per_million or 0.0)} a million; "
                     f"{escape(ranking.cpu.reason)}.")  # fmt: skip
    return " ".join(parts)


def _dots(answers: Sequence[Ranked]) -> list[_Dot]:
    out = []
    for answer in answers:
        cost = (answer.usd_per_million_low, answer.usd_per_million, answer.usd_per_million_high)
        if answer.latency_p99_ms is not None:
            mid = answer.latency_p99_ms
            time = (answer.latency_p99_ms_low or mid, mid, answer.latency_p99_ms_high or mid)
        else:
            time = (answer.call_ms_low, answer.call_ms, answer.call_ms_high)
        if min(*cost, *time) > 0:
            out.append(_Dot(answer, time, cost))
    return out


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the places of the points that no other beats in both, from the left."""
    best = math.inf
    out = []
    for place in sorted(range(len(points)), key=lambda place: points[place]):
        if points[place][1] < best:
            best = points[place][1]
            out.append(place)
    return out


def _axis(values: Sequence[float], start: float, end: float) -> tuple[Callable[[float], float], list[float]]:
    """Return where a value stands on a logarithmic axis, and the values of its marks: 1, 2 and 5 of each decade."""
    low, high = math.log10(min(values)), math.log10(max(values))
    low, high = low - 0.05 * (high - low) - 0.05, high + 0.05 * (high - low) + 0.05
    marks = [
        step * 10.0**decade
        for decade in range(math.floor(low), math.ceil(high) + 1)
        for step in ((1, 2, 5) if high - low < 3 else (1,))
        if low <= math.log10(step * 10.0**decade) <= high
    ]
    return lambda value: start + (math.log10(value) - low) / (high - low) * (end - start), marks


def _chart(dots: Sequence[_Dot]) -> str:
    shown = [end for dot in dots[:_BARS_OF] for end in (dot.x[0], dot.x[2])] + [dot.x[1] for dot in dots]
    costs = [end for dot in dots[:_BARS_OF] for end in (dot.y[0], dot.y[2])] + [dot.y[1] for dot in dots]
    across, across_marks = _axis(shown, _LEFT, _WIDTH - _RIGHT)
    up, up_marks = _axis(costs, _HEIGHT - _BOTTOM, _TOP)
    best = [dots[place] for place in front([(dot.x[1], dot.y[1]) for dot in dots])]
    has_waits = dots[0].answer.latency_p99_ms is not None
    view = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="cost against latency"'
    parts = [f'{view} font-family="system-ui,sans-serif" font-size="12">']
    for value in across_marks:
        x = across(value)
        parts.append(_line(x, _TOP, x, _HEIGHT - _BOTTOM) + _label(x, _HEIGHT - _BOTTOM + 18, _ms(value), "middle"))
    for value in up_marks:
        y = up(value)
        parts.append(_line(_LEFT, y, _WIDTH - _RIGHT, y) + _label(_LEFT - 8, y + 4, _money(value), "end"))
    what = "99th percentile, with waiting" if has_waits else "one call"
    parts.append(_label((_LEFT + _WIDTH) / 2, _HEIGHT - 10, what, "middle"))
    parts.append(_label(_LEFT - 8, _TOP - 6, "a million", "end"))
    steps = " ".join(f"{across(dot.x[1]):.1f},{up(dot.y[1]):.1f}" for dot in best)
    parts.append(f'<polyline points="{steps}" fill="none" stroke="#9ca3af" stroke-width="1.5" stroke-dasharray="4 3"/>')
    for number, dot in reversed(list(enumerate(dots))):
        parts.append(_mark(dot, across, up, bars=number < _BARS_OF))
    parts += _labels(best, across, up)
    return "".join([*parts, "</svg>"])


def _mark(dot: _Dot, across: Callable[[float], float], up: Callable[[float], float], *, bars: bool) -> str:
    colour = _COLOURS[dot.sort][0]
    x, y = across(dot.x[1]), up(dot.y[1])
    out = ""
    if bars:
        out += f'<path d="M{across(dot.x[0]):.1f} {y:.1f}H{across(dot.x[2]):.1f}M{x:.1f} {up(dot.y[0]):.1f}'
        out += f'V{up(dot.y[2]):.1f}" stroke="{colour}" stroke-opacity=".35"/>'
    words = f"{_name(dot.answer)}: {_money(dot.y[1])} a million, {_ms(dot.x[1])}. {dot.answer.setting}"
    radius = 4.5 if bars else 2.5
    return (
        f'{out}<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"><title>{escape(words)}</title></circle>'
    )


def _labels(best: Sequence[_Dot], across: Callable[[float], float], up: Callable[[float], float]) -> list[str]:
    """Return the names along the front that have room."""
    out, taken = [], list[tuple[float, float]]()
    for dot in sorted(best, key=lambda dot: dot.y[1])[:_MOST_LABELS]:
        x, y = across(dot.x[1]), up(dot.y[1])
        if any(abs(x - one) < 110 and abs(y - other) < 14 for one, other in taken):
            continue
        taken.append((x, y))
        left = x > _WIDTH - 150
        out.append(_label(x - 8 if left else x + 8, y - 7, _name(dot.answer), "end" if left else "start"))
    return out


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="grid" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#e5e7eb"/>'


def _label(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#374151">{escape(words)}</text>'


def _legend(found: Fitting) -> str:
    sorts = {dot.sort for dot in _dots(found.ranking.answers[:_MOST_DOTS])}
    known = [pair for sort, pair in _COLOURS.items() if sort in sorts]
    dots = [f'<span style="color:{colour}">&#9679;</span> {words}' for colour, words in known]
    return " &nbsp; ".join(dots) + " &nbsp; bars: 80 % intervals of the first answers; dashes: beaten by none in both"


def _table(answers: Sequence[Ranked], candidates: set[str]) -> str:
    waits = bool(answers) and answers[0].latency_p99_ms is not None
    time = "p99" if waits else "one call"
    head = ("", "machine", "$ an hour", "$ a million", "80 %", time, "per second", "busy", "W", "how, and why")
    rows = "".join(f"<th>{cell}</th>" for cell in head)
    out = [f"<div class=scroll><table><tr>{rows}</tr>"]
    for number, answer in enumerate(answers, 1):
        mark = ' class="set"' if answer.instance in candidates else ""
        out.append(f"<tr{mark}>{''.join(f'<td>{cell}</td>' for cell in _cells(number, answer))}</tr>")
    return "".join([*out, "</table></div>"])


def _cells(number: int, answer: Ranked) -> tuple[str, ...]:
    time = answer.latency_p99_ms if answer.latency_p99_ms is not None else answer.call_ms
    notes = "".join(f"<br><small>{escape(note)}</small>" for note in (answer.support, *answer.notes) if note)
    how = escape(f"{answer.device}, {answer.setting}; {answer.why}; limited by {answer.limited_by}")
    basis = escape(" ".join(item.rpartition("/")[2] for item in answer.basis))
    return (
        str(number),
        escape(_name(answer)),
        f"{answer.usd_per_hour:,.3f}",
        f"{answer.usd_per_million:.3g}",
        f"{answer.usd_per_million_low:.3g} to {answer.usd_per_million_high:.3g}",
        escape(_ms(time)),
        rate(answer.throughput_per_s),
        "" if answer.utilization is None else f"{answer.utilization:.0%}",
        "?" if answer.watts is None else f"{answer.watts:,.0f}",
        f'{how}{notes} <small class="basis">records {basis}</small>',
    )


def _excluded(found: Fitting) -> list[str]:
    return [
        f"<tr><td></td><td>{escape(item.instance)}</td><td>{escape(item.reason)}</td></tr>"
        for item in found.ranking.excluded
    ]


def _name(answer: Ranked) -> str:
    return f"{answer.count} x {answer.instance}" if answer.count > 1 else answer.instance


def _money(value: float) -> str:
    return f"${value:.3g}" if value < 1000 else f"${value:,.0f}"


def _ms(value: float) -> str:
    return format_seconds(value / 1000)
