"""The image models of timm and torchvision. Runs where both are installed; writes JSON lines, a model a line.

PYTHONPATH=src:. python -m tools.zoo.images OUT.jsonl [WORKERS]
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from brimful.readers.torch_program import operations
from tools.zoo.rows import row

_BIGGER = 64  # divisible by every window and stride of the models here that take several sizes


def main() -> None:
    """Profile all of them."""
    out, workers = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with Pool(workers, maxtasksperchild=20) as pool, out.open("w", encoding="utf-8") as file:
        for line in pool.imap_unordered(_profiled, list(_names()), chunksize=2):
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
            file.flush()


def _names() -> Iterator[tuple[str, str]]:
    import timm  # noqa: PLC0415
    import torchvision  # noqa: PLC0415

    yield from (("timm", name) for name in timm.list_models())
    yield from (("torchvision", name) for name in torchvision.models.list_models() if not name.startswith("quantized"))


def _profiled(item: tuple[str, str]) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    library, name = item
    try:
        return {"library": library, "name": name, **(_timm(name) if library == "timm" else _torchvision(name))}
    except Exception as error:  # noqa: BLE001 - one model that cannot be built must not end the table
        return {"library": library, "name": name, "error": f"{type(error).__name__}: {error}"[:300]}


def _timm(name: str) -> dict[str, Any]:
    import timm  # noqa: PLC0415
    import torch  # noqa: PLC0415

    config = timm.get_pretrained_cfg(name, allow_unregistered=True)
    channels, size = (config.input_size[0], config.input_size[-1]) if config else (3, 224)
    device = ["meta"]

    def build(side: int) -> Any:
        with torch.device(device[0]):
            if side == size:
                return timm.create_model(name).eval()
            try:
                return timm.create_model(name, img_size=side).eval()
            except TypeError:
                return timm.create_model(name).eval()

    def ops(side: int) -> Any:
        module = build(side)
        return operations(module, torch.empty(1, channels, side, side, device=device[0]))

    try:
        found = row(ops, size, size + _BIGGER)
    except Exception:  # noqa: BLE001 - some models compute with values while they are built: then on the CPU
        device[0] = "cpu"
        found = row(ops, size, size + _BIGGER)
    parameters = sum(item.numel() for item in build(size).parameters())
    return {**found, "parameters": parameters, "channels": channels}


def _torchvision(name: str) -> dict[str, Any]:
    import torch  # noqa: PLC0415
    import torchvision  # noqa: PLC0415

    weights = torchvision.models.get_model_weights(name)
    meta = weights.DEFAULT.meta if len(weights) else {}
    detects = name.startswith(("fasterrcnn", "maskrcnn", "keypointrcnn", "retinanet", "fcos", "ssd"))
    video = name in {"mc3_18", "mvit_v1_b", "mvit_v2_s", "r2plus1d_18", "r3d_18", "s3d"} or name.startswith("swin3d")
    device = "cpu" if detects else "meta"
    size = 800 if detects else 224
    if not detects and not video and "crop_size" in getattr(weights.DEFAULT.transforms, "keywords", {}):
        size = int(weights.DEFAULT.transforms.keywords["crop_size"])
    extra = {"weights_backbone": None} if detects or "_resnet" in name or "lraspp" in name else {}

    def ops(side: int) -> Any:
        with torch.device(device):
            module = torchvision.models.get_model(name, weights=None, **extra).eval()
            shape = (1, 3, 16, side, side) if video else (1, 3, side, side)
            inputs = [torch.rand(3, side, side)] if detects else torch.rand(*shape)
        return operations(module, inputs, inputs) if name.startswith("raft") else operations(module, inputs)

    with torch.device(device):
        module = torchvision.models.get_model(name, weights=None, **extra)
    parameters = sum(item.numel() for item in module.parameters())
    published = {"ops": meta.get("_ops"), "parameters": meta.get("num_params")}
    found = row(ops, size, None if detects or video else size + _BIGGER)
    return {**found, "parameters": parameters, "channels": 3, "published": published}


if __name__ == "__main__":
    main()
