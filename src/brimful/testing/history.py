"""The promises of a history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from brimful.seams import History, Series, Window
from brimful.testing.promises import NOBODY, SOURCES, checks, promise, shown

_LEAST = 2


def check_history(
    make: Callable[[], History],
    *,
    device: str,
    metric: str,
    window: Window,
    expected: Sequence[tuple[float, float]],
    gap: Window | None = None,
) -> None:
    """Check a history against what is known to be in it: the (time, value) pairs of a metric in a window.

    `gap` is a window without any value of the device, before, between or after those that there are.
    """
    history = make()
    checks(history)
    promise("the kit needs at least two expected values", len(expected) >= _LEAST)
    devices = list(history.devices(window))
    promise(f"devices() names every device with a value: {device} is missing", device in devices)
    promise(f"devices() names each device once, in order: {devices}", devices == sorted(set(devices)))
    series = history.series(device, metric, window)
    promise(f"series() returns a Series, not {type(series).__name__}", isinstance(series, Series))
    promise("a series says of which device and metric it is", (series.device, series.metric) == (device, metric))
    promise(f"a series says where it comes from ({', '.join(SOURCES)}): {series.source!r}", series.source in SOURCES)
    _check_values(_pairs(series), list(expected))
    _check_windows(history, device, metric, expected)
    if gap is not None:
        known = device in history.devices(gap)
        promise(f"devices() names those with a known value in the window: {device} has none in the gap", not known)
        filled = _pairs(history.series(device, metric, gap))
        promise(f"what is missing stays unknown and is never filled in: {shown(filled)} in the gap", not filled)
    for nobody in (history.series(NOBODY, metric, window), history.series(device, f"{NOBODY}_count", window)):
        promise("series() of what is not there is empty", not nobody.values)


def _pairs(series: Series) -> list[tuple[float, float]]:
    return list(zip(series.times_s, series.values, strict=True))


def _check_values(got: list[tuple[float, float]], expected: list[tuple[float, float]]) -> None:
    times = {time_s for time_s, _ in expected}
    invented = [pair for pair in got if pair[0] not in times]
    promise(f"what is missing stays unknown and is never filled in: {shown(invented)}", not invented)
    promise(f"series() returns the known values as they are: {shown(got)}, not {shown(expected)}", got == expected)


def _check_windows(history: History, device: str, metric: str, expected: Sequence[tuple[float, float]]) -> None:
    """Put windows side by side: each begins with its start and ends before its end."""
    for (start, value), (end, _) in pairwise(expected):
        got = _pairs(history.series(device, metric, Window(start_s=start, end_s=end)))
        text = f"a window is from start up to but without end: {start} to {end} gives {shown(got)}"
        promise(text, got == [(start, value)])
    start = expected[0][0]
    empty = history.series(device, metric, Window(start_s=start, end_s=start))
    promise("an empty window holds nothing", not empty.values)
