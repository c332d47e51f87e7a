"""look: what bare `brimful` says: this machine in a few lines, and the commands that make sense here."""

from __future__ import annotations

from brimful.config import Config
from brimful.journal.read import runs
from brimful.model.answers import Part, Suggestion, View
from brimful.model.errors import JournalError
from brimful.model.hardware import Device, DeviceKind
from brimful.verbs.doctor import here


def look(config: Config) -> View:
    """Look at this machine and suggest the next commands, the most useful one first."""
    devices, hidden = here()
    has_runs, unread = _earlier(config)
    problems = tuple(part for part in (hidden, unread) if part is not None)
    suggestions = tuple(_suggestions(config, devices, has_runs=has_runs))
    return View(devices=devices, problems=problems, suggestions=suggestions)


def _earlier(config: Config) -> tuple[bool, Part | None]:
    """Return whether there are earlier runs, and what kept us from knowing if something did."""
    try:
        return bool(runs(config.path("run_dir"))), None
    except JournalError as error:
        return False, Part(part="earlier runs", works=False, reason=f"{error.what}: {error.why}", fix=error.fix)


def _suggestions(config: Config, devices: tuple[Device, ...], *, has_runs: bool) -> list[Suggestion]:
    accelerators = [device for device in devices if device.device_kind not in (None, DeviceKind.CPU)]
    out = []
    if config.text("inventory"):
        out.append(Suggestion(command="brimful audit", why="hold your inventory against the 92 practices"))
    else:
        out.append(
            Suggestion(command="brimful audit --example", why="see an audit: this machine and a simulated fleet")
        )
        out.append(Suggestion(command="brimful audit --inventory machines.toml", why="audit your own machines"))
    if accelerators:
        out.append(Suggestion(command="brimful doctor", why=f"see what can read the {accelerators[0].model} here"))
    else:
        why = "see what a share of a GPU, or a whole one, costs to rent"
        out.append(Suggestion(command="brimful catalog show accelerator=L4", why=why))
    if has_runs:
        out.append(Suggestion(command="brimful show last", why="read the journal of the last run"))
    return out
