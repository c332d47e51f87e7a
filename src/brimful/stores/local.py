"""Objects in a folder. A key is a path below it with `/` between its parts, whatever is in a name otherwise.

Names that are no UTF-8 keep all their bytes: each such byte is the surrogate escape of PEP 383 in the key (what
`os.fsdecode` gives), so `read` finds the file that `list` named. A key of this kind cannot go into a record or onto a
terminal as it is; `readable_path` shows it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator

from brimful.model.errors import StorageError, UsageError
from brimful.model.text import readable_path

_TEMPORARY = ".brimful-tmp-"  # names that begin so are writes under way, or were when their machine died: no objects
_FIXES = {
    errno.ENOSPC: "free space, or choose another place; what stood there before is untouched",
    errno.EDQUOT: "free space under your quota; what stood there before is untouched",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f); what stood there before is untouched",
    errno.EROFS: "choose a place that can be written",
    errno.EACCES: "check the permissions",
    errno.EPERM: "check the permissions",
    errno.ENOENT: "check the key (list shows what there is)",
    errno.ENOTDIR: "choose another key: a part of this one is an object, not a folder",
    errno.EEXIST: "choose another key: a part of this one is an object, not a folder",
    errno.EISDIR: "choose another key: this one is a folder",
    errno.ENAMETOOLONG: "choose a shorter key",
}


class LocalStore:
    """Objects in a folder: `local:FOLDER`, the working directory when none is named.

    A link to a file inside the folder is an object; a link that leaves the folder is an error wherever it is met, and
    a link to a folder is not followed when listing, since what it shows is listed where it is.
    """

    def __init__(self, where: str) -> None:
        self._root = os.path.realpath(where or ".")

    @classmethod
    def check(cls) -> None:
        """Do nothing: there is always a file system."""

    def list(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield (key, size) of every object whose key starts with the prefix, in the order Python gives keys."""
        _check_text(prefix)
        folders = [self._entries("", prefix)]
        while folders:  # a stack, for folders may lie deeper than Python recurses
            key, entry = next(folders[-1], ("", None))
            if entry is None:
                folders.pop()
            elif key.endswith("/"):
                folders.append(self._entries(key, prefix))
            elif (size := self._size(key, entry)) is not None:
                yield key, size

    def read(self, key: str, start: int = 0, end: int | None = None) -> bytes:
        """Return exactly the bytes asked for; a range that the object does not have is an error."""
        path = self._path(key)
        if start < 0 or (end is not None and end < start):
            raise UsageError(
                f"the bytes {start} to {end} cannot be read",
                why="a range starts at 0 or later, and does not end before it starts",
                fix="give a start and an end with 0 <= start <= end",
            )
        with self._failing("read", key):
            # Without O_NONBLOCK, opening a named pipe would wait for ever.
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                return self._read(file, key, start, end)
            finally:
                os.close(file)

    def put(self, key: str, data: bytes | Iterable[bytes]) -> None:
        """Write beside the object, then take its place: at every moment the old or the new one is there, whole."""
        path = self._path(key)
        folder, _, name = path.rpartition("/")
        if name.startswith(_TEMPORARY):
            raise _bad_key(key, f"names that begin with {_TEMPORARY} are kept for writes under way")
        temporary = f"{folder}/{_TEMPORARY}{secrets.token_hex(8)}"
        with self._failing("written", key):
            self._inside(folder, key)
            _make_folders(folder)
            file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            self._fill(file, key, data)
            with self._failing("written", key):
                os.replace(temporary, path)  # noqa: PTH105 - os keeps names that are no UTF-8 exact
                _sync_folder(folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108 - as above
            raise

    def _fill(self, file: int, key: str, data: bytes | Iterable[bytes]) -> None:
        """Write all to the disk itself and close the file; what the data's own iterator raises stays as it is."""
        chunks = iter([data] if isinstance(data, bytes | bytearray | memoryview) else data)
        try:
            for chunk in chunks:
                rest = memoryview(chunk).cast("B")
                with self._failing("written", key):
                    while rest:
                        rest = rest[os.write(file, rest) :]
            with self._failing("written", key):
                os.fsync(file)
        finally:
            with self._failing("written", key):
                os.close(file)

    def _entries(self, folder: str, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Yield (key, entry) of a folder in order of key; a folder sorts with its /, or `a.txt` would follow `a/b`."""
        with self._failing("listed", folder):
            try:
                with os.scandir(f"{self._root}/{folder}") as entries:
                    found = sorted((item.name + "/" * item.is_dir(follow_symlinks=False), item) for item in entries)
            except FileNotFoundError:
                if not folder:
                    raise
                return  # deleted since the folder above it was listed
        for name, entry in found:
            key = folder + name
            if key.startswith(prefix) or (name.endswith("/") and prefix.startswith(key)):
                yield key, entry

    def _size(self, key: str, entry: os.DirEntry[str]) -> int | None:
        """Return an object's size; None for what is no object (a pipe, a dangling link, a write under way)."""
        if entry.name.startswith(_TEMPORARY):
            return None
        with self._failing("listed", key):
            try:
                if entry.is_symlink():
                    self._inside(entry.path, key)
                status = entry.stat()
            except FileNotFoundError:
                return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def _read(self, file: int, key: str, start: int, end: int | None) -> bytes:
        opened = f"/proc/self/fd/{file}"  # says where the open file is, whatever a link in its path does meanwhile
        self._inside(opened if os.path.lexists(opened) else self._path(key), key)
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise StorageError(
                f"the key {readable_path(key)} names no object",
                why="it is a folder, a pipe or a device",
                fix="name a file (list shows them)",
            )
        last = status.st_size if end is None else end
        if max(start, last) > status.st_size:
            raise StorageError(
                f"the bytes {start} to {last} of {readable_path(key)} cannot be read",
                why=f"the object has {status.st_size} bytes",
                fix="list the object again: it may have changed since its size was read",
            )
        parts, at = [], start
        while at < last:
            part = os.pread(file, min(last - at, 2**30), at)
            if not part:
                raise OSError(errno.EIO, "the object shrank while it was read")
            parts.append(part)
            at += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _path(self, key: str) -> str:
        """Return a key's path; the key itself can never lead out of the folder, links are looked at when opened."""
        _check_text(key)
        parts = key.split("/")
        if "\0" in key or any(part in ("", ".", "..") for part in parts):
            raise _bad_key(key, "a key is a path below the store: no empty part, no . or .., no / at its ends")
        return f"{self._root}/{key}"

    def _inside(self, path: str, key: str) -> None:
        real = os.path.realpath(path)
        if real != self._root and not real.startswith(self._root.rstrip("/") + "/"):
            raise StorageError(
                f"the key {readable_path(key)} leaves the store",
                why=f"it leads to {readable_path(real)}, which is not below {readable_path(self._root)}",
                fix="copy what the link shows into the store, or open the store at a folder that holds both",
            )

    @contextlib.contextmanager
    def _failing(self, done: str, key: str) -> Iterator[None]:
        """Turn what the system says into an error for people."""
        try:
            yield
        except OSError as error:
            what = f"the object {readable_path(key)}" if key else f"the store {readable_path(self._root)}"
            fix = _FIXES.get(error.errno or 0, "check the disk (dmesg may say more)")
            raise StorageError(
                f"{what} cannot be {done}",
                why=error.strerror or str(error) or type(error).__name__,
                fix=fix if key else "name a folder that exists and can be read",
            ) from error


def _make_folders(folder: str) -> None:
    """Make a folder and those above it; os.makedirs would recurse, and folders may lie deeper than Python does."""
    missing = []
    while not os.path.isdir(folder):  # noqa: PTH112 - as above
        missing.append(folder)
        folder = folder.rpartition("/")[0] or "/"
    for item in reversed(missing):
        try:
            os.mkdir(item)  # noqa: PTH102 - as above
        except FileExistsError:
            if not os.path.isdir(item):  # noqa: PTH112 - as above
                raise


def _sync_folder(folder: str) -> None:
    """Make the new name last through a power cut; some file systems cannot, and the object is there all the same."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            os.fsync(file)
    finally:
        os.close(file)


def _check_text(key: str) -> None:
    try:
        os.fsencode(key)
    except UnicodeEncodeError as error:
        raise _bad_key(
            key.encode("utf-8", "backslashreplace").decode(), "it is neither Unicode nor a file's name"
        ) from error


def _bad_key(key: str, why: str) -> UsageError:
    return UsageError(f"{readable_path(key)!r} cannot be a key", why=why, fix="write it like train/0001.jpg")
