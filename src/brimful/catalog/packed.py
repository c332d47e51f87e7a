"""The form of the file of named models: a sealed first line, a compressed index, and models in compressed blocks.

    {"kind":"catalog","v":1,"sha256":"<64 hex>","table":"profiles","date":"2026-11-19","index_bytes":12345}
    <zlib: the index as JSON> <zlib: block 0> <zlib: block 1> ...

Operations fill the file, and one model is wanted at a time: so a block holds a few models that resemble one another, as
columns of JSON, and only the block that is asked for is opened. The seal is that of `form.py`. Nothing here knows what
a model is; that is `profiles.py`.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from brimful.catalog.form import VERSION, File, sealed

BLOCK_MODELS = 16
_MOST_BYTES = 1 << 26  # far more than an index or a block needs; a wrong file must not fill the memory
_WRONG = (msgspec.DecodeError, zlib.error, ValueError)


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    kind: str
    v: int
    sha256: str
    table: str
    date: str
    index_bytes: int


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of every model without opening its block, and the words that the blocks use by number."""

    libraries: dict[str, str]  # its name -> what a profile says of its source
    kinds: list[tuple[str, str]]  # an operation's kind and type
    growths: list[tuple[float, float, float, float]]  # exponents: flops, weights, read, written
    models: list[tuple[str, str, int, bool, int, str]]  # name, library, image size, grows, parameters, remark
    aliases: dict[str, tuple[int, int]]  # another spelling -> the model's place, and its image size or 0
    block_bytes: list[int]


Columns = tuple[list[int], list[int], list[int], list[int], list[int], list[int], list[int]]
"""Of a model, by column: kind, how many, flops, weights, read, written, growth."""

_HEAD = msgspec.json.Decoder(Head)
_INDEX = msgspec.json.Decoder(Index)
_BLOCK = msgspec.json.Decoder(list[Columns])


class Packed:
    """An open file of models; whatever is wrong with it is a CatalogError."""

    def __init__(self, path: Path) -> None:
        self._file = File(path, shipped=True)
        try:
            self._data = path.read_bytes()
        except OSError as error:
            raise self._file.error("cannot be read", f"{error.strerror or error}") from error
        self._file.check_seal(self._data)
        line, _, _ = self._data.partition(b"\n")
        try:
            head = _HEAD.decode(line)
            self._check(head)
            start = len(line) + 1
            self.index = _INDEX.decode(_opened(self._data[start : start + head.index_bytes]))
        except _WRONG as error:
            raise self._file.error("is not in the form of a table of models", str(error)) from error
        self.date = head.date
        self._starts = [start + head.index_bytes]
        for size in self.index.block_bytes:
            self._starts.append(self._starts[-1] + size)

    def _check(self, head: Head) -> None:
        if head.v > VERSION:
            why = f"it has version {head.v} of the form, and this one reads up to {VERSION}"
            raise self._file.error("was written by a newer brimful", why)
        if (head.kind, head.v, head.table) != ("catalog", VERSION, "profiles"):
            raise self._file.error("is not a table of models", f"its head says {head.kind} {head.table} {head.v}")

    def columns(self, place: int) -> Columns:
        """Return the operations of the model at a place of the index."""
        block, inside = divmod(place, BLOCK_MODELS)
        try:
            data = _opened(self._data[self._starts[block] : self._starts[block + 1]])
            columns = _BLOCK.decode(data)[inside]
            if len({len(column) for column in columns}) != 1:
                raise ValueError("its columns differ in length")
            if max(columns[0], default=0) >= len(self.index.kinds) or min(columns[0], default=0) < 0:
                raise ValueError("an operation is of a kind that the index lacks")
            if max(columns[6], default=0) >= len(self.index.growths) or min(columns[6], default=0) < 0:
                raise ValueError("an operation grows in a way that the index lacks")
        except (*_WRONG, IndexError) as error:
            name = self.index.models[place][0] if 0 <= place < len(self.index.models) else f"number {place}"
            raise self._file.error(f"has a wrong row: {name}", str(error)) from error
        return columns

    def wrong(self, place: int, why: str) -> Exception:
        """Return the error that says that the model at a place is no model."""
        return self._file.error(f"has a wrong row: {self.index.models[place][0]}", why)


def pack(day: str, index: Index, models: Sequence[Columns]) -> bytes:
    """Return the bytes of a file; the index's own block sizes are put in."""
    dump: Any = msgspec.json.encode
    blocks = [
        zlib.compress(dump(models[start : start + BLOCK_MODELS]), 9) for start in range(0, len(models), BLOCK_MODELS)
    ]
    whole = msgspec.structs.replace(index, block_bytes=[len(block) for block in blocks])
    packed = zlib.compress(dump(whole), 9)
    head = Head(
        kind="catalog", v=VERSION, sha256="0" * 64, table="profiles", date=day, index_bytes=len(packed)
    )  # fmt: skip
    return sealed(b"\n".join([dump(head), b"".join([packed, *blocks])]))


def _opened(data: bytes) -> bytes:
    opener = zlib.decompressobj()
    plain = opener.decompress(data, _MOST_BYTES)
    if not opener.eof:
        raise ValueError("a compressed part is cut off or too large")
    return plain
