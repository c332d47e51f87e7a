"""`--task fpga:genomics`: what exists, what it costs, and what is only published. Nothing here was measured.

An FPGA does what its image makes it do: without the image there is nothing to predict, so there is no ranking.
"""

from __future__ import annotations

from collections.abc import Iterable

from brimful.model.errors import UsageError
from brimful.model.hardware import DeviceKind, Offer, Status
from brimful.model.noun import Noun, noun, unknown

_F2_GUIDE = "AWS's F2 user guide (awsdocs-fpga-f2.readthedocs-hosted.com)"

# What makers say of each task; a claim is no measurement, and none states the machine that it was compared with.
_CLAIMS = {
    "genomics": (
        f"AWS: secondary analysis up to 10x faster than on CPUs alone ({_F2_GUIDE})",
        "Illumina: DRAGEN on F2's FPGAs, same output as its software mode, licensed (help.dragen.illumina.com)",
    ),
    "graph": (f"AWS: analysis of graph databases up to 95x faster than on CPUs alone ({_F2_GUIDE})",),
    "video": ("custom pipelines; for usual codecs VT1 and GPUs have engines: brimful fit --transcode",),
    "finance": (),
    "other": (),
}


@noun
class FpgaOffer(Noun):
    """A type with FPGAs that can be had, and its price."""

    instance: str
    fpga: str
    fpgas: int
    vcpus: int | None = unknown("EC2's list gives none")
    usd_per_hour: float | None = unknown("its price is unknown")


@noun
class FpgaAnswer(Noun):
    """What there is for a task on FPGAs: types, published claims, what is withdrawn, and what it takes."""

    task: str
    offers: tuple[FpgaOffer, ...]
    published: tuple[str, ...]
    withdrawn: tuple[str, ...]
    needs: str


def task(text: str) -> str:
    """Read what `--task` says: `fpga:genomics`."""
    kind, _, name = text.strip().lower().partition(":")
    if kind != "fpga" or name not in _CLAIMS:
        raise UsageError(
            f"--task {text[:60]!r} is not known",
            why="tasks are written fpga:NAME, and the names are " + ", ".join(_CLAIMS),
            fix="write --task fpga:genomics",
        )
    return name


def fpga(name: str, offers: Iterable[Offer]) -> FpgaAnswer:
    """Return what can be rented for a task on FPGAs, the cheapest first, with what is published about it."""
    found = [
        (offer, fitted) for offer in offers for fitted in offer.accelerators or () if fitted.kind is DeviceKind.FPGA
    ]
    there = [
        FpgaOffer(
            instance=offer.instance,
            fpga=fitted.model,
            fpgas=fitted.count,
            vcpus=offer.vcpus,
            usd_per_hour=offer.usd_per_hour,
            missing={key: offer.missing[key] for key in ("vcpus", "usd_per_hour") if key in offer.missing},
        )
        for offer, fitted in found
        if offer.status is Status.AVAILABLE
    ]
    gone = tuple(sorted({offer.instance for offer, _ in found if offer.status is Status.WITHDRAWN}))
    return FpgaAnswer(
        task=name,
        offers=tuple(
            sorted(there, key=lambda item: (item.usd_per_hour is None, item.usd_per_hour or 0.0, item.instance))
        ),
        published=_CLAIMS[name],
        withdrawn=gone,
        needs="an image for the FPGA: one of your own (AWS's development kit) or a licensed one",
    )
