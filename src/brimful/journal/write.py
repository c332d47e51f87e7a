"""Write a journal: append only, one writer, and a record is in the file when `append` returns.

What `append` reported as written survives the death of the program at any moment. Records of the kinds in DURABLE, and
all that came before them, survive a power cut as well: they are synced to the disk.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import socket
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn, Self

import msgspec

from brimful.journal.read import FILE_NAME, read
from brimful.journal.schema import DURABLE, KIND_OF, VERSION
from brimful.model.errors import StorageError
from brimful.model.evidence import Run
from brimful.model.noun import Noun, plain
from brimful.model.text import readable_path, unicode_text


def new_run(version: str, command: tuple[str, ...] = (), note: str = "") -> Run:
    """Return a run that starts now, with an id that sorts by time and is not given twice."""
    now = datetime.now(UTC)
    return Run(
        run=f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}",
        v=VERSION,
        version=version,
        host=readable_path(socket.gethostname()),
        started_at=now.isoformat(timespec="milliseconds"),
        command=tuple(map(unicode_text, command)),
        note=note,
    )


class Writer:
    """The one writer of a run's journal; threads may share it, processes may not."""

    def __init__(self, directory: Path, fd: int, run: Run, *, last: int, size: int) -> None:
        """Take over an open, locked file; use `create` or `resume`."""
        self.directory = directory
        self.run = run
        self._fd = fd
        self._last = last
        self._size = size
        self._pid = os.getpid()
        self._lock = threading.Lock()

    @classmethod
    def create(cls, root: Path, run: Run) -> Self:
        """Start a run's directory and journal under a run directory."""
        directory = root / run.run
        try:
            directory.mkdir(parents=True)
        except OSError as error:
            _refuse(directory, error)
        try:
            fd = _open_locked(directory, os.O_CREAT | os.O_EXCL)
        except OSError as error:
            _take_away(directory)  # no space for the file's name
            _refuse(directory, error)
        writer = cls(directory, fd, run, last=0, size=0)
        try:
            writer.append(run)
            for folder in (directory, root):
                _sync_folder(folder)
        except BaseException as error:
            writer.close()
            _take_away(directory)  # a run that never began must not stand in the list of runs
            if isinstance(error, OSError):
                _refuse(directory, error)
            raise
        return writer

    @classmethod
    def resume(cls, directory: Path) -> Self:
        """Go on with a journal; a torn last line is first kept beside it in `journal.torn`, then cut off."""
        try:
            fd = _open_locked(directory, 0)
        except OSError as error:
            _refuse(directory, error)
        try:
            journal = read(directory)
            size = os.fstat(fd).st_size
            if size > journal.sound_bytes:
                _set_aside(directory / FILE_NAME, journal.sound_bytes)
                os.ftruncate(fd, journal.sound_bytes)
            last = max(int(record.id.rpartition("/")[2]) for record in journal.records)
            writer = cls(directory, fd, journal.run, last=last, size=journal.sound_bytes)
            writer._end_line()
        except OSError as error:
            os.close(fd)
            _refuse(directory, error)
        except BaseException:
            os.close(fd)
            raise
        return writer

    def append(self, noun: Noun, *, durable: bool = False) -> str:
        """Write a record and return its id; when this returns, the record is in the file."""
        kind = KIND_OF[type(noun)]
        with self._lock:
            if self._fd < 0 or os.getpid() != self._pid:
                raise StorageError(
                    f"the journal {readable_path(self.directory)} is not open in this process",
                    why="it was closed, or this is a fork of the process that opened it",
                    fix="start a run of its own in each process",
                )
            # The number goes up before the write: an interrupt between the two must not give one id to two records.
            self._last += 1
            identity = f"{self.run.run}/{self._last}"
            at = datetime.now(UTC).isoformat(timespec="milliseconds")
            line = msgspec.json.encode({"kind": kind, "id": identity, "at": at, **plain(noun)}) + b"\n"
            self._write(line, sync=durable or kind in DURABLE)
        return identity

    def close(self) -> None:
        """Give the journal back; a second call does nothing."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, line: bytes, *, sync: bool) -> None:
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            if sync:
                os.fsync(self._fd)
        except OSError as error:
            with contextlib.suppress(OSError):  # a part of a line must not stay; if it does, reading passes over it
                os.ftruncate(self._fd, self._size)
            _refuse(self.directory, error)
        self._size += len(line)

    def _end_line(self) -> None:
        """Close a last line that is whole but for its line feed, so that the next record starts its own."""
        with (self.directory / FILE_NAME).open("rb") as file:
            file.seek(max(self._size - 1, 0))
            if file.read(1) not in (b"\n", b""):
                self._write(b"\n", sync=False)


def _take_away(directory: Path) -> None:
    with contextlib.suppress(OSError):
        (directory / FILE_NAME).unlink(missing_ok=True)
        directory.rmdir()


def _open_locked(directory: Path, flags: int) -> int:
    path = directory / FILE_NAME
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | flags, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = _holder(fd)
        os.close(fd)
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise
        raise StorageError(
            f"the journal {readable_path(path)} is being written by {holder}",
            why="a journal has one writer at a time, so that no record is torn",
            fix="wait until the other one ends, or start a new run",
        ) from error
    return fd


def _holder(fd: int) -> str:
    """Name the process that holds the lock, as far as the kernel tells."""
    inode = str(os.fstat(fd).st_ino)
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if len(words) > 5 and words[1] == "FLOCK" and words[5].rpartition(":")[2] == inode:
                return f"process {words[4]}"
    return "another process"


def _set_aside(path: Path, start: int) -> None:
    """Keep the bytes of a torn line: nothing is thrown away."""
    with path.open("rb") as file, path.with_suffix(".torn").open("ab") as kept:
        file.seek(start)
        kept.write(file.read() + b"\n")
        kept.flush()
        os.fsync(kept.fileno())


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems cannot sync a folder; the record itself is synced
            raise
    finally:
        os.close(fd)


_FIXES = {
    errno.ENOSPC: "free some space (df -h), or put the runs elsewhere with --run-dir",
    errno.EDQUOT: "free some of your quota, or put the runs elsewhere with --run-dir",
    errno.EROFS: "the file system is read-only: put the runs elsewhere with --run-dir",
    errno.EACCES: "make the folder writable, or put the runs elsewhere with --run-dir",
    errno.EPERM: "make the folder writable, or put the runs elsewhere with --run-dir",
    errno.EEXIST: "a run of this id is there already: start again",
    errno.ENOENT: "check the path of the run",
}


def _refuse(directory: Path, error: OSError) -> NoReturn:
    raise StorageError(
        f"the journal in {readable_path(directory)} cannot be written",
        why=f"{error.strerror or error}; what was reported as written before is safe",
        fix=_FIXES.get(error.errno or 0, "check the disk, or put the runs elsewhere with --run-dir"),
    ) from error
