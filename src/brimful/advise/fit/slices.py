"""The shares of a GPU that can be had instead of a whole one, and what a program can allocate of each.

MIG: NVIDIA's Multi-Instance GPU user guide, "Supported MIG Profiles"
(docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html): the fractions of memory and of
multiprocessors, and how many can be had. Bytes are those of `nvidia-smi mig -lgip` where it was run: H200 on driver
580.159 (2026-11-19), A100 of 40 GB as published. For the others they are a fraction of the whole, less what the H200
loses beside it, which is the most that was seen.
"""

from __future__ import annotations

from brimful.model.noun import Noun, noun, unknown
from brimful.model.units import GIB


@noun
class Slice(Noun):
    """One kind of share of a GPU."""

    slice: str
    memory_share: float
    compute_share: float
    most_count: int  # of this kind on one GPU
    usable_bytes: int | None = unknown("it was not measured: a share of the whole")


# Eighths of the memory, sevenths of the multiprocessors, how many at most
_SHAPES = ((1, 1, 7), (2, 1, 4), (2, 2, 3), (4, 3, 2), (4, 4, 1), (8, 7, 1))
_NAMES = {
    "A100-40GB": ("1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"),
    "A100-80GB": ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"),
    "H100": ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"),
    "H200": ("1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"),
    "B200": ("1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"),
}
_SHOWN_GIB = {
    "A100-40GB": (4.75, 9.75, 9.75, 19.62, 19.62, 39.5),
    "H200": (16.0, 32.5, 32.5, 69.75, 69.75, 140.0),
}
_LOSS = {1: 0.91, 2: 0.92, 4: 0.99, 8: 1.0}  # the H200's slices against eighths of its 140 GiB

# Shares of an L4 that EC2 rents (G6f): what a program can allocate of each, as EC2 tells it (describe-instance-types).
G6F_BYTES = {0.125: round(2.8 * GIB), 0.25: round(5.6 * GIB), 0.5: round(11.2 * GIB)}


def slices(model: str) -> tuple[Slice, ...]:
    """Return the shares of a GPU, the smallest first; none for a model that has none, or that is not told of here."""
    names = _NAMES.get(model, ())
    shown = _SHOWN_GIB.get(model)
    return tuple(
        Slice(
            slice=name,
            memory_share=eighths / 8,
            compute_share=sevenths / 7,
            most_count=most,
            usable_bytes=None if shown is None else round(shown[at] * GIB),
        )
        for at, (name, (eighths, sevenths, most)) in enumerate(zip(names, _SHAPES, strict=False))
    )


def slice_bytes(part: Slice, whole_bytes: int) -> int:
    """Return what a program can allocate of a share, of a GPU of which it could allocate `whole_bytes`."""
    if part.usable_bytes is not None:
        return min(part.usable_bytes, whole_bytes)
    return int(whole_bytes * part.memory_share * _LOSS[round(part.memory_share * 8)])


def smallest_slice(model: str, whole_bytes: int, needed_bytes: int) -> Slice | None:
    """Return the smallest share of a GPU that holds so many bytes, None when not even the whole does."""
    return next((part for part in slices(model) if slice_bytes(part, whole_bytes) >= needed_bytes), None)
