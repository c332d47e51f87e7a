"""Kill a journal's writer at random moments, and check that no acknowledged record is lost.

A script of test_journal. Each round forks a writer that goes on with the same journal, appends records (small ones, and
some of megabytes, so that the kill falls inside a write as well) and reports each id through a pipe *after* append
returned. The parent kills it with SIGKILL and then holds the journal against what was acknowledged.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from brimful.journal.read import read
from brimful.journal.write import Writer, new_run
from brimful.model.advice import Act, Finding, Severity


def write_for_ever(directory: Path, pipe: int, seed: int) -> None:
    rng = random.Random(seed)
    with Writer.resume(directory) as writer:
        while True:
            if rng.random() < 0.1:
                noun = Act(action="stop", target="i-1", dry_run=True, outcome="x" * 10)
            else:
                text = "x" * rng.choice([10, 200, 5000, 3_000_000])
                noun = Finding(code="c", severity=Severity.INFO, what=text, why="w", fix="f", evidence=("e",))
            os.write(pipe, (writer.append(noun) + "\n").encode())


def one_round(directory: Path, seed: int) -> list[str]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            write_for_ever(directory, writing, seed)
        finally:
            os._exit(1)
    os.close(writing)
    time.sleep(random.Random(-seed).uniform(0.0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        lines = pipe.read().decode().split("\n")
    return lines[:-1]  # what stands behind the last line feed was not fully reported


def main(root: Path, rounds: int) -> None:
    writer = Writer.create(root, new_run("test"))
    writer.close()
    acknowledged, torn = [], 0
    for seed in range(rounds):
        acknowledged += one_round(writer.directory, seed)
        journal = read(writer.directory)
        torn += bool(journal.warnings)
        lost = set(acknowledged) - {record.id for record in journal.records}
        if lost:
            sys.exit(f"round {seed}: lost {sorted(lost)[:5]}")
        if seed % 20 == 19:  # keep the file small; a new run starts where the old one was checked
            writer = Writer.create(root, new_run("test"))
            writer.close()
            acknowledged = []
    print(f"{rounds} kills, {torn} torn last lines, nothing acknowledged was lost")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
