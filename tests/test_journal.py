"""The journal: what it promises when programs die, disks fill and two writers meet."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimful.journal import migrate as migration
from brimful.journal import read as reading
from brimful.journal.migrate import migrate
from brimful.journal.read import find_run, query, read, runs
from brimful.journal.schema import KINDS, VERSION, json_schema
from brimful.journal.write import Writer, new_run
from brimful.model.advice import Act, Finding, Severity
from brimful.model.errors import JournalError, StorageError, UsageError
from brimful.model.evidence import Run, Sample
from strategies import nouns

DOCS = Path(__file__).parent.parent / "docs"


def a_finding(what: str = "a GPU sleeps") -> Finding:
    return Finding(code="idle", severity=Severity.LOW, what=what, why="w", fix="f", evidence=("r/1",))


@pytest.fixture
def writer(tmp_path):
    with Writer.create(tmp_path / "runs", new_run("0.1", ("audit",))) as made:
        yield made


def file_of(writer: Writer) -> Path:
    return writer.directory / reading.FILE_NAME


def test_what_was_appended_is_read_back_in_order(writer):
    ids = [writer.append(a_finding(str(number))) for number in range(5)]
    journal = read(writer.directory)
    assert journal.run == writer.run
    assert [record.id for record in journal.records[1:]] == ids
    assert [record.noun.what for record in journal.records[1:]] == list("01234")
    assert not journal.warnings


@given(data=st.data(), kind=st.sampled_from(sorted(set(KINDS) - {"run"})))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_every_kind_of_record_comes_back_as_it_was(tmp_path, data, kind):
    noun = data.draw(nouns(KINDS[kind]))
    with Writer.create(tmp_path / "any", new_run("0.1")) as writer:
        writer.append(noun)
    assert read(writer.directory).records[1].noun == noun


def test_the_first_line_is_the_run_with_its_version(writer):
    first = json.loads(file_of(writer).read_text().splitlines()[0])
    assert (first["kind"], first["v"], first["id"]) == ("run", VERSION, f"{writer.run.run}/1")


@given(cut=st.integers(1, 400))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_a_torn_last_line_is_passed_over_with_a_warning_and_kept_aside_on_resume(tmp_path, cut):
    with Writer.create(tmp_path / "torn", new_run("0.1")) as writer:
        kept = writer.append(a_finding())
        before = file_of(writer).stat().st_size
        writer.append(a_finding("y" * 500))
    with file_of(writer).open("rb+") as file:
        file.truncate(before + cut)
    torn = file_of(writer).read_bytes()[before:]
    journal = read(writer.directory)
    assert [record.id for record in journal.records][-1] == kept
    assert f"from byte {before}" in journal.warnings[0]
    with Writer.resume(writer.directory) as again:
        added = again.append(a_finding("after"))
    after = read(writer.directory)
    assert [record.id for record in after.records][-2:] == [kept, added]
    assert not after.warnings
    assert file_of(writer).with_suffix(".torn").read_bytes().endswith(torn + b"\n")


def test_a_last_line_that_lacks_only_its_line_feed_is_whole(writer):
    writer.append(a_finding("last"))
    writer.close()
    path = file_of(writer)
    path.write_bytes(path.read_bytes()[:-1])
    assert read(writer.directory).records[-1].noun.what == "last"
    with Writer.resume(writer.directory) as again:
        again.append(a_finding("next"))
    assert [record.noun.what for record in read(writer.directory).records[1:]] == ["last", "next"]


def test_a_command_line_that_is_no_utf8_is_recorded_readably():
    assert new_run("0", ("brimful", os.fsdecode(b"n\xff"))).command == ("brimful", "n\\xff")


def test_zeros_that_a_power_cut_leaves_at_the_end_are_passed_over(writer):
    writer.append(a_finding())
    with file_of(writer).open("ab") as file:
        file.write(b"\0" * 300)
    journal = read(writer.directory)
    assert len(journal.records) == 2
    assert "cut short" in journal.warnings[0]


def test_a_torn_middle_is_an_error_that_names_file_and_byte(writer):
    start = file_of(writer).stat().st_size
    writer.append(a_finding("second"))
    writer.append(a_finding("third"))
    data = file_of(writer).read_bytes()
    file_of(writer).write_bytes(data[: start + 20] + data[start + 40 :])
    with pytest.raises(JournalError, match=f"journal.jsonl is damaged at byte {start}") as caught:
        read(writer.directory)
    assert f"head -c {start}" in caught.value.fix


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b'{"kind":"finding","id":"r/2"}',
        b'{"kind":"finding","id":"r/x","at":"now"}',
        b'{"kind":"finding","id":"r/1","at":"now"}',
        b'{"kind":"finding","id":"r/2","at":"now","code":3}',
        b'{"kind":"sample","id":"r/2","at":"now","time_s":1,"device":"d","metric":"m_percent","value":null}',
        b'{"kind":"sample","id":"r/2","at":"now","time_s":NaN,"device":"d","metric":"m","value":1}',
        b'{"kind":"sample","id":"r/99999999999999999999","at":"now"}',
        b'{"kind":"sam\xff',
        b"[" * 100_000,
    ],
)
def test_a_line_that_is_no_valid_record_is_an_error(writer, line):
    start = file_of(writer).stat().st_size
    with file_of(writer).open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(JournalError, match=f"damaged at byte {start}"):
        read(writer.directory)


def test_a_kind_that_a_later_brimful_added_is_passed_over_with_a_warning(writer):
    with file_of(writer).open("ab") as file:
        file.write(b'{"kind":"dream","id":"r/7","at":"now"}\n')
    journal = read(writer.directory)
    assert len(journal.records) == 1
    assert "1 record of an unknown kind, 'dream', passed over" in journal.warnings[0]


def test_an_optional_field_of_a_later_brimful_is_ignored(writer):
    with file_of(writer).open("ab") as file:
        file.write(
            b'{"kind":"stage","id":"r/2","at":"t","name":"n","busy_s":1,"wait_s":0,"items_count":1,"colour":"red",'
            b'"missing":{"queue_depth":"none"}}\n'
        )
    assert read(writer.directory).records[1].noun.name == "n"


def test_a_journal_of_a_later_version_asks_for_an_upgrade(writer):
    path = file_of(writer)
    path.write_text(path.read_text().replace('"v":1', '"v":2'))
    with pytest.raises(JournalError, match="has version 2") as caught:
        read(writer.directory)
    assert caught.value.fix == "pip install --upgrade brimful"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello\n",
        b"\n",
        b'{"kind":"run","id":"r/1","at":"t","v":true}\n',
        b"\xff\xfe\n",
        b'{"kind":"finding","id":"r/1","at":"t"}\n',
        b'{"kind":"run","id":"r/1","at":"t","v":0}\n',
    ],
)
def test_a_file_that_is_no_journal_is_refused(tmp_path, content):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(content)
    with pytest.raises(JournalError):
        read(tmp_path)


def test_a_journal_that_is_not_there_or_not_readable_is_refused(tmp_path):
    with pytest.raises(JournalError, match="cannot be read"):
        read(tmp_path / "nowhere")


@given(st.binary(max_size=300))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_break_the_reader(tmp_path, junk):
    path = tmp_path / "fuzz.jsonl"
    path.write_bytes(junk)
    with pytest.raises(JournalError):
        read(path)


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_a_flipped_byte_is_an_error_a_warning_or_harmless_but_never_another_exception(tmp_path, data):
    with Writer.create(tmp_path / "flip", new_run("0.1")) as writer:
        for number in range(3):
            writer.append(Sample(time_s=number, device="gpu0", metric="power_watts", value=1.0))
    blob = bytearray(file_of(writer).read_bytes())
    blob[data.draw(st.integers(0, len(blob) - 1))] = data.draw(st.integers(0, 255))
    file_of(writer).write_bytes(blob)
    try:
        assert len(read(writer.directory).records) >= 1
    except JournalError as error:
        assert error.fix  # noqa: PT017 - both outcomes are right


def test_two_writers_at_once_are_refused_with_the_holder_named(writer):
    with pytest.raises(StorageError, match=f"being written by process {os.getpid()}"):
        Writer.resume(writer.directory)
    writer.append(a_finding())
    assert len(read(writer.directory).records) == 2


def test_many_processes_that_want_one_journal_never_corrupt_it(writer):
    writer.close()
    code = (
        "import sys, pathlib\n"
        "from brimful.journal.write import Writer\n"
        "from brimful.model.errors import StorageError\n"
        "from brimful.model.evidence import Sample\n"
        "done = 0\n"
        "while done < 20:\n"
        "    try:\n"
        "        with Writer.resume(pathlib.Path(sys.argv[1])) as w:\n"
        "            w.append(Sample(time_s=1.0, device=sys.argv[2], metric='m', value=1.0)); done += 1\n"
        "    except StorageError:\n"
        "        pass\n"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(writer.directory), str(name)], env=os.environ)
        for name in range(4)
    ]
    assert [child.wait(60) for child in children] == [0] * 4
    journal = read(writer.directory)
    devices = [record.noun.device for record in journal.records[1:]]
    assert {name: devices.count(name) for name in set(devices)} == dict.fromkeys("0123", 20)


def test_threads_share_a_writer(writer):
    threads = [threading.Thread(target=lambda: [writer.append(a_finding()) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [int(record.id.rpartition("/")[2]) for record in read(writer.directory).records]
    assert numbers == list(range(1, 202))


def test_a_closed_writer_and_a_fork_of_it_refuse_to_write(writer, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(StorageError, match="not open in this process"):
            writer.append(a_finding())
    writer.close()
    writer.close()
    with pytest.raises(StorageError, match="not open in this process"):
        writer.append(a_finding())


def test_killed_at_200_random_moments_no_acknowledged_record_is_lost(tmp_path):
    script = Path(__file__).with_name("kill_loop.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "runs"), "200"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.match(r"200 kills, \d+ torn last lines, nothing acknowledged was lost", done.stdout)


def test_a_full_disk_leaves_every_acknowledged_record_whole(writer):
    """A limit on the size of files stands in for the full disk, so that no root rights are needed."""
    kept = writer.append(a_finding())
    size = file_of(writer).stat().st_size
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, limits[1]))
        with pytest.raises(StorageError, match="cannot be written") as caught:
            writer.append(a_finding("z" * 1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert "what was reported as written before is safe" in caught.value.why
    assert read(writer.directory).records[-1].id == kept
    later = writer.append(a_finding("there is room again"))
    assert [record.id for record in read(writer.directory).records][-2:] == [kept, later]


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EIO])
def test_every_refusal_of_the_disk_has_a_fix(tmp_path, monkeypatch, number):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StorageError) as caught:
        Writer.create(tmp_path, new_run("0.1"))
    assert caught.value.fix
    assert os.strerror(number) in caught.value.why


def test_a_run_that_could_not_begin_leaves_nothing_behind(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", refuse)
    with pytest.raises(StorageError, match="cannot be written"):
        Writer.create(tmp_path / "runs", new_run("0.1"))
    assert runs(tmp_path / "runs") == []
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_run_without_room_for_its_journal_leaves_no_folder_behind(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StorageError):
        Writer.create(tmp_path / "runs", new_run("0.1"))
    monkeypatch.undo()
    assert list((tmp_path / "runs").iterdir()) == []


def test_an_empty_journal_is_said_to_be_empty_and_is_not_the_last_run(tmp_path):
    with Writer.create(tmp_path, new_run("0.1")) as writer:
        pass
    empty = tmp_path / "99990101T000000-00000000"
    empty.mkdir()
    (empty / "journal.jsonl").touch()
    assert find_run(tmp_path, "last") == writer.directory
    with pytest.raises(JournalError, match="is empty") as caught:
        read(empty)
    assert caught.value.fix.endswith(f"rm {empty}/journal.jsonl")
    assert len(list(query(tmp_path))) == 1


def test_a_run_directory_that_cannot_be_listed_is_an_error_and_not_an_absence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match="cannot be listed") as caught:
        runs(tmp_path / "file")
    assert "--run-dir" in caught.value.fix
    assert runs(tmp_path / "nowhere") == []
    broken: list[JournalError] = []
    assert list(query(tmp_path / "file", broken=broken)) == []
    assert len(broken) == 1
    with pytest.raises(JournalError):
        list(query(tmp_path / "file"))


def test_a_run_whose_folder_is_closed_to_us_is_listed_and_not_lost(tmp_path, monkeypatch):
    with Writer.create(tmp_path, new_run("0.1")) as writer:
        pass

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "exists", refuse)
    assert runs(tmp_path) == [writer.directory]


@pytest.mark.parametrize("name", ["a" * 5000, "a\0b"])
def test_a_name_that_no_path_can_have_names_no_run(tmp_path, name):
    with pytest.raises(UsageError, match="names no run"):
        find_run(tmp_path, name)


def test_many_runs_are_counted_when_not_all_are_named(tmp_path):
    for number in range(7):
        Writer.create(tmp_path, Run(run=f"a{number}", v=1, version="0", host="h", started_at="t")).close()
    with pytest.raises(UsageError, match="'a' names 7 runs") as caught:
        find_run(tmp_path, "a")
    assert caught.value.why.endswith("there is a2, a3, a4, a5, a6 and 2 more")


def test_the_fix_for_a_damaged_journal_can_be_typed_as_it_stands(tmp_path):
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/it's caf\xe9"))
    with Writer.create(root, new_run("0.1")) as writer:
        writer.append(a_finding())
    good = file_of(writer).read_bytes()
    file_of(writer).write_bytes(good + b"\xff\xff\n{}\n")
    with pytest.raises(JournalError) as caught:
        read(writer.directory)
    assert "it is not text in UTF-8" in caught.value.why or "no JSON" in caught.value.why
    command = caught.value.fix.partition("keeps them: ")[2]
    subprocess.run(["bash", "-c", command], check=True, cwd=tmp_path)
    assert (tmp_path / "good.jsonl").read_bytes() == good


def test_a_run_directory_in_a_path_that_is_no_unicode_works(tmp_path):
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    with Writer.create(root, new_run("0.1")) as writer:
        writer.append(a_finding())
    assert len(read(writer.directory).records) == 2
    assert find_run(root, "last") == writer.directory
    with pytest.raises(UsageError, match="no run"):
        find_run(root, "zzz")


def test_runs_are_found_by_beginning_by_path_and_as_last(tmp_path):
    made = []
    for stamp in ("20260101T000000-aa", "20260102T000000-bb"):
        run = Run(run=stamp, v=1, version="0", host="h", started_at="t")
        with Writer.create(tmp_path, run) as writer:
            made.append(writer.directory)
    assert runs(tmp_path) == made
    assert find_run(tmp_path, "20260101") == made[0]
    assert find_run(tmp_path, "last") == made[1]
    assert find_run(tmp_path, str(made[0])) == made[0]
    assert find_run(tmp_path, str(made[0] / "journal.jsonl")) == made[0] / "journal.jsonl"
    with pytest.raises(UsageError, match="names 2 runs"):
        find_run(tmp_path, "2026")
    with pytest.raises(UsageError, match="no run yet"):
        find_run(tmp_path / "empty", "last")


def test_a_query_goes_over_all_runs_and_by_kind_and_time(tmp_path):
    for _ in range(2):
        with Writer.create(tmp_path, new_run("0")) as writer:
            writer.append(a_finding())
            writer.append(Act(action="stop", target="i-1", dry_run=True, outcome="would stop"))
    assert [record.kind for record in query(tmp_path)] == ["run", "finding", "act"] * 2
    assert [record.kind for record in query(tmp_path, ["act"])] == ["act", "act"]
    assert not list(query(tmp_path, since="9999"))


def test_a_query_reports_journals_that_it_cannot_read(tmp_path):
    with Writer.create(tmp_path, new_run("0")) as good:
        good.append(a_finding())
    (tmp_path / "zz").mkdir()
    (tmp_path / "zz" / "journal.jsonl").write_text("broken\n")
    with pytest.raises(JournalError):
        list(query(tmp_path))
    broken: list[JournalError] = []
    assert len(list(query(tmp_path, broken=broken))) == 2
    assert len(broken) == 1


def test_an_older_record_is_brought_up_step_by_step_and_left_as_it_was():
    steps = {1: lambda r: {"b": r.pop("a")}, 2: lambda r: {**r, "c": 3}}
    old = {"a": 1}
    assert migrate(old, 1, steps, until=3) == {"b": 1, "c": 3}
    assert old == {"a": 1}
    assert migrate(old, VERSION) == old


def test_a_journal_of_an_older_version_is_read_through_its_steps(writer, monkeypatch):
    writer.append(a_finding())
    path = file_of(writer)
    path.write_text(path.read_text().replace('"v":1', '"v":0').replace('"what"', '"text"'))

    def step(record: dict[str, object]) -> dict[str, object]:
        return {**record, "v": 1} if record["kind"] == "run" else {**record, "what": record["text"]}

    monkeypatch.setitem(migration.STEPS, 0, step)
    assert read(writer.directory).records[1].noun.what == "a GPU sleeps"


@pytest.mark.parametrize("name", sorted(p.name for p in (Path(__file__).parent / "data" / "journals").glob("v*")))
def test_golden_journals_of_every_version_are_read_for_ever(data, name):
    journal = read(data / "journals" / name)
    assert {record.kind for record in journal.records} >= set(KINDS) - {"workload", "setting"}
    assert not journal.warnings


def test_there_is_a_golden_journal_of_the_present_version(data):
    assert (data / "journals" / f"v{VERSION}").is_dir()


def test_every_golden_record_is_valid_by_the_published_schema_and_nonsense_is_not(data):
    schema = json.loads((DOCS / "schema" / f"journal.v{VERSION}.json").read_text())
    check = jsonschema.Draft202012Validator(schema)
    lines = [json.loads(line) for line in (data / "journals" / "v1" / "journal.jsonl").read_text().splitlines()]
    for line in lines:
        check.validate(line)
    for spoilt in ({**lines[2], "device": 3}, {**lines[2], "kind": "dream"}, {**lines[8], "setting": {}}, {}):
        assert not check.is_valid(spoilt)


def test_the_published_schema_is_that_of_the_code():
    published = json.loads((DOCS / "schema" / f"journal.v{VERSION}.json").read_text())
    assert published == json.loads(msgspec.json.encode(json_schema())), "python -m tools.write_docs renews it"
