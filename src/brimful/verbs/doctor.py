"""doctor: what works on this machine, and how to get what does not."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from datetime import date
from importlib.metadata import version

from brimful import native, registry
from brimful.catalog import load
from brimful.config import Config
from brimful.model.answers import Diagnosis, Part
from brimful.model.errors import BrimfulError
from brimful.model.evidence import Sample
from brimful.model.hardware import Device, Offer
from brimful.model.installed import again
from brimful.seams import Probe


def doctor(config: Config) -> Diagnosis:
    """Look at every part and every back-end; a broken one is a line, never an error."""
    devices, problem = here()
    parts = [_native(), _catalogue(config), *([problem] if problem else [])]
    return Diagnosis(
        version=version("brimful"),
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        parts=tuple(parts),
        devices=devices,
        backends=tuple(registry.states()),
    )


def here() -> tuple[tuple[Device, ...], Part | None]:
    """Return the devices of this machine, and what kept us from seeing them if something did."""
    try:
        probe = registry.open_backend("probe", "host")
        try:
            return tuple(probe.devices()), _hidden(hidden_buses(probe))
        finally:
            probe.close()
    except BrimfulError as error:
        return (), Part(part="this machine", works=False, reason=f"{error.what}: {error.why}", fix=error.fix)


def hidden_buses(probe: Probe) -> list[Sample]:
    """Return where a probe could not look for accelerators: not seen is not absent."""
    return [item for item in probe.sample() if item.metric == "pci_accelerators_count" and item.value is None]


def _hidden(buses: list[Sample]) -> Part | None:
    if not buses:
        return None
    fix = "mount /sys into the container, or name what is there: brimful audit --probe file:devices.json"
    return Part(part="PCI bus", works=False, reason=buses[0].missing["value"], fix=fix)


def _native() -> Part:
    available, reason = native.state()
    if available:
        return Part(part="native module", works=True, reason=reason)
    fix = f"install a C++ compiler (apt-get install g++), then: {again()}"
    return Part(part="native module", works=False, reason=reason, fix=fix)


def _catalogue(config: Config) -> Part:
    overlay = config.path("catalog_dir")
    try:
        catalog = load(overlay)
        catalog.read_all()
        count, newest = len(catalog.offers), newest_price(catalog.offers)
    except BrimfulError as error:
        return Part(part="catalogue", works=False, reason=f"{error.what}: {error.why}", fix=error.fix)
    refreshed = " with refreshed files" if overlay.is_dir() and any(overlay.glob("*.json")) else ""
    return Part(part="catalogue", works=True, reason=f"{count} instance types, newest prices of {newest}{refreshed}")


def newest_price(offers: Iterable[Offer]) -> date:
    """Return the newest date of a price among offers."""
    return max(offer.price_date for offer in offers if offer.price_date is not None)
