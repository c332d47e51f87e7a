"""What a machine's host lets through to its devices: decoding, PCIe, network and disk, per second.

Decoding on the host is told per vCPU, with all of them at work. The six accelerated runs of ResNet-50 on 4-vCPU hosts
that shashankprasanna/ai-accelerators-examples publishes deliver 339 to 376 images a second whatever the device: 88.5
for each vCPU, of 110 KB JPEGs, with Pillow or TensorFlow and a resize. Half of that time is taken as the same for
every picture, half as following libjpeg-turbo's cost (5.6 us a KB and 1.22 ns a pixel, measured on Zen 5); so 39 KB
pictures come out at 118 a second, which is what one worker delivered on a p3.2xlarge (aws-samples, Caltech-256).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from brimful.advise.fit.data import Data, DataKind
from brimful.model.evidence import Interval
from brimful.model.hardware import Accelerator, Offer
from brimful.model.noun import Noun, noun

COVERAGE = 0.8
JPEG_PER_VCPU = 88.5
IMAGE_TENSOR_BYTES = 3 * 224 * 224 * 4  # what goes over PCIe for a picture unless the model says otherwise
COMPILED_FACTOR = 1.8  # DALI 1.66 ms of CPU for an image where torch with Pillow takes 2.98, on the same core
_REFERENCE_BYTES, _REFERENCE_PIXELS = 110_000, 187_500
_S_PER_BYTE, _S_PER_PIXEL = 5.6e-9, 1.22e-9
_FIXED_SHARE = 0.5
_JPEG_SPREAD = (0.75, 1.45)  # of the mid: old hosts, and 128 a second for each core of an Emerald Rapids at full load

# Items of a vCPU a second are figures of general knowledge here, hence the wide intervals.
_PNG_PIXELS_PER_S = 2.5e6
_TENSOR_BYTES_PER_S = 1.0e9
_TEXT_BYTES_PER_S = 2.0e6
_VIDEO_PIXELS_PER_S = 1.5e8
_VAGUE = (0.4, 2.5)

# Bytes a second of 16 lanes by generation, before the protocol's share; pinned memory moves 0.75 to 0.87 of it
# (H200, PCIe 5: 48 to 55.5 of 63 GB/s measured), pageable memory about a third.
_PCIE = {3: 15.75e9, 4: 31.5e9, 5: 63e9}
_PCIE_BY_ARCHITECTURE = {"Volta": 3, "Turing": 3, "Ampere": 4, "Ada": 4, "Hopper": 5, "Blackwell": 5}
_PINNED, _PAGEABLE = (0.75, 0.8, 0.87), (0.29, 0.32, 0.35)

# nvJPEG through torchvision on an H200, 86 KB pictures: 14,067 to 18,579 a second by batch. Of no other chip do we
# have a measurement, and the engines differ too much between chips to scale one.
_GPU_JPEG = {"H200": (14_067.0, 18_214.0, 18_579.0)}


@noun
class FeedLimit(Noun):
    """What reaches the devices a second, the part that limits it, and what each part would let through (mid)."""

    items_per_s: Interval
    limited_by: str  # host decode, network, pcie, ebs; `nothing` where there is no input
    parts: Mapping[str, float]
    unverified: tuple[str, ...] = ()


def decode_per_vcpu(item: Data, *, compiled: bool = False) -> Interval | None:
    """Return how many items a vCPU decodes a second; None where nothing is to be decoded."""
    if item.kind is DataKind.NONE:
        return None
    if item.kind is DataKind.JPEG:
        cost = _jpeg_s(item.item_bytes, item.pixels or 0) / _jpeg_s(_REFERENCE_BYTES, _REFERENCE_PIXELS)
        mid, spread = JPEG_PER_VCPU / (_FIXED_SHARE + (1 - _FIXED_SHARE) * cost), _JPEG_SPREAD
    else:
        mid, spread = _other_per_vcpu(item), _VAGUE
    mid *= COMPILED_FACTOR if compiled and item.kind in (DataKind.JPEG, DataKind.PNG) else 1.0
    return Interval(low=mid * spread[0], mid=mid, high=mid * spread[1], coverage=COVERAGE)


def _jpeg_s(size: int, pixels: int) -> float:
    return _S_PER_BYTE * size + _S_PER_PIXEL * pixels


def _other_per_vcpu(item: Data) -> float:
    if item.kind is DataKind.PNG:
        return _PNG_PIXELS_PER_S / max(1, item.pixels or 1)
    if item.kind is DataKind.VIDEO:
        return _VIDEO_PIXELS_PER_S / max(1, item.pixels or 1)
    return (_TEXT_BYTES_PER_S if item.kind is DataKind.TEXT else _TENSOR_BYTES_PER_S) / item.item_bytes


def gpu_decode_per_s(chip: Accelerator, item: Data) -> Interval | None:
    """Return what a chip decodes itself (nvJPEG); None where it cannot, or where no measurement is known."""
    known = _GPU_JPEG.get(chip.model)
    if item.kind is not DataKind.JPEG or known is None:
        return None
    cost = _jpeg_s(item.item_bytes, item.pixels or 0) / _jpeg_s(86_000, round(86_000 * 1.7))
    low, mid, high = (rate / cost for rate in known)
    return Interval(low=low, mid=mid, high=high, coverage=COVERAGE)


def pcie_bytes_per_s(chip: Accelerator, *, pinned: bool = True) -> Interval | None:
    """Return what the link between host and chip moves, or None when its generation is not known."""
    stated = re.search(r"PCIe ?([345])(?: x(\d+))?", chip.interconnect or "")
    by_name = next((gen for name, gen in _PCIE_BY_ARCHITECTURE.items() if name in chip.architecture), None)
    generation = int(stated[1]) if stated else by_name
    if generation is None:
        return None
    lanes = int(stated[2]) if stated and stated[2] else 16
    low, mid, high = (_PCIE[generation] * lanes / 16 * share for share in (_PINNED if pinned else _PAGEABLE))
    return Interval(low=low, mid=mid, high=high, coverage=COVERAGE)


def feed_limit(
    offer: Offer,
    item: Data,
    chip: Accelerator | None = None,
    *,
    tensor_bytes: int | None = None,
    storage: str = "network",
    compiled: bool = False,
    decode_on_chip: bool = False,
) -> FeedLimit:
    """Return what the host of an instance type lets through to all its devices, and which part limits it.

    `storage` is where items come from: network, ebs, or memory (which limits nothing). A part whose rate is not known
    does not limit: it is absent from `parts`.
    """
    parts: dict[str, Interval] = {}
    vcpus = offer.vcpus or 0
    on_chip = gpu_decode_per_s(chip, item) if chip is not None and decode_on_chip else None
    decode = decode_per_vcpu(item, compiled=compiled)
    if on_chip is not None:
        parts["gpu decode"] = _times(on_chip, _chips(offer))
    elif decode is not None and vcpus:
        parts["host decode"] = _times(decode, vcpus)
    if item.item_bytes:
        stored = {"network": offer.network_bytes_per_s, "ebs": offer.ebs_bytes_per_s}.get(storage)
        peak = {"network": offer.network_peak_bytes_per_s, "ebs": offer.ebs_peak_bytes_per_s}.get(storage)
        if stored:
            parts[storage] = _stored(stored, peak, item.item_bytes)
        link = pcie_bytes_per_s(chip) if chip is not None else None
        if link is not None:
            moved = item.item_bytes if on_chip is not None else tensor_bytes or _tensor_bytes(item)
            parts["pcie"] = _times(link, _chips(offer) / moved)
    return _least(parts, item)


def _chips(offer: Offer) -> int:
    return max(1, sum(fitted.count for fitted in offer.accelerators or ()))


def _tensor_bytes(item: Data) -> int:
    return item.item_bytes if item.kind in (DataKind.TENSOR, DataKind.TEXT) else IMAGE_TENSOR_BYTES


def _stored(base: float, peak: float | None, item_bytes: int) -> Interval:
    """Return the rate of a burstable line: the baseline is what lasts, the peak what may come while credits do."""
    most = max(base, peak or base)
    return Interval(low=0.9 * base / item_bytes, mid=base / item_bytes, high=most / item_bytes, coverage=COVERAGE)


def _times(rate: Interval, factor: float) -> Interval:
    return Interval(low=rate.low * factor, mid=rate.mid * factor, high=rate.high * factor, coverage=rate.coverage)


_UNLIMITED = Interval(low=1e12, mid=1e12, high=1e12, coverage=COVERAGE)


def _least(parts: Mapping[str, Interval], item: Data) -> FeedLimit:
    vague = item.kind not in (DataKind.JPEG, DataKind.NONE) and "host decode" in parts
    name = min(parts, key=lambda key: parts[key].mid, default="nothing")
    rates = list(parts.values()) or [_UNLIMITED]
    low, mid, high = (min(getattr(rate, end) for rate in rates) for end in ("low", "mid", "high"))
    return FeedLimit(
        items_per_s=Interval(low=low, mid=mid, high=high, coverage=COVERAGE),
        limited_by=name,
        parts={key: rate.mid for key, rate in parts.items()},
        unverified=(f"host decode of {item.kind}",) if vague else (),
    )


def delivered(device_per_s: Interval, feed: FeedLimit) -> tuple[Interval, str]:
    """Return what a machine delivers, and what limits it: the device ("device"), or the part that feeds it."""
    fed = feed.items_per_s
    low, mid, high = (min(getattr(device_per_s, end), getattr(fed, end)) for end in ("low", "mid", "high"))
    name = "device" if device_per_s.mid <= fed.mid else feed.limited_by
    return Interval(low=low, mid=mid, high=high, coverage=device_per_s.coverage), name


def doubt(throughput_per_s: float, item_flops: float, peak_flops: float, cv: float | None = None) -> str | None:
    """Say why a measured throughput cannot be used, or None: it is above the roofline, or its times are no times."""
    if throughput_per_s * item_flops > peak_flops:
        share = throughput_per_s * item_flops / peak_flops
        return f"above the roofline: {share:.0%} of the peak rate; the clock was stopped before the device had finished"
    if cv is not None and cv > 0.3:
        return f"its times vary by {cv:.0%}: calls return before the device has finished"
    return None
