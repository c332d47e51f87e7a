"""Reads what torch.export.save wrote (*.pt2), without PyTorch and without running anything that is in it.

torch.export.load unpickles, and so runs, whatever a file holds; here its JSON alone is read: the graph with the size of
every tensor, and which of them are weights. The weights themselves stay unread.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from brimful.costs.profile import profiled
from brimful.model.errors import DataError
from brimful.model.text import printable, readable_path
from brimful.model.work import OpCost, OpKind, Profile
from brimful.readers.torch_costs import Call, costs
from brimful.readers.torch_sizes import Sizes, Tensor

_MOST_MEMBERS = 1_000_000
_MOST_BYTES = 1 << 28  # of the graph's JSON: a hundred times what a large model has
_OLD = "serialized_exported_program.json"  # its name before PyTorch 2.8
_AGAIN = "export it again: torch.export.save(torch.export.export(module, inputs), path)"
_SAME = frozenset(
    (
        "view",
        "reshape",
        "flatten",
        "unflatten",
        "permute",
        "transpose",
        "t",
        "numpy_T",
        "squeeze",
        "unsqueeze",
        "expand",
        "expand_as",
        "broadcast_to",
        "select",
        "slice",
        "narrow",
        "split",
        "split_with_sizes",
        "chunk",
        "tensor_split",
        "unbind",
        "alias",
        "detach",
        "view_as",
        "reshape_as",
        "diagonal",
        "movedim",
        "swapaxes",
        "swapdims",
        "unfold",
        "as_strided",
        "dropout",
        "feature_dropout",
        "alpha_dropout",
        "lift_fresh_copy",
        "contiguous",
        "to",
        "type_as",
        "_unsafe_view",
        "unsafe_split",
        "unsafe_chunk",
        "real",
        "imag",
        "view_as_real",
        "view_as_complex",
    )
)
_TYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "fp16", 7: "fp32", 8: "fp64", 10: "complex64",
    12: "bool", 13: "bf16", 28: "uint16", 29: "fp8", 30: "fp8", 31: "fp8", 32: "fp8", 33: "fp8", 34: "uint32",
    35: "uint64",
}  # fmt: skip
_BYTES = {"bool": 1, "uint8": 1, "int8": 1, "fp8": 1, "int16": 2, "uint16": 2, "fp16": 2, "bf16": 2, "fp32": 4}


class TorchReader:
    """Reads a program that torch.export.save wrote (*.pt2); needs no PyTorch and trusts nothing in the file."""

    def __init__(self, where: str = "") -> None:
        self._where = where

    @classmethod
    def check(cls) -> None:
        """Do nothing: it works everywhere."""

    def reads(self, path: str) -> bool:
        """Say whether the file is an archive of torch.export, by the names of what it holds."""
        try:
            with zipfile.ZipFile(path) as archive:
                return _graph_name(archive) is not None
        except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
            return False

    def profile(self, path: str, dims: Mapping[str, int] | None = None) -> Profile:
        """Return what one pass of the program costs; sizes that it leaves open are bound by `dims`."""
        try:
            program = _read(path)
            return _profile(program, path, dict(dims or {}))
        except OSError as error:
            raise _unusable(path, error.strerror or str(error), "check the path and its permissions") from error
        except (zipfile.BadZipFile, NotImplementedError, RecursionError, MemoryError, EOFError) as error:
            raise _unusable(path, f"it is damaged: {type(error).__name__}: {error}", _AGAIN) from error
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, SyntaxError) as error:
            raise _unusable(path, f"its graph is not in the form of torch.export: {_said(error)}", _AGAIN) from error


def _said(error: Exception) -> str:
    return printable(f"{type(error).__name__}: {error}")[:200]


def _graph_name(archive: zipfile.ZipFile) -> str | None:
    """Return the name of the graph in the archive; of several programs the one called `model`, or the first."""
    names = archive.namelist()[:_MOST_MEMBERS]
    found = [name for name in names if name.endswith(_OLD) or ("models/" in name and name.endswith(".json"))]
    return min(found, key=lambda name: (not name.endswith(("/model.json", _OLD)), name), default=None)


def _read(path: str) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        name = _graph_name(archive)
        if name is None:
            raise ValueError("the archive holds no graph")
        if archive.getinfo(name).file_size > _MOST_BYTES:
            raise ValueError(f"its graph is larger than {_MOST_BYTES} bytes")
        with archive.open(name) as file:
            data = file.read(_MOST_BYTES)
    found = json.loads(data)
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")
    return found


def _profile(program: Mapping[str, Any], path: str, dims: dict[str, int]) -> Profile:
    graph = program["graph_module"]["graph"]
    inputs = program["graph_module"]["signature"]["input_specs"]
    sizes = Sizes(program, graph, [_only(spec)["arg"] for spec in inputs if "user_input" in spec], dims, path)
    weights = {
        name: sizes.tensor(name)
        for spec in inputs
        for kind, item in spec.items()
        if kind in ("parameter", "buffer", "tensor_constant")
        for name in [item["arg"]["name"]]
    }
    parameters = {spec["parameter"]["arg"]["name"] for spec in inputs if "parameter" in spec}
    walk = _Walk(graph, sizes, set(weights))
    ops = list(walk.costs())
    types: dict[str, int] = {}
    for item in weights.values():
        types[_type(item)] = types.get(_type(item), 0) + item.numel()
    return profiled(
        ops,
        model=readable_path(path).rpartition("/")[2].removesuffix(".pt2"),
        source=f"graph of torch.export in {readable_path(path)}",
        samples_count=sizes.samples,
        parameters=sum(weights[name].numel() for name in parameters),
        weight_bytes=sum(item.numel() * _BYTES.get(_type(item), 8) for item in weights.values()),
        weight_types=dict(sorted(types.items())),
        activation_bytes=walk.most,
        dims=sizes.bound,
        unknown_ops=tuple(sorted({op.op_type for op in ops if op.op is OpKind.UNKNOWN})),
        dynamic=sizes.dynamic,
    )


def _only(spec: Mapping[str, Any]) -> Any:
    return next(iter(spec.values()))


def _type(tensor: Tensor) -> str:
    return _TYPES.get(tensor.dtype, "other")


class _Walk:
    """Goes through the graph's nodes in their order, which is that of their execution."""

    def __init__(self, graph: Mapping[str, Any], sizes: Sizes, weights: set[str]) -> None:
        self._nodes = graph["nodes"]
        self._sizes = sizes
        self._weights = weights
        self._store: dict[str, str] = {}  # a view -> the tensor in whose memory it lies
        self.most = 0

    def costs(self) -> Iterator[OpCost]:
        """Yield what each node costs; afterwards `most` is the most bytes that lived at once."""
        last: dict[str, int] = {}
        births: list[tuple[int, str]] = []
        for place, node in enumerate(self._nodes):
            named = {item["name"]: _value(item["arg"]) for item in node["inputs"]}
            given = [name for value in named.values() for name in _names(value)]
            made = [name for item in node["outputs"] for name in _names(_value(item))]
            for name in given:
                last[self._root(name)] = place
            if made and given and self._same(node["target"], given[0], made[0]):
                self._follow(given[0], made)
                continue
            births += [(place, name) for name in made]
            if given and self._weights.issuperset(given):
                self._weights.update(made)
                continue
            yield from costs(self._call(node["target"], named, given, made))
        self.most = self._peak(births, last)

    def _same(self, target: str, first: str, made: str) -> bool:
        """Say whether a node only looks at its input in another way, or passes it on."""
        name = _op(target)
        if name not in _SAME:
            return False
        before, after = self._sizes.tensor(first), self._sizes.tensor(made)
        if name in ("to", "type_as"):
            return before.dtype == after.dtype
        if name in ("reshape", "flatten", "contiguous", "reshape_as"):
            return before.dense
        return True

    def _follow(self, first: str, made: list[str]) -> None:
        if first in self._weights:
            self._weights.update(made)
        self._store.update((name, self._root(first)) for name in made)

    def _root(self, name: str) -> str:
        return self._store.get(name, name)

    def _call(self, target: str, named: Mapping[str, Any], given: list[str], made: list[str]) -> Call:
        tensor = self._sizes.tensor
        return Call(
            name=_op(target),
            arguments={name: self._argument(value) for name, value in named.items()},
            given=[tensor(name) for name in given],
            are_weights=[name in self._weights for name in given],
            made=[tensor(name) for name in made],
        )

    def _argument(self, value: Any) -> Any:
        if isinstance(value, _Named):
            return self._sizes.tensor(value)
        if isinstance(value, list):
            return [self._argument(item) for item in value]
        return self._sizes.number(value) if isinstance(value, dict) else value

    def _peak(self, births: list[tuple[int, str]], last: Mapping[str, int]) -> int:
        """Return the most bytes alive at once, the weights apart; what nobody reads lives to the end."""
        changes: dict[int, int] = {}
        for place, name in [(0, name) for name in self._sizes.inputs] + births:
            if name in self._weights:
                continue
            item = self._sizes.tensor(name)
            size = math.prod(item.shape) * _BYTES.get(_type(item), 8)
            changes[place] = changes.get(place, 0) + size
            end = last.get(name, len(self._nodes)) + 1
            changes[end] = changes.get(end, 0) - size
        alive = most = 0
        for place in sorted(changes):
            alive += changes[place]
            most = max(most, alive)
        return most


class _Named(str):
    """The name of a tensor of the graph."""

    __slots__ = ()


def _op(target: str) -> str:
    """torch.ops.aten.conv2d.default -> conv2d; of another library with its name before it."""
    parts = target.removeprefix("torch.ops.").split(".")
    if len(parts) < 2:
        return target
    bare = parts[1] if parts[1].endswith("__") else parts[1].removesuffix("_")
    return bare if parts[0] == "aten" else f"{parts[0]}::{bare}"


def _value(arg: Mapping[str, Any]) -> Any:
    """Return an argument: names of tensors as _Named, numbers, lists of either."""
    kind, value = next(iter(arg.items()))
    if kind == "as_tensor":
        return _Named(value["name"])
    if kind == "as_tensors":
        return [_Named(item["name"]) for item in value]
    if kind in ("as_optional_tensors", "as_nested_tensors"):
        return [_value(item) if isinstance(item, dict) else [_Named(one["name"]) for one in item] for item in value]
    if kind == "as_optional_tensor":
        return _value(value)
    return None if kind == "as_none" else value


def _names(value: Any) -> list[str]:
    if isinstance(value, _Named):
        return [value]
    return [name for item in value for name in _names(item)] if isinstance(value, list) else []


def _unusable(path: str, why: str, fix: str) -> DataError:
    return DataError(f"the program {readable_path(path)} cannot be read", why=why, fix=fix)
