"""YOLO v5, v8 and 11, by the configurations that Ultralytics publishes.

Written from the layer tables of the configurations. What selects boxes after the network is left out; the decoding of
boxes is in. Widths and depths of a family are multiples of one plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from tools.zoo.parts import ConvNorm, Entry, Published, image, one

_CLASSES = 80
_TABLE = "Ultralytics' table of the family, COCO, 640 pixels"


def _conv(inside: int, outside: int, kernel: int = 1, stride: int = 1, **other: Any) -> ConvNorm:
    return ConvNorm(inside, outside, kernel, stride, activation=other.pop("activation", nn.SiLU), **other)


class Add(nn.Module):
    """A body and the way around it."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        return x + self.body(x)


def _bottleneck(inside: int, middle: int, outside: int, first: int, *, add: bool, **other: Any) -> nn.Module:
    body = nn.Sequential(_conv(inside, middle, first, **other), _conv(middle, outside, 3, **other))
    return Add(body) if add else body


class Pools(nn.Module):
    """Three pools of five in a row, side by side (SPPF)."""

    def __init__(self, channels: int, outside: int) -> None:
        super().__init__()
        self.first = _conv(channels, channels // 2)
        self.pool = nn.MaxPool2d(5, 1, 2)
        self.last = _conv(channels * 2, outside)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        maps = [self.first(x)]
        for _ in range(3):
            maps.append(self.pool(maps[-1]))
        return self.last(torch.cat(maps, 1))


class C3(nn.Module):
    """Two halves, one of them through bottlenecks (v5)."""

    def __init__(
        self, inside: int, outside: int, count: int, *, add: bool = True, first: int = 1, share: float = 0.5
    ) -> None:
        super().__init__()
        half = int(outside * share)
        self.left, self.right, self.last = _conv(inside, half), _conv(inside, half), _conv(2 * half, outside)
        self.body = nn.Sequential(*(_bottleneck(half, half, half, first, add=add) for _ in range(count)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        return self.last(torch.cat((self.body(self.left(x)), self.right(x)), 1))


class C2f(nn.Module):
    """Two halves, and what every step of one of them gives, all kept (v8, 11)."""

    def __init__(
        self, inside: int, outside: int, steps: Sequence[Callable[[int], nn.Module]], share: float = 0.5
    ) -> None:
        super().__init__()
        half = int(outside * share)
        self.first = _conv(inside, 2 * half)
        self.steps = nn.ModuleList(step(half) for step in steps)
        self.last = _conv((2 + len(steps)) * half, outside)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        maps = list(self.first(x).chunk(2, 1))
        for step in self.steps:
            maps.append(step(maps[-1]))
        return self.last(torch.cat(maps, 1))


# --- the path through the maps, alike in v5, v8 and 11 ---


class Neck(nn.Module):
    """Down the pyramid and up again; `up` and `down` make its blocks."""

    def __init__(self, backbone: nn.ModuleList, blocks: nn.ModuleDict, head: nn.Module) -> None:
        super().__init__()
        self.backbone, self.blocks, self.head = backbone, blocks, head

    def forward(self, x: torch.Tensor) -> Any:
        """Run it."""
        maps = []
        for stage in self.backbone:
            x = stage(x)
            maps.append(x)
        third, fourth, fifth = maps[-3:]
        blocks = self.blocks
        if "turn5" in blocks:
            fifth = blocks["turn5"](fifth)
        upper = blocks["up4"](torch.cat((twice(fifth), fourth), 1))
        if "turn4" in blocks:
            upper = blocks["turn4"](upper)
        small = blocks["up3"](torch.cat((twice(upper), third), 1))
        middle = blocks["out4"](torch.cat((blocks["down3"](small), upper), 1))
        large = blocks["out5"](torch.cat((blocks["down4"](middle), fifth), 1))
        return self.head([small, middle, large])


def twice(x: torch.Tensor) -> torch.Tensor:
    """Return a map of twice the side."""
    return nn.functional.interpolate(x, scale_factor=2.0)


class Anchored(nn.Module):
    """One convolution on each map, three anchors at each place (v3 and v5)."""

    def __init__(self, channels: Sequence[int]) -> None:
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(inside, 3 * (_CLASSES + 5), 1) for inside in channels)

    def forward(self, maps: Sequence[torch.Tensor]) -> torch.Tensor:
        """Run it, and decode the boxes."""
        out = []
        for conv, x in zip(self.convs, maps, strict=True):
            y = conv(x).view(1, 3, _CLASSES + 5, -1).transpose(2, 3).sigmoid()
            xy, wh, rest = y.split((2, 2, _CLASSES + 1), 3)
            out.append(torch.cat((xy * 2 - 0.5, (wh * 2) ** 2, rest), 3).flatten(1, 2))
        return torch.cat(out, 1)


class Split(nn.Module):
    """A branch for boxes, as 16 bins for each side, and one for classes (v8, 11)."""

    def __init__(self, channels: Sequence[int], *, light: bool) -> None:
        super().__init__()
        box, cls = max(16, channels[0] // 4, 64), max(channels[0], min(_CLASSES, 100))
        self.boxes = nn.ModuleList(
            nn.Sequential(_conv(inside, box, 3), _conv(box, box, 3), nn.Conv2d(box, 64, 1)) for inside in channels
        )
        self.classes = nn.ModuleList(self._class(inside, cls, light=light) for inside in channels)
        self.bins = nn.Conv2d(16, 1, 1, bias=False)

    @staticmethod
    def _class(inside: int, middle: int, *, light: bool) -> nn.Module:
        if not light:
            return nn.Sequential(_conv(inside, middle, 3), _conv(middle, middle, 3), nn.Conv2d(middle, _CLASSES, 1))
        pairs = [
            part for width in (inside, middle) for part in (_conv(width, width, 3, groups=width), _conv(width, middle))
        ]
        return nn.Sequential(*pairs, nn.Conv2d(middle, _CLASSES, 1))

    def forward(self, maps: Sequence[torch.Tensor]) -> torch.Tensor:
        """Run it, and decode the boxes."""
        boxes = torch.cat([conv(x).flatten(2) for conv, x in zip(self.boxes, maps, strict=True)], 2)
        classes = torch.cat([conv(x).flatten(2) for conv, x in zip(self.classes, maps, strict=True)], 2)
        sides = self.bins(boxes.view(1, 4, 16, -1).transpose(1, 2).softmax(1)).view(1, 4, -1)
        low, high = sides.chunk(2, 1)
        return torch.cat(((low + high) / 2, high - low, classes.sigmoid()), 1)


# --- v5 ---


def _rounded(channels: float) -> int:
    return math.ceil(channels / 8) * 8


def v5(depth: float, width: float) -> nn.Module:
    """YOLOv5 (v6.0 and later)."""
    a, b, c, d, e = (_rounded(base * width) for base in (64, 128, 256, 512, 1024))
    n = [max(1, round(base * depth)) for base in (3, 6, 9, 3)]
    backbone = nn.ModuleList(
        [
            nn.Sequential(_conv(3, a, 6, 2, padding=2), _conv(a, b, 3, 2), C3(b, b, n[0])),
            nn.Sequential(_conv(b, c, 3, 2), C3(c, c, n[1])),
            nn.Sequential(_conv(c, d, 3, 2), C3(d, d, n[2])),
            nn.Sequential(_conv(d, e, 3, 2), C3(e, e, n[3]), Pools(e, e)),
        ]
    )
    blocks = nn.ModuleDict(
        {
            "turn5": _conv(e, d), "up4": C3(2 * d, d, n[0], add=False), "turn4": _conv(d, c),
            "up3": C3(2 * c, c, n[0], add=False), "down3": _conv(c, c, 3, 2), "out4": C3(2 * c, d, n[0], add=False),
            "down4": _conv(d, d, 3, 2), "out5": C3(2 * d, e, n[0], add=False),
        }
    )  # fmt: skip
    return Neck(backbone, blocks, Anchored((c, d, e)))


# --- v8 ---


def _plain(*, add: bool) -> Callable[[int], nn.Module]:
    return lambda half: _bottleneck(half, half, half, 3, add=add)


def v8(depth: float, width: float, most: int) -> nn.Module:
    """YOLOv8."""
    a, b, c, d, e = (_rounded(min(base, most) * width) for base in (64, 128, 256, 512, 1024))
    n = [max(1, round(base * depth)) for base in (3, 6)]

    def block(inside: int, outside: int, count: int, *, add: bool) -> nn.Module:
        return C2f(inside, outside, [_plain(add=add)] * count)

    backbone = nn.ModuleList(
        [
            nn.Sequential(_conv(3, a, 3, 2), _conv(a, b, 3, 2), block(b, b, n[0], add=True)),
            nn.Sequential(_conv(b, c, 3, 2), block(c, c, n[1], add=True)),
            nn.Sequential(_conv(c, d, 3, 2), block(d, d, n[1], add=True)),
            nn.Sequential(_conv(d, e, 3, 2), block(e, e, n[0], add=True), Pools(e, e)),
        ]
    )
    blocks = nn.ModuleDict(
        {
            "up4": block(e + d, d, n[0], add=False), "up3": block(d + c, c, n[0], add=False),
            "down3": _conv(c, c, 3, 2), "out4": block(c + d, d, n[0], add=False),
            "down4": _conv(d, d, 3, 2), "out5": block(d + e, e, n[0], add=False),
        }
    )  # fmt: skip
    return Neck(backbone, blocks, Split((c, d, e), light=False))


# --- 11 ---


class Attention(nn.Module):
    """Attention over all places, with a depthwise convolution for where they are, and a feed-forward part."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.heads = max(1, channels // 64)
        self.size = channels // self.heads
        self.mixed = _conv(channels, 2 * channels, activation=None)
        self.place = _conv(channels, channels, 3, groups=channels, activation=None)
        self.out = _conv(channels, channels, activation=None)
        self.forth = nn.Sequential(_conv(channels, 2 * channels), _conv(2 * channels, channels, activation=None))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        narrow = self.size // 2
        mixed = self.mixed(x).view(1, self.heads, 4 * narrow, -1)
        query, key, value = mixed.split((narrow, narrow, self.size), 2)
        weights = (query.transpose(-2, -1) @ key * narrow**-0.5).softmax(-1)
        seen = (value @ weights.transpose(-2, -1)).reshape(x.shape)
        x = x + self.out(seen + self.place(value.reshape(x.shape)))
        return x + self.forth(x)


class Psa(nn.Module):
    """Half of the channels through attention (C2PSA)."""

    def __init__(self, channels: int, count: int) -> None:
        super().__init__()
        self.first, self.last = _conv(channels, channels), _conv(channels, channels)
        self.body = nn.Sequential(*(Attention(channels // 2) for _ in range(count)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        kept, passed = self.first(x).chunk(2, 1)
        return self.last(torch.cat((kept, self.body(passed)), 1))


def _c3k(half: int) -> nn.Module:
    return C3(half, half, 2, first=3)


def _narrow(half: int) -> nn.Module:
    return _bottleneck(half, half // 2, half, 3, add=True)


def v11(depth: float, width: float, most: int, *, large: bool) -> nn.Module:
    """YOLO11; its larger members have the deeper block everywhere."""
    a, b, c, d, e = (_rounded(min(base, most) * width) for base in (64, 128, 256, 512, 1024))
    n = max(1, round(2 * depth))

    def block(inside: int, outside: int, *, deep: bool, share: float = 0.5) -> nn.Module:
        return C2f(inside, outside, [_c3k if deep or large else _narrow] * n, share)

    backbone = nn.ModuleList(
        [
            nn.Sequential(_conv(3, a, 3, 2), _conv(a, b, 3, 2), block(b, c, deep=False, share=0.25)),
            nn.Sequential(_conv(c, c, 3, 2), block(c, d, deep=False, share=0.25)),
            nn.Sequential(_conv(d, d, 3, 2), block(d, d, deep=True)),
            nn.Sequential(_conv(d, e, 3, 2), block(e, e, deep=True), Pools(e, e), Psa(e, n)),
        ]
    )
    blocks = nn.ModuleDict(
        {
            "up4": block(e + d, d, deep=False), "up3": block(d + d, c, deep=False),
            "down3": _conv(c, c, 3, 2), "out4": block(c + d, d, deep=False),
            "down4": _conv(d, d, 3, 2), "out5": block(d + e, e, deep=True),
        }
    )  # fmt: skip
    return Neck(backbone, blocks, Split((c, d, e), light=True))


def entries() -> list[Entry]:
    """Return all sizes of all families."""
    out: list[Entry] = []
    for name, depth, width, parameters, gflops in (
        ("n", 1 / 3, 0.25, 1.9, 4.5), ("s", 1 / 3, 0.5, 7.2, 16.5), ("m", 2 / 3, 0.75, 21.2, 49.0),
        ("l", 1.0, 1.0, 46.5, 109.1), ("x", 4 / 3, 1.25, 86.7, 205.7),
    ):  # fmt: skip
        build = one(lambda depth=depth, width=width: v5(depth, width), image)  # type: ignore[misc]
        out.append(Entry(f"yolov5{name}", build, 640, published=Published(_TABLE, parameters, gflops, 0.03)))
    for name, depth, width, most, parameters, gflops in (
        ("n", 1 / 3, 0.25, 1024, 3.2, 8.7), ("s", 1 / 3, 0.5, 1024, 11.2, 28.6), ("m", 2 / 3, 0.75, 768, 25.9, 78.9),
        ("l", 1.0, 1.0, 512, 43.7, 165.2), ("x", 1.0, 1.25, 512, 68.2, 257.8),
    ):  # fmt: skip
        build = one(lambda depth=depth, width=width, most=most: v8(depth, width, most), image)  # type: ignore[misc]
        out.append(Entry(f"yolov8{name}", build, 640, published=Published(_TABLE, parameters, gflops, 0.03)))
    for name, depth, width, most, parameters, gflops in (
        ("n", 0.5, 0.25, 1024, 2.6, 6.5), ("s", 0.5, 0.5, 1024, 9.4, 21.5), ("m", 0.5, 1.0, 512, 20.1, 68.0),
        ("l", 1.0, 1.0, 512, 25.3, 86.9), ("x", 1.0, 1.5, 512, 56.9, 194.9),
    ):  # fmt: skip
        large = name in "mlx"
        build = one(lambda d=depth, w=width, m=most, g=large: v11(d, w, m, large=g), image)  # type: ignore[misc]
        out.append(Entry(f"yolo11{name}", build, 640, published=Published(_TABLE, parameters, gflops, 0.03)))
    return out
