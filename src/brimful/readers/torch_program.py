"""What a PyTorch program costs: the operations it dispatches, seen without computing or allocating anything.

`profile_module` runs a module once on the meta device and writes down every ATen operation with its sizes; a file made
by `torch.export.save` (`*.pt2`) tells the same from its graph. Counted are the operations of eager mode: what a compiler
fuses later is the engine's doing, not the model's.

Multiplications and additions are two floating-point operations; an elementwise operation is one for each element that it
writes, a norm or a softmax five, a pool one for each element under its window, a movement of data none.
"""

from __future__ import annotations

import importlib.util
import math
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from brimful.costs.profile import profiled
from brimful.model.errors import DataError, Unavailable
from brimful.model.text import readable_path
from brimful.model.work import OpCost, OpKind, Profile

if TYPE_CHECKING:
    import torch

_NORM_FLOPS = 5  # for each element: mean, variance, difference, scale, shift
_MOST_MEMBERS = 100_000


class TorchReader:
    """Reads a program that torch.export.save wrote (*.pt2); needs PyTorch."""

    def __init__(self, where: str = "") -> None:
        self._where = where

    @classmethod
    def check(cls) -> None:
        """Raise Unavailable when PyTorch is not installed."""
        if importlib.util.find_spec("torch") is None:
            raise Unavailable(
                "PyTorch is not installed",
                why="an exported program is read with PyTorch itself",
                fix="pip install 'brimful[torch]'",
            )

    def reads(self, path: str) -> bool:
        """Say whether the file is an archive of torch.export, by the names of what it holds."""
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()[:_MOST_MEMBERS]
        except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
            return False
        return any(name.endswith(("archive_format", "serialized_exported_program.json")) for name in names) or any(
            "/models/" in name and name.endswith(".json") for name in names
        )

    def profile(self, path: str, dims: Mapping[str, int] | None = None) -> Profile:
        """Return what one pass of the program costs; sizes that it leaves open are bound by `dims`."""
        self.check()
        import torch  # noqa: PLC0415 - an extra, and slow to import

        try:
            program = torch.export.load(path)
        except Exception as error:  # a file from outside: what torch raises of it has no common class
            raise DataError(
                f"the program {readable_path(path)} cannot be read",
                why=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason given'}",
                fix="export it again with this version of torch: torch.export.save(torch.export.export(...), path)",
            ) from error
        return _of_program(program, path, dict(dims or {}))


def profile_module(module: Any, *inputs: Any, model: str, samples: int = 1, **keywords: Any) -> Profile:
    """Return what one call of an nn.Module costs; on the meta device (`module.to("meta")`) it takes no memory.

    `samples` is how many the inputs hold (the batch).
    """
    import torch  # noqa: PLC0415

    weights = _unique(module.parameters())
    return profiled(
        operations(module, *inputs, **keywords),
        model=model,
        source=f"operations that PyTorch {torch.__version__} dispatches",
        samples_count=samples,
        parameters=sum(item.numel() for item in weights),
        weight_bytes=sum(item.numel() * item.element_size() for item in weights),
    )


def operations(module: Any, *inputs: Any, **keywords: Any) -> list[OpCost]:
    """Return every operation of one call of an nn.Module, in the order in which they are dispatched."""
    import torch  # noqa: PLC0415

    watched = _watch([*module.parameters(), *module.buffers()])
    with torch.no_grad(), watched, _watch_attention(watched):
        module(*inputs, **keywords)
    found: list[OpCost] = watched.costs
    return found


def _unique(items: Iterable[Any]) -> list[Any]:
    return list({id(item): item for item in items}.values())


def _watch(weights: Sequence[Any]) -> Any:
    """Return a dispatch mode that keeps the cost of every operation; made here, for the class needs torch."""
    from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC0415

    class Watch(TorchDispatchMode):  # type: ignore[misc]
        """Sees each ATen call with its tensors."""

        def __init__(self) -> None:
            super().__init__()
            self.costs: list[OpCost] = []
            self.muted = False
            self._weights = {id(item): item for item in weights}

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: PLW3201
            del types
            out = func(*args, **(kwargs or {}))
            if self.muted:
                return out
            given, made = _tensors((args, kwargs or {})), _tensors(out)
            are_weights = [id(item) in self._weights for item in given]
            if _is_view(func):
                if given and are_weights[0]:  # a transposed weight is a weight; keeping it keeps its id its own
                    self._weights.update((id(item), item) for item in made)
                return out
            if given and all(are_weights):
                self._weights.update((id(item), item) for item in made)  # cast or fused once, not at each call
                return out
            found = cost(func, args, kwargs or {}, given, are_weights, made)
            if found is not None:
                self.costs.append(found)
            return out

    return Watch()


def _watch_attention(watched: Any) -> Any:
    """Return a mode that counts scaled dot-product attention as one operation: only the meta device takes it apart."""
    from torch.nn.functional import scaled_dot_product_attention as whole  # noqa: PLC0415
    from torch.overrides import TorchFunctionMode  # noqa: PLC0415

    class WatchAttention(TorchFunctionMode):  # type: ignore[misc]
        """Sees each call of the Python API."""

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: PLW3201
            del types
            if func is not whole or watched.muted:
                return func(*args, **(kwargs or {}))
            watched.muted = True
            try:
                out = func(*args, **(kwargs or {}))
            finally:
                watched.muted = False
            sides = [*args, *(kwargs or {}).values()]
            watched.costs.append(
                OpCost(
                    op=OpKind.ATTENTION,
                    op_type="scaled_dot_product_attention",
                    flops=_attention(sides, out),
                    read_elements=sum(_elements(item) for item in _tensors(sides)),
                    write_elements=_elements(out),
                )
            )
            return out

    return WatchAttention()


def _tensors(value: Any) -> list[torch.Tensor]:
    import torch  # noqa: PLC0415

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, list | tuple) or hasattr(value, "__iter__") and not isinstance(value, str | bytes):
        return [tensor for item in value for tensor in _tensors(item)]
    return []


def _is_view(func: Any) -> bool:
    """Say whether an operation only looks at its input in another way."""
    if func._schema.name in ("aten::_unsafe_view", "aten::unsafe_split", "aten::unsafe_chunk"):  # noqa: SLF001
        return True
    returns = func._schema.returns  # noqa: SLF001 - the public way to ask an OpOverload for its schema
    return bool(returns) and all(item.alias_info is not None and not item.alias_info.is_write for item in returns)


def _elements(tensor: Any) -> int:
    """Return how many elements lie in memory: an expanded axis is read once."""
    return math.prod(size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride != 0 or size == 1)


def cost(
    func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], given: Sequence[Any], are_weights: Sequence[bool], made: Any
) -> OpCost | None:
    """Return what one ATen operation costs; None for those that only make room or a constant."""
    name = func._schema.name.removeprefix("aten::").removesuffix("_")  # noqa: SLF001
    if not made or not given or name in _FREE:
        return None
    kind, count = _CLASSES.get(name) or _by_tag(func)
    if kind is OpKind.MATMUL and not any(are_weights):
        kind = OpKind.ATTENTION
    if kind is OpKind.CONV and _groups(args) > 1:
        kind = OpKind.GROUPED
    weights = sum(_elements(item) for item, is_weight in zip(given, are_weights, strict=True) if is_weight)
    read = sum(_elements(item) for item, is_weight in zip(given, are_weights, strict=True) if not is_weight)
    write = sum(_elements(item) for item in made)
    if kind is OpKind.GATHER:  # of a table only the rows that are asked for are read
        weights, read = min(weights, write), min(read, 2 * write)
    del kwargs
    return OpCost(
        op=kind,
        op_type=name,
        flops=float(count(args, made)),
        weight_elements=weights,
        read_elements=read,
        write_elements=write,
    )


# --- what each operation computes ---

_Count = Callable[[Sequence[Any], Sequence[Any]], float]


def _written(args: Sequence[Any], made: Sequence[Any]) -> float:
    del args
    return float(made[0].numel())


def _none(args: Sequence[Any], made: Sequence[Any]) -> float:
    del args, made
    return 0.0


def _five(args: Sequence[Any], made: Sequence[Any]) -> float:
    return _NORM_FLOPS * _written(args, made)


def _read(args: Sequence[Any], made: Sequence[Any]) -> float:
    del made
    return float(args[0].numel())


def _mm(args: Sequence[Any], made: Sequence[Any]) -> float:
    return 2.0 * made[0].numel() * args[0].shape[-1]


def _addmm(args: Sequence[Any], made: Sequence[Any]) -> float:
    return 2.0 * made[0].numel() * args[1].shape[-1]


def _conv(args: Sequence[Any], made: Sequence[Any]) -> float:
    weight = args[1]
    transposed = bool(args[6]) if len(args) > 6 else False
    places = args[0].numel() if transposed else made[0].numel()
    return 2.0 * places * math.prod(weight.shape[1:])


def _groups(args: Sequence[Any]) -> int:
    return int(args[8]) if len(args) > 8 else 1


def _attention(args: Sequence[Any], made: Sequence[Any]) -> float:
    query, key, value = args[:3]
    del made
    return 2.0 * math.prod(query.shape[:-1]) * key.shape[-2] * (query.shape[-1] + value.shape[-1])


def _pool(args: Sequence[Any], made: Sequence[Any]) -> float:
    return float(made[0].numel() * math.prod(args[1]))


_FREE = frozenset(
    """empty_like zeros_like ones_like full_like new_zeros new_empty new_ones new_full detach sym_size sym_numel
    _local_scalar_dense _assert_async is_same_size lift_fresh fill zero""".split()
)
_CLASSES: dict[str, tuple[OpKind, _Count]] = {
    **dict.fromkeys(("convolution", "_convolution", "cudnn_convolution"), (OpKind.CONV, _conv)),
    **dict.fromkeys(("mm", "bmm"), (OpKind.MATMUL, _mm)),
    **dict.fromkeys(("addmm", "baddbmm"), (OpKind.MATMUL, _addmm)),
    **dict.fromkeys(
        (
            "_scaled_dot_product_flash_attention",
            "_scaled_dot_product_flash_attention_for_cpu",
            "_scaled_dot_product_efficient_attention",
            "_scaled_dot_product_cudnn_attention",
            "_scaled_dot_product_fused_attention_overrideable",
            "_scaled_dot_product_attention_math",
            "scaled_dot_product_attention",
        ),
        (OpKind.ATTENTION, _attention),
    ),
    **dict.fromkeys(
        (
            "native_batch_norm",
            "_native_batch_norm_legit",
            "_native_batch_norm_legit_no_training",
            "cudnn_batch_norm",
            "native_layer_norm",
            "native_group_norm",
            "_fused_rms_norm",
            "rms_norm",
            "linalg_vector_norm",
        ),
        (OpKind.NORM, _five),
    ),
    **dict.fromkeys(("_softmax", "_log_softmax", "_safe_softmax"), (OpKind.SOFTMAX, _five)),
    **dict.fromkeys(
        ("max_pool2d_with_indices", "avg_pool2d", "max_pool3d_with_indices", "avg_pool3d", "avg_pool1d"),
        (OpKind.POOL, _pool),
    ),
    **dict.fromkeys(("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_max_pool2d"), (OpKind.POOL, _read)),
    **dict.fromkeys(
        ("mean", "sum", "amax", "amin", "var", "var_mean", "max", "min", "argmax", "prod", "cumsum", "any", "all", "sort",
         "topk", "std_mean", "std"),
        (OpKind.REDUCE, _read),
    ),
    **dict.fromkeys(("embedding", "index_select", "gather", "index", "_embedding_bag", "take"), (OpKind.GATHER, _none)),
    **dict.fromkeys(
        ("cat", "stack", "clone", "_to_copy", "copy", "constant_pad_nd", "roll", "repeat", "reflection_pad2d",
         "replication_pad2d", "index_put", "slice_scatter", "select_scatter", "scatter", "im2col", "col2im", "flip",
         "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "tril", "triu", "split_with_sizes_copy"),
        (OpKind.COPY, _none),
    ),
    **dict.fromkeys(
        ("upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa",
         "_upsample_bicubic2d_aa", "upsample_nearest1d", "upsample_nearest3d", "upsample_trilinear3d", "grid_sampler_2d"),
        (OpKind.ELEMENTWISE, _five),
    ),
}  # fmt: skip


def kind_of(op_type: str, otherwise: str) -> str:
    """Return the kind of a recorded operation as this version classifies its type; multiplications stay as they were."""
    known = _CLASSES.get(op_type)
    return otherwise if known is None or known[0] in (OpKind.MATMUL, OpKind.CONV) else known[0].value


def _by_tag(func: Any) -> tuple[OpKind, _Count]:
    import torch  # noqa: PLC0415

    pointwise = torch.Tag.pointwise in func.tags
    return (OpKind.ELEMENTWISE, _written) if pointwise else (OpKind.OTHER, _written)


# --- exported programs ---


def _of_program(program: Any, path: str, dims: dict[str, int]) -> Profile:
    raise DataError("not yet", why="not yet", fix="not yet")
