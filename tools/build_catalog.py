"""Build the catalogue files that the package ships: `python -m tools.build_catalog --from FOLDER [--to FOLDER]`.

The same source folder gives the same bytes. Rows that rest on a share-alike source go to a folder named after their
licence, so that the other files stay under theirs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from brimful.catalog import SHIPPED, Table, write_table
from brimful.catalog.nouns import ShippedFile
from tools.catalog_chips import chips
from tools.catalog_devices import accelerators, cpus
from tools.catalog_health import dcgm_errors, drivers, ended_services, neuron_packages, xids
from tools.catalog_offers import offers
from tools.catalog_operators import model_fits, operators
from tools.catalog_sources import READ, SHARE_ALIKE, SOURCES, SPECIFICATION

TABLES: dict[str, Callable[[Path], Sequence[Any]]] = {
    "offers": offers,
    "accelerators": accelerators,
    "cpus": cpus,
    "chips": chips,
    "drivers": drivers,
    "xids": xids,
    "dcgm_errors": dcgm_errors,
    "neuron_packages": neuron_packages,
    "ended_services": ended_services,
    "operators": operators,
    "model_fits": model_fits,
}

# A table is dated by the newest of its sources, except where that would claim more than the whole table holds.
DATES = {"offers": SPECIFICATION, "ended_services": READ}


def build(source: Path, target: Path) -> list[ShippedFile]:
    """Write every table and the manifest."""
    files = []
    for table, make in TABLES.items():
        rows = make(source)
        free = [row for row in rows if SHARE_ALIKE not in row.licence]
        alike = [row for row in rows if SHARE_ALIKE in row.licence]
        if free:
            files.append(_write(target, f"{table}.json", table, free))
        if alike:
            files.append(_write(target, f"{SHARE_ALIKE.lower()}/{table}.json", table, alike))
    write_table(target / "manifest.json", Table("manifest", max(item.date for item in files), tuple(files)))
    return files


def _write(target: Path, name: str, table: str, rows: Sequence[Any]) -> ShippedFile:
    texts = {part for row in rows for part in row.source.split("; ")}
    sources = {key: entry for key, entry in SOURCES.items() if entry.source in texts}
    day = DATES.get(table) or max(entry.date for entry in sources.values())
    return ShippedFile(
        file=name,
        table=table,
        date=day,
        rows_count=len(rows),
        sha256=write_table(target / name, Table(table, day, tuple(rows), sources)),
        source="tools/build_catalog.py",
        licence=" AND ".join(sorted({entry.licence for entry in sources.values()})),
    )


def main() -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", type=Path, required=True, help="the folder of source data")
    parser.add_argument("--to", dest="target", type=Path, default=SHIPPED, help="where the files go")
    options = parser.parse_args()
    for item in build(options.source, options.target):
        size = (options.target / item.file).stat().st_size
        print(f"{item.file}: {item.rows_count} rows, {size / 1000:.0f} kB, {item.date}, {item.licence}")


if __name__ == "__main__":
    main()
