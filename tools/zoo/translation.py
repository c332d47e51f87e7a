"""Translation: GNMT (Wu and others 2016, arXiv 1609.08144), as MLPerf v0.5 and NVIDIA's examples measure it."""

from __future__ import annotations

import torch
from torch import nn

from tools.zoo.parts import Entry, Part, Published

_WORDS, _TOKENS, _BEAM = 32320, 25, 1
_WIDTH = 1024


class Encoder(nn.Module):
    """One layer in both directions, three in one; shortcuts from the third on."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(_WORDS, _WIDTH)
        self.both = nn.LSTM(_WIDTH, _WIDTH, bidirectional=True)
        self.layers = nn.ModuleList([nn.LSTM(2 * _WIDTH, _WIDTH), nn.LSTM(_WIDTH, _WIDTH), nn.LSTM(_WIDTH, _WIDTH)])

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Run it on (tokens, batch)."""
        x = self.both(self.words(ids))[0]
        for place, layer in enumerate(self.layers):
            y = layer(x)[0]
            x = x + y if place else y
        return x


class Step(nn.Module):
    """One token of the decoder: four layers that see the source through attention, and all words' scores."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(_WORDS, _WIDTH)
        self.first = nn.LSTM(_WIDTH, _WIDTH)
        self.query, self.key = (nn.Linear(_WIDTH, _WIDTH, bias=False) for _ in range(2))
        self.weigh = nn.Parameter(torch.empty(_WIDTH))
        self.layers = nn.ModuleList(nn.LSTM(2 * _WIDTH, _WIDTH) for _ in range(3))
        self.scores = nn.Linear(_WIDTH, _WORDS)

    def forward(self, ids: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
        """Run it on (1, batch) and the encoder's (tokens, batch, width)."""
        x = self.first(self.words(ids))[0]
        weights = ((self.query(x) + self.key(source)).tanh() * self.weigh).sum(-1).softmax(0)
        seen = (weights.unsqueeze(-1) * source).sum(0, keepdim=True)
        for place, layer in enumerate(self.layers):
            y = layer(torch.cat((x, seen), -1))[0]
            x = x + y if place else y
        out: torch.Tensor = self.scores(x)
        return out


def _parts(_: int) -> list[Part]:
    ids = torch.empty(_TOKENS, 1, dtype=torch.long)
    return [
        (1, Encoder(), (ids,)),
        (_TOKENS, Step(), (ids[:1], torch.empty(_TOKENS, 1, _WIDTH))),
    ]


def entries() -> list[Entry]:
    """Return the translator."""
    return [
        Entry(
            "gnmt",
            _parts,
            sample=f"one sentence of {_TOKENS} tokens into {_TOKENS}, greedily",
            published=Published("sum over the measures: 4 + 4 layers of 1024, 32,320 words", 193.0, None, 0.05),
        )
    ]
