"""Cells of the compiled datasheets to figures: each way of writing has its rule here, and anything else is refused.

| cell | rule |
|---|---|
| `312` | the figure |
| empty, `-`, `~` | unknown; `V` (a vector engine without a published rate) and `~ (MME not published)` too |
| `7700-8000` | two figures: the lower one counts, except for power limits, where the higher one does |
| `31.2(31.5)`, `96(48 reported)`, `1792(1597 for ...)` | two figures, as above |
| `153.5(!)`, `62(dp4a)`, `190(cFP8)` | the figure; what the brackets say is kept as a doubt |
| `~188(est)`, `~204 (64 flop/cy x 3.2)`, `~500`, `3.8 turbo` | the figure, as a doubt |
| `288(270 usable)` | the first figure: the second is of something else |
| `16 HBM + 64 DDR4` | the sum, as a doubt |
| `50GiB/s`, `24MiB SBUF/core` | binary units; `/core` is per core |

The lower figure counts because a roofline that is too high calls impossible figures possible; a power limit that is too
low would call ordinary readings impossible.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NOTHING = re.compile(r"(?:-|~|V|~ \(MME not published\)|)")
_NUMBER = r"\d+(?:\.\d+)?"
_FIGURE = re.compile(rf"~?({_NUMBER})(?:-({_NUMBER}))?\s*(GiB/s|GiB|MiB)?\s*([A-Za-z][\w/ ]*)?(?:\((.*)\))?(?:,.*)?")
_SECOND = re.compile(rf"({_NUMBER})(?: reported| for .*)?")
_SUM = re.compile(rf"({_NUMBER}) \w+ \+ ({_NUMBER}) \w+")


@dataclass(frozen=True, slots=True)
class Figure:
    """What a cell says: the figure that counts, its unit as written, and whether there is a doubt about it."""

    value: float
    unit: str
    doubtful: bool
    words: str = ""


def figure(cell: str, *, highest: bool = False) -> Figure | None:
    """Return the figure of a cell, or None when it has none; raise ValueError for a way of writing without a rule."""
    text = cell.strip()
    if _NOTHING.fullmatch(text):
        return None
    both = _SUM.fullmatch(text)
    if both:
        return Figure(float(both[1]) + float(both[2]), "", doubtful=True)
    match = _FIGURE.fullmatch(text)
    if match is None:
        raise ValueError(f"the cell {cell!r} is written in a way that has no rule")
    first, second, unit, words, remark = match.groups()
    figures = [float(first), *([float(second)] if second else []), *_another(remark)]
    doubtful = text.startswith("~") or len(figures) > 1 or "turbo" in (words or "")
    if remark and "usable" not in remark:
        doubtful = True
    return Figure(max(figures) if highest else min(figures), unit or "", doubtful, words or "")


def _another(remark: str | None) -> list[float]:
    """Return the figure in the brackets, when it is of the same thing and not how the first came about."""
    match = _SECOND.fullmatch(remark or "")
    return [float(match[1])] if match else []
