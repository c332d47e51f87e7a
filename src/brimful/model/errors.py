"""Every error a user can meet: what happened, why, and what to type.

BrimfulError                exit 2
├── UsageError              2   the command line contradicts itself or names what does not exist
├── ConfigError             2   a configuration key or value
├── DataError               2   a file that brimful was given and cannot use
│   ├── JournalError        2   a journal: torn in the middle, from the future, not a journal
│   └── CatalogError        2   a catalogue file: damaged, from the future
├── StorageError            2   the disk or the store: full, read-only, locked
├── CloudError              2   a cloud that refuses, throttles or answers by halves
├── Unavailable             2   a back-end that cannot be used here (missing package, missing program)
└── HardwareAbsent          3   a device or a driver that is not there
"""

from __future__ import annotations


class BrimfulError(Exception):
    """An error for people: what happened, why, and how to get on."""

    exit_code = 2

    def __init__(self, what: str, *, why: str, fix: str) -> None:
        if not (what and why and fix):
            message = "an error needs all of what, why and fix"
            raise ValueError(message)
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}\n  why: {self.why}\n  fix: {self.fix}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.what, self.why, self.fix)


def _rebuild(cls: type[BrimfulError], what: str, why: str, fix: str) -> BrimfulError:
    return cls(what, why=why, fix=fix)


class UsageError(BrimfulError):
    """The command line contradicts itself or names what does not exist."""


class ConfigError(BrimfulError):
    """A configuration key or value that cannot be used."""


class DataError(BrimfulError):
    """A file that brimful was given and cannot use."""


class JournalError(DataError):
    """A journal that is damaged, from the future, or no journal at all."""


class CatalogError(DataError):
    """A catalogue file that is damaged or from the future."""


class StorageError(BrimfulError):
    """A disk or store that is full, read-only or locked by somebody else."""


class CloudError(BrimfulError):
    """A cloud that refuses, throttles or answers by halves."""


class Unavailable(BrimfulError):  # noqa: N818 - it is a state of a back-end, read as "is unavailable"
    """A back-end that cannot be used here: a package or a program is missing."""


class HardwareAbsent(BrimfulError):  # noqa: N818 - read as "the hardware is absent"
    """A device or a driver that is not there."""

    exit_code = 3
