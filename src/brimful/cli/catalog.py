"""`brimful catalog show` and `brimful catalog refresh`: what can be rented at what price, and its renewal from AWS."""

from __future__ import annotations

import click

from brimful.cli import complete
from brimful.cli.session import Session, group, verb

command = group("catalog", "Show and refresh what can be rented, at what price.")


@verb("show", "region")
@click.argument("words", metavar="[FILTER]...", nargs=-1, shell_complete=complete.filters)
def show(session: Session, *, words: tuple[str, ...]) -> None:
    """Show what can be rented, cheapest first.

    A FILTER is a condition (accelerator=L4, 'memory>=48GiB', 'price<1usd', status=withdrawn) or the name of an
    instance type or a family (g6.xlarge, g6, 'p5*'). All conditions must hold, and any of the names. Quote < and > for
    the shell.
    """
    from brimful.report import catalog as drawn  # noqa: PLC0415
    from brimful.report import json  # noqa: PLC0415
    from brimful.verbs import catalog  # noqa: PLC0415

    found = catalog.show(session.config, words)
    session.answer(json.answer("catalog", found) if session.as_json else drawn.text(found))


@verb("refresh")
@click.option("--region", "regions", metavar="REGION", multiple=True, help="A region to read; may be given again.")
@click.option("--no-spot", is_flag=True, help="Leave spot prices as they are.")
@click.option("--no-sagemaker", is_flag=True, help="Leave SageMaker's prices as they are.")
@click.option("--profile", metavar="NAME", help="The AWS profile to read with.")
def refresh(
    session: Session, *, regions: tuple[str, ...], no_spot: bool, no_sagemaker: bool, profile: str | None
) -> int:
    """Read instance types and prices from AWS anew.

    A region is written whole or not at all. Needs boto3 (pip install 'brimful[aws]') and read rights alone;
    docs/refresh.md has the policy.
    """
    from brimful.report import json, refreshed  # noqa: PLC0415
    from brimful.verbs.refresh import refresh as read_anew  # noqa: PLC0415

    found = read_anew(
        session.config,
        regions,
        profile=profile,
        with_spot=not no_spot,
        with_sagemaker=not no_sagemaker,
        tell=session.hint,
    )
    for region in found.regions:
        for warning in region.warnings:
            session.warn(f"{region.region}: {warning}")
    session.answer(json.answer("refresh", refreshed.body(found)) if session.as_json else refreshed.text(found))
    return 2 if found.failed else 0


command.add_command(show)
command.add_command(refresh)
