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
# Views that do not say so of themselves.
_VIEWS = frozenset(("aten::_unsafe_view", "aten::unsafe_split", "aten::unsafe_chunk", "aten::as_strided"))
_RECURRENT = ("params", "has_biases", "num_layers", "dropout", "train", "bidirectional")
_CELL = (("input", "hx", *_RECURRENT, "batch_first"), ("data", "batch_sizes", "hx", *_RECURRENT))  # plain, packed


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
    return _watched(module, inputs, keywords).costs


def _watched(module: Any, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> _Ledger:
    import torch  # noqa: PLC0415

    ledger = _Ledger([*module.parameters(), *module.buffers()], _tensors((inputs, keywords)))
    with torch.no_grad(), _dispatched(ledger), _called(ledger):
        module(*inputs, **keywords)
    return ledger


def _unique(items: Iterable[Any]) -> list[Any]:
    return list({id(item): item for item in items}.values())


class _Ledger:
    """Keeps the cost of every operation, and how many bytes live at once beside the weights."""

    def __init__(self, weights: Sequence[Any], inputs: Sequence[Any]) -> None:
        self.costs: list[OpCost] = []
        self.muted = False
        self.most = self._alive = 0
        self._weights = {id(item): item for item in weights}
        self._stored: set[int] = {item.untyped_storage()._cdata for item in weights}  # noqa: SLF001
        self._lives(inputs)

    def saw(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> None:
        """Keep the cost of an ATen operation."""
        import torch  # noqa: PLC0415

        given, made = _tensors((args, kwargs)), _tensors(out)
        self._lives(made)
        if self.muted:
            return
        are_weights = [id(item) in self._weights for item in given]
        view = _is_view(func)
        if given and (are_weights[0] if view else all(are_weights)):
            # A transposed weight is a weight, and what is made of weights alone is made once, not at each call;
            # keeping it keeps its id its own.
            self._weights.update((id(item), item) for item in made)
        elif not view:
            call = Call(_name(func), _named(func, args, kwargs), given, are_weights, made)
            self.costs += costs(call, pointwise=torch.Tag.pointwise in func.tags)

    def saw_whole(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> None:
        """Keep the cost of an operation whose parts were muted."""
        given, made = _tensors((args, kwargs)), _tensors(out)
        named = dict(kwargs)
        if not name.startswith("scaled"):
            packed = isinstance(args[3], list | tuple)
            named.update(zip(_CELL[packed], args, strict=False))
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


def _dispatched(ledger: _Ledger) -> Any:
    """Return a mode that shows the ledger each ATen call; made here, for its base is torch's."""
    from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC0415

    class Dispatched(TorchDispatchMode):
        """Sees each ATen call with its tensors."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            out = func(*args, **(kwargs or {}))
            ledger.saw(func, args, kwargs or {}, out)
            return out

    return Dispatched()


def _called(ledger: _Ledger) -> Any:
    """Return a mode that counts attention and recurrent layers as one operation: only the meta device splits them."""
    from torch.overrides import TorchFunctionMode  # noqa: PLC0415

    class Called(TorchFunctionMode):
        """Sees each call of the Python API."""

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            name = getattr(func, "__name__", "")
            if name not in _WHOLE or ledger.muted:
                return func(*args, **(kwargs or {}))
            with _muted(ledger):
                out = func(*args, **(kwargs or {}))
            ledger.saw_whole(name, args, kwargs or {}, out)
            return out

    return Called()


@contextmanager
def _muted(ledger: _Ledger) -> Iterator[None]:
    ledger.muted = True
    try:
        yield
    finally:
        ledger.muted = False


def _tensors(value: Any) -> list[Any]:
    import torch  # noqa: PLC0415

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = value.values()
    if hasattr(value, "__iter__") and not isinstance(value, str | bytes):
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
    schema = func._schema  # noqa: SLF001
    if schema.name in _VIEWS:
        return True
    return bool(schema.returns) and all(
        item.alias_info is not None and not item.alias_info.is_write for item in schema.returns
    )
