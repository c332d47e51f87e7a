"""The promises of a reader."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from brimful.model.errors import BrimfulError
from brimful.model.work import Profile
from brimful.seams import Reader
from brimful.testing.promises import NOBODY, checks, promise, refuses

_MOST_BYTES = 1_000_000  # of a model, to be damaged: what a reader trusts stands at its beginning
_FLIPPED = 64
_CUTS = 8


def check_reader(make: Callable[[], Reader], *, knows: str, foreign: str, reads_at_most: int | None = None) -> None:
    """Check a reader with a file it knows and one it does not know.

    `reads_at_most` is how many bytes profile() may read of the file, for formats that say enough in their header; it
    is checked where the system counts what a process reads (/proc/self/io).
    """
    reader = make()
    checks(reader)
    promise(f"reads() knows its own files: it denies {knows}", reader.reads(knows) is True)
    promise(f"reads() denies what it cannot read: it claims {foreign}", reader.reads(foreign) is False)
    promise("reads() denies a file that is not there", reader.reads(f"{knows}.{NOBODY}") is False)
    profile = reader.profile(knows)
    promise(f"profile() returns a Profile, not {type(profile).__name__}", isinstance(profile, Profile))
    promise("a profile says of which model it is and where it comes from", profile.model and profile.source)
    for name in ("parameters", "weight_bytes", "pass_flops", "activation_bytes"):
        promise(f"what is not known is None with a reason: {name} is 0", getattr(profile, name) != 0)
    _check_again(reader, knows, profile, reads_at_most)
    refuses("profile() of a file that is not there is an error for people", reader.profile, f"{knows}.{NOBODY}")
    _check_damaged(reader, Path(knows))


def _check_again(reader: Reader, path: str, profile: Profile, reads_at_most: int | None) -> None:
    """Read once more, now that everything is imported, and count."""
    idle = _bytes_read()
    before = _bytes_read()
    again = reader.profile(path)
    read = _bytes_read() - before - (before - idle)
    promise("profile() of a file that did not change does not change", again == profile)
    if reads_at_most is not None:
        promise(f"profile() reads no more than it needs: {read} bytes, not {reads_at_most}", read <= reads_at_most)


def _bytes_read() -> int:
    """Return how many bytes this process has read so far, 0 where the system does not count them."""
    try:
        text = Path("/proc/self/io").read_text(encoding="ascii")
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("rchar:")), 0)


def _check_damaged(reader: Reader, path: Path) -> None:
    """Cut and alter the file: what follows is an error for people or a profile, never anything else."""
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / path.name
        for what, damaged in _damages(data):
            target.write_bytes(damaged)
            try:
                answer = reader.profile(str(target)) if reader.reads(str(target)) else None
            except BrimfulError:
                continue
            except Exception as error:
                text = f"a damaged file is an error for people: {what} raised {type(error).__name__}: {error}"
                raise AssertionError(text) from error
            promise("profile() returns a Profile or raises", answer is None or isinstance(answer, Profile))


def _damages(data: bytes) -> Iterator[tuple[str, bytes]]:
    for cut in range(_CUTS):
        yield f"cut to {cut} of {_CUTS} parts, it", data[: len(data) * cut // _CUTS]
    for at in range(min(len(data), _FLIPPED)):
        yield f"with byte {at} flipped, it", data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
