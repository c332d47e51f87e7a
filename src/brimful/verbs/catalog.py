"""catalog show: what can be rented, filtered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from brimful.catalog import load
from brimful.catalog.filter import Filter, Selection, parse, select
from brimful.config import Config
from brimful.model.answers import Choice
from brimful.model.errors import UsageError
from brimful.model.hardware import EndedService, Offer, Status
from brimful.model.text import unicode_text


def show(config: Config, words: Sequence[str]) -> Choice:
    """Return the offers of the configured region that match all words, e.g. `accelerator=L4 memory>=48GiB`.

    A condition on the region (`region=eu-west-1`, `region=*`) counts over the setting. A word may also name a service
    that has ended: `elastic-inference`, or one of its sizes, `eia2.medium`; they are withdrawn, and asked for as such.
    """
    words = tuple(map(unicode_text, words))
    catalog = load(config.path("catalog_dir"))
    services, rest = _services(catalog.ended_services, words)
    chosen = Selection(())
    if rest or not services:
        wanted = parse(rest)
        chosen = select(_in_region(catalog.offers, wanted, config.text("region") or ""), wanted)
        if _all_withdrawn(wanted):
            services = catalog.ended_services
    return Choice(
        instances=chosen.offers,
        services=services,
        untold=chosen.untold,
        untold_by=chosen.untold_by,
        hints=chosen.hints,
        words=words,
    )


def _in_region(offers: Sequence[Offer], wanted: Filter, region: str) -> Sequence[Offer]:
    if any(condition.key.name == "region" for condition in wanted.conditions):
        return offers
    found = [offer for offer in offers if offer.region == region]
    if found:
        return found
    raise UsageError(
        f"the catalogue has nothing of the region {region}",
        why=f"it has {', '.join(sorted({offer.region for offer in offers}))}; prices differ from region to region",
        fix=f"brimful catalog refresh --region {region} fetches it; or name another one: --region us-east-1",
    )


def _all_withdrawn(wanted: Filter) -> bool:
    """Say whether everything that is withdrawn is asked for, and not some of it."""
    asked = {(item.key.name, item.op, item.wanted) for item in wanted.conditions if item.key.name != "region"}
    return asked == {("status", "=", (Status.WITHDRAWN.value,))} and not wanted.instances


def _services(ended: Sequence[EndedService], words: Sequence[str]) -> tuple[tuple[EndedService, ...], Sequence[str]]:
    """Return the ended services that words name, and the words that are left for the filter."""
    whole = [item for item in ended if _is_of(item, " ".join(words))]  # Elastic Inference, without quotes
    if whole:
        return tuple(whole), ()
    found = tuple(item for item in ended if any(_is_of(item, word) for word in words))
    return found, [word for word in words if not any(_is_of(item, word) for item in found)]


def _is_of(service: EndedService, word: str) -> bool:
    """Say whether a word names a service, a family of its sizes (eia1), a size (eia1.medium) or a pattern of them."""
    name = re.sub(r"^accelerator\s*=\s*", "", word.strip().lower())
    if re.sub(r"[\s_]+", "-", name) == service.service.lower().replace(" ", "-"):
        return True
    says_something = bool(name.strip("*?."))  # a bare * asks for everything, and for no service in particular
    return any(
        fnmatchcase(name, sizes) or sizes.partition(".")[0] == name or (says_something and fnmatchcase(sizes, name))
        for sizes in service.names
    )
