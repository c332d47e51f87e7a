"""What the filter of `catalog show` can ask of an offer: one table, KEYS, for parsing, errors, completion and docs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from brimful.catalog import names
from brimful.model import units
from brimful.model.hardware import DeviceKind, Fitted, Offer, Status

Values = tuple[Any, ...] | None  # None: unknown; (): there is no such thing in this offer

KINDS = tuple(item.value for item in DeviceKind if item is not DeviceKind.CPU)
STATES = tuple(item.value for item in Status)
ALIASES = {"amd64": "x86_64", "aarch64": "arm64"}  # what other programs call an architecture
ARCHITECTURES = ("x86_64", "arm64", "i386", "x86_64_mac", "arm64_mac")


@dataclass(frozen=True, slots=True)
class Key:
    """Something of an offer that can be asked for.

    `parse` is None for names, which are compared as text; `choices` are all the names there are, where they are few.
    `unit` is what is meant by a figure without one, and must be written: a bare one would count bytes.
    """

    name: str
    what: str
    example: str
    values: Callable[[Offer], Values]
    parse: Callable[[str], float] | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""


def _one(value: Any) -> Values:
    return None if value is None else (value,)


def _lower(value: Any) -> Values:
    return None if value is None else (str(value).lower(),)


def _each(offer: Offer, value: Callable[[Fitted], Any]) -> Values:
    """Return a figure of each accelerator; unknown when it is unknown of any."""
    if offer.accelerators is None:
        return None
    found = tuple(value(item) for item in offer.accelerators)
    return None if any(item is None for item in found) else found


def _total(offer: Offer, value: Callable[[Fitted], Any]) -> Values:
    found = _each(offer, value)
    return None if found is None else (sum(found),)


def models(offer: Offer) -> Values:
    """Return the names of what is fitted: "a100", and with the size of a whole device "a100 80gb"."""
    if offer.accelerators is None:
        return None
    out = []
    for item in offer.accelerators:
        out.append(names.key(item.model))
        if item.memory_bytes is not None:
            out.append(names.key(f"{item.model}-{item.memory_bytes / item.share / units.GIB:.0f}GB"))
    return tuple(out)


def _device_memory(item: Fitted) -> float | None:
    return item.memory_bytes


def _share(text: str) -> float:
    over, slash, under = text.partition("/")
    return units.parse_count(over) / units.parse_count(under) if slash else units.parse_count(text)


def _clock(text: str) -> float:
    number, unit = re.sub(r"[^0-9.]", "", text), re.sub(r"[0-9. ]", "", text).lower()
    if unit not in ("ghz", "mhz"):
        raise ValueError(f"{text!r} is no clock (known: GHz, MHz; e.g. 3.5GHz)")
    return float(number) * (1000 if unit == "ghz" else 1)


def _yes_no(value: bool | None) -> Values:  # noqa: FBT001 - it is the value itself, not a switch
    return None if value is None else ("yes" if value else "no",)


def _key_table(*keys: Key) -> dict[str, Key]:
    return {key.name: key for key in keys}


KEYS: dict[str, Key] = _key_table(
    Key("accelerator", "model of accelerator; A100-80GB tells sizes apart", "accelerator=L4", models),
    Key(
        "vendor",
        "maker of the accelerator",
        "vendor=NVIDIA",
        lambda offer: _each(offer, lambda item: item.vendor.lower()),
    ),
    Key(
        "kind",
        "gpu, neuron, gaudi, fpga, media, npu",
        "kind=neuron",
        lambda offer: _each(offer, lambda item: item.kind.value),
        choices=KINDS,
    ),
    Key(
        "count",
        "how many devices it shows",
        "count=8",
        lambda offer: _total(offer, lambda item: item.count),
        units.parse_count,
    ),
    Key(
        "share",
        "how much of a whole device each is",
        "share<1",
        lambda offer: _each(offer, lambda item: item.share),
        _share,
    ),
    Key(
        "accelerator_memory",
        "nominal memory of all its devices together",
        "accelerator_memory>=40GB",
        lambda offer: _total(offer, lambda item: None if item.memory_bytes is None else item.memory_bytes * item.count),
        units.parse_bytes,
        unit="GiB",
    ),
    Key(
        "device_memory",
        "nominal memory of one device (of the share, for a share)",
        "device_memory>=80GiB",
        lambda offer: _each(offer, _device_memory),
        units.parse_bytes,
        unit="GiB",
    ),
    Key(
        "usable_memory",
        "what a program can allocate of one device",
        "usable_memory>=2.7GiB",
        lambda offer: _each(offer, lambda item: item.usable_memory_bytes),
        units.parse_bytes,
        unit="GiB",
    ),
    Key("instance", "instance type", "instance=g6.xlarge", lambda offer: _lower(offer.instance)),
    Key("family", "family of instance types", "family=g6", lambda offer: _lower(offer.family)),
    Key("vcpus", "vCPUs", "vcpus<=8", lambda offer: _one(offer.vcpus), units.parse_count),
    Key("cores", "physical cores", "cores>=4", lambda offer: _one(offer.cores), units.parse_count),
    Key(
        "memory",
        "memory of the machine",
        "memory>=48GiB",
        lambda offer: _one(offer.memory_bytes),
        units.parse_bytes,
        unit="GiB",
    ),
    Key("arch", "x86_64 or arm64", "arch=arm64", lambda offer: _lower(offer.arch), choices=ARCHITECTURES),
    Key("cpu", "maker of the CPU", "cpu=AMD", lambda offer: _lower(offer.cpu_vendor)),
    Key("clock", "sustained clock of the CPU", "clock>=3.5GHz", lambda offer: _one(offer.clock_mhz), _clock),
    Key(
        "network",
        "network it can keep up",
        "network>=25Gbps",
        lambda offer: _one(offer.network_bytes_per_s),
        units.parse_bytes_per_s,
        unit="Gbps",
    ),
    Key(
        "network_peak",
        "network it can burst to",
        "network_peak>=25Gbps",
        lambda offer: _one(offer.network_peak_bytes_per_s),
        units.parse_bytes_per_s,
        unit="Gbps",
    ),
    Key("efa", "yes or no: Elastic Fabric Adapter", "efa=yes", lambda offer: _yes_no(offer.efa), choices=("yes", "no")),
    Key(
        "ebs",
        "rate to EBS that it can keep up",
        "ebs>=500MB/s",
        lambda offer: _one(offer.ebs_bytes_per_s),
        units.parse_bytes_per_s,
        unit="MB/s",
    ),
    Key("nvme", "local NVMe flash", "nvme>0", lambda offer: _one(offer.nvme_bytes), units.parse_bytes, unit="GB"),
    Key(
        "price", "on-demand, US dollars per hour", "price<1usd", lambda offer: _one(offer.usd_per_hour), units.parse_usd
    ),
    Key("spot", "spot, US dollars per hour", "spot<1usd", lambda offer: _one(offer.spot_usd_per_hour), units.parse_usd),
    Key("region", "region", "region=us-east-1", lambda offer: _lower(offer.region)),
    Key(
        "status",
        "available, withdrawn, unknown",
        "status=withdrawn",
        lambda offer: _lower(offer.status.value),
        choices=STATES,
    ),
)
