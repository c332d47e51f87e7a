"""The root of the command line: the table of verbs, and the one place where exceptions become exit codes.

To add a verb: write `brimful/cli/<verb>.py` with a `command`, and add its line to VERBS.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from brimful.cli import session
from brimful.model.errors import BrimfulError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

# name -> (module, the line in --help). The module is imported only when its verb is used.
VERBS: dict[str, tuple[str, str]] = {
    "audit": ("brimful.cli.audit", "Hold machines against the 92 practices; say what to do first."),
    "catalog": ("brimful.cli.catalog", "Show and refresh what can be rented, at what price."),
    "config": ("brimful.cli.config", "Show the settings and where each comes from."),
    "doctor": ("brimful.cli.doctor", "Say what works on this machine, and how to get what does not."),
    "fit": ("brimful.cli.fit", "Say which hardware a model needs, at what cost, and how sure that is."),
    "show": ("brimful.cli.show", "Show a run from its journal, or list the runs."),
}


class VerbGroup(session.Group):
    """Knows its verbs by name and help line without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all verbs."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one verb; an unknown name says which known one is near."""
        if cmd_name not in VERBS:
            near = difflib.get_close_matches(cmd_name, VERBS, n=1)
            hint = f"did you mean `brimful {near[0]}`?" if near else "brimful --help lists the verbs"
            raise UsageError(f"there is no verb '{cmd_name}'", why=f"the verbs are {', '.join(VERBS)}", fix=hint)
        command: click.Command = importlib.import_module(VERBS[cmd_name][0]).command
        del ctx
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs from the table."""
        del ctx
        with formatter.section("Verbs"):
            formatter.write_dl([(name, line) for name, (_, line) in VERBS.items()])


@click.group(
    cls=VerbGroup, invoke_without_command=True, subcommand_metavar="[VERB] [ARGS]...", context_settings=session.HELP
)
@session.flags
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=session.print_version,
    help="Show the version and exit.",
)
@click.pass_context
def app(ctx: click.Context, /, **flags: Any) -> None:
    """Tell whether a workload is on the right hardware, whether that hardware is full, and whether it may go.

    Without a verb, brimful looks at this machine and suggests what to do next.
    """
    ctx.obj = flags
    if ctx.invoked_subcommand is None:
        ctx.invoke(importlib.import_module("brimful.cli.look").command)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        result = app.main(args=list(arguments), prog_name="brimful", standalone_mode=False)
    except BrimfulError as error:
        return session.complain(error, arguments)
    except click.UsageError as error:
        return session.complain(_in_our_form(error), arguments)
    except (KeyboardInterrupt, click.Abort):
        return 130
    except BrokenPipeError:  # `brimful … | head` has read enough; nothing is wrong
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return result if isinstance(result, int) else 0


def _in_our_form(error: click.UsageError) -> UsageError:
    path = error.ctx.command_path if error.ctx else "brimful"
    usage = (
        error.ctx.get_usage().replace("Usage:", "the usage is") if error.ctx else "the command line was not understood"
    )
    return UsageError(
        error.format_message().rstrip(".").replace("\n", " "), why=" ".join(usage.split()), fix=f"{path} --help"
    )
