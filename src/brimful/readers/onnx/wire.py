"""The wire format of protobuf, read strictly and without loading what is not asked for.

What is deliberately not here: groups (no ONNX file has them), and merging of messages that are there twice. A file is
read with pread through a small window, so that the weights between two headers are never touched; a map of the file
would kill the process if somebody cut the file meanwhile. Format: protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5

_NARROW = 64 * 1024  # messages up to this size are read whole
_FIRST_WINDOW, _LAST_WINDOW = 1024, 256 * 1024
_MOST_PARSED = 256 * 1024**2  # bytes of messages that may be read whole, in all
_MOST_WIDE = 4_000_000  # fields of messages that are too large to be read whole, in all
_MOST_PACKED = 32 * 1024**2  # bytes of one list of numbers that is read
_HEAD = 20  # a tag and a length or a number: ten bytes each at most

Field = tuple[int, int, int, int]  # number, wire type, then the number's value and -1, or where its bytes are


class Damaged(ValueError):  # noqa: N818 - read as "the file is damaged"
    """The bytes are no sound ONNX file."""


class File:
    """A file of which slices are read; a slice that follows the last one is read ahead, others are not."""

    __slots__ = ("_at", "_descriptor", "_parsed", "_wide", "_width", "_window", "size")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size
        self._window, self._at, self._width = b"", 0, _FIRST_WINDOW
        self._parsed = self._wide = 0

    def slice(self, start: int, end: int) -> bytes:
        """Return the bytes from start up to end, all of which the file must have."""
        at, window = self._at, self._window
        if start < at or end > at + len(window):
            follows = at <= start <= at + len(window) + 16
            self._width = min(self._width * 2, _LAST_WINDOW) if follows else _FIRST_WINDOW
            self._window = window = self._read(start, max(end - start, self._width))
            self._at = at = start
            if len(window) < end - start:
                raise Damaged(f"it stops at byte {start + len(window):,}, within something that it began")
        return window[start - at : end - at]

    def whole(self, start: int, end: int) -> bytes:
        """Return a message to be parsed; all of them together have a limit."""
        self._parsed += end - start
        if self._parsed > _MOST_PARSED:
            raise Damaged("it holds more structure (nodes, names) than any model has: over 256 MiB")
        return self.slice(start, end)

    def count(self) -> None:
        """Count one field of a large message."""
        self._wide += 1
        if self._wide > _MOST_WIDE:
            raise Damaged("it holds more fields than any model has")

    def _read(self, start: int, count: int) -> bytes:
        parts, have = [], 0
        count = min(count, self.size - start)
        while have < count:
            part = os.pread(self._descriptor, count - have, start + have)
            if not part:
                break
            parts.append(part)
            have += len(part)
        return b"".join(parts)


class Part:
    """A message within a file or within bytes."""

    __slots__ = ("data", "end", "start")

    def __init__(self, data: bytes | File, start: int, end: int) -> None:
        if isinstance(data, File) and end - start <= _NARROW:
            data, start, end = data.whole(start, end), 0, end - start
        self.data, self.start, self.end = data, start, end

    def fields(self) -> Iterator[Field]:
        """Return its fields in order."""
        data = self.data
        return _fields(data, self.start, self.end) if isinstance(data, bytes) else _wide(data, self.start, self.end)

    def slice(self, start: int, end: int) -> bytes:
        """Return the bytes of one of its fields."""
        data = self.data
        return data[start:end] if isinstance(data, bytes) else data.whole(start, end)

    def text(self, start: int, end: int) -> str:
        """Return a field's text; protobuf's strings are UTF-8, and what is not is shown as it is."""
        return self.slice(start, end).decode("utf-8", "backslashreplace")

    def part(self, start: int, end: int) -> Part:
        """Return a message within it."""
        return Part(self.data, start, end)


def _fields(data: bytes, at: int, end: int) -> Iterator[Field]:
    while at < end:
        tag = data[at]
        at += 1
        if tag > 127:
            tag, at = varint(data, at - 1, end)
        kind = tag & 7
        if kind == LENGTH:
            if at >= end:
                raise Damaged("a field has no length: it is cut off")
            length = data[at]
            at += 1
            if length > 127:
                length, at = varint(data, at - 1, end)
            stop = at + length
            if stop > end:
                raise Damaged(f"a field has a length of {length:,} bytes, which reach past its end")
            yield tag >> 3, kind, at, stop
            at = stop
        elif kind == VARINT:
            value, at = varint(data, at, end)
            yield tag >> 3, kind, value, -1
        else:
            stop = at + _fixed(kind)
            if stop > end:
                raise Damaged("a number reaches past the end of its message")
            yield tag >> 3, kind, at, stop
            at = stop


def _wide(file: File, at: int, end: int) -> Iterator[Field]:
    """Do as _fields does, one field at a time, in a message too large to be read."""
    while at < end:
        file.count()
        head = file.slice(at, min(at + _HEAD, end))
        tag, used = varint(head, 0, len(head))
        kind = tag & 7
        if kind == VARINT:
            value, used = varint(head, used, len(head))
            yield tag >> 3, kind, value, -1
            at += used
            continue
        length = _fixed(kind) if kind != LENGTH else 0
        if kind == LENGTH:
            length, used = varint(head, used, len(head))
        start = at + used
        at = start + length
        if at > end:
            raise Damaged(f"a field has a length of {length:,} bytes, which reach past its end")
        yield tag >> 3, kind, start, at


def _fixed(kind: int) -> int:
    if kind == FIXED32:
        return 4
    if kind == FIXED64:
        return 8
    raise Damaged(f"a field has the wire type {kind}, which no ONNX file has")


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the number that begins at a byte, and where it ends."""
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
        if shift > 63:
            raise Damaged("a number has more than ten bytes")
    raise Damaged("a number is cut off")


def signed(value: int) -> int:
    """Return a varint as the signed number that int64 and int32 fields hold."""
    return value - 2**64 if value >= 2**63 else value


def packed_numbers(part: Part, kind: int, start: int, end: int) -> list[int]:
    """Return the numbers of a repeated integer field, packed or single."""
    if kind == VARINT:
        return [signed(start)]
    if kind != LENGTH:
        raise Damaged("a list of numbers has the wrong wire type")
    if end - start > _MOST_PACKED // 4:
        raise Damaged(f"a list of numbers takes {end - start:,} bytes")
    data, numbers, at = part.slice(start, end), [], 0
    while at < len(data):
        value, at = varint(data, at, len(data))
        numbers.append(signed(value))
    return numbers


def packed_floats(part: Part, kind: int, start: int, end: int) -> list[float]:
    """Return the numbers of a repeated float field, packed or single."""
    if kind not in (LENGTH, FIXED32) or (end - start) % 4 or end - start > _MOST_PACKED:
        raise Damaged("a list of floats has the wrong wire type or length")
    return list(struct.unpack(f"<{(end - start) // 4}f", part.slice(start, end)))
