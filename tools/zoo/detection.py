"""Detectors of MLPerf and of OpenVINO's tables. What sorts and selects boxes after the network is left out.

SSD: Liu and others 2016 (arXiv 1512.02325); the MobileNet form as in TensorFlow's object detection API, the ResNet-34
form as in MLPerf inference v0.5. RetinaNet: Lin and others 2017 (arXiv 1708.02002) with ResNeXt-50 (arXiv 1611.05431).
Mask R-CNN: He and others 2017 (arXiv 1703.06870), without a pyramid, with a dilated last stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from tools.zoo import mobilenet
from tools.zoo.parts import ConvNorm, Entry, Published, Run, image, one

_OMZ = "Open Model Zoo, model description"


# --- residual networks as backbones ---


class Bottleneck(nn.Module):
    """1x1, 3x3 in groups, 1x1, and the way around them."""

    def __init__(self, inside: int, width: int, outside: int, stride: int, groups: int, dilation: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            ConvNorm(inside, width),
            ConvNorm(width, width, 3, stride, groups=groups, dilation=dilation),
            ConvNorm(width, outside, activation=None),
        )
        self.around = ConvNorm(inside, outside, 1, stride, activation=None) if inside != outside else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        return (self.body(x) + self.around(x)).relu()


class Basic(nn.Module):
    """Two 3x3 and the way around them."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(ConvNorm(inside, outside, 3, stride), ConvNorm(outside, outside, 3, activation=None))
        self.around = ConvNorm(inside, outside, 1, stride, activation=None) if inside != outside else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        return (self.body(x) + self.around(x)).relu()


def stem() -> nn.Sequential:
    """Return how every ResNet begins: to a quarter of the side."""
    return nn.Sequential(ConvNorm(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1))


def stage(
    inside: int, width: int, blocks: int, stride: int, groups: int = 1, dilation: int = 1, wider: int = 1
) -> nn.Module:
    """Return a stage of bottlenecks; `wider` is what ResNeXt multiplies the inner width with."""
    first = Bottleneck(inside, width * wider, width * 4, stride, groups, dilation)
    rest = [Bottleneck(width * 4, width * wider, width * 4, 1, groups, dilation) for _ in range(blocks - 1)]
    return nn.Sequential(first, *rest)


# --- SSD ---


class Heads(nn.Module):
    """For each map one convolution for boxes and one for classes."""

    def __init__(self, channels: Sequence[int], boxes: Sequence[int], classes: int, kernel: int) -> None:
        super().__init__()
        self.boxes = nn.ModuleList(
            nn.Conv2d(inside, count * 4, kernel, padding=kernel // 2)
            for inside, count in zip(channels, boxes, strict=True)
        )
        self.classes = nn.ModuleList(
            nn.Conv2d(inside, count * classes, kernel, padding=kernel // 2)
            for inside, count in zip(channels, boxes, strict=True)
        )

    def forward(self, maps: Sequence[torch.Tensor]) -> Any:
        """Run them on their maps."""
        pairs = [
            (box(x).flatten(1), cls(x).flatten(1)) for box, cls, x in zip(self.boxes, self.classes, maps, strict=True)
        ]
        return torch.cat([box for box, _ in pairs], 1), torch.cat([cls for _, cls in pairs], 1)


def _chain(modules: nn.ModuleList, x: torch.Tensor) -> list[torch.Tensor]:
    maps = []
    for module in modules:
        x = module(x)
        maps.append(x)
    return maps


def ssd_mobilenet() -> nn.Module:
    """SSD on MobileNet v1, 91 classes."""
    layers = mobilenet.body()
    extras = [
        nn.Sequential(
            ConvNorm(inside, middle, activation=nn.ReLU6), ConvNorm(middle, outside, 3, 2, activation=nn.ReLU6)
        )
        for inside, middle, outside in ((1024, 256, 512), (512, 128, 256), (256, 128, 256), (256, 64, 128))
    ]
    stages = nn.ModuleList([nn.Sequential(*layers[:12]), nn.Sequential(*layers[12:]), *extras])
    heads = Heads((512, 1024, 512, 256, 256, 128), (3, 6, 6, 6, 6, 6), 91, 1)
    return Run(lambda stages, heads, x: heads(_chain(stages, x)), stages, heads)


def ssd_resnet34() -> nn.Module:
    """SSD on the first three stages of ResNet-34, 81 classes, maps of 50 to 3 at 1200 pixels."""
    trunk = nn.Sequential(
        stem(),
        *(Basic(64, 64, 1) for _ in range(3)),
        Basic(64, 128, 2),
        *(Basic(128, 128, 1) for _ in range(3)),
        Basic(128, 256, 1),
        *(Basic(256, 256, 1) for _ in range(5)),
    )
    plan = (
        (256, 256, 512, 2, 1),
        (512, 256, 512, 2, 1),
        (512, 128, 256, 2, 1),
        (256, 128, 256, 2, 0),
        (256, 128, 256, 1, 0),
    )
    extras = [
        nn.Sequential(
            nn.Conv2d(inside, middle, 1), nn.ReLU(), nn.Conv2d(middle, outside, 3, stride, padding=pad), nn.ReLU()
        )
        for inside, middle, outside, stride, pad in plan
    ]
    heads = Strided((256, 512, 512, 256, 256, 256), (4, 6, 6, 6, 4, 4), 81, (3, 3, 2, 2, 2, 2))
    return Run(lambda stages, heads, x: heads(_chain(stages, x)), nn.ModuleList([trunk, *extras]), heads)


class Strided(Heads):
    """SSD's heads with a stride for each map, as MLPerf's SSD-ResNet-34 has them."""

    def __init__(self, channels: Sequence[int], boxes: Sequence[int], classes: int, strides: Sequence[int]) -> None:
        super().__init__(channels, boxes, classes, 3)
        for place, stride in enumerate(strides):
            self.boxes[place].stride = self.classes[place].stride = (stride, stride)


def ssd_resnet50() -> nn.Module:
    """SSD300 on ResNet-50 as NVIDIA's examples have it: a map of 38, and five smaller ones."""
    trunk = nn.Sequential(stem(), stage(64, 64, 3, 1), stage(256, 128, 4, 2), stage(512, 256, 6, 1))
    plan = ((1024, 256, 512, 2), (512, 256, 512, 2), (512, 128, 256, 2), (256, 128, 256, 1), (256, 128, 256, 1))
    extras = [
        nn.Sequential(ConvNorm(inside, middle), ConvNorm(middle, outside, 3, stride, padding=stride - 1))
        for inside, middle, outside, stride in plan
    ]
    heads = Heads((1024, 512, 512, 256, 256, 256), (4, 6, 6, 6, 4, 4), 81, 3)
    return Run(lambda stages, heads, x: heads(_chain(stages, x)), nn.ModuleList([trunk, *extras]), heads)


def ssd_vgg() -> nn.Module:
    """SSD300 on VGG-16, 21 classes; its paper's own form."""
    layers: list[nn.Module] = []
    inside = 3
    for outside, count in ((64, 2), (128, 2), (256, 3), (512, 3)):
        for _ in range(count):
            layers += [nn.Conv2d(inside, outside, 3, padding=1), nn.ReLU()]
            inside = outside
        layers.append(nn.MaxPool2d(2, 2, ceil_mode=True))
    fifth = [part for _ in range(3) for part in (nn.Conv2d(512, 512, 3, padding=1), nn.ReLU())]
    second = [layers[-1], *fifth, nn.MaxPool2d(3, 1, 1), nn.Conv2d(512, 1024, 3, padding=6, dilation=6), nn.ReLU()]
    extras = [
        nn.Sequential(nn.Conv2d(a, b, 1), nn.ReLU(), nn.Conv2d(b, c, 3, stride, padding=pad), nn.ReLU())
        for a, b, c, stride, pad in (
            (1024, 256, 512, 2, 1),
            (512, 128, 256, 2, 1),
            (256, 128, 256, 1, 0),
            (256, 128, 256, 1, 0),
        )
    ]
    stages = nn.ModuleList(
        [nn.Sequential(*layers[:-1]), nn.Sequential(*second, nn.Conv2d(1024, 1024, 1), nn.ReLU()), *extras]
    )
    heads = Heads((512, 1024, 512, 256, 256, 256), (4, 6, 6, 6, 4, 4), 21, 3)
    return Run(lambda stages, heads, x: heads(_chain(stages, x)), stages, heads)


# --- RetinaNet ---


class RetinaNet(nn.Module):
    """A pyramid of five maps and two towers of four convolutions on each."""

    def __init__(self, stages: Sequence[nn.Module], classes: int) -> None:
        super().__init__()
        self.stages = nn.ModuleList(stages)
        self.lateral = nn.ModuleList(nn.Conv2d(inside, 256, 1) for inside in (512, 1024, 2048))
        self.smooth = nn.ModuleList(nn.Conv2d(256, 256, 3, padding=1) for _ in range(3))
        self.sixth, self.seventh = (nn.Conv2d(256, 256, 3, 2, 1) for _ in range(2))
        self.classes = self._tower(9 * classes)
        self.boxes = self._tower(9 * 4)

    @staticmethod
    def _tower(outside: int) -> nn.Module:
        layers = [part for _ in range(4) for part in (nn.Conv2d(256, 256, 3, padding=1), nn.ReLU())]
        return nn.Sequential(*layers, nn.Conv2d(256, outside, 3, padding=1))

    def forward(self, x: torch.Tensor) -> Any:
        """Run it up to the figures for each anchor."""
        maps = _chain(self.stages, x)[2:]
        laterals = [conv(item) for conv, item in zip(self.lateral, maps, strict=True)]
        for lower in (1, 0):
            up = nn.functional.interpolate(laterals[lower + 1], size=laterals[lower].shape[-2:])
            laterals[lower] = laterals[lower] + up
        pyramid = [conv(item) for conv, item in zip(self.smooth, laterals, strict=True)]
        pyramid.append(self.sixth(pyramid[-1]))
        pyramid.append(self.seventh(pyramid[-1].relu()))
        return [(self.classes(item), self.boxes(item)) for item in pyramid]


def retinanet() -> nn.Module:
    """MLPerf's: ResNeXt-50 32x4d, the 264 classes of OpenImages."""
    plan = ((64, 64, 3, 1), (256, 128, 4, 2), (512, 256, 6, 2), (1024, 512, 3, 2))
    stages = [stage(inside, width, blocks, stride, 32, wider=2) for inside, width, blocks, stride in plan]
    return RetinaNet([stem(), *stages], 264)


# --- Mask R-CNN without a pyramid ---


class MaskRcnn(nn.Module):
    """ResNet-50 with a trunk of stride 8; its last stage runs on the crop of each region, and again for each mask."""

    def __init__(self, regions: int = 100, classes: int = 90) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            stem(), stage(64, 64, 3, 1), stage(256, 128, 4, 2), stage(512, 256, 6, 1, dilation=2)
        )
        self.propose = nn.Conv2d(1024, 512, 3, padding=2, dilation=2)
        self.score, self.place = nn.Conv2d(512, 24, 1), nn.Conv2d(512, 48, 1)
        self.regions = regions
        self.last = stage(1024, 512, 3, 1)
        self.classes, self.boxes = nn.Linear(2048, classes + 1), nn.Linear(2048, classes * 4)
        plan = ((2048, 256), (256, 256), (256, 256))
        layers = [part for a, b in plan for part in (nn.Conv2d(a, b, 3, padding=1), nn.ReLU())]
        self.mask = nn.Sequential(*layers, nn.Conv2d(256, classes, 3, padding=1))

    def forward(self, x: torch.Tensor) -> Any:
        """Run it: the trunk, the proposals, boxes and classes of every region, the mask of every detection."""
        features = self.trunk(x)
        proposals = self.propose(features).relu()
        found = self.score(proposals), self.place(proposals)
        pooled = self.last(self._crops(features)).mean((2, 3))
        detections = self.last(self._crops(features))
        masks = self.mask(nn.functional.interpolate(detections, size=(33, 33), mode="bilinear"))
        return found, self.classes(pooled), self.boxes(pooled), masks

    def _crops(self, features: torch.Tensor) -> torch.Tensor:
        """Return a crop of 14 x 14 for each region, pooled to half; where they lie does not change the cost."""
        crops = nn.functional.grid_sample(
            features.expand(self.regions, -1, -1, -1), torch.empty(self.regions, 14, 14, 2, device=features.device)
        )
        return nn.functional.max_pool2d(crops, 2)


def entries() -> list[Entry]:
    """Return the detectors."""
    wide = [lambda size: image(round(size * 1365 / 800), 3, size)]
    return [
        Entry("ssd-mobilenet-v1", one(ssd_mobilenet, image), 300, published=Published(_OMZ, 6.807, 2.494)),
        Entry("ssd-resnet34", one(ssd_resnet34, image), 1200, published=Published(_OMZ, 20.058, 433.411)),
        Entry(
            "ssd300-vgg16-voc", one(ssd_vgg, image), 300, published=Published("OMZ ssd300, 21 classes", 26.285, 62.815)
        ),
        Entry("ssd300-resnet50", one(ssd_resnet50, image), 300),
        Entry(
            "retinanet-resnext50-32x4d",
            one(retinanet, image),
            800,
            published=Published(
                "torchvision's RetinaNet with 91 classes (34.0 M, 151.5 GMAC) and 173 more", 37.6, None, 0.03
            ),
        ),
        Entry(
            "mask_rcnn_resnet50_atrous_coco",
            one(MaskRcnn, *wide),
            800,
            sample="one image of 800 x 1365 pixels",
            dynamic="the masks are of as many detections as the image has; counted with the most, 100",
            published=Published(
                f"{_OMZ}: at 800 x 800, one region, and the last stage's 14.96 M counted twice",
                50.222 - 14.96,
                294.738,
                of=one(lambda: MaskRcnn(1), image),
            ),
        ),
    ]
