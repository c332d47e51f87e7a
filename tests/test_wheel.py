"""The package as users get it: built with a compiler, without one, and installed where nothing else is."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SHIPPED = ("pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE", "NOTICE", "native", "src")
NO_COMPILER = {"CC": "/nonexistent/cc", "CXX": "/nonexistent/c++"}
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
HAS_BACKEND = all(importlib.util.find_spec(name) for name in ("scikit_build_core", "nanobind"))
needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler here"
)
needs_backend = pytest.mark.skipif(not HAS_BACKEND, reason="scikit-build-core and nanobind are not installed here")

# What a user's first minute touches, without any dependency.
CHECK = """
import json, sys
from brimful import native
reads = [(read.data or b"").decode() for read in native.read_files([sys.argv[1], "/nowhere"])]
print(json.dumps([native.state().available, native.crc32c(b"123456789"), reads, native.notice()]))
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """A copy of what the package is made of, so that building leaves no trace in the tree."""
    copy = tmp_path_factory.mktemp("source")
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        else:
            shutil.copy(ROOT / name, copy / name)
    return copy


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": "", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def build(source: Path, out: Path, **environment: str) -> Path:
    isolation = ["--no-build-isolation"] if HAS_BACKEND else []  # with the back-end at hand, nothing is downloaded
    output = run(*PIP, "wheel", "--no-deps", *isolation, "--wheel-dir", out, source, cwd=out, **environment)
    assert "Traceback" not in output
    assert "rror" not in output
    (wheel,) = out.glob("*.whl")
    return wheel


def new_python(folder: Path) -> Path:
    """A Python with nothing installed; pip of the running one installs into it."""
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin" / "python"


def check(python: Path, folder: Path) -> tuple[bool, str | None]:
    """Use the installed package; say whether the native module is there, and the notice."""
    (folder / "file").write_text("content")
    available, crc, reads, notice = json.loads(run(python, "-c", CHECK, folder / "file", cwd=folder))
    assert crc == 0xE3069283
    assert reads == ["content", ""]
    return available, notice


def install(wheel: Path, folder: Path) -> Path:
    python = new_python(folder / "venv")
    run(*PIP, "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    return python


def assert_pure(wheel: Path, folder: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.endswith(".so")]
    assert not [name for name in names if name.startswith("brimful/") and name.endswith((".cpp", ".h"))]
    available, notice = check(install(wheel, folder), folder)
    assert not available
    assert notice is not None
    assert "apt-get install g++" in notice


def assert_native(wheel: Path, folder: Path) -> None:
    assert "none-any" not in wheel.name
    (module,) = (name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so"))
    assert module.startswith("brimful/_native.")
    assert check(install(wheel, folder), folder) == (True, None)


@needs_compiler
def test_with_a_compiler_the_wheel_has_the_native_module(source, tmp_path):
    assert_native(build(source, tmp_path), tmp_path)


def test_without_a_compiler_the_wheel_is_pure_and_works(source, tmp_path):
    assert_pure(build(source, tmp_path, **NO_COMPILER), tmp_path)


def test_with_no_compiler_on_the_path_the_wheel_is_pure_and_works(source, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cmake", "ninja"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    assert_pure(build(source, tmp_path, PATH=str(tools)), tmp_path)


def test_a_pure_wheel_can_be_asked_for(source, tmp_path):
    assert_pure(build(source, tmp_path, BRIMFUL_PURE="1"), tmp_path)


def test_native_code_that_does_not_compile_still_gives_a_pure_wheel(source, tmp_path):
    broken = tmp_path / "source"
    shutil.copytree(source, broken)
    (broken / "native" / "crc32c.cpp").write_text("#error not today\n")
    assert_pure(build(broken, tmp_path), tmp_path)


@needs_backend
@needs_compiler
def test_the_source_distribution_has_all_that_the_wheel_is_built_from(source, tmp_path):
    code = "import sys; from scikit_build_core.build import build_sdist; print(build_sdist(sys.argv[1]))"
    name = run(sys.executable, "-c", code, tmp_path, cwd=source).split()[-1]
    assert_native(build(tmp_path / name, tmp_path), tmp_path)


@needs_backend
@pytest.mark.parametrize("compiler", [pytest.param(True, marks=needs_compiler), False])
def test_an_editable_installation_follows_the_source_both_ways(source, tmp_path, compiler):
    editable = tmp_path / "source"
    shutil.copytree(source, editable)
    code = "import sys; from scikit_build_core.build import build_editable; print(build_editable(sys.argv[1]))"
    output = run(sys.executable, "-c", code, tmp_path, cwd=editable, **({} if compiler else NO_COMPILER))
    python = install(tmp_path / output.split()[-1], tmp_path)
    (editable / "src" / "brimful" / "later.py").write_text("here = True\n")
    assert run(python, "-c", "import brimful.later as later; print(later.here)", cwd=tmp_path).strip() == "True"
    assert check(python, tmp_path)[0] is compiler
