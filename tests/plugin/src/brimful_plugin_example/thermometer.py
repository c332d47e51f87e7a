"""A probe that works: a whole back-end, for copying."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from brimful.model.evidence import Sample
from brimful.model.hardware import Device, DeviceKind
from brimful.model.noun import with_gaps


class ThermometerProbe:
    """Reads millidegrees from a file, as Linux writes them: `example:/sys/class/thermal/thermal_zone0/temp`."""

    def __init__(self, where: str) -> None:
        self._path = Path(where or "/sys/class/thermal/thermal_zone0/temp")

    @classmethod
    def check(cls) -> None:
        """Do nothing: a file that is not there is an unknown value, no reason to refuse."""

    def devices(self) -> Sequence[Device]:
        """Return the one thing that is warm."""
        return [
            with_gaps(
                Device,
                "a thermometer does not tell",
                device="cpu",
                device_kind=DeviceKind.CPU,
                vendor="unknown",
                model="unknown",
            )
        ]

    def sample(self) -> Sequence[Sample]:
        """Return the temperature, or the reason why it is not known."""
        value, gap = None, {}
        try:
            value = int(self._path.read_text(encoding="ascii")) / 1000
        except (OSError, ValueError) as error:
            gap = {"value": f"{self._path} cannot be read: {error}"}
        return [Sample(time_s=time.time(), device="cpu", metric="temperature_celsius", value=value, missing=gap)]

    def close(self) -> None:
        """Do nothing: no file is kept open."""
