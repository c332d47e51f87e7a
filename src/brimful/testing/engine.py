"""The promises of an engine."""

from __future__ import annotations

from collections.abc import Callable

from brimful.model.hardware import Device
from brimful.model.work import Setting, Workload
from brimful.seams import Engine, Support
from brimful.testing.promises import checks, closes_twice, promise


def check_engine(
    make: Callable[[], Engine],
    *,
    runs: tuple[Workload, Device, Setting],
    refuses: tuple[Workload, Device],
    calls: Callable[[], int] | None = None,
) -> None:
    """Check an engine with a workload it runs and one it cannot run.

    `calls` counts how often the workload's work has been finished, e.g. the lines that a command has written.
    """
    engine = make()
    checks(engine)
    workload, device, setting = runs
    yes, no = engine.supports(workload, device), engine.supports(*refuses)
    for answer in (yes, no):
        promise(f"supports() returns a Support, not {answer!r}", isinstance(answer, Support))
        promise(f"supports() says why (not): yes={answer.yes} came without a reason", answer.reason.strip())
    promise(f"supports() agrees to what can be run: it refuses because {yes.reason}", yes.yes)
    promise(f"supports() refuses what cannot be run: it agrees because {no.reason}", not no.yes)
    runner = engine.load(workload, setting)
    before = calls() if calls else 0
    for count in (1, 2):
        runner.run()
        if calls is not None:
            done = calls() - before
            promise(f"run() returns when its work is finished: after {count} calls, {done} were", done == count)
    closes_twice(runner)
