"""YOLO v3 and its tiny form (Redmon and Farhadi 2018, arXiv 1804.02767)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import nn

from tools.zoo.parts import ConvNorm, Entry, Published, Run, image, one
from tools.zoo.yolo import Add, Anchored, twice


def _leaky(inside: int, outside: int, kernel: int, stride: int = 1) -> ConvNorm:
    return ConvNorm(inside, outside, kernel, stride, activation=nn.LeakyReLU)


def _darknet_stage(inside: int, count: int) -> nn.Module:
    outside = inside * 2
    steps = [Add(nn.Sequential(_leaky(outside, inside, 1), _leaky(inside, outside, 3))) for _ in range(count)]
    return nn.Sequential(_leaky(inside, outside, 3, 2), *steps)


def _five(inside: int, outside: int) -> nn.Module:
    wide = outside * 2
    kernels = ((inside, outside, 1), (outside, wide, 3), (wide, outside, 1), (outside, wide, 3), (wide, outside, 1))
    return nn.Sequential(*(_leaky(a, b, k) for a, b, k in kernels))


class V3(nn.Module):
    """YOLOv3: Darknet-53 and three scales."""

    def __init__(self) -> None:
        super().__init__()
        self.third = nn.Sequential(
            _leaky(3, 32, 3), _darknet_stage(32, 1), _darknet_stage(64, 2), _darknet_stage(128, 8)
        )
        self.fourth, self.fifth = _darknet_stage(256, 8), _darknet_stage(512, 4)
        self.fives = nn.ModuleList((_five(1024, 512), _five(768, 256), _five(384, 128)))
        self.turns = nn.ModuleList((_leaky(512, 256, 1), _leaky(256, 128, 1)))
        self.outs = nn.ModuleList((_leaky(512, 1024, 3), _leaky(256, 512, 3), _leaky(128, 256, 3)))
        self.head = Anchored((1024, 512, 256))

    def forward(self, x: torch.Tensor) -> Any:
        """Run it."""
        third = self.third(x)
        fourth = self.fourth(third)
        y = self.fives[0](self.fifth(fourth))
        maps = [self.outs[0](y)]
        for place, side in ((1, fourth), (2, third)):
            y = self.fives[place](torch.cat((twice(self.turns[place - 1](y)), side), 1))
            maps.append(self.outs[place](y))
        return self.head(maps)


def v3_tiny() -> nn.Module:
    """YOLOv3-tiny: seven convolutions with pools between, two scales."""
    plan = (3, 16, 32, 64, 128)
    layers: list[nn.Module] = []
    for inside, outside in pairwise(plan):
        layers += [_leaky(inside, outside, 3), nn.MaxPool2d(2, 2)]
    side = nn.Sequential(*layers, _leaky(128, 256, 3))
    deep = nn.Sequential(
        nn.MaxPool2d(2, 2), _leaky(256, 512, 3), nn.ZeroPad2d((0, 1, 0, 1)), nn.MaxPool2d(2, 1),
        _leaky(512, 1024, 3), _leaky(1024, 256, 1),
    )  # fmt: skip
    large, turn, small = _leaky(256, 512, 3), _leaky(256, 128, 1), _leaky(384, 256, 3)

    def run(side: Any, deep: Any, large: Any, turn: Any, small: Any, head: Any, x: Any) -> Any:
        middle = side(x)
        y = deep(middle)
        return head([large(y), small(torch.cat((twice(turn(y)), middle), 1))])

    return Run(run, side, deep, large, turn, small, Anchored((512, 256)))


def entries() -> list[Entry]:
    """Return both."""
    return [
        Entry("yolov3-tiny", one(v3_tiny, image), 416, published=Published("pjreddie.com/darknet/yolo", 8.85, 5.56)),
        Entry("yolov3", one(V3, image), 416, published=Published("pjreddie.com/darknet/yolo", 61.95, 65.86)),
    ]
