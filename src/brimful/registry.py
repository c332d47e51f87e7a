"""Which back-ends exist: one lazy table, and whatever other packages announce as entry points.

To add a back-end: write its file, add its line here, and run its kit from `brimful.testing`. A package of your own
announces its class in the entry-point group `brimful.<seam>`, e.g. `brimful.probe`; nothing here changes.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Iterator
from typing import Any

from brimful.model.errors import BrimfulError, Unavailable, UsageError
from brimful.model.noun import Noun, noun, unknown

BACKENDS: dict[str, dict[str, str]] = {
    "probe": {
        "fake": "brimful.probes.fake:FakeProbe",
        "file": "brimful.probes.file:FileProbe",
        "host": "brimful.probes.host:HostProbe",
    },
    "engine": {
        "command": "brimful.engines.command:CommandEngine",
    },
    "store": {
        "local": "brimful.stores.local:LocalStore",
    },
    "cloud": {
        "inventory": "brimful.clouds.inventory:InventoryCloud",
    },
    "reader": {
        "safetensors": "brimful.readers.safetensors:SafetensorsReader",
    },
    "history": {
        "trace": "brimful.histories.trace:TraceHistory",
    },
}


@noun
class BackendState(Noun):
    """One line of `brimful doctor`: a back-end, and whether it can be used here."""

    seam: str
    name: str
    available: bool
    reason: str
    fix: str | None = unknown("nothing is to be done")


def names(seam: str) -> dict[str, str]:
    """Return every known back-end of a seam and where its class is, ours first; a stranger cannot take our name."""
    table = dict(_table(seam))
    for point in importlib.metadata.entry_points(group=f"brimful.{seam}"):
        table.setdefault(point.name, point.value)
    return table


def find(seam: str, name: str) -> Any:
    """Import and return a back-end's class."""
    table = names(seam)
    if name not in table:
        raise UsageError(
            f"no {seam} is called {name!r}",
            why=f"the known ones are {', '.join(sorted(table)) or 'none'}",
            fix=f"choose one of them, or install the package that provides {name!r} (brimful doctor lists what is there)",
        )
    module, _, attribute = table[name].partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except Exception as error:  # a stranger's module may raise anything at all, and must not end our run
        raise Unavailable(
            f"the {seam} {name!r} cannot be imported",
            why=f"{table[name]}: {type(error).__name__}: {error}",
            fix=f"repair or uninstall the package that provides {table[name]}",
        ) from error


def open_backend(seam: str, spec: str) -> Any:
    """Open `name` or `name:address`, e.g. `open_backend("history", "trace:gpu.csv")`."""
    name, _, where = spec.partition(":")
    cls = find(seam, name)
    cls.check()
    return cls(where)


def states() -> Iterator[BackendState]:
    """Yield the state of every back-end; a broken one is a state, never an exception."""
    for seam in BACKENDS:
        for name in names(seam):
            yield _state(seam, name)


def _state(seam: str, name: str) -> BackendState:
    try:
        cls = find(seam, name)
        cls.check()
    except BrimfulError as error:
        return BackendState(seam=seam, name=name, available=False, reason=f"{error.what}: {error.why}", fix=error.fix)
    except Exception as error:  # as in find: a stranger's check may raise anything
        return BackendState(
            seam=seam,
            name=name,
            available=False,
            reason=f"its check failed: {type(error).__name__}: {error}",
            fix=f"repair or uninstall the package that provides the {seam} {name!r}",
        )
    summary = (cls.__doc__ or "").strip().partition("\n")[0].rstrip(".")
    return BackendState(seam=seam, name=name, available=True, reason=summary or "it answers")


def _table(seam: str) -> dict[str, str]:
    if seam not in BACKENDS:
        raise UsageError(
            f"no seam is called {seam!r}", why=f"the seams are {', '.join(BACKENDS)}", fix="name one of them"
        )
    return BACKENDS[seam]
