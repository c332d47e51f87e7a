"""How right the ONNX reader is: shapes against ONNX Runtime, products against torch's counter, on exports by torch.

python -m benchmarks.onnx_exports [NAME ...]

Needs `torch==2.13.0 transformers onnx onnxscript onnxruntime` beside brimful, best in an environment of its own. Models
are made from their configurations with random weights; each is exported by both of torch's exporters, where they can.
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
import transformers as hf
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.machine import describe
from brimful.model.work import OpKind
from brimful.readers.onnx.reader import OnnxReader, shapes_of

PRODUCTS = {OpKind.CONV, OpKind.GROUPED, OpKind.MATMUL, OpKind.ATTENTION, OpKind.RECURRENT}
TEXT, IMAGE, SMALL = (2, 32), (2, 3, 224, 224), {"hidden_size": 256, "num_attention_heads": 8, "vocab_size": 1000}
DECODER = {**SMALL, "intermediate_size": 688, "num_key_value_heads": 2, "num_hidden_layers": 2, "use_cache": False}
T5 = {"d_model": 256, "d_ff": 512, "num_heads": 4, "num_layers": 2, "vocab_size": 1000}

Make = Callable[[], nn.Module]
MODELS: dict[str, tuple[Make, tuple[int, ...]]] = {
    "bert": (lambda: hf.BertModel(hf.BertConfig(num_hidden_layers=2)), TEXT),
    "distilbert": (lambda: hf.DistilBertModel(hf.DistilBertConfig(n_layers=2)), TEXT),
    "gpt2": (lambda: hf.GPT2LMHeadModel(hf.GPT2Config(n_layer=2, use_cache=False)), TEXT),
    "llama": (lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**DECODER)), TEXT),
    "mistral": (lambda: hf.MistralForCausalLM(hf.MistralConfig(**DECODER, sliding_window=16)), TEXT),
    "t5": (lambda: hf.T5EncoderModel(hf.T5Config(**T5)), TEXT),
    "deberta": (lambda: hf.DebertaV2Model(hf.DebertaV2Config(**SMALL, num_hidden_layers=2)), TEXT),
    "wav2vec2": (lambda: hf.Wav2Vec2Model(hf.Wav2Vec2Config(num_hidden_layers=2)), (1, 16000)),
    "vit": (lambda: hf.ViTForImageClassification(hf.ViTConfig(num_hidden_layers=2)), IMAGE),
    "swin": (lambda: hf.SwinForImageClassification(hf.SwinConfig(depths=[2, 2, 2, 2])), IMAGE),
    "convnext": (lambda: hf.ConvNextForImageClassification(hf.ConvNextConfig()), IMAGE),
    "segformer": (lambda: hf.SegformerForSemanticSegmentation(hf.SegformerConfig()), (1, 3, 128, 128)),
    "resnet50": (lambda: hf.ResNetForImageClassification(hf.ResNetConfig()), IMAGE),
    "mobilenet": (lambda: hf.MobileNetV2ForImageClassification(hf.MobileNetV2Config()), IMAGE),
    "efficientnet": (lambda: hf.EfficientNetForImageClassification(hf.EfficientNetConfig(image_size=224)), IMAGE),
}


class First(nn.Module):
    """A model that gives its first output alone, and takes its first input alone."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Run the model."""
        return self.inner(value).to_tuple()[0]


def exported(model: nn.Module, value: torch.Tensor, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the exports that torch can make, with an open batch."""
    for way in ("dynamo", "legacy"):
        path = folder / f"{way}.onnx"
        open_batch: dict[str, Any] = {"dynamic_axes": {"value": {0: "batch"}}, "opset_version": 17}
        if way == "dynamo":
            open_batch = {"external_data": False, "verbose": False}
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                torch.onnx.export(model, (value,), path, dynamo=way == "dynamo", input_names=["value"], **open_batch)
            except Exception as error:  # noqa: BLE001 - whatever torch cannot export is no fault of the reader
                print(f"  {'':<14} {way:<7} cannot be exported: {type(error).__name__}", file=sys.stderr)
                continue
        yield way, path


def right_shapes(path: Path, shapes: dict[str, tuple[int, ...]], value: torch.Tensor) -> tuple[int, int]:
    """Return how many values have the shape that ONNX Runtime gives them, and how many there are."""
    model = onnx.load(path)
    names = [name for node in model.graph.node for name in node.output if name]
    declared = {item.name for item in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in declared)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found = session.run(names, {"value": value.numpy()})
    return sum(shapes.get(name) == np.shape(item) for name, item in zip(names, found, strict=True)), len(names)


def compare(name: str, folder: Path) -> None:
    """Print one model's lines."""
    make, shape = MODELS[name]
    model = First(make()).eval()
    value = torch.randint(0, 100, shape) if shape == TEXT else torch.randn(shape)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(value)
    parameters = sum(item.numel() for item in model.parameters())
    for way, path in exported(model, value, folder):
        dims = {"batch": shape[0]} if way == "legacy" else {}
        found = OnnxReader().profile(str(path), dims)
        flops = sum(op.flops * op.ops_count for op in found.ops if op.op in PRODUCTS)
        right, count = right_shapes(path, shapes_of(str(path), dims), value)
        print(
            f"  {name:<14} {way:<7} {right:>5} of {count:>5} shapes, {flops / counter.get_total_flops():.4f} of "
            f"torch's flops, {(found.parameters or 0) / parameters:.4f} of its parameters"
        )


def main(*names: str) -> None:
    """Print the machine, then all models."""
    print(describe())
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    for name in names or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            compare(name, Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
