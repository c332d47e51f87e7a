"""Whether an operator stands on a target's list, whatever each framework calls it.

Names are compared without case, underscores and `aten::`. An operator is also listed when an equivalent of another
framework is, or when everything that it is made of is: a compiler that has a product, a mean and a root has what a
norm needs. What is not found so is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

# Names of one operator in ONNX, PyTorch, TensorFlow and XLA, as `_bare` leaves them.
_SAME = (
    "conv convolution conv1d conv2d conv3d depthwiseconv2dnative",
    "convtranspose convtranspose1d convtranspose2d conv2dbackpropinput",
    "gemm linear addmm fullyconnected",
    "matmul mm bmm baddbmm batchmatmul batchmatmulv2 dot dotgeneral einsum",
    "add addv2 biasadd",
    "sub rsub",
    "div truedivide realdiv",
    "batchnormalization batchnorm batchnorm1d batchnorm2d fusedbatchnormv3 nativebatchnorm batchnorminference",
    "layernormalization layernorm nativelayernorm",
    "groupnormalization groupnorm nativegroupnorm",
    "instancenormalization instancenorm",
    "relu relu6 clampmin",
    "hardtanh clip clamp",
    "swish silu",
    "hardswish",
    "prelu leakyrelu",
    "maxpool maxpool2d maxpool3d maxpool2dwithindices",
    "averagepool avgpool avgpool2d",
    "globalaveragepool adaptiveavgpool2d adaptiveavgpool1d mean reducemean",
    "globalmaxpool adaptivemaxpool2d",
    "reducesum sum reduce",
    "reducemax max amax",
    "reducemin min amin",
    "gather embedding indexselect resourcegather",
    "concat cat concatv2 concatenate",
    "transpose permute t",
    "reshape view unsafeview flatten",
    "unsqueeze expanddims",
    "slice stridedslice",
    "split chunk splitwithsizes splitv",
    "pad constantpadnd padv2",
    "expand broadcastto broadcastindim broadcast",
    "tile repeat",
    "where select swhere",
    "cast to convertelementtype",
    "resize upsamplenearest2d upsamplebilinear2d resizebilinear resizenearestneighbor",
    "depthtospace pixelshuffle",
    "reciprocal",
    "shape size",
    "equal eq",
    "greater gt",
    "less lt",
    "identity dropout contiguous detach noop clone",
    "constant constantliteral const",
    "softmax",
    "logsoftmax",
)

# What an operator can be lowered to when it is not listed itself.
_MADE_OF = {
    "attention": ("matmul", "softmax"),
    "scaleddotproductattention": ("matmul", "softmax"),
    "multiheadattention": ("matmul", "softmax"),
    "groupqueryattention": ("matmul", "softmax"),
    "linear": ("matmul", "add"),
    "gemm": ("matmul", "add"),
    "swish": ("sigmoid", "mul"),
    "gelu": ("tanh", "mul", "add"),
    "layernormalization": ("mean", "sub", "mul", "sqrt", "div"),
    "rmsnormalization": ("mul", "mean", "sqrt", "div"),
    "simplifiedlayernormalization": ("mul", "mean", "sqrt", "div"),
    "rotaryembedding": ("mul", "add", "neg", "concat"),
    "softmax": ("exp", "sum", "div"),
}
_AFFIXES = re.compile(r"^(?:aten|torch|prim)[:.]+|\.(?:default|tensor|scalar|int|dim\w*|self\w*|out)$", re.IGNORECASE)


class Listed:
    """The operators of a target's lists, put together; `has` says whether one is among them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._known = frozenset(bare(name) for name in names)

    def __bool__(self) -> bool:
        return bool(self._known)

    def has(self, op_type: str) -> bool:
        """Say whether an operator, an equivalent, or all of its parts are listed."""
        name = bare(op_type)
        return self._direct(name) or any(
            all(self._direct(part) for part in _MADE_OF[other]) for other in _alike(name) if other in _MADE_OF
        )

    def _direct(self, name: str) -> bool:
        return not self._known.isdisjoint(_alike(name))


@cache
def bare(op_type: str) -> str:
    """Return an operator's name without what differs between frameworks."""
    return _AFFIXES.sub("", _AFFIXES.sub("", op_type)).replace("_", "").lower()


_GROUPS = {name: frozenset(group.split()) for group in _SAME for name in group.split()}


def _alike(name: str) -> frozenset[str]:
    return _GROUPS.get(name, frozenset((name,)))
