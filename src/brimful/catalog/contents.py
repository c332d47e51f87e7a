"""The catalogue: what it holds, and how a name is looked up in it. Each table is read when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from brimful.catalog.form import Document, File
from brimful.catalog.names import Names
from brimful.catalog.nouns import DcgmError, DriverBranch, ModelFit, NeuronPackage, OperatorList, ShippedFile, Xid
from brimful.catalog.rows import nouns
from brimful.model.hardware import Accelerator, Chip, CpuFamily, EndedService, Fitted, Offer
from brimful.model.noun import Noun

SHIPPED = Path(__file__).parent / "data"
MANIFEST = "manifest.json"
TABLES = (
    "offers",
    "accelerators",
    "cpus",
    "drivers",
    "xids",
    "dcgm_errors",
    "neuron_packages",
    "ended_services",
    "chips",
    "operators",
    "model_fits",
)
REGION = "us-east-1"
_N = TypeVar("_N", bound=Noun)


class Catalog:
    """The shipped tables, with the offers of an overlay laid over them. Open one with `load`."""

    def __init__(self, overlay: Path | None = None, shipped: Path = SHIPPED) -> None:
        self._overlay = overlay
        self._shipped = shipped

    @cached_property
    def files(self) -> tuple[ShippedFile, ...]:
        """The files that this version ships: table, date, licence, rows and digest of each."""
        file = File(self._shipped / MANIFEST, shipped=True)
        return nouns(file, _read(file, "manifest"), ShippedFile)

    @cached_property
    def offers(self) -> tuple[Offer, ...]:
        """EC2's instance types and their prices, the overlay's regions and newer prices among them."""
        layers = [(date_of, 1, rows) for date_of, rows in self._overlaid()]
        shipped = self._table("offers", Offer)
        day = max(item.date for item in self.files if item.table == "offers")
        layers.append((day, 0, shipped))
        return merge(*(rows for _, _, rows in sorted(layers, key=lambda layer: layer[:2])))

    @cached_property
    def accelerators(self) -> tuple[Accelerator, ...]:
        """Datasheets of accelerators."""
        return self._table("accelerators", Accelerator)

    @cached_property
    def cpus(self) -> tuple[CpuFamily, ...]:
        """The CPUs behind families of instances."""
        return self._table("cpus", CpuFamily)

    @cached_property
    def chips(self) -> tuple[Chip, ...]:
        """What computes, by the facts that its speed follows from; `brimful.catalog.chips` finds them by name."""
        return self._table("chips", Chip)

    @cached_property
    def drivers(self) -> tuple[DriverBranch, ...]:
        """Branches of NVIDIA's data-centre driver, newest first."""
        return self._table("drivers", DriverBranch)

    @cached_property
    def xids(self) -> tuple[Xid, ...]:
        """The error numbers of NVIDIA's driver."""
        return self._table("xids", Xid)

    @cached_property
    def dcgm_errors(self) -> tuple[DcgmError, ...]:
        """The findings of DCGM's diagnostics."""
        return self._table("dcgm_errors", DcgmError)

    @cached_property
    def neuron_packages(self) -> tuple[NeuronPackage, ...]:
        """The packages of AWS Neuron, release by release."""
        return self._table("neuron_packages", NeuronPackage)

    @cached_property
    def ended_services(self) -> tuple[EndedService, ...]:
        """Accelerators that were rented as a service and can no longer be had."""
        return self._table("ended_services", EndedService)

    @cached_property
    def operators(self) -> tuple[OperatorList, ...]:
        """The operators that each target's documentation names as supported."""
        return self._table("operators", OperatorList)

    @cached_property
    def model_fits(self) -> tuple[ModelFit, ...]:
        """How well families of models fit the Neuron targets."""
        return self._table("model_fits", ModelFit)

    @property
    def dates(self) -> dict[str, date]:
        """The date of each table, without reading it."""
        return {item.table: item.date for item in sorted(self.files, key=lambda item: item.date)}

    def read_all(self) -> None:
        """Read every table now, so that a damaged one is an error here and not in the middle of some work."""
        from brimful.catalog.practices import practices  # noqa: PLC0415 - TOML is not needed to look up an offer

        for table in TABLES:
            getattr(self, table)
        practices()

    def offer(self, instance: str, region: str = REGION) -> Offer | None:
        """Return the offer of an instance type in a region."""
        return self._offers_by_name.get((instance.lower(), region.lower()))

    def accelerator(self, name: str, memory_bytes: float | None = None) -> Accelerator | None:
        """Return the datasheet of an accelerator by its model or any alias; `memory_bytes` tells sizes apart."""
        return self._names.find(name, memory_bytes)

    def fitted(self, fitted: Fitted) -> Accelerator | None:
        """Return the datasheet of what an instance type holds; the memory of a whole device tells sizes apart."""
        whole = None if fitted.memory_bytes is None else fitted.memory_bytes / fitted.share
        return self._names.find(fitted.model, whole)

    def cpu(self, family: str) -> CpuFamily | None:
        """Return the CPU behind a family of instances."""
        return next((row for row in self.cpus if row.family == family.lower()), None)

    def successors(self, instance: str, region: str = REGION) -> tuple[Offer, ...]:
        """Return the offers that took the place of an instance type."""
        offer = self.offer(instance, region)
        found = [self.offer(name, region) for name in (offer.successors if offer else ())]
        return tuple(item for item in found if item is not None)

    @cached_property
    def _offers_by_name(self) -> dict[tuple[str, str], Offer]:
        return {(offer.instance, offer.region): offer for offer in self.offers}

    @cached_property
    def _names(self) -> Names:
        return Names(self.accelerators)

    def _table(self, table: str, cls: type[_N]) -> tuple[_N, ...]:
        """Read the shipped rows of a table, from the one or more files that hold them."""
        out: list[_N] = []
        for item in self.files:
            if item.table == table:
                file = File(self._shipped / item.file, shipped=True)
                document = _read(file, table)
                if document.sha256 != item.sha256:
                    raise file.error("is not the one that came with this version", f"{MANIFEST} names another digest")
                out += nouns(file, document, cls)
        if not out:
            file = File(self._shipped / MANIFEST, shipped=True)
            raise file.error("is not complete", f"it names no file for the table {table}")
        return tuple(out)

    def _overlaid(self) -> list[tuple[date, tuple[Offer, ...]]]:
        """Read the overlay: files of the table offers, any region, written by `catalog refresh`."""
        out = []
        for path in self._overlay_files():
            file = File(path, shipped=False)
            document = _read(file, "offers")
            out.append((document.date, nouns(file, document, Offer)))
        return out

    def _overlay_files(self) -> list[Path]:
        if self._overlay is None:
            return []
        try:
            return sorted(path for path in self._overlay.iterdir() if path.suffix == ".json")
        except FileNotFoundError:
            return []  # nothing was refreshed yet
        except OSError as error:
            raise File(self._overlay, shipped=False).error("is no readable directory", str(error)) from error


def load(overlay: Path | None = None) -> Catalog:
    """Open the catalogue; `overlay` is a directory whose newer offers count over the shipped ones."""
    return Catalog(overlay)


def merge(*layers: Iterable[Offer]) -> tuple[Offer, ...]:
    """Lay offers over one another: for the same instance type and region the last one counts."""
    merged: dict[tuple[str, str], Offer] = {}
    for layer in layers:
        for offer in layer:
            merged[offer.instance, offer.region] = offer
    return tuple(merged.values())


def _read(file: File, table: str) -> Document:
    document = file.read()
    if document.table != table:
        raise file.error(f"is not a table of {table}", f"its head says that it is the table {document.table!r}")
    return document
