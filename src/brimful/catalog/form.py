"""The form of a catalogue file, read and written: one JSON document, one row a line, sealed by its own digest.

    {"kind":"catalog","v":1,"sha256":"<64 hex>","table":"offers","date":"2026-08-02",
    "columns":[...],
    "sources":{"<id>":{"source":...,"licence":...,"date":...}},
    "reasons":{"<id>":"why a cell is unknown"},
    "rows":[
    [...],
    [...]
    ]}

The digest is that of the whole file with 64 zeros in its place, so that no byte can change unnoticed, and a file can
be moved without a second one beside it. Columns that this version does not know are passed over: a new one never bumps
`v`.
Nothing here knows what a row means; that is `rows.py`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from brimful.model.errors import CatalogError, StorageError
from brimful.model.installed import restored
from brimful.model.text import readable_path, reason, shell_path

VERSION = 1
_ZEROS = b"0" * 64
_SEAL = re.compile(rb'"sha256":"([0-9a-f]{64})"')
_SEAL_WITHIN = 200  # the seal stands in the first line, long before any data


class Entry(msgspec.Struct, frozen=True):
    """An entry of a file's head: a source, its licence, and the day of the state that was read."""

    source: str
    licence: str
    date: date


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A catalogue file as it lies on disk: cells, not yet nouns."""

    kind: str
    v: int
    table: str
    date: date
    columns: list[str]
    sources: dict[str, Entry]
    reasons: dict[str, str] = {}
    rows: list[list[Any]]
    sha256: str = ""


_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_DECODER = msgspec.json.Decoder(Document)


class File:
    """A catalogue file and how to get on without it; every complaint about the file is made here."""

    def __init__(self, path: Path, *, shipped: bool) -> None:
        self.path = path
        self.shipped = shipped

    def error(self, what: str, why: str) -> CatalogError:
        """Return the error that says what is wrong with this file and what to type."""
        name = readable_path(self.path)
        if self.shipped:
            fix = f"get it back: {restored(self.path)}"
        else:
            command = "rm -r" if self.path.is_dir() else "rm"
            then = "the shipped catalogue then counts; catalog refresh renews it"
            fix = f"remove it: {command} {shell_path(self.path)} ({then})"
        return CatalogError(f"the catalogue file {name} {what}", why=why, fix=fix)

    def read(self) -> Document:
        """Read, check and decode the file; whatever is wrong with it is a CatalogError."""
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise self.error("cannot be read", reason(error)) from error
        self.check_seal(data)
        try:
            document = _DECODER.decode(data)
        except _UNREADABLE as error:
            raise self.error("is not in the form of a catalogue", reason(error)) from error
        self._check_head(document)
        return document

    def check_seal(self, data: bytes) -> str:
        """Return the digest that the first line names; it is a CatalogError unless the bytes are those it seals."""
        match = _SEAL.search(data, 0, _SEAL_WITHIN)
        if match is None or _digest(data, match) != match[1].decode():
            raise self._damaged(data)
        return match[1].decode()

    def _damaged(self, data: bytes) -> CatalogError:
        """Say what is most likely wrong with a file whose seal is broken or absent."""
        with contextlib.suppress(*_UNREADABLE):
            head = msgspec.json.decode(data)
            if not isinstance(head, dict) or head.get("kind") != "catalog":
                return self.error("is no catalogue", 'its first line does not begin with {"kind":"catalog"')
            version = head.get("v")
            if isinstance(version, int) and version > VERSION:
                return self._from_the_future(version)
        return self.error(
            "is damaged", "its content does not match the sha256 in its first line (truncated or altered)"
        )

    def _from_the_future(self, version: int) -> CatalogError:
        why = f"it has version {version} of the form, and this one reads up to {VERSION}"
        return self.error("was written by a newer brimful", why)

    def _check_head(self, document: Document) -> None:
        if document.kind != "catalog":
            raise self.error("is no catalogue", f"its kind is {document.kind!r}, not 'catalog'")
        if document.v > VERSION:
            raise self._from_the_future(document.v)
        if document.v != VERSION:
            raise self.error("has an unknown version", f"v is {document.v}; the versions begin at 1")
        if len(set(document.columns)) != len(document.columns):
            raise self.error("names a column twice", f"columns are {', '.join(document.columns)}")


def render(document: Document) -> bytes:
    """Return the bytes of a file: one source, one reason and one row a line, sealed."""
    dump = msgspec.json.encode
    head = b'{"kind":%b,"v":%d,"sha256":"%b","table":%b,"date":%b' % (
        dump(document.kind),
        document.v,
        _ZEROS,
        dump(document.table),
        dump(document.date),
    )
    parts = [
        head,
        b'"columns":' + dump(document.columns),
        b'"sources":{\n' + _lines(document.sources) + b"\n}",
        b'"reasons":{\n' + _lines(document.reasons) + b"\n}",
        b'"rows":[\n' + b",\n".join(dump(row) for row in document.rows) + b"\n]}\n",
    ]
    return sealed(b",\n".join(parts))


def sealed(data: bytes) -> bytes:
    """Put the digest of the whole in the place that the first line has for it."""
    match = _SEAL.search(data, 0, _SEAL_WITHIN)
    if match is None:  # pragma: no cover - the head is made here
        raise ValueError("the head has no place for the digest")
    return data[: match.start(1)] + _digest(data, match).encode() + data[match.end(1) :]


def write(path: Path, document: Document) -> str:
    """Write a document as a file, whole or not at all; return its digest."""
    return write_sealed(path, render(document))


def write_sealed(path: Path, data: bytes) -> str:
    """Write sealed bytes so that whoever reads sees the old file or the new one; return the digest in them."""
    new = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")  # tempfile would cost each import 3 ms
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with new.open("xb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            new.replace(path)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
        _sync_directory(path.parent)
    except OSError as error:
        raise StorageError(
            f"the catalogue file {readable_path(path)} cannot be written",
            why=error.strerror or str(error),
            fix=f"free space on, or get write permission for, {readable_path(path.parent)}",
        ) from error
    return data[data.index(b'"sha256":"') + 10 :][:64].decode()


def _sync_directory(path: Path) -> None:
    """Make the new name durable where the system can: without this a power cut may bring the old file back."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _lines(entries: dict[str, Any]) -> bytes:
    dump = msgspec.json.encode
    return b",\n".join(dump(key) + b":" + dump(value) for key, value in entries.items())


def _digest(data: bytes, match: re.Match[bytes]) -> str:
    digest = hashlib.sha256(data[: match.start(1)])
    digest.update(_ZEROS)
    digest.update(data[match.end(1) :])
    return digest.hexdigest()
