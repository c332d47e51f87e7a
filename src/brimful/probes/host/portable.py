"""What psutil tells of a host that has no /proc: enough to develop on, and no more."""

from __future__ import annotations

import platform
import time

from brimful.model.evidence import Sample
from brimful.model.hardware import Device, DeviceKind
from brimful.model.noun import with_gaps

_WHY = "there is no /proc here, and psutil does not tell it"


def device() -> Device:
    """Return the CPU."""
    import psutil  # noqa: PLC0415 - needed on hosts without /proc alone

    memory = int(psutil.virtual_memory().total)
    return with_gaps(
        Device,
        _WHY,
        device="cpu",
        device_kind=DeviceKind.CPU,
        vendor=None,
        model=platform.processor() or platform.machine() or None,
        host=platform.node() or None,
        cores=psutil.cpu_count(logical=False),
        memory_bytes=memory,
        usable_memory_bytes=memory,
    )


def sample(*, first: bool) -> list[Sample]:
    """Return utilisation and memory; utilisation is that since the last call."""
    import psutil  # noqa: PLC0415 - as in device

    busy = psutil.cpu_percent(interval=None)
    memory = psutil.virtual_memory()
    known = {
        "utilization_percent": None if first else min(100.0, max(0.0, busy)),
        "memory_used_bytes": float(memory.total - memory.available),
    }
    why = "it is a rate, and this was the first look"
    return [
        Sample(
            time_s=time.time(),
            device="cpu",
            metric=metric,
            value=value,
            missing={} if value is not None else {"value": why},
        )
        for metric, value in known.items()
    ]
