"""One machine type in full: every step from the device's facts to the answer, or why it is none."""

from __future__ import annotations

from brimful.advise.fit.machines import Inside
from brimful.advise.fit.places import Place
from brimful.advise.fit.rank import Outcome
from brimful.advise.fit.ranking import CallRow, Explained
from brimful.advise.fit.rows import Row
from brimful.advise.fit.services import Memory, usable_bytes
from brimful.model.errors import UsageError
from brimful.model.units import format_bit_rate, format_bytes


def explain(found: Outcome, memory: Memory, instance: str) -> Explained:
    """Return one type in full; one that is not known is an error."""
    name = instance.strip().lower()
    row = found.rows.get(name)
    if row is not None:
        return _explained(row, memory, found)
    reason = found.excluded.get(name)
    if reason is None:
        near = sorted(item for item in (*found.rows, *found.excluded) if item.startswith(name.partition(".")[0]))
        raise UsageError(
            f"--explain {instance!r:.60}: no such type was looked at",
            why="the catalogue has none of this name in the region",
            fix=f"name one of {', '.join(near[:5])}" if near else "brimful catalog show lists the types",
        )
    return Explained(instance=name, excluded=reason, missing={"place": "it is no answer"})


def _explained(row: Row, memory: Memory, found: Outcome) -> Explained:
    table = row.serving.table
    order = found.chosen.order.index(row.place.offer.instance) + 1
    calls = [
        CallRow(
            batch=call.batch,
            call_ms_low=call.ms[0],
            call_ms=call.ms[1],
            call_ms_high=call.ms[2],
            throughput_per_s=call.batch * 1000 / call.ms[1],
            roofline_ms=call.roofline_ms,
            limited_by=call.limited_by,
            memory_bytes=memory.need(table.unit, table.way.precision, call.batch)[0],
            used=call.batch in row.serving.batches,
        )
        for call in table.calls
    ]
    return Explained(
        instance=row.place.offer.instance,
        place=order,
        of_count=len(found.rows),
        calls=tuple(calls),
        facts=(*_machine(row.place), *_device(row.place.inside)),
        usable_bytes=usable_bytes(table.unit),
        feed=tuple(_feed(row.place)),
        basis=row.serving.call.told.basis,
        missing={
            "excluded": "it is an answer",
            **({} if usable_bytes(table.unit) else {"usable_bytes": "the catalogue has no figure"}),
        },
    )


def _machine(place: Place) -> list[str]:
    offer = place.offer
    parts = [f"{offer.vcpus} vCPUs" if offer.vcpus else ""]
    if offer.memory_bytes:
        parts.append(f"{format_bytes(offer.memory_bytes)} of memory")
    if offer.network_bytes_per_s:
        parts.append(f"{format_bit_rate(offer.network_bytes_per_s)} network, baseline")
    price = f"${place.usd_per_hour:,.4g} an hour {place.price}"
    if offer.price_date is not None:
        price += f" ({offer.region}, {offer.price_date})"
    return [", ".join([*(part for part in parts if part), price])]


def _device(inside: Inside) -> list[str]:
    chip = inside.chip
    several = f"{inside.count} x " if inside.count > 1 else ""
    part = f", a share of {inside.share:g}" if inside.share < 1 else ""
    cores = f", {inside.cores:g} of its {chip.compute_units} cores" if inside.cores else ""
    rates = ", ".join(f"{name} {rate / 1e12:.3g}" for name, rate in chip.peak_flops.items())
    facts = [f"{several}{chip.model}{part}{cores}: peaks in TFLOP/s {rates}"]
    if chip.bandwidth_bytes_per_s:
        facts.append(f"memory at {chip.bandwidth_bytes_per_s / 1e9:,.0f} GB/s" + (
            f", {chip.power_cap_watts:g} W at most" if chip.power_cap_watts else ", no published power limit"
        ))  # fmt: skip
    if chip.unverified:
        facts.append(f"not sure of: {', '.join(chip.unverified)}")
    return facts


def _feed(place: Place) -> list[str]:
    if place.feed is None:
        return []
    return [f"{name} {rate:,.0f}/s" for name, rate in sorted(place.feed.parts.items(), key=lambda item: item[1])]
