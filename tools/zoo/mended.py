"""Rows as they should have been written: what was learnt after the models of a library had been profiled."""

from __future__ import annotations

from typing import Any

from brimful.readers.torch_costs import kind_of

_NO_WORK = frozenset(("as_strided",))  # a view that PyTorch does not declare as one
_REGIONS = "dynamic: how many regions and detections it finds depends on the image; counted with the most that it keeps"
_DETECTS = ("fasterrcnn", "maskrcnn", "keypointrcnn")


def mended(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its operations classified as the reader does today, and with what else is known of it."""
    ops = [[kind_of(op[1], op[0]), *op[1:]] for op in row["ops"] if op[1] not in _NO_WORK]
    out = {**row, "ops": ops}
    if row["library"] == "torchvision" and row["name"].startswith(_DETECTS):
        out["remark"] = _REGIONS
    if row["name"] == "googlenet":
        out["parameters"] = row["published"]["parameters"]  # without the heads that only training has
    return out
