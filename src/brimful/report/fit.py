"""A ranking for people: the answers in a few rows, then what else there is to know, at 80 columns.

Of types with the same device only the cheapest has a row here: the sizes of a family differ in price and host alone.
`--json` and `--html` have all of them.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from rich.console import RenderableType
from rich.text import Text

from brimful.advise.fit.ranking import Explained, Fitting, Ranked, Ranking
from brimful.model.text import counted, printable
from brimful.model.units import format_bytes, format_seconds, format_share, format_usd
from brimful.model.work import Mode, Workload
from brimful.report.fit_queries import rate
from brimful.report.text import UNKNOWN, render, said, table, width

ROWS = 6
_SHOWN_CANDIDATES = 5
_SHOWN_NAMES = 3
_SURE = 0.795
_UNWRAPPED = 200  # columns of a file: nothing is wrapped there


def text(found: Fitting, top: int = ROWS) -> str:
    """Draw a ranking."""
    ranking = found.ranking
    head = [said(title(found), "bold"), Text()]
    shown = folded(ranking.answers, top)
    body: list[RenderableType] = [_rows(shown, found.workload), Text()] if shown else [*_nothing(ranking), Text()]
    more = len(ranking.answers) - len(shown)
    if more > 0:
        body.append(said(f"{counted(more, 'more type')}: other sizes of these, and dearer ones (--top, --json)", "dim"))
    return render(*head, *body, *_beside(ranking, shown), *_foot(found))


def title(found: Fitting) -> str:
    """Say in one line what was asked."""
    price = found.ranking.answers[0].price if found.ranking.answers else "on demand"
    return f"{found.model}: {asked(found.workload)} ({found.region}, {price})"


def asked(workload: Workload) -> str:
    """Say the load and what must be kept in words."""
    slo, load = workload.slo, workload.arrivals
    parts = []
    if workload.mode is Mode.TRAINING:
        samples = f" on {load.total_count:,} samples" if load.total_count else ""
        parts.append(f"training{samples}")
    elif load.trace is not None:
        parts.append(f"requests as in {printable(load.trace)}")
    elif load.queries_per_s is not None:
        parts.append(f"{load.queries_per_s:g} requests a second")
    elif load.total_count is not None:
        within = f" within {format_seconds(slo.within_s)}" if slo.within_s is not None else ""
        parts.append(f"{load.total_count:,} items{within}")
    else:
        parts.append("as much as a machine takes")
    limits = (
        ("p50", slo.p50_ms),
        ("p99", slo.p99_ms),
        ("first token", slo.first_token_ms),
        ("token", slo.per_token_ms),
    )
    parts += [f"{name} within {format_seconds(value / 1000)}" for name, value in limits if value is not None]
    if workload.data is not None:
        parts.append(f"input {printable(workload.data)}")
    return ", ".join(parts)


def folded(answers: Iterable[Ranked], most: int) -> list[Ranked]:
    """Return the first answers, of each kind of device and number of them only the cheapest type."""
    seen: set[tuple[str, float, str]] = set()
    shown = []
    for answer in answers:
        key = (answer.device, answer.share, answer.setting if answer.kind != "cpu" else "")
        if key not in seen:
            seen.add(key)
            shown.append(answer)
        if len(shown) == most:
            break
    return shown


def _rows(shown: Sequence[Ranked], workload: Workload) -> RenderableType:
    """Draw the answers, each with its figures and, under them, how it runs and why it stands there."""
    head = ("", "machine", "$/hour", *_measure(shown, workload))
    cells = [head]
    for number, answer in enumerate(shown, 1):
        name = f"{answer.count} x {answer.instance}" if answer.count > 1 else answer.instance
        cells.append((str(number), name, _usd(answer.usd_per_hour), *_figures(answer, workload)))
    widths = [max(len(row[place]) for row in cells) for place in range(len(head))]
    lines = [Text(_aligned(head, widths), style="bold")]
    for row, answer in zip(cells[1:], shown, strict=True):
        lines.append(Text(_aligned(row, widths)))
        lines += _wrapped(_how(answer), 3)
    return Text("\n").join(lines)


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    right = 2  # the price
    pairs = enumerate(zip(row, widths, strict=True))
    padded = [cell.rjust(size) if place == right else cell.ljust(size) for place, (cell, size) in pairs]
    return "  ".join(padded).rstrip()


def _wrapped(words: str, indent: int) -> list[Text]:
    """Return dim lines that fit the screen, each behind the same indent."""
    columns = width()
    lines = textwrap.wrap(printable(words), max(20, columns - indent)) if columns < _UNWRAPPED else [printable(words)]
    return [Text(f"{' ' * indent}{line}", style="dim") for line in lines]


def _measure(shown: Sequence[Ranked], workload: Workload) -> tuple[str, ...]:
    if workload.mode is Mode.TRAINING and shown[0].run_usd is not None:
        return "$ the run", "hours", "samples a second"
    if shown[0].latency_p99_ms is not None:
        return "$/million", "p99", "busy"
    return "$/million", "per second", "a call"


def _figures(answer: Ranked, workload: Workload) -> tuple[str, ...]:
    cost = _within(answer.usd_per_million, answer.usd_per_million_low, answer.usd_per_million_high)
    per_s = _within(answer.throughput_per_s, answer.throughput_per_s_low, answer.throughput_per_s_high, rate)
    if workload.mode is Mode.TRAINING and answer.run_usd is not None and answer.run_s is not None:
        run = _within(answer.run_usd, answer.run_usd_low, answer.run_usd_high)
        return run, f"{answer.run_s / 3600:.3g}", per_s
    if answer.latency_p99_ms is not None:
        p99 = _time(answer.latency_p99_ms, answer.latency_p99_ms_low, answer.latency_p99_ms_high)
        return cost, p99, UNKNOWN if answer.utilization is None else f"{answer.utilization:.0%}"
    return cost, per_s, _ms(answer.call_ms)


def _how(answer: Ranked) -> str:
    """Say how an answer runs and what is to be known of it."""
    share = (
        f"{format_share(answer.share)} " if answer.share < 1 else f"{answer.devices} x " if answer.devices > 1 else ""
    )
    limit = f"limited by {answer.limited_by}"
    parts = [answer.why if answer.why.startswith("its host") else limit]
    if answer.meets_share < _SURE:
        parts.append(f"keeps it with {answer.meets_share:.0%}")
    if answer.first_token_ms is not None and answer.per_token_ms is not None:
        parts.append(f"first token {_ms(answer.first_token_ms)}, then {_ms(answer.per_token_ms)} each")
    if answer.usd_per_1k_tokens is not None:
        parts.append(f"{format_usd(answer.usd_per_1k_tokens)} for 1,000 tokens")
    if answer.watts is not None and answer.watts >= 1:
        each = f" ({rate(answer.items_per_joule)} a joule)" if answer.items_per_joule is not None else ""
        parts.append(f"about {answer.watts:,.0f} W{each}")
    if answer.support is not None and not answer.support.startswith("yes"):
        parts.append("compile to know")
    parts += [note for note in answer.notes if note.startswith("off after")]
    return f"{share}{answer.device}, {answer.setting}: {', '.join(parts)}"


def _nothing(ranking: Ranking) -> list[RenderableType]:
    best = ranking.reachable
    if best is None:
        return [said("Nothing that can be rented does this.", "red")]
    lines: list[RenderableType] = [said("Nothing that can be rented keeps this.", "red")]
    price = f"${best.usd_per_hour:,.2f} an hour"
    reach = format_seconds(best.latency_p99_ms / 1000)
    lines.append(said(f"The quickest is {best.instance} at {price}: {reach} for one request without any waiting."))
    return lines


def _beside(ranking: Ranking, shown: Sequence[Ranked]) -> list[RenderableType]:
    out: list[RenderableType] = []
    if len(ranking.candidates) > 1:
        out.append(_line("may be cheapest", _candidates(ranking)))
    if ranking.surer is not None:
        out.append(_line("surer", f"{ranking.surer} is the cheapest that keeps it with 80 %"))
    if ranking.decide is not None:
        tied = f", which settles it {1 - ranking.decide.tied_share:.0%} of the time" if shown else ""
        out.append(_line("to decide", f"measure for about {format_usd(ranking.decide.usd)}{tied}:"))
        command = Text.assemble(("  $ ", "dim"), (printable(ranking.decide.command), "cyan"), no_wrap=True)
        out.append(command)
    out.append(_line("CPU", _cpu(ranking)))
    out.append(_line("purpose-built", _one(ranking.purpose_built, ranking.missing.get("purpose_built", ""))))
    out.append(_line("a share of a GPU", _one(ranking.fractional, ranking.missing.get("fractional", ""))))
    out.append(_line("left out", left_out(ranking)))
    return out


def _line(label: str, words: str) -> Text:
    return Text.assemble((f"{label}: ", "bold"), said(words))


def _candidates(ranking: Ranking) -> str:
    pairs = sorted(zip(ranking.candidate_shares, ranking.candidates, strict=True), key=lambda item: (-item[0], item[1]))
    shown = [f"{name} ({share:.0%})" for share, name in pairs[:_SHOWN_CANDIDATES]]
    more = len(pairs) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _cpu(ranking: Ranking) -> str:
    cpu = ranking.cpu
    if cpu.instance is None or cpu.usd_per_million is None:
        return cpu.reason
    first = f"{cpu.instance} at {format_usd(cpu.usd_per_million)} a million"
    return f"{first}; {cpu.reason}"


def _one(answer: Ranked | None, why: str) -> str:
    if answer is None:
        return why
    several = f"{answer.count} x " if answer.count > 1 else ""
    support = f"; {answer.support}" if answer.support is not None else ""
    return f"{several}{answer.instance} at {format_usd(answer.usd_per_million)} a million{support}"


_SORTS = (
    ("dearer", "dearer than three times the first"),
    ("it does not fit", "too little memory"),
    ("SLO missed", "too slow for what must be kept"),
    ("burstable", "burstable"),
    ("it was withdrawn", "withdrawn"),
    ("it is withdrawn", "withdrawn"),
    ("its price is unknown", "without a price here"),
    ("its spot price", "without a spot price"),
    ("whether it can be had", "perhaps not to be had"),
    ("input fills", "more devices than input can fill"),
)
_ELSE = "for other reasons"


def left_out(ranking: Ranking) -> str:
    """Count what was left out by its reason, with a few names of each."""
    found = Counter[str]()
    names: dict[str, list[str]] = {}
    for item in ranking.excluded:
        sort = next((words for start, words in _SORTS if item.reason.startswith(start)), _ELSE)
        found[sort] += 1
        names.setdefault(sort, []).append(item.instance)
    if not found:
        return "nothing"
    told = [f"{count:,} {sort} ({_some(names[sort])})" for sort, count in found.most_common()]
    return "; ".join(told) + ". --explain TYPE says why"


def _some(names: Sequence[str]) -> str:
    families = list(dict.fromkeys(name.partition(".")[0] for name in names))
    shown = ", ".join(families[:_SHOWN_NAMES])
    return shown + (", ..." if len(families) > _SHOWN_NAMES else "")


def _foot(found: Fitting) -> list[RenderableType]:
    out: list[RenderableType] = []
    if found.explained is not None:
        out += [Text(), *explained(found.explained, found.ranking)]
    evidence = said(f"evidence: {found.journal}", "dim")
    evidence.no_wrap = True
    return [*out, evidence]


def explained(told: Explained, ranking: Ranking) -> list[RenderableType]:
    """Draw one type in full."""
    if told.excluded is not None:
        return [_line(told.instance, f"no answer: {told.excluded}")]
    answer = next(item for item in ranking.answers if item.instance == told.instance)
    lines: list[RenderableType] = [
        _line(told.instance, f"number {told.place} of {told.of_count}"),
        said(f"  {_how(answer)}"),
        said(f"  {answer.why}"),
        *(said(f"  {fact}") for fact in told.facts),
    ]
    if told.feed:
        lines.append(_line("  its host lets through", ", ".join(told.feed)))
    lines += [said(f"  note: {note}") for note in answer.notes]
    if answer.support is not None:
        lines.append(_line("  operators", answer.support))
    return [*lines, Text(), _calls(told), *(said(f"  rests on: {item}", "dim") for item in told.basis)]


def _calls(told: Explained) -> RenderableType:
    rows = table("batch", "a call", "80 % within", "per second", "at least", "memory", "limit", right=("batch",))
    for call in told.calls:
        style = "" if call.used else "dim"
        rows.add_row(
            str(call.batch),
            _ms(call.call_ms),
            f"{_ms(call.call_ms_low)} to {_ms(call.call_ms_high)}",
            rate(call.throughput_per_s),
            _ms(call.roofline_ms),
            format_bytes(call.memory_bytes),
            call.limited_by,
            style=style,
        )
    return rows


def _ms(value: float) -> str:
    return format_seconds(value / 1000)


def _usd(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:,.2f}"


def _short_usd(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _within(mid: float, low: float | None, high: float | None, form: Callable[[float], str] = _short_usd) -> str:
    """Print a figure with the ends of its interval, or alone where they say nothing."""
    ends = form(low) if low is not None else UNKNOWN, form(high) if high is not None else UNKNOWN
    return form(mid) if ends == (form(mid), form(mid)) else f"{form(mid)} ({ends[0]}-{ends[1]})"


def _time(mid: float, low: float | None, high: float | None) -> str:
    """Print a time with the ends of its interval, the unit once."""
    size, unit = next(((size, unit) for least, size, unit in _UNITS if mid >= least), (1e-3, "µs"))
    return f"{_within(mid, low, high, lambda value: f'{value / size:.3g}')} {unit}"


_UNITS = ((1000.0, 1000.0, "s"), (1.0, 1.0, "ms"))
