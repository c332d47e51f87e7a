"""Machines from a file: for a rack, a cloud without a back-end, or a fleet that somebody else keeps a list of.

    [actions.stop]
    command = ["aws", "ec2", "stop-instances", "--instance-ids", "{machine}"]
    inverse = "start"

    [[machines]]
    id = "i-0abc"
    instance = "g6.xlarge"
    region = "us-east-1"

A file cannot stop a machine, so there are no actions but those for which it gives a command. Commands run without a
shell, one argument per word; what is to be undone by another action says so in `inverse`.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from brimful.model.advice import Act, Action
from brimful.model.errors import CloudError, DataError, UsageError
from brimful.model.hardware import UNTOLD_CLOUD, Machine
from brimful.model.noun import with_gaps
from brimful.model.text import printable, readable_path
from brimful.model.units import MIB

_MOST_BYTES = 16 * MIB
_AS_THE_CLOUD = "write it as the cloud does"
_TOP = ("cloud", "machines", "actions")
_MACHINE = ("id", "instance", "region", "tags", "owner", "state", "launched_at", "purchase", "usd_per_hour")
_ACTION = ("command", "inverse", "timeout_s")
_PLACES = ("machine", "instance", "region", "owner")
_STATES = ("pending", "running", "stopping", "stopped", "shutting-down", "terminated")
_SAME_STATE = {"inservice": "running"}  # SageMaker's word
_CLOUDS = ("ec2", "sagemaker")  # those that practices speak of
_MOST_USD_PER_HOUR = 1e6  # far above any machine; a sum of such prices stays a number
_TIMEOUT_S = 120.0
_LONGEST_S = 3600.0
_SHOWN_BYTES = 2000


@dataclass(frozen=True, slots=True)
class _Template:
    command: tuple[str, ...]
    inverse: str | None
    timeout_s: float


@dataclass(frozen=True, slots=True)
class _Inventory:
    machines: dict[str, Machine]
    actions: dict[str, _Template]


class InventoryCloud:
    """Machines from a TOML or JSON file, which is read anew at every call: `inventory:machines.toml`."""

    def __init__(self, where: str) -> None:
        if not where:
            raise UsageError(
                "no inventory file is named",
                why="the inventory cloud is a file of machines",
                fix="name it, e.g. --cloud inventory:machines.toml",
            )
        self._path = Path(where)

    @classmethod
    def check(cls) -> None:
        """Do nothing: it works everywhere."""

    def machines(self) -> Sequence[Machine]:
        """Return the machines in the order of the file, each with the actions for which the file has commands."""
        return list(self._read().machines.values())

    def look(self, machine: str) -> Machine:
        """Return one machine as the file describes it now."""
        return self._find(self._read(), machine)

    def do(self, action: Action, *, dry_run: bool) -> Act:
        """Run the action's command, or say which command it would be."""
        inventory = self._read()
        machine = self._find(inventory, action.target)
        template = inventory.actions.get(action.action)
        if template is None:
            raise CloudError(
                f"the inventory has no command for {action.action!r}",
                why=f"{readable_path(self._path)} has commands for {', '.join(inventory.actions) or 'nothing'}",
                fix=f"write [actions.{action.action}] with a command into the file, or act by hand",
            )
        command = _fill(template.command, machine)
        shown = printable(shlex.join(command))
        outcome = f"would run: {shown}" if dry_run else _run(command, shown, template.timeout_s)
        gap = {} if template.inverse else {"inverse": "the inventory names no action that undoes it"}
        return Act(
            action=action.action,
            target=action.target,
            dry_run=dry_run,
            outcome=outcome,
            inverse=template.inverse,
            evidence=action.evidence,
            missing=gap,
        )

    def _find(self, inventory: _Inventory, name: str) -> Machine:
        machine = inventory.machines.get(name)
        if machine is None:
            raise CloudError(
                f"the inventory has no machine {printable(name)!r}",
                why=f"{readable_path(self._path)} lists {len(inventory.machines)} machines, and not this one",
                fix=_did_you_mean(name, inventory.machines, "check the id, or add the machine to the file"),
            )
        return machine

    def _read(self) -> _Inventory:
        try:
            with self._path.open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
            return _parse(data, readable_path(self._path.name))
        except OSError as error:
            why = error.strerror or str(error)
        except RecursionError:
            why = "it is nested too deeply"
        except _Wrong as error:
            raise DataError(
                f"the inventory {readable_path(self._path)} cannot be used", why=error.why, fix=error.fix
            ) from error
        except (ValueError, OverflowError) as error:
            why = str(error)
        raise DataError(
            f"the inventory {readable_path(self._path)} cannot be read",
            why=why,
            fix="write TOML (or JSON) with [[machines]], each with an id and an instance",
        )


class _Wrong(Exception):  # noqa: N818 - never leaves this module
    """What is wrong with which key."""

    def __init__(self, why: str, fix: str) -> None:
        super().__init__(why)
        self.why, self.fix = why, fix


def _parse(data: bytes, name: str) -> _Inventory:
    if len(data) > _MOST_BYTES:
        raise ValueError(f"it is larger than {_MOST_BYTES} bytes")
    text = data.decode("utf-8-sig")
    raw = json.loads(text, object_pairs_hook=_once) if text.lstrip().startswith("{") else tomllib.loads(text)
    _check_keys(raw, _TOP, "the file")
    actions = {key: _template(key, item) for key, item in _table(raw.get("actions", {}), "actions").items()}
    for key, template in actions.items():
        if template.inverse is not None and template.inverse not in actions:
            raise _Wrong(
                f"actions.{key}.inverse is {template.inverse!r}, for which there is no command",
                _did_you_mean(template.inverse, actions, f"write [actions.{template.inverse}], or leave inverse out"),
            )
    cloud = _text(raw.get("cloud", f"{UNTOLD_CLOUD} {name}"), "cloud")
    cloud = cloud.lower() if cloud.lower() in _CLOUDS else cloud
    offered = {key: template.inverse or "" for key, template in actions.items()}
    items = raw.get("machines", [])
    if not isinstance(items, list):
        raise _Wrong("machines is no list", "write each machine under [[machines]]")
    machines: dict[str, Machine] = {}
    for number, item in enumerate(items):
        machine = _machine(item, f"machines[{number}]", cloud, offered)
        if machine.machine in machines:
            raise _Wrong(f"machines[{number}].id: {machine.machine!r} is there twice", "give each machine its own id")
        machines[machine.machine] = machine
    return _Inventory(machines, actions)


def _machine(raw: Any, where: str, cloud: str, actions: Mapping[str, str]) -> Machine:
    table = _table(raw, where)
    _check_keys(table, _MACHINE, where)
    for key in ("id", "instance", "region"):
        _check_name(table, key, where)
    known = {key: value for key, value in table.items() if key not in ("id", "launched_at")}
    known |= {key: _word(known[key], f"{where}.{key}") for key in ("state", "purchase") if known.get(key) is not None}
    if "state" in known:
        known["state"] = _state(known["state"], table["state"], f"{where}.state")
    _check_price(known.get("usd_per_hour"), f"{where}.usd_per_hour")
    try:
        return with_gaps(
            Machine,
            "the inventory does not say",
            machine=table["id"],
            cloud=cloud,
            actions=actions,
            launched_at=_moment(table.get("launched_at"), f"{where}.launched_at"),
            **known,
        )
    except (ValueError, OverflowError) as error:
        raise _Wrong(f"{where}: {error}", "correct the value") from error


def _check_name(table: Mapping[str, Any], key: str, where: str) -> None:
    """Refuse a name that is missing, or that no cloud gives: commands that people copy hold it."""
    raw = table.get(key)
    if raw is None and key == "region":
        return
    name = _text("" if raw is None else raw, f"{where}.{key}")
    if not name:
        raise _Wrong(f"{where}.{key} is missing", f'write {key} = "..." for each machine')
    if name.startswith("-"):
        raise _Wrong(f"{where}.{key} begins with -: a command would take it for an option", _AS_THE_CLOUD)
    if not name.isprintable():
        raise _Wrong(f"{where}.{key} holds a character that cannot be printed: {name!r:.60}", _AS_THE_CLOUD)


def _word(raw: Any, where: str) -> str:
    """Return a word in the one form in which it is compared: On_Demand is on-demand."""
    return re.sub(r"[\s_]+", "-", _text(raw, where).strip().lower())


def _state(word: str, said: str, where: str) -> str:
    state = _SAME_STATE.get(word, word)
    if state not in _STATES:
        fix = _did_you_mean(state, _STATES, f"the states are {', '.join(_STATES)}")
        raise _Wrong(f"{where} is {said!r:.60}, which is no state of a machine", fix)
    return state


def _check_price(price: Any, where: str) -> None:
    if isinstance(price, int | float) and price > _MOST_USD_PER_HOUR:
        raise _Wrong(
            f"{where} is {price!r:.60}: it must lie between 0 and {_MOST_USD_PER_HOUR:g}",
            "write what one machine costs an hour, in US dollars",
        )


def _template(key: str, raw: Any) -> _Template:
    where = f"actions.{key}"
    table = _table(raw, where)
    _check_keys(table, _ACTION, where)
    command = table.get("command")
    if not isinstance(command, list) or not command or not all(isinstance(word, str) and word for word in command):
        raise _Wrong(
            f"{where}.command is no list of words", f'write e.g. command = ["ssh", "{{machine}}", "sudo", "{key}"]'
        )
    for word in command:
        strange = [name for name in re.findall(r"\{(\w*)\}", word) if name not in _PLACES]
        if strange or "\0" in word:
            raise _Wrong(
                f"{where}.command holds {word!r}, whose {{{strange[0] if strange else ''}}} is not known",
                f"the places are {', '.join('{' + name + '}' for name in _PLACES)}",
            )
    inverse = table.get("inverse")
    seconds = table.get("timeout_s", _TIMEOUT_S)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= _LONGEST_S:
        raise _Wrong(f"{where}.timeout_s is {seconds!r}", f"give seconds above 0, at most {_LONGEST_S:g}")
    return _Template(tuple(command), None if inverse is None else _text(inverse, f"{where}.inverse"), float(seconds))


def _fill(words: Iterable[str], machine: Machine) -> list[str]:
    """Put the machine's facts into the command; one that is unknown stops it, for nothing is acted on by half."""
    values = {
        "machine": machine.machine,
        "instance": machine.instance,
        "region": machine.region,
        "owner": machine.owner,
    }

    def value(match: re.Match[str]) -> str:
        found = values[match[1]]
        if found is None:
            raise CloudError(
                f"the command for {printable(machine.machine)} wants {{{match[1]}}}, which is not known",
                why="the inventory does not say it for this machine",
                fix=f"write {match[1]} for the machine into the inventory",
            )
        return found

    return [re.sub(r"\{(\w+)\}", value, word) for word in words]


def _run(command: Sequence[str], shown: str, timeout_s: float) -> str:
    with tempfile.TemporaryFile() as output:  # not memory: a command may print without end
        try:
            status = subprocess.run(  # noqa: S603 - the owner of the inventory wrote the command; no shell reads it
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=timeout_s, check=False
            ).returncode
        except subprocess.TimeoutExpired as error:
            raise CloudError(
                f"the command did not end within {timeout_s:g} s: {shown}",
                why="it was ended, and may or may not have acted",
                fix="look at the machine before trying again; timeout_s in the inventory gives it longer",
            ) from error
        except (OSError, ValueError) as error:
            raise CloudError(
                f"the command cannot be started: {shown}",
                why=str(error),
                fix="install the program, or correct the inventory",
            ) from error
        output.seek(max(0, output.seek(0, os.SEEK_END) - _SHOWN_BYTES))
        said = printable(output.read().decode("utf-8", "replace").strip())
    if status != 0:
        raise CloudError(
            f"the command failed with exit status {status}: {shown}",
            why=said or "it printed nothing",
            fix="run it by hand and see what it wants; the machine may be as it was",
        )
    return f"ran: {shown}" + (f"\n{said}" if said else "")


def _table(raw: Any, where: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise _Wrong(f"{where} is {raw!r:.60}, which is no table", f"write it as a table, e.g. [{where}]")
    return raw


def _text(raw: Any, where: str) -> str:
    if not isinstance(raw, str):
        raise _Wrong(f"{where} is {raw!r:.60}, which is no text", "put it in quotes")
    return raw


def _moment(raw: Any, where: str) -> str | None:
    """Return a date and time in ISO 8601; TOML has a type for it, JSON has text."""
    if raw is None:
        return None
    if isinstance(raw, date):
        return raw.isoformat()
    text = _text(raw, where)
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        raise _Wrong(f"{where} is {text!r:.60}: {error}", "write it like 2026-01-31T12:00:00Z") from error
    return text


def _check_keys(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise _Wrong(
                f"{where} has the unknown key {key!r}", _did_you_mean(key, known, f"the keys are {', '.join(known)}")
            )


def _did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]!r}? Else {otherwise}" if near else otherwise


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is there twice, of which JSON would drop the first silently."""
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = next(key for number, (key, _) in enumerate(pairs) if key in dict(pairs[:number]))
        raise _Wrong(f"the key {twice!r} is there twice", "keep one of them")
    return table
