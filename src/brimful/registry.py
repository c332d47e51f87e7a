"""Which back-ends exist: one lazy table, and whatever other packages announce as entry points.

To add a back-end: write its file, add its line here, and run its kit from `brimful.testing`. A package of your own
announces its class in the entry-point group `brimful.<seam>`, e.g. `brimful.probe`; nothing here changes.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
from collections.abc import Iterator
from typing import Any

from brimful.model.answers import BackendState
from brimful.model.errors import BrimfulError, Unavailable, UsageError
from brimful.model.text import printable

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
        "huggingface": "brimful.readers.huggingface:HuggingFaceReader",
        "onnx": "brimful.readers.onnx:OnnxReader",
        "safetensors": "brimful.readers.safetensors:SafetensorsReader",
        "torch": "brimful.readers.torch_export:TorchReader",
    },
    "history": {
        "trace": "brimful.histories.trace:TraceHistory",
    },
}


def names(seam: str) -> dict[str, str]:
    """Return every known back-end of a seam and where its class is, ours first; a stranger cannot take our name."""
    table = dict(_table(seam))
    for point in importlib.metadata.entry_points(group=f"brimful.{seam}"):
        table.setdefault(point.name, point.value.partition("[")[0].strip())  # extras may stand after the class
    return table


def find(seam: str, name: str) -> Any:
    """Import and return a back-end's class."""
    table = names(seam)
    if name not in table:
        raise UsageError(
            f"no {seam} is called '{name}'",
            why=f"the known ones are {', '.join(sorted(table)) or 'none'}",
            fix=f"choose one of them, or install the package that provides '{name}' (see brimful doctor)",
        )
    module, _, attribute = table[name].partition(":")
    try:
        return functools.reduce(getattr, attribute.split("."), importlib.import_module(module))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a stranger's module may raise anything, SystemExit too, and must not end our run
        raise Unavailable(
            f"the {seam} {name!r} cannot be imported",
            why=f"{table[name]}: {_said(error)}",
            fix=f"repair or uninstall the package that provides {table[name]}",
        ) from error


def open_backend(seam: str, spec: str) -> Any:
    """Open `name` or `name:address`, e.g. `open_backend("history", "trace:gpu.csv")`."""
    name, _, where = spec.partition(":")
    cls = find(seam, name)
    with blaming(seam, spec):
        cls.check()
        return cls(where)


@contextlib.contextmanager
def blaming(seam: str, spec: str) -> Iterator[None]:
    """Turn what a stranger's back-end raises within a `with` block into an error for people that names it.

    What ours raise is let through: it is a mistake of ours, and its traceback is how to find it.
    """
    name = spec.partition(":")[0]
    try:
        yield
    except (BrimfulError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # as in find: a stranger's code may raise anything
        if name in BACKENDS[seam]:
            raise
        where = names(seam).get(name, name)
        raise Unavailable(
            f"the {seam} '{name}' has failed",
            why=f"{where}: {_said(error)}",
            fix=f"leave it out, or repair or uninstall the package that provides {where}; -v shows where it failed",
        ) from error


def states() -> Iterator[BackendState]:
    """Yield the state of every back-end; a broken one is a state, never an exception."""
    for seam, ours in BACKENDS.items():
        for name in names(seam):
            yield _state(seam, name)
        for point in importlib.metadata.entry_points(group=f"brimful.{seam}"):
            if point.name in ours:
                yield _passed_over(seam, point.name, point.value)


def _passed_over(seam: str, name: str, value: str) -> BackendState:
    """Return the state of a stranger that took a name of ours."""
    return BackendState(
        seam=seam,
        name=printable(f"{name} ({value})"),
        available=False,
        reason=f"it is passed over: brimful has a {seam} called {name} itself",
        fix="ask the author of that package to announce it under another name",
    )


def _state(seam: str, name: str) -> BackendState:
    try:
        cls = find(seam, name)
        cls.check()
    except BrimfulError as error:
        reason = printable(f"{error.what}: {error.why}")
        return BackendState(seam=seam, name=name, available=False, reason=reason, fix=printable(error.fix))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - as in find: a stranger's check may raise anything
        return BackendState(
            seam=seam,
            name=name,
            available=False,
            reason=f"its check failed: {_said(error)}",
            fix=f"repair or uninstall the package that provides the {seam} {name!r}",
        )
    summary = str(cls.__doc__ or "").strip().partition("\n")[0].rstrip(".")
    return BackendState(seam=seam, name=name, available=True, reason=printable(summary) or "it answers")


def _said(error: BaseException) -> str:
    """Return what a stranger's error says, in characters that any record and terminal can take."""
    try:
        return printable(f"{type(error).__name__}: {error}")
    except Exception:  # noqa: BLE001 - its own __str__ is a stranger's too
        return type(error).__name__


def _table(seam: str) -> dict[str, str]:
    if seam not in BACKENDS:
        raise UsageError(
            f"no seam is called {seam!r}", why=f"the seams are {', '.join(BACKENDS)}", fix="name one of them"
        )
    return BACKENDS[seam]
