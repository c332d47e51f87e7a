"""audit: collect what is known, write it down, hold it against the 92 practices, and say what to do first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from brimful import registry
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
        types = {item.noun.instance for item in self.machines}
        known = {name: self.catalog.offer(name, region) or self.catalog.offer(name) for name in sorted(types)}
        offers = {name: self._cite(offer) for name, offer in known.items() if offer is not None}
        return Facts(
            today=self.today,
            region=region,
            prices_on=self.prices_on,
            catalog_id=self.catalog_id,
            devices=tuple(self.devices),
            unseen=tuple(self.unseen),
            machines=tuple(self.machines),
            has_inventory=bool(self.sources.inventories),
            offers=offers,
            usages=tuple(self.usages),
            has_history=bool(self.sources.histories),
            measurements=tuple(self.measurements),
            market=self.catalog.offers,
            datasheets=_datasheets(self.catalog),
            branches=tuple(_branches(self.catalog)),
        )

    def about(self) -> str:
        """Say in one line what the audit looked at."""
        parts = ["this machine" if "host" in self.sources.probes else counted(len(self.devices), "device")]
        if self.sources.inventories:
            example = " of the simulated example fleet" if self.sources.example else ""
            parts.append(counted(len(self.machines), "machine") + example)
        return " and ".join(parts)

    def _see(self, spec: str) -> None:
        try:
            probe = registry.open_backend("probe", spec)
            try:
                self.devices += [self._cite(device) for device in probe.devices()]
                self.unseen += [self._cite(sample) for sample in hidden_buses(probe)]
            finally:
                probe.close()
        except BrimfulError as error:
            if spec != "host":
                raise
            self.warnings.append(f"this machine's devices are unknown: {error.what} ({error.why})")

    def _list(self, spec: str) -> None:
        self._cite(Source(what="inventory", where=unicode_text(spec), simulated=self._is_example(spec)))
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

    def _recall(self, spec: str) -> None:
        told = unicode_text(spec)
        self._cite(Source(what="history", where=told, simulated=self._is_example(spec)))
        history = registry.open_backend("history", spec)
        for device in history.devices(_ALWAYS):
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
                self.warnings.append(f"{told} has fewer than two values of {_BUSY} for {device}; its use is unknown")
            else:
                self.usages.append(self._cite(found))

    def _remember(self) -> None:
        """Take the measurements of all earlier runs; a journal that cannot be read is said, and passed over."""
        broken: list[JournalError] = []
        for record in query(self.config.path("run_dir"), ["measurement"], broken=broken):
            if isinstance(record.noun, Measurement):
                self.measurements.append(Cited(record.id, record.noun))
        self.warnings += [f"{error.what}: {error.why}" for error in broken]

    def _is_example(self, spec: str) -> bool:
        return str(EXAMPLE) in spec

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
