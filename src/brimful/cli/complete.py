"""What the shell offers behind an option or as a word; where nothing can be found nothing is, and no error is said."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from brimful.model.errors import BrimfulError
from brimful.model.text import readable_path

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completer(words: Callable[[click.Context, str], Iterable[str]]) -> Completer:
    def complete(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
        try:
            return [CompletionItem(word) for word in words(ctx, begun) if word.startswith(begun)]
        except BrimfulError:
            return []

    return complete


def backends(seam: str) -> Completer:
    """Complete the name of a back-end of a seam; its address follows behind a colon."""

    def words(_: click.Context, __: str) -> Iterable[str]:
        from brimful import registry  # noqa: PLC0415 - here and below: --help needs none of it

        return (f"{name}:" for name in registry.names(seam))

    return _completer(words)


def _runs(ctx: click.Context, _: str) -> Iterable[str]:
    from brimful import config  # noqa: PLC0415
    from brimful.journal.read import runs  # noqa: PLC0415

    place: click.Context | None = ctx
    while place is not None and not place.params.get("run_dir"):  # it may stand before the verb
        place = place.parent
    given = place.params["run_dir"] if place else None
    found = runs(config.load({"run_dir": given}).path("run_dir"))
    return ["last", *(readable_path(run.name) for run in reversed(found))] if found else []


def _filters(_: click.Context, begun: str) -> Iterable[str]:
    from brimful.catalog.filter_keys import KEYS  # noqa: PLC0415

    name, equals = begun.partition("=")[:2]
    if equals and name in KEYS:
        return (f"{name}={choice}" for choice in KEYS[name].choices)
    return (f"{name}=" for name in KEYS)


run_ids = _completer(_runs)
filters = _completer(_filters)
