"""Driver branches, error numbers, Neuron packages and ended services: what checks of health and freshness look up."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from brimful.catalog.nouns import DcgmError, DriverBranch, NeuronPackage, Xid
from brimful.model.hardware import EndedService
from tools.catalog_sources import cite

Row = dict[str, str]
_TRACKS = {"PB": "production", "NFB": "new feature", "LTSB": "long-term support"}
_COLUMNS = ("cycle", "label", "released", "eoas", "eol", "latest", "latest_date")

# The long-term branches, which the compiled table lacks (it kept rows with a track in brackets). Same source.
_LONG_TERM = """
r580-linux,R580-Linux (LTSB),2025-08-04,2026-08-04,2028-08-04,580.178.04,2026-08-03
r580-windows,R580-Windows (LTSB),2025-06-03,2026-08-04,2028-08-04,582.78,2026-08-03
r535-linux,R535-Linux (LTSB),2023-06-14,2024-06-01,2026-06-01,535.309.01,2026-04-28
r535-windows,R535-Windows (LTSB),2023-05-30,2024-06-01,2026-06-01,539.72,2026-04-28
r470-linux,R470-Linux (LTSB),2021-07-19,2021-10-26,2024-07-20,470.256.02,2024-06-04
r470-windows,R470-Windows (LTSB),2021-06-22,2021-09-20,2024-07-09,475.14,2024-07-09
r450-linux,R450-Linux (LTSB),2020-06-24,2020-10-07,2023-07-01,450.248.02,2023-06-26
r450-windows,R450-Windows (LTSB),2020-06-24,2020-12-15,2023-07-01,454.23,2023-06-26
r418-linux,R418-Linux (LTSB),2019-01-30,2019-03-20,2022-03-01,418.197.02,2021-04-19
r418-windows,R418-Windows (LTSB),2019-02-04,2019-04-23,2022-03-01,427.45,2021-04-20
r390-linux,R390-Linux (LTSB),2018-01-04,2018-03-10,2022-11-22,390.157,2022-11-22
r390-windows,R390-Windows (LTSB),2018-01-08,2018-07-31,2021-10-26,392.68,2021-10-26
"""


def _rows(source: Path, name: str) -> list[Row]:
    with (source / "health" / name).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def drivers(source: Path) -> list[DriverBranch]:
    """Build the branches of NVIDIA's driver, newest first."""
    rows = _rows(source, "nvidia-driver-branches.csv")
    rows += [dict(zip(_COLUMNS, line.split(","), strict=True)) for line in _LONG_TERM.strip().splitlines()]
    return sorted((_branch(row) for row in rows), key=lambda item: (-int(item.branch), item.platform))


def _branch(row: Row) -> DriverBranch:
    match = re.fullmatch(r"R(\d+)-(Linux|Windows) \((\w+)\)", row["label"])
    if match is None:
        raise ValueError(f"the label {row['label']!r} has no branch, platform and track")
    known: dict[str, Any] = {}
    missing = {}
    if row["eoas"] in ("true", "false"):  # new feature branches get no fixes of their own: ended, no date
        known["fixes_ended"] = row["eoas"] == "true"
        missing["fixes_until"] = "a new feature branch has no date of its own for this"
    else:
        known["fixes_until"] = date.fromisoformat(row["eoas"])
        missing["fixes_ended"] = "it depends on the day: compare with fixes_until"
    return DriverBranch(
        branch=match[1],
        platform=match[2].lower(),
        track=_TRACKS[match[3]],
        released_on=date.fromisoformat(row["released"]),
        ends_on=date.fromisoformat(row["eol"]),
        latest=row["latest"],
        latest_on=date.fromisoformat(row["latest_date"]),
        missing=missing,
        **known,
        **cite("endoflife"),
    )


def _if_known(name: str, value: Any) -> dict[str, Any]:
    """Return a field to give to a noun, or nothing: then the noun says itself why it is unknown."""
    return {name: value} if value else {}


def _text(cell: str) -> str:
    """Join a cell of several lines into one."""
    return " / ".join(part.strip().rstrip("/").strip() for part in cell.splitlines())


def xids(source: Path) -> list[Xid]:
    """Build the table of Xids; an action that the source leaves empty stays unknown."""
    out = []
    for row in _rows(source, "xid-catalog.csv"):
        known: dict[str, Any] = {
            name: _text(row[name]) for name in ("immediate_action", "investigatory_action") if row[name]
        }
        known |= {"xid": int(row["xid"]), "mnemonic": _text(row["mnemonic"]), "description": _text(row["description"])}
        out.append(Xid(**known, **cite("xids")))
    return sorted(out, key=lambda item: item.xid)


def dcgm_errors(source: Path) -> list[DcgmError]:
    """Build the table of DCGM's errors and of their categories, which count from 0 again."""
    out = []
    for row in _rows(source, "dcgm-errors.csv"):
        step = " ".join(row["next_step"].split())
        out.append(
            DcgmError(
                code=int(row["code"]),
                group="category" if row["name"].startswith("DCGM_FR_EC_") else "error",
                name=row["name"],
                meaning=" ".join(row["meaning"].split()),
                **_if_known("next_step", step if step != "N/A" else ""),
                **cite("dcgm"),
            )
        )
    return sorted(out, key=lambda item: (item.group != "error", item.code))


# The date in the manifest that came with each release (the manifest's git history; AWS gives month/day/year).
_RELEASED = {
    "2.12.1": "2023-08-09", "2.12.2": "2023-08-19", "2.13.0": "2023-08-24", "2.13.1": "2023-08-29",
    "2.13.2": "2023-09-01", "2.14.0": "2023-09-15", "2.14.1": "2023-09-26", "2.15.0": "2023-10-26",
    "2.15.1": "2023-11-08", "2.15.2": "2023-11-17", "2.16.0": "2023-12-21", "2.16.1": "2024-01-18",
    "2.17.0": "2024-02-09", "2.18.0": "2024-04-01", "2.18.1": "2024-04-10", "2.18.2": "2024-04-25",
    "2.19.0": "2024-07-03", "2.19.1": "2024-07-19", "2.20.0": "2024-09-16", "2.20.1": "2024-10-25",
    "2.20.2": "2024-11-20", "2.21.0": "2024-12-19", "2.21.1": "2025-01-14", "2.22.0": "2025-03-28",
    "2.22.1": "2025-05-12", "2.23.0": "2025-05-20", "2.24.0": "2025-06-24", "2.24.1": "2025-06-30",
    "2.25.0": "2025-07-31", "2.26.0": "2025-09-18", "2.26.1": "2025-10-29", "2.27.0": "2025-12-19",
    "2.27.1": "2026-01-14", "2.28.0": "2026-02-26", "2.28.1": "2026-03-13", "2.29.0": "2026-04-09",
    "2.29.1": "2026-05-01", "2.30.0": "2026-05-20", "2.31.0": "2026-07-07", "2.31.1": "2026-08-12",
    "2.32.0": "2026-08-17",
}  # fmt: skip
_KEPT_SINCE = (2, 20, 0)  # 2024-09: two years back; of older releases only what is still the newest for a family
_INTERNAL = ("dmlc_", "islpy", "neuronx_hwm", "inferentia_hwm", "libnrt.so")  # parts of other packages


def neuron_packages(source: Path) -> list[NeuronPackage]:
    """Build a row for each version of a package that somebody may have, with the newest release that has it."""
    manifest = json.loads((source / "health" / "neuron-n2-manifest.json").read_text(encoding="utf-8"))
    components = {item["name"]: item["component"] for item in manifest["package_properties"]}
    rows: dict[tuple[str, str], NeuronPackage] = {}
    covered: set[tuple[str, str]] = set()
    releases = sorted(manifest["neuron_releases"], key=lambda item: _number(item["neuron_version"]), reverse=True)
    for release, item in _shipped(releases):
        name, version, families = item["name"], item["version"], item["supported_instances"]
        first = {(name, family) for family in families} - covered
        kept = _number(release) >= _KEPT_SINCE or first
        if kept and (name, version) not in rows:
            rows[name, version] = _package(release, item, components.get(name, "other"))
        covered |= first
    return sorted(rows.values(), key=lambda row: (row.component, row.package, _reversed(row.release), row.version))


def _shipped(releases: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for release in releases:
        for item in release["packages"]:
            if item["version"] != "na" and not item["name"].startswith(_INTERNAL):
                yield release["neuron_version"], item


def _package(release: str, item: dict[str, Any], component: str) -> NeuronPackage:
    day = _RELEASED.get(release)
    return NeuronPackage(
        component=component,
        package=item["name"],
        version=item["version"],
        release=release,
        families=tuple(item["supported_instances"]),
        pythons=tuple(item["supported_python_versions"]),
        **_if_known("released_on", date.fromisoformat(day) if day else None),
        **cite("neuron-manifest"),
    )


def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def _reversed(release: str) -> tuple[int, ...]:
    return tuple(-part for part in _number(release))


def ended_services(source: Path) -> list[EndedService]:
    """Build the accelerators that were a service and no instance type; the source folder has no table of them."""
    del source
    return [
        EndedService(
            service="Elastic Inference",
            names=("eia1.*", "eia2.*"),
            closed_to_new_on=date(2023, 4, 15),
            successors=("inf2.xlarge", "g6f.large", "g4dn.xlarge"),
            note="A share of an accelerator beside a CPU instance. A share of a GPU can be had as g6f.",
            missing={"ended_on": "AWS's APIs say that it is no longer available; no page with the day was found"},
            **cite("ei-notice"),
        ),
        EndedService(
            service="Elastic Graphics",
            names=("eg1.*",),
            closed_to_new_on=date(2023, 9, 5),
            ended_on=date(2024, 1, 8),
            successors=("g6f.large", "g4dn.xlarge", "g5.xlarge"),
            note="A share of a GPU for graphics. AWS names G4ad (since withdrawn), G4dn and G5 in its place.",
            **cite("eg-notice", "eg-closing"),
        ),
    ]
