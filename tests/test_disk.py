"""Full and read-only disks, on a small real file system: an error with a way out, and nothing lost."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from brimful.catalog import SHIPPED, Table, load, write_table
from brimful.catalog.contents import Catalog
from brimful.cli.app import run
from brimful.journal.read import query, read
from brimful.journal.write import Writer, new_run
from brimful.model.advice import Finding, Severity
from brimful.model.errors import StorageError


def mount(*words: str) -> None:
    done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def small(tmp_path):
    """Mount a file system of 256 KiB, and take it away again."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount("-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder))
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def a_finding(length: int) -> Finding:
    return Finding(code="c", severity=Severity.INFO, what="x" * length, why="w", fix="f", evidence=("r/1",))


def fill(writer: Writer, written: list[str]) -> StorageError:
    """Append until the disk is full; note what was acknowledged, and return the refusal."""
    try:
        while True:
            written += [writer.append(a_finding(1500))]
    except StorageError as error:
        return error


def test_a_journal_on_a_full_disk_keeps_every_acknowledged_record_and_goes_on_when_there_is_room(small):
    ballast = small / "ballast"
    ballast.write_bytes(b"\0" * 100_000)
    written = []
    with Writer.create(small / "runs", new_run("0")) as writer:
        refusal = fill(writer, written)
        assert "No space left" in refusal.why
        assert "--run-dir" in refusal.fix
        assert [record.id for record in read(writer.directory).records[1:]] == written
        ballast.unlink()
        written.append(writer.append(a_finding(10)))
    journal = read(writer.directory)
    assert [record.id for record in journal.records[1:]] == written
    assert not journal.warnings


def test_an_audit_on_a_full_disk_says_so_and_leaves_a_journal_that_can_be_read(small, capfd):
    free = shutil.disk_usage(small).free
    (small / "ballast").write_bytes(b"\0" * (free - 24 * 1024))
    assert run(["audit", "--example", "--run-dir", str(small / "runs")]) == 2
    assert "No space left" in capfd.readouterr().err
    assert list(query(small / "runs"))


def test_a_run_that_the_full_disk_did_not_let_begin_leaves_nothing_behind(small, capfd):
    with (small / "ballast").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * 4096)
    assert run(["audit", "--run-dir", str(small / "runs")]) == 2
    assert "No space left" in capfd.readouterr().err
    assert run(["show", "--run-dir", str(small / "runs")]) == 0
    assert "no run yet" in capfd.readouterr().out


def test_a_read_only_disk_is_an_error_with_a_way_out(small, capfd):
    with Writer.create(small / "runs", new_run("0")) as writer:
        writer.append(a_finding(10))
    mount("-o", "remount,ro", str(small))
    assert run(["audit", "--run-dir", str(small / "runs")]) == 2
    err = capfd.readouterr().err
    assert "Read-only file system" in err
    assert "--run-dir" in err
    assert run(["show", "last", "--run-dir", str(small / "runs")]) == 0


def test_a_catalogue_that_does_not_fit_on_the_disk_leaves_the_old_one_whole(small):
    offers = load().offers
    overlay = small / "catalog"
    overlay.mkdir()
    path = overlay / "ec2-us-east-1.json"
    date = Catalog().dates["offers"]
    write_table(path, Table("offers", date, offers[:20]))
    before = path.read_bytes()
    with pytest.raises(StorageError, match="cannot be written"):
        write_table(path, Table("offers", date, offers))
    assert path.read_bytes() == before
    assert os.listdir(overlay) == [path.name]  # noqa: PTH208 - hidden files count
    assert len(load(overlay).offers) == len(offers)
    assert Path(SHIPPED).is_dir()
