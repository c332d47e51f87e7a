"""A stored tensor: its type, its shape, where its bytes are; and its values when it is small enough to be a shape."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable
from pathlib import Path

from brimful.readers.onnx.wire import FIXED32, FIXED64, LENGTH, VARINT, Damaged, Field, Part, packed_numbers

# onnx.proto, TensorProto.DataType: (bits of one element, brimful's name)
TYPES = {
    1: (32, "fp32"), 2: (8, "uint8"), 3: (8, "int8"), 4: (16, "uint16"), 5: (16, "int16"), 6: (32, "int32"),
    7: (64, "int64"), 8: (0, "string"), 9: (8, "bool"), 10: (16, "fp16"), 11: (64, "fp64"), 12: (32, "uint32"),
    13: (64, "uint64"), 14: (64, "complex64"), 15: (128, "complex128"), 16: (16, "bf16"), 17: (8, "fp8"),
    18: (8, "fp8"), 19: (8, "fp8"), 20: (8, "fp8"), 21: (4, "uint4"), 22: (4, "int4"), 23: (4, "fp4"), 24: (8, "fp8"),
    25: (2, "uint2"), 26: (2, "int2"),
}  # fmt: skip
FLOAT, UINT8, INT8, INT32, INT64, STRING, BOOL, HALF, DOUBLE = 1, 2, 3, 6, 7, 8, 9, 10, 11
FLOATS = frozenset({1, 10, 11, 14, 15, 16, 17, 18, 19, 20, 23, 24})
QUANTIZED = frozenset({2, 3, 4, 5, 17, 18, 19, 20, 21, 22, 23, 25, 26})  # types that weights are quantised to

MOST_ELEMENTS = 2**62
MOST_RANK = 64
_MOST_KEPT = 2_000_000  # values of small tensors, in all
_MOST_INTEGERS, _MOST_FLOATS = 4096, 64  # larger constants are no shapes, scales or bounds
_RAW = {1: "f", 2: "B", 3: "b", 4: "H", 5: "h", 6: "i", 7: "q", 9: "?", 10: "e", 11: "d", 12: "I", 13: "Q"}
_DATA_FIELDS = {4: 4, 5: 0, 7: 0, 10: 8, 11: 0}  # field -> bytes of one element; 0: varints
_EXTERNAL = 1

Numbers = tuple[int | float | bool, ...]
Span = tuple[int, int, int, int]  # field, wire type, where its bytes are


class Tensor:
    """A stored tensor: an initializer or a constant in an attribute."""

    __slots__ = ("bias", "elements", "name", "shape", "side", "size", "type", "values")

    def __init__(self, name: str, shape: tuple[int, ...], kind: int) -> None:
        self.name, self.shape, self.type = name, shape, kind
        self.elements = volume(shape)
        self.size = (self.elements * TYPES[kind][0] + 7) // 8
        self.values: Numbers | None = None
        self.bias = False  # integers that are a bias, and so parameters
        self.side = False  # a scale, a zero point, a running statistic: stored, and no parameter


def volume(shape: tuple[int, ...]) -> int:
    """Return how many elements a shape has; one that nothing can hold is refused."""
    if len(shape) > MOST_RANK:
        raise Damaged(f"a tensor would have {len(shape):,} dimensions")
    size = math.prod(shape)
    if not 0 <= size <= MOST_ELEMENTS:
        raise Damaged(f"a tensor would have the shape {list(shape)!r:.80}, which nothing can hold")
    return size


class Folder:
    """Where a model's external data lies: only the sizes of the files are looked at, and small integers read."""

    def __init__(self, path: str) -> None:
        self._folder = Path(path).parent
        self._sizes: dict[str, int] = {}
        self._kept = 0

    def check(self, tensor: Tensor, keys: dict[str, str]) -> tuple[str, int]:
        """Return the file and the offset of a tensor's data, which must lie within the file."""
        location = keys.get("location", "")
        parts = Path(location).parts
        if not location or "\0" in location or ".." in parts or location.startswith(("/", "\\")):
            raise Damaged(f"the tensor {tensor.name!r:.80} lies in {location!r:.80}, which is no file beside the model")
        offset, length = _whole(keys.get("offset", "0")), _whole(keys.get("length", str(tensor.size)))
        if tensor.type != STRING and length != tensor.size:
            raise Damaged(f"the tensor {tensor.name!r:.80} needs {tensor.size:,} bytes, and its entry says {length:,}")
        if offset + length > self._size(location, tensor.name):
            raise Damaged(
                f"the tensor {tensor.name!r:.80} ends at byte {offset + length:,} of {location!r:.80}, "
                f"which has {self._sizes[location]:,}"
            )
        return str(self._folder / location), offset

    def keeps(self, tensor: Tensor) -> bool:
        """Say whether a tensor's values are kept: those of shapes, scales and bounds, and not without end."""
        if tensor.type not in _RAW:
            return False
        integers = tensor.type in (INT32, INT64, BOOL)
        self._kept += tensor.elements if tensor.elements <= _MOST_INTEGERS else 0
        return tensor.elements <= (_MOST_INTEGERS if integers else _MOST_FLOATS) and self._kept <= _MOST_KEPT

    def _size(self, location: str, tensor: str) -> int:
        if location not in self._sizes:
            try:
                self._sizes[location] = (self._folder / location).stat().st_size
            except OSError as error:
                raise Damaged(
                    f"the weights of the tensor {tensor!r:.80} are in the file {location!r:.80}, which cannot be read "
                    f"beside the model ({error.strerror})"
                ) from error
        return self._sizes[location]


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise Damaged(f"an entry for external data has {text!r:.40} where a number belongs")
    return int(text)


class _Fields:
    """What the fields of a TensorProto say, before it is known to be sound."""

    __slots__ = ("keys", "location", "name", "shape", "spans", "type")

    def __init__(self) -> None:
        self.name, self.type, self.location = "", 0, 0
        self.shape: list[int] = []
        self.spans: list[Span] = []
        self.keys: dict[str, str] = {}

    def take(self, part: Part, field: Field) -> None:
        """Take one field."""
        number, wire, start, end = field
        if number == 1:
            if end - start > 10 * MOST_RANK:
                raise Damaged(f"a tensor has a list of dimensions of {end - start:,} bytes")
            self.shape.extend(packed_numbers(part, wire, start, end))
        elif number == 9 or number in _DATA_FIELDS:
            _add_span(self.spans, number, wire, start, end)
        elif wire == VARINT:
            if number == 2:
                self.type = start
            elif number == 14:
                self.location = start
        elif number == 8 and wire == LENGTH:
            self.name = part.text(start, end)
        elif number == 13 and wire == LENGTH:
            key, value = entry_of(part.part(start, end))
            self.keys[key] = value


def tensor_of(part: Part, folder: Folder) -> Tensor:
    """Read a TensorProto, whose data is checked and not loaded."""
    fields = _Fields()
    for field in part.fields():
        fields.take(part, field)
    if fields.type not in TYPES:
        raise Damaged(f"the tensor {fields.name!r:.80} has the type {fields.type}, which ONNX does not have")
    if any(length < 0 for length in fields.shape):
        raise Damaged(f"the tensor {fields.name!r:.80} has the shape {fields.shape!r:.80}")
    tensor = Tensor(fields.name, tuple(fields.shape), fields.type)
    if fields.location == _EXTERNAL:
        tensor.values = _external_values(tensor, *folder.check(tensor, fields.keys))
    else:
        _check_size(tensor, fields.spans)
        tensor.values = _values(tensor, part, fields.spans) if folder.keeps(tensor) else None
    return tensor


def _add_span(spans: list[Span], number: int, wire: int, start: int, end: int) -> None:
    """Note where data is; single elements that follow one another are one stretch no more, and so are refused."""
    if wire not in (LENGTH, FIXED32, FIXED64, VARINT):
        raise Damaged("a tensor's data has the wrong wire type")
    if len(spans) >= _MOST_INTEGERS:
        raise Damaged("a tensor's data is in more pieces than any program writes")
    spans.append((number, wire, start, end))


def entry_of(part: Part) -> tuple[str, str]:
    """Read a StringStringEntryProto."""
    pair = ["", ""]
    for number, wire, start, end in part.fields():
        if number in (1, 2) and wire == LENGTH:
            pair[number - 1] = part.text(start, end)
    return pair[0], pair[1]


def _check_size(tensor: Tensor, spans: list[Span]) -> None:
    """Refuse data that is shorter or longer than the shape says, as far as its form tells."""
    if tensor.type == STRING or not spans:
        if tensor.type != STRING and tensor.elements:
            raise Damaged(f"the tensor {tensor.name!r:.80} of shape {list(tensor.shape)!r:.80} has no data")
        return
    have = sum(end - start if wire != VARINT else 1 for _, wire, start, end in spans)
    number = spans[0][0]
    if number == 9 and have != tensor.size:
        raise Damaged(f"the tensor {tensor.name!r:.80} needs {tensor.size:,} bytes, and holds {have:,}")
    width = _DATA_FIELDS.get(number, 0)
    elements = tensor.elements * (2 if tensor.type in (14, 15) else 1)
    if number != 9 and width and have != elements * width:
        raise Damaged(f"the tensor {tensor.name!r:.80} has {elements:,} elements, and holds {have // width:,}")
    least = tensor.elements if TYPES[tensor.type][0] >= 8 else 1
    if number != 9 and not width and have < min(least, tensor.elements):
        raise Damaged(f"the tensor {tensor.name!r:.80} has {tensor.elements:,} elements, and fewer bytes")


def _values(tensor: Tensor, part: Part, spans: list[Span]) -> Numbers | None:
    if spans and spans[0][0] == 9:
        raw = b"".join(part.slice(start, end) for _, _, start, end in spans)
        return _unpacked(tensor, raw)
    numbers: list[int | float] = []
    for number, wire, start, end in spans:
        if number in (4, 10):
            code, width = ("f", 4) if number == 4 else ("d", 8)
            numbers.extend(struct.unpack(f"<{(end - start) // width}{code}", part.slice(start, end)))
        else:
            numbers.extend(packed_numbers(part, wire, start, end))
    return _converted(tensor, numbers)


def _converted(tensor: Tensor, numbers: list[int | float]) -> Numbers | None:
    """Turn what int32_data and its like hold into the type's own values."""
    if len(numbers) != tensor.elements:
        raise Damaged(f"the tensor {tensor.name!r:.80} has {tensor.elements:,} elements, and holds {len(numbers):,}")
    if tensor.type == HALF:  # kept as the bits of the number
        return struct.unpack(f"<{len(numbers)}e", struct.pack(f"<{len(numbers)}H", *(int(n) & 0xFFFF for n in numbers)))
    if tensor.type == 13:
        return tuple(int(number) % 2**64 for number in numbers)
    as_type: Callable[[int | float], int | float] = bool if tensor.type == BOOL else lambda number: number
    return tuple(as_type(number) for number in numbers)


def _unpacked(tensor: Tensor, raw: bytes) -> Numbers:
    if tensor.type == BOOL:
        return tuple(byte != 0 for byte in raw)
    return struct.unpack(f"<{tensor.elements}{_RAW[tensor.type]}", raw)


def _external_values(tensor: Tensor, path: str, offset: int) -> Numbers | None:
    """Read a shape that somebody keeps beside the model; weights are never read."""
    if tensor.type not in (INT32, INT64, BOOL) or tensor.elements > 1024 or not tensor.elements:
        return None
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - unbuffered: nothing is read ahead
            raw = os.pread(file.fileno(), tensor.size, offset)
    except OSError as error:
        raise Damaged(
            f"the tensor {tensor.name!r:.80} cannot be read from {os.path.basename(path)!r:.80}: "  # noqa: PTH119
            f"{error.strerror}"
        ) from error
    return _unpacked(tensor, raw) if len(raw) == tensor.size else None
