"""How long training takes: a step on one device, the same step on many, an epoch, a run.

A step costs a multiple of the forward pass. Arithmetic says 3 (the backward pass has twice the FLOPs); timm's published
runs, the same models with and without training on an RTX 3090 (3,528 pairs), say 3.35, from 2.9 to 4.7, and more for
depthwise convolutions, whose backward pass is slow. Those measured multiples are used, by what the model computes.

All-reduce of S bytes over n devices of a node takes 2 (n - 1) / n x S / bus bandwidth and a latency for each of its
2 (n - 1) steps; a tree has fewer steps and the quicker of both counts. Over m nodes the node's network moves
2 (m - 1) / m x S besides. Part of it hides behind the backward pass.
"""

from __future__ import annotations

import math
import re
from enum import StrEnum

from brimful.model.evidence import Interval
from brimful.model.hardware import Accelerator, Offer
from brimful.model.noun import Noun, noun, unknown
from brimful.model.work import OpKind, Profile

COVERAGE = 0.8
FED_SHARE = 0.9  # of a device's rate that input must reach before more devices are advised
OVERLAP = 0.7  # of the all-reduce that can hide behind the backward pass, as PyTorch's buckets let it

# Times of a forward pass that a step takes, low, mid and high: the 10th, 50th and 90th percentile of timm's pairs.
_ANY, _TRANSFORMER, _CONV, _DEPTHWISE = (2.88, 3.35, 4.74), (2.7, 2.95, 3.3), (2.9, 3.2, 4.2), (3.4, 4.4, 5.4)
_DEPTHWISE_SHARE = 0.03  # of the FLOPs in grouped convolutions from which they rule the time

_OPTIMIZER_BYTES = {"sgd": 12, "momentum": 20, "adam": 28, "adamw": 28, "adafactor": 16, "lion": 20}
_STREAMED_SHARE = 0.7  # of the memory's bandwidth that a pass over all weights reaches

# Share of a link's one-way rate that all-reduce reaches (its bus bandwidth): NVLink on p4d.24xlarge 231 of 300 GB/s,
# EFA on two to four p4d.24xlarge 57 to 30 of 50 GB/s (NVIDIA/nccl issue 527); PCIe 5 with eight RTX 5090 28, with
# four 35 of 63 GB/s (NVIDIA/nccl issue 1639). Links of other makers are taken as NVLink, unverified.
_SHARES = {"nvlink": (0.65, 0.77, 0.9), "pcie": (0.3, 0.45, 0.55), "efa": (0.5, 0.65, 0.9), "tcp": (0.3, 0.5, 0.7)}
_STEP_S = {"nvlink": 5e-6, "pcie": 1.5e-5, "efa": 4e-5, "tcp": 1e-4}  # latency of one hop: usual figures, unverified
_PCIE_ONE_WAY = {3: 15.75e9, 4: 31.5e9, 5: 63e9}
_FAST_LINK = re.compile(r"(?:NV|Neuron)Link-?v?\d* (\d+)|xGMI (\d+)")


class Optimizer(StrEnum):
    """What updates the weights, and so how many bytes a weight it moves."""

    SGD = "sgd"
    MOMENTUM = "momentum"
    ADAM = "adam"
    ADAMW = "adamw"
    ADAFACTOR = "adafactor"
    LION = "lion"


@noun
class Step(Noun):
    """One step on one device: forward, backward and, once for all micro-batches, the optimizer."""

    samples_count: int
    forward_ms: Interval
    compute_ms: Interval  # forward and backward
    optimizer_ms: float
    step_ms: Interval


@noun
class Link(Noun):
    """What devices reduce their gradients over: its kind, and the bus bandwidth that all-reduce reaches."""

    kind: str  # nvlink, pcie, efa, tcp
    bytes_per_s: Interval
    hop_s: float


@noun
class Scaled(Noun):
    """A step on several devices, and whether to advise them."""

    devices: int
    nodes: int
    step_ms: Interval
    allreduce_ms: float
    exposed_ms: float  # of the all-reduce, what does not hide
    efficiency_share: float  # samples a second and device, against one device
    samples_per_s: Interval
    refused: str | None = unknown("it may be advised")
    notes: tuple[str, ...] = ()


def backward_factor(profile: Profile | None) -> tuple[float, float, float]:
    """Return how many forward passes a step takes, low, mid and high, by what the model computes."""
    if profile is None or not profile.ops:
        return _TRANSFORMER if profile is not None and profile.transformer is not None else _ANY
    flops = dict.fromkeys(OpKind, 0.0)
    for op in profile.ops:
        flops[op.op] += op.ops_count * op.flops
    total = sum(flops.values()) or 1.0
    if flops[OpKind.GROUPED] > _DEPTHWISE_SHARE * total:
        return _DEPTHWISE
    if flops[OpKind.MATMUL] + flops[OpKind.ATTENTION] > 0.5 * total:
        return _TRANSFORMER
    return _CONV if flops[OpKind.CONV] > 0.5 * total else _ANY


def step(
    forward_ms: Interval,
    samples: int,
    parameters: int,
    bandwidth_bytes_per_s: float,
    profile: Profile | None = None,
    optimizer: Optimizer = Optimizer.ADAMW,
    *,
    accumulate: int = 1,
    recompute: bool = False,
) -> Step:
    """Return a step of `accumulate` micro-batches of `samples` each, from the forward pass of one of them.

    `recompute` keeps no activations: the forward pass is run once more.
    """
    factors = backward_factor(profile)
    more = 1.0 if recompute else 0.0
    ends = (forward_ms.low, forward_ms.mid, forward_ms.high)
    low, mid, high = (accumulate * end * (factor + more) for end, factor in zip(ends, factors, strict=True))
    update = parameters * _OPTIMIZER_BYTES[optimizer] / (_STREAMED_SHARE * bandwidth_bytes_per_s) * 1000
    return Step(
        samples_count=samples * accumulate,
        forward_ms=_interval(*(accumulate * end for end in ends)),
        compute_ms=_interval(low, mid, high),
        optimizer_ms=update,
        step_ms=_interval(low + update, mid + update, high + update),
    )


def link_within(chip: Accelerator) -> Link:
    """Return what connects the devices of one machine: a link of their own where the datasheet names one, or PCIe."""
    fast = _FAST_LINK.search(chip.interconnect or "")
    if fast:
        both_ways = float(fast[1] or fast[2]) * 1e9
        return _link("nvlink", both_ways / 2)
    stated = re.search(r"PCIe ?([345])", chip.interconnect or "")
    return _link("pcie", _PCIE_ONE_WAY[int(stated[1]) if stated else 3])


def link_between(offer: Offer) -> Link | None:
    """Return what connects machines of a type: EFA where it has it, or TCP; None when its network is not known."""
    if offer.network_bytes_per_s is None:
        return None
    return _link("efa" if offer.efa else "tcp", offer.network_bytes_per_s)


def _link(kind: str, one_way: float) -> Link:
    low, mid, high = (one_way * share for share in _SHARES[kind])
    return Link(kind=kind, bytes_per_s=_interval(low, mid, high), hop_s=_STEP_S[kind])


def allreduce_ms(size_bytes: float, devices: int, link: Link, rate: float | None = None) -> float:
    """Return how long devices take to add up so many bytes over one link: by ring or by tree, the quicker."""
    if devices < 2:
        return 0.0
    moved = 2 * (devices - 1) / devices * size_bytes / (rate or link.bytes_per_s.mid)
    ring, tree = 2 * (devices - 1) * link.hop_s, 2 * math.ceil(math.log2(devices)) * link.hop_s
    tree_moved = 2 * size_bytes / (rate or link.bytes_per_s.mid)  # each device sends up and down once
    return min(moved + ring, tree_moved + tree) * 1000


def scaled(
    one: Step,
    gradient_bytes: float,
    chip: Accelerator,
    offer: Offer,
    devices_per_node: int,
    nodes: int = 1,
    *,
    feed_per_s: float | None = None,
    overlap: float = OVERLAP,
) -> Scaled:
    """Return a data-parallel step; `feed_per_s` is what one machine's host lets through to all its devices."""
    within, between = link_within(chip), link_between(offer)
    if nodes > 1 and between is None:
        raise ValueError(f"the network of {offer.instance} is not known: no step over several of them can be told")
    devices = devices_per_node * nodes
    reduce = [
        _reduce_ms(gradient_bytes, devices_per_node, nodes, within, between, end) for end in ("high", "mid", "low")
    ]
    ends = (one.step_ms.low, one.step_ms.mid, one.step_ms.high)
    backward = one.compute_ms.mid - one.forward_ms.mid
    exposed = [time * (1 - overlap) + max(0.0, time * overlap - backward) for time in reduce]
    fed = 0.0 if feed_per_s is None else one.samples_count * devices_per_node / feed_per_s * 1000
    low, mid, high = (max(end + waits, fed) for end, waits in zip(ends, exposed, strict=True))
    samples = one.samples_count * devices
    refusal = _refusal(one, devices, feed_per_s)
    return Scaled(
        devices=devices,
        nodes=nodes,
        step_ms=_interval(low, mid, high),
        allreduce_ms=reduce[1],
        exposed_ms=exposed[1],
        efficiency_share=min(1.0, one.step_ms.mid / mid),
        samples_per_s=_interval(samples * 1000 / high, samples * 1000 / mid, samples * 1000 / low),
        refused=refusal,
        missing={} if refusal else {"refused": "it may be advised"},
        notes=_notes(within, between, devices_per_node, nodes),
    )


def _reduce_ms(size: float, per_node: int, nodes: int, within: Link, between: Link | None, end: str) -> float:
    time = allreduce_ms(size, per_node, within, getattr(within.bytes_per_s, end))
    if nodes > 1 and between is not None:
        time += allreduce_ms(size, nodes, between, getattr(between.bytes_per_s, end))
    return time


def _refusal(one: Step, devices: int, feed_per_s: float | None) -> str | None:
    """Say why more than one device must not be advised: input would not fill even one."""
    if devices < 2 or feed_per_s is None:
        return None
    alone = one.samples_count / one.step_ms.mid * 1000
    share = feed_per_s / alone
    if share >= FED_SHARE:
        return None
    return (
        f"input fills one device {share:.0%} of the time ({feed_per_s:.0f} of {alone:.0f} samples a second): "
        "mend the data path first (brimful feed), more devices would wait as well"
    )


def _notes(within: Link, between: Link | None, per_node: int, nodes: int) -> tuple[str, ...]:
    notes = []
    if per_node > 1 and within.kind == "pcie":
        notes.append("its devices have no link of their own: gradients go over PCIe; types with NVLink train better")
    if nodes > 1 and between is not None and between.kind == "tcp":
        notes.append("it has no EFA: gradients go over TCP")
    return tuple(notes)


def epoch_s(samples: int, samples_per_s: Interval) -> Interval:
    """Return how long one pass over so many samples takes."""
    return _interval(samples / samples_per_s.high, samples / samples_per_s.mid, samples / samples_per_s.low)


def run_s(samples: int, epochs: float, samples_per_s: Interval, start_s: float = 0.0) -> Interval:
    """Return how long a run takes, with what passes before its first step."""
    one = epoch_s(samples, samples_per_s)
    return _interval(*(start_s + epochs * end for end in (one.low, one.mid, one.high)))


def checkpoint_s(parameters: int, write_bytes_per_s: float, optimizer: Optimizer = Optimizer.ADAMW) -> float:
    """Return how long a checkpoint takes: weights and the optimizer's state, in fp32, at the store's rate."""
    states = {"sgd": 1, "momentum": 2, "lion": 2, "adafactor": 1.1}.get(optimizer, 3)
    return parameters * 4 * states / write_bytes_per_s


def _interval(low: float, mid: float, high: float) -> Interval:
    return Interval(low=low, mid=mid, high=high, coverage=COVERAGE)
