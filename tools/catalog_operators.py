"""The operators that the documentation of each target names as supported.

AWS Neuron's lists come from the source folder. Those of ONNX come from tools/operators, which hold the names alone;
`python -m tools.catalog_operators tensorrt < docs/operators.md` makes one anew from its project's page.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from brimful.catalog.nouns import ModelFit, OperatorList
from tools.catalog_sources import cite

_NAMES = Path(__file__).parent / "operators"
_TENSORRT = re.compile(r"\|\s*(\w+)\s*\|\s*Y\s*\|")
_OPENVINO = re.compile(r"\|\s*([\w.]*)\s*\|\s*(\w+)\s*\|\s*(\d[\d, ]*?)\s*\|")
_ONNXRUNTIME = re.compile(r"\|(\w+)\|\*in\*")

# Neuron's lists by their key in the compiled file: target and the framework whose names they use.
_NEURON = {
    "inf1_torch_neuron_aten": ("inferentia1", "aten", "torch-neuron, all releases, less what was removed again"),
    "inf1_tensorflow": ("inferentia1", "tensorflow", "tensorflow-neuron, all releases"),
    "inf1_xla": ("inferentia1", "xla", "neuron-cc, all releases"),
    "torch_neuronx_aten": ("inferentia2", "aten", "short: the compiler lowers more than its page names"),
}


def operators(source: Path) -> list[OperatorList]:
    """Build the lists: ONNX's for each engine, and Neuron's by framework."""
    compiled = json.loads((source / "practices" / "neuron_supported_ops.json").read_text(encoding="utf-8"))
    out = [
        OperatorList(target=target, dialect="onnx", operators=_named(file), note=note, **cite(entry))
        for target, file, note, entry in (
            ("tensorrt", "tensorrt", "TensorRT 10.0; restrictions of single operators are left out", "onnx-tensorrt"),
            ("openvino", "openvino", "its ONNX front end; limitations are left out", "openvino"),
            ("onnxruntime-cpu", "onnxruntime-cpu", "registered kernels, any opset", "onnxruntime"),
            ("onnxruntime-cuda", "onnxruntime-cuda", "registered kernels, any opset", "onnxruntime"),
        )
    ]
    for key, (target, dialect, note) in _NEURON.items():
        names = tuple(sorted({name.removeprefix("aten::") for name in compiled[key]}))
        out.append(OperatorList(target=target, dialect=dialect, operators=names, note=note, **cite("neuron")))
    return out


# What the compiled table of fits calls a target: the columns for how well a family fits, and for what is supported.
_FITS = {
    "inferentia1": ("inf1_fit", "inf1_support_pt"),
    "inferentia2": ("inf2_trn1_fit", "inf2_pt_infer"),
    "trainium": ("inf2_trn1_fit", "trn1_pt_train"),
}


def model_fits(source: Path) -> list[ModelFit]:
    """Build how well each family of models fits each Neuron target, as AWS's page of 2023 told it."""
    with (source / "practices" / "neuron_model_fit.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return [
        ModelFit(
            family=row["family"].lower(),
            target=target,
            fit=row[fit].lower(),
            support=row[support].lower().removesuffix("(2023)"),
            note=row["rule"],
            **cite("neuron-fit"),
        )
        for row in rows
        for target, (fit, support) in _FITS.items()
    ]


def _named(name: str) -> tuple[str, ...]:
    return tuple((_NAMES / f"{name}.txt").read_text(encoding="ascii").split())


def _tensorrt(page: str) -> Iterator[str]:
    return (match[1] for match in _TENSORRT.finditer(page))


def _openvino(page: str) -> Iterator[str]:
    """Yield the operators of ONNX's own set for which the page names a version that is supported."""
    return (match[2] for match in _OPENVINO.finditer(page) if not match[1])


def _onnxruntime(provider: str) -> Callable[[str], Iterator[str]]:
    def names(page: str) -> Iterator[str]:
        part = page.split(f"## Operators implemented by {provider}ExecutionProvider", 1)[1]
        return (match[1] for match in _ONNXRUNTIME.finditer(part.split("\n## ", 1)[0]))

    return names


_PAGES = {
    "tensorrt": _tensorrt,
    "openvino": _openvino,
    "onnxruntime-cpu": _onnxruntime("CPU"),
    "onnxruntime-cuda": _onnxruntime("CUDA"),
}


def main() -> None:
    """Read a page from the standard input and write its names to tools/operators."""
    (name,) = sys.argv[1:]
    found = sorted(set(_PAGES[name](sys.stdin.read())))
    (_NAMES / f"{name}.txt").write_text("\n".join(found) + "\n", encoding="ascii")
    print(f"{name}: {len(found)} operators")


if __name__ == "__main__":
    main()
