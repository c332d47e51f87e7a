"""Video as its users write it (`1080p60`, `4k30`, `720p`, `1920x1080@59.94`) to a size and a rate."""

from __future__ import annotations

import re

from brimful.model.errors import UsageError
from brimful.model.noun import Noun, noun

_FORM = re.compile(
    r"(?:(?P<width>\d{1,5})x(?P<height>\d{1,5})|(?P<lines>\d{3,4})p|(?P<name>[48]k|sd|hd|fhd|uhd))"
    r"(?:@?(?P<rate>\d{1,3}(?:\.\d{1,3})?)(?:fps)?)?",
    re.ASCII | re.IGNORECASE,
)
_LINES = {240: 426, 360: 640, 480: 854, 540: 960, 576: 1024, 720: 1280, 1080: 1920, 1440: 2560, 2160: 3840, 4320: 7680}
_NAMES = {"sd": 480, "hd": 720, "fhd": 1080, "4k": 2160, "uhd": 2160, "8k": 4320}
_USUAL_RATE = 30.0
_MOST_SIDE, _MOST_RATE = 16384, 480


@noun
class Video(Noun):
    """A picture size and a rate."""

    width: int
    height: int
    frames_per_s: float

    def _agree(self) -> None:
        """Refuse pictures of no size."""
        if min(self.width, self.height) < 1 or self.frames_per_s <= 0:
            raise ValueError(f"{self.width}x{self.height}@{self.frames_per_s} is no video")

    @property
    def pixels_per_s(self) -> float:
        """How many pixels a second it has."""
        return self.width * self.height * self.frames_per_s


def video(text: str) -> Video:
    """Read a form of video; without a rate it is taken as 30 frames a second."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise _unusable(text, "it is neither lines and rate nor width, height and rate")
    if match["width"]:
        width, height = int(match["width"]), int(match["height"])
    else:
        height = _NAMES[match["name"].lower()] if match["name"] else int(match["lines"])
        if height not in _LINES:
            raise _unusable(text, f"{height} lines is no usual form: {', '.join(f'{known}p' for known in _LINES)}")
        width = _LINES[height]
    rate = float(match["rate"] or _USUAL_RATE)
    if not (1 <= width <= _MOST_SIDE and 1 <= height <= _MOST_SIDE and 0 < rate <= _MOST_RATE):
        raise _unusable(text, f"sides go from 1 to {_MOST_SIDE}, rates up to {_MOST_RATE}")
    return Video(width=width, height=height, frames_per_s=rate)


def _unusable(text: str, why: str) -> UsageError:
    return UsageError(f"{text[:60]!r} is no form of video", why=why, fix="write 1080p60, 4k30 or 1920x1080@59.94")
