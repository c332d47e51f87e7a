"""What the kits say when a promise is broken, and the promises that all seams share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from brimful.model.errors import BrimfulError, HardwareAbsent, Unavailable
from brimful.seams import Probe, Runner

SOURCES = ("measured", "recorded", "simulated")
NOBODY = "nobody-has-this-name"
_SHOWN = 3


def promise(text: str, kept: object) -> None:
    """Raise AssertionError with the broken promise, also under python -O."""
    if not kept:
        raise AssertionError(text)


def refuses(text: str, call: Callable[..., object], *args: Any, **named: Any) -> None:
    """Expect an error for people; anything else that is raised breaks the promise too."""
    try:
        answer = call(*args, **named)
    except BrimfulError:
        return
    except Exception as error:
        raise AssertionError(f"{text}; it raised {type(error).__name__}: {error}, which is no BrimfulError") from error
    raise AssertionError(f"{text}; it returned {answer!r:.80}")


def shown(items: Iterable[object]) -> str:
    """Return the first few of many things."""
    listed = list(items)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return f"{listed[:_SHOWN]}{more}"


def checks(backend: Any) -> None:
    """Check the check: it passes where the kit runs, and what it raises is for people."""
    try:
        type(backend).check()
    except (Unavailable, HardwareAbsent) as error:
        raise AssertionError(f"the kit needs a back-end that can work here: {error}") from error
    except Exception as error:
        text = f"check() raises Unavailable or HardwareAbsent alone: it raised {type(error).__name__}: {error}"
        raise AssertionError(text) from error


def closes_twice(thing: Probe | Runner) -> None:
    """Close a thing twice."""
    thing.close()
    try:
        thing.close()
    except Exception as error:
        raise AssertionError(f"a second close() does nothing: it raised {type(error).__name__}: {error}") from error
