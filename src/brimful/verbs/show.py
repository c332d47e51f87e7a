"""show: a run's journal, and the list of runs."""

from __future__ import annotations

from pathlib import Path

from brimful.journal.read import Journal, find_run, read, runs
from brimful.model.answers import ListedRun
from brimful.model.errors import JournalError


def show(root: Path, name: str) -> Journal:
    """Return the journal of a run: by id, by the beginning of one, by path, or `last`."""
    return read(find_run(root, name))


def list_runs(root: Path) -> list[ListedRun]:
    """Return every run under a run directory, oldest first; one that cannot be read says why."""
    return [_listed(directory) for directory in runs(root)]


def _listed(directory: Path) -> ListedRun:
    try:
        journal = read(directory)
    except JournalError as error:
        why = f"{error.what}: {error.why}"
        return ListedRun(run=directory.name, missing={"started_at": why, "records": why})
    run = journal.run
    return ListedRun(run=run.run, started_at=run.started_at, command=run.command, records=len(journal.records))
