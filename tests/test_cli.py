"""The command line as its user meets it: answers, errors, exit codes, and what goes to which stream."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

import brimful
from brimful.cli import complete
from brimful.cli.app import VERBS, app, run
from brimful.journal.read import query
from brimful.report import text
from brimful.verbs.show import list_runs

DEPTH = [
    ["audit", "--example"],
    ["catalog", "show", "accelerator=L4"],
    ["config", "show"],
    ["doctor"],
    ["show"],
    ["show", "last"],
    [],
]


@pytest.fixture
def cli(capfd, tmp_path, monkeypatch):
    """Run a command line in a folder of its own; return (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        code = run(words)
        out, err = capfd.readouterr()
        return code, out, err

    return call


def nulls_without_reason(value: object, path: str = "") -> list[str]:
    """Find every null in an answer that has no reason in `missing` beside it."""
    if isinstance(value, list):
        return [bad for index, item in enumerate(value) for bad in nulls_without_reason(item, f"{path}[{index}]")]
    if not isinstance(value, dict):
        return []
    reasons = value.get("missing", {})
    bad = [f"{path}.{key}" for key, item in value.items() if item is None and not reasons.get(key)]
    return bad + [found for key, item in value.items() for found in nulls_without_reason(item, f"{path}.{key}")]


@pytest.mark.parametrize("words", DEPTH, ids=" ".join)
def test_every_answer_has_one_json_form_in_which_null_has_its_reason(cli, words):
    cli("audit", "--example", "-q")
    code, out, _ = cli(*words, "--json")
    assert code == 0
    assert out.count("\n") == 1
    answer = json.loads(out)
    assert answer["v"] == 1
    assert answer["kind"]
    assert not nulls_without_reason(answer)


@pytest.mark.parametrize("words", DEPTH, ids=" ".join)
def test_every_answer_reads_as_plain_text_without_colours_in_a_pipe(cli, words):
    cli("audit", "--example", "-q")
    code, out, _ = cli(*words)
    assert code == 0
    assert out.strip()
    assert "\x1b" not in out


def test_flags_may_stand_before_the_verb(cli):
    assert json.loads(cli("--json", "config", "show")[1])["kind"] == "config"


# --- the audit


def test_an_audit_says_three_things_first_and_counts_to_92(cli):
    code, out, _ = cli("audit", "--example")
    assert code == 0
    assert "1. $" in out
    assert "3. " in out
    assert "92 practices:" in out
    assert "simulated" in out
    assert len(out.splitlines()) <= 24


def test_an_audit_can_show_every_row_and_writes_all_of_it_into_the_journal(cli):
    _, out, _ = cli("audit", "--example", "--all", "--run-dir", "runs")
    assert "The model was measured on a CPU" in out
    kinds = [record.kind for record in query(Path("runs"))]
    assert kinds[0] == "run"
    assert kinds.count("verdict") == 92
    assert "finding" in kinds


def test_every_piece_of_evidence_is_a_record_of_the_journal(cli):
    answer = json.loads(cli("audit", "--example", "--json", "--run-dir", "runs")[1])
    ids = {record.id for record in query(Path("runs"))}
    for item in (*answer["practices"], *answer["findings"]):
        assert set(item["evidence"]) <= ids
    assert answer["first"] == answer["findings"][:1] + answer["first"][1:]


@pytest.mark.parametrize(("level", "code"), [("high", 1), ("info", 1), ("never", 0)])
def test_fail_on_sets_the_exit_code(cli, level, code):
    assert cli("audit", "--example", "--fail-on", level)[0] == code


def test_an_audit_of_a_file_of_devices_and_of_a_fleet_of_ones_own(cli):
    Path("m.toml").write_text('[[machines]]\nid = "i-1"\ninstance = "p3.2xlarge"\nregion = "us-east-1"\n')
    Path("u.csv").write_text("time_s,device,utilization_percent\n0,i-1,50\n")
    code, out, err = cli("audit", "--inventory", "m.toml", "--history", "trace:u.csv", "--probe", "fake:2xL4")
    assert code == 0
    assert "which was withdrawn on 2025-12-20 (announced by AWS)" in out
    assert "fewer than two values" in err


def test_a_machine_in_two_inventories_is_refused(cli):
    example = Path(brimful.__file__).parent / "example" / "machines.toml"
    code, _, err = cli("audit", "--example", "--inventory", str(example))
    assert code == 2
    assert "stands in two inventories" in err


def test_the_measurements_of_earlier_runs_count_and_a_broken_journal_is_said(cli, data):
    root = Path("runs")
    root.mkdir()
    (root / "old").symlink_to(data / "journals" / "v1")
    (root / "bad").mkdir()
    (root / "bad" / "journal.jsonl").write_text("no\n")
    code, out, err = cli("audit", "--run-dir", "runs", "--json")
    assert code == 0
    assert "is damaged at byte 0" in err
    row = json.loads(out)["practices"][0]
    assert row["status"] == "met"
    assert all(item.startswith("golden") for item in row["evidence"])


# --- errors


@pytest.mark.parametrize(
    ("words", "what", "fix"),
    [
        (["catlog"], "there is no verb 'catlog'", "did you mean `brimful catalog`?"),
        (["audit", "--exmaple"], "No such option", "brimful audit --help"),
        (["show", "nothing"], "'nothing' names no run", "brimful audit writes the first one"),
        (["audit", "--fail-on", "hihg"], "Invalid value for '--fail-on'", "brimful audit --help"),
        (["audit", "--probe", "nvm"], "no probe is called 'nvm'", "brimful doctor"),
        (["audit", "--history", "trace:nowhere.csv"], "nowhere.csv", ""),
        (["audit", "--inventory", "nowhere.toml"], "nowhere.toml", ""),
        (["catalog", "show", "acelerator=L4"], "acelerator", "accelerator"),
        (["catalog", "shwo"], "No such command", "brimful catalog --help"),
    ],
)
def test_a_mistake_gets_what_why_fix_and_exit_2(cli, words, what, fix):
    code, out, err = cli(*words)
    assert code == 2
    assert out == ""
    lines = err.splitlines()
    assert lines[0].startswith("error: ")
    assert what in lines[0]
    assert any(line.startswith("  why: ") for line in lines)
    assert fix in next(line for line in lines if line.startswith("  fix: "))


def test_an_error_is_json_too_when_json_was_asked_for(cli):
    code, out, err = cli("show", "nothing", "--json")
    answer = json.loads(out)
    assert (answer["kind"], answer["exit_code"], code) == ("error", 2, 2)
    assert err.startswith("error: ")


def test_verbose_shows_where_an_error_came_from(cli):
    assert "Traceback" in cli("show", "nothing", "-v")[2]
    assert "Traceback" not in cli("show", "nothing")[2]


def test_a_setting_that_does_not_exist_is_an_error_of_every_verb(cli):
    Path("brimful.toml").write_text('regoin = "x"')
    code, _, err = cli("config", "show")
    assert code == 2
    assert "did you mean region?" in err


def test_a_read_only_run_directory_is_an_error_with_a_way_out(cli, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    code, _, err = cli("audit")
    assert code == 2
    assert "--run-dir" in err


def test_a_journal_that_is_cut_short_is_shown_with_a_warning(cli):
    cli("audit", "--run-dir", "runs", "-q")
    (file,) = Path("runs").glob("*/journal.jsonl")
    file.write_bytes(file.read_bytes()[:-9])
    code, out, err = cli("show", "last", "--run-dir", "runs")
    assert code == 0
    assert "cut short" in err
    assert "verdict" in out


def test_a_broken_journal_is_a_line_in_the_list_of_runs(cli):
    Path("runs/x").mkdir(parents=True)
    Path("runs/x/journal.jsonl").write_text("{}\n")
    code, out, _ = cli("show", "--run-dir", "runs")
    assert code == 0
    assert "damaged" in out


def test_the_list_of_runs_keeps_each_id_in_one_piece_on_a_narrow_terminal(cli, monkeypatch):
    cli("audit", "--run-dir", "runs", "-q")
    (run_id,) = [path.name for path in Path("runs").iterdir()]
    monkeypatch.setattr("brimful.report.text.width", lambda: 60)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run_id in text.runs(list_runs(Path("runs")), Path("runs"))


def test_a_record_is_told_without_repeating_its_kind(cli):
    cli("audit", "--run-dir", "runs", "--probe", "fake:1xL4", "-q")
    shown = cli("show", "last", "--run-dir", "runs")[1]
    line = next(line for line in shown.splitlines() if line.split()[1:2] == ["device"] and "kind gpu" in line)
    assert "device device" not in " ".join(line.split())
    assert "device_kind" not in line


def test_an_empty_journal_is_a_line_in_the_list_of_runs_and_show_last_goes_on_to_one_that_has_begun(cli):
    cli("audit", "--run-dir", "runs", "-q")
    Path("runs/99990101T000000-00000000").mkdir()
    Path("runs/99990101T000000-00000000/journal.jsonl").touch()
    assert "is empty" in cli("show", "--run-dir", "runs")[1]
    assert cli("show", "last", "--run-dir", "runs")[0] == 0
    assert "is empty" not in cli("audit", "--run-dir", "runs")[2]


def test_a_run_directory_that_cannot_be_listed_is_an_error_and_bare_brimful_goes_on(cli):
    Path("runs").touch()
    code, _, err = cli("show", "--run-dir", "runs")
    assert (code, "cannot be listed" in err) == (2, True)
    code, out, _ = cli("--run-dir", "runs")
    assert (code, "cannot be listed" in out) == (0, True)


def test_an_interrupt_ends_with_130(cli, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("brimful.verbs.doctor.doctor", interrupted)
    assert cli("doctor")[0] == 130


def brimful_process(*words: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "brimful", *words], capture_output=True, text=True, check=False, **more
    )  # type: ignore[call-overload]


def test_a_pipe_that_is_closed_early_is_no_error():
    line = f"{sys.executable} -m brimful catalog show | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("instance")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_stdout_is_an_error(unbuffered):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "brimful", "config", "show"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 2
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["catalog", "show", "--help"], ["show", "none", "--json"]]
)
def test_help_and_version_and_errors_on_a_full_stdout_end_with_2_and_no_traceback(words):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "brimful", *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "error:" in done.stderr


@pytest.mark.parametrize("words", ["config show --json", "--help"])
def test_a_closed_stdout_is_an_error(words):
    line = f"{sys.executable} -m brimful {words} >&-"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "it is closed" in done.stderr


def test_both_streams_closed_are_no_traceback():
    line = f"{sys.executable} -m brimful catalog refresh --region nowhere >&- 2>&-"
    assert subprocess.run(["bash", "-c", line], check=False).returncode == 2


INTERRUPTED = """
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from brimful.cli import main
sys.argv[1:] = ["catalog", "show", "g6.xlarge"]
main()
"""


@pytest.mark.parametrize("module", ["brimful.cli.app", "click", "brimful.config", "brimful.cli.catalog", "rich.table"])
def test_an_interrupt_while_modules_are_imported_ends_with_130_and_no_traceback(module):
    code = INTERRUPTED.replace("sys.argv[1]:", repr(module) + ":")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (130, "")


@pytest.mark.parametrize("name", ["catalog", "config"])
def test_a_group_without_a_verb_shows_its_help(cli, name):
    code, out, err = cli(name)
    assert (code, out) == (2, "")
    assert err.startswith(f"Usage: brimful {name}")
    assert "  show  " in err
    code, out, _ = cli(name, "--json")
    assert (code, json.loads(out)["fix"]) == (2, f"brimful {name} --help")


@pytest.mark.parametrize("at", [0, 1, 2])
def test_flags_may_stand_anywhere_before_and_behind_a_verb(cli, at):
    words = ["catalog", "show", "g6.xlarge"]
    words[at:at] = ["--json", "-q"]
    assert json.loads(cli(*words)[1])["kind"] == "catalog"
    runs = ["config", "show", "--json"]
    runs[at:at] = ["--run-dir", "/elsewhere"]
    assert json.loads(cli(*runs)[1])["settings"][0]["value"] == "/elsewhere"


def test_an_error_on_a_terminal_has_colours_unless_no_color_forbids(cli, monkeypatch):
    monkeypatch.setattr("click._compat.should_strip_ansi", lambda *_: False)
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda _, color=None: not (color is None or color))
    assert "\x1b[31m" in cli("catlog")[2]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in cli("catlog")[2]


def test_a_working_directory_and_a_home_that_are_no_unicode_work(tmp_path):
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    odd.mkdir()
    done = brimful_process("audit", "--json", cwd=odd, env={**os.environ, "HOME": str(odd)})
    assert done.returncode == 0, done.stderr
    assert "caf\\xe9" in json.loads(done.stdout)["journal"]


NO_UTF8 = os.fsdecode(b"n\xff")


@pytest.mark.parametrize("option", ["--inventory", "--history", "--probe", "--region", "--run-dir"])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_an_argument_that_is_no_utf8_is_an_answer_or_an_error_and_never_a_traceback(cli, option, form):
    prefix = {"--probe": "file:", "--history": "trace:"}.get(option, "")
    code, out, err = cli("audit", option, prefix + NO_UTF8, *form)
    assert (code, "Traceback" in err) == (0 if option == "--run-dir" else 2, False)
    assert "udcff" not in out + err
    assert "n\\xff" in (out + err).replace("\\\\", "\\")


@pytest.mark.parametrize("words", [[NO_UTF8], ["catalog", "show", f"accelerator={NO_UTF8}"], ["show", NO_UTF8]])
def test_a_word_that_is_no_utf8_is_told_back_readably(cli, words):
    _, out, err = cli(*words)
    assert "n\\xff" in out + err
    assert json.loads(cli(*words, "--json")[1])


def test_files_and_folders_whose_names_are_no_utf8_are_used_and_cited(cli, monkeypatch):
    Path(NO_UTF8).mkdir()
    monkeypatch.chdir(NO_UTF8)
    Path(NO_UTF8 + ".toml").write_text('[[machines]]\nid = "i-1"\ninstance = "g6.xlarge"\n')
    Path("u.csv").write_text("time_s,device,utilization_percent\n0,i-1,50\n")
    monkeypatch.setattr(sys, "argv", ["brimful", "audit", NO_UTF8])
    code, out, err = cli("audit", "--inventory", NO_UTF8 + ".toml", "--history", "trace:u.csv", "--run-dir", "runs")
    assert (code, "Traceback" in err) == (0, False), out + err
    shown = json.loads(cli("show", "last", "--run-dir", "runs", "--json")[1])
    assert any(item["where"].endswith("n\\xff.toml") for item in shown["records"] if item["kind"] == "source")
    assert "n\\xff.toml" in cli("show", "last", "--run-dir", "runs")[1]


def test_a_setting_that_holds_bytes_that_are_no_utf8_reads_alike_in_both_forms(cli, monkeypatch):
    monkeypatch.setenv("BRIMFUL_INVENTORY", f"/{NO_UTF8}/m.toml")
    assert "/n\\xff/m.toml" in cli("config", "show")[1]
    settings = json.loads(cli("config", "show", "--json")[1])["settings"]
    assert "/n\\xff/m.toml" in [item["value"] for item in settings]


@pytest.mark.parametrize("region", ["us-east-1;reboot", "Us East", "$(reboot)"])
def test_a_region_that_no_cloud_could_have_is_refused(cli, region):
    code, _, err = cli("audit", "--region", region)
    assert code == 2
    assert "region cannot be" in err


# --- what a newcomer meets


def test_the_completion_of_the_shell_knows_the_verbs(monkeypatch, capfd):
    monkeypatch.setenv("_BRIMFUL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "brimful ca")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit):
        run([])
    assert "catalog" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("brimful audit --probe ", "plain,fake:"),
        ("brimful audit --history t", "plain,trace:"),
        ("brimful audit --inventory ", "file,"),
        ("brimful --run-dir runs show ", "plain,last"),
        ("brimful show --run-dir runs 2", "plain,20"),
        ("brimful catalog show acc", "plain,accelerator="),
        ("brimful catalog show status=w", "plain,status=withdrawn"),
        ("brimful audit --fail-on ", "plain,medium"),
    ],
)
def test_the_completion_of_the_shell_knows_files_runs_back_ends_and_filters(cli, capfd, monkeypatch, line, offered):
    cli("audit", "-q", "--run-dir", "runs")
    words = line.split()
    monkeypatch.setenv("_BRIMFUL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) if line.endswith(" ") else len(words) - 1))
    with pytest.raises(SystemExit):
        run([])
    assert offered in capfd.readouterr().out


@pytest.mark.parametrize("broken", ["BRIMFUL_REGOIN", "BRIMFUL_RUN_DIR"])
def test_completion_says_no_error(tmp_path, monkeypatch, broken):
    (tmp_path / "file").touch()
    monkeypatch.setenv(broken, str(tmp_path / "file"))
    assert complete.run_ids(click.Context(app), app.params[0], "") == []


def test_colours_are_for_terminals_and_no_color_is_kept(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[" in text.render(text.said("x", "red"))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31" not in text.render(text.said("x", "red"))


def test_help_and_import_load_nothing_heavy():
    code = (
        "import sys, brimful; assert 'numpy' not in sys.modules; from brimful.cli.app import run; run(['--help']);"
        "heavy = {'numpy', 'rich', 'msgspec', 'boto3', 'psutil', 'asyncio'} & set(sys.modules); assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_python_api_is_lazy_and_tells_what_it_does_not_have(tmp_path):
    config = brimful.load_config({"run_dir": str(tmp_path)})
    assert len(brimful.audit(config).practices) == 92
    assert brimful.doctor(config).backends
    with pytest.raises(AttributeError, match="no attribute 'fiit'"):
        _ = brimful.fiit
    assert set(brimful.__all__) <= set(dir(brimful)) | set(brimful._NAMES)


def test_every_verb_of_the_table_exists_and_has_a_help(cli):
    for name in VERBS:
        code, out, _ = cli(name, "--help")
        assert code == 0
        assert "Usage: brimful" in out
    assert set(VERBS) == set(app.list_commands(None))


def test_the_version_is_told(cli):
    code, out, _ = cli("--version")
    assert code == 0
    assert out.startswith("brimful 0.")
