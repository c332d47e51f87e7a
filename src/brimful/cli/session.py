"""What every verb shares: the global flags, the settings they lead to, and how answers and errors are said."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from brimful import config
from brimful.model.errors import BrimfulError, StorageError
from brimful.model.text import printable

_FLAGS = (
    click.option("--json", "as_json", is_flag=True, help="Print the answer as one JSON object."),
    click.option("-q", "--quiet", is_flag=True, help="No hints and no progress on stderr."),
    click.option("-v", "--verbose", is_flag=True, help="Say more on stderr; show where an error came from."),
)
HELP = {"help_option_names": ["-h", "--help"]}


def flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the global flags; they may stand before the verb or behind it."""
    for option in reversed(_FLAGS):
        function = option(function)
    return setting("run_dir")(function)


def setting(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the option that gives a setting of the configuration on the command line."""
    key = next(key for key in config.KEYS if key.name == name)
    kind = click.Choice(key.choices) if key.choices else None
    return click.option(f"--{name.replace('_', '-')}", name, type=kind, help=f"{key.doc[0].upper()}{key.doc[1:]}.")


@dataclass(frozen=True, slots=True)
class Session:
    """One use of the command line."""

    config: config.Config
    as_json: bool
    quiet: bool
    verbose: bool

    def answer(self, text: str) -> None:
        """Print a result on stdout."""
        try:
            click.echo(text)
        except OSError as error:
            # What could not be written must not be tried again when Python ends: that would change the exit code.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError):
                raise
            raise StorageError(
                "the answer cannot be written to stdout", why=error.strerror or str(error), fix="check where it is sent"
            ) from error

    def hint(self, text: str) -> None:
        """Say something helpful on stderr, to people only."""
        if not self.quiet and sys.stderr.isatty():
            click.secho(printable(text), err=True, dim=True)

    def warn(self, text: str) -> None:
        """Say on stderr that something was passed over."""
        if not self.quiet:
            click.echo(f"warning: {printable(text)}", err=True)

    def detail(self, text: str) -> None:
        """Say on stderr what -v asks for."""
        if self.verbose:
            click.echo(printable(text), err=True)


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
        return click.command(name, context_settings=HELP)(flags(wrapped))

    return decorate


def _session(ctx: click.Context, options: dict[str, Any], settings: Sequence[str]) -> Session:
    outer: Mapping[str, Any] = ctx.find_root().obj or {}
    given = {key: options.pop(key) or outer.get(key) for key in ("run_dir", *settings)}
    told = {name: bool(options.pop(name) or outer.get(name)) for name in ("as_json", "quiet", "verbose")}
    return Session(config=config.load(given), **told)


def complain(error: BrimfulError, arguments: Sequence[str]) -> int:
    """Print an error in its three parts, as JSON too when JSON was asked for, and return its exit code."""
    before_program = list(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    if {"-v", "--verbose"} & set(before_program):
        traceback.print_exception(error)
    click.echo(f"{click.style('error:', fg='red', bold=True)} {printable(error.what)}", err=True)
    click.echo(f"  {click.style('why:', bold=True)} {printable(error.why)}", err=True)
    click.echo(f"  {click.style('fix:', bold=True)} {printable(error.fix)}", err=True)
    if "--json" in before_program:
        from brimful.report import json  # noqa: PLC0415 - msgspec is not needed for --help

        click.echo(json.error(error))
    return error.exit_code
