"""Live transcoding (`--transcode 1080p60 --streams 24`): how many machines, and what a stream costs.

What is published, and what is only derived from it:
- VT1: AWS's table of streams for each of the two SoCs of a U30 (4 of 1080p60, 1 of 2160p60, 16 of 720p30, ...).
- NVENC: per engine 272 frames a second of 1080p. Derived from AWS's "up to 30 % lower cost per stream" of VT1 against
  G4dn, at today's prices; an RTX 2070 of the same generation was seen at 262 and 284 (rigaya/NVEnc issue 88, HEVC).
- CPU: 12.5 frames a second of 1080p for each vCPU. Derived from "60 % lower" against C5. The preset decides.
Only the first is a maker's figure; the others carry wide intervals and say that they are unverified.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from itertools import pairwise

from brimful.advise.fit.video import Video
from brimful.model.errors import UsageError
from brimful.model.evidence import Interval
from brimful.model.hardware import Accelerator, DeviceKind, Fitted, Offer, Status
from brimful.model.noun import Noun, noun

COVERAGE = 0.8
_1080P = 1920 * 1080
_SOCS_PER_U30 = 2
# Pixels a second of one SoC by picture size, from AWS's table; smaller pictures cost relatively more.
_U30_PIXELS = ((3840 * 2160, 497.7e6), (_1080P, 497.7e6), (1280 * 720, 442.4e6), (960 * 540, 373.2e6))
_NVENC_PIXELS_PER_S = 272 * _1080P
_CPU_PIXELS_PER_S = 12.5 * _1080P  # of a vCPU
_U30_SPREAD, _NVENC_SPREAD, _CPU_SPREAD = (1.0, 1.0), (0.6, 1.8), (0.4, 2.5)
_AWS_VT1 = "AWS's blog 'Deep dive on Amazon EC2 VT1 instances' (2021)"
_CPU_FAMILIES = re.compile(r"c\d+\w*")
MOST_STREAMS = 1_000_000

Chip = Callable[[Fitted], Accelerator | None]


@noun
class Transcoder(Noun):
    """An answer: so many machines of a type for all streams, and what one stream costs an hour."""

    instance: str
    count: int
    streams_each: Interval
    usd_per_hour: float
    usd_per_stream_hour: Interval
    limited_by: str
    basis: str
    unverified: tuple[str, ...] = ()


@noun
class NotTaken(Noun):
    """A type that was left out, and why."""

    instance: str
    reason: str


@noun
class Transcoding(Noun):
    """The answers, cheapest first, and what was left out."""

    answers: tuple[Transcoder, ...]
    excluded: tuple[NotTaken, ...]


def streams(text: str) -> int:
    """Read what `--streams` says."""
    bare = text.strip()
    if not (bare.isascii() and bare.isdigit() and len(bare) < 10 and 1 <= int(bare) <= MOST_STREAMS):
        raise UsageError(
            f"--streams {text[:40]!r} cannot be read",
            why=f"it is the number of streams at once, from 1 to {MOST_STREAMS:,}",
            fix="write e.g. --transcode 1080p60 --streams 24",
        )
    return int(bare)


def transcode(form: Video, count: int, offers: Iterable[Offer], chip: Chip) -> Transcoding:
    """Return what transcodes so many live streams at once, by what all of it costs."""
    answers, excluded = [], []
    for offer in offers:
        found = _answer(form, count, offer, chip)
        if isinstance(found, Transcoder):
            answers.append(found)
        elif found is not None:
            excluded.append(NotTaken(instance=offer.instance, reason=found))
    answers.sort(key=lambda item: (item.count * item.usd_per_hour, item.usd_per_stream_hour.mid, item.instance))
    return Transcoding(answers=tuple(answers), excluded=tuple(excluded))


def _answer(form: Video, count: int, offer: Offer, chip: Chip) -> Transcoder | str | None:
    """Return an answer, why it is none, or None for types that nobody would look for here."""
    engines = _engines(form, offer, chip)
    if not isinstance(engines, tuple):
        return engines
    pixels_per_s, spread, limit, basis, unverified = engines
    if offer.status is not Status.AVAILABLE:
        return f"it is {offer.status}: {offer.note}".rstrip(": ")
    if offer.usd_per_hour is None:
        return "its price is unknown"
    low, mid, high = (
        float(math.floor(pixels_per_s * end / form.pixels_per_s + 1e-6)) for end in (spread[0], 1.0, spread[1])
    )
    if mid < 1:
        return "it does not keep up with one such stream"
    price = offer.usd_per_hour
    return Transcoder(
        instance=offer.instance,
        count=math.ceil(count / mid),
        streams_each=Interval(low=low, mid=mid, high=high, coverage=COVERAGE),
        usd_per_hour=price,
        usd_per_stream_hour=Interval(low=price / high, mid=price / mid, high=price / max(low, 0.5), coverage=COVERAGE),
        limited_by=limit,
        basis=basis,
        unverified=unverified,
    )


_Engines = tuple[float, tuple[float, float], str, str, tuple[str, ...]]


def _engines(form: Video, offer: Offer, chip: Chip) -> _Engines | str | None:
    """Return the pixels a second that a type encodes: rate, spread, what limits, basis, doubts."""
    fitted = (offer.accelerators or (None,))[0]
    if fitted is None:
        return _on_cpu(offer)
    if fitted.kind is DeviceKind.MEDIA:
        return _on_u30(form, fitted)
    if fitted.kind is not DeviceKind.GPU or fitted.vendor != "NVIDIA":
        return None
    return _on_nvenc(fitted, chip(fitted))


def _on_cpu(offer: Offer) -> _Engines | None:
    if offer.vcpus is None or not _CPU_FAMILIES.fullmatch(offer.family):
        return None  # general and memory sizes cost more and encode no faster
    basis = f"derived from {_AWS_VT1}: VT1 costs up to 60 % less a stream than C5"
    return _CPU_PIXELS_PER_S * offer.vcpus, _CPU_SPREAD, "cpu", basis, ("x264's rate, which its preset decides",)


def _on_u30(form: Video, fitted: Fitted) -> _Engines | str:
    size = form.width * form.height
    if size > _U30_PIXELS[0][0]:
        return "a U30 takes pictures of up to 3840x2160"
    rate = _between(size)
    doubts = () if size >= _U30_PIXELS[-1][0] else ("pictures below 960x540, which AWS's table does not have",)
    return rate * _SOCS_PER_U30 * fitted.count, _U30_SPREAD, "media engine", _AWS_VT1, doubts


def _between(size: int) -> float:
    """Return a SoC's pixels a second for a picture size, between the sizes of AWS's table."""
    for (large, fast), (small, slow) in pairwise(_U30_PIXELS):
        if size >= small:
            return slow + (fast - slow) * (size - small) / (large - small)
    return _U30_PIXELS[-1][1]


def _on_nvenc(fitted: Fitted, chip: Accelerator | None) -> _Engines | str:
    if chip is None or chip.encoders is None:
        return "how many encoders its GPU has is not known"
    if not chip.encoders.isdigit():
        return f"its {fitted.model} has no video encoder"
    engines = int(chip.encoders) * fitted.count * fitted.share
    basis = f"derived from {_AWS_VT1}: VT1 costs up to 30 % less a stream than G4dn"
    doubts = (f"the rate of an encoder of {fitted.model}", f"its number of encoders ({chip.encoders})")
    return _NVENC_PIXELS_PER_S * engines, _NVENC_SPREAD, "video encoder", basis, doubts
