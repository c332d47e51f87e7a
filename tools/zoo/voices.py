"""Speech synthesis: FastPitch and HiFi-GAN, by the measures of NVIDIA's published examples.

FastPitch: Łańcucki 2021 (arXiv 2006.06873); HiFi-GAN: Kong and others 2020 (arXiv 2010.05646, V1). One sample is a text
of 128 letters, spoken in 7.7 seconds: 664 frames of 256 samples at 22,050 a second.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import leaky_relu, scaled_dot_product_attention

from tools.zoo.parts import Entry, Published

_LETTERS, _FRAMES, _WIDTH = 128, 664, 384


class Layer(nn.Module):
    """Attention with one head of 64, and two convolutions along the text."""

    def __init__(self) -> None:
        super().__init__()
        self.mixed, self.out = nn.Linear(_WIDTH, 3 * 64), nn.Linear(64, _WIDTH, bias=False)
        self.convs = nn.Sequential(
            nn.Conv1d(_WIDTH, 1536, 3, padding=1), nn.ReLU(), nn.Conv1d(1536, _WIDTH, 3, padding=1)
        )
        self.norms = nn.ModuleList((nn.LayerNorm(_WIDTH), nn.LayerNorm(_WIDTH)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        parts = (item.unsqueeze(1) for item in self.mixed(x).chunk(3, -1))
        x = self.norms[0](x + self.out(scaled_dot_product_attention(*parts).squeeze(1)))
        return self.norms[1](x + self.convs(x.transpose(1, 2)).transpose(1, 2))


class Foretold(nn.Module):
    """A figure for each letter: how long, how high."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList((nn.Conv1d(_WIDTH, 256, 3, padding=1), nn.Conv1d(256, 256, 3, padding=1)))
        self.norms = nn.ModuleList((nn.LayerNorm(256), nn.LayerNorm(256)))
        self.last = nn.Linear(256, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = norm(conv(x.transpose(1, 2)).relu().transpose(1, 2))
        return self.last(x)


class FastPitch(nn.Module):
    """Letters to frames of 80 bands: six layers over the letters, six over the frames."""

    def __init__(self) -> None:
        super().__init__()
        self.letters = nn.Embedding(148, _WIDTH)
        self.below, self.above = (nn.Sequential(*(Layer() for _ in range(6))) for _ in range(2))
        self.long, self.high = Foretold(), Foretold()
        self.pitch = nn.Conv1d(1, _WIDTH, 3, padding=1)
        self.bands = nn.Linear(_WIDTH, 80)

    def forward(self, ids: torch.Tensor, frames: torch.Tensor) -> torch.Tensor:
        """Run it; `frames` says which letter each frame belongs to."""
        x = self.below(self.letters(ids))
        self.long(x)
        x = x + self.pitch(self.high(x).transpose(1, 2)).transpose(1, 2)
        return self.bands(self.above(x.index_select(1, frames)))


class Spread(nn.Module):
    """Three convolutions of growing reach, each with one of reach 1 after it, and the way around each pair."""

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.wide = nn.ModuleList(
            nn.Conv1d(width, width, kernel, 1, reach * (kernel // 2), reach) for reach in (1, 3, 5)
        )
        self.near = nn.ModuleList(nn.Conv1d(width, width, kernel, 1, kernel // 2) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        for wide, near in zip(self.wide, self.near, strict=True):
            x = x + near(leaky_relu(wide(leaky_relu(x, 0.1)), 0.1))
        return x


class HifiGan(nn.Module):
    """Frames to samples: four times larger in steps of 8, 8, 2 and 2."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv1d(80, 512, 7, padding=3), nn.Conv1d(32, 1, 7, padding=3)
        self.larger, self.spread = nn.ModuleList(), nn.ModuleList()
        for place, (rate, kernel) in enumerate(((8, 16), (8, 16), (2, 4), (2, 4))):
            width = 512 >> (place + 1)
            self.larger.append(nn.ConvTranspose1d(2 * width, width, kernel, rate, (kernel - rate) // 2))
            self.spread.append(nn.ModuleList(Spread(width, size) for size in (3, 7, 11)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        x = self.first(x)
        for larger, blocks in zip(self.larger, self.spread, strict=True):
            x = larger(leaky_relu(x, 0.1))
            x = torch.stack([block(x) for block in blocks]).sum(0) / 3
        return self.last(leaky_relu(x)).tanh()


def entries() -> list[Entry]:
    """Return both halves of a voice."""
    sample = f"{_LETTERS} letters, {_FRAMES} frames"
    ids, frames = (torch.empty(*shape, dtype=torch.long, device="meta") for shape in ((1, _LETTERS), (_FRAMES,)))
    return [
        Entry("fastpitch", lambda _: [(1, FastPitch(), (ids, frames))], sample=sample),
        Entry(
            "hifigan",
            lambda _: [(1, HifiGan(), (torch.empty(1, 80, _FRAMES),))],
            sample=sample,
            published=Published("arXiv 2010.05646, table 1: V1", 13.92),
        ),
    ]
