"""Builds the native code with the compiler's sanitizers and strains it: python -m tools.sanitize_native [ROUNDS].

Three programs, all in a temporary folder: the C++ stress (native/stress.cpp) under AddressSanitizer with
UndefinedBehaviorSanitizer, the same under ThreadSanitizer, and Python with the whole module under AddressSanitizer. Any
finding ends it with status 1. The last needs nanobind and CMake, and is left out, with a word, where they are missing.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORE = ("crc32c.cpp", "crc32c_hardware.cpp", "file_reader.cpp", "stress.cpp")
WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror")
FLAGS = ("-std=c++17", "-g", "-O1", "-pthread", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all")
WRAPS = ("-Wl,--wrap=open", "-Wl,--wrap=fstat", "-Wl,--wrap=read")  # stress.cpp stands in for them

PYTHON_STRESS = """
import os, random, sys
from brimful import native
from brimful.native import crc32c, read_files

assert native.state().available, native.state()
folder, rounds = sys.argv[1], int(sys.argv[2])
source = random.Random(1)
contents = [source.randbytes(source.choice((0, 1, 5000, 70_000))) for _ in range(200)]
paths = [os.path.join(folder, str(number)) for number in range(200)]
for path, content in zip(paths, contents):
    with open(path, "wb") as file:
        file.write(content)
for turn in range(rounds):
    budget, leave_at = source.choice((1, 10_000, 10**8)), source.choice((1, 50, 10**6))
    for read in read_files([*paths, folder, "/nowhere"], threads=1 + turn % 8, max_bytes_ahead=budget):
        if read.number < 200:
            assert read.data == contents[read.number] and read.crc32c == crc32c(bytearray(read.data))
        if read.number == leave_at:
            break
    reads = read_files(paths, threads=4, max_bytes_ahead=10_000)
    next(reads)
    if turn % 10 == 0 and (child := os.fork()) == 0:
        reads.close()
        os._exit(0)
    for bad in (lambda: crc32c(memoryview(b"abc")[::2]), lambda: crc32c("text")):
        try:
            bad()
        except (BufferError, TypeError):
            pass
print(f"python: {rounds} rounds, nothing found")
"""


def run(command: list[str | Path], **environment: str) -> None:
    """Run a program to its end; its failure is this tool's."""
    done = subprocess.run(command, env={**os.environ, **environment}, check=False)  # noqa: S603 - our own programs
    if done.returncode:
        sys.exit(f"sanitize_native: {command[0]} ended with {done.returncode}")


def stress(name: str, sanitizers: str, folder: Path, rounds: str, launcher: list[str]) -> None:
    """Build the C++ stress with some sanitizers, and run it."""
    print(f"{name}: building with -fsanitize={sanitizers}", flush=True)
    program, files = folder / name, folder / f"{name}-files"
    files.mkdir()
    sources = [ROOT / "native" / source for source in CORE]
    compiler = os.environ.get("CXX", "c++")
    run([compiler, *FLAGS, *WARNINGS, f"-fsanitize={sanitizers}", *sources, *WRAPS, "-o", program])
    run([*launcher, program, files, rounds])


def address_space_fixed() -> list[str]:
    """Return what to start a program with so that the kernel lays it out where ThreadSanitizer expects it."""
    return ["setarch", "--addr-no-randomize"] if shutil.which("setarch") else []


def python_stress(folder: Path, rounds: str) -> None:
    """Build the module with AddressSanitizer, and strain it from Python."""
    if not (importlib.util.find_spec("nanobind") and shutil.which("cmake")):
        print("python: left out, since it needs nanobind and cmake (pip install nanobind cmake ninja)")
        return
    print("python: building with -fsanitize=address,undefined", flush=True)
    package, files, made = folder / "site" / "brimful", folder / "python-files", folder / "build"
    files.mkdir()
    flags = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1"
    settings = {"CMAKE_BUILD_TYPE": "Debug", "CMAKE_CXX_FLAGS": flags, "Python_EXECUTABLE": sys.executable}
    settings |= {"nanobind_DIR": nanobind_folder(), "BRIMFUL_DEV": "ON"}
    run(
        [
            "cmake",
            "-S",
            ROOT,
            "-B",
            made,
            "--log-level=WARNING",
            *(f"-D{key}={value}" for key, value in settings.items()),
        ]
    )
    run(["cmake", "--build", made, "--parallel", "2", "--", "--quiet"])
    shutil.copytree(ROOT / "src" / "brimful", package, ignore=shutil.ignore_patterns("*.so"))
    for module in made.glob("_native*.so"):
        shutil.copy(module, package)
    environment = {
        "LD_PRELOAD": ":".join(map(library, ("libasan.so", "libstdc++.so"))),
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter itself leaves much behind when it ends
        "PYTHONMALLOC": "malloc",  # so that bytes objects have red zones too
        "PYTHONPATH": str(package.parent),
    }
    # Without site: an editable installation of brimful would come before PYTHONPATH.
    run([sys.executable, "-S", "-c", PYTHON_STRESS, files, rounds], **environment)


def nanobind_folder() -> str:
    """Return where nanobind's CMake files are."""
    command = [sys.executable, "-m", "nanobind", "--cmake_dir"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603


def library(name: str) -> str:
    """Return where the compiler keeps a library of its own."""
    command = [os.environ.get("CXX", "c++"), f"-print-file-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603


def main() -> None:
    """Run all three."""
    rounds = sys.argv[1] if len(sys.argv) > 1 else "50"
    with tempfile.TemporaryDirectory(prefix="brimful-sanitize-") as name:
        folder = Path(name)
        stress("address", "address,undefined", folder, rounds, [])
        stress("thread", "thread", folder, rounds, address_space_fixed())
        python_stress(folder, rounds)


if __name__ == "__main__":
    main()
