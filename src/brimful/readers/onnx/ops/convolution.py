"""Convolutions: two flops for each multiplication that a result needs; a bias is fused and counts nothing."""

from __future__ import annotations

from functools import partial

from brimful.model.work import OpKind
from brimful.readers.onnx.call import Call, Cost, Rule, product
from brimful.readers.onnx.tensors import INT32
from brimful.readers.onnx.values import Misfit, Shape, Value


class Slide:
    """How a window slides over the spatial dimensions: the attributes that convolutions and pools share."""

    __slots__ = ("auto", "dilations", "kernel", "pads", "strides")

    def __init__(self, call: Call, kernel: Shape) -> None:
        count = len(kernel)
        self.kernel = kernel
        self.strides = call.integers("strides") or (1,) * count
        self.dilations = call.integers("dilations") or (1,) * count
        self.pads = call.integers("pads") or (0,) * (2 * count)
        self.auto = call.text("auto_pad", "NOTSET")
        if self.auto not in ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"):
            raise Misfit(f"its auto_pad is {self.auto!r:.20}")
        if (len(self.strides), len(self.dilations), len(self.pads)) != (count, count, 2 * count):
            raise Misfit(f"its strides, dilations or pads do not fit {count} spatial dimensions")
        if min((*self.strides, *self.dilations, *kernel), default=1) < 1:
            raise Misfit("its strides, dilations and kernel must be at least 1")

    def window(self, at: int) -> int:
        """Return how far the window reaches in a dimension."""
        return (self.kernel[at] - 1) * self.dilations[at] + 1

    def result(self, lengths: Shape, *, ceil: bool = False) -> Shape:
        """Return how many places the window has in each dimension."""
        return tuple(self._places(at, length, ceil=ceil) for at, length in enumerate(lengths))

    def _places(self, at: int, length: int, *, ceil: bool) -> int:
        stride, window = self.strides[at], self.window(at)
        if self.auto.startswith("SAME"):
            return -(-length // stride)
        before, after = self.pads[at], self.pads[at + len(self.kernel)]
        if self.auto == "VALID":
            before = after = 0
        room = length + before + after - window
        if room < 0 and not (ceil and room > -stride):
            raise Misfit(f"its window of {window} does not fit the {length + before + after} elements it slides over")
        if not ceil:
            return room // stride + 1
        count = -(-room // stride) + 1
        return count - 1 if (count - 1) * stride >= length + before else count  # a window must begin on an element


def conv(call: Call, *, weights: int = 1, kind: int = 0) -> Cost:
    """Slide a kernel over an image."""
    value, kernel = call.need(0), call.need(weights)
    group = call.integer("group", 1)
    _check(value, kernel)
    if group < 1 or kernel.shape[1] * group != value.shape[1] or kernel.shape[0] % group:
        raise Misfit(
            f"its {value.shape[1]} channels do not fit a kernel of shape {list(kernel.shape)} in {group} groups"
        )
    slide = Slide(call, call.integers("kernel_shape") or kernel.shape[2:])
    if slide.kernel != kernel.shape[2:]:
        raise Misfit(f"its kernel_shape {list(slide.kernel)} is not that of its weights, {list(kernel.shape[2:])}")
    out = call.out((value.shape[0], kernel.shape[0], *slide.result(value.shape[2:])), kind or value.type)
    flops = 2.0 * out.size * kernel.shape[1] * product(slide.kernel)
    return (OpKind.GROUPED if group > 1 else OpKind.CONV), flops


def _check(value: Value, kernel: Value) -> None:
    if value.rank < 3 or kernel.rank != value.rank:
        raise Misfit(f"it convolves shape {list(value.shape)} with a kernel of shape {list(kernel.shape)}")


def conv_transpose(call: Call) -> Cost:
    """Spread each element over a kernel."""
    value, kernel = call.need(0), call.need(1)
    group = call.integer("group", 1)
    _check(value, kernel)
    if group < 1 or kernel.shape[0] != value.shape[1]:
        raise Misfit(f"its {value.shape[1]} channels do not fit a kernel of shape {list(kernel.shape)}")
    slide = Slide(call, kernel.shape[2:])
    spatial = call.integers("output_shape")
    spatial = spatial[-len(slide.kernel) :] if spatial else _transposed(call, slide, value.shape[2:])
    call.out((value.shape[0], kernel.shape[1] * group, *spatial), value.type)
    flops = 2.0 * value.size * kernel.shape[1] * product(slide.kernel)
    return (OpKind.GROUPED if group > 1 else OpKind.CONV), flops


def _transposed(call: Call, slide: Slide, lengths: Shape) -> Shape:
    count = len(lengths)
    extra = call.integers("output_padding") or (0,) * count
    if len(extra) != count:
        raise Misfit("its output_padding does not fit")
    if slide.auto.startswith("SAME"):
        return tuple(length * stride for length, stride in zip(lengths, slide.strides, strict=True))
    pads = (0,) * (2 * count) if slide.auto == "VALID" else slide.pads
    return tuple(
        slide.strides[at] * (lengths[at] - 1) + extra[at] + slide.window(at) - pads[at] - pads[at + count]
        for at in range(count)
    )


def deform_conv(call: Call) -> Cost:
    """Convolve at places that are computed: each is interpolated from four elements first."""
    value, kernel = call.need(0), call.need(1)
    cost = conv(call)
    places = product(call.outputs[0].shape[2:]) * value.shape[0] * value.shape[1]
    return OpKind.CONV, (cost[1] if cost else 0.0) + 8.0 * places * product(kernel.shape[2:])


def causal_conv(call: Call) -> Cost:
    """Convolve along time with each channel by itself and a state of what came before."""
    value, kernel = call.need(0), call.need(1)
    if value.rank != 3 or kernel.rank != 3:
        raise Misfit(f"it convolves shape {list(value.shape)} with a kernel of shape {list(kernel.shape)}")
    out = call.like()
    call.out((*value.shape[:2], max(0, kernel.shape[2] - 1)), value.type)
    return OpKind.GROUPED, 2.0 * out.size * kernel.shape[1] * kernel.shape[2]


TABLE: dict[str, Rule] = {
    "Conv": conv,
    "ConvInteger": partial(conv, kind=INT32),
    "QLinearConv": partial(conv, weights=3),
    "ConvTranspose": conv_transpose,
    "DeformConv": deform_conv,
    "CausalConvWithState": causal_conv,
}
CONTRIB: dict[str, Rule] = {"FusedConv": conv}
