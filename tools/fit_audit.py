"""What the cleaned rows are worth: `python -m tools.fit_audit` prints noise, rows above the roofline, rows per device.

Noise is what the same device, model and setting gives when measured again: the median of |ln(value / median)|. The
roofline check knows the arithmetic of a handful of models alone; the predictor's own check covers the rest.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from math import log
from statistics import median, quantiles

from brimful.catalog.chips import shipped
from tools.fit_data import Row, rows

# FLOP of one sample. BERT with 384 tokens, as its users are told, though most questions are shorter.
_FLOP = {
    ("resnet50", 224): 8.2e9, ("resnet-50", 224): 8.2e9, ("bert-large", None): 246e9, ("mobilenet-v2", 224): 0.6e9,
    ("mobilenet-v1-1.0-224", 224): 1.14e9, ("vit_base_patch16_224", 224): 35.1e9, ("resnet152", 224): 23e9,
    ("convnext_base", 224): 30.7e9, ("vit_large_patch16_224", 224): 123e9, ("retinanet-resnext50", 800): 285e9,
    ("yolo_v8n", 640): 8.7e9, ("bert-base-cased", None): 22e9, ("vgg16", 224): 31e9,
}  # fmt: skip


def family(row: Row) -> str:
    """Return the name of the file that a row stands in, without its licence."""
    return row.id.rsplit("-", 1)[0]


def seconds(row: Row) -> float | None:
    """Return the one figure by which repetitions are compared."""
    if row.latency_ms:
        return row.latency_ms
    return 1000 / row.throughput_per_s if row.throughput_per_s else row.tpot_ms


def noise(table: Iterable[Row], key: Callable[[Row], Hashable]) -> tuple[int, float, float] | None:
    """Return how many deviations, their median and their 90th percentile; equal figures are copies and not counted."""
    groups: dict[Hashable, set[float]] = defaultdict(set)
    for row in table:
        figure = seconds(row)
        if figure:
            groups[key(row)].add(figure)
    found = [abs(log(item / median(group))) for group in groups.values() if len(group) > 1 for item in group]
    return (len(found), median(found), quantiles(found, n=10)[-1]) if len(found) > 1 else None


def used(row: Row) -> float | None:
    """Return the share of the peak that a row claims, or None where model or peak are unknown."""
    flop, chip = _FLOP.get((row.model, row.image_size)), shipped().require(row.device)
    peak = chip.peak_flops.get(row.precision)
    if flop is None or peak is None or row.throughput_per_s is None:
        return None
    devices = row.count * row.share
    if row.vcpus and chip.threads and chip.compute_units:
        devices *= min(1.0, 1 / chip.compute_units if row.vcpus == 1 else row.vcpus / chip.threads)
    passes = 3 if row.mode == "training" else 1
    return row.throughput_per_s * flop * passes / (peak * devices)


def main() -> None:
    """Print the three parts."""
    table = tuple(rows())
    print("| rows | repeated | median | 90th percentile |\n|---|---|---|---|")
    for name in sorted({family(row) for row in table}):
        mine = [row for row in table if family(row) == name]
        for words, key in (("same version", _exact), ("any version", _loose)):
            found = noise(mine, key)
            if found:
                print(f"| {name}, {words} | {found[0]:,} | {found[1]:.1%} | {found[2]:.1%} |")
    print("\n| above the roofline | rows | highest share of the peak |\n|---|---|---|")
    above: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in table:
        share = used(row)
        if share is not None and share > 1:
            above[row.device, row.model, row.precision, row.engine].append(share)
    for cell, shares in sorted(above.items()):
        print(f"| {', '.join(cell)} | {len(shares)} | {max(shares):.2f} |")
    print("\n| device | rows | of |\n|---|---|---|")
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in table:
        counts[row.device][family(row)] += 1
    for device, sources in sorted(counts.items(), key=lambda item: -item[1].total()):
        print(f"| {device} | {sources.total():,} | {', '.join(sorted(sources))} |")


def _exact(row: Row) -> Hashable:
    return row.group, row.version, row.source


def _loose(row: Row) -> Hashable:
    return row.group


if __name__ == "__main__":
    main()
