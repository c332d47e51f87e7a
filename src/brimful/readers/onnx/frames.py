"""The names that a graph knows: its own, and those of the graph around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brimful.readers.onnx.dims import Dims
from brimful.readers.onnx.messages import Info
from brimful.readers.onnx.tensors import TYPES
from brimful.readers.onnx.values import Value


class Frame:
    """The names of one graph, within those of the graph around it."""

    __slots__ = ("attributes", "declared", "opsets", "parent", "values")

    def __init__(self, parent: Frame | None, opsets: Mapping[str, int], infos: Mapping[str, Info], dims: Dims) -> None:
        self.parent, self.opsets = parent, opsets
        self.values: dict[str, Value] = {}
        self.declared = Declared(infos, dims)
        self.attributes: Mapping[str, Any] | None = parent.attributes if parent is not None else None

    def find(self, name: str) -> Value | None:
        """Return a value by its name."""
        frame: Frame | None = self
        while frame is not None:
            value = frame.values.get(name)
            if value is not None:
                return value
            frame = frame.parent
        return None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None


class Declared(Mapping[str, Any]):
    """What the file declares of the shapes within a graph, as far as the sizes are known."""

    def __init__(self, infos: Mapping[str, Info], dims: Dims) -> None:
        self._infos, self._dims = infos, dims

    def __getitem__(self, name: str) -> Any:
        return self._dims.partly(self._infos[name])

    def __iter__(self) -> Any:
        return iter(self._infos)

    def __len__(self) -> int:
        return len(self._infos)

    def type(self, name: str) -> int:
        """Return the declared type of a value, 0 when there is none."""
        info = self._infos.get(name)
        return info.type if info is not None and info.type in TYPES else 0
