"""How long brimful takes to start, against an empty Python: CPU time of child processes, both sides interleaved.

python -m benchmarks.startup [ROUNDS]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

from benchmarks.machine import describe

CASES: dict[str, list[str]] = {
    "python -c pass": ["-c", "pass"],
    "import brimful": ["-c", "import brimful"],
    "brimful --help": ["-m", "brimful", "--help"],
    "brimful config show": ["-m", "brimful", "config", "show"],
    "brimful catalog show accelerator=L4": ["-m", "brimful", "catalog", "show", "accelerator=L4"],
    "brimful doctor": ["-m", "brimful", "doctor"],
}


def cpu_ms(arguments: list[str]) -> float:
    """Return the CPU time, user and system, that one child process took; the clock of wait4 has microseconds."""
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, *arguments],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
    )
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{' '.join(arguments)} ended with {status}")
    return (usage.ru_utime + usage.ru_stime) * 1000


def main(rounds: int = 20) -> None:
    """Print the median CPU time of each case, and what it adds to an empty Python."""
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for arguments in CASES.values():
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)  # warm the file cache
    for _ in range(rounds):
        for name, arguments in CASES.items():
            times[name].append(cpu_ms(arguments))
    print(describe())
    base = statistics.median(times["python -c pass"])
    for name, found in times.items():
        middle = statistics.median(found)
        print(
            f"{name:38} {middle:7.1f} ms CPU   +{middle - base:6.1f} ms   (min {min(found):.1f}, max {max(found):.1f})"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
