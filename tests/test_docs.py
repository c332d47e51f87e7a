"""The docs are tested: every command, option and setting is in them, and what the code knows is written by it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from tools.write_docs import ROOT, commands, out_of_date, pages

from brimful.config import KEYS
from brimful.model import units
from brimful.registry import BACKENDS

LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)(?:#[^)]*)?\)")


def test_what_the_code_knows_is_up_to_date_in_the_docs():
    stale = [str(path.relative_to(ROOT)) for path in out_of_date()]
    assert not stale, "python -m tools.write_docs renews them"


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_and_option_is_documented(name):
    page = (ROOT / "docs/cli.md").read_text("utf-8")
    assert f"<!-- written: help {name} -->" in page
    for parameter in commands()[name].params:
        if isinstance(parameter, click.Option):
            assert parameter.help or parameter.name == "version", f"{name} {parameter.name} has no help"
            assert parameter.opts[0] in page


def test_every_setting_is_documented():
    page = (ROOT / "docs/configuration.md").read_text("utf-8")
    for key in KEYS:
        assert key.name in page
        assert key.variable in page


def test_every_back_end_is_documented():
    page = (ROOT / "docs/backends.md").read_text("utf-8")
    for seam, table in BACKENDS.items():
        for name in table:
            assert re.search(rf"\| {seam} \| `{name}`", page), f"docs/backends.md does not list the {seam} {name}"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)


def test_the_back_end_of_the_docs_works_as_it_is_written(tmp_path):
    for block in blocks("docs/backends.md", "python"):
        name = re.match(r"# (\w+\.py)\n", block)
        assert name, "the first line of a block names its file"
        (tmp_path / name[1]).write_text(block)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:cov", str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_the_docs_name_every_unit_that_a_metric_may_end_in():
    page = (ROOT / "docs/backends.md").read_text("utf-8")
    assert [end for end, _, _ in units._RANGES if f"`{end}`" not in page] == []


def test_every_file_that_the_architecture_names_is_there():
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    for word in re.findall(r"`((?:src|tools|native|docs|scripts|benchmarks)/[\w./]+)`", page):
        assert (ROOT / word).exists(), word


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_is_broken_and_no_page_names_a_machine_of_ours(page):
    text = page.read_text("utf-8")
    for target in LINK.findall(text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
    assert not re.search(r"/work/|/root/", text)
    assert len(text) > 80


def test_every_decision_says_what_would_change_our_mind():
    decisions = sorted(Path(ROOT / "docs/decisions").glob("[0-9]*.md"))
    assert decisions
    for page in decisions:
        assert "change our mind" in page.read_text("utf-8"), page.name
