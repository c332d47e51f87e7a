"""`brimful config show`: the settings, and with --origin where each comes from."""

from __future__ import annotations

import click

from brimful.cli.session import Session, group, verb

command = group("config", "Show the settings and where each comes from.")


@verb("show")
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
def show(session: Session, *, origin: bool) -> None:
    """Show every setting.

    The command line wins over BRIMFUL_* variables, those over the project's file, that over the user's file.
    """
    from brimful.report import json, text  # noqa: PLC0415

    values = list(session.config)
    if session.as_json:
        session.answer(json.answer("config", json.settings(values)))
    else:
        session.answer(text.settings(values, origin=origin))


command.add_command(show)
