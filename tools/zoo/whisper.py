"""Whisper (Radford and others 2022, arXiv 2212.04356), by the measures of its table 1 and of the later releases.

One sample is 30 seconds of speech, the window that the encoder always takes, written down greedily as 100 tokens: 150
words a minute, and four tokens for three words. Keys and values of the sound are computed once, those of the tokens are
kept; a step is counted in the middle of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from tools.zoo.parts import Entry, Part, Published

_FRAMES, _TOKENS, _LONGEST = 1500, 100, 448


class Encoder(nn.Module):
    """Two convolutions, then layers over 1500 places."""

    def __init__(self, features: int, width: int, layers: int) -> None:
        super().__init__()
        self.convs = nn.Sequential(
            nn.Conv1d(features, width, 3, 1, 1), nn.GELU(), nn.Conv1d(width, width, 3, 2, 1), nn.GELU()
        )
        heads = width // 64
        self.layers = nn.Sequential(
            *(
                nn.TransformerEncoderLayer(
                    width, heads, 4 * width, activation="gelu", batch_first=True, norm_first=True
                )
                for _ in range(layers)
            )
        )
        self.places = nn.Parameter(torch.empty(_FRAMES, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        return self.norm(self.layers(self.convs(x).transpose(1, 2) + self.places))


class Sound(nn.Module):
    """Keys and values of the sound, for every layer of the decoder."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.keys = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.values = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Run it."""
        return [part(x) for part in (*self.keys, *self.values)]


class Layer(nn.Module):
    """One token through a layer of the decoder."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = width // 64
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.query, self.cross = nn.Linear(width, width), nn.Linear(width, width)
        self.forth = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor, kept: torch.Tensor, sound: torch.Tensor) -> torch.Tensor:
        """Run it; `kept` and `sound` stand for keys and for values alike."""
        query, key, value = self._headed(self.mixed(self.norms[0](x))).chunk(3, -1)
        keys, values = torch.cat((kept, key), 2), torch.cat((kept, value), 2)
        x = x + self.out(self._joined(scaled_dot_product_attention(query, keys, values)))
        query = self._headed(self.query(self.norms[1](x)))
        x = x + self.cross(self._joined(scaled_dot_product_attention(query, sound, sound.clone())))
        return x + self.forth(self.norms[2](x))

    def _headed(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    @staticmethod
    def _joined(x: torch.Tensor) -> torch.Tensor:
        return x.transpose(1, 2).flatten(2)


class Step(nn.Module):
    """One token through the decoder, to the scores of all."""

    def __init__(self, width: int, layers: int, words: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(_LONGEST, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: torch.Tensor, kept: torch.Tensor, sound: torch.Tensor) -> torch.Tensor:
        """Run it."""
        x = self.words(ids) + self.places(ids)
        for layer in self.layers:
            x = layer(x, kept, sound)
        return self.norm(x) @ self.words.weight.t()


def _parts(width: int, layers: int, below: int, features: int, words: int) -> Callable[[int], Sequence[Part]]:
    def parts(_: int) -> Sequence[Part]:
        heads = width // 64
        kept, sound = (torch.empty(1, heads, count, 64) for count in (_TOKENS // 2, _FRAMES))
        return [
            (1, Encoder(features, width, layers), (torch.empty(1, features, 2 * _FRAMES),)),
            (1, Sound(width, below), (torch.empty(1, _FRAMES, width),)),
            (_TOKENS, Step(width, below, words), (torch.empty(1, 1, dtype=torch.long), kept, sound)),
        ]

    return parts


def entries() -> list[Entry]:
    """Return the sizes, with the millions of parameters that their authors state."""
    sizes = {
        "tiny": (384, 4, 4, 80, 51865, 39.0), "base": (512, 6, 6, 80, 51865, 74.0),
        "small": (768, 12, 12, 80, 51865, 244.0), "medium": (1024, 24, 24, 80, 51865, 769.0),
        "large-v2": (1280, 32, 32, 80, 51865, 1550.0), "large-v3": (1280, 32, 32, 128, 51866, 1550.0),
        "large-v3-turbo": (1280, 32, 4, 128, 51866, 809.0), "distil-large-v2": (1280, 32, 2, 80, 51865, 756.0),
    }  # fmt: skip
    return [
        Entry(
            name if name.startswith("distil") else f"whisper-{name}",
            _parts(*measures),
            sample=f"30 s of speech, written down as {_TOKENS} tokens",
            published=Published("the model cards", parameters, within=0.04),
        )
        for name, (*measures, parameters) in sizes.items()
    ]
