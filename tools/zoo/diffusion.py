"""Stable Diffusion 1.5, 2.1, XL and LCM: text encoders, the denoiser as often as it runs, and the decoder.

Rombach and others 2022 (arXiv 2112.10752), Podell and others 2023 (arXiv 2307.01952); measures from the published
configurations. One sample is one image; the denoiser runs at every step on two copies, with the text and without
(classifier-free guidance), except where a model was distilled to need one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.functional import interpolate, scaled_dot_product_attention

from tools.zoo.parts import Entry, Part, Published, Run

TOKENS = 77


class Attention(nn.Module):
    """Attention of a sequence over itself or over a text."""

    def __init__(self, width: int, heads: int, context: int | None = None, *, bias: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias)
        self.key, self.value = (nn.Linear(context or width, width, bias) for _ in range(2))
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, context: torch.Tensor | None = None) -> torch.Tensor:
        """Run it."""
        other = x if context is None else context
        query, key, value = (
            item.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for item in (self.query(x), self.key(other), self.value(other))
        )
        return self.out(scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2))


class Gated(nn.Module):
    """The feed-forward part: four times as wide, one half gates the other."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        value, gate = self.into(x).chunk(2, -1)
        return self.out(value * nn.functional.gelu(gate))


class Block(nn.Module):
    """Attention to itself, attention to the text, feed-forward; each with a norm before it."""

    def __init__(self, width: int, heads: int, context: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own, self.text, self.forth = Attention(width, heads), Attention(width, heads, context), Gated(width)

    def forward(self, x: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        """Run it."""
        x = x + self.own(self.norms[0](x))
        x = x + self.text(self.norms[1](x), context)
        return x + self.forth(self.norms[2](x))


class Transformer(nn.Module):
    """A map as a sequence through blocks, and back."""

    def __init__(self, width: int, heads: int, context: int, depth: int, *, linear: bool) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(32, width)
        self.linear = linear
        self.into, self.out = (nn.Linear(width, width) if linear else nn.Conv2d(width, width, 1) for _ in range(2))
        self.blocks = nn.ModuleList(Block(width, heads, context) for _ in range(depth))

    def forward(self, x: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        """Run it."""
        y = self.norm(x)
        y = self.into(y.flatten(2).transpose(1, 2)) if self.linear else self.into(y).flatten(2).transpose(1, 2)
        for block in self.blocks:
            y = block(y, context)
        y = (
            self.out(y).transpose(1, 2).unflatten(2, x.shape[2:])
            if self.linear
            else self.out(y.transpose(1, 2).unflatten(2, x.shape[2:]))
        )
        return x + y


class Residual(nn.Module):
    """Norm, SiLU, convolution, twice, with the time added between them."""

    def __init__(self, inside: int, outside: int, time: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList((nn.GroupNorm(32, inside), nn.GroupNorm(32, outside)))
        self.convs = nn.ModuleList(
            (nn.Conv2d(inside, outside, 3, padding=1), nn.Conv2d(outside, outside, 3, padding=1))
        )
        self.time = nn.Linear(time, outside) if time else None
        self.around = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()

    def forward(self, x: torch.Tensor, time: torch.Tensor | None = None) -> torch.Tensor:
        """Run it."""
        y = self.convs[0](nn.functional.silu(self.norms[0](x)))
        if self.time is not None and time is not None:
            y = y + self.time(nn.functional.silu(time))[:, :, None, None]
        return self.around(x) + self.convs[1](nn.functional.silu(self.norms[1](y)))


@dataclass(frozen=True, slots=True)
class Measures:
    """What tells one denoiser from another."""

    channels: tuple[int, ...]
    depths: tuple[int, ...]  # blocks of each transformer, by level; 0: none
    heads: tuple[int, ...]
    context: int
    linear: bool
    added: int = 0  # a second embedding beside the time


class Denoiser(nn.Module):
    """The U-Net of Stable Diffusion."""

    def __init__(self, its: Measures) -> None:
        super().__init__()
        first, time = its.channels[0], its.channels[0] * 4
        self.time = nn.Sequential(nn.Linear(first, time), nn.SiLU(), nn.Linear(time, time))
        self.added = nn.Sequential(nn.Linear(its.added, time), nn.SiLU(), nn.Linear(time, time)) if its.added else None
        self.into = nn.Conv2d(4, first, 3, padding=1)

        def transformer(level: int) -> nn.Module:
            depth = its.depths[level]
            width = its.channels[level]
            return (
                Transformer(width, its.heads[level], its.context, depth, linear=its.linear) if depth else nn.Identity()
            )

        self.down, self.turns_down, self.smaller = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        kept, width, last = [first], first, len(its.channels) - 1
        for level, channels in enumerate(its.channels):
            for _ in range(2):
                self.down.append(Residual(width, channels, time))
                self.turns_down.append(transformer(level))
                width = channels
                kept.append(width)
            if level < last:
                self.smaller.append(nn.Conv2d(width, width, 3, 2, 1))
                kept.append(width)
        self.middle = nn.ModuleList((Residual(width, width, time), Residual(width, width, time)))
        deepest = its.depths[last] or 1
        self.turn_middle = Transformer(width, its.heads[last], its.context, deepest, linear=its.linear)
        self.up, self.turns_up, self.larger = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for level in reversed(range(len(its.channels))):
            for _ in range(3):
                self.up.append(Residual(width + kept.pop(), its.channels[level], time))
                self.turns_up.append(transformer(level))
                width = its.channels[level]
            if level:
                self.larger.append(nn.Conv2d(width, width, 3, padding=1))
        self.out = nn.Sequential(nn.GroupNorm(32, first), nn.SiLU(), nn.Conv2d(first, 4, 3, padding=1))

    def forward(
        self, x: torch.Tensor, time: torch.Tensor, text: torch.Tensor, added: torch.Tensor | None = None
    ) -> Any:
        """Run it once."""
        time = self.time(time)
        if self.added is not None:
            time = time + self.added(added)
        x = self.into(x)
        kept = [x]
        for place, (block, turn) in enumerate(zip(self.down, self.turns_down, strict=True)):
            x = _turned(turn, block(x, time), text)
            kept.append(x)
            if place % 2 and place // 2 < len(self.smaller):
                x = self.smaller[place // 2](x)
                kept.append(x)
        x = self.middle[1](self.turn_middle(self.middle[0](x, time), text), time)
        for place, (block, turn) in enumerate(zip(self.up, self.turns_up, strict=True)):
            x = _turned(turn, block(torch.cat((x, kept.pop()), 1), time), text)
            if place % 3 == 2 and place // 3 < len(self.larger):
                x = self.larger[place // 3](interpolate(x, scale_factor=2.0))
        return self.out(x)


def _turned(turn: nn.Module, x: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
    out: torch.Tensor = turn(x, text) if isinstance(turn, Transformer) else x
    return out


def decoder(channels_in: int = 4) -> nn.Module:
    """Return the autoencoder's decoder: from a latent to an image eight times as large."""
    attention = Attention(512, 1, bias=True)
    norm = nn.GroupNorm(32, 512)

    def attend(norm: Any, attention: Any, x: torch.Tensor) -> torch.Tensor:
        return x + attention(norm(x).flatten(2).transpose(1, 2)).transpose(1, 2).unflatten(2, x.shape[2:])

    layers: list[nn.Module] = [
        nn.Conv2d(4, 4, 1) if channels_in == 4 else nn.Identity(), nn.Conv2d(channels_in, 512, 3, padding=1),
        Residual(512, 512, 0), Run(attend, norm, attention), Residual(512, 512, 0),
    ]  # fmt: skip
    width = 512
    for level, channels in enumerate((512, 512, 256, 128)):
        for _ in range(3):
            layers.append(Residual(width, channels, 0))
            width = channels
        if level < 3:
            layers += [nn.Upsample(scale_factor=2), nn.Conv2d(width, width, 3, padding=1)]
    return nn.Sequential(*layers, nn.GroupNorm(32, 128), nn.SiLU(), nn.Conv2d(128, 3, 3, padding=1))


class Text(nn.Module):
    """A text encoder of CLIP."""

    def __init__(self, width: int, layers: int, heads: int, projected: int = 0) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(49408, width), nn.Embedding(TOKENS, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 4 * width, activation="gelu", batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, projected, bias=False) if projected else nn.Identity()

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Run it."""
        x = self.tokens(ids) + self.places(torch.arange(TOKENS, device=ids.device))
        for layer in self.layers:
            x = layer(x)
        return self.project(self.norm(x))


_SD1 = Measures((320, 640, 1280, 1280), (1, 1, 1, 0), (8, 8, 8, 8), 768, linear=False)
_SD2 = Measures((320, 640, 1280, 1280), (1, 1, 1, 0), (5, 10, 20, 20), 1024, linear=True)
_XL = Measures((320, 640, 1280), (0, 2, 10), (5, 10, 20), 2048, linear=True, added=2816)


def _texts(kind: str) -> list[nn.Module]:
    large = Text(768, 12, 12)
    if kind == "xl":
        return [large, Text(1280, 32, 20, 1280)]
    return [Text(1024, 23, 16)] if kind == "2" else [large]


def _parts(its: Measures, kind: str, steps: int, copies: int) -> Callable[[int], Sequence[Part]]:
    def parts(size: int) -> Sequence[Part]:
        side = size // 8
        inputs: list[torch.Tensor] = [
            torch.empty(copies, 4, side, side),
            torch.empty(copies, its.channels[0]),
            torch.empty(copies, TOKENS, its.context),
        ]
        if its.added:
            inputs.append(torch.empty(copies, its.added))
        ids = torch.empty(copies, TOKENS, dtype=torch.long)
        return [
            *((1, text, (ids,)) for text in _texts(kind)),
            (steps, Denoiser(its), tuple(inputs)),
            (1, decoder(), (torch.empty(1, 4, side, side),)),
        ]

    return parts


def _alone(its: Measures, size: int) -> Callable[[int], Sequence[Part]]:
    return lambda _: [_parts(its, "1", 1, 1)(size)[-2]]


def entries() -> list[Entry]:
    """Return the pipelines; what is published of them is their denoiser."""
    sizes: dict[str, tuple[Measures, str, int, int, int, float, float | None]] = {
        "stable-diffusion-v1-5": (_SD1, "1", 20, 2, 512, 859.5 + 123.1 + 49.5, 677.6),
        "stable-diffusion-v2-1": (_SD2, "2", 20, 2, 512, 865.9 + 340.4 + 49.5, None),
        "stable-diffusion-xl": (_XL, "xl", 20, 2, 1024, 2567.5 + 123.1 + 694.7 + 49.5, 5980.0),
        "lcm-dreamshaper-v7": (_SD1, "1", 4, 1, 512, 859.5 + 123.1 + 49.5, None),
        "lcm-sdxl": (_XL, "xl", 4, 1, 1024, 2567.5 + 123.1 + 694.7 + 49.5, None),
    }
    out = []
    for name, (its, kind, steps, copies, size, parameters, gflops) in sizes.items():
        sample = f"one image: {steps} steps {'with' if copies == 2 else 'without'} classifier-free guidance"
        source = (
            "sums of the components' model cards; GFLOP of one pass of the denoiser, its attention's products apart"
        )
        published = Published(source, parameters, gflops, of=_alone(its, size), without_attention=True)
        out.append(Entry(name, _parts(its, kind, steps, copies), size, sample=sample, published=published))
    return out
