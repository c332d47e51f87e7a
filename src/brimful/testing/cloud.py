"""The promises of a cloud."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from brimful.model.advice import Act, Action
from brimful.model.hardware import Machine
from brimful.model.noun import with_gaps
from brimful.seams import Cloud
from brimful.testing.promises import NOBODY, checks, promise, refuses


def check_cloud(
    make: Callable[[], Cloud], *, world: Callable[[], object] | None = None, act: Action | None = None
) -> None:
    """Check a cloud with at least one machine.

    `world` returns whatever shows that something was done (the log of a mock, a file's text); it must stay the same
    through dry runs. `act` is an action that may be carried out for good here.
    """
    cloud = make()
    checks(cloud)
    machines = list(cloud.machines())
    promise("the kit needs a machine", machines)
    names = [machine.machine for machine in machines]
    promise(f"each machine has an id of its own: {names}", len(set(names)) == len(names))
    before = (_look(cloud, names), world and world())
    for machine in before[0]:
        for action, inverse in machine.actions.items():
            _check_act(cloud, _action(action, machine.machine), inverse, dry_run=True)
            after = (cloud.look(machine.machine), world and world())  # at once, for its inverse may follow
            promise(f"a dry run does nothing: {action} changed something", after == (machine, before[1]))
        stranger = _action(NOBODY, machine.machine)
        refuses("do() refuses an action that the machine does not allow", cloud.do, stranger, dry_run=True)
    refuses("look() at a machine that is not there is an error", cloud.look, NOBODY)
    refuses("do() refuses a machine that is not there", cloud.do, _action("stop", NOBODY), dry_run=True)
    if act is not None:
        _check_act(cloud, act, cloud.look(act.target).actions.get(act.action, ""), dry_run=False)


def _action(action: str, target: str) -> Action:
    return with_gaps(
        Action,
        "the kit knows no prices",
        action=action,
        target=target,
        why="to see whether it can be done",
        evidence=("conformance kit",),
    )


def _look(cloud: Cloud, names: Sequence[str]) -> list[Machine]:
    looked = [cloud.look(name) for name in names]
    promise("look() returns the machine that was asked for", [machine.machine for machine in looked] == list(names))
    return looked


def _check_act(cloud: Cloud, action: Action, inverse: str, *, dry_run: bool) -> None:
    act = cloud.do(action, dry_run=dry_run)
    what = f"do({action.action}, dry_run={dry_run})"
    promise(f"do() returns an Act, not {type(act).__name__}", isinstance(act, Act))
    promise(f"an act says whether it was a dry run: {what} says {act.dry_run}", act.dry_run is dry_run)
    same = (act.action, act.target) == (action.action, action.target)
    promise(f"an act says what was done to which machine: {what} does not", same)
    promise(f"an act carries the evidence of its action: {what} does not", act.evidence == action.evidence)
    promise(f"an act says what came of it: {what} does not", act.outcome.strip())
    promise(f"an act and its machine name one inverse: {act.inverse!r}, {inverse!r}", (act.inverse or "") == inverse)
