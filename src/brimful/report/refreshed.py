"""How a refresh of the catalogue reads: what changed, twenty lines of each kind; as JSON, all of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from brimful.model.hardware import Status
from brimful.model.noun import plain
from brimful.model.refreshed import FailedRegion, PriceChange, Refreshed, RefreshedRegion
from brimful.model.units import format_usd
from brimful.report.text import UNKNOWN, render, said, table

SHOWN = 20


def text(found: Refreshed) -> str:
    """Draw a refresh for people."""
    parts: list[RenderableType] = []
    for region in found.regions:
        parts += [*_region(region), Text()]
    for failure in found.failed:
        parts += [*_failure(failure), Text()]
    return render(*parts[:-1])


def body(found: Refreshed) -> dict[str, Any]:
    """Return a refresh whole, for programs."""
    out: dict[str, Any] = plain(found)
    return out


def _region(found: RefreshedRegion) -> Iterator[RenderableType]:
    spot = "not read" if found.spot_count is None else str(found.spot_count)
    learning = "not read" if found.sagemaker_count is None else str(found.sagemaker_count)
    yield said(
        f"{found.region}: {found.offered_count} types can be had, {found.priced_count} have a price, "
        f"spot prices: {spot}, SageMaker: {learning}",
        "bold",
    )
    lost = [item.instance for item in found.statuses if item.before is Status.AVAILABLE]
    back = [item.instance for item in found.statuses if item.after is Status.AVAILABLE]
    rest = [item for item in found.statuses if item.instance not in {*lost, *back}]
    yield from _names("new in the catalogue", found.added)
    yield from _names("can be had now", back)
    yield from _names("not offered any more", lost, "yellow")
    yield from _names("other status now", [f"{item.instance} ({item.before} to {item.after})" for item in rest])
    yield from _names("gone from the price list", found.removed, "yellow")
    yield from _prices(found.prices)
    if found.spot_changed_count:
        yield said(f"spot prices that are new or different: {found.spot_changed_count}")
    if not (found.added or found.statuses or found.removed or found.prices or found.spot_changed_count):
        yield said("nothing changed but the dates")
    for path in found.files:
        yield said(f"wrote {path}", "dim")


def _names(title: str, names: Sequence[str], style: str = "") -> Iterator[RenderableType]:
    if names:
        yield said(f"{title}: {len(names)}", style)
        yield from _limited(said(f"  {name}") for name in names)


def _prices(changes: Sequence[PriceChange]) -> Iterator[RenderableType]:
    if not changes:
        return
    yield said(f"another price: {len(changes)}")
    rows = table("  instance", "$/hour before", "now", "change", right=("$/hour before", "now", "change"))
    for item in sorted(changes, key=_size, reverse=True)[:SHOWN]:
        rows.add_row(said(f"  {item.instance}"), *_cells(item))
    yield rows
    if len(changes) > SHOWN:
        yield said(f"  +{len(changes) - SHOWN} more (--json has them all)", "dim")


def _size(item: PriceChange) -> float:
    """Return how much a price changed, the largest share first; a price that came or went stands before all."""
    before, after = item.before_usd_per_hour, item.after_usd_per_hour
    return float("inf") if not before or not after else abs(after - before) / before


def _cells(item: PriceChange) -> list[str]:
    before, after = item.before_usd_per_hour, item.after_usd_per_hour
    share = f"{(after - before) / before:+.1%}" if before and after else "-"
    return [*(UNKNOWN if usd is None else format_usd(usd) for usd in (before, after)), share]


def _limited(lines: Iterable[RenderableType]) -> Iterator[RenderableType]:
    listed = list(lines)
    yield from listed[:SHOWN]
    if len(listed) > SHOWN:
        yield said(f"  +{len(listed) - SHOWN} more (--json has them all)", "dim")


def _failure(found: FailedRegion) -> Iterator[RenderableType]:
    yield said(f"{found.region}: not refreshed: {found.what}", "red")
    yield said(f"  why: {found.why}")
    yield said(f"  fix: {found.fix}")
