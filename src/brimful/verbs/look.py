"""look: what bare `brimful` says: this machine in a few lines, and the commands that make sense here."""

from __future__ import annotations

from brimful.config import Config
from brimful.journal.read import runs
from brimful.model.answers import Suggestion, View
from brimful.model.hardware import Device, DeviceKind
from brimful.verbs.doctor import here


def look(config: Config) -> View:
    """Look at this machine and suggest the next commands, the most useful one first."""
    devices, problem = here()
    return View(
        devices=devices, problems=(problem,) if problem else (), suggestions=tuple(_suggestions(config, devices))
    )


def _suggestions(config: Config, devices: tuple[Device, ...]) -> list[Suggestion]:
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
    if runs(config.path("run_dir")):
        out.append(Suggestion(command="brimful show last", why="read the journal of the last run"))
    return out
