"""Pools and changes of resolution."""

from __future__ import annotations

import math

from brimful.model.work import OpKind
from brimful.readers.onnx.call import Call, Cost, Rule, axes_of, product
from brimful.readers.onnx.ops.convolution import Slide
from brimful.readers.onnx.tensors import INT64
from brimful.readers.onnx.values import Misfit, Open, Shape, Value


def pool(call: Call) -> Cost:
    """Take the mean, the greatest or a norm of each window: one flop for each element of it."""
    value = call.need(0)
    kernel = call.integers("kernel_shape")
    if not kernel or value.rank != len(kernel) + 2:
        raise Misfit(f"its window {list(kernel or ())} does not fit the shape {list(value.shape)}")
    spatial = Slide(call, kernel).result(value.shape[2:], ceil=bool(call.integer("ceil_mode")))
    out = call.out((*value.shape[:2], *spatial), value.type)
    if call.wants(1):
        call.out(out.shape, INT64)
    seen = tuple(min(length, width) for length, width in zip(value.shape[2:], kernel, strict=True))
    return OpKind.POOL, float(out.size * product(seen))


def global_pool(call: Call) -> Cost:
    """Take the mean or the greatest of each channel."""
    value = call.need(0)
    if value.rank < 3:
        raise Misfit(f"it pools the shape {list(value.shape)}, which has no spatial dimension")
    call.out((*value.shape[:2], *(1,) * (value.rank - 2)), value.type)
    return OpKind.POOL, float(value.size)


def max_unpool(call: Call) -> Cost:
    """Put each element back where its pool found it."""
    value = call.need(0)
    shape = call.numbers(2)
    kernel = call.integers("kernel_shape")
    if shape is None:
        if not kernel or value.rank != len(kernel) + 2:
            raise Misfit("its window does not fit")
        slide = Slide(call, kernel)
        spatial = tuple(
            (length - 1) * slide.strides[at] - slide.pads[at] - slide.pads[at + len(kernel)] + kernel[at]
            for at, length in enumerate(value.shape[2:])
        )
        shape = (*value.shape[:2], *spatial)
    call.out(shape, value.type)
    return OpKind.COPY, 0.0


def resize(call: Call) -> Cost:
    """Change the resolution: nearest moves elements, linear and cubic weigh 2 and 4 neighbours in each dimension."""
    value = call.need(0)
    newer = call.version >= 11 and call.node.op_type == "Resize"
    call.aside(1, 2)
    at = 2 if newer else 1
    attribute = value if call.has("scales") else None
    sizes = call.numbers(3) if newer else None
    scales = _scales(call, at) if attribute is None else call.node.attributes["scales"]
    axes = axes_of(call.integers("axes") or tuple(range(value.rank)), value.rank)
    if sizes:
        shape = _to_sizes(value, axes, sizes, call.text("keep_aspect_ratio_policy", "stretch"))
    elif scales:
        shape = _scaled(value, axes, scales)
    else:
        call.guess("the new size is computed from the input's values")
        shape = _guessed(call, value)
    out = call.out(shape, value.type)
    width = {"linear": 2, "bilinear": 2, "cubic": 4}.get(call.text("mode", "nearest"))
    changed = sum(one != other for one, other in zip(value.shape, out.shape, strict=True))
    if width is None or not changed:
        return OpKind.COPY, 0.0
    return OpKind.ELEMENTWISE, float(2 * width ** min(changed, 3) * out.size)


def _scales(call: Call, at: int) -> tuple[float, ...] | None:
    value = call.maybe(at)
    return tuple(map(float, value.data)) if value is not None and value.data is not None else None


def _scaled(value: Value, axes: Shape, scales: tuple[float, ...]) -> Shape:
    if len(scales) != len(axes) or not all(0 <= scale < 1e6 for scale in scales):
        raise Misfit(f"its {len(scales)} scales do not fit {len(axes)} dimensions")
    shape = list(value.shape)
    for axis, scale in zip(axes, scales, strict=True):
        shape[axis] = math.floor(shape[axis] * scale)
    return tuple(shape)


def _to_sizes(value: Value, axes: Shape, sizes: Shape, policy: str) -> Shape:
    if len(sizes) != len(axes) or min(sizes) < 0:
        raise Misfit(f"its {len(sizes)} sizes do not fit {len(axes)} dimensions")
    shape = list(value.shape)
    if policy != "stretch":
        ratios = [size / max(1, shape[axis]) for axis, size in zip(axes, sizes, strict=True)]
        ratio = min(ratios) if policy == "not_larger" else max(ratios)
        sizes = tuple(math.floor(shape[axis] * ratio + 0.5) for axis in axes)
    for axis, size in zip(axes, sizes, strict=True):
        shape[axis] = size
    return tuple(shape)


def _guessed(call: Call, value: Value) -> Shape:
    declared = call.declared_shape(0)
    if declared is not None and len(declared) == value.rank:
        return tuple(have if have is not None else own for have, own in zip(declared, value.shape, strict=True))
    return value.shape


def roi_align(call: Call) -> Cost:
    """Sample each region at a grid of places, from four neighbours each."""
    value, rois = call.need(0), call.need(1)
    height, width = call.integer("output_height", 1), call.integer("output_width", 1)
    if value.rank != 4 or rois.rank != 2:
        raise Misfit(f"it takes regions of shape {list(rois.shape)} from shape {list(value.shape)}")
    out = call.out((rois.shape[0], value.shape[1], height, width), value.type)
    ratio = max(1, min(call.integer("sampling_ratio") or 2, 64))
    return OpKind.OTHER, float(8 * out.size * ratio * ratio)


def max_roi_pool(call: Call) -> Cost:
    """Take the greatest element of each part of a region."""
    value, rois = call.need(0), call.need(1)
    shape = call.integers("pooled_shape")
    if value.rank != 4 or rois.rank != 2 or shape is None:
        raise Misfit("its regions do not fit")
    out = call.out((rois.shape[0], value.shape[1], *shape), value.type)
    return OpKind.POOL, float(4 * out.size)


def grid_sample(call: Call) -> Cost:
    """Sample at the places of a grid: linear weighs two neighbours in each dimension, cubic four."""
    value, grid = call.need(0), call.need(1)
    if value.rank < 3 or grid.rank != value.rank:
        raise Misfit(f"its grid of shape {list(grid.shape)} does not fit the shape {list(value.shape)}")
    out = call.out((*value.shape[:2], *grid.shape[1:-1]), value.type)
    width = {"nearest": 1, "cubic": 4, "bicubic": 4}.get(call.text("mode", "linear"), 2)
    return OpKind.GATHER, float(2 * width ** min(3, value.rank - 2) * out.size)


def affine_grid(call: Call) -> Cost:
    """Make a grid of places from a matrix."""
    theta, size = call.need(0), call.numbers(1)
    if size is None:
        raise Open("the size of its grid is not known")
    if len(size) < 3:
        raise Misfit(f"its grid has the size {list(size)}")
    out = call.out((size[0], *size[2:], len(size) - 2), theta.type)
    return OpKind.ELEMENTWISE, float(2 * (len(size) - 1) * out.size)


def depth_to_space(call: Call) -> Cost:
    """Move channels into the image."""
    value, block = call.need(0), call.integer("blocksize", 0)
    if value.rank != 4 or block < 1:
        raise Misfit(f"it cannot move blocks of {block} in the shape {list(value.shape)}")
    batch, channels, height, width = value.shape
    call.out((batch, channels // block**2, height * block, width * block), value.type)
    return OpKind.COPY, 0.0


def space_to_depth(call: Call) -> Cost:
    """Move parts of the image into channels."""
    value, block = call.need(0), call.integer("blocksize", 0)
    if value.rank != 4 or block < 1:
        raise Misfit(f"it cannot move blocks of {block} in the shape {list(value.shape)}")
    batch, channels, height, width = value.shape
    call.out((batch, channels * block**2, height // block, width // block), value.type)
    return OpKind.COPY, 0.0


def col2im(call: Call) -> Cost:
    """Add columns back into an image."""
    value, image, block = call.need(0), call.numbers(1), call.numbers(2)
    if image is None or block is None or value.rank != 3 or not product(block):
        raise Open("the shape of its image is not known")
    call.out((value.shape[0], value.shape[1] // product(block), *image), value.type)
    return OpKind.REDUCE, float(value.size)


def center_crop_pad(call: Call) -> Cost:
    """Cut or fill to a size."""
    value, size = call.need(0), call.numbers(1)
    if size is None:
        raise Open("the size that it cuts to is not known")
    axes = axes_of(call.integers("axes") or tuple(range(value.rank)), value.rank)
    shape = list(value.shape)
    for axis, length in zip(axes, size, strict=False):
        shape[axis] = length
    call.out(tuple(shape), value.type)
    return OpKind.COPY, 0.0


TABLE: dict[str, Rule] = {
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), pool),
    **dict.fromkeys(("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"), global_pool),
    "MaxUnpool": max_unpool,
    "Resize": resize,
    "Upsample": resize,
    "RoiAlign": roi_align,
    "MaxRoiPool": max_roi_pool,
    "GridSample": grid_sample,
    "AffineGrid": affine_grid,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "Col2Im": col2im,
    "CenterCropPad": center_crop_pad,
}
CONTRIB: dict[str, Rule] = {
    "QLinearAveragePool": pool,
    "QLinearGlobalAveragePool": global_pool,
    "GridSample": grid_sample,
}
