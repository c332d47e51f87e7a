"""`brimful audit`: hold machines against the 92 practices."""

from __future__ import annotations

import sys

import click

from brimful.cli import complete
from brimful.cli.session import Session, verb


@verb("audit", "inventory", "history", "region", "fail_on")
@click.option(
    "--probe",
    "probes",
    multiple=True,
    help="Devices to look at, as name:address. [default: host]",
    shell_complete=complete.backends("probe"),
)
@click.option("--example", is_flag=True, help="Add the bundled example: a simulated fleet and its history.")
@click.option("--all", "every", is_flag=True, help="Show the row of each practice.")
def command(session: Session, *, probes: tuple[str, ...], example: bool, every: bool) -> int:
    """Hold this machine, and the machines of an inventory, against the 92 practices.

    Prints the three things to do first, with their money and the command to type, then how many practices are met.
    What was seen and concluded is written into the journal of a new run.
    """
    from brimful.report import audit as drawn  # noqa: PLC0415
    from brimful.report import json  # noqa: PLC0415
    from brimful.verbs.audit import Sources, audit  # noqa: PLC0415

    inventory, history = session.config.text("inventory"), session.config.text("history")
    sources = Sources(
        probes=probes or ("host",),
        inventories=(f"inventory:{inventory}",) if inventory else (),
        histories=(history,) if history else (),
        example=example,
    )
    found = audit(session.config, sources, command=("brimful", *sys.argv[1:]))
    for warning in found.warnings:
        session.warn(warning)
    session.answer(json.answer("audit", found) if session.as_json else drawn.text(found, every=every))
    return drawn.exit_code(found, session.config.text("fail_on") or "never")
