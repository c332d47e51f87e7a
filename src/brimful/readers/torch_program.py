"""What a PyTorch module costs: the operations it dispatches, seen without computing or allocating anything.

`profile_module` runs a module once, best on the meta device, and writes down every ATen operation with its sizes.
Counted are the operations of eager mode: what a compiler fuses later is the engine's doing, not the model's. Attention
and recurrent layers count whole, as devices run them, not as the meta device takes them apart.

A file of torch.export is read by `torch_export.py`, which needs no PyTorch.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from brimful.costs.profile import profiled
from brimful.model.work import OpCost, OpKind, Profile
from brimful.readers.torch_costs import Call, costs

_WHOLE = frozenset(("scaled_dot_product_attention", "lstm", "gru", "rnn_tanh", "rnn_relu"))
_CELL = (
    "input hx params has_biases num_layers dropout train bidirectional batch_first".split(),
    "data batch_sizes hx params has_biases num_layers dropout train bidirectional".split(),  # a packed sequence
)


def profile_module(module: Any, *inputs: Any, model: str, samples: int = 1, **keywords: Any) -> Profile:
    """Return what one call of an nn.Module costs; on the meta device (`module.to("meta")`) it takes no memory.

    `samples` is how many the inputs hold (the batch). The module is run as it is: call its `eval()` before.
    """
    import torch  # noqa: PLC0415 - an extra, and slow to import

    weights = _unique(module.parameters())
    watched = _watched(module, inputs, keywords)
    return profiled(
        watched.costs,
        model=model,
        source=f"operations that PyTorch {torch.__version__} dispatches",
        samples_count=samples,
        parameters=sum(item.numel() for item in weights),
        weight_bytes=sum(item.numel() * item.element_size() for item in weights),
        activation_bytes=watched.most,
        unknown_ops=tuple(sorted({op.op_type for op in watched.costs if op.op is OpKind.UNKNOWN})),
    )


def operations(module: Any, *inputs: Any, **keywords: Any) -> list[OpCost]:
    """Return every operation of one call of an nn.Module, in the order in which they are dispatched."""
    found: list[OpCost] = _watched(module, inputs, keywords).costs
    return found


def _watched(module: Any, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    import torch  # noqa: PLC0415

    watched = _watch([*module.parameters(), *module.buffers()], _tensors((inputs, keywords)))
    with torch.no_grad(), watched, _watch_whole(watched):
        module(*inputs, **keywords)
    return watched


def _unique(items: Iterable[Any]) -> list[Any]:
    return list({id(item): item for item in items}.values())


def _watch(weights: Sequence[Any], inputs: Sequence[Any]) -> Any:
    """Return a dispatch mode that keeps the cost of every operation; made here, for the class needs torch."""
    import torch  # noqa: PLC0415
    from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC0415

    class Watch(TorchDispatchMode):  # type: ignore[misc]
        """Sees each ATen call with its tensors, and how many bytes live at once beside the weights."""

        def __init__(self) -> None:
            super().__init__()
            self.costs: list[OpCost] = []
            self.muted = False
            self.most = self._alive = 0
            self._weights = {id(item): item for item in weights}
            self._stored: set[int] = {item.untyped_storage()._cdata for item in weights}  # noqa: SLF001
            self._lives(inputs)

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: PLW3201
            del types
            out = func(*args, **(kwargs or {}))
            given, made = _tensors((args, kwargs or {})), _tensors(out)
            self._lives(made)
            if self.muted:
                return out
            are_weights = [id(item) in self._weights for item in given]
            if _is_view(func):
                if given and are_weights[0]:  # a transposed weight is a weight; keeping it keeps its id its own
                    self._weights.update((id(item), item) for item in made)
                return out
            if given and all(are_weights):
                self._weights.update((id(item), item) for item in made)  # cast or fused once, not at each call
                return out
            call = Call(_name(func), _named(func, args, kwargs or {}), given, are_weights, made)
            self.costs += costs(call, pointwise=torch.Tag.pointwise in func.tags)
            return out

        def whole(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> None:
            """Keep the cost of an operation whose parts are muted."""
            given, made = _tensors((args, kwargs)), _tensors(out)
            names = _CELL[1 if len(args) > 2 and isinstance(args[3], list | tuple) else 0] if len(args) > 3 else ()
            named = {} if name.startswith("scaled") else {**dict(zip(names, args, strict=False)), **kwargs}
            self.costs += costs(Call(name, named, given, [id(item) in self._weights for item in given], made))

        def _lives(self, made: Sequence[Any]) -> None:
            for item in made:
                storage = item.untyped_storage()
                key, size = storage._cdata, storage.nbytes()  # noqa: SLF001 - the storage's identity has no other name
                if key not in self._stored:
                    self._stored.add(key)
                    self._alive += size
                    self.most = max(self.most, self._alive)
                    weakref.finalize(storage, self._dies, key, size)

        def _dies(self, key: int, size: int) -> None:
            self._stored.discard(key)
            self._alive -= size

    return Watch()


def _watch_whole(watched: Any) -> Any:
    """Return a mode that counts attention and recurrent layers as one operation: only the meta device splits them."""
    from torch.overrides import TorchFunctionMode  # noqa: PLC0415

    class WatchWhole(TorchFunctionMode):  # type: ignore[misc]
        """Sees each call of the Python API."""

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: PLW3201
            del types
            name = getattr(func, "__name__", "")
            if name not in _WHOLE or watched.muted:
                return func(*args, **(kwargs or {}))
            with _muted(watched):
                out = func(*args, **(kwargs or {}))
            watched.whole(name, args, kwargs or {}, out)
            return out

    return WatchWhole()


@contextmanager
def _muted(watched: Any) -> Iterator[None]:
    watched.muted = True
    try:
        yield
    finally:
        watched.muted = False


def _tensors(value: Any) -> list[Any]:
    import torch  # noqa: PLC0415

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, list | tuple) or hasattr(value, "__iter__") and not isinstance(value, str | bytes):
        return [tensor for item in value for tensor in _tensors(item)]
    return []


def _name(func: Any) -> str:
    """Return an operation's name as `torch_costs` has it: in-place ones compute what the others compute."""
    name = str(func._schema.name).removeprefix("aten::")  # noqa: SLF001 - the public way to ask an OpOverload
    return name if name.endswith("__") else name.removesuffix("_")


def _named(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    names = [item.name for item in func._schema.arguments]  # noqa: SLF001
    return {**dict(zip(names, args, strict=False)), **kwargs}


def _is_view(func: Any) -> bool:
    """Say whether an operation only looks at its input in another way."""
    if func._schema.name in ("aten::_unsafe_view", "aten::unsafe_split", "aten::unsafe_chunk"):  # noqa: SLF001
        return True
    returns = func._schema.returns  # noqa: SLF001
    if func._schema.name == "aten::as_strided":  # noqa: SLF001
        return True
    return bool(returns) and all(item.alias_info is not None and not item.alias_info.is_write for item in returns)
