"""What to type to get brimful back whole, for each way in which it can have been installed."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path

import pytest

from brimful.model.installed import again, restored

PYTHON = f"{sys.executable} -m pip install"


@pytest.fixture
def installed(monkeypatch):
    """Return a function that makes brimful look installed from somewhere."""

    def from_(told: object) -> None:
        class Found:
            def read_text(self, name: str) -> str | None:
                assert name == "direct_url.json"
                return told if told is None or isinstance(told, str) else json.dumps(told)

        monkeypatch.setattr(importlib.metadata, "distribution", lambda _: Found())

    return from_


@pytest.mark.parametrize(
    "told",
    [None, "", "no json", "3", {"url": "https://example.org/brimful.whl"}, {"url": "git+ssh://a/b", "vcs_info": {}}],
)
def test_from_an_index_or_a_server_it_is_installed_by_its_name(installed, told):
    installed(told)
    assert again() == f"{PYTHON} --force-reinstall --no-cache-dir --no-deps brimful"
    assert restored(Path("x.json")) == again()


def test_a_clone_is_installed_from_the_clone_and_never_from_an_index(installed):
    installed({"url": "file:///home/me/my%20clone", "dir_info": {"editable": True}})
    assert again() == f"{PYTHON} -e '/home/me/my clone'"


def test_the_clone_of_the_demo_makes_its_environment_anew(installed, monkeypatch):
    installed({"url": "file:///home/me/clone", "dir_info": {"editable": True}})
    monkeypatch.setattr(sys, "prefix", "/home/me/clone/.venv")
    assert again() == "rm -rf /home/me/clone/.venv && /home/me/clone/scripts/demo"


def test_a_file_of_a_clone_comes_back_from_its_history(installed):
    installed({"url": "file:///c", "dir_info": {"editable": True}})
    assert restored(Path("/c/src/a b.json")) == "git -C /c checkout -- '/c/src/a b.json'"


@pytest.mark.parametrize("told", [{"dir_info": {}}, {"archive_info": {}}])
def test_a_folder_or_a_wheel_is_installed_from_there(installed, told):
    installed({"url": "file:///tmp/brimful-0.1.whl", **told})
    assert again() == f"{PYTHON} --force-reinstall --no-deps /tmp/brimful-0.1.whl"
    assert restored(Path("x.json")) == again()


def test_the_python_of_the_command_is_quoted(installed, monkeypatch):
    installed(None)
    monkeypatch.setattr(sys, "executable", "/my env/bin/python")
    assert again().startswith("'/my env/bin/python' -m pip")
