"""Settings and where each of them came from: command line, environment, project file, user file, default.

`KEYS` is the one table: the command line, `brimful config show`, the docs and the checks all read it.
"""

from __future__ import annotations

import difflib
import os
import pwd
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brimful.model.errors import ConfigError
from brimful.model.text import readable_path, reason, unicode_text

PREFIX = "BRIMFUL_"
# Variables of ours that are no settings: how the native module is built and which of its paths is taken.
NOT_SETTINGS = frozenset({"BRIMFUL_PURE", "BRIMFUL_NATIVE_ISA", "BRIMFUL_HYPOTHESIS"})


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: its name, what its value is (a path, one of `choices`, or a text of some form), what it does."""

    name: str
    doc: str
    path: bool = False
    form: str = ""
    default: str | None = None
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """Return the name of its environment variable."""
        return PREFIX + self.name.upper()


KEYS = (
    Key("run_dir", "where the journals of runs are kept", path=True, default="$XDG_STATE_HOME/brimful/runs"),
    Key("catalog_dir", "where refreshed catalogue files are kept", path=True, default="$XDG_DATA_HOME/brimful/catalog"),
    Key("region", "the region whose prices count", form="[a-z0-9-]+", default="us-east-1"),
    Key("inventory", "a TOML or JSON file that lists the machines to look after", path=True),
    Key("history", "what the devices did in the past, as name:address, e.g. trace:gpu.csv"),
    Key(
        "fail_on",
        "exit with 1 when a finding is at least this severe",
        default="never",
        choices=("never", "info", "low", "medium", "high"),
    ),
)
_BY_NAME = {key.name: key for key in KEYS}
_XDG = {"$XDG_STATE_HOME": ".local/state", "$XDG_DATA_HOME": ".local/share", "$XDG_CONFIG_HOME": ".config"}


@dataclass(frozen=True, slots=True)
class Value:
    """A setting's value (None when it is not set) and where it came from."""

    key: Key
    value: str | None
    origin: str


class Config:
    """All settings of one run; made by `load`."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)

    def __iter__(self) -> Iterator[Value]:
        return iter(self._values.values())

    def text(self, name: str) -> str | None:
        """Return a setting as text, or None when it is not set."""
        return self._values[name].value

    def path(self, name: str) -> Path:
        """Return a setting that has a default as a path."""
        return Path(self._values[name].value or "")


def load(
    given: Mapping[str, str | None] | None = None, env: Mapping[str, str] = os.environ, folder: Path | None = None
) -> Config:
    """Collect every setting; the nearest source wins: given (the command line), env, project file, user file."""
    layers = list(_layers(given or {}, env, folder or _here()))
    values = {}
    for key in KEYS:
        found = next(((table[key.name], origin) for table, origin in layers if key.name in table), None)
        value, origin = found or (_default(key, env), "default")
        values[key.name] = Value(key, value, origin)
    return Config(values)


def _layers(
    given: Mapping[str, str | None], env: Mapping[str, str], folder: Path
) -> Iterator[tuple[dict[str, str], str]]:
    line = {name: value for name, value in given.items() if value is not None}
    yield _checked(line, "the command line", _here()), "command line"
    variables = {name for name in env if name.startswith(PREFIX)} - NOT_SETTINGS
    table = {name.removeprefix(PREFIX).lower(): env[name] for name in sorted(variables)}
    yield _checked(table, "the environment", _here(), PREFIX), "environment"
    project = _project_file(folder)
    if project is not None:
        yield _checked(_section(project), readable_path(project), project.parent), readable_path(project)
    user = _xdg("$XDG_CONFIG_HOME", env) / "brimful" / "config.toml"
    if os.path.lexists(user):
        yield _checked(_read(user), readable_path(user), user.parent), readable_path(user)


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise ConfigError(
            "the working directory cannot be found", why=reason(error), fix="go to one that exists: cd"
        ) from error


def _project_file(folder: Path) -> Path | None:
    """Find the nearest brimful.toml, or pyproject.toml with a [tool.brimful], from a folder upwards."""
    for place in (folder, *folder.parents):
        if os.path.lexists(place / "brimful.toml"):  # a folder or a link to nowhere too: reading it says what is wrong
            return place / "brimful.toml"
        project = place / "pyproject.toml"
        if "brimful" in _tools(project):
            return project
    return None


def _section(file: Path) -> dict[str, Any]:
    if file.name != "pyproject.toml":
        return _read(file)
    section = _tools(file)["brimful"]
    if not isinstance(section, dict):
        raise _wrong_type(readable_path(file), "tool.brimful", section, "a table of settings")
    return section


def _tools(project: Path) -> dict[str, Any]:
    """Read another tool's file only as far as we must: if it is broken, we complain only where it is about us."""
    try:
        data = project.read_bytes()
    except OSError:
        return {}
    if b"tool.brimful" in data:
        tools = _read(project).get("tool", {})
    else:
        try:
            tools = tomllib.loads(data.decode("utf-8")).get("tool", {})
        except ValueError:
            return {}
    return tools if isinstance(tools, dict) else {}


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8-sig"))  # editors on Windows write a mark at the beginning
    except (OSError, ValueError) as error:  # not TOML and not UTF-8 are both ValueErrors
        raise ConfigError(
            f"the configuration {readable_path(file)} cannot be read",
            why=reason(error),
            fix="mend the file, or move it away to use the defaults",
        ) from error


def _checked(table: Mapping[str, Any], origin: str, folder: Path, prefix: str = "") -> dict[str, str]:
    """Return the settings as text, paths made absolute against the folder of their file."""
    checked = {}
    for name, value in table.items():
        shown = prefix + name.upper() if prefix else name
        key = _BY_NAME.get(name)
        if key is None:
            raise _unknown_key(origin, shown, prefix)
        if not isinstance(value, str) or not value:
            raise _wrong_type(origin, shown, value, "a path" if key.path else "a text")
        if key.choices and value not in key.choices:
            raise _wrong_type(origin, shown, value, "one of " + ", ".join(key.choices))
        if key.form and not re.fullmatch(key.form, value):
            raise _wrong_type(origin, shown, value, f"a text of the form {key.form}")
        checked[name] = _path(value, origin, shown, folder) if key.path else value
    return checked


def _path(value: str, origin: str, shown: str, folder: Path) -> str:
    """Return a path in full; one that no system can have, or in the home of nobody, is no path."""
    try:
        if "\0" not in value:
            return str(folder / Path(value).expanduser())
    except RuntimeError:  # ~somebody who is not known here
        pass
    raise _wrong_type(origin, shown, value.replace("\0", "\\0"), "a path")


def _unknown_key(origin: str, shown: str, prefix: str) -> ConfigError:
    known = [key.variable if prefix else key.name for key in KEYS]
    near = difflib.get_close_matches(shown, known, n=1)
    return ConfigError(
        f"{shown} is no setting ({origin})",
        why=f"the settings are {', '.join(known)}",
        fix=f"did you mean {near[0]}?" if near else f"remove {shown}",
    )


def _wrong_type(origin: str, shown: str, value: object, expected: str) -> ConfigError:
    told = f"'{unicode_text(value)}'" if isinstance(value, str) else repr(value)
    return ConfigError(
        f"{shown} cannot be {told} ({origin})",
        why=f"expected is {expected}, in quotes" if not isinstance(value, str) else f"expected is {expected}",
        fix=f"set {shown} to {expected}, or remove it",
    )


def _default(key: Key, env: Mapping[str, str]) -> str | None:
    if key.default is None or not key.default.startswith("$"):
        return key.default
    variable, _, rest = key.default.partition("/")
    return str(_xdg(variable, env) / rest)


def _xdg(variable: str, env: Mapping[str, str]) -> Path:
    value = env.get(variable.removeprefix("$"), "")
    return Path(value) if Path(value).is_absolute() else _home(env) / _XDG[variable]


def _home(env: Mapping[str, str]) -> Path:
    """Return the user's home, from the system's list of users where HOME names none: an empty HOME is not the root."""
    if Path(env.get("HOME", "")).is_absolute():
        return Path(env["HOME"])
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError as error:
        raise ConfigError(
            "there is no home folder to keep runs in",
            why="HOME is not set, and this user has no entry in /etc/passwd",
            fix="set HOME to a folder that can be written: HOME=/tmp brimful …",
        ) from error
