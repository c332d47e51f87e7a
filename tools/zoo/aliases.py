"""Other spellings of named models: MLPerf's, TFLite's, OpenVINO's, timm's former ones."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

Alias = tuple[str, int]  # the model, and the image size that the spelling implies, or 0

_PLAIN = {
    # MLPerf inference and training; the accuracy targets follow below
    "resnet": "resnet50",
    "resnet50-v1.5": "resnet50",
    "resnet50v1.5": "resnet50",
    "rn50v1.5": "resnet50",
    "retinanet": "retinanet-resnext50-32x4d",
    "retinanet-resnext50": "retinanet-resnext50-32x4d",
    "3d-unet-kits19": "3d-unet",
    "unet3d": "3d-unet",
    "3d-unet-brats19": "3d-unet-brats",
    "dlrm-dcnv2": "dlrm-v2",
    "dlrmv2": "dlrm-v2",
    "rnn-t": "rnnt",
    "sdxl": "stable-diffusion-xl",
    "ssd-small": "ssd-mobilenet-v1",
    "ssd-mobilenet": "ssd-mobilenet-v1",
    "ssd-large": "ssd-resnet34",
    "ssd-resnet-34": "ssd-resnet34",
    "maskrcnn": "maskrcnn_resnet50_fpn",
    "mobilenet": "mobilenet-v1-1.0",
    "mobilenet-v1": "mobilenet-v1-1.0",
    "stable_diffusion": "stable-diffusion-v2-1",
    # OpenVINO's tables
    "yolo_v3_tiny": "yolov3-tiny",
    "yolo_v3": "yolov3",
    "yolo11": "yolo11n",  # the smallest member: its measured rate against YOLOv8n's says so
    "manual_yolo11": "yolo11n",
    "mobilenet-v2": "mobilenetv2_100",
    "ssd_mobilenet_v1_coco": "ssd-mobilenet-v1",
    "unet-camvid-onnx-0001": "unet",
    "lcm-dreamshaper": "lcm-dreamshaper-v7",
    # Hugging Face and Neuron
    "whisper": "whisper-large-v3",  # MLPerf's
    "flux1": "flux.1-dev",
    "flux.1": "flux.1-dev",
    "runwayml/stable-diffusion-v1-5": "stable-diffusion-v1-5",
    "stabilityai/stable-diffusion-2-1": "stable-diffusion-v2-1",
    "stabilityai/stable-diffusion-xl-base-1.0": "stable-diffusion-xl",
    "stable diffusion 1.5": "stable-diffusion-v1-5",
    "stable diffusion 2.1": "stable-diffusion-v2-1",
    "stable-diffusion-2-1": "stable-diffusion-v2-1",
    "stable diffusion xl base": "stable-diffusion-xl",
    "stable-diffusion-xl-base-1.0": "stable-diffusion-xl",
    "stable-diffusion-xl-1.0-inpainting-0.1": "stable-diffusion-xl",
    "facebook/wav2vec2-base-960h": "wav2vec2-base",
    "wav2vec2": "wav2vec2-base",
    # NVIDIA's examples
    "ssd300": "ssd300-resnet50",
    "unet_medical": "unet",
    "unet_3d_medical": "3d-unet-window",
    "se-resnext101-32x4d": "seresnext101_32x4d",
    # TFLite and TensorFlow's slim models
    "inception_v4_2016_09_09": "inception_v4",
    "inception_v1": "googlenet",
    "resnet_v2_50": "resnetv2_50",
    "resnet_v2_101": "resnetv2_101",
    "resnet_v2_152": "resnetv2_152",
    "resnet_v1_50": "resnet50",
    "resnet_v1_101": "resnet101",
    "resnet_v1_152": "resnet152",
    "squeezenet": "squeezenet1_0",
    "densenet": "densenet121",
    "nasnet_large": "nasnetalarge",
    "mnasnet_0.5_224": "mnasnet_050",
    "mnasnet_1.0_224": "mnasnet_100",
    # torchvision's names of what its own table lacks, by timm's
    "vit_h_14": "vit_huge_patch14_224",
    "wide_resnet101_2": "wide_resnet101_2",
    # timm: gone without a line in its own table of former names
    **{
        f"swin_v2_cr_{size}_{side}": f"swinv2_cr_{size}_{side}"
        for size, side in product(("tiny", "tiny_ns", "small", "base", "large", "huge", "giant"), (224, 384))
        if (size, side) != ("tiny_ns", 384)
    },
    **{f"nfnet_f{step}s": f"nfnet_f{step}" for step in range(8)},  # SiLU for GELU: the cost is the same
}  # fmt: skip


def _regnet() -> dict[str, Alias]:
    """Return the spellings of torchvision, which writes 1_6gf where timm writes 016."""
    sizes = {"400mf": 4, "800mf": 8, "1_6gf": 16, "3_2gf": 32, "8gf": 80, "16gf": 160, "32gf": 320, "128gf": 1280}
    return {
        f"regnet_{kind}_{size}": (f"regnet{kind}_{number:03d}", 0)
        for kind, (size, number) in product("xy", sizes.items())
        if (kind, size) != ("x", "128gf")
    }


def renamed(path: Path) -> dict[str, Alias]:
    """Return timm's own table of former names (`register_model_deprecations` in timm 1.0.29)."""
    return {old: (new.partition(".")[0], 0) for old, new in json.loads(path.read_text(encoding="utf-8")).items()}


def _mlperf() -> dict[str, Alias]:
    models = ("3d-unet", "dlrm", "dlrm-v2", "resnet50", "rnnt", "retinanet-resnext50-32x4d", "stable-diffusion-xl")
    return {f"{model}-{target}": (model, 0) for model, target in product(models, ("99", "99.9"))}


def _tflite() -> dict[str, Alias]:
    """MLPerf's open division names TFLite models by type of numbers, width and image side."""
    widths = {"0.35": "035", "0.5": "050", "0.75": "075", "1.0": "100", "1.4": "140"}
    out: dict[str, Alias] = {}
    for kind, side in product(("precision_float-", "precision_uint8-", ""), (128, 160, 192, 224)):
        for width in ("0.25", "0.5", "0.75", "1.0"):
            out[f"mobilenet-v1-{kind}{width}-{side}"] = (f"mobilenet-v1-{width}", side)
            out[f"mobilenet-v1-{width}-{side}-quantized"] = (f"mobilenet-v1-{width}", side)
        for width, name in widths.items():
            out[f"mobilenet-v2-{kind}{width}-{side}"] = (f"mobilenetv2_{name}", side)
        for size in ("large", "small"):
            out[f"mobilenet-v3-{kind}{size}-{side}"] = (f"mobilenetv3_{size}_100", side)
            out[f"mobilenet-v3-{kind}{size}-minimalistic-{side}"] = (f"tf_mobilenetv3_{size}_minimal_100", side)
    for size, kind in product(("large", "small"), ("float", "uint8")):
        out[f"mobilenet-v3-{size}-minimalistic_224_1.0_{kind}"] = (f"tf_mobilenetv3_{size}_minimal_100", 224)
        out[f"mobilenet-v3-{size}_224_1.0_{kind}"] = (f"mobilenetv3_{size}_100", 224)
    for step, side in enumerate((224, 240, 260, 280, 300)):
        for spelling in ("efficientnet-fp32-lite{}", "efficientnet-int8-lite{}", "efficientnet-lite{}-non-quantized",
                         "efficientnet-lite{}", "efficientnet-lite{}-fp32", "efficientnet-lite{}-int8"):  # fmt: skip
            out[spelling.format(step)] = (f"tf_efficientnet_lite{step}", side)
    return out


def _yolo() -> dict[str, Alias]:
    spellings = {"yolo_v5{}": "yolov5{}", "yolo_v8{}": "yolov8{}", "yolo-v8{}": "yolov8{}", "yolov11{}": "yolo11{}"}
    return {left.format(size): (right.format(size), 0) for left, right in spellings.items() for size in "nsmlx"}


ALIASES: dict[str, Alias] = {
    **{spelling: (name, 0) for spelling, name in _PLAIN.items()},
    **_mlperf(),
    **_tflite(),
    **_yolo(),
    **_regnet(),
}
