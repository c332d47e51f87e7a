"""What the descriptions of architectures share: an entry of the zoo, and a convolution with its norm."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from brimful.model.work import OpCost
from brimful.readers.torch_program import operations

Part = tuple[int, nn.Module, tuple[Any, ...]]  # how often a sample runs it, the module, its inputs


@dataclass(frozen=True, slots=True)
class Published:
    """What others say of a model: millions of parameters, giga-operations (two for a multiplication and addition)."""

    source: str
    parameters_m: float | None = None
    gflops: float | None = None
    within: float = 0.02
    of: Callable[[int], Iterable[Part]] | None = None  # what it was published of, where that is not the whole sample
    without_attention: bool = False  # counted by a tool that does not see activations times activations


@dataclass(frozen=True, slots=True)
class Entry:
    """A named model: what one sample runs, at a size of its image (0: it takes none)."""

    name: str
    parts: Callable[[int], Iterable[Part]]
    size: int = 0
    sample: str = ""  # what one sample is, where that is not one image
    published: Published | None = None
    grows: bool = True
    dynamic: str = ""

    def operations(self, size: int) -> list[OpCost]:
        """Return the operations of one sample."""
        return counted(self.parts, size)

    def parameters(self) -> int:
        """Return how many parameters the modules have together."""
        with torch.device("meta"):
            modules = {id(module): module for _, module, _ in self.parts(self.size)}
        return sum(item.numel() for module in modules.values() for item in module.parameters())


def counted(parts: Callable[[int], Iterable[Part]], size: int) -> list[OpCost]:
    """Return the operations of all parts, each as often as it runs."""
    out: list[OpCost] = []
    with torch.device("meta"):
        for times, module, inputs in parts(size):
            found = operations(module.eval(), *inputs)
            out += found if times == 1 else [replace(op, ops_count=op.ops_count * times) for op in found]
    return out


def image(size: int, channels: int = 3, height: int | None = None) -> torch.Tensor:
    """Return one image."""
    return torch.empty(1, channels, height or size, size)


class ConvNorm(nn.Sequential):
    """A convolution without bias, its batch norm, and an activation."""

    def __init__(
        self,
        inside: int,
        outside: int,
        kernel: int = 1,
        stride: int = 1,
        *,
        groups: int = 1,
        activation: type[nn.Module] | None = nn.ReLU,
        padding: int | None = None,
        dilation: int = 1,
    ) -> None:
        pad = dilation * (kernel // 2) if padding is None else padding
        super().__init__(
            nn.Conv2d(inside, outside, kernel, stride, pad, dilation, groups, bias=False),
            nn.BatchNorm2d(outside),
            *([activation()] if activation else []),
        )


class Run(nn.Module):
    """A module whose forward pass is a function of its parts."""

    def __init__(self, run: Callable[..., Any], *parts: nn.Module) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self._run = run

    def forward(self, *inputs: Any) -> Any:
        """Run it."""
        return self._run(*self.parts, *inputs)


def one(build: Callable[[], nn.Module], *inputs: Callable[[int], Any]) -> Callable[[int], list[Part]]:
    """Return the parts of a model that a sample runs once."""
    return lambda size: [(1, build(), tuple(make(size) for make in inputs))]
