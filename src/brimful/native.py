"""The one door to the native module: checksums and reading of many files, in C++ where it is built, else in Python.

Whoever calls these functions need not know which of the two does the work: answers, order, bounds and errors are the
same, and only the speed differs. `state()` tells which it is, and `notice()` the one line for a person whose
installation is the slow one. `BRIMFUL_NATIVE_ISA` forces a way to compute checksums (`sse42`, `armv8`, `portable`);
`BRIMFUL_NATIVE_ISA=python` leaves the native module aside altogether. It is read at the first use.

Importing this module loads nothing heavy; the native module is loaded at the first use.
"""

from __future__ import annotations

import errno
import functools
import os
import stat
import struct
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, NamedTuple

from brimful.model.errors import ConfigError, DataError
from brimful.model.installed import again
from brimful.model.text import readable_path

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, StrOrBytesPath

ISA_VARIABLE = "BRIMFUL_NATIVE_ISA"
MAX_BYTES_AHEAD = 64 * 1024**2

_FIXES = {
    errno.ENOENT: "check the path, or leave the file out",
    errno.EACCES: "give this user the right to read it (chmod u+r), or leave it out",
    errno.EISDIR: "name the files in it instead",
    errno.EOPNOTSUPP: "only regular files can be read: leave it out",
    errno.EMFILE: "allow more open files (ulimit -n), or read with fewer threads",
    errno.ENOMEM: "read it on a machine with more memory, or leave it out",
}


class State(NamedTuple):
    """Whether the native module does the work, and why (not)."""

    available: bool
    reason: str


class FileRead(NamedTuple):
    """One file of a list as it was read: either `data` (and its checksum, when asked for), or the failure's `errno`.

    `number` is its place in the list, from 0. `changed` says that the file grew or shrank while it was read; `data`
    never exceeds its size when it was opened.
    """

    number: int
    path: bytes
    data: bytes | None
    crc32c: int | None
    errno: int | None
    changed: bool

    def unwrap(self) -> bytes:
        """Return the content, or raise DataError (caused by the OSError with its errno and path)."""
        if self.data is not None:
            return self.data
        code = self.errno or 0
        cause = OSError(code, os.strerror(code), os.fsdecode(self.path))
        raise DataError(
            f"{readable_path(self.path)} cannot be read",
            why=f"{os.strerror(code)} ({errno.errorcode.get(code, code)})",
            fix=_FIXES.get(code, "repair the file or its disk, or leave it out"),
        ) from cause


def state() -> State:
    """Return whether the native module does the work, and why (not); it never raises."""
    try:
        return _ways().state
    except ConfigError as error:
        return State(available=False, reason=f"{error.what}: {error.why}")


def notice() -> str | None:
    """Return the one line to show, once, before work that is slow for want of the native module; else None."""
    if os.environ.get(ISA_VARIABLE) or state().available:
        return None  # whoever forces a way knows what they asked for
    return f"brimful: {state().reason}; pure Python is used, slower: apt-get install g++ && {again()}"


def crc32c(data: ReadableBuffer, value: int = 0) -> int:
    """Return the CRC-32C of bytes, continued from `value`, the checksum of what came before them."""
    return _ways().crc32c(data, value & 0xFFFFFFFF)


def crc32c_path() -> str:
    """Return the way in which checksums are computed: sse42, armv8, portable or python."""
    return _ways().path


def crc32c_paths() -> tuple[str, ...]:
    """Return every way in which this installation can compute checksums on this CPU, the fastest first."""
    try:
        from brimful._native import crc32c_paths as native_paths  # noqa: PLC0415 - see _native_ways
    except ImportError:
        return ("python",)
    return (*native_paths(), "python")


def default_threads() -> int:
    """Return how many threads read_files uses unless told: the CPUs this process may use, within 4 and 16."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(16, max(4, cpus))


def read_files(
    paths: Iterable[StrOrBytesPath],
    *,
    threads: int | None = None,
    max_bytes_ahead: int = MAX_BYTES_AHEAD,
    checksum: bool = True,
) -> Generator[FileRead, None, None]:
    """Yield every file of a list in its order, read ahead by several threads within a bound on memory.

    A file that cannot be read is yielded like the others, with its errno. At most `max_bytes_ahead` bytes and one file
    more are held. Threads start at the first `next()` and are gone when the iterator is exhausted, closed or dropped.
    An iterator that has started cannot be continued in a child of fork(): it raises RuntimeError there.
    """
    count = default_threads() if threads is None else threads
    if not 1 <= count <= 1024:
        raise ValueError(f"threads is {count}: it must lie between 1 and 1024")
    if max_bytes_ahead < 1:
        raise ValueError(f"max_bytes_ahead is {max_bytes_ahead}: it must be at least 1")
    if isinstance(paths, (str, bytes)):
        raise TypeError("paths is one path: it must be a list of paths")
    encoded = [path if type(path) is bytes else os.fsencode(path) for path in paths]
    return _ways().reads(_Request(encoded, count, max_bytes_ahead, checksum))


# --- which of the two ------------------------------------------------------------------------------------------------


class _Request(NamedTuple):
    """What read_files was asked for."""

    paths: list[bytes]
    threads: int
    max_bytes_ahead: int
    checksum: bool


class _Ways(NamedTuple):
    """Who does the work."""

    crc32c: Callable[[ReadableBuffer, int], int]
    path: str
    reads: Callable[[_Request], Generator[FileRead, None, None]]
    state: State


@functools.cache
def _ways() -> _Ways:
    forced = os.environ.get(ISA_VARIABLE, "")
    if forced == "python":
        return _pure_ways(f"the native module is left aside by {ISA_VARIABLE}=python")
    try:
        return _native_ways(forced)
    except ModuleNotFoundError:
        reason = "the native module is not built (installed without a C++ compiler, or with BRIMFUL_PURE=1)"
    except ImportError as error:
        reason = f"the native module does not load ({error})"
    if forced:
        raise ConfigError(
            f"{ISA_VARIABLE}={forced} cannot be kept", why=reason, fix=f"unset {ISA_VARIABLE}, or rebuild: {again()}"
        )
    return _pure_ways(reason)


def _native_ways(forced: str) -> _Ways:
    # Not at the top: importing this file must stay cheap, and must work where the module is not built.
    from brimful._native import crc32c, crc32c_paths, use_crc32c_path  # noqa: PLC0415

    known = crc32c_paths()
    if forced and forced not in known:
        raise ConfigError(
            f"{ISA_VARIABLE}={forced} cannot be kept",
            why=f"the ways to compute checksums on this CPU are {', '.join((*known, 'python'))}",
            fix=f"unset {ISA_VARIABLE}, or set it to one of them",
        )
    path = forced or known[0]
    use_crc32c_path(path)
    return _Ways(crc32c, path, _native_reads, State(available=True, reason=f"checksums by {path}"))


def _pure_ways(reason: str) -> _Ways:
    return _Ways(_pure_crc32c, "python", _pure_reads, State(available=False, reason=reason))


def _native_reads(request: _Request) -> Generator[FileRead, None, None]:
    from brimful._native import FileReader  # noqa: PLC0415 - see _native_ways

    reader = FileReader(*request, FileRead)
    try:
        while batch := reader.next_batch():
            yield from batch
    finally:
        reader.close()


# --- in Python -------------------------------------------------------------------------------------------------------

_POLYNOMIAL = 0x82F63B78  # reversed: bit 31 stands for x^0
_PIECE = 64 * 1024
_LARGEST_READ = 64 * 1024**2  # an iterator that is dropped waits for no more than this


@functools.cache
def _tables() -> tuple[list[int], list[int], list[int]]:
    """Return the checksums of a byte, of two bytes, and of two bytes that two zero bytes follow.

    Tables of two bytes halve the steps; they take 5 ms to make and 6 MB to keep, once.
    """
    one = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (_POLYNOMIAL if crc & 1 else 0)
        one.append(crc)
    after = [one]  # after[n]: the checksum of a byte that n zero bytes follow
    for _ in range(3):
        after.append([one[crc & 0xFF] ^ (crc >> 8) for crc in after[-1]])
    two = [high ^ low for high in after[0] for low in after[1]]
    two_and_zeros = [high ^ low for high in after[2] for low in after[3]]
    return one, two, two_and_zeros


def _pure_crc32c(data: ReadableBuffer, value: int) -> int:
    view = memoryview(data)
    if not view.c_contiguous:
        raise BufferError("the bytes are not contiguous")
    if view.format != "B" or view.ndim != 1:
        view = memoryview(view.tobytes())
    one, two, two_and_zeros = _tables()
    crc = value ^ 0xFFFFFFFF
    words = len(view) // 4
    for start in range(0, words, _PIECE):
        for word in struct.unpack_from(f"<{min(_PIECE, words - start)}I", view, 4 * start):
            crc ^= word
            crc = two_and_zeros[crc & 0xFFFF] ^ two[crc >> 16]
    for byte in view[4 * words :]:
        crc = one[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _pure_reads(request: _Request) -> Generator[FileRead, None, None]:
    reader = _PureReader(request)
    try:
        for number in range(len(request.paths)):
            yield reader.take(number)
    finally:
        reader.close()


class _PureReader:
    """The native FileReader's pattern with Python's threads: claim a number, read that file, wait when too far ahead.

    The file at the head never waits for room, so the order cannot lock anything up.
    """

    def __init__(self, request: _Request) -> None:
        self._request = request
        self._owner = os.getpid()
        self._turn = threading.Condition()  # guards everything below
        self._next = 0
        self._head = 0
        self._held_bytes = 0
        self._taken_bytes = 0
        self._stopped = False
        self._done: dict[int, tuple[FileRead, int]] = {}  # with the bytes that each counts for
        # Daemons: an iterator that is still alive when the interpreter ends must not keep it from ending.
        count = min(request.threads, len(request.paths))
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def take(self, number: int) -> FileRead:
        if os.getpid() != self._owner:
            raise RuntimeError("files cannot be read on in a child of fork(): the reading threads are not there")
        with self._turn:
            self._held_bytes -= self._taken_bytes
            self._head = number
            self._turn.notify_all()
            self._turn.wait_for(lambda: number in self._done)
            read, self._taken_bytes = self._done.pop(number)
            return read

    def close(self) -> None:
        if os.getpid() != self._owner or sys.is_finalizing():
            return  # the threads are not there, or frozen, perhaps with the lock in their hands
        with self._turn:
            self._stopped = True
            self._turn.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (number := self._claim()) is not None:
            read, reserved = self._read(number)
            with self._turn:
                self._done[number] = read, reserved
                self._turn.notify_all()

    def _claim(self) -> int | None:
        with self._turn:
            self._turn.wait_for(lambda: self._stopped or self._next < self._head + 8 * len(self._threads))
            if self._stopped or self._next == len(self._request.paths):
                return None
            self._next += 1
            return self._next - 1

    def _reserve(self, number: int, size: int) -> bool:
        """Wait until there is room for a file; False when the reader was closed meanwhile."""
        most = self._request.max_bytes_ahead
        with self._turn:
            self._turn.wait_for(
                lambda: self._stopped or self._held_bytes + size <= most or number == self._head,
            )
            self._held_bytes += size
            return not self._stopped

    def _read(self, number: int) -> tuple[FileRead, int]:
        """Return a file, and for how many bytes it counts until it is done with."""
        path = self._request.paths[number]
        reserved = 0
        try:
            descriptor, size = _open_regular(path)
            try:
                open_still = self._reserve(number, size)
                reserved = size
                data, changed = _read_whole(descriptor, size) if open_still else (b"", True)
            finally:
                os.close(descriptor)
        except OSError as error:
            return FileRead(number, path, None, None, error.errno or errno.EIO, changed=False), reserved
        except MemoryError:
            return FileRead(number, path, None, None, errno.ENOMEM, changed=False), reserved
        crc = _pure_crc32c(data, 0) if self._request.checksum else None
        return FileRead(number, path, data, crc, None, changed), reserved


def _open_regular(path: bytes) -> tuple[int, int]:
    """Open a regular file and return its descriptor and size; anything else raises OSError."""
    if 0 in path:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY
    try:
        # O_NONBLOCK: a FIFO in the list must not stop everything until somebody writes to it.
        descriptor = os.open(path, flags | os.O_NONBLOCK)
    except BlockingIOError:
        # Somebody has a lease on the file, a file server mostly, and is asked to give it up: that is worth waiting for.
        descriptor = os.open(path, flags)
    about = os.fstat(descriptor)
    if stat.S_ISREG(about.st_mode):
        return descriptor, about.st_size
    os.close(descriptor)
    code = errno.EISDIR if stat.S_ISDIR(about.st_mode) else errno.EOPNOTSUPP
    raise OSError(code, os.strerror(code))


def _read_whole(descriptor: int, size: int) -> tuple[bytes, bool]:
    """Return up to `size` bytes, and whether the file turned out shorter or longer."""
    parts = []
    have = 0
    while have <= size:
        # One byte more than there should be tells whether the file grew.
        asked = min(size + 1 - have, _LARGEST_READ)
        part = os.read(descriptor, asked)
        parts.append(part)
        have += len(part)
        if not part or (have == size and len(part) < asked):
            break
    data = parts[0] if len(parts) == 1 else b"".join(parts)
    return data[:size], have != size
