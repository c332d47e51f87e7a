"""The Python form of `fit`'s question: `ask(qps=40, p99="50ms")`, with the names and units of the command line."""

from __future__ import annotations

from typing import Any

from brimful.advise.fit.request import Request, read


def ask(**options: Any) -> Request:
    """Return a question from the command line's options by their names, such as qps, p99, offline, within, data."""
    return read(options)
