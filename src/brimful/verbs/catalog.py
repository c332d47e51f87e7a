"""catalog show: what can be rented, filtered."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from brimful.catalog import load
from brimful.catalog.filter import Selection, parse, select
from brimful.config import Config
from brimful.model.answers import Choice
from brimful.model.hardware import EndedService
from brimful.model.text import unicode_text


def show(config: Config, words: Sequence[str]) -> Choice:
    """Return the offers that match all words, e.g. `accelerator=L4 memory>=48GiB`.

    A word may also name a service that has ended: `elastic-inference`, or one of its sizes, `eia2.medium`.
    """
    words = tuple(map(unicode_text, words))
    catalog = load(config.path("catalog_dir"))
    services = tuple(item for item in catalog.ended_services if any(_is_of(item, word) for word in words))
    rest = [word for word in words if not any(_is_of(item, word) for item in services)]
    chosen = select(catalog.offers, parse(rest)) if rest or not services else Selection(())
    return Choice(
        instances=chosen.offers,
        services=services,
        untold=chosen.untold,
        untold_by=chosen.untold_by,
        hints=chosen.hints,
        words=words,
    )


def _is_of(service: EndedService, word: str) -> bool:
    name = word.strip().lower()
    return name == service.service.lower().replace(" ", "-") or any(fnmatchcase(name, one) for one in service.names)
