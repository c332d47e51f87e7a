"""`brimful show`: a run from its journal."""

from __future__ import annotations

import click

from brimful.cli import complete
from brimful.cli.session import Session, verb


@verb("show")
@click.argument("run", required=False, shell_complete=complete.run_ids)
def command(session: Session, run: str | None) -> None:
    """Show a RUN (an id, the beginning of one, a path, or `last`); without one, list the runs."""
    from brimful.report import json, text  # noqa: PLC0415
    from brimful.verbs.show import list_runs, show  # noqa: PLC0415

    root = session.config.path("run_dir")
    if run is None:
        listed = list_runs(root)
        session.answer(json.answer("runs", {"runs": listed}) if session.as_json else text.runs(listed, root))
        return
    journal = show(root, run)
    for warning in journal.warnings:
        session.warn(warning)
    session.answer(json.answer("show", json.journal(journal)) if session.as_json else text.journal(journal))
