"""Speech models: MLPerf's RNN-T, Jasper, QuartzNet, wav2vec 2.0.

RNN-T: Graves 2012 (arXiv 1211.3711) with MLPerf inference's measures; Jasper: Li and others 2019 (arXiv 1904.03288);
QuartzNet: Kriman and others 2019 (arXiv 1910.10261); wav2vec 2.0: Baevski and others 2020 (arXiv 2006.11477).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from tools.zoo.parts import Entry, Part, Published

# LibriSpeech dev-clean (Panayotov and others 2015, tables 1 and 2): 5.4 hours, 2,703 utterances, 54,402 words.
_SECONDS = 5.4 * 3600 / 2703
_LETTERS = round(54402 / 2703 * 5.3)  # letters of a word and the blank after it
_FRAMES = round(_SECONDS * 100)  # one each 10 ms


class Encoder(nn.Module):
    """RNN-T's: two LSTM layers, two frames made one, three more."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.LSTM(240, 1024, 2), nn.LSTM(2048, 1024, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it on (steps, batch, features)."""
        y, _ = self.before(x)
        pairs = y[: y.shape[0] // 2 * 2].unflatten(0, (-1, 2)).permute(0, 2, 1, 3).flatten(2)
        out: torch.Tensor = self.after(pairs)[0]
        return out


class Predictor(nn.Module):
    """RNN-T's: the letters so far."""

    def __init__(self) -> None:
        super().__init__()
        self.letters, self.cells = nn.Embedding(28, 320), nn.LSTM(320, 320, 2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Run one step."""
        out: torch.Tensor = self.cells(self.letters(ids))[0]
        return out


def _joint() -> nn.Module:
    return nn.Sequential(nn.Linear(1344, 512), nn.ReLU(), nn.Linear(512, 29))


def _rnnt(_: int) -> Sequence[Part]:
    steps = _FRAMES // 3
    return [
        (1, Encoder(), (torch.empty(steps, 1, 240),)),
        (_LETTERS + 1, Predictor(), (torch.empty(1, 1, dtype=torch.long),)),
        (steps // 2 + _LETTERS, _joint(), (torch.empty(1, 1344),)),
    ]


# --- Jasper and QuartzNet ---


class Deep(nn.Module):
    """A block of Jasper: convolutions in a row, and what came before added at its end."""

    def __init__(
        self, inside: int, outside: int, kernel: int, repeats: int, shortcuts: Sequence[int], *, apart: bool
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for place in range(repeats):
            layers += _conv(inside if place == 0 else outside, outside, kernel, apart=apart)
            if place < repeats - 1:
                layers.append(nn.ReLU())
        self.body = nn.Sequential(*layers)
        self.around = nn.ModuleList(
            nn.Sequential(nn.Conv1d(width, outside, 1, bias=False), nn.BatchNorm1d(outside)) for width in shortcuts
        )

    def forward(self, maps: list[torch.Tensor]) -> list[torch.Tensor]:
        """Run it on all that came before, of which the last is its input."""
        y = self.body(maps[-1])
        for around, x in zip(self.around, maps[-len(self.around) :], strict=True):
            y = y + around(x)
        return [*maps, y.relu()]


def _conv(
    inside: int, outside: int, kernel: int, *, apart: bool, stride: int = 1, dilation: int = 1
) -> list[nn.Module]:
    pad = dilation * (kernel // 2)
    if not apart:
        return [nn.Conv1d(inside, outside, kernel, stride, pad, dilation, bias=False), nn.BatchNorm1d(outside)]
    return [
        nn.Conv1d(inside, inside, kernel, stride, pad, dilation, inside, bias=False),
        nn.Conv1d(inside, outside, 1, bias=False),
        nn.BatchNorm1d(outside),
    ]


class Jasper(nn.Module):
    """Jasper 10x5 with dense shortcuts, or QuartzNet 15x5 with one shortcut each and convolutions apart by channel."""

    def __init__(
        self, plan: Sequence[tuple[int, int]], repeats: int, ends: Sequence[int], *, apart: bool, dense: bool
    ) -> None:
        super().__init__()
        first, large, wide = ends
        start = plan[0][0] if not dense else 256
        self.first = nn.Sequential(*_conv(64, start, first, apart=apart, stride=2), nn.ReLU())
        widths = [start]
        self.blocks = nn.ModuleList()
        for outside, kernel in plan:
            shortcuts = widths if dense else widths[-1:]
            self.blocks.append(Deep(widths[-1], outside, kernel, repeats, shortcuts, apart=apart))
            widths.append(outside)
        top = wide
        self.last = nn.Sequential(
            *_conv(widths[-1], top, large, apart=apart, dilation=2), nn.ReLU(),
            *_conv(top, 1024, 1, apart=False), nn.ReLU(), nn.Conv1d(1024, 29, 1),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it on (batch, 64 features, frames)."""
        maps = [self.first(x)]
        for block in self.blocks:
            maps = block(maps)
        out: torch.Tensor = self.last(maps[-1])
        return out


_JASPER = [pair for pair in ((256, 11), (384, 13), (512, 17), (640, 21), (768, 25)) for _ in range(2)]
_QUARTZ = [pair for pair in ((256, 33), (256, 39), (512, 51), (512, 63), (512, 75)) for _ in range(3)]


def _frames(seconds: float) -> torch.Tensor:
    return torch.empty(1, 64, int(seconds * 100))


# --- wav2vec 2.0 ---


class Wav2vec(nn.Module):
    """The base model: seven convolutions on the samples, twelve transformer layers, 32 letters."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv1d(1, 512, 10, 5, bias=False), nn.GroupNorm(512, 512), nn.GELU())
        self.convs = nn.Sequential(
            *(nn.Sequential(nn.Conv1d(512, 512, kernel, 2, bias=False), nn.GELU()) for kernel in (3, 3, 3, 3, 2, 2))
        )
        self.norm, self.project = nn.LayerNorm(512), nn.Linear(512, 768)
        self.place = nn.Sequential(nn.Conv1d(768, 768, 128, padding=64, groups=16), nn.GELU())
        self.after = nn.LayerNorm(768)
        self.layers = nn.Sequential(
            *(nn.TransformerEncoderLayer(768, 12, 3072, activation="gelu", batch_first=True) for _ in range(12))
        )
        self.letters = nn.Linear(768, 32)

    def forward(self, x: torch.Tensor) -> Any:
        """Run it on (batch, 1, samples)."""
        y = self.project(self.norm(self.convs(self.first(x)).transpose(1, 2)))
        place = self.place(y.transpose(1, 2))[:, :, :-1].transpose(1, 2)
        return self.letters(self.layers(self.after(y + place)))


def entries() -> list[Entry]:
    """Return the models, each for one utterance."""
    mean = f"one utterance of LibriSpeech dev-clean: {_SECONDS:.2f} s, {_LETTERS} letters on average"
    seconds = "one utterance of 16.7 s"
    return [
        Entry("rnnt", _rnnt, sample=mean, published=Published("sum over MLPerf inference's configuration", 45.3)),
        Entry(
            "jasper",
            lambda _: [(1, Jasper(_JASPER, 5, (11, 29, 896), apart=False, dense=True), (_frames(16.7),))],
            sample=seconds,
            published=Published("arXiv 1904.03288, table 4: Jasper DR 10x5", 333.0),
        ),
        Entry(
            "quartznet",
            lambda _: [(1, Jasper(_QUARTZ, 5, (33, 87, 512), apart=True, dense=False), (_frames(16.7),))],
            sample=seconds,
            published=Published("arXiv 1910.10261, table 2: QuartzNet 15x5", 18.9),
        ),
        Entry(
            "wav2vec2-base",
            lambda _: [(1, Wav2vec(), (torch.empty(1, 1, 160000),))],
            sample="one utterance of 10 s",
            published=Published("arXiv 2006.11477: BASE, 95 million", 95.0),
        ),
    ]
