"""`fit --queries FILE`: one answer for each line, in their order; a line that cannot be answered never stops the rest.

Lines are read, looked up and foreseen in lots of a few thousand, so that the file may be of any length.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from brimful.advise.fit.answer import Foreseen
from brimful.advise.fit.answered import Line, answered, refused
from brimful.advise.fit.asked import Asked, asked
from brimful.advise.fit.forecasts import Forecasts, Measured, Question
from brimful.advise.fit.query import PADDED_TOKENS, plan, tokens_of
from brimful.model.errors import BrimfulError, DataError, UsageError
from brimful.model.text import readable_path
from brimful.model.work import Profile
from brimful.verbs.fit_devices import Devices
from brimful.verbs.fit_models import Models, is_file

LOT = 4000
_LONGEST = 1 << 20  # characters of a line

_MLPERF_BERT = ("bert-99", "bert_99")


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a line's names are looked up in."""

    models: Models
    devices: Devices

    def question(self, line: Asked) -> tuple[Question, tuple[str, ...]]:
        """Return the query of a line with its profile and its chip, and what was taken that the line does not say."""
        there = self.devices.instance(line.instance) if line.instance else self.devices.device(line.device or "")
        if line.instance and line.device and not there.is_cpu:
            named = self.devices.chip(line.device)
            if named.model != there.chip.model:
                raise UsageError(
                    f"{line.instance} has no {line.device}",
                    why=f"it has {there.count} x {there.chip.model}",
                    fix="name the device or the instance type, not both",
                )
        query = line.query(
            count=line.count_on(there.chip, there.count if not there.is_cpu or line.instance else 1),
            share=there.share,
            cores=there.cores,
        )
        notes = (there.doubt,) if there.doubt else ()
        if line.instance and there.is_cpu and there.count > 1 and line.count is None:
            notes = (*notes, f"{query.count} of {there.count} sockets")
        return (query, self.profile(line), there.chip), notes

    def profile(self, line: Asked) -> Profile:
        """Return what the line's model costs."""
        size = line.known["image_size"]
        usual = PADDED_TOKENS if (line.model or "").lower().startswith(_MLPERF_BERT) else None
        tokens = tokens_of(line.known["sequence"] or usual, line.known["scenario"], line.known["engine"])
        if line.file:
            return self.models.find(line.file if is_file(line.file) else f"./{line.file}", size, tokens)
        return self.models.find(line.model or "", size, tokens)


def answers(lines: Iterable[str], lookup: Lookup, forecasts: Forecasts) -> Iterator[Line]:
    """Yield the answer to each line of a file of queries, in their order."""
    numbered = enumerate(lines, 1)
    while lot := list(islice(numbered, LOT)):
        yield from _lot(lot, lookup, forecasts)


def _lot(lot: list[tuple[int, str]], lookup: Lookup, forecasts: Forecasts) -> Iterator[Line]:
    found: list[tuple[Any, Question, tuple[str, ...]] | Line] = []
    for number, text in lot:
        identity: Any = number
        try:
            value = _object(text)
            identity = value.get("id", number) if isinstance(value, dict) else number
            line = asked(value)
            question, notes = lookup.question(line)
            found.append((identity, question, (*notes, *_unread(line))))
        except (BrimfulError, ValueError) as error:
            found.append(Line(identity, refused(error)))
    told = iter(_foreseen([item[1] for item in found if not isinstance(item, Line)], forecasts))
    for item in found:
        yield item if isinstance(item, Line) else Line(item[0], answered(item[1], next(told), item[2]))


def _foreseen(questions: list[Question], forecasts: Forecasts) -> list[Foreseen | Exception]:
    """Return what each question would measure; when a lot fails, each alone, so that one bad case spoils no other."""
    try:
        return list(forecasts.foresee(questions))
    except (BrimfulError, ArithmeticError, ValueError) as error:
        if len(questions) == 1:
            return [error]
        half = len(questions) // 2
        return _foreseen(questions[:half], forecasts) + _foreseen(questions[half:], forecasts) if questions else []


def _object(text: str) -> Any:
    if not text.strip():
        raise UsageError("the line is empty", why="it holds no query", fix="write one JSON object a line")
    if len(text) > _LONGEST:
        raise UsageError("the line is no query", why=f"it has {len(text):,} characters", fix="shorten it")
    try:
        return json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise UsageError("the line is no JSON", why=str(error)[:200], fix="write one JSON object a line") from error


def _unread(line: Asked) -> tuple[str, ...]:
    return tuple(f"{name} is not understood, so the usual one is taken" for name in line.unread)


def measurements(path: Path, lookup: Lookup) -> tuple[list[Measured], list[str]]:
    """Return a user's own measurements, and what is wrong with the lines that cannot be used."""
    found: list[Measured] = []
    wrong: list[str] = []
    for number, text in enumerate(read_lines(path), 1):
        if not text.strip():
            continue
        try:
            line = asked(_object(text))
            question, _ = lookup.question(line)
            found.append((*question, _seconds(line, question)))
        except (BrimfulError, ValueError) as error:
            wrong.append(f"line {number} of {readable_path(path)}: {refused(error).reason}")
    return found, wrong


def _seconds(line: Asked, question: Question) -> float:
    """Return the seconds of one call that a measurement says."""
    if line.latency_ms is not None:
        return line.latency_ms / 1000
    if line.throughput_per_s is None:
        raise UsageError(
            "the line measures nothing",
            why="it has neither latency_ms nor throughput_per_s",
            fix="add what was measured: latency_ms of one call, or throughput_per_s",
        )
    each = plan(*question)
    return each.batch * each.side_by_side / line.throughput_per_s


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file; `-` would be no file, and bytes that are no text are kept out of the way."""
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            yield from stream
    except OSError as error:
        raise DataError(
            f"the file {readable_path(path)} cannot be read",
            why=error.strerror or str(error),
            fix="give the path of a readable file with one JSON object a line",
        ) from error
