"""Bare `brimful`: look at this machine and suggest what to do next."""

from __future__ import annotations

from brimful.cli.session import Session, verb


@verb("look")
def command(session: Session) -> None:
    """Look at this machine and suggest the next command."""
    from brimful.report import json, text  # noqa: PLC0415
    from brimful.verbs.look import look  # noqa: PLC0415

    found = look(session.config)
    session.answer(json.answer("look", found) if session.as_json else text.look(found))
