"""audit: collect what is known, write it down, hold it against the 92 practices, and say what to do first."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from brimful import registry
from brimful.advise.audit import watch
from brimful.advise.audit.facts import Branch, Cited, Facts
from brimful.advise.audit.judge import find, first_things, judge
from brimful.advise.idle import usage
from brimful.catalog import Catalog, load
from brimful.catalog.practices import practices
from brimful.config import Config
from brimful.journal.read import query
from brimful.journal.write import Writer, new_run
from brimful.model.answers import Audit
from brimful.model.errors import BrimfulError, DataError, JournalError
from brimful.model.evidence import Measurement, Sample, Source, Usage
from brimful.model.hardware import Device, Machine, Offer
from brimful.model.text import counted, readable_path, unicode_text
from brimful.model.units import format_seconds
from brimful.seams import Window
from brimful.verbs.doctor import hidden_buses, newest_price

EXAMPLE = Path(__file__).parent.parent / "example"
_ALWAYS = Window(start_s=0.0, end_s=1e12)
_BUSY, _MEMORY = "utilization_percent", "memory_used_bytes"


@dataclass(frozen=True, slots=True)
class Sources:
    """Where an audit looks: back-ends as `name:address`."""

    probes: tuple[str, ...] = ("host",)
    inventories: tuple[str, ...] = ()
    histories: tuple[str, ...] = ()
    example: bool = False


def audit(
    config: Config, sources: Sources | None = None, *, today: date | None = None, command: tuple[str, ...] = ()
) -> Audit:
    """Audit this machine and the machines of the inventories, and write what was seen and concluded into a new run."""
    sources = sources or Sources()
    root = config.path("run_dir")
    note = "the example fleet in it is simulated" if sources.example else ""
    with Writer.create(root, new_run(version("brimful"), command, note)) as writer:
        collected = _Collector(config, writer, today or datetime.now(UTC).date())
        collected.look(sources)
        facts = collected.facts()
        collected.warn_of_strays(facts)
        findings = [Cited(writer.append(item), item) for item in find(facts)]
        verdicts = judge(practices(), facts, findings)
        for verdict in verdicts:
            writer.append(verdict)
    found = tuple(item.noun for item in findings)
    return Audit(
        run=writer.run.run,
        journal=readable_path(writer.directory),
        about=collected.about(),
        counts=dict(Counter(verdict.status.value for verdict in verdicts)),
        first=tuple(first_things(found)),
        findings=found,
        practices=tuple(verdicts),
        warnings=tuple(collected.warnings),
        simulated=collected.simulated(),
    )


@dataclass
class _Collector:
    """Looks everywhere it is told to, and writes down what it sees before anything is concluded from it."""

    config: Config
    writer: Writer
    today: date
    devices: list[Cited[Device]] = field(default_factory=list)
    unseen: list[Cited[Sample]] = field(default_factory=list)
    machines: list[Cited[Machine]] = field(default_factory=list)
    usages: list[Cited[Usage]] = field(default_factory=list)
    measurements: list[Cited[Measurement]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _simulated: list[str] = field(default_factory=list)
    sources: Sources = field(default_factory=Sources)

    def look(self, sources: Sources) -> None:
        """Read every source; the catalogue and what the user named must work, this machine may stay unknown."""
        self.sources = _with_example(sources)
        self.catalog: Catalog = load(self.config.path("catalog_dir"))
        self.prices_on = newest_price(self.catalog.offers)
        dated = self.prices_on.isoformat()
        self.catalog_id = self._cite(Source(what="catalogue", where="shipped and refreshed", dated=dated)).id
        for spec in self.sources.probes:
            with registry.blaming("probe", spec):
                self._see(spec)
        for spec in self.sources.inventories:
            with registry.blaming("cloud", spec):
                self._list(spec)
        for spec in self.sources.histories:
            with registry.blaming("history", spec):
                self._recall(spec)
        self._remember()

    def facts(self) -> Facts:
        """Return what was collected, for the pure part to judge."""
        region = self.config.text("region") or "us-east-1"
        return Facts(
            today=self.today,
            region=region,
            prices_on=self.prices_on,
            catalog_id=self.catalog_id,
            devices=tuple(self.devices),
            unseen=tuple(self.unseen),
            machines=tuple(self.machines),
            has_inventory=bool(self.sources.inventories),
            offers=self._offers(region),
            usages=tuple(self.usages),
            has_history=bool(self.sources.histories),
            measurements=tuple(self.measurements),
            market=self.catalog.offers,
            datasheets=_datasheets(self.catalog),
            branches=tuple(_branches(self.catalog)),
        )

    def _offers(self, region: str) -> dict[tuple[str, str], Cited[Offer]]:
        """Write down the offer of each type in each region where it is rented, else that of another region."""
        wanted = {(item.noun.instance.lower(), (item.noun.region or region).lower()) for item in self.machines}
        elsewhere = {offer.instance: offer for offer in self.catalog.offers}
        found = {
            (name, place): self.catalog.offer(name, place) or elsewhere.get(name) for name, place in sorted(wanted)
        }
        offers = {offer.instance + offer.region: offer for offer in found.values() if offer is not None}
        cited = {key: self._cite(offer) for key, offer in offers.items()}
        self._warn_of_unknown_types(elsewhere)
        return {key: cited[offer.instance + offer.region] for key, offer in found.items() if offer is not None}

    def _warn_of_unknown_types(self, known: Mapping[str, Offer]) -> None:
        of_type: dict[str, list[str]] = {}
        for item in self.machines:
            if item.noun.instance.lower() not in known:
                of_type.setdefault(item.noun.instance, []).append(item.noun.machine)
        for name, machines in of_type.items():
            near = difflib.get_close_matches(name.lower(), known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            self.warnings.append(f"the catalogue does not know the type {name} of {_first(machines)}{hint}")

    def about(self) -> str:
        """Say in one line what the audit looked at."""
        here = "this machine" if self.sources.probes == ("host",) else self._probed()
        if not self.sources.inventories:
            return here
        if not self.machines:
            return f"{here}; the inventory lists no machine"
        example = " of the simulated example fleet" if self.sources.example else ""
        return f"{here} and {counted(len(self.machines), 'machine')}{example}"

    def _probed(self) -> str:
        """Count the devices by how they are known: measured ones are the rule, all others are called what they are."""
        by_source = Counter(item.noun.source for item in self.devices)
        told = [
            counted(count, "device" if source == "measured" else f"{source} device")
            for source, count in sorted(by_source.items())
        ]
        return " and ".join(told) or "no device"

    def simulated(self) -> tuple[str, ...]:
        """Return the sources of which something is simulated, as they were named."""
        return tuple(self._simulated)

    def _see(self, spec: str) -> None:
        try:
            probe = registry.open_backend("probe", spec)
            try:
                devices = list(probe.devices())
                self._source("probe", spec, simulated=any(device.source == "simulated" for device in devices))
                self.devices += [self._cite(device) for device in devices]
                self.unseen += [self._cite(sample) for sample in hidden_buses(probe)]
            finally:
                probe.close()
        except BrimfulError as error:
            if spec != "host":
                raise
            self.warnings.append(f"this machine's devices are unknown: {error.what} ({error.why})")

    def _list(self, spec: str) -> None:
        self._source("inventory", spec, simulated=self._is_example(spec))
        machines = registry.open_backend("cloud", spec).machines()
        taken = {item.noun.machine for item in self.machines}
        for machine in machines:
            if machine.machine in taken:
                raise DataError(
                    f"the machine {machine.machine} stands in two inventories",
                    why=f"{unicode_text(spec)} names it again",
                    fix="name each machine once",
                )
            self.machines.append(self._cite(machine))
        if not machines:
            self.warnings.append(f"the inventory {unicode_text(spec).partition(':')[2]} lists no machine")

    def _recall(self, spec: str) -> None:
        history = registry.open_backend("history", spec)
        found = [self._use(history, spec, device) for device in history.devices(_ALWAYS)]
        usages = [item for item in found if item is not None]
        self._source("history", spec, simulated=any(item.source == "simulated" for item in usages))
        self.usages += [self._cite(item) for item in usages]
        sparse = [item.device for item in usages if not watch.is_dense(item)]
        if sparse:
            self.warnings.append(
                f"{unicode_text(spec)} has less than {format_seconds(watch.MIN_KNOWN_S)} of samples, or samples too "
                f"far apart, of {_first(sparse)}: whether it is busy is not known (give a sample at least every 15 min)"
            )

    def _use(self, history: Any, spec: str, device: str) -> Usage | None:
        busy = history.series(device, _BUSY, _ALWAYS)
        memory = history.series(device, _MEMORY, _ALWAYS).values
        found = usage(
            device,
            _BUSY,
            busy.times_s,
            busy.values,
            memory_used_bytes=int(max(memory)) if memory else None,
            source="simulated" if self._is_example(spec) else busy.source,
        )
        if found is None:
            self.warnings.append(
                f"{unicode_text(spec)} has fewer than two values of {_BUSY} for {device}; its use is unknown"
            )
        return found

    def warn_of_strays(self, facts: Facts) -> None:
        """Say which devices of the history belong to no machine of the inventory, and what the machines are called."""
        strays = watch.stray_devices(facts)
        if strays:
            machines = _first([item.noun.machine for item in facts.machines])
            self.warnings.append(
                f"the history has {counted(len(strays), 'device')} of no machine of the inventory: {_first(strays)} "
                f"(the machines are {machines}; a device is called MACHINE or MACHINE/DEVICE)"
            )

    def _remember(self) -> None:
        """Take the measurements of all earlier runs; a journal that cannot be read is said, and passed over."""
        broken: list[JournalError] = []
        for record in query(self.config.path("run_dir"), ["measurement"], broken=broken):
            if isinstance(record.noun, Measurement):
                self.measurements.append(Cited(record.id, record.noun))
        self.warnings += [f"{error.what}: {error.why}" for error in broken]

    def _is_example(self, spec: str) -> bool:
        return str(EXAMPLE) in spec

    def _source(self, what: str, spec: str, *, simulated: bool) -> None:
        """Write down where something comes from."""
        self._cite(Source(what=what, where=unicode_text(spec), simulated=simulated))
        if simulated:
            self._simulated.append(f"{what} {unicode_text(spec)}")

    def _cite(self, record: Any) -> Cited[Any]:
        return Cited(self.writer.append(record), record)


def _with_example(sources: Sources) -> Sources:
    if not sources.example:
        return sources
    return replace(
        sources,
        inventories=(*sources.inventories, f"inventory:{EXAMPLE / 'machines.toml'}"),
        histories=(*sources.histories, f"trace:{EXAMPLE / 'usage.csv'}"),
    )


def _first(names: Sequence[str]) -> str:
    """Name the first three of many."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _datasheets(catalog: Catalog) -> dict[tuple[str, int | None], Any]:
    """Return the datasheet of each kind of accelerator that is fitted anywhere, under its model and memory."""
    offers: Sequence[Offer] = catalog.offers
    fitted = {(part.model, part.memory_bytes): part for offer in offers for part in offer.accelerators or ()}
    found = {key: catalog.fitted(part) for key, part in fitted.items()}
    return {key: sheet for key, sheet in found.items() if sheet is not None}


def _branches(catalog: Catalog) -> list[Branch]:
    """Return NVIDIA's Linux branches, by the number that a driver's version begins with."""
    return [
        Branch(branch=row.branch.lower().removeprefix("r").partition("-")[0], ends_on=row.ends_on, latest=row.latest)
        for row in catalog.drivers
        if row.platform.lower() == "linux"
    ]
