"""A package of somebody else's, installed by pip into an environment of its own, and found by its entry points."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import brimful

PLUGIN = Path(__file__).parent / "plugin"


def build_wheel(folder: Path) -> Path:
    """Make the wheel that setuptools would make; it is not everywhere, and needs the network where it is not."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    name = project["name"].replace("-", "_")
    info = f"{name}-{project['version']}.dist-info"
    files = {str(path.relative_to(PLUGIN / "src")): path.read_text() for path in (PLUGIN / "src").rglob("*.py")}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    groups = project["entry-points"].items()
    files[f"{info}/entry_points.txt"] = "\n".join(
        "\n".join([f"[{group}]", *(f"{key} = {value}" for key, value in points.items()), ""])
        for group, points in groups
    )
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    wheel = folder / f"{name}-{project['version']}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return wheel


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of a fresh environment that has the plug-in, and sees brimful and what brimful needs."""
    folder = tmp_path_factory.mktemp("plugin")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv/bin/python"
    (site,) = (folder / "venv/lib").glob("python*/site-packages")
    seen = [str(Path(brimful.__file__).parents[1]), *(path for path in sys.path if path.endswith("site-packages"))]
    (site / "parent.pth").write_text("\n".join(seen))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "install"]
    run(*pip, "--no-index", "--no-deps", str(build_wheel(folder)))
    return python


def run(*command: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_", "PIP_"))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def in_venv(python: Path, program: str, *arguments: str) -> object:
    return json.loads(run(str(python), "-c", program, *arguments))


STATES = """
import json
from brimful import registry
from brimful.model.noun import plain
print(json.dumps([plain(state) for state in registry.states()]))
"""


@pytest.fixture(scope="module")
def states(python: Path) -> dict[tuple[str, str], dict[str, object]]:
    return {(state["seam"], state["name"]): state for state in in_venv(python, STATES)}


def test_the_back_end_of_a_strangers_package_stands_beside_ours(states):
    assert states["probe", "example"]["available"]
    assert str(states["probe", "example"]["reason"]).startswith("Reads millidegrees from a file")
    assert states["probe", "host"]["available"]


def test_one_that_raises_when_imported_is_named_and_does_no_harm(states):
    state = states["probe", "explodes"]
    assert not state["available"]
    assert "ZeroDivisionError: raised on purpose, at import" in str(state["reason"])
    assert "brimful_plugin_example.explodes" in str(state["fix"])


def test_one_that_ends_the_program_when_imported_is_named_and_does_no_harm(states):
    state = states["probe", "exits"]
    assert not state["available"]
    assert "SystemExit: ended on purpose, at import" in str(state["reason"])


def test_one_that_cannot_work_here_says_so_in_its_own_words(states):
    state = states["store", "elsewhere"]
    assert (state["available"], state["reason"], state["fix"]) == (
        False,
        "nowhere to go: there is no road",
        "build a road",
    )


def test_our_names_cannot_be_taken(states):
    assert "Simulated devices" in str(states["probe", "fake"]["reason"])


def test_doctor_lists_them_all(python, states):
    answer = json.loads(run(str(python), "-m", "brimful", "doctor", "--json"))
    listed = {(state["seam"], state["name"]): state for state in find_states(answer)}
    assert listed == states


def find_states(answer: object) -> list[dict[str, object]]:
    """Return the first list of back-ends in an answer, wherever it stands."""
    if isinstance(answer, dict):
        return next((found for item in answer.values() if (found := find_states(item))), [])
    if isinstance(answer, list) and answer and isinstance(answer[0], dict) and "seam" in answer[0]:
        return answer
    return []


USE = """
import json, sys
from brimful import registry
from brimful.testing import check_probe
probe = registry.open_backend("probe", f"example:{sys.argv[1]}")
print(json.dumps([sample.value for sample in probe.sample()]))
check_probe(lambda: probe)
check_probe(lambda: registry.open_backend("probe", "example:/nowhere"), unknown=[("cpu", "temperature_celsius")])
"""


def test_it_is_opened_by_its_name_and_keeps_the_promises_of_the_kit(python, tmp_path):
    (tmp_path / "temp").write_text("42500\n")
    assert in_venv(python, USE, str(tmp_path / "temp")) == [42.5]


OPEN = """
import json
from brimful import registry
from brimful.model.errors import BrimfulError
said = []
for name in ("explodes", "exits"):
    try:
        registry.open_backend("probe", name)
    except BrimfulError as error:
        said.append([type(error).__name__, error.exit_code, error.fix])
print(json.dumps(said))
"""


def test_to_open_a_broken_one_is_an_error_for_people(python):
    for kind, code, fix in in_venv(python, OPEN):
        assert (kind, code) == ("Unavailable", 2)
        assert "uninstall" in fix
