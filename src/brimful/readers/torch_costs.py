"""What each operation of PyTorch costs, from the sizes of what it takes and makes. Needs no PyTorch.

A multiplication and an addition are two floating-point operations; an elementwise operation is one for each element
that it writes, a norm or a softmax five, a pool one for each element under its window, a movement of data none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from brimful.model.work import OpCost, OpKind

_NORM_FLOPS = 5  # for each element: mean, variance, difference, scale, shift
_BILINEAR_FLOPS = 32  # roi_align: four points for each bin, eight operations for each point
_BOX_FLOPS = 16  # nms: the overlap of two boxes


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operation; its tensors have `shape`, `stride()` and `numel()`."""

    name: str  # conv2d; with its namespace when that is not aten: torchvision::nms
    arguments: Mapping[str, Any]  # by the names of its schema, those at their default left out
    given: Sequence[Any]  # the tensors among them
    are_weights: Sequence[bool]  # for each of them
    made: Sequence[Any]

    @property
    def weights(self) -> list[Any]:
        """The tensors that belong to the model."""
        return [item for item, is_weight in zip(self.given, self.are_weights, strict=True) if is_weight]

    @property
    def inputs(self) -> list[Any]:
        """The tensors that come from its input."""
        return [item for item, is_weight in zip(self.given, self.are_weights, strict=True) if not is_weight]


def elements(tensor: Any) -> int:
    """Return how many elements lie in memory: an expanded axis is read once."""
    return math.prod(
        size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride != 0 or size == 1
    )


def kind_of(op_type: str, otherwise: str) -> str:
    """Return the kind of a recorded operation as this version classifies it; multiplications stay as they were."""
    known = _CLASSES.get(op_type)
    return otherwise if known is None or known[0] in (OpKind.MATMUL, OpKind.CONV) else known[0].value


def costs(call: Call, *, pointwise: bool = False) -> list[OpCost]:
    """Return what a call costs; nothing for those that only make room, a constant, or another view.

    `pointwise` says that PyTorch calls the operation elementwise, should this table not know it.
    """
    if not call.made or not call.given or call.name in _FREE:
        return []
    if call.name in _CELLS:
        return _recurrent(call)
    if call.name in _STEPS:
        return _step(call)
    kind, count = _CLASSES.get(call.name) or _other(call.name, pointwise=pointwise)
    if kind is OpKind.MATMUL and not any(call.are_weights):
        kind = OpKind.ATTENTION
    if kind is OpKind.CONV and _groups(call) > 1:
        kind = OpKind.GROUPED
    weights = sum(map(elements, call.weights))
    read, write = sum(map(elements, call.inputs)), sum(map(elements, call.made))
    if kind is OpKind.GATHER:  # of a table only the rows that are asked for are read
        rows = _rows_read(call)
        weights, read = min(weights, rows), min(read, 2 * rows)
    return [
        OpCost(
            op=kind,
            op_type=call.name,
            flops=float(count(call)),
            weight_elements=weights,
            read_elements=read,
            write_elements=write,
        )
    ]


def _other(name: str, *, pointwise: bool) -> tuple[OpKind, _Count]:
    if pointwise:
        return OpKind.ELEMENTWISE, _written
    return (OpKind.UNKNOWN if "::" in name else OpKind.OTHER), _written


# --- what each operation computes ---

_Count = Callable[[Call], float]


def _written(call: Call) -> float:
    return float(call.made[0].numel())


def _none(call: Call) -> float:
    del call
    return 0.0


def _five(call: Call) -> float:
    return _NORM_FLOPS * _written(call)


def _read(call: Call) -> float:
    return float(call.given[0].numel())


def _multiply(call: Call) -> float:
    """Of two factors the left one's last axis is summed over; an addend stands before them."""
    factors = [item for item in call.given if item is not call.arguments.get("bias")]
    left = call.arguments.get("mat1", call.arguments.get("batch1", factors[0]))
    return float(2 * call.made[0].numel() * left.shape[-1])


def _einsum(call: Call) -> float:
    """Every combination of letters is one multiplication and one addition, for two factors."""
    terms = str(call.arguments.get("equation", "")).replace(" ", "").partition("->")[0].split(",")
    sizes: dict[str, int] = {}
    for term, item in zip(terms, call.given, strict=False):
        if "." in term or len(term) != len(item.shape):
            return float(2 * call.made[0].numel() * call.given[0].shape[-1])
        sizes.update(zip(term, item.shape, strict=True))
    return float(2 * math.prod(sizes.values()) * max(1, len(terms) - 1))


def _conv(call: Call) -> float:
    weight = call.arguments["weight"]
    turned = "transpose" in call.name or bool(call.arguments.get("transposed", False))
    places = call.given[0].numel() if turned else call.made[0].numel()
    return float(2 * places * math.prod(weight.shape[1:]))


def _groups(call: Call) -> int:
    return int(call.arguments.get("groups", 1))


def _attention(call: Call) -> float:
    query, key, value = call.given[:3]
    return float(2 * math.prod(query.shape[:-1]) * key.shape[-2] * (query.shape[-1] + value.shape[-1]))


def _pool(call: Call) -> float:
    window = call.arguments.get("kernel_size", 1)
    sides = list(window) if isinstance(window, list | tuple) else [window]
    axes = int(next((char for char in call.name if char in "123"), "2"))
    return float(call.made[0].numel() * math.prod(sides * axes if len(sides) == 1 else sides))


def _regions(call: Call) -> float:
    return _BILINEAR_FLOPS * _written(call)


def _overlaps(call: Call) -> float:
    boxes = call.given[0].shape[0]
    return float(_BOX_FLOPS * boxes * (boxes - 1) / 2)


def _rows_read(call: Call) -> int:
    if "embedding_bag" not in call.name:
        return elements(call.made[0])
    table, indices = call.given[0], call.arguments.get("indices", call.given[1])
    return int(indices.numel()) * int(table.shape[-1])


# --- recurrent layers ---

_CELLS = frozenset(("lstm", "gru", "rnn_tanh", "rnn_relu"))
_STEPS = frozenset(("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"))


def _recurrent(call: Call) -> list[OpCost]:
    """Return the costs of all layers of an LSTM, a GRU or a plain RNN.

    What the input brings is one multiplication for all steps; what the step before brings waits for it, step by step.
    """
    weights = list(call.arguments["params" if "params" in call.arguments else "weights"])
    each = len(weights) // int(call.arguments["num_layers"]) // (2 if call.arguments.get("bidirectional") else 1)
    data, hidden = call.given[0], call.made[0]
    rows = math.prod(hidden.shape[:-1])  # steps times batch; of a packed sequence all its tokens
    batch = call.made[1].shape[-2] if len(call.made) > 1 and len(call.made[1].shape) > 2 else 1
    steps = max(1, round(rows / batch))
    out: list[OpCost] = []
    for start in range(0, len(weights), each):
        out += _layer(call.name, weights[start : start + each], rows, batch, steps)
    del data
    return out


def _layer(name: str, weights: Sequence[Any], rows: int, batch: int, steps: int) -> list[OpCost]:
    into, back, *rest = weights
    biases = [item for item in rest if len(item.shape) == 1]
    turned = [back, *(item for item in rest if len(item.shape) == 2)]  # an LSTM may project its state
    gates, width, state = into.shape[0], into.shape[1], turned[-1].shape[0 if len(turned) > 1 else 1]
    return [
        OpCost(
            op=OpKind.MATMUL,
            op_type=f"{name}_input",
            flops=2.0 * rows * into.numel(),
            weight_elements=into.numel() + sum(item.numel() for item in biases[:1]),
            read_elements=rows * width,
            write_elements=rows * gates,
        ),
        OpCost(
            op=OpKind.RECURRENT,
            op_type=name,
            ops_count=steps,
            flops=2.0 * batch * sum(item.numel() for item in turned),
            weight_elements=sum(item.numel() for item in (*turned, *biases[1:])),
            read_elements=batch * (gates + state),
            write_elements=batch * state,
        ),
    ]


def _step(call: Call) -> list[OpCost]:
    """Return the costs of one step that the module takes by itself: two multiplications, of input and of state."""
    batch = call.made[0].numel() // call.made[0].shape[-1]
    return [
        OpCost(
            op=OpKind.MATMUL,
            op_type=call.name,
            flops=2.0 * batch * weight.numel(),
            weight_elements=weight.numel(),
            read_elements=batch * weight.shape[1],
            write_elements=batch * weight.shape[0],
        )
        for weight in (call.arguments["w_ih"], call.arguments["w_hh"])
    ]


# --- which operation is of which kind ---


def _named(names: str, kind: OpKind, count: _Count) -> dict[str, tuple[OpKind, _Count]]:
    return dict.fromkeys(names.split(), (kind, count))


_FREE = frozenset(
    (
        "empty_like",
        "zeros_like",
        "ones_like",
        "full_like",
        "rand_like",
        "randn_like",
        "new_zeros",
        "new_empty",
        "new_ones",
        "new_full",
        "detach",
        "sym_size",
        "sym_numel",
        "sym_stride",
        "_local_scalar_dense",
        "_assert_async",
        "_assert_tensor_metadata",
        "_assert_scalar",
        "is_same_size",
        "lift_fresh",
        "lift_fresh_copy",
        "fill",
        "zero",
        "item",
        "sym_constrain_range",
        "sym_constrain_range_for_size",
    )
)
_POINTWISE = """abs acos acosh add addcdiv addcmul angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift
    bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil celu clamp clamp_max clamp_min clip copysign cos cosh
    deg2rad digamma div divide elu eq erf erfc erfinv exp exp2 expm1 floor floor_divide fmax fmin fmod frac ge gelu
    glu greater gt hardshrink hardsigmoid hardswish hardtanh hypot isfinite isinf isnan le leaky_relu lerp less lgamma
    log log10 log1p log2 log_sigmoid log_sigmoid_forward logaddexp logical_and logical_not logical_or logical_xor logit
    lt masked_fill maximum minimum mish mul multiply nan_to_num ne neg negative not_equal polar pow prelu _prelu_kernel
    reciprocal relu relu6 remainder round rrelu rsqrt rsub selu sgn sigmoid sign silu sin sinc sinh softplus softshrink
    softsign special_expit sqrt square sub subtract tan tanh threshold true_divide trunc where xlogy bernoulli
    native_dropout _softmax_backward_data"""
_CLASSES: dict[str, tuple[OpKind, _Count]] = {
    **_named(_POINTWISE, OpKind.ELEMENTWISE, _written),
    **_named(
        """convolution _convolution cudnn_convolution conv1d conv2d conv3d conv_transpose1d conv_transpose2d
        conv_transpose3d convolution_overrideable mkldnn_convolution _conv_depthwise2d conv_depthwise3d""",
        OpKind.CONV,
        _conv,
    ),
    **_named("mm bmm addmm baddbmm linear matmul mv dot _addmm_activation", OpKind.MATMUL, _multiply),
    **_named("einsum", OpKind.MATMUL, _einsum),
    **_named(
        """_scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu
        _scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention
        _scaled_dot_product_fused_attention_overrideable _scaled_dot_product_attention_math
        scaled_dot_product_attention""",
        OpKind.ATTENTION,
        _attention,
    ),
    **_named(
        """native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_no_training cudnn_batch_norm batch_norm
        native_layer_norm layer_norm native_group_norm group_norm instance_norm _fused_rms_norm rms_norm
        linalg_vector_norm norm local_response_norm""",
        OpKind.NORM,
        _five,
    ),
    **_named("_softmax _log_softmax _safe_softmax softmax log_softmax", OpKind.SOFTMAX, _five),
    **_named(
        """max_pool1d max_pool2d max_pool3d max_pool2d_with_indices max_pool3d_with_indices avg_pool1d avg_pool2d
        avg_pool3d max_pool1d_with_indices""",
        OpKind.POOL,
        _pool,
    ),
    **_named(
        """adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d
        adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d""",
        OpKind.POOL,
        _read,
    ),
    **_named(
        """mean sum amax amin var var_mean max min argmax argmin prod cumsum cumprod any all sort argsort topk std_mean
        std logsumexp nonzero unique unique_consecutive _unique2 unique_dim bincount median kthvalue aminmax""",
        OpKind.REDUCE,
        _read,
    ),
    **_named(
        "embedding index_select gather index _embedding_bag embedding_bag take take_along_dim", OpKind.GATHER, _none
    ),
    **_named("torchvision::roi_align torchvision::ps_roi_align torchvision::roi_pool", OpKind.GATHER, _regions),
    **_named("torchvision::nms", OpKind.OTHER, _overlaps),
    **_named(
        """cat concat stack hstack vstack clone contiguous reshape _to_copy to copy constant_pad_nd pad roll repeat
        repeat_interleave tile reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d index_put
        slice_scatter select_scatter scatter scatter_add index_add index_copy index_fill masked_select masked_scatter
        im2col unfold_copy col2im flip rot90 pixel_shuffle pixel_unshuffle channel_shuffle tril triu
        split_with_sizes_copy one_hot meshgrid float half double long int bool type_as""",
        OpKind.COPY,
        _none,
    ),
    **_named(
        """upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_bilinear2d upsample_linear1d
        upsample_bicubic2d _upsample_bilinear2d_aa _upsample_bicubic2d_aa upsample_trilinear3d grid_sampler
        grid_sampler_2d""",
        OpKind.ELEMENTWISE,
        _five,
    ),
}
