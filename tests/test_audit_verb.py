"""The audit as its user meets it: one screen, what is warned of, and what is called simulated."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import brimful
from brimful.cli.app import run
from brimful.config import load
from brimful.report import audit as drawn
from brimful.verbs.audit import Sources


@pytest.fixture
def cli(capfd, tmp_path, monkeypatch):
    """Run a command line in a folder of its own; return (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        code = run(words)
        out, err = capfd.readouterr()
        return code, out, err

    return call


FLEET = """\
cloud = "ec2"
[[machines]]
id = "i-0123456789abcdef0"
instance = "g6.xlarge"
region = "us-east-1"
[[machines]]
id = "i-0123456789abcdef1"
instance = "g4dn.xlarge"
region = "ap-southeast-2"
usd_per_hour = 0.9
owner = "the auto-scaling group of the team that looks after the search of pictures in the shop"
[[machines]]
id = "i-0123456789abcdef2"
instance = "p3.2xlarge"
[[machines]]
id = "i-0123456789abcdef3"
instance = "g6e.xlarge"
"""


@pytest.fixture
def screen(monkeypatch):
    """Make stdout a terminal of 80 columns and 24 rows; return how many rows a text takes on it."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, value in (("COLUMNS", "80"), ("LINES", "24"), ("TERM", "dumb"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
    return lambda shown: sum(max(1, -(-len(line) // 80)) for line in shown.splitlines())


@pytest.mark.parametrize("example", [True, False])
def test_an_audit_fits_a_terminal_of_80_columns_and_24_rows_with_its_commands_whole(tmp_path, screen, example):
    (tmp_path / "m.toml").write_text(FLEET)
    rows = [f"{t},i-0123456789abcdef{n},0" for t in range(0, 172800, 300) for n in range(4)]
    (tmp_path / "u.csv").write_text("time_s,device,utilization_percent\n" + "\n".join(rows))
    config = load({"run_dir": str(tmp_path / "runs"), "catalog_dir": str(tmp_path / "none")})
    own = Sources(inventories=(f"inventory:{tmp_path / 'm.toml'}",), histories=(f"trace:{tmp_path / 'u.csv'}",))
    found = brimful.audit(config, Sources(example=True) if example else own)
    shown = drawn.text(found)
    assert screen(shown) <= 23  # and the prompt
    for finding in found.first:
        assert finding.command is None or finding.command in shown
        assert all(word in shown for word in ("why: ", "fix: "))
    assert "…" not in shown if example else "…" in shown
    assert "--all" in shown
    whole = " ".join(drawn.text(found, every=True).split())
    for finding in found.findings:
        assert " ".join(finding.fix.split()) in whole


def test_a_taller_terminal_cuts_nothing(tmp_path, screen, monkeypatch):
    monkeypatch.setenv("LINES", "50")
    (tmp_path / "m.toml").write_text(FLEET)
    config = load({"run_dir": str(tmp_path / "runs"), "catalog_dir": str(tmp_path / "none")})
    found = brimful.audit(config, Sources(inventories=(f"inventory:{tmp_path / 'm.toml'}",)))
    shown = drawn.text(found)
    assert screen(shown) <= 49
    for finding in found.first:
        for told in (finding.what, finding.why, finding.fix):
            assert " ".join(told.split()) in " ".join(shown.split())


def test_devices_of_a_simulated_probe_are_called_simulated_in_text_and_in_json(cli):
    assert "audit of 8 simulated devices" in cli("audit", "--probe", "fake:8xL4")[1]
    answer = json.loads(cli("audit", "--probe", "fake:8xL4", "--json")[1])
    assert answer["simulated"] == ["probe fake:8xL4"]
    assert json.loads(cli("audit", "--json")[1])["simulated"] == []


def test_an_unknown_type_is_warned_of_with_a_name_that_is_near(cli):
    Path("m.toml").write_text('[[machines]]\nid = "a"\ninstance = "g6.xlarg"\n')
    err = cli("audit", "--inventory", "m.toml")[2]
    assert "the catalogue does not know the type g6.xlarg of a; did you mean g6.xlarge?" in err


def test_an_empty_inventory_is_said_to_be_empty(cli):
    Path("m.toml").write_text('cloud = "ec2"\n')
    _, out, err = cli("audit", "--inventory", "m.toml")
    assert "m.toml lists no machine" in err
    assert "audit of this machine; the inventory lists no machine" in out


def test_devices_of_no_machine_and_samples_too_far_apart_are_warned_of(cli):
    Path("m.toml").write_text('[[machines]]\nid = "a"\ninstance = "g6.xlarge"\nregion = "us-east-1"\n')
    rows = [f"{day * 43200},{name},0" for day in range(28) for name in ("a", "gpu0")]
    Path("u.csv").write_text("time_s,device,utilization_percent\n" + "\n".join(rows))
    _, out, err = cli("audit", "--inventory", "m.toml", "--history", "trace:u.csv")
    assert "1 device of no machine of the inventory: gpu0 (the machines are a;" in err
    assert "samples too far apart, of a, gpu0" in err
    assert "did nothing" not in out


def test_a_machine_in_another_region_is_not_priced_as_in_us_east_1(cli):
    Path("m.toml").write_text('cloud = "ec2"\n[[machines]]\nid = "a"\ninstance = "g6.xlarge"\nregion = "eu-west-1"\n')
    Path("u.csv").write_text(
        "time_s,device,utilization_percent\n" + "".join(f"{t},a,0\n" for t in range(0, 172800, 300))
    )
    answer = json.loads(cli("audit", "--inventory", "m.toml", "--history", "trace:u.csv", "--json")[1])
    (idle,) = [item for item in answer["findings"] if item["code"] == "idle-accelerator"]
    assert idle["usd_per_month"] is None
    assert "no price of g6.xlarge in eu-west-1" in idle["missing"]["usd_per_month"]


def test_an_absurd_price_is_an_error_and_no_traceback(cli):
    Path("m.toml").write_text('[[machines]]\nid = "a"\ninstance = "g6.xlarge"\nusd_per_hour = 1e308\n')
    code, _, err = cli("audit", "--inventory", "m.toml")
    assert code == 2
    assert "usd_per_hour is 1e+308" in err


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("p3.2xlarge", "p3.2xlarge was withdrawn on 2025-12-20 (announced by AWS); instead:"),
        ("dl1.24xlarge", "dl1.24xlarge is withdrawn (absent from EC2's lists since 2026-07-11); instead:"),
        ("dl1.24xlarge", "? nothing else is known: EC2 no longer describes this type"),
        ("trn2.48xlarge", "on demand, no price is known;"),
        ("g4ad.xlarge", "a report of 2026-09-11 says"),
    ],
)
def test_what_is_doubtful_about_a_type_is_said_in_words(cli, name, told):
    _, out, _ = cli("catalog", "show", name)
    assert told in out
    assert "cpu_vendor" not in out
