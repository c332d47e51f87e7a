"""MobileNet v1 (Howard and others, 2017: arXiv 1704.04861, table 1), by its width; others are timm's."""

from __future__ import annotations

from torch import nn

from tools.zoo.parts import ConvNorm, Entry, Published, image, one

_PLAN = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))
_PAPER = "arXiv 1704.04861, tables 6 and 7"
_PUBLISHED = {1.0: (4.24, 1.138), 0.75: (2.6, 0.65), 0.5: (1.3, 0.298), 0.25: (0.5, 0.082)}


def body(width: float = 1.0) -> list[nn.Module]:
    """Return the convolutions, in order: the first one, then pairs of a depthwise and a pointwise one."""
    inside = max(8, int(32 * width))
    out: list[nn.Module] = [ConvNorm(3, inside, 3, 2, activation=nn.ReLU6)]
    for channels, stride in _PLAN:
        outside = int(channels * width)
        out.append(
            nn.Sequential(
                ConvNorm(inside, inside, 3, stride, groups=inside, activation=nn.ReLU6),
                ConvNorm(inside, outside, activation=nn.ReLU6),
            )
        )
        inside = outside
    return out


def _classifier(width: float) -> nn.Module:
    features = int(1024 * width)
    return nn.Sequential(*body(width), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(features, 1001))


def entries() -> list[Entry]:
    """Return the four widths that were published with weights."""
    return [
        Entry(
            f"mobilenet-v1-{width:g}" if width != 1 else "mobilenet-v1-1.0",
            one(lambda width=width: _classifier(width), image),  # type: ignore[misc]
            224,
            published=Published(_PAPER, parameters, gflops, 0.06),
        )
        for width, (parameters, gflops) in _PUBLISHED.items()
    ]
