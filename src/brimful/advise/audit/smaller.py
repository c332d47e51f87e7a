"""The cheapest share of a GPU that is enough for what a device was seen to do at most.

Utilisation is the share of time in which any kernel ran, so it bounds from above what was used of the device's compute
and of its bandwidth. An offer is enough when it has that much of both with head-room, the memory, and no less host.
"""

from __future__ import annotations

from brimful.advise.audit.facts import Facts, can_be_rented
from brimful.model.evidence import Usage
from brimful.model.hardware import Accelerator, Fitted, Offer

HEADROOM = 0.7  # the share of the smaller device that the work may take: queues grow steeply above it


def smaller_offer(facts: Facts, now: Offer, usage: Usage, price: float, region: str) -> Offer | None:
    """Return a region's cheapest available offer with one GPU, or a share of one, that is enough and costs less."""
    if not now.accelerators or len(now.accelerators) != 1 or now.accelerators[0].count != 1:
        return None
    fitted = now.accelerators[0]
    sheet = facts.datasheet(fitted)
    if sheet is None or usage.memory_used_bytes is None:
        return None
    need = _rates(sheet, fitted.share * usage.max_percent / 100 / HEADROOM)
    enough = (
        offer
        for offer in facts.market
        if can_be_rented(offer, region)
        and (offer.usd_per_hour or 0.0) < price
        and _host_is_no_less(offer, now)
        and _is_enough(facts, offer, sheet.vendor, need, usage.memory_used_bytes)
    )
    return min(enough, key=lambda offer: (offer.usd_per_hour or 0.0, offer.instance), default=None)


def _rates(sheet: Accelerator, share: float) -> tuple[float, float] | None:
    compute = sheet.peak_flops.get("fp16")
    if compute is None or sheet.bandwidth_bytes_per_s is None:
        return None
    return compute * share, sheet.bandwidth_bytes_per_s * share


def _host_is_no_less(offer: Offer, now: Offer) -> bool:
    """Compare hosts; nothing is known about how busy the present one is, so the other may not be smaller."""
    if offer.arch != now.arch or offer.vcpus is None or offer.memory_bytes is None:
        return False
    return offer.vcpus >= (now.vcpus or 0) and offer.memory_bytes >= (now.memory_bytes or 0)


def _is_enough(facts: Facts, offer: Offer, vendor: str, need: tuple[float, float] | None, memory: int) -> bool:
    parts: tuple[Fitted, ...] = offer.accelerators or ()
    if need is None or len(parts) != 1 or parts[0].vendor != vendor or parts[0].count != 1:
        return False
    sheet = facts.datasheet(parts[0])
    have = _rates(sheet, parts[0].share) if sheet else None
    if have is None or (parts[0].usable_memory_bytes or 0) < memory / HEADROOM:
        return False
    return have[0] >= need[0] and have[1] >= need[1]
