"""The catalogue: what it says, that it says where from, and that a damaged file is never taken for a whole one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimful.catalog import SHIPPED, Catalog, Entry, Table, load, merge, write_table
from brimful.catalog.form import File, render, write
from brimful.catalog.rows import document, nouns
from brimful.config import load as load_config
from brimful.model.errors import CatalogError, StorageError
from brimful.model.hardware import DeviceKind, Fitted, Offer, Status, WithdrawalEvidence
from brimful.model.noun import Noun
from brimful.model.units import GIB, MIB
from brimful.verbs.audit import audit
from brimful.verbs.doctor import doctor
from strategies import nouns as any_noun

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tools are part of the checkout and of no package

from tools.build_catalog import build
from tools.catalog_cells import figure
from tools.catalog_withdrawn import DOUBTED

TABLES = (
    *("offers", "accelerators", "cpus", "chips", "drivers", "xids", "dcgm_errors", "neuron_packages"),
    "ended_services",
    "operators",
    "model_fits",
)
LICENCES = {"Apache-2.0", "MIT", "CC-BY-SA-4.0", "LicenseRef-facts"}
WHOLE = load()


def rows_of(catalog: Catalog) -> Iterator[Any]:
    for table in TABLES:
        yield from getattr(catalog, table)


def offer(name: str) -> Offer:
    found = WHOLE.offer(name)
    assert found is not None
    return found


def fitted(name: str) -> Fitted:
    (only,) = offer(name).accelerators or ()
    return only


# --- how much there is ---


def test_every_instance_type_of_the_lists_is_there_once() -> None:
    assert len(WHOLE.offers) == 1395
    assert len({(item.instance, item.region) for item in WHOLE.offers}) == 1395
    assert {item.region for item in WHOLE.offers} == {"us-east-1"}


def test_28_prices_and_22_specifications_are_unknown() -> None:
    assert sum(item.usd_per_hour is None for item in WHOLE.offers) == 28
    assert sum(item.specification_date is None for item in WHOLE.offers) == 22
    assert sum(item.vcpus is None for item in WHOLE.offers) == 22


def test_the_other_tables_have_their_rows() -> None:
    assert len(WHOLE.xids) == len({item.xid for item in WHOLE.xids}) == 172
    assert len(WHOLE.dcgm_errors) == len({(item.group, item.code) for item in WHOLE.dcgm_errors}) == 151
    assert len(WHOLE.drivers) == len({(item.branch, item.platform) for item in WHOLE.drivers}) == 46
    assert len(WHOLE.cpus) == 8
    assert len(WHOLE.accelerators) == 34
    assert len(WHOLE.neuron_packages) == len({(item.package, item.version) for item in WHOLE.neuron_packages}) == 340


def test_dates_are_known_without_reading_a_table() -> None:
    catalog = load()
    assert catalog.dates["offers"] == date(2026, 8, 2)
    assert catalog.dates.keys() >= set(TABLES)
    assert "offers" not in vars(catalog)


# --- the traps, each under its name ---


@pytest.mark.parametrize(
    ("name", "share", "usable_mib"),
    [
        ("g6f.large", 0.125, 2861),
        ("g6f.xlarge", 0.125, 2861),
        ("g6f.2xlarge", 0.25, 5722),
        ("g6f.4xlarge", 0.5, 11444),
        ("gr6f.4xlarge", 0.5, 11444),
    ],
)
def test_trap_fractional_gpus_are_listed_with_the_count_zero(name: str, share: float, usable_mib: int) -> None:
    part = fitted(name)
    assert (part.model, part.count, part.share) == ("L4", 1, share)
    assert part.memory_bytes == share * 24 * GIB
    assert part.usable_memory_bytes == usable_mib * MIB


@pytest.mark.parametrize(
    ("name", "model", "count", "cores", "gib"),
    [
        ("inf1.24xlarge", "Inferentia", 16, 4, 8),
        ("inf2.48xlarge", "Inferentia2", 12, 2, 32),
        ("trn1.32xlarge", "Trainium", 16, 2, 32),
        ("trn2.48xlarge", "Trainium2", 16, 8, 96),
    ],
)
def test_trap_neuron_devices_are_not_in_gpu_info(name: str, model: str, count: int, cores: int, gib: int) -> None:
    part = fitted(name)
    assert (part.model, part.vendor, part.kind) == (model, "AWS", DeviceKind.NEURON)
    assert (part.count, part.cores, part.memory_bytes) == (count, cores, gib * GIB)


@pytest.mark.parametrize("name", ["trn2.3xlarge", "trn2.48xlarge"])
def test_trap_trainium2_has_96_gib_whatever_the_api_says(name: str) -> None:
    assert fitted(name).memory_bytes == 96 * GIB
    assert "524,288 MiB" in offer(name).note


@pytest.mark.parametrize(
    ("name", "nominal_gib", "usable_mib"),
    [
        ("g5.xlarge", 24, 22888),
        ("g6.xlarge", 24, 22888),
        ("g6e.xlarge", 48, 45776),
        ("g4dn.xlarge", 16, 15360),
        ("p4de.24xlarge", 80, 81920),
        ("p5.4xlarge", 80, 81559),
        ("p5en.48xlarge", 141, 143771),
        ("p6-b200.48xlarge", 180, 183359),
        ("p6-b300.48xlarge", 288, 275040),
        ("dl2q.24xlarge", 16, 16000),
    ],
)
def test_trap_usable_memory_is_less_than_nominal(name: str, nominal_gib: int, usable_mib: int) -> None:
    part = fitted(name)
    assert part.memory_bytes == nominal_gib * GIB
    assert part.usable_memory_bytes == usable_mib * MIB


def test_trap_unseen_usable_memory_is_unknown_with_a_reason() -> None:
    part = fitted("g7.2xlarge")
    assert part.usable_memory_bytes is None
    assert "no captured output" in part.missing["usable_memory_bytes"]


def test_trap_a_vcpu_is_a_core_on_some_types_and_half_of_one_on_others() -> None:
    assert (offer("c7a.large").vcpus, offer("c7a.large").cores) == (2, 2)
    assert (offer("c7i.large").vcpus, offer("c7i.large").cores) == (2, 1)


def test_trap_a_price_is_no_proof_of_availability() -> None:
    priced = [item for item in WHOLE.offers if item.usd_per_hour is not None]
    assert len([item for item in priced if item.specification_date is None]) == 22
    assert all(item.status is not Status.AVAILABLE for item in priced if item.specification_date is None)


def test_trap_an_unknown_price_is_not_zero_and_says_why() -> None:
    why = {item.instance: item.missing["usd_per_hour"] for item in WHOLE.offers if item.usd_per_hour is None}
    assert sum("dedicated host" in reason for name, reason in why.items() if name.startswith("mac")) == 9
    assert sum("does not offer this type in us-east-1" in reason for reason in why.values()) == 19
    assert "us-east-2" in offer("trn2.48xlarge").note


def test_trap_local_disks_are_not_all_nvme() -> None:
    assert offer("m1.small").nvme_bytes == 0
    assert "no NVMe flash" in offer("m1.small").note
    assert offer("d3.xlarge").nvme_bytes == 0
    assert (offer("g6.12xlarge").nvme_bytes, offer("g6.12xlarge").nvme_disks) == (3760 * 10**9, 4)


def test_trap_network_is_what_it_can_keep_up_and_what_it_can_burst_to() -> None:
    assert offer("g6f.large").network_bytes_per_s == 1.5e9 / 8
    assert offer("g6f.large").network_peak_bytes_per_s == 10e9 / 8
    assert offer("p5.48xlarge").network_bytes_per_s == 3200e9 / 8


def test_trap_dcgm_counts_errors_and_categories_from_zero_each() -> None:
    zero = [item.name for item in WHOLE.dcgm_errors if item.code == 0]
    assert zero == ["DCGM_FR_OK", "DCGM_FR_EC_NONE"]


def test_trap_long_term_driver_branches_are_there_too() -> None:
    branch = {item.branch: item for item in WHOLE.drivers if item.platform == "linux"}
    assert (branch["580"].track, branch["580"].ends_on) == ("long-term support", date(2028, 8, 4))
    assert branch["610"].fixes_ended is True
    assert branch["570"].fixes_until == date(2026, 1, 27)


# --- what is withdrawn ---

WITHDRAWN = {
    "dl1.24xlarge": (date(2026, 7, 11), WithdrawalEvidence.ABSENT),
    "p3.2xlarge": (date(2025, 12, 20), WithdrawalEvidence.ANNOUNCED),
    "p3.8xlarge": (date(2025, 12, 20), WithdrawalEvidence.ANNOUNCED),
    "p3.16xlarge": (date(2025, 12, 20), WithdrawalEvidence.ANNOUNCED),
    "f1.2xlarge": (date(2025, 12, 20), WithdrawalEvidence.ANNOUNCED),
    "f1.4xlarge": (date(2025, 12, 20), WithdrawalEvidence.ANNOUNCED),
    "f1.16xlarge": (date(2025, 12, 20), WithdrawalEvidence.ANNOUNCED),
    "p2.xlarge": (date(2025, 3, 30), WithdrawalEvidence.ABSENT),
    "p2.8xlarge": (date(2025, 3, 30), WithdrawalEvidence.ABSENT),
    "p2.16xlarge": (date(2025, 3, 30), WithdrawalEvidence.ABSENT),
    "g3s.xlarge": (date(2025, 10, 31), WithdrawalEvidence.ANNOUNCED),
    "g3.4xlarge": (date(2025, 10, 31), WithdrawalEvidence.ANNOUNCED),
    "g3.8xlarge": (date(2025, 10, 31), WithdrawalEvidence.ANNOUNCED),
    "g3.16xlarge": (date(2025, 10, 31), WithdrawalEvidence.ANNOUNCED),
    "g2.2xlarge": (date(2023, 10, 8), WithdrawalEvidence.ABSENT),
    "g2.8xlarge": (date(2023, 10, 8), WithdrawalEvidence.ABSENT),
}


def test_exactly_these_types_are_withdrawn() -> None:
    found = {item.instance: (item.withdrawn_on, item.withdrawal) for item in WHOLE.offers if item.withdrawal}
    assert found == WITHDRAWN


@pytest.mark.parametrize("name", WITHDRAWN)
def test_a_withdrawn_type_names_available_successors(name: str) -> None:
    successors = WHOLE.successors(name)
    assert tuple(item.instance for item in successors) == offer(name).successors != ()
    assert all(item.status is Status.AVAILABLE and item.usd_per_hour and item.accelerators for item in successors)


def test_only_what_was_announced_is_called_announced() -> None:
    for item in WHOLE.offers:
        if item.withdrawal is WithdrawalEvidence.ANNOUNCED:
            assert "notice" in item.source


def test_what_is_offered_in_other_regions_alone_is_not_available_here() -> None:
    elsewhere = [item for item in WHOLE.offers if "EC2 does not offer it in us-east-1" in item.note]
    assert len(elsewhere) == 19
    assert all(item.status is Status.UNKNOWN and item.usd_per_hour is None for item in elsewhere)


def test_what_left_the_lists_without_accelerators_or_is_doubted_is_unknown() -> None:
    unknown = {item.instance for item in WHOLE.offers if item.status is Status.UNKNOWN and item.usd_per_hour}
    big = {f"u-{size}tb1.112xlarge" for size in (9, 12, 18, 24)}
    assert unknown == {"i3.metal", "cr1.8xlarge", *big, *DOUBTED}
    assert all(offer(name).note and offer(name).usd_per_hour for name in unknown)


def test_one_report_of_a_third_party_withdraws_nothing_that_our_lists_have() -> None:
    for name in DOUBTED:
        assert (offer(name).status, offer(name).withdrawn_on) == (Status.UNKNOWN, None)
        assert "a report of 2026-09-11" in offer(name).note
        assert "issues/996" in offer(name).source


def test_services_that_ended_are_there() -> None:
    services = {item.service: item for item in WHOLE.ended_services}
    assert services["Elastic Inference"].closed_to_new_on == date(2023, 4, 15)
    assert services["Elastic Graphics"].ended_on == date(2024, 1, 8)
    for service in services.values():
        assert all(offer(name).status is Status.AVAILABLE for name in service.successors)


# --- well-known rows ---


@pytest.mark.parametrize(
    ("name", "model", "count", "gib", "status", "price"),
    [
        ("g6f.large", "L4", 1, 3, Status.AVAILABLE, 0.202),
        ("gr6f.4xlarge", "L4", 1, 12, Status.AVAILABLE, 1.066),
        ("trn2.48xlarge", "Trainium2", 16, 96, Status.UNKNOWN, None),
        ("inf2.48xlarge", "Inferentia2", 12, 32, Status.AVAILABLE, 12.98127),
        ("dl1.24xlarge", "Gaudi", 8, 32, Status.WITHDRAWN, 13.10904),
        ("p3.2xlarge", "V100", 1, 16, Status.WITHDRAWN, 3.06),
        ("p3dn.24xlarge", "V100", 8, 32, Status.AVAILABLE, 31.212),
        ("f1.2xlarge", "VU9P", 1, 64, Status.WITHDRAWN, 1.65),
        ("f2.6xlarge", "VU47P", 1, 80, Status.AVAILABLE, 1.98),
        ("dl2q.24xlarge", "Cloud AI 100", 8, 16, Status.UNKNOWN, None),
        ("vt1.3xlarge", "U30", 1, 24, Status.AVAILABLE, 0.65),
        ("g7e.2xlarge", "RTX PRO 6000", 1, 96, Status.AVAILABLE, 3.36312),
        ("g4ad.xlarge", "Radeon Pro V520", 1, 8, Status.UNKNOWN, 0.37853),
    ],
)
def test_well_known_rows(name: str, model: str, count: int, gib: int, status: Status, price: float | None) -> None:
    part = fitted(name)
    assert (part.model, part.count, part.memory_bytes) == (model, count, gib * GIB)
    assert (offer(name).status, offer(name).usd_per_hour) == (status, price)


def test_cpu_types_have_no_accelerator_and_say_so() -> None:
    assert offer("c7i.large").accelerators == ()
    assert offer("i3.metal").accelerators == ()
    assert all(item.accelerators is not None for item in WHOLE.offers)


def test_an_offer_is_found_whatever_its_case_and_not_elsewhere() -> None:
    assert WHOLE.offer("G6.XLARGE") is offer("g6.xlarge")
    assert WHOLE.offer("g6.xlarge", "eu-west-1") is None
    assert WHOLE.offer("g6.nano") is None
    assert WHOLE.successors("g6.xlarge") == WHOLE.successors("nothing") == ()


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("Tesla T4", "T4"),
        ("NVIDIA A10G", "A10G"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H200", "H200"),
        ("nvidia l40s", "L40S"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L4-3Q", "L4"),
        ("NVIDIA A100-SXM4-80GB", "A100-80GB"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "A100-40GB"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000"),
        ("Tesla V100-SXM2-32GB", "V100-32GB"),
        ("HL-205", "Gaudi"),
        ("Trainium1", "Trainium"),
        ("Qualcomm AI100", "Cloud AI 100"),
        ("Virtex UltraScale+ (VU47P)", "VU47P"),
        ("GRID K520", "K520"),
        ("A100", "A100-40GB"),
    ],
)
def test_an_accelerator_is_found_by_any_of_its_names(name: str, model: str) -> None:
    found = WHOLE.accelerator(name)
    assert found is not None
    assert found.model == model


@pytest.mark.parametrize("name", ["", "NVIDIA", "A10", "NVIDIA H100 PCIe", "L40", "GeForce RTX 3090", "T4x"])
def test_a_similar_name_is_another_accelerator(name: str) -> None:
    assert WHOLE.accelerator(name) is None


def test_memory_tells_the_sizes_of_one_name_apart() -> None:
    found = WHOLE.accelerator("A100", 81_920 * MIB)
    assert found is not None
    assert found.model == "A100-80GB"


def test_every_fitted_accelerator_has_a_datasheet_that_agrees() -> None:
    for item in WHOLE.offers:
        for part in item.accelerators or ():
            sheet = WHOLE.fitted(part)
            assert sheet is not None, item.instance
            assert (sheet.vendor, sheet.kind) == (part.vendor, part.kind)
            assert sheet.memory_bytes is not None
            assert sheet.memory_bytes * part.share == part.memory_bytes
            assert item.family in sheet.families, (item.instance, sheet.families)


def test_a_cpu_is_found_by_its_family() -> None:
    cpu = WHOLE.cpu("C7A")
    assert cpu is not None
    assert cpu.threads_per_core == 1
    assert cpu.peak_core_flops["fp32"] == 118e9
    assert WHOLE.cpu("c1") is None


def test_conflicting_datasheets_are_named() -> None:
    doubts = {item.model: " ".join(item.unverified) for item in WHOLE.accelerators}
    assert "153.5" in doubts["B300"]
    assert "4500" in doubts["B300"]
    assert "350" in doubts["L40S"]
    assert "300" in doubts["L40S"]
    assert "1792" in doubts["RTX PRO 6000"]
    assert "1597" in doubts["RTX PRO 6000"]
    for item in WHOLE.accelerators:
        engines = {name for name in ("decoders", "encoders") if getattr(item, name) is not None}
        assert engines <= set(item.unverified), item.model


def test_estimates_of_cpus_say_that_they_are() -> None:
    for cpu in WHOLE.cpus:
        assert {f"peak_core_flops[{name}]" for name in cpu.peak_core_flops} <= set(cpu.unverified)


# --- sources, licences, reasons ---


def test_every_row_has_a_source_and_a_licence_that_may_be_passed_on() -> None:
    for row in rows_of(WHOLE):
        assert row.source
        assert set(row.licence.split(" AND ")) <= LICENCES, row


def test_share_alike_rows_stand_in_files_of_their_own() -> None:
    for item in WHOLE.files:
        inside = item.file.startswith("cc-by-sa-4.0/")
        assert inside == ("CC-BY-SA-4.0" in item.licence.split(" AND ")), item.file
    for row in rows_of(WHOLE):
        cited = "aws-neuron" in row.source or "stas00/ml-engineering" in row.source
        assert cited == ("CC-BY-SA-4.0" in row.licence.split(" AND ")), row


def gaps(value: Any) -> Iterator[tuple[Noun, str]]:
    """Yield each unknown field of a noun and of the nouns inside it."""
    if isinstance(value, Noun):
        for item in fields(value):
            inner = getattr(value, item.name)
            if inner is None:
                yield value, item.name
            yield from gaps(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from gaps(inner)


def test_every_unknown_says_why() -> None:
    for row in rows_of(WHOLE):
        for holder, name in gaps(row):
            assert holder.missing[name].strip()


def test_on_disk_too_a_null_has_its_reason_in_its_row_or_in_its_noun() -> None:
    for item in WHOLE.files:
        raw = File(SHIPPED / item.file, shipped=True).read()
        cls = type(getattr(WHOLE, item.table)[0])
        spoken = {field.name for field in fields(cls) if field.metadata.get("why")}
        for row in raw.rows:
            cells = dict(zip(raw.columns, row, strict=True))
            reasons = cells.pop("missing", None) or {}
            nulls = {name for name, cell in cells.items() if cell is None}
            assert nulls - spoken <= reasons.keys() <= nulls
            assert all(raw.reasons[key] for key in reasons.values())


# --- the build ---


@pytest.fixture(scope="session")
def source() -> Path:
    return Path(__file__).parent / "data" / "catalog"


@pytest.fixture(scope="session")
def built(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("built")
    build(source, target)
    return target


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.json")}


def test_the_same_source_gives_the_same_bytes(source: Path, built: Path, tmp_path: Path) -> None:
    build(source, tmp_path)
    assert contents(tmp_path) == contents(built)


def test_rows_of_the_small_source_are_those_that_ship(built: Path) -> None:
    small = Catalog(shipped=built)
    assert len(small.offers) == 70
    for table in TABLES:
        if table != "neuron_packages":  # which release is the newest depends on which there are
            assert set(map(str, getattr(small, table))) <= set(map(str, getattr(WHOLE, table))), table


def test_neuron_packages_are_cut_to_what_is_needed(built: Path) -> None:
    rows = Catalog(shipped=built).neuron_packages
    assert not any(row.package.startswith("dmlc_") or row.version == "na" for row in rows)
    drivers = [row for row in rows if row.package == "aws-neuronx-dkms"]
    assert drivers[0].release == "2.32.0"
    assert drivers[0].released_on == date(2026, 8, 17)
    assert next(row for row in drivers if "inf1" in row.families).release == "2.24.0"
    assert not [row for row in drivers if row.release in ("2.3.0", "2.12.0")]


def test_shipped_files_are_what_writing_their_rows_gives() -> None:
    for item in WHOLE.files:
        path = SHIPPED / item.file
        raw = File(path, shipped=True).read()
        cls = type(getattr(WHOLE, item.table)[0])
        again = document(Table(raw.table, raw.date, nouns(File(path, shipped=True), raw, cls), raw.sources))
        assert render(again) == path.read_bytes(), item.file


@pytest.mark.parametrize(
    ("cell", "value", "doubtful"),
    [
        ("312", 312, False),
        ("31.2(31.5)", 31.2, True),
        ("96(48 reported)", 48, True),
        ("1792(1597 for Server Ed.)", 1597, True),
        ("153.5(!)", 153.5, True),
        ("62(dp4a)", 62, True),
        ("7700-8000", 7700, True),
        ("~614-844", 614, True),
        ("~188(est)", 188, True),
        ("~21(DSP 6840 x2x~0.77GHz theoretical)", 21, True),
        ("~204 (64 flop/cy x 3.2)", 204, True),
        ("288(270 usable)", 288, False),
        ("16 HBM + 64 DDR4", 80, True),
        ("24 SRAM", 24, False),
        ("3.8 turbo", 3.8, True),
    ],
)
def test_each_way_of_writing_a_cell_has_its_rule(cell: str, value: float, doubtful: bool) -> None:  # noqa: FBT001
    found = figure(cell)
    assert found is not None
    assert (found.value, found.doubtful) == (value, doubtful)


def test_a_power_limit_takes_the_higher_figure() -> None:
    found = figure("150-300", highest=True)
    assert found is not None
    assert found.value == 300


@pytest.mark.parametrize("cell", ["", "-", "~", "V", "~ (MME not published)"])
def test_some_cells_say_that_nothing_is_known(cell: str) -> None:
    assert figure(cell) is None


@pytest.mark.parametrize("cell", ["fast", "12;13", "1.2.3", "(12)", "--", "50 GB/s!"])
def test_a_cell_without_a_rule_stops_the_build(cell: str) -> None:
    with pytest.raises(ValueError, match="has no rule"):
        figure(cell)


# --- the form: damage, strangers, the future ---


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path / "data")
    return tmp_path / "data"


def read_all(folder: Path) -> list[str]:
    return [str(row) for row in rows_of(Catalog(shipped=folder))]


@pytest.fixture(scope="session")
def healthy(built: Path) -> list[str]:
    return read_all(built)


@st.composite
def damage(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Return something that can happen to a file: a flipped byte, a lost or a foreign end, a hole."""
    where = draw(st.floats(0, 1, exclude_max=True))
    what = draw(st.sampled_from(["flip", "cut", "add", "hole"]))
    mask = draw(st.integers(1, 255))

    def apply(data: bytes) -> bytes:
        place = int(where * len(data))
        if what == "flip":
            return data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :]
        if what == "cut":
            return data[:place]
        return data + bytes([mask]) if what == "add" else data[:place] + data[place + mask :]

    return apply


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), damage())
def test_a_damaged_shipped_file_is_an_error_or_no_damage(
    copy: Path, healthy: list[str], data: st.DataObject, apply: Callable[[bytes], bytes]
) -> None:
    path = data.draw(st.sampled_from(sorted(copy.rglob("*.json"))))
    whole = path.read_bytes()
    found: list[str] | CatalogError
    try:
        path.write_bytes(apply(whole))
        found = read_all(copy)
    except CatalogError as error:
        found = error
    finally:
        path.write_bytes(whole)
    if isinstance(found, CatalogError):
        assert str(path) in found.what
        assert "get it back: " in found.fix
    else:
        assert found == healthy


def overlay_of(folder: Path, *offers: Offer, day: date = date(2026, 11, 1), name: str = "offers.json") -> Path:
    path = folder / name
    write_table(path, Table("offers", day, offers))
    return path


def repriced(name: str, price: float, region: str = "us-east-1") -> Offer:
    return replace(offer(name), usd_per_hour=price, region=region, price_date=date(2026, 11, 1))


@pytest.mark.parametrize("table", sorted({item.table for item in Catalog().files}))
def test_doctor_reads_every_table_and_says_which_file_is_damaged(tmp_path, monkeypatch, table):
    copy = tmp_path / "data"
    shutil.copytree(SHIPPED, copy)
    name = next(item.file for item in Catalog().files if item.table == table)
    (copy / name).write_bytes((copy / name).read_bytes()[:-20])
    monkeypatch.setattr("brimful.verbs.doctor.load", lambda overlay: Catalog(overlay, copy))
    (part,) = (part for part in doctor(load_config()).parts if part.part == "catalogue")
    assert not part.works
    assert name in part.reason


@pytest.mark.parametrize("damage", [b"[[practice]\n", b"\xff", b"", b"[[practice]]\nnumber = 1\n", b"practice = 3\n"])
def test_a_damaged_table_of_practices_is_an_error_that_names_the_file(tmp_path, monkeypatch, damage):
    (tmp_path / "practices.toml").write_bytes(damage)
    monkeypatch.setattr("brimful.catalog.practices.TABLE", tmp_path / "practices.toml")
    with pytest.raises(CatalogError, match=r"practices\.toml is damaged"):
        audit(load_config({"run_dir": str(tmp_path / "runs")}))
    (part,) = (part for part in doctor(load_config()).parts if part.part == "catalogue")
    assert (part.works, "practices.toml" in part.reason) == (False, True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage())
def test_a_damaged_overlay_names_the_file_to_remove_and_hides_nothing(
    tmp_path: Path, apply: Callable[[bytes], bytes]
) -> None:
    path = overlay_of(tmp_path, repriced("g6.xlarge", 0.5))
    damaged = apply(path.read_bytes())
    if damaged == path.read_bytes():
        return
    path.write_bytes(damaged)
    with pytest.raises(CatalogError) as caught:
        _ = load(tmp_path).offers
    assert f"rm {path}" in caught.value.fix
    assert load(tmp_path).xids == WHOLE.xids
    path.unlink()
    assert load(tmp_path).offers == WHOLE.offers


HEAD = b'{"kind":"catalog","v":1,"sha256":"%s"' % (b"0" * 64)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "damaged"),
        (b"hello", "damaged"),
        (b"\xff\xfe\x00", "damaged"),
        (b"[]", "is no catalogue"),
        (b'{"kind":"journal","v":1}', "is no catalogue"),
        (b'{"kind":"catalog","v":2,"anything":[]}', "newer brimful"),
        (HEAD + b"}", "damaged"),
        (b"[" * 100_000, "damaged"),
    ],
)
def test_a_stranger_in_the_overlay_is_told_from_damage(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "offers.json"
    path.write_bytes(content)
    with pytest.raises(CatalogError, match=words) as caught:
        _ = load(tmp_path).offers
    assert str(path) in caught.value.fix


def sealed(path: Path, **changes: Any) -> Path:
    """Write a file whose seal is whole and whose content is not as it should be."""
    write(path, msgspec.structs.replace(document(Table("offers", date(2026, 11, 1), (offer("g6.xlarge"),))), **changes))
    return path


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "journal"}, "is no catalogue"),
        ({"v": 2}, "newer brimful"),
        ({"v": 0}, "unknown version"),
        ({"table": "xids"}, "is not a table of offers"),
        ({"columns": ["instance", "instance"]}, "names a column twice"),
        ({"rows": [["g6.xlarge"]]}, "row 1"),
        ({"rows": [7]}, "not in the form"),
        ({"sources": {}}, "row 1"),
    ],
)
def test_a_sealed_file_that_is_wrong_is_an_error(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    path = sealed(tmp_path / "offers.json", **changes)
    with pytest.raises(CatalogError, match=words) as caught:
        _ = load(tmp_path).offers
    assert str(path) in caught.value.fix


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("vcpus", -1.5),
        ("vcpus", "four"),
        ("memory_bytes", -1),
        ("status", "gone"),
        ("status", "withdrawn"),
        ("usd_per_hour", 0),
        ("usd_per_hour", None),
        ("price_date", "yesterday"),
        ("accelerators", [{"model": "L4"}]),
        ("missing", {"vcpus": "r9"}),
        ("missing", []),
        ("source", "nobody"),
        ("source", 5),
        ("memory_bytes", 10**400),
    ],
)
def test_a_wrong_value_is_an_error_with_the_number_of_its_row(tmp_path: Path, column: str, cell: Any) -> None:
    good = document(Table("offers", date(2026, 11, 1), (offer("g6.xlarge"), offer("g2.2xlarge"))))
    row = list(good.rows[0])
    row[good.columns.index(column)] = cell
    write(tmp_path / "offers.json", msgspec.structs.replace(good, rows=[good.rows[1], row]))
    with pytest.raises(CatalogError, match=r"row 2|form of a catalogue"):
        _ = load(tmp_path).offers


def test_a_later_version_may_add_columns(tmp_path: Path) -> None:
    good = document(Table("offers", date(2026, 11, 1), (repriced("g6.xlarge", 0.5),)))
    rows = [[*row, "news"] for row in good.rows]
    write(tmp_path / "offers.json", msgspec.structs.replace(good, columns=[*good.columns, "novelty"], rows=rows))
    found = load(tmp_path).offer("g6.xlarge")
    assert found is not None
    assert found.usd_per_hour == 0.5


def test_a_missing_shipped_file_is_an_error(copy: Path) -> None:
    (copy / "xids.json").unlink()
    with pytest.raises(CatalogError, match=r"xids\.json cannot be read"):
        _ = Catalog(shipped=copy).xids


def test_a_file_of_another_version_among_the_shipped_ones_is_an_error(copy: Path) -> None:
    shutil.copy(SHIPPED / "xids.json", copy / "xids.json")
    with pytest.raises(CatalogError, match="not the one that came with this version"):
        _ = Catalog(shipped=copy).xids


def test_a_manifest_that_lacks_a_table_is_an_error(copy: Path) -> None:
    files = tuple(item for item in Catalog(shipped=copy).files if item.table != "xids")
    write_table(copy / "manifest.json", Table("manifest", date(2026, 8, 2), files))
    with pytest.raises(CatalogError, match="not complete"):
        _ = Catalog(shipped=copy).xids


# --- the overlay ---


def test_an_overlay_counts_over_the_shipped_prices(tmp_path: Path) -> None:
    overlay_of(tmp_path, repriced("g6.xlarge", 0.5), repriced("g6.xlarge", 0.6, "eu-west-1"))
    catalog = load(tmp_path)
    assert len(catalog.offers) == 1396
    assert {item.region: item.usd_per_hour for item in catalog.offers if item.instance == "g6.xlarge"} == {
        "us-east-1": 0.5,
        "eu-west-1": 0.6,
    }


def test_an_overlay_older_than_the_shipped_prices_adds_regions_and_replaces_nothing(tmp_path: Path) -> None:
    overlay_of(tmp_path, repriced("g6.xlarge", 0.5), repriced("g6.xlarge", 0.6, "eu-west-1"), day=date(2026, 8, 1))
    catalog = load(tmp_path)
    assert catalog.offer("g6.xlarge") == offer("g6.xlarge")
    assert catalog.offer("g6.xlarge", "eu-west-1") is not None


def test_the_newest_of_several_overlay_files_counts(tmp_path: Path) -> None:
    overlay_of(tmp_path, repriced("g6.xlarge", 0.5), day=date(2026, 11, 2), name="a.json")
    overlay_of(tmp_path, repriced("g6.xlarge", 0.6), day=date(2026, 11, 1), name="b.json")
    found = load(tmp_path).offer("g6.xlarge")
    assert found is not None
    assert found.usd_per_hour == 0.5


def test_an_overlay_that_is_not_there_is_no_overlay(tmp_path: Path) -> None:
    assert load(tmp_path / "nothing").offers == WHOLE.offers
    (tmp_path / "half.json.tmp").write_text("half")
    assert load(tmp_path).offers == WHOLE.offers


def test_an_overlay_that_is_no_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CatalogError, match="no readable directory"):
        _ = load(tmp_path / "file").offers


def test_merge_takes_the_last_offer_of_a_type_in_a_region() -> None:
    first, second = repriced("g6.xlarge", 0.5), repriced("g6.xlarge", 0.6)
    other = repriced("g6.2xlarge", 0.7)
    assert merge((first, other), (second,)) == (second, other)
    assert merge() == ()


# --- writing ---


@given(st.lists(any_noun(Offer), max_size=4).map(tuple))
def test_what_is_written_is_read_back(offers: Iterable[Any]) -> None:
    table = Table("offers", date(2026, 11, 1), tuple(offers))
    raw = msgspec.json.decode(render(document(table)), type=type(document(table)))
    assert nouns(File(Path("x"), shipped=False), raw, Offer) == table.rows


def test_sources_keep_their_ids_and_dates(tmp_path: Path) -> None:
    day = date(2026, 1, 1)
    sources = {"a": Entry("first", "MIT", day), "b": Entry("second", "Apache-2.0", day)}
    rows = tuple(
        replace(offer("g6.xlarge"), source=text, licence=licence)
        for text, licence in [
            ("first", "MIT"),
            ("first; second", "MIT AND Apache-2.0"),
            ("third", "MIT"),
            ("first", "BSD-3-Clause"),
        ]
    )
    path = tmp_path / "offers.json"
    write_table(path, Table("offers", date(2026, 11, 1), rows, sources))
    raw = File(path, shipped=False).read()
    assert [row[raw.columns.index("source")] for row in raw.rows] == ["a", ["a", "b"], "s1", "s2"]
    assert raw.sources["a"].date == day
    assert raw.sources["s1"] == Entry("third", "MIT", date(2026, 11, 1))
    assert nouns(File(path, shipped=False), raw, Offer) == rows


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = overlay_of(tmp_path, repriced("g6.xlarge", 0.5))
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("brimful.catalog.form.os.fsync", full)
    with pytest.raises(StorageError, match="cannot be written") as caught:
        overlay_of(tmp_path, repriced("g6.xlarge", 0.6))
    assert "No space left" in caught.value.why
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["offers.json"]


def test_a_table_may_be_empty(tmp_path: Path) -> None:
    overlay_of(tmp_path)
    assert load(tmp_path).offers == WHOLE.offers


def test_the_catalogue_loads_nothing_heavy() -> None:
    code = (
        "import sys, brimful.catalog as c; c.load().offers; "
        "print([name for name in ('numpy', 'boto3', 'click', 'rich', 'tools') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
