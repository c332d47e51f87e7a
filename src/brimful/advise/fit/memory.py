"""What a workload needs of a device's memory, part by part, and on how many devices it fits.

Every constant here says where it comes from. A part that cannot be known is None with a reason, and then the total is
the least that is needed: it can show that something does not fit, and never that it does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field, replace

from brimful.advise.fit.training_memory import (
    Training,
    gradient_bytes,
    kept_activation_bytes,
    state_bytes,
    weight_bytes,
)
from brimful.costs.profile import PLAIN_BYTES
from brimful.costs.transformer import activation_elements, kv_cache_elements, matrix_parameters
from brimful.model.hardware import DeviceKind, Precision
from brimful.model.noun import Noun, noun, unknown
from brimful.model.units import MIB
from brimful.model.work import Mode, Profile, Transformer

BITS = {
    Precision.FP64: 64, Precision.FP32: 32, Precision.TF32: 32, Precision.FP16: 16, Precision.BF16: 16,
    Precision.FP8: 8, Precision.INT8: 8, Precision.FP4: 4, Precision.INT4: 4,
}  # fmt: skip

# Bits that are kept for a weight of few bits, with its share of scales: INT4 in groups of 128 with an fp16 scale and a
# zero point (GPTQ's and AWQ's default), FP4 with a scale of eight bits for 16 (NVFP4). Those of INT8 and FP8 are one a
# channel or a block of 128 x 128, and vanish.
KEPT_BITS = {Precision.INT4: 4 + 20 / 128, Precision.FP4: 4.5}
_PLAIN_BITS = 16  # of what quantisers leave alone: embeddings, norms, the head

# What a process holds before the first weight: context, kernels, library handles.
# GPU: 693 MiB on an H200 (driver 580.159, PyTorch 2.11, after a matmul, a convolution and an attention; 2026-11-19).
# Smaller GPUs hold less (about 300 MiB on a 3090: pytorch/pytorch#107667), so this is on the safe side.
# The others are estimates: nobody publishes them.
RUNTIME_BYTES = {
    DeviceKind.GPU: 700 * MIB,
    DeviceKind.NEURON: 512 * MIB,
    DeviceKind.GAUDI: 1024 * MIB,
    DeviceKind.CPU: 400 * MIB,
}
_RUNTIME_ELSE = 512 * MIB
_SMALL_BYTES = 12 * 1024 * MIB  # devices up to here have few multiprocessors, and a context of half the size
_SMALL_RUNTIME = 350 * MIB

# Scratch of matrix and convolution libraries (cuBLAS takes 32 MiB on Hopper, 8 MiB else, by PyTorch's default; cuDNN
# more for some convolutions), and what an allocator cannot use between live blocks: a twentieth of what comes and goes,
# a tenth while training (on an H200, PyTorch 2.11 reserved 0.2 to 5 GiB more than 7 to 50 GiB that it used).
# Tokens that a server passes at once: vLLM's and TensorRT-LLM's default on large devices.
CHUNK_TOKENS = 8192
_SCRATCH_BYTES = 64 * MIB
_UNUSABLE_SHARE = 0.05
_UNUSABLE_IN_TRAINING_SHARE = 0.10


@noun
class Split(Noun):
    """Over how many devices a model lies: each matrix over `tensor`, the layers over `pipeline`, inputs over `data`."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1

    def _agree(self) -> None:
        """Refuse a split over no device."""
        if min(self.tensor, self.pipeline, self.data) < 1:
            raise ValueError(f"a split over {self.tensor} x {self.pipeline} x {self.data} devices: each starts at 1")


ONE = Split()


@noun
class Need(Noun):
    """What one of the devices must hold, in bytes, part by part."""

    weights_bytes: int | None = unknown()
    activations_bytes: int | None = unknown()
    kv_cache_bytes: int = 0
    gradients_bytes: int = 0
    optimizer_bytes: int = 0
    workspace_bytes: int = 0
    runtime_bytes: int = 0
    split: Split = field(default_factory=Split)

    @property
    def total_bytes(self) -> int:
        """Return the sum of what is known; with a part unknown it is the least that is needed."""
        known = (self.weights_bytes or 0) + (self.activations_bytes or 0) + self.kv_cache_bytes
        return known + self.gradients_bytes + self.optimizer_bytes + self.workspace_bytes + self.runtime_bytes

    @property
    def complete(self) -> bool:
        """Say whether every part is known."""
        return self.weights_bytes is not None and self.activations_bytes is not None


@noun
class Setup(Noun):
    """How a workload is held in memory: which numbers, how many inputs, how long a context, over which devices."""

    precision: Precision = Precision.FP16
    batch: int | None = unknown("the profile's own")
    context: int = 0  # tokens a sequence may grow to; 0: no cache is kept
    kv_precision: Precision | None = unknown("as the activations")
    training: Training | None = unknown("it is not trained")
    split: Split = ONE
    kind: DeviceKind = DeviceKind.GPU
    usable_bytes: int | None = unknown("the device is not known")  # of a device, to tell a small one


def needs(profile: Profile, setup: Setup, mode: Mode = Mode.INFERENCE) -> Need:
    """Return what each of the devices must hold."""
    batch = setup.batch if setup.batch is not None else profile.samples_count
    training = setup.training
    if mode is Mode.TRAINING:
        return _trained(profile, setup, training if training is not None else Training(), batch)
    weights = inference_weight_bytes(profile, setup.precision)
    activations = inference_activation_bytes(profile, setup.precision, batch)
    split = setup.split
    alive = None if activations is None else _split_activations(activations, profile, setup, batch)
    return _need(
        None if weights is None else _over(weights, split),
        alive,
        setup,
        cache=_cache_bytes(profile.transformer, setup, batch),
    )


def _need(
    weights: int | None,
    activations: int | None,
    setup: Setup,
    *,
    cache: int = 0,
    gradients: int = 0,
    states: int = 0,
) -> Need:
    missing = {}
    unusable = _UNUSABLE_IN_TRAINING_SHARE if gradients else _UNUSABLE_SHARE
    if weights is None:
        missing["weights_bytes"] = "the profile does not say how many weights there are"
    if activations is None:
        missing["activations_bytes"] = "the profile has neither its activations nor its operations"
    return Need(
        weights_bytes=weights,
        activations_bytes=activations,
        kv_cache_bytes=cache,
        gradients_bytes=gradients,
        optimizer_bytes=states,
        workspace_bytes=round(_SCRATCH_BYTES + unusable * ((activations or 0) + cache)),
        runtime_bytes=runtime_bytes(setup.kind, setup.usable_bytes),
        split=setup.split,
        missing=missing,
    )


def runtime_bytes(kind: DeviceKind, usable: int | None = None) -> int:
    """Return what a process holds of a device before the first weight."""
    if kind is DeviceKind.GPU and usable is not None and usable <= _SMALL_BYTES:
        return _SMALL_RUNTIME
    return RUNTIME_BYTES.get(kind, _RUNTIME_ELSE)


def inference_weight_bytes(profile: Profile, precision: Precision) -> int | None:
    """Return the bytes of the weights in a precision; a file that is quantised already stays as it is."""
    t = profile.transformer
    quantised = t is not None and (t.weight_bits is not None or t.experts_bits is not None)
    if quantised and profile.weight_bytes is not None:
        return profile.weight_bytes
    if profile.parameters is None:
        return profile.weight_bytes
    kept = KEPT_BITS.get(precision, BITS[precision])
    if kept >= _PLAIN_BITS or t is None:
        return round(profile.parameters * kept / 8)
    packed = min(matrix_parameters(t)[0], profile.parameters)
    return round((packed * kept + (profile.parameters - packed) * _PLAIN_BITS) / 8)


def inference_activation_bytes(profile: Profile, precision: Precision, batch: int) -> int | None:
    """Return the bytes alive at once, of so many inputs; a transformer keeps them in 16 bits at least.

    Without the profile's own figure it is the widest operation: what it reads, and what it writes. A server passes the
    tokens of a decoder's prompts in chunks, so that more of them than a chunk are never alive together.
    """
    t = profile.transformer
    if t is not None and t.decoder and t.encoder is None and "sequence" in profile.dims:
        tokens = min(batch * profile.dims["sequence"], CHUNK_TOKENS)
        return activation_elements(t, tokens, generate=True) * max(BITS[precision], _PLAIN_BITS) // 8
    bits = max(BITS[precision], 8 if t is None else _PLAIN_BITS)
    if profile.activation_bytes is not None:
        plain = profile.activation_bytes / PLAIN_BYTES
    elif profile.ops:
        plain = max(op.read_elements + op.write_elements for op in profile.ops)
    else:
        return None
    return round(plain * bits / 8 * batch / profile.samples_count)


def _cache_bytes(t: Transformer | None, setup: Setup, batch: int) -> int:
    """Return the bytes of keys and values on one device: heads are shared out, one at least; a latent is not."""
    if t is None or not setup.context:
        return 0
    precision = setup.kv_precision
    bits = max(BITS[setup.precision], _PLAIN_BITS) if precision is None else BITS[precision]
    parts = 1 if t.latent is not None else min(setup.split.tensor, t.kv_heads)
    whole = batch * kv_cache_elements(t, setup.context) * bits / 8
    return math.ceil(whole / parts * _stage_share(t, setup.split))


def _stage_share(t: Transformer | None, split: Split) -> float:
    """Return the share of the layers in the fullest stage of a pipeline."""
    return 1 / split.pipeline if t is None else math.ceil(t.layers / split.pipeline) / t.layers


def _over(whole: int, split: Split) -> int:
    return math.ceil(whole / (split.tensor * split.pipeline))


def _split_activations(whole: int, profile: Profile, setup: Setup, batch: int) -> int:
    """Return what is alive on one of several devices: its share of the widest step, and the whole stream."""
    t = profile.transformer
    if setup.split.tensor == 1 or t is None:
        return whole
    tokens = profile.dims.get("sequence", 1)
    stream = 2 * tokens * batch * t.hidden * max(BITS[setup.precision], _PLAIN_BITS) // 8
    return min(whole, math.ceil(whole / setup.split.tensor) + stream)


def _trained(profile: Profile, setup: Setup, training: Training, batch: int) -> Need:
    count, split = profile.parameters, setup.split
    kept = kept_activation_bytes(profile, training, batch, BITS[setup.precision])
    stage = _stage_share(profile.transformer, split)
    alive = None if kept is None else math.ceil(kept / split.tensor * stage)
    if count is None:
        return _need(None, alive, setup)
    parts = split.tensor * split.pipeline
    return _need(
        weight_bytes(count, training, split.data) // parts,
        alive,
        setup,
        gradients=gradient_bytes(count, training, split.data) // parts,
        states=state_bytes(count, training, split.data) // parts,
    )


def fits(need: Need, usable_bytes: int) -> bool:
    """Say whether a device can hold it; with a part unknown it is not known to fit, so it does not."""
    return need.complete and need.total_bytes <= usable_bytes


def smallest_split(
    profile: Profile, usable_bytes: int, count: int, setup: Setup, mode: Mode = Mode.INFERENCE
) -> Need | None:
    """Return the need over the fewest of `count` devices (1, 2, 4, …) that can hold it, None when they cannot.

    A matrix is split over as many devices as divide its heads; beyond, the layers are split too.
    """
    for split in _splits(profile.transformer, count):
        need = needs(profile, replace(setup, split=split, usable_bytes=usable_bytes, missing={}), mode)
        if fits(need, usable_bytes):
            return need
    return None


def _splits(t: Transformer | None, count: int) -> Iterator[Split]:
    degree = 1
    while degree <= count:
        if t is None or t.heads % degree == 0:
            yield Split(tensor=degree)
        elif t.layers >= 2:
            tensor = max(part for part in (1, 2, 4, 8, 16) if degree % part == 0 and t.heads % part == 0)
            if degree // tensor <= t.layers:
                yield Split(tensor=tensor, pipeline=degree // tensor)
        degree *= 2


def largest_batch(profile: Profile, usable_bytes: int, setup: Setup, mode: Mode = Mode.INFERENCE) -> int:
    """Return how many inputs at once a device can hold, 0 when not even one; at most 2**20."""
    least, most = 0, 2**20
    while least < most:
        middle = (least + most + 1) // 2
        if fits(needs(profile, replace(setup, batch=middle, missing={}), mode), usable_bytes):
            least = middle
        else:
            most = middle - 1
    return least
