"""Read journals: one of them, or all under a directory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from brimful.journal.migrate import STEPS, migrate
from brimful.journal.schema import KINDS, VERSION
from brimful.model.errors import JournalError, UsageError
from brimful.model.evidence import Run
from brimful.model.noun import Noun
from brimful.model.text import counted, readable_path, reason, shell_path

FILE_NAME = "journal.jsonl"
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a journal."""

    id: str
    kind: str
    at: str
    noun: Noun


@dataclass(frozen=True, slots=True)
class Journal:
    """A whole journal. `warnings` says what could be read around: a torn last line, kinds of a later brimful."""

    path: Path
    run: Run
    records: tuple[Record, ...]
    warnings: tuple[str, ...]
    sound_bytes: int  # up to here the file is whole lines; what follows is a torn tail


def read(where: Path) -> Journal:
    """Read a run's directory or its journal file; damage before the last line is an error that names the byte."""
    path = where / FILE_NAME if where.is_dir() else where
    try:
        data = path.read_bytes()
    except OSError as error:
        raise JournalError(
            f"the journal {readable_path(path)} cannot be read",
            why=reason(error),
            fix="check the path and its permissions; brimful show without a RUN lists the runs",
        ) from error
    if not data:
        raise JournalError(
            f"the journal {readable_path(path)} is empty",
            why="its run ended before the first record was written: it was killed, or the disk was full",
            fix=f"nothing is lost; remove it: rm {shell_path(path)}",
        )
    return _Parser(path, data).journal()


def runs(root: Path) -> list[Path]:
    """Return the directories of all runs under a run directory, oldest first; none when there is no such directory."""
    try:
        return sorted(item for item in root.iterdir() if _has_journal(item))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise JournalError(
            f"the runs under {readable_path(root)} cannot be listed",
            why=reason(error),
            fix="make it a folder that this user can read, or name another one with --run-dir",
        ) from error


def _has_journal(directory: Path) -> bool:
    try:
        return (directory / FILE_NAME).exists()
    except PermissionError:
        return True  # whoever reads it is told that it cannot be read; passed over, it would be silently lost


def has_begun(directory: Path) -> bool:
    """Say whether a run has a record; one that was killed, or found the disk full, right at its start has none."""
    try:
        return (directory / FILE_NAME).stat().st_size > 0
    except OSError:
        return True


def find_run(root: Path, name: str) -> Path:
    """Return the directory of a run: by path, by (the beginning of) its id, or `last`, the last that has a record."""
    if _is_run(Path(name)):
        return Path(name)
    known = runs(root)
    if name == "last":
        hits = [run for run in known if has_begun(run)][-1:]
    else:
        hits = [run for run in known if run.name.startswith(name)]
    if len(hits) == 1:
        return hits[0]
    listed = hits or known
    shown = ", ".join(readable_path(run.name) for run in listed[-_SHOWN:])
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    raise UsageError(
        f"'{readable_path(name)}' names {len(hits) or 'no'} run{'s' if len(hits) > 1 else ''}",
        why=f"under {readable_path(root)} there is {shown or 'no run yet'}{more}",
        fix="name one run by its id, its directory, or 'last'" if known else "brimful audit writes the first one",
    )


def _is_run(path: Path) -> bool:
    try:
        return (path / FILE_NAME).is_file() or path.is_file()
    except (OSError, ValueError):  # no path at all: too long, or with a NUL in it
        return False


def query(
    root: Path, kinds: Iterable[str] = (), *, since: str = "", broken: list[JournalError] | None = None
) -> Iterator[Record]:
    """Yield the records of all runs under a directory; a journal that cannot be read goes into `broken` if given."""
    wanted = frozenset(kinds)
    for directory in filter(has_begun, _runs_or_broken(root, broken)):
        try:
            journal = read(directory)
        except JournalError as error:
            if broken is None:
                raise
            broken.append(error)
            continue
        for record in journal.records:
            if (not wanted or record.kind in wanted) and record.at >= since:
                yield record


def _runs_or_broken(root: Path, broken: list[JournalError] | None) -> list[Path]:
    try:
        return runs(root)
    except JournalError as error:
        if broken is None:
            raise
        broken.append(error)
        return []


class _Parser:
    """Goes through the bytes of one journal, knowing at each moment at which byte it stands."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        self.warnings: list[str] = []

    def journal(self) -> Journal:
        records: list[Record] = []
        strange: dict[str, int] = {}
        written_as, sound, last = VERSION, 0, 0
        for start, end, whole in self._lines():
            record = self._json(start, end, whole=whole)
            if record is None:
                break
            if sound == 0:
                written_as = self._version(record)
            record = migrate(record, written_as, STEPS)
            number = self._number(start, record, last)
            if record["kind"] in KINDS:
                records.append(self._record(start, record))
            else:
                strange[record["kind"]] = strange.get(record["kind"], 0) + 1
            last, sound = number, end
        if not records or not isinstance(records[0].noun, Run):
            self._fail(0, "its first line is no run record")
        for kind, count in strange.items():
            self.warnings.append(
                f"{readable_path(self.path)}: {counted(count, 'record')} of an unknown kind, {kind!r}, passed over"
            )
        return Journal(self.path, records[0].noun, tuple(records), tuple(self.warnings), sound)

    def _lines(self) -> Iterator[tuple[int, int, bool]]:
        """Yield (start, end, whole): a last line without its line feed is not whole."""
        start = 0
        while start < len(self.data):
            feed = self.data.find(b"\n", start)
            end = len(self.data) if feed < 0 else feed + 1
            yield start, end, feed >= 0
            start = end

    def _json(self, start: int, end: int, *, whole: bool) -> dict[str, Any] | None:
        try:
            record = msgspec.json.decode(self.data[start:end])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            torn = not whole or not self.data[start:].strip(b"\0\n")  # a power cut can leave zeros at the end
            if torn and start > 0:
                self.warnings.append(
                    f"{readable_path(self.path)}: the last {len(self.data) - start} bytes, from byte {start}, are a "
                    "record that was cut short before it was reported as written; passed over"
                )
                return None
            self._fail(start, f"the line is no JSON ({reason(error)})")
        if not isinstance(record, dict) or not all(isinstance(record.get(key), str) for key in ("kind", "id", "at")):
            self._fail(start, "the line is no record: it has not the texts kind, id and at")
        return record

    def _version(self, record: dict[str, Any]) -> int:
        version = record.get("v")
        if record.get("kind") != "run" or not isinstance(version, int) or isinstance(version, bool):
            self._fail(0, "its first line is no run record with a version v")
        oldest = min(STEPS, default=VERSION)
        reads = f"version {VERSION}" if oldest == VERSION else f"the versions {oldest} to {VERSION}"
        if version > VERSION or version < oldest:
            raise JournalError(
                f"the journal {readable_path(self.path)} has version {version}",
                why=f"this brimful reads {reads}; the run was written by brimful "
                f"{record.get('version', 'of an unknown version')}",
                fix="pip install --upgrade brimful" if version > VERSION else "check that the file is a journal",
            )
        return version

    def _number(self, start: int, record: dict[str, Any], last: int) -> int:
        number = record["id"].rpartition("/")[2]
        if not (number.isascii() and number.isdigit() and len(number) < 19 and int(number) > last):
            self._fail(start, f"the record {record['id']!r} does not follow number {last}")
        return int(number)

    def _record(self, start: int, record: dict[str, Any]) -> Record:
        kind = record["kind"]
        try:
            noun = msgspec.convert(record, KINDS[kind])
        except (msgspec.ValidationError, OverflowError) as error:
            self._fail(start, f"the {kind} is not valid ({error})")
        return Record(record["id"], kind, record["at"], noun)

    def _fail(self, start: int, why: str) -> NoReturn:
        path = shell_path(self.path)
        raise JournalError(
            f"the journal {readable_path(self.path)} is damaged at byte {start}",
            why=why,
            fix=f"the bytes before that are good, and this keeps them: head -c {start} {path} > good.jsonl"
            if start
            else "it may be no journal: check the path",
        )
