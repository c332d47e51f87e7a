"""`--data`, what one item of the input is: `jpeg:110KB@500x375`, `tensor:600KB`, `video:1080p30`, `none`."""

from __future__ import annotations

import re
from enum import StrEnum

from brimful.advise.fit.video import video
from brimful.model import units
from brimful.model.errors import UsageError
from brimful.model.noun import Noun, noun, unknown


class DataKind(StrEnum):
    """What must be done to an item before the device can take it."""

    JPEG = "jpeg"
    PNG = "png"
    TENSOR = "tensor"
    TEXT = "text"
    VIDEO = "video"
    NONE = "none"


_PIXELS_PER_BYTE = {DataKind.JPEG: 187_500 / 110_000, DataKind.PNG: 0.55}  # ImageNet's 500x375 of 110 KB; photographs
_FRAME_BYTES_PER_PIXEL = 0.1 / 8  # of H.264 at usual quality: 0.1 bits a pixel
_SIZE = re.compile(r"(?P<bytes>[^@]+)(?:@(?P<width>\d{1,5})x(?P<height>\d{1,5}))?", re.ASCII)
_MOST_BYTES = 1 << 40
_FIX = "write jpeg:110KB, jpeg:110KB@500x375, png:300KB, tensor:600KB, text:2KB, video:1080p30 or none"


@noun
class Data(Noun):
    """One item of the input as it arrives: its kind, its size as stored, and its pixels."""

    kind: DataKind
    item_bytes: int
    pixels: int | None = unknown("it is no picture")
    frames_per_s: float | None = unknown("it is no video")

    def _agree(self) -> None:
        """Refuse an item of nothing, except where there is no input."""
        if (self.item_bytes == 0) != (self.kind is DataKind.NONE):
            raise ValueError(f"an item of {self.item_bytes} bytes of {self.kind}")


NO_DATA = Data(kind=DataKind.NONE, item_bytes=0)


def data(text: str) -> Data:
    """Read what `--data` says."""
    name, _, rest = text.strip().partition(":")
    try:
        kind = DataKind(name.strip().lower())
    except ValueError as error:
        raise _unusable(text, f"{name[:40]!r} is none of {', '.join(kind.value for kind in DataKind)}") from error
    if kind is DataKind.NONE:
        if rest:
            raise _unusable(text, "none has no size")
        return NO_DATA
    if not rest.strip():
        raise _unusable(text, f"the size of one item of {kind} is missing")
    return _video(rest) if kind is DataKind.VIDEO else _sized(kind, rest, text)


def _video(rest: str) -> Data:
    form = video(rest)
    pixels = form.width * form.height
    size = max(1, round(pixels * _FRAME_BYTES_PER_PIXEL))
    return Data(kind=DataKind.VIDEO, item_bytes=size, pixels=pixels, frames_per_s=form.frames_per_s)


def _sized(kind: DataKind, rest: str, text: str) -> Data:
    match = _SIZE.fullmatch(rest.strip())
    if match is None:
        raise _unusable(text, f"{rest[:40]!r} is no size with, for pictures, @WIDTHxHEIGHT")
    try:
        size = units.parse_bytes(match["bytes"])
    except (ValueError, OverflowError) as error:
        raise _unusable(text, str(error)) from error
    if not 1 <= size <= _MOST_BYTES:
        raise _unusable(text, f"an item of {size} bytes: it has from 1 byte to 1 TiB")
    if kind not in _PIXELS_PER_BYTE:
        if match["width"]:
            raise _unusable(text, f"{kind} has no width and height: only pictures have")
        return Data(kind=kind, item_bytes=size)
    pixels = int(match["width"]) * int(match["height"]) if match["width"] else round(size * _PIXELS_PER_BYTE[kind])
    if pixels < 1:
        raise _unusable(text, "a picture has a width and a height of at least 1")
    return Data(kind=kind, item_bytes=size, pixels=pixels)


def _unusable(text: str, why: str) -> UsageError:
    return UsageError(f"--data {text[:60]!r} cannot be read", why=why, fix=_FIX)
