"""What people write for an engine, a precision, a layout, a scenario, to the words that fit knows.

Benchmarks write versions and options beside the name ("TensorRT 10.2.0, CUDA 12.4", "INT8-CW", "channels_last"). What
is not understood is None: the caller says so, and the predictor then takes what is usual on the device.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from brimful.model.work import Mode

# The first whose pattern is found counts, so longer names stand first.
_ENGINES: tuple[tuple[str, str], ...] = (
    (r"tensorrt[-_ ]?llm|trt[-_ ]?llm|trtllm", "trtllm"),
    (r"onnx ?runtime|\bort\b|onnxruntime", "onnxruntime"),
    (r"openvino|\bov\b|\bovms\b", "openvino"),
    (r"tensorrt|\btrt\b|torch[-_]tensorrt", "tensorrt"),
    (r"neuron", "neuron"),
    (r"vllm", "vllm"),
    (r"sglang", "sglang"),
    (r"tf[-_ ]?lite|tensorflow[- ]?lite|litert", "tflite"),
    (r"armnn", "armnn"),
    (r"torch|inductor|dynamo|\btimm\b", "torch"),
    (r"tensorflow|\btf\b|keras", "tensorflow"),
    (r"deepsparse", "deepsparse"),
    (r"mxnet", "mxnet"),
    (r"\bjax\b|flax|saxml", "flax"),
    (r"\btvm\b", "tvm"),
)
_ENGINE_PATTERNS = tuple((re.compile(pattern), name) for pattern, name in _ENGINES)

_PRECISIONS: Mapping[str, str] = {
    "float64": "fp64", "double": "fp64", "f64": "fp64", "float32": "fp32", "float": "fp32", "f32": "fp32",
    "single": "fp32", "float16": "fp16", "half": "fp16", "f16": "fp16", "amp": "fp16", "mixed": "fp16",
    "automixed": "fp16", "fp16amp": "fp16", "ampfp16": "fp16", "mixedprecision": "fp16", "fp16mixed": "fp16",
    "bfloat16": "bf16", "brainfloat16": "bf16", "bf16amp": "bf16", "ampbf16": "bf16", "bf16mixed": "bf16",
    "fp32int8": "int8", "signed8bitinteger": "int8", "uint8": "int8", "int8t": "int8", "i8": "int8", "u8": "int8",
    "int8cw": "int8", "int8hybrid": "int8",
    "w8a8": "int8", "w8a16": "int8", "float8": "fp8", "fp8e4m3": "fp8", "fp8e5m2": "fp8", "f8": "fp8", "e4m3": "fp8",
    "uint4": "int4", "i4": "int4", "int4mixed": "int4", "int4sym": "int4", "int4asym": "int4", "w4a16": "int4",
    "awq": "int4", "gptq": "int4", "nvfp4": "fp4", "mxfp4": "fp4", "float4": "fp4", "fp4normalized": "fp4",
    "tensorfloat32": "tf32",
}  # fmt: skip
_PLAIN_PRECISIONS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8", "int4")
_INSIDE = re.compile(r"(?<![a-z0-9])(fp64|fp32|tf32|fp16|bf16|fp8|fp4|int8|int4)(?![0-9])")

_SCENARIOS: Mapping[str, str] = {
    "throughput": "throughput", "inference": "throughput", "infer": "throughput", "inf": "throughput",
    "inferencethroughput": "throughput", "batch": "throughput", "inferencebatch": "throughput",
    "latency": "latency", "inferencelatency": "latency", "realtime": "latency", "inferencerealtime": "latency",
    "offline": "offline", "server": "server", "interactive": "server", "online": "server",
    "singlestream": "single-stream", "multistream": "multi-stream", "llm": "llm", "generation": "llm",
    "generate": "llm", "training": "throughput", "train": "throughput",
}  # fmt: skip


def _bare(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", text.lower())


def engine(text: str) -> str | None:
    """Return the engine that a text names, None when it names none that is known."""
    lower = text.lower()
    return next((name for pattern, name in _ENGINE_PATTERNS if pattern.search(lower)), None)


def precision(text: str) -> str | None:
    """Return the precision that a text names; of several the first."""
    bare = _bare(text).removeprefix("token")
    if bare in _PLAIN_PRECISIONS:
        return bare
    if bare in _PRECISIONS:
        return _PRECISIONS[bare]
    inside = _INSIDE.search(text.lower().replace("_", " "))
    if inside:
        return inside[1]
    parts = (_bare(part) for part in re.split(r"[\s,;:/+&_-]+", text))
    return next((_PRECISIONS[part] for part in parts if part in _PRECISIONS), None)


def layout(text: str) -> str | None:
    """Return nchw or nhwc."""
    bare = _bare(text)
    if bare in ("nhwc", "channelslast", "ndhwc"):
        return "nhwc"
    return "nchw" if bare in ("nchw", "channelsfirst", "contiguous", "contiguousformat", "ncdhw") else None


def compiled(text: str) -> str | None:
    """Return eager or inductor; a yes or no says whether torch compiles."""
    bare = _bare(text)
    if bare in ("inductor", "dynamo", "compile", "compiled", "torchcompile", "true", "yes", "1", "maxautotune",
                "reduceoverhead", "script", "torchscript", "jit", "default"):  # fmt: skip
        return "inductor"
    return "eager" if bare in ("eager", "false", "no", "0", "none", "off", "") else None


def scenario(text: str) -> str | None:
    """Return a scenario in fit's words."""
    bare = _bare(text)
    if bare.startswith(("llm", "inferencellm")):
        return "llm"
    return _SCENARIOS.get(bare)


def mode(text: str) -> Mode | None:
    """Return inference or training."""
    bare = _bare(text)
    if bare.startswith("train") or bare in ("finetune", "finetuning", "pretraining"):
        return Mode.TRAINING
    known = bare.startswith("inf") or bare in ("eval", "predict", "serving", "generation", "forward")
    return Mode.INFERENCE if known else None
