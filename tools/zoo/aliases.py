"""Other spellings of named models: MLPerf's, TFLite's, OpenVINO's, timm's former ones."""

from __future__ import annotations

import json
from pathlib import Path

Alias = tuple[str, int]  # the model, and the image size that the spelling implies, or 0


def renamed(path: Path) -> dict[str, Alias]:
    """Return timm's own table of former names, as `tools.zoo.renamed` read it from timm's source."""
    return {old: (new.partition(".")[0], 0) for old, new in json.loads(path.read_text(encoding="utf-8")).items()}


ALIASES: dict[str, Alias] = {
    "resnet": ("resnet50", 0),  # MLPerf training, and the first rounds of inference
    "retinanet": ("retinanet_resnext50_32x4d_openimages", 0),
}
