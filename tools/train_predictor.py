"""Trains what `brimful fit` predicts with, and writes it to the package: `python -m tools.train_predictor`.

Needs LightGBM (the dependency group `train`); takes some minutes on two cores. `--rows` bounds how many measurements of
one setting (device, engine, precision, layout, scenario, version) are taken, so that no source drowns the others.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from brimful.advise.fit.foresee import seen_as
from brimful.advise.fit.model import arrays_of
from brimful.catalog.predictor import FILE, save
from tools.fit_data import rows
from tools.predictor.cases import Example, examples
from tools.predictor.spread import held_out, widths
from tools.predictor.train import train

_STEPS, _HELD_STEPS = 160, 70


def main() -> None:
    """Train, hold out, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=120, help="most rows of one setting to learn from")
    parser.add_argument("--held-rows", type=int, default=16, help="the same for the runs that hold devices out")
    parser.add_argument("--to", type=Path, default=FILE)
    arguments = parser.parse_args()
    start = time.monotonic()
    every = list(examples(rows()))
    few = thinned(every, arguments.held_rows)
    unseen = held_out(few, lambda item: item.device, 5, steps=_HELD_STEPS, own=False)
    print(f"{time.monotonic() - start:.0f} s: devices held out, median error {median_error(unseen):.1%}", flush=True)
    known = held_out(few, lambda item: item.row.model, 4, steps=_HELD_STEPS, own=True)
    print(f"{time.monotonic() - start:.0f} s: models held out, median error {median_error(known):.1%}", flush=True)
    neither = held_out(few, lambda item: item.row.group or item.row.id, 4, steps=_HELD_STEPS, own=True)
    print(f"{time.monotonic() - start:.0f} s: settings held out, median error {median_error(neither):.1%}", flush=True)
    learned = thinned(every, arguments.rows)
    predictor = train(learned, steps=_STEPS)
    arrays, names = arrays_of(predictor)
    card = {
        **names,
        "spread": widths(few, unseen, "model") | widths(few, known, "device") | widths(few, neither, "both"),
        "seen": sorted(
            {seen_as(name, item.case.engine) for item in learned for name in (item.device, item.row.model, item.model)}
        ),
        "about": [f"{len(learned):,} published measurements"],
        "trained_on": f"{datetime.now(UTC):%Y-%m-%d}",
        "sources": Counter(item.row.source.partition(":")[0].partition("-")[0] for item in learned),
    }
    save(arguments.to, arrays, card)
    print(f"{time.monotonic() - start:.0f} s: {arguments.to.stat().st_size:,} bytes, {len(learned):,} examples")


def thinned(every: Iterable[Example], most: int, seed: int = 0) -> list[Example]:
    """Return at most so many examples of one setting, chosen by a seed."""
    groups: dict[tuple[str, ...], list[Example]] = defaultdict(list)
    for item in every:
        case = item.case
        key = (item.device, case.engine, case.precision, case.layout, case.compiled, case.mode, case.scenario)
        groups[*key, item.row.version].append(item)
    dice = np.random.default_rng(seed)
    return [group[place] for group in groups.values() for place in sorted(dice.permutation(len(group))[:most])]


def median_error(errors: np.ndarray) -> float:
    """Return the median of the relative error."""
    return float(np.median(np.abs(np.expm1(errors))))


if __name__ == "__main__":
    main()
