"""What every verb shares: the global flags, the settings they lead to, and how answers and errors are said."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import click

from brimful import config
from brimful.cli import complete
from brimful.model.errors import BrimfulError, StorageError
from brimful.model.text import printable

_FLAGS = (
    click.option("--json", "as_json", is_flag=True, help="Print the answer as one JSON object."),
    click.option("-q", "--quiet", is_flag=True, help="No hints and no progress on stderr."),
    click.option("-v", "--verbose", is_flag=True, help="Say more on stderr; show where an error came from."),
)
_SEAMS = {"history"}  # settings that name a back-end of the seam of that name
HELP = {"help_option_names": ["-h", "--help"]}


class Verb(click.Command):
    """A verb, whose help goes the way of every answer: when it cannot be written, that is an error."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return click's option for help, with our way to print."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _print_help
        return option


class Group(Verb, click.Group):
    """A group of verbs."""


def _print_help(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
    if wanted and not ctx.resilient_parsing:
        print_out(ctx.get_help())
        ctx.exit()


def print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
    """Print the version, and end."""
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version  # noqa: PLC0415 - only --version needs it

        print_out(f"brimful {version('brimful')}")
        ctx.exit()


def group(name: str, about: str) -> Group:
    """Return a group of verbs that takes the global flags, and shows its help when no verb is named."""

    @click.pass_context
    def call(ctx: click.Context, /, **options: Any) -> None:
        ctx.obj = {**(ctx.obj or {}), **{key: value for key, value in options.items() if value}}
        if ctx.invoked_subcommand is not None:
            return
        if ctx.obj.get("as_json"):
            raise click.UsageError("No command is named", ctx)
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)

    wrapped: Callable[..., Any] = flags(call)
    return click.group(
        name,
        cls=Group,
        help=about,
        context_settings=HELP,
        invoke_without_command=True,
        subcommand_metavar="COMMAND [ARGS]...",
    )(wrapped)


def flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the global flags; they may stand before the verb or behind it."""
    for option in reversed(_FLAGS):
        function = option(function)
    return setting("run_dir")(function)


def setting(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the option that gives a setting of the configuration on the command line."""
    key = next(key for key in config.KEYS if key.name == name)
    kind = click.Choice(key.choices) if key.choices else click.Path() if key.path else None
    text = f"{key.doc[0].upper()}{key.doc[1:]}."
    completer = complete.backends(name) if name in _SEAMS else None
    return click.option(f"--{name.replace('_', '-')}", name, type=kind, help=text, shell_complete=completer)


@dataclass(frozen=True, slots=True)
class Session:
    """One use of the command line."""

    config: config.Config
    as_json: bool
    quiet: bool
    verbose: bool

    def answer(self, text: str) -> None:
        """Print a result on stdout."""
        print_out(text)

    def hint(self, text: str) -> None:
        """Say something helpful on stderr, to people only."""
        if not self.quiet and sys.stderr and sys.stderr.isatty():
            click.secho(printable(text), err=True, color=_colour(), dim=True)

    def warn(self, text: str) -> None:
        """Say on stderr that something was passed over."""
        if not self.quiet:
            click.echo(f"warning: {printable(text)}", err=True)

    def detail(self, text: str) -> None:
        """Say on stderr what -v asks for."""
        if self.verbose:
            click.echo(printable(text), err=True)


def print_out(text: str) -> None:
    """Print on stdout; when nothing can be written there, that is an error and no silence."""
    stdout: TextIO | None = sys.stdout
    if stdout is None:  # what Python makes of a closed one; click would print nothing and be content
        raise _unsaid("it is closed")
    try:
        click.echo(text)
    except OSError as error:
        # What could not be written must not be tried again when Python ends: that would change the exit code.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise _unsaid(error.strerror or str(error)) from error


def _unsaid(why: str) -> StorageError:
    return StorageError("the answer cannot be written to stdout", why=why, fix="check where it is sent")


def _colour() -> bool | None:
    """Return False where NO_COLOR forbids colours; else click finds out whether there is a terminal."""
    return False if os.environ.get("NO_COLOR") else None


def verb(name: str, *settings: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function a verb: it gets a Session, and its own options beside the global ones and the named settings."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        @click.pass_context
        def call(ctx: click.Context, /, **options: Any) -> Any:
            return function(_session(ctx, options, settings), **options)

        wrapped: Callable[..., Any] = call
        for key in reversed(settings):
            wrapped = setting(key)(wrapped)
        return click.command(name, cls=Verb, context_settings=HELP)(flags(wrapped))

    return decorate


def _session(ctx: click.Context, options: dict[str, Any], settings: Sequence[str]) -> Session:
    outer: Mapping[str, Any] = ctx.obj or {}  # what stood before the verb
    given = {key: options.pop(key) or outer.get(key) for key in ("run_dir", *settings)}
    told = {name: bool(options.pop(name) or outer.get(name)) for name in ("as_json", "quiet", "verbose")}
    return Session(config=config.load(given), **told)


def complain(error: BrimfulError, arguments: Sequence[str]) -> int:
    """Print an error in its three parts, as JSON too when JSON was asked for, and return its exit code."""
    before_program = list(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    if {"-v", "--verbose"} & set(before_program):
        traceback.print_exception(error)
    for head, colour, text in (("error:", "red", error.what), ("  why:", None, error.why), ("  fix:", None, error.fix)):
        click.echo(f"{click.style(head, fg=colour, bold=True)} {printable(text)}", err=True, color=_colour())
    if "--json" in before_program:
        from brimful.report import json  # noqa: PLC0415 - msgspec is not needed for --help

        with contextlib.suppress(StorageError):  # a full stdout takes no error either; stderr has it
            print_out(json.error(error))
    return error.exit_code
