"""Runs any program as a workload: what no engine knows can still be measured from outside.

One call is one run of the program to its end, so it includes the program's start. What the program prints is kept in
part, for error messages; it is never interpreted here.
"""

from __future__ import annotations

import difflib
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from brimful.model.errors import BrimfulError, DataError, Unavailable, UsageError
from brimful.model.hardware import Device, DeviceKind
from brimful.model.text import printable
from brimful.model.units import parse_seconds
from brimful.model.work import Mode, Setting, Workload
from brimful.seams import Support

_OPTIONS = ("cwd", "env", "timeout_s")
_PLACES = ("batch", "threads", "streams", "cores", "precision")  # `{batch}` in the command line becomes the setting's
_KEPT_BYTES = 64 * 1024
_SHOWN_LINES = 12
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # getrusage(2): kibibytes on Linux, bytes on macOS


class CommandEngine:
    """Runs programs: the workload's model is a command line, which is split as a shell would and run without one.

    A program decides itself which device it uses, so only CPUs are supported unless the engine is told what the
    program uses: `command:gpu`, `command:cpu,gpu`, or `command:any`. A setting may have the options `cwd`, `timeout_s`
    and `env` (`"A=1 B='x y'"`). `{batch}`, `{threads}`, `{streams}`, `{cores}` and `{precision}` in the command line
    become those of the setting; a setting that the command line has no place for is an error, never left out silently.
    """

    def __init__(self, where: str) -> None:
        names = [name.strip() for name in where.lower().split(",") if name.strip()] or [DeviceKind.CPU]
        strange = [name for name in names if name != "any" and name not in set(DeviceKind)]
        if strange:
            raise UsageError(
                f"the command engine knows no kind of device {strange[0]!r}",
                why=f"the kinds are {', '.join(DeviceKind)} and any",
                fix="name what the program uses, e.g. --engine command:gpu",
            )
        self._kinds = frozenset(DeviceKind) if "any" in names else frozenset(DeviceKind(name) for name in names)

    @classmethod
    def check(cls) -> None:
        """Do nothing: programs can be run everywhere."""

    def supports(self, workload: Workload, device: Device) -> Support:
        """Say whether the program can be started, and whether it is known to use such a device."""
        if workload.mode is not Mode.COMMAND:
            return Support(yes=False, reason=f"the workload's mode is {workload.mode}, and this engine runs commands")
        if device.device_kind not in self._kinds:
            kind = device.device_kind or "device"
            return Support(
                yes=False,
                reason=f"programs choose their device: say command:{kind} if this one uses a {kind}",
            )
        try:
            program = _program(_split(workload.model), None)
        except BrimfulError as error:
            return Support(yes=False, reason=f"{error.what}: {error.why}")
        return Support(yes=True, reason=f"{printable(program)} can be run")

    def load(self, workload: Workload, setting: Setting) -> CommandRunner:
        """Check the command line and the options; nothing is started yet."""
        if workload.mode is not Mode.COMMAND:
            raise UsageError(
                f"the workload {workload.model!r} is no command",
                why=f"its mode is {workload.mode}",
                fix="use an engine for models, or give the workload the mode command",
            )
        _check_options(setting.options)
        words = _fill(_split(workload.model), setting)
        cwd = setting.options.get("cwd")
        return CommandRunner(
            [_program(words, cwd), *words[1:]], cwd=cwd, env=_environment(setting), timeout_s=_timeout(setting)
        )


class CommandRunner:
    """Runs one command line, once per call; `cpu_s`, `peak_memory_bytes` and `output` are those of the last call."""

    def __init__(self, words: list[str], *, cwd: str | None, env: dict[str, str], timeout_s: float | None) -> None:
        self._words, self._cwd, self._env, self._timeout_s = words, cwd, env, timeout_s
        self._lock = threading.Lock()  # held while the child is reaped, so that nobody signals a pid that is free again
        self._child: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._late = False
        self.cpu_s: float | None = None
        self.peak_memory_bytes: int | None = None
        self.output = b""

    def run(self) -> None:
        """Run the program to its end; whatever it leaves running in its process group is ended too."""
        self._late = False
        self.cpu_s = self.peak_memory_bytes = None
        child = self._start()
        tail = bytearray()
        reader = threading.Thread(target=_drain, args=(child.stdout, tail), daemon=True)
        reader.start()
        timer = None if self._timeout_s is None else threading.Timer(self._timeout_s, self._give_up)
        try:
            if timer is not None:
                timer.start()
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        finally:
            if timer is not None:
                timer.cancel()
            status = self._reap(child)
        reader.join(timeout=1.0)  # what left the group may still hold the pipe; its output is nobody's loss
        self.output = bytes(tail)
        if status != 0:
            raise self._failure(status)

    def close(self) -> None:
        """End the program and its process group if they still run."""
        with self._lock:
            self._closed = True
            self._end_group()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise UsageError("the command was closed", why="close() was called before run()", fix="load it again")
            try:
                self._child = subprocess.Popen(  # noqa: S603 - running what the user names is this engine's purpose
                    self._words,
                    cwd=self._cwd,
                    env=self._env,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # a process group of its own, to be ended as a whole
                )
            except (OSError, ValueError) as error:
                raise Unavailable(
                    f"the program {printable(self._words[0])} cannot be started",
                    why=str(error),
                    fix="check the program, its permissions and the working directory",
                ) from error
            return self._child

    def _give_up(self) -> None:
        with self._lock:
            self._late = True
            self._end_group()

    def _end_group(self) -> None:
        """Kill the child's group; the child is not reaped yet, so its number cannot be anybody else's."""
        if self._child is not None:
            try:
                os.killpg(self._child.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):  # it has ended, and macOS says so by refusing
                return

    def _reap(self, child: subprocess.Popen[bytes]) -> int:
        with self._lock:
            self._end_group()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            self._child = None
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.peak_memory_bytes = usage.ru_maxrss * _MAXRSS_UNIT
        return child.returncode

    def _failure(self, status: int) -> BrimfulError:
        said = _last_lines(self.output)
        shown = printable(shlex.join(self._words))
        if self._late:
            return DataError(
                f"the command did not end within {self._timeout_s:g} s: {shown}",
                why=said or "it printed nothing",
                fix="give it longer with the option timeout_s, or less to do",
            )
        if status < 0:
            name = _signal_name(-status)
            hint = "; the machine may have been out of memory" if name == "SIGKILL" else ""
            return DataError(
                f"the command was ended by {name}: {shown}",
                why=(said or "it printed nothing") + hint,
                fix="run it by itself and see what ends it",
            )
        return DataError(
            f"the command failed with exit status {status}: {shown}",
            why=said or "it printed nothing",
            fix="run it by itself until it succeeds, then measure it",
        )


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise _wrong_command(command, f"it cannot be split into words: {error}") from error
    if not words:
        raise _wrong_command(command, "it is empty")
    if "\0" in command:
        raise _wrong_command(command, "it holds a NUL character")
    return words


def _wrong_command(command: str, why: str) -> UsageError:
    return UsageError(
        f"the command line {printable(command)!r} cannot be run",
        why=why,
        fix="quote it as for a shell, e.g. 'prog \"a b\"'",
    )


def _program(words: list[str], cwd: str | None) -> str:
    """Return the path of the program; raises Unavailable when it is not there or cannot be executed."""
    name = words[0]
    if "/" in name:
        path: str | None = str(Path(cwd or ".") / name)
        found = path if path and Path(path).is_file() and os.access(path, os.X_OK) else None
        why = "there is no such file" if not Path(path or "").exists() else "the file is no program, or not executable"
    else:
        found, why = shutil.which(name), "no such program is in any folder of PATH"
    if found is None:
        raise Unavailable(
            f"the program {printable(name)} cannot be run",
            why=why,
            fix="install it, give its full path, or make it executable (chmod +x)",
        )
    return str(Path(found).absolute())


def _fill(words: list[str], setting: Setting) -> list[str]:
    """Put the setting's values where the command line has places for them."""
    used = {name for word in words for name in re.findall(r"\{(\w+)\}", word) if name in _PLACES}
    values = {name: getattr(setting, name) for name in _PLACES}
    for name, value in values.items():
        asked = value is not None and (name != "batch" or value != 1)
        if asked and name not in used:
            raise UsageError(
                f"the command line has no place for {name} {value}",
                why="a setting that does not reach the program would be measured as if it had",
                fix=f"write {{{name}}} where the program takes it, or leave the setting out",
            )
        if name in used and value is None:
            raise UsageError(
                f"the command line wants {{{name}}}, and the setting has none",
                why=setting.missing.get(name, "it is not set"),
                fix=f"set {name}, or write the value itself into the command line",
            )
    for name in used:
        words = [word.replace(f"{{{name}}}", str(values[name])) for word in words]
    return words


def _check_options(options: Mapping[str, str]) -> None:
    for name in options:
        if name not in _OPTIONS:
            near = difflib.get_close_matches(name, _OPTIONS, n=1)
            raise UsageError(
                f"the command engine has no option {name!r}",
                why=f"its options are {', '.join(_OPTIONS)}",
                fix=f"did you mean {near[0]}?" if near else "leave it out",
            )


def _timeout(setting: Setting) -> float | None:
    text = setting.options.get("timeout_s")
    if text is None:
        return None
    try:
        seconds = parse_seconds(text)
    except ValueError as error:
        raise UsageError(f"timeout_s is {text!r}", why=str(error), fix="give seconds, e.g. timeout_s=600") from error
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise UsageError(f"timeout_s is {text!r}", why="it must lie above 0", fix="give seconds, e.g. timeout_s=600")
    return seconds


def _environment(setting: Setting) -> dict[str, str]:
    env = dict(os.environ)
    for word in _split(setting.options["env"]) if setting.options.get("env") else []:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(
                f"env holds {word!r}", why="it is no NAME=VALUE", fix="write env=\"A=1 B='x y'\" (words as in a shell)"
            )
        env[name] = value
    return env


def _drain(pipe: IO[bytes] | None, tail: bytearray) -> None:
    """Read to the end, so that the program never waits for us, and keep the last part."""
    if pipe is None:
        return
    with pipe:
        while chunk := pipe.read1(_KEPT_BYTES) if isinstance(pipe, io.BufferedReader) else pipe.read(_KEPT_BYTES):
            tail += chunk
            del tail[:-_KEPT_BYTES]


def _last_lines(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return printable(" | ".join(line.strip() for line in lines[-_SHOWN_LINES:]))[-2000:]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
