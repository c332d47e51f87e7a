"""The promises of a probe."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from brimful.model.evidence import Sample
from brimful.model.hardware import Device
from brimful.model.units import check, range_of
from brimful.probes.fake import FakeProbe
from brimful.seams import Probe
from brimful.testing.promises import SOURCES, checks, closes_twice, promise, shown


def fake_device(spec: str = "1xL4") -> Device:
    """Return a simulated device, e.g. `fake_device("1xH100,seed=3")`."""
    return FakeProbe(spec).devices()[0]


def check_probe(
    make: Callable[[], Probe],
    *,
    unknown: Collection[tuple[str, str]] = (),
    lose: Callable[[Probe], str] | None = None,
    source: str | None = None,
) -> None:
    """Check a probe.

    `unknown` are the (device, metric) pairs that cannot be read in this set-up. `lose` takes a device away from under
    the probe and returns its name. `source` is what its devices must say of themselves.
    """
    probe = make()
    checks(probe)
    devices = list(probe.devices())
    _check_devices(devices, source)
    first, second = list(probe.sample()), list(probe.sample())
    for samples in (first, second):
        _check_samples(samples, {device.device for device in devices})
    _check_times(first, second)
    _check_unknown(second, unknown)
    if lose is not None:
        _check_lost(probe, lose(probe))
    closes_twice(probe)


def _check_devices(devices: Sequence[Device], source: str | None) -> None:
    promise("devices() returns Devices", all(isinstance(device, Device) for device in devices))
    names = [device.device for device in devices]
    promise(f"each device has a name of its own: {names}", len(set(names)) == len(names))
    for device in devices:
        name = device.device
        promise(
            f"a device says where it comes from ({', '.join(SOURCES)}): {device.source!r}", device.source in SOURCES
        )
        promise(f"{name} says it is {device.source}, and it is {source}", source in (None, device.source))
        promise(f"what is not known is None with a reason: memory_bytes of {name} is 0", device.memory_bytes != 0)


def _check_samples(samples: Sequence[Sample], devices: Collection[str]) -> None:
    seen: set[tuple[str, str]] = set()
    promise("sample() returns Samples", all(isinstance(sample, Sample) for sample in samples))
    for sample in samples:
        key = sample.device, sample.metric
        limits = range_of(sample.metric)
        promise(f"a metric's name ends in its unit: {sample.metric!r} does not", limits != (-math.inf, math.inf))
        promise(f"samples are of the devices that devices() names: {sample.device!r} is not", sample.device in devices)
        promise(f"one sample() gives one value each: two of {key}", key not in seen)
        seen.add(key)
        if sample.value is not None:
            try:
                check(sample.metric, sample.value, limits)
            except ValueError as error:
                raise AssertionError(f"a value fits its unit: {error}") from error


def _check_times(first: Sequence[Sample], second: Sequence[Sample]) -> None:
    times = {(sample.device, sample.metric): sample.time_s for sample in first}
    for sample in second:
        key = sample.device, sample.metric
        promise(f"time does not run backwards: it does for {key}", sample.time_s >= times.get(key, sample.time_s))


def _check_unknown(samples: Sequence[Sample], unknown: Collection[tuple[str, str]]) -> None:
    found = {(sample.device, sample.metric): sample for sample in samples}
    for key in unknown:
        promise(f"what cannot be read is a Sample without a value: there is none of {key}", key in found)
        value = found[key].value
        promise(f"what cannot be read has no value, and never zero: {key} is {value}", value is None)


def _check_lost(probe: Probe, name: str) -> None:
    names = {device.device for device in probe.devices()}
    promise(f"devices() returns what is there now: {name} has vanished and is still named", name not in names)
    alive = [sample for sample in probe.sample() if sample.device == name and sample.value is not None]
    promise(f"a vanished device has no values, and never zero: {shown(alive)}", not alive)
