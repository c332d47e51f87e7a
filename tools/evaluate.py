"""How far off `brimful fit` is where the truth was held back: `python -m tools.evaluate [--rows N] [--only CASE]`.

Nothing that is judged was seen in training: devices, or models, or both with their families, are held out in folds. The
median of the relative error, the share within 25 %, and how often the 80 % interval held, for each device. An interval
is made from the errors on other devices than the one that it is judged on. Rows that are hardly trusted are not judged.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from brimful.advise.audit.facts import can_be_rented
from brimful.advise.fit.case import Array
from brimful.advise.fit.correct import Correction, place_of
from brimful.advise.fit.foresee import strata
from brimful.catalog import chips, load
from brimful.model.units import GIB
from tools.fit_data import rows
from tools.predictor.cases import Example, examples
from tools.predictor.spread import TRUSTED, held_out, widths
from tools.train_predictor import thinned

_STEPS = 80
_PROBES = 3
_FEWEST = 8


def main() -> None:
    """Hold out, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20, help="most rows of one setting")
    parser.add_argument("--only", choices=("known", "unseen", "both"), help="one case alone")
    arguments = parser.parse_args()
    start = time.monotonic()
    every = thinned(examples(rows()), arguments.rows)
    print(f"{len(every):,} measurements, {len({item.device for item in every})} devices", flush=True)
    cases: dict[str, Callable[[], Array]] = {
        "known": lambda: held_out(every, lambda item: item.row.model, 5, steps=_STEPS, own=True),
        "unseen": lambda: held_out(every, lambda item: item.device, 8, steps=_STEPS, own=False),
        "both": lambda: _both(every),
    }
    titles = {
        "known": "a known device, a new model",
        "unseen": "a device that was never measured",
        "both": "a device and a family of models that were never measured",
    }
    for name, errors_of in cases.items():
        if arguments.only in (None, name):
            errors = errors_of()
            print(f"\n## {titles[name]}  ({time.monotonic() - start:.0f} s)\n")
            _judge(every, errors, "device" if name == "known" else "model")
            if name == "unseen":
                _probed(every, errors)
                _chosen(every, errors)


def _both(every: Sequence[Example]) -> Array:
    """Hold out devices and families at once: judged is what neither its device nor its family was trained on."""
    errors = np.full(len(every), np.nan)
    families = sorted({item.family for item in every})
    part = dict(zip(families, np.random.default_rng(2).permutation(len(families)) % 3, strict=True))
    for number in range(3):
        inside = [item for item in every if part[item.family] != number]
        judged = [place for place, item in enumerate(every) if part[item.family] == number]
        errors[judged] = _across(inside, [every[place] for place in judged])
    return errors


def _across(inside: Sequence[Example], judged: Sequence[Example]) -> Array:
    from tools.predictor.train import train  # noqa: PLC0415

    devices = sorted({item.device for item in judged})
    part = dict(zip(devices, np.random.default_rng(1).permutation(len(devices)) % 4, strict=True))
    out = np.zeros(len(judged))
    for number in range(4):
        model = train([item for item in inside if part.get(item.device) != number], steps=_STEPS, own=False)
        places = [place for place, item in enumerate(judged) if part[item.device] == number]
        log_s, _ = model.log_s([judged[place].case for place in places])
        out[places] = np.array([judged[place].log_s for place in places]) - log_s
    return out


def _judge(every: Sequence[Example], errors: Array, seen: str) -> None:
    by_device: dict[str, list[int]] = defaultdict(list)
    for place, item in enumerate(every):
        if item.row.weight >= TRUSTED and not np.isnan(errors[place]):
            by_device[item.device].append(place)
    print(f"{'device':28} {'kind':7} {'rows':>5} {'median':>7} {'<25 %':>6} {'bias':>7} {'covered':>8}")
    lines = []
    for device, places in sorted(by_device.items()):
        if len(places) < _FEWEST:
            continue
        found = errors[places]
        held = _covered(every, errors, places, device, seen)
        kind = every[places[0]].case.chip.kind.value
        lines.append((kind, _median(found), float(np.mean(np.abs(np.expm1(-found)) < 0.25)), held))
        print(
            f"{device:28} {kind:7} {len(places):5} {lines[-1][1]:7.1%} {lines[-1][2]:6.0%} "
            f"{np.expm1(-np.median(found)):+7.1%} {held:8.0%}"
        )
    for kind in sorted({line[0] for line in lines}):
        mine = [line for line in lines if line[0] == kind]
        print(
            f"{kind}: {len(mine)} devices, median of medians {np.median([line[1] for line in mine]):.1%}, "
            f"at most 20 %: {np.mean([line[1] <= 0.2 for line in mine]):.0%} of devices, "
            f"covered 75 to 85 %: {np.mean([0.75 <= line[3] <= 0.85 for line in mine]):.0%}, "
            f"mean coverage {np.mean([line[3] for line in mine]):.0%}"
        )
    by_source: dict[str, list[int]] = defaultdict(list)
    for places in by_device.values():
        for place in places:
            item = every[place]
            by_source[
                f"{item.row.source.partition(':')[0].partition('-')[0]} {item.case.engine} {item.case.scenario}"
            ].append(place)
    for source, places in sorted(by_source.items()):
        if len(places) >= _FEWEST:
            print(f"  {source:44} {len(places):5} rows, median {_median(errors[places]):6.1%}")
    print(f"all: median {_median(np.concatenate([errors[places] for places in by_device.values()])):.1%}")


def _median(errors: Array) -> float:
    return float(np.median(np.abs(np.expm1(-errors))))


def _covered(every: Sequence[Example], errors: Array, places: Sequence[int], device: str, seen: str) -> float:
    """Return how often the truth lay inside intervals made from the errors on other devices."""
    inside = set(places)
    others = [place for place in range(len(every)) if not np.isnan(errors[place])]
    if seen == "model":
        others = [place for place in others if every[place].device != device]
    else:
        others = [place for place in others if place not in inside]
    found = widths([every[place] for place in others], errors[others], seen)
    hits = []
    for place in places:
        low, high = _width(every[place], found, seen)
        hits.append(-low <= errors[place] <= high)
    return float(np.mean(hits))


def _probed(every: Sequence[Example], errors: Array) -> None:
    """Say how much three measured models on a device help with the others there."""
    before, after = [], []
    dice = np.random.default_rng(5)
    by: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, item in enumerate(every):
        if item.row.weight >= TRUSTED:
            by[item.device, item.case.engine].append(place)
    for places in by.values():
        models = sorted({every[place].row.model for place in places})
        if len(models) < _PROBES + 3:
            continue
        chosen = set(dice.choice(models, _PROBES, replace=False))
        probes = [place for place in places if every[place].row.model in chosen][: _PROBES * 2]
        rest = [place for place in places if every[place].row.model not in chosen]
        correction = Correction(
            [place_of(every[place].case, every[place].model, known=False) for place in probes], errors[probes]
        )
        shift, _ = correction([place_of(every[place].case, every[place].model, known=False) for place in rest])
        before.append(_median(errors[rest]))
        after.append(_median(errors[rest] - shift))
    print(
        f"with {_PROBES} models measured on the device ({len(after)} device and engine pairs): median of medians "
        f"{np.median(before):.1%} before, {np.median(after):.1%} after; "
        f"at most 10 %: {np.mean(np.array(after) <= 0.1):.0%}"
    )


def _prices() -> dict[str, float]:
    """Return the least that an hour of each device costs on demand in us-east-1, with its part of the machine."""
    prices: dict[str, float] = {}
    for offer in load().offers:
        parts = offer.accelerators or ()
        if not can_be_rented(offer, "us-east-1") or len(parts) != 1 or parts[0].share < 1:
            continue
        size = "" if parts[0].memory_bytes is None else f" {parts[0].memory_bytes / GIB:.0f}GB"
        chip = chips.find(parts[0].model + size) or chips.find(parts[0].model)
        if chip is not None:
            price = (offer.usd_per_hour or 0.0) / parts[0].count
            prices[chip.model] = min(price, prices.get(chip.model, price))
    return prices


def _chosen(every: Sequence[Example], errors: Array) -> None:
    """Say what picking by prediction costs: MLPerf's offline runs on devices that EC2 rents, each device held out."""
    prices = _prices()
    found = widths(every, errors, "model")
    cells: dict[str, dict[str, list[tuple[float, float, float, float]]]] = defaultdict(lambda: defaultdict(list))
    for place, item in enumerate(every):
        if item.case.scenario == "offline" and item.case.engine == "tensorrt" and item.device in prices:
            low, high = _width(item, found, "model")
            truth, error = item.log_s - np.log(item.case.batch), errors[place]
            cells[item.row.model][item.device].append((truth, truth - error, low, high))
    first, best = [], []
    for devices in cells.values():
        if len(devices) < _PROBES:
            continue
        middle = {name: np.median(np.array(rows), axis=0) for name, rows in devices.items()}
        cost = {name: np.log(prices[name]) + values[0] for name, values in middle.items()}
        guess = {name: np.log(prices[name]) + values[1] for name, values in middle.items()}
        pick = min(guess, key=lambda name: guess[name])
        inside = [name for name in guess if guess[name] - middle[name][2] <= guess[pick] + middle[pick][3]]
        least = min(cost.values())
        first.append(float(np.expm1(cost[pick] - least)))
        best.append(float(np.expm1(min(cost[name] for name in inside) - least)))
    print(
        f"choosing among {len(prices)} rented devices for {len(first)} MLPerf models: cost regret of the first pick "
        f"{np.mean(first):.1%} mean, {np.quantile(first, 0.9):.1%} 90th percentile, "
        f"right {np.mean(np.array(first) < 1e-9):.0%}; "
        f"of the best of the set {np.mean(best):.1%} mean, {np.quantile(best, 0.9):.1%} 90th percentile"
    )


def _width(item: Example, found: dict[str, tuple[float, float]], seen: str) -> tuple[float, float]:
    """Return the interval of a case, the most particular that there is."""
    return next((found[key] for key in strata(item.case, seen) if key in found), (0.7, 0.7))


if __name__ == "__main__":
    main()
