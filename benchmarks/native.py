"""What the native module is worth: checksums against zlib's, many small files against GNU tar and a plain loop.

python -m benchmarks.native [FILES [ROUNDS]]

All sides run in turns, so that whatever else the machine does falls on all of them; files are read once before, so all
find them in the page cache. GNU tar writes through a pipe, since it does not read files when its output is /dev/null.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path

from benchmarks.machine import describe
from brimful import native

FILE_BYTES = 5000
Work = Callable[[], object]


def use(way: str) -> None:
    """Compute checksums in one way from now on."""
    os.environ[native.ISA_VARIABLE] = way
    native._ways.cache_clear()  # noqa: SLF001 - the way is read once in a process; only here does it change


def in_turns(sides: dict[str, Work], rounds: int) -> dict[str, list[float]]:
    """Return the seconds that each side took in each round, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(rounds + 1):
        for name, work in sides.items():
            start = time.perf_counter()
            work()
            if turn:
                times[name].append(time.perf_counter() - start)
    return times


def show(times: dict[str, list[float]], amount: float, unit: str) -> None:
    """Print each side's rate, and how many times as fast as the first it was: medians, and the least and the most."""
    first = next(iter(times.values()))
    for name, seconds in times.items():
        ratios = sorted(theirs / ours for theirs, ours in zip(first, seconds, strict=True))
        rate = amount / statistics.median(seconds)
        spread = f"({ratios[0]:.2f} to {ratios[-1]:.2f})"
        print(f"  {name:<34} {rate:>9,.0f} {unit}   x {statistics.median(ratios):.2f} {spread}")


def checksums(size: int, rounds: int) -> None:
    """Compare the ways to compute a checksum, on one buffer again and again."""
    data = os.urandom(size)

    def repeated(checksum: Callable[[bytes], int], count: int) -> Work:
        def work() -> None:
            for _ in range(count):
                checksum(data)

        return work

    def by(way: str, count: int) -> Work:
        inner = repeated(native.crc32c, count)

        def work() -> None:
            use(way)
            inner()

        return work

    count = max(1, 2**26 // size)
    sides = {"zlib.crc32": repeated(zlib.crc32, count)}
    sides |= {f"crc32c, {way}": by(way, count) for way in native.crc32c_paths() if way != "python"}
    print(f"checksum of {size:,} bytes")
    show(in_turns(sides, rounds), count * size / 1e6, "MB/s")
    use("python")
    small = repeated(native.crc32c, 1 + 2**20 // size)
    show(in_turns({"crc32c, python (by itself)": small}, 3), (1 + 2**20 // size) * size / 1e6, "MB/s")
    use("")


def write_files(folder: Path, count: int) -> list[bytes]:
    """Write files of 5 KB, a thousand to a folder, and return their paths."""
    paths = []
    for number in range(count):
        below = folder / f"{number // 1000:04}"
        below.mkdir(exist_ok=True)
        path = below / f"{number:08}.bin"
        path.write_bytes(os.urandom(FILE_BYTES))
        paths.append(os.fsencode(path))
    return paths


def read_all(paths: list[bytes], *, threads: int, checksum: bool) -> Work:
    """Read with read_files."""

    def work() -> None:
        reads = native.read_files(paths, threads=threads, checksum=checksum)
        size = sum(map(len, map(attrgetter("data"), reads)))
        if size != FILE_BYTES * len(paths):
            raise RuntimeError(f"{size} bytes came back of {FILE_BYTES * len(paths)}")

    return work


def plain_loop(paths: list[bytes]) -> None:
    """Read as a Python program does that gives no thought to it."""
    for path in paths:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib would make the other side slower than it is
            file.read()


def tar(folder: Path) -> None:
    """Let GNU tar read the files."""
    with subprocess.Popen(["tar", "cf", "-", "-C", folder, "."], stdout=subprocess.PIPE) as archiver:  # noqa: S607
        subprocess.run(["cat"], stdin=archiver.stdout, stdout=subprocess.DEVNULL, check=True)  # noqa: S607


def small_files(count: int, rounds: int) -> None:
    """Compare ways to read many small files that are in the page cache."""
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).absolute()
        paths = write_files(folder, count)
        sides: dict[str, Work] = {}
        if shutil.which("tar") and shutil.which("cat"):
            sides["GNU tar, piped into cat"] = lambda: tar(folder)
        sides["open().read() in a loop"] = lambda: plain_loop(paths)
        cpus = len(os.sched_getaffinity(0))
        for threads in sorted({1, cpus, native.default_threads()}):
            sides[f"read_files, {threads} threads"] = read_all(paths, threads=threads, checksum=True)
        sides[f"read_files, {cpus} threads, no checksum"] = read_all(paths, threads=cpus, checksum=False)
        print(f"{count:,} files of {FILE_BYTES:,} bytes, in the page cache")
        show(in_turns(sides, rounds), count, "files/s")


def main(files: int = 20_000, rounds: int = 15) -> None:
    """Print the machine, then all comparisons."""
    print(describe())
    state = native.state()
    print(f"native module: {'yes' if state.available else 'no'}, {state.reason}")
    for size in (FILE_BYTES, 2**20):
        checksums(size, rounds)
    small_files(files, rounds)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
