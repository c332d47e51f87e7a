"""`brimful doctor`: what works here."""

from __future__ import annotations

from brimful.cli.session import Session, verb


@verb("doctor")
def command(session: Session) -> None:
    """Say what works on this machine, and how to get what does not."""
    from brimful.report import json, text  # noqa: PLC0415
    from brimful.verbs.doctor import doctor  # noqa: PLC0415

    found = doctor(session.config)
    session.answer(json.answer("doctor", found) if session.as_json else text.diagnosis(found))
