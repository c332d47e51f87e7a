"""The weights that lie beside a configuration: their headers tell how many there are, and in how many bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from brimful.readers.tensor_headers import INDEX, TYPES, Tensor, header, indexed

_FILES = (f"model{INDEX}", "model.safetensors")
_APART = 0.01  # of the count that the configuration gives


@dataclass(frozen=True, slots=True)
class Weights:
    """What the headers say; nothing is known when no file lies there, or one that cannot be read."""

    file: str = ""
    parameters: int | None = None
    bytes: int | None = None
    types: Mapping[str, int] = field(default_factory=dict)
    trouble: str = ""

    def said(self, counted: int) -> Iterator[str]:
        """Yield what a reader of the figures should know of these weights."""
        if self.trouble:
            yield f"{self.file} beside it was not used: {self.trouble}"
        elif self.parameters is not None:
            yield f"weights from the header of {self.file}"
            if counted and abs(self.parameters - counted) > _APART * counted:
                share = 100 * (self.parameters - counted) / counted
                ours = f"the configuration gives {counted:,} ({share:+.0f} %)"
                yield f"which counts {self.parameters:,} elements where {ours}"


def beside(folder: Path) -> Weights:
    """Return what the weights in a folder say, from their headers alone."""
    for name in _FILES:
        path = folder / name
        try:
            if not path.is_file():
                continue
            tensors = list(indexed(str(path)) if name.endswith(INDEX) else header(str(path)).values())
        except (OSError, ValueError, RecursionError) as error:
            return Weights(file=name, trouble=str(error)[:200])
        return _summed(name, tensors)
    return Weights()


def _summed(name: str, tensors: list[Tensor]) -> Weights:
    types = Counter[str]()
    for kind, elements, _ in tensors:
        types[TYPES[kind][1]] += elements
    size = sum(size for _, _, size in tensors)
    if not size:
        return Weights(file=name, trouble="it holds no weights")
    return Weights(file=name, parameters=sum(types.values()), bytes=size, types=dict(sorted(types.items())))
