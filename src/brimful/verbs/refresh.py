"""catalog refresh: read AWS's instance types and prices anew, and say what changed.

A region is written whole or not at all: everything is read and checked first, then its files are written beside the old
ones, then they take their names. Whatever goes wrong before that leaves the old catalogue as it was, to the byte.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

from brimful.catalog import Entry, Table, load, write_table
from brimful.clouds.ec2_catalog import Answer, Clients, check_region, read
from brimful.clouds.ec2_offers import PRICE_SOURCE, check_whole, ec2_offers, known, sagemaker_offers
from brimful.clouds.ec2_prices import Rates
from brimful.clouds.ec2_types import LICENCE, SOURCE
from brimful.config import Config
from brimful.model.errors import BrimfulError, StorageError
from brimful.model.hardware import Offer
from brimful.model.refreshed import FailedRegion, PriceChange, Refreshed, RefreshedRegion, SkippedRows, StatusChange
from brimful.model.text import readable_path

LOCK = ".refresh.lock"
UNTOUCHED = "the old catalogue is untouched"


def refresh(
    config: Config,
    regions: Sequence[str] = (),
    clients: Clients | None = None,
    *,
    profile: str | None = None,
    with_spot: bool = True,
    with_sagemaker: bool = True,
    tell: Callable[[str], None] = lambda _: None,
    today: date | None = None,
) -> Refreshed:
    """Read the offers of some regions (the configured one when none is named) and write them over the catalogue.

    Each region succeeds or fails by itself. When none succeeds, the error of the first one is raised.
    """
    wanted = list(dict.fromkeys(regions)) or [config.text("region") or ""]
    clients = clients or Clients(profile)
    for region in wanted:
        check_region(region)
    folder = config.path("catalog_dir")
    done: list[RefreshedRegion] = []
    errors: list[tuple[str, BrimfulError]] = []
    with _alone(folder):
        for region in wanted:
            try:
                asked = {"with_spot": with_spot, "with_sagemaker": with_sagemaker}
                done.append(_lay(folder, read(region, clients, **asked, tell=tell, today=today)))
            except BrimfulError as error:
                errors.append((region, _untouched(error)))
    if not done:
        raise errors[0][1]
    return Refreshed(regions=tuple(done), failed=tuple(_failed(region, error) for region, error in errors))


def _failed(region: str, error: BrimfulError) -> FailedRegion:
    return FailedRegion(region=region, what=error.what, why=error.why, fix=error.fix)


def _untouched(error: BrimfulError) -> BrimfulError:
    told = type(error)(error.what, why=f"{error.why}; {UNTOUCHED}", fix=error.fix)
    told.__cause__ = error
    return told


def _lay(folder: Path, answer: Answer) -> RefreshedRegion:
    """Write what AWS answered about a region, and compare it with what the catalogue knew."""
    catalog = load(folder)
    old = known(catalog.offers, answer.region)
    check_whole(answer, old)
    laid = ec2_offers(answer, old)
    machine_learning = sagemaker_offers(answer, laid.offers, old)
    tables = {f"ec2-{answer.region}.json": laid.offers}
    before = dict(old.here)
    if machine_learning:
        tables[f"sagemaker-{answer.region}.json"] = machine_learning
        before |= {row.instance: row for row in catalog.offers if _is_sagemaker(row, answer.region)}
    _write(folder, answer, tables)
    after = {row.instance: row for row in (*laid.offers, *machine_learning)}
    skipped = list(_skipped(answer, laid.unreadable))
    warnings = [*answer.warnings, *_warnings(skipped, catalog.dates["offers"], answer)]
    spot_count = None if answer.spot is None else len(answer.spot.usd_per_hour)
    return RefreshedRegion(
        region=answer.region,
        files=tuple(readable_path(folder / name) for name in tables),
        described_count=len(answer.types),
        offered_count=len(answer.offered),
        priced_count=len(answer.prices.usd_per_hour),
        spot_count=spot_count,
        sagemaker_count=len(machine_learning) or None,
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        statuses=tuple(_status_changes(before, after)),
        prices=tuple(_price_changes(before, after)),
        spot_changed_count=sum(
            before[name].spot_usd_per_hour != after[name].spot_usd_per_hour for name in before.keys() & after.keys()
        ),
        skipped=tuple(skipped),
        warnings=tuple(warnings),
    )


def _is_sagemaker(offer: Offer, region: str) -> bool:
    return offer.region == region and offer.instance.startswith("ml.")


def _status_changes(before: Mapping[str, Offer], after: Mapping[str, Offer]) -> Iterator[StatusChange]:
    for name in sorted(before.keys() & after.keys()):
        if before[name].status is not after[name].status:
            yield StatusChange(instance=name, before=before[name].status, after=after[name].status)


def _price_changes(before: Mapping[str, Offer], after: Mapping[str, Offer]) -> Iterator[PriceChange]:
    for name in sorted(before.keys() & after.keys()):
        was, now = before[name].usd_per_hour, after[name].usd_per_hour
        if was != now:
            yield PriceChange(instance=name, before_usd_per_hour=was, after_usd_per_hour=now)


def _skipped(answer: Answer, unreadable: Mapping[str, list[str]]) -> Iterator[SkippedRows]:
    parts: list[tuple[str, Rates | None]] = [("on-demand prices", answer.prices), ("spot prices", answer.spot)]
    parts += [(f"SageMaker {use.lower()} prices", rates) for use, rates in (answer.sagemaker or {}).items()]
    named = [("descriptions", unreadable), *((part, rates.skipped) for part, rates in parts if rates is not None)]
    for part, reasons in named:
        for why, names in reasons.items():
            examples = tuple(dict.fromkeys(names))[:5]
            yield SkippedRows(part=part, why=why, rows_count=len(names), examples=examples)


def _warnings(skipped: Iterable[SkippedRows], shipped: date, answer: Answer) -> Iterator[str]:
    for rows in skipped:
        counted = "1 row" if rows.rows_count == 1 else f"{rows.rows_count} rows"
        yield f"{counted} of the {rows.part} passed over: {rows.why} ({', '.join(rows.examples)})"
    if answer.day < shipped:
        yield f"this machine's clock says {answer.day}: the shipped catalogue, of {shipped}, counts over what was read"


def _write(folder: Path, answer: Answer, tables: Mapping[str, tuple[Offer, ...]]) -> None:
    """Write all files of a region beside the old ones, then let them take their names: a rename needs no space."""
    sources = {
        "ec2": Entry(SOURCE, LICENCE, answer.day),
        "prices": Entry(PRICE_SOURCE, LICENCE, answer.day),
    }
    staged = {folder / f".{name}.new": folder / name for name in tables}
    try:
        for path, rows in zip(staged, tables.values(), strict=True):
            write_table(path, Table("offers", answer.day, rows, sources))
        for path, target in staged.items():
            path.replace(target)
    except OSError as error:
        raise _refused(folder, error) from error
    finally:
        for path in staged:
            with contextlib.suppress(OSError):
                path.unlink()


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the lock of the catalogue's folder, so that two refreshes never write at once."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _refused(folder, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise _held(folder, error) from error
        yield
    finally:
        os.close(descriptor)


def _held(folder: Path, error: OSError) -> StorageError:
    if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
        return _refused(folder, error)
    return StorageError(
        f"the catalogue in {readable_path(folder)} is being refreshed by another process",
        why=f"two at once would write over one another; {UNTOUCHED} by this one",
        fix="wait until the other one ends, then run it again if you still need to",
    )


def _refused(folder: Path, error: OSError) -> StorageError:
    return StorageError(
        f"the catalogue in {readable_path(folder)} cannot be written",
        why=f"{error.strerror or error}; {UNTOUCHED}",
        fix="free space there or make it writable, or put the catalogue elsewhere: BRIMFUL_CATALOG_DIR=/path",
    )
