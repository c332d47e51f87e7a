"""Profile the architectures described here: `python -m tools.zoo.make`; needs PyTorch, writes tools/data/zoo.

Each is compared with what its authors or others publish; a difference beyond what its entry allows is printed.
"""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from tools.zoo.parts import Entry, counted
from tools.zoo.rows import row
from tools.zoo.table import DATA

FAMILIES = (
    "mobilenet",
    "detection",
    "darknet",
    "yolo",
    "diffusion",
    "flux",
    "segmentation",
    "speech",
    "whisper",
    "voices",
    "recommendation",
    "translation",
)
_MULTIPLIED = frozenset(("conv", "grouped", "matmul", "attention", "recurrent"))


def main() -> None:
    """Profile all of them and write one line of JSON for each."""
    warnings.simplefilter("ignore")
    lines = [json.dumps(_profiled(entry), separators=(",", ":")) for entry in entries()]
    with (DATA / "modules.jsonl.gz").open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write("".join(line + "\n" for line in lines).encode())


def entries() -> Iterator[Entry]:
    """Yield every model that is described here."""
    for family in FAMILIES:
        yield from import_module(f"tools.zoo.{family}").entries()


def _profiled(entry: Entry) -> dict[str, Any]:
    other = entry.size + 64 if entry.size and entry.grows else None
    found = row(entry.operations, entry.size, other)
    parameters = entry.parameters()
    remark = "; ".join(
        part
        for part in (
            f"one sample is {entry.sample}" if entry.sample else "",
            f"dynamic: {entry.dynamic}" if entry.dynamic else "",
        )
        if part
    )
    print(_compared(entry, found["ops"], parameters), flush=True)
    return {"library": "zoo", "name": entry.name, **found, "parameters": parameters, "remark": remark}


def _compared(entry: Entry, ops: Sequence[Any], parameters: int) -> str:
    gflops = sum(op[2] * op[3] for op in ops if op[0] in _MULTIPLIED) / 1e9
    text = f"{entry.name:44} {parameters / 1e6:10.3f} M {gflops:12.3f} GFLOP"
    known = entry.published
    if known is None:
        return f"{text}  nothing published to compare with"
    if known.of is not None:
        kinds = _MULTIPLIED - {"attention"} if known.without_attention else _MULTIPLIED
        gflops = sum(op.flops * op.ops_count for op in counted(known.of, entry.size) if op.op in kinds) / 1e9
    for ours, theirs in ((parameters / 1e6, known.parameters_m), (gflops, known.gflops)):
        if theirs is not None:
            flag = "" if abs(ours / theirs - 1) <= known.within else " DIFFERS"
            text += f"  {ours / theirs - 1:+.1%} of {theirs:g}{flag}"
    return f"{text}  ({known.source})"


if __name__ == "__main__":
    main()
