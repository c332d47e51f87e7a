"""FLUX.1 (Black Forest Labs, 2024), from its published configuration: two streams, then one, over text and image.

One sample is one image of 1024 pixels: the text encoders, the denoiser at each step, the decoder. `schnell` was
distilled to four steps, `dev` takes its guidance as an input; neither runs twice for guidance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from tools.zoo.diffusion import Text, decoder
from tools.zoo.parts import Entry, Part, Published

_WIDTH, _HEADS = 3072, 24


def _attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    parts = [item.unflatten(-1, (_HEADS, -1)).transpose(1, 2) for item in (query, key, value)]
    return scaled_dot_product_attention(*parts).transpose(1, 2).flatten(2)


class Stream(nn.Module):
    """What one of the two streams has in a double block."""

    def __init__(self) -> None:
        super().__init__()
        self.modulate, self.mixed = nn.Linear(_WIDTH, 6 * _WIDTH), nn.Linear(_WIDTH, 3 * _WIDTH)
        self.norms = nn.ModuleList((nn.RMSNorm(128), nn.RMSNorm(128)))
        self.out = nn.Linear(_WIDTH, _WIDTH)
        self.forth = nn.Sequential(nn.Linear(_WIDTH, 4 * _WIDTH), nn.GELU("tanh"), nn.Linear(4 * _WIDTH, _WIDTH))

    def before(self, x: torch.Tensor, vector: torch.Tensor) -> list[torch.Tensor]:
        """Return the stream's query, key and value."""
        shift, scale = self.modulate(nn.functional.silu(vector)).chunk(6, -1)[:2]
        query, key, value = self.mixed(_shifted(x, shift, scale)).chunk(3, -1)
        return [_normed(norm, item) for norm, item in zip(self.norms, (query, key), strict=True)] + [value]

    def after(self, x: torch.Tensor, seen: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
        """Return the stream behind the block; the modulation is computed once, and is cheap."""
        x = x + vector * self.out(seen)
        return x + vector * self.forth(_shifted(x, vector, vector))


def _shifted(x: torch.Tensor, shift: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return nn.functional.layer_norm(x, x.shape[-1:]) * (1 + scale) + shift


def _normed(norm: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return norm(x.unflatten(-1, (_HEADS, -1))).flatten(2)


class Double(nn.Module):
    """Text and image apart, but for one attention over both."""

    def __init__(self) -> None:
        super().__init__()
        self.image, self.text = Stream(), Stream()

    def forward(
        self, image: torch.Tensor, text: torch.Tensor, vector: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Run it."""
        pairs = zip(self.text.before(text, vector), self.image.before(image, vector), strict=True)
        query, key, value = (torch.cat(pair, 1) for pair in pairs)
        seen = _attend(query, key, value)
        count = text.shape[1]
        return self.image.after(image, seen[:, count:], vector), self.text.after(text, seen[:, :count], vector)


class Single(nn.Module):
    """Text and image as one sequence; attention and feed-forward side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.modulate = nn.Linear(_WIDTH, 3 * _WIDTH)
        self.into, self.out = nn.Linear(_WIDTH, 7 * _WIDTH), nn.Linear(5 * _WIDTH, _WIDTH)
        self.norms = nn.ModuleList((nn.RMSNorm(128), nn.RMSNorm(128)))

    def forward(self, x: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
        """Run it."""
        shift, scale, gate = self.modulate(nn.functional.silu(vector)).chunk(3, -1)
        query, key, value, wide = self.into(_shifted(x, shift, scale)).split([_WIDTH] * 3 + [4 * _WIDTH], -1)
        query, key = (_normed(norm, item) for norm, item in zip(self.norms, (query, key), strict=True))
        wide = nn.functional.gelu(wide, approximate="tanh")
        return x + gate * self.out(torch.cat((_attend(query, key, value), wide), -1))


class Denoiser(nn.Module):
    """Nineteen double blocks, thirty-eight single ones."""

    def __init__(self, *, guided: bool) -> None:
        super().__init__()
        self.image, self.text = nn.Linear(64, _WIDTH), nn.Linear(4096, _WIDTH)
        insides = (256, 768, *((256,) if guided else ()))
        self.vectors = nn.ModuleList(
            nn.Sequential(nn.Linear(inside, _WIDTH), nn.SiLU(), nn.Linear(_WIDTH, _WIDTH)) for inside in insides
        )
        self.doubles = nn.ModuleList(Double() for _ in range(19))
        self.singles = nn.ModuleList(Single() for _ in range(38))
        self.modulate, self.last = nn.Linear(_WIDTH, 2 * _WIDTH), nn.Linear(_WIDTH, 64)

    def forward(self, image: torch.Tensor, text: torch.Tensor, *vectors: torch.Tensor) -> Any:
        """Run it once."""
        vector = torch.stack([part(item) for part, item in zip(self.vectors, vectors, strict=True)]).sum(0).unsqueeze(1)
        x, y = self.image(image), self.text(text)
        for block in self.doubles:
            x, y = block(x, y, vector)
        x = torch.cat((y, x), 1)
        for block in self.singles:
            x = block(x, vector)
        shift, scale = self.modulate(nn.functional.silu(vector)).chunk(2, -1)
        return self.last(_shifted(x[:, y.shape[1] :], shift, scale))


class T5(nn.Module):
    """The encoder of T5 1.1 XXL."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(32128, 4096)
        self.layers = nn.ModuleList(T5Layer() for _ in range(24))
        self.norm = nn.RMSNorm(4096)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Run it."""
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class T5Layer(nn.Module):
    """Attention of 64 heads with 64 numbers each, and a gated feed-forward part."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList((nn.RMSNorm(4096), nn.RMSNorm(4096)))
        self.mixed, self.out = nn.Linear(4096, 3 * 4096, bias=False), nn.Linear(4096, 4096, bias=False)
        self.gate, self.wide = (nn.Linear(4096, 10240, bias=False) for _ in range(2))
        self.narrow = nn.Linear(10240, 4096, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        parts = (item.unflatten(-1, (64, 64)).transpose(1, 2) for item in self.mixed(self.norms[0](x)).chunk(3, -1))
        x = x + self.out(scaled_dot_product_attention(*parts).transpose(1, 2).flatten(2))
        y = self.norms[1](x)
        return x + self.narrow(nn.functional.gelu(self.gate(y)) * self.wide(y))


def _parts(steps: int, tokens: int, *, guided: bool) -> Callable[[int], Sequence[Part]]:
    def parts(size: int) -> Sequence[Part]:
        side = size // 8
        vectors = [torch.empty(1, inside) for inside in (256, 768, *((256,) if guided else ()))]
        image, text = torch.empty(1, (side // 2) ** 2, 64), torch.empty(1, tokens, 4096)
        return [
            (1, T5(), (torch.empty(1, tokens, dtype=torch.long),)),
            (1, Text(768, 12, 12), (torch.empty(1, 77, dtype=torch.long),)),
            (steps, Denoiser(guided=guided), (image, text, *vectors)),
            (1, decoder(16), (torch.empty(1, 16, side, side),)),
        ]

    return parts


def entries() -> list[Entry]:
    """Return both published models."""
    source = "the model cards: 11.9 billion for the denoiser, 4.76 for T5's encoder, 0.12 for CLIP's, 0.05 the decoder"
    known = Published(source, 11890.0 + 4762.0 + 123.1 + 49.6)
    return [
        Entry(
            "flux.1-schnell",
            _parts(4, 256, guided=False),
            1024,
            sample="one image: 4 steps, a text of 256 tokens",
            published=known,
        ),
        Entry(
            "flux.1-dev",
            _parts(50, 512, guided=True),
            1024,
            sample="one image: 50 steps, a text of 512 tokens",
            published=known,
        ),
    ]
