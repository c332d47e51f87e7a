"""Recommenders: MLPerf's DLRM and DLRM-DCNv2, NCF, Wide & Deep.

DLRM: Naumov and others 2019 (arXiv 1906.00091); DCNv2: Wang and others 2021 (arXiv 2008.13535), with the measures of
MLPerf's references; NCF: He and others 2017 (arXiv 1708.05031); Wide & Deep: Cheng and others 2016 (arXiv 1606.07792).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

from tools.zoo.parts import Entry, Published

# Rows of the 26 tables of Criteo's terabyte, capped at 40 million, as MLPerf's references state them.
_ROWS = (
    39884406, 39043, 17289, 7420, 20263, 3, 7120, 1543, 63, 38532951, 2953546, 403346, 10, 2208, 11938, 155, 4, 976, 14,
    39979771, 25641295, 39664984, 585935, 12972, 108, 36,
)  # fmt: skip
_ROWS_HASHED = (
    40000000, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 40000000, 3067956, 405282, 10, 2209, 11938, 155, 4, 976, 14,
    40000000, 40000000, 40000000, 590152, 12973, 108, 36,
)  # fmt: skip
_HOT = (3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1)
_PAIRS = 270  # MLPerf: a sample is 100 to 700 pairs of a user and an item, 270 on average


def layers(widths: Sequence[int]) -> nn.Sequential:
    """Return linear layers with ReLU after each."""
    return nn.Sequential(*(part for a, b in pairwise(widths) for part in (nn.Linear(a, b), nn.ReLU())))


class Dlrm(nn.Module):
    """Dense features through layers, sparse ones through tables, products of all pairs, layers."""

    def __init__(self, rows: Sequence[int], hot: Sequence[int], *, crossed: bool) -> None:
        super().__init__()
        self.hot = hot
        self.tables = nn.ModuleList(nn.EmbeddingBag(count, 128, mode="sum") for count in rows)
        self.below = layers((13, 512, 256, 128))
        wide = 128 * (len(rows) + 1)
        self.crosses = nn.ModuleList(
            nn.Sequential(nn.Linear(wide, 512, bias=False), nn.Linear(512, wide)) for _ in range(3 if crossed else 0)
        )
        inside = wide if crossed else 128 + (len(rows) + 1) * len(rows) // 2
        self.above = layers((inside, 1024, 1024, 512, 256))
        self.last = nn.Linear(256, 1)

    def forward(self, dense: torch.Tensor, sparse: torch.Tensor) -> torch.Tensor:
        """Run it; `sparse` holds for each table as many ids as it takes."""
        ids = sparse.split(list(self.hot), 1)
        found = [self.below(dense), *(table(item) for table, item in zip(self.tables, ids, strict=True))]
        out: torch.Tensor = self.last(self.above(self._crossed(found) if len(self.crosses) else self._products(found)))
        return out

    @staticmethod
    def _products(found: list[torch.Tensor]) -> torch.Tensor:
        stacked = torch.stack(found, 1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        count = len(found)
        places = torch.empty(count * (count - 1) // 2, dtype=torch.long, device=stacked.device)
        return torch.cat((found[0], products.flatten(1).index_select(1, places)), 1)

    def _crossed(self, found: list[torch.Tensor]) -> torch.Tensor:
        first = x = torch.cat(found, 1)
        for cross in self.crosses:
            x = first * cross(x) + x
        return x


def _inputs(hot: Sequence[int], pairs: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty(pairs, 13), torch.empty(pairs, sum(hot), dtype=torch.long)


class Ncf(nn.Module):
    """Products of two embeddings beside layers on two others; MovieLens-20M."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(
            (nn.Embedding(138493, 64), nn.Embedding(26744, 64), nn.Embedding(138493, 128), nn.Embedding(26744, 128))
        )
        self.layers, self.last = layers((256, 256, 128, 64)), nn.Linear(128, 1)

    def forward(self, user: torch.Tensor, item: torch.Tensor) -> torch.Tensor:
        """Run it."""
        product = self.tables[0](user) * self.tables[1](item)
        deep = self.layers(torch.cat((self.tables[2](user), self.tables[3](item)), 1))
        out: torch.Tensor = self.last(torch.cat((product, deep), 1))
        return out


def entries() -> list[Entry]:
    """Return the recommenders."""
    sample = f"{_PAIRS} pairs of a user and an item, the mean of MLPerf's samples"
    ones = (1,) * 26
    ids = torch.empty(1, dtype=torch.long, device="meta")
    return [
        Entry(
            "dlrm",
            lambda _: [(1, Dlrm(_ROWS, ones, crossed=False), _inputs(ones, _PAIRS))],
            sample=sample,
            published=Published("187.8 million rows of 128, and the layers (MLPerf inference v0.7)", 24036.0),
        ),
        Entry(
            "dlrm-v2",
            lambda _: [(1, Dlrm(_ROWS_HASHED, _HOT, crossed=True), _inputs(_HOT, _PAIRS))],
            sample=sample,
            published=Published("204.2 million rows of 128 (MLPerf inference v3.0)", 26136.0),
        ),
        Entry("ncf", lambda _: [(1, Ncf(), (ids, ids))], sample="one pair of a user and an item"),
    ]
