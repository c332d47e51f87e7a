"""What training keeps beside the weights: gradients, the optimiser's states, and activations until their gradients.

Bytes a parameter follow ZeRO (arXiv 1910.02054, section 3): 16 for Adam in mixed precision, which a stage divides among
the data-parallel devices. Activations are what every operation gives, kept until the way back has passed it.
"""

from __future__ import annotations

import math

from brimful.costs.transformer import forward
from brimful.model.noun import Noun, noun
from brimful.model.work import OpCost, OpKind, Profile

# Optimiser -> bytes of states a parameter: two or one numbers in fp32, or in eight bits (bitsandbytes, whose scales
# of blocks of 2,048 vanish); none for plain descent.
STATE_BYTES = {"adam": 8, "adam8bit": 2, "momentum": 4, "sgd": 0}
_MASTER_BYTES = 4  # an fp32 copy of the weights, in mixed precision
_LOGIT_BYTES = 12  # a language model's loss keeps its logits, their logarithms and their gradients in fp32

# What PyTorch keeps of all that a transformer's operations give: in fp32 less, as sums keep nothing; under autocast
# more, as it casts and keeps both. Measured on an H200 with encoders and decoders of 0.3 and 1.6 billion parameters
# (PyTorch 2.11, 2026-11-19); of other models everything is counted once.
_KEPT_SHARE = {True: 1.07, False: 0.88}


@noun
class Training(Noun):
    """How a model is trained, as far as memory can tell."""

    optimizer: str = "adam"
    mixed: bool = True  # weights and gradients in 16 bits, a copy of the weights in 32
    zero_stage: int = 0  # what is divided: 1 the states, 2 the gradients too, 3 the weights too (FSDP)
    checkpointing: bool = False  # activations inside a layer are computed a second time
    trainable_share: float = 1.0  # of the parameters; small with adapters

    def _agree(self) -> None:
        """Refuse what no trainer knows."""
        if self.optimizer not in STATE_BYTES:
            raise ValueError(f"optimizer is {self.optimizer!r}: it must be one of {', '.join(STATE_BYTES)}")
        if not 0 <= self.zero_stage <= 3:
            raise ValueError(f"zero_stage is {self.zero_stage}: it lies between 0 and 3")


def weight_bytes(parameters: int, training: Training, data: int = 1) -> int:
    """Return the bytes of the weights that a device computes with."""
    return _divided(parameters * (2 if training.mixed else 4), data, yes=training.zero_stage >= 3)


def gradient_bytes(parameters: int, training: Training, data: int = 1) -> int:
    """Return the bytes of the gradients."""
    trained = parameters * training.trainable_share
    return _divided(trained * (2 if training.mixed else 4), data, yes=training.zero_stage >= 2)


def state_bytes(parameters: int, training: Training, data: int = 1) -> int:
    """Return the bytes of the optimiser's states, the fp32 copy of the weights among them."""
    trained = parameters * training.trainable_share
    each = STATE_BYTES[training.optimizer] + (_MASTER_BYTES if training.mixed else 0)
    return _divided(trained * each, data, yes=training.zero_stage >= 1)


def _divided(size: float, data: int, *, yes: bool) -> int:
    return math.ceil(size / data) if yes else math.ceil(size)


def kept_activation_bytes(profile: Profile, training: Training, batch: int, bits: int) -> int | None:
    """Return the bytes of activations that wait for their gradients, None when the operations are not known.

    Recomputed layer by layer, a transformer keeps what enters each layer, and one layer in full; another model keeps
    about twice the root of its operations (arXiv 1604.06174).
    """
    if not profile.ops:
        return None
    width = 2 if training.mixed else max(bits, 32) // 8
    ops, layers, stream = _of_training(profile, batch)
    share = _KEPT_SHARE[training.mixed] if layers else 1.0
    whole = round(share * sum(op.ops_count * op.write_elements for op in ops))
    loss = max((op.write_elements for op in ops[-1:] if op.op is OpKind.MATMUL), default=0) if layers else 0
    if training.checkpointing:
        count = sum(op.ops_count for op in ops)
        whole = layers * stream + whole // layers if layers else round(min(1.0, 2 / math.sqrt(count)) * whole)
    return whole * width + loss * _LOGIT_BYTES


def _of_training(profile: Profile, batch: int) -> tuple[tuple[OpCost, ...], int, int]:
    """Return the operations of a pass over so many inputs, and of a transformer its layers and its stream."""
    t = profile.transformer
    if t is not None and "sequence" in profile.dims:
        tokens = profile.dims["sequence"]
        layers = t.layers + (t.encoder.layers if t.encoder is not None else 0)
        return forward(t, tokens=tokens, batch=batch), layers, tokens * batch * t.hidden
    if batch == profile.samples_count:
        return profile.ops, 0, 0
    share = batch / profile.samples_count
    return tuple(_scaled(op, share) for op in profile.ops), 0, 0


def _scaled(op: OpCost, share: float) -> OpCost:
    return OpCost(
        op=op.op,
        op_type=op.op_type,
        ops_count=op.ops_count,
        flops=op.flops * share,
        read_elements=round(op.read_elements * share),
        write_elements=round(op.write_elements * share),
    )
