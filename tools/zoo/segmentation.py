"""Segmentation of volumes and of flat images: U-Net in two and three dimensions.

Ronneberger and others 2015 (arXiv 1505.04597); Çiçek and others 2016 (arXiv 1606.06650); nnU-Net: Isensee and others
2018 (arXiv 1809.10486), with the measures of MLPerf's references.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

from tools.zoo.parts import Entry, Part, image, one

# MLPerf slides a window of 128 in steps of 64 over each volume, at 1.6 x 1.2 x 1.2 mm. Across the body that makes 20.8
# windows on average: from the pixel widths of the benchmark's cases in the data set's kits.json. How far a scan reaches
# along the body is not published there; 400 to 450 mm are taken, which makes 3.
_WINDOWS = 62


def _pair(inside: int, outside: int, stride: int = 1, *, flat: bool = False, slope: float = 0.0) -> nn.Sequential:
    conv, norm = (nn.Conv2d, nn.BatchNorm2d) if flat else (nn.Conv3d, nn.InstanceNorm3d)
    act = nn.LeakyReLU(slope) if slope else nn.ReLU()
    more = {} if flat else {"affine": True}
    return nn.Sequential(
        conv(inside, outside, 3, stride, 1, bias=False), norm(outside, **more), act,
        conv(outside, outside, 3, 1, 1, bias=False), norm(outside, **more), act,
    )  # fmt: skip


class UNet(nn.Module):
    """Down by strides or pools, up by transposed convolutions, and the maps of one level joined."""

    def __init__(
        self,
        inside: int,
        classes: int,
        widths: Sequence[int],
        *,
        flat: bool = False,
        pools: bool = False,
        slope: float = 0.0,
    ) -> None:
        super().__init__()
        up, last = (nn.ConvTranspose2d, nn.Conv2d) if flat else (nn.ConvTranspose3d, nn.Conv3d)
        self.pool = (nn.MaxPool2d(2) if flat else nn.MaxPool3d(2)) if pools else nn.Identity()
        self.down = nn.ModuleList()
        for place, (before, after) in enumerate(zip((inside, *widths), widths, strict=False)):
            stride = 1 if place == 0 or pools else 2
            self.down.append(_pair(before, after, stride, flat=flat, slope=slope))
        turned = widths[::-1]
        self.up = nn.ModuleList(up(a, b, 2, 2) for a, b in pairwise(turned))
        self.joined = nn.ModuleList(_pair(2 * b, b, flat=flat, slope=slope) for b in turned[1:])
        self.last = last(widths[0], classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        kept = []
        for place, block in enumerate(self.down):
            x = block(self.pool(x) if place else x)
            kept.append(x)
        kept.pop()
        for up, block in zip(self.up, self.joined, strict=True):
            x = block(torch.cat((up(x), kept.pop()), 1))
        out: torch.Tensor = self.last(x)
        return out


def _kits(times: int) -> Sequence[Part]:
    return [(times, UNet(1, 3, (32, 64, 128, 256, 320, 320)), (torch.empty(1, 1, 128, 128, 128),))]


def entries() -> list[Entry]:
    """Return the U-Nets."""
    case = f"one mean case of KiTS19, estimated as {_WINDOWS} windows of 128 x 128 x 128"
    flat = (64, 128, 256, 512, 1024)
    return [
        Entry("3d-unet", lambda _: _kits(_WINDOWS), sample=case),
        Entry("3d-unet-window", lambda _: _kits(1), sample="one window of 128 x 128 x 128"),
        Entry(
            "3d-unet-brats",
            lambda _: [(1, UNet(4, 4, (32, 64, 128, 256, 320), slope=0.01), (torch.empty(1, 4, 224, 224, 160),))],
            sample="one volume of BraTS 2019: 224 x 224 x 160 of 4 channels",
        ),
        Entry("unet", one(lambda: UNet(3, 2, flat, flat=True, pools=True), image), 512),
    ]
