"""Names in MLPerf's results: models with the sizes of their inputs, frameworks, and devices written in an odd way."""

from __future__ import annotations

import re
from typing import Any

MIG = re.compile(r"\((?:(\d)x)?(\d)g\.\d+gb MIG\)")

# Model -> our name and sizes. Lengths of text are means over the data set that the rules prescribe. Where MLCommons
# states only the answer's, the question's is approximate and the row says `tokens-assumed` in docs (README.md here).
_MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "resnet50": ("resnet50", {"image_size": 224}),
    "resnet": ("resnet50", {"image_size": 224}),
    "retinanet": ("retinanet-resnext50", {"image_size": 800}),
    "ssd-small": ("ssd-mobilenet-v1", {"image_size": 300}),
    "ssd-mobilenet": ("ssd-mobilenet-v1", {"image_size": 300}),
    "ssd-large": ("ssd-resnet34", {"image_size": 1200}),
    "ssd-resnet34": ("ssd-resnet34", {"image_size": 1200}),
    "mobilenet": ("mobilenet-v1-1.0-224", {"image_size": 224}),
    "bert": ("bert-large", {"sequence": 384}),
    "bert-large-base-none-bert": ("bert-large", {"sequence": 384}),
    "rnnt": ("rnnt", {}),
    "dlrm": ("dlrm", {}),
    "dlrm-v2": ("dlrm-v2", {}),
    "gptj": ("gpt-j-6b", {"tokens_in": 870, "tokens_out": 69}),
    "llama2-70b": ("llama-2-70b", {"tokens_in": 290, "tokens_out": 294}),
    "llama3.1-405b": ("llama-3.1-405b", {"tokens_in": 9400, "tokens_out": 685}),
    "llama3.1-8b": ("llama-3.1-8b", {"tokens_in": 870, "tokens_out": 128}),
    "llama3.1-8b-edge": ("llama-3.1-8b", {"tokens_in": 870, "tokens_out": 128}),
    "mixtral-8x7b": ("mixtral-8x7b", {"tokens_out": 145}),
    "stable-diffusion-xl": ("stable-diffusion-xl", {"image_size": 1024}),
    "whisper": ("whisper-large-v3", {}),
    "rgat": ("rgat", {}),
}
_TARGET = re.compile(r"-99(\.9)?$")
_KITS = ("v0.7", "v1.0", "v1.1")  # 3D-UNet ran on BraTS' equal volumes before v2.0, on KiTS19's unequal ones since
_TFLITE = re.compile(r"-(\d{3})(?:[-_].*)?$")

_ENGINES = (
    ("tensorrt", "tensorrt", r"TensorRT[ v]*([\d.]+)"),
    ("jetson cuda-x", "tensorrt", r"TensorRT[ v]*([\d.]+)"),
    ("openvino", "openvino", r"openvino[ _]*([\d.]+)"),
    ("tflite", "tflite", r"TFLite v([\w.]+)"),
    ("armnn", "armnn", r"ArmNN v?([\d.]+)"),
    ("tensorflow-lite", "tflite", r"Lite ([\d.]+)"),
    ("deepsparse", "deepsparse", r"DeepSparse v?([\d.]+)"),
    ("onnxruntime", "onnxruntime", r"Onnxruntime v?([\d.]+)"),
    ("onnx", "onnxruntime", r"ONNX v?([\d.]+)"),
    ("tvm", "tvm", r"TVM v?([\d.]+)"),
    ("neuron", "neuron", r"Neuron ([\d.]+)"),
    ("vllm", "vllm", r"vLLM ([\d.]+)"),
    ("pytorch", "torch", r"PyTorch v?([\d.]+)"),
    ("tensorflow", "tensorflow", r"Tensorflow v?([\d.]+)"),
    ("tf v", "tensorflow", r"tf v?([\d.]+)"),
    ("nvidia inference", "tensorrt", r"TensorRT v?([\d.]+)"),
    ("ngc mlperf", "tensorrt", r"TensorRT v?([\d.]+)"),
    ("cuda", "tensorrt", r"TensorRT v?([\d.]+)"),  # CUDA alone: submissions of NVIDIA's TensorRT code
)

# Systems on a chip that are named by their cores.
_ODD = (
    ("Cortex-A72 MP2 (big); Arm Cortex-A53 MP4", "RK3399"),
    ("RK3588", "RK3588"),
    ("S922X", "Amlogic S922X"),
    ("A311D2", "Amlogic A311D2"),
    ("BCM2837", "Raspberry Pi 3"),
    ("BCM2835", "Raspberry Pi 4"),
)


def model_of(name: str, round_: str) -> tuple[str, dict[str, Any]]:
    """Return our name of a model and the sizes of its input."""
    if name.startswith("3d-unet"):
        return ("3d-unet-brats" if round_ in _KITS else "3d-unet-kits19"), {}
    bare = _TARGET.sub("", name.replace("llama3_1", "llama3.1"))
    if bare in _MODELS:
        return _MODELS[bare]
    return tflite_model(name)


def tflite_model(name: str) -> tuple[str, dict[str, Any]]:
    """Return a TFLite model's name without its precision, and its image size when the name ends in one."""
    bare = re.sub(r"-?precision_(float|uint8)", "", name).replace("-fp32-", "-").replace("-int8-", "-")
    match = _TFLITE.search(bare)
    lite = {"lite0": 224, "lite1": 240, "lite2": 260, "lite3": 280, "lite4": 300}
    for word, size in lite.items():
        if word in bare:
            return bare, {"image_size": size}
    return bare, {"image_size": int(match[1])} if match else {}


def engine(framework: str) -> tuple[str, str]:
    """Return our name of an engine, and its version, from a submission's words."""
    lower = framework.lower()
    for word, name, version in _ENGINES:
        if word in lower:
            match = re.search(version, framework, re.IGNORECASE)
            return name, match[1].rstrip(".") if match else ""
    first = framework.lower().strip().partition(" ")[0].strip(",:")
    return first or "unknown", ""


def odd_device(hardware: str) -> str | None:
    """Return the name of the chip for hardware that is named by its cores."""
    return next((name for words, name in _ODD if words in hardware), None)
