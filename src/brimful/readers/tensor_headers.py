"""The headers of safetensors files, for every reader that meets such files: which tensors they hold, never the weights.

The format (github.com/huggingface/safetensors, "Format"): eight bytes, the header's length, little-endian; the header,
JSON of at most 100 MB that begins with `{`; then the weights, which the header's offsets cover from end to end without
a hole. A model in several files has an index beside them, JSON that maps each tensor to its file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

LENGTH_BYTES = 8
MOST_HEADER_BYTES = 100_000_000
INDEX = ".safetensors.index.json"
_MOST = 2**63 - 1

# Type -> (bits of one element, the name that brimful has for it)
TYPES = {
    "F64": (64, "fp64"), "F32": (32, "fp32"), "F16": (16, "fp16"), "BF16": (16, "bf16"),
    "F8_E5M2": (8, "fp8"), "F8_E4M3": (8, "fp8"), "F8_E8M0": (8, "fp8"),
    "F8_E4M3FNUZ": (8, "fp8"), "F8_E5M2FNUZ": (8, "fp8"),
    "F6_E2M3": (6, "fp6"), "F6_E3M2": (6, "fp6"), "F4": (4, "fp4"), "C64": (64, "complex64"),
    "I64": (64, "int64"), "I32": (32, "int32"), "I16": (16, "int16"), "I8": (8, "int8"),
    "U64": (64, "uint64"), "U32": (32, "uint32"), "U16": (16, "uint16"), "U8": (8, "uint8"), "BOOL": (8, "bool"),
}  # fmt: skip

Tensor = tuple[str, int, int]  # type, elements, bytes


def indexed(path: str) -> Iterator[Tensor]:
    """Yield the tensors that an index names, from the headers of the files it names."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as in reads
        raw = read_json(_read(file, min(MOST_HEADER_BYTES + 1, os.fstat(file.fileno()).st_size)))
    files = raw.get("weight_map")
    if not isinstance(files, dict) or not files:
        raise ValueError("its weight_map is missing or empty")
    headers: dict[str, dict[str, Tensor]] = {}
    for tensor, name in files.items():
        if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name:
            raise ValueError(f"weight_map sends {tensor!r:.80} to {name!r:.80}, which is no file beside it")
        if name not in headers:
            headers[name] = _shard(path, name, len(set(map(str, files.values()))))
        if tensor not in headers[name]:
            raise ValueError(f"{name!a} does not hold {tensor!r:.80}, which the index says it does")
        yield headers[name][tensor]


def _shard(index: str, name: str, count: int) -> dict[str, Tensor]:
    path = str(Path(index).parent / name)
    try:
        return header(path)
    except FileNotFoundError as error:
        raise ValueError(f"{name!a}, one of the {count} files it names, is not beside it") from error
    except (OSError, ValueError) as error:
        raise ValueError(f"{name!a}: {error}") from error


def header(path: str) -> dict[str, Tensor]:
    """Return the tensors of one file; every number in the header is checked against the file's size."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as in reads
        size = os.fstat(file.fileno()).st_size
        first = _read(file, LENGTH_BYTES)
        if first == b"version ":
            raise ValueError("it is a Git LFS pointer, not the weights: git lfs pull fetches them")
        length = int.from_bytes(first, "little")
        if len(first) < LENGTH_BYTES or not 2 <= length <= min(MOST_HEADER_BYTES, size - LENGTH_BYTES):
            raise ValueError(
                f"its header would have {length} bytes, of a file of {size}: it is cut off, or something else"
            )
        text = _read(file, length)
    if text[:1] != b"{":
        raise ValueError("its header does not begin with {")
    raw = read_json(text)
    raw.pop("__metadata__", None)
    tensors, spans = {}, []
    for name, item in raw.items():
        try:
            tensor, span = _tensor(item)
        except ValueError as error:
            raise ValueError(f"tensor {name!r:.80}: {error}") from error
        tensors[name] = tensor
        spans.append(span)
    _check_cover(spans, size - LENGTH_BYTES - length)
    return tensors


def _tensor(item: Any) -> tuple[Tensor, tuple[int, int]]:
    if not isinstance(item, dict) or item.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError("it needs dtype, shape and data_offsets, and nothing else")
    kind, shape, offsets = item["dtype"], item["shape"], item["data_offsets"]
    if not isinstance(kind, str) or kind not in TYPES:
        raise ValueError(f"its dtype {kind!r:.40} is not one of {', '.join(TYPES)}")
    if not isinstance(shape, list) or not isinstance(offsets, list) or len(offsets) != 2:
        raise ValueError("its shape or its data_offsets are no lists")
    if not all(type(number) is int and 0 <= number <= _MOST for number in (*shape, *offsets)):
        raise ValueError("a number in its shape or its data_offsets is none that a file can have")
    elements = 1
    for length in shape:
        elements *= length
        if elements > _MOST:
            raise ValueError("its shape is larger than any file can be")
    bits = elements * TYPES[kind][0]
    if bits % 8 or bits // 8 != offsets[1] - offsets[0]:
        raise ValueError(f"{elements} elements of {kind} are {bits / 8:g} bytes, and its data_offsets {offsets} differ")
    return (kind, elements, bits // 8), (offsets[0], offsets[1])


def _check_cover(spans: list[tuple[int, int]], size: int) -> None:
    """Refuse holes and overlaps: the format forbids them, for anything could hide there."""
    at = 0
    for start, end in sorted(spans):
        if start != at:
            raise ValueError(f"its tensors leave a hole or overlap at byte {min(start, at)} of the data")
        at = end
    if at != size:
        raise ValueError(
            f"its tensors cover {at} bytes of data, and the file has {size}: it is cut off, or something follows"
        )


def read_json(text: bytes, *, constants: bool = False) -> dict[str, Any]:
    """Return a JSON object of bounded size; a key that is there twice is refused, and so is NaN without `constants`."""
    if len(text) > MOST_HEADER_BYTES:
        raise ValueError(f"it is larger than {MOST_HEADER_BYTES} bytes")
    try:
        raw = json.loads(
            text.decode("utf-8"), object_pairs_hook=_once, parse_constant=float if constants else _no_constant
        )
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"its JSON is damaged: {error}") from error
    if not isinstance(raw, dict):
        raise ValueError("it is no JSON object")
    return raw


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a key of its JSON is there twice")
    return table


def _no_constant(name: str) -> None:
    raise ValueError(f"its JSON holds {name}")


def _read(file: BinaryIO, count: int) -> bytes:
    """Read exactly so many bytes, or what there is; one call may give fewer."""
    parts: list[bytes] = []
    while count > 0 and (part := file.read(count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
