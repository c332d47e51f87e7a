"""Clean the gathered measurements: `python -m tools.fit_rows --from FOLDER`; writes tools/data/fit/*.csv.gz.

The same folder gives the same bytes. What was left out is counted by reason in tools/data/fit/DROPPED.md. NVIDIA's
DeepLearningExamples may not be passed on: with `--private FOLDER` their rows go there, for validation here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

from tools.fit_data import SHIPPED, write
from tools.fit_sources import aiconfigurator, dle, ec2, mlperf, mlperf_training, neuron, neusight, openvino, timm
from tools.fit_sources.clean import Cleaner, Raw, drop_outliers, known_chips, raw_rows

_DERIVED = "unverified, derived from published MLPerf results of MLCommons Association; not endorsed by it"
# The data set's name in measured.csv.gz -> our file, what reads a row, what the file says of itself.
SOURCES: dict[str, tuple[str, Callable[[Raw, Cleaner], None], tuple[str, ...]]] = {
    "timm": (
        "timm",
        timm.add,
        ("huggingface/pytorch-image-models: results/*.csv. Apache-2.0. States of 2022 to 2026.",),
    ),
    "openvino": (
        "openvino",
        openvino.add,
        ("openvinotoolkit/openvino: docs/sphinx_setup/_static/benchmarks_files. Apache-2.0. States of 2024 to 2026.",),
    ),
    "mlperf_inference": (
        "mlperf_inference",
        mlperf.add,
        ("mlcommons/inference_results_v0.7 to v5.1. Apache-2.0 (v5.1: no licence at its root).", _DERIVED),
    ),
    "neusight_models": ("neusight", neusight.add, ("sitar-lab/NeuSight: scripts/asplos/summary/summary.csv. MIT.",)),
    "aiconfigurator_e2e": (
        "aiconfigurator",
        aiconfigurator.add,
        ("ai-dynamo/aiconfigurator: silicon_sample.csv. Apache-2.0. States of 2025 and 2026.",),
    ),
    "mlperf_training": (
        "mlperf_training",
        mlperf_training.add,
        ("mlcommons/training_results_v0.7 to v5.1. Apache-2.0.", _DERIVED),
    ),
    "neuron": (
        "neuron.cc-by-sa-4.0",
        neuron.add,
        ("aws-neuron/aws-neuron-sdk: about-neuron/benchmarks. CC-BY-SA-4.0, and so is this file.",),
    ),
}


_EC2_ABOUT = ("mlcommons/inference_results_v0.7 to v4.1, systems that are EC2 instances. Apache-2.0.", _DERIVED)
_PRIVATE = "nvidia_dle"


def clean(folder: Path) -> dict[str, Cleaner]:
    """Read every gathered row into the cleaner of its source, by the name of its file."""
    known = known_chips()
    cleaners = {name: Cleaner(name.partition(".")[0], known) for name, _, _ in SOURCES.values()}
    cleaners["ec2"] = Cleaner("ec2", known)
    cleaners["dle"] = Cleaner("dle", known)
    seen = set()
    for raw in ec2.raw_rows(folder):
        seen.add(ec2.key_of(raw))
        ec2.add(raw, cleaners["ec2"])
    for raw in raw_rows(folder):
        dataset = raw["dataset"]
        if dataset == _PRIVATE:
            dle.add(raw, cleaners["dle"])
        elif dataset == "mlperf_inference" and ec2.instance_of(raw.notes["system"]):
            if ec2.key_of(raw) not in seen:
                ec2.add(raw, cleaners["ec2"])
        elif dataset in SOURCES:
            name, add, _ = SOURCES[dataset]
            add(raw, cleaners[name])
    drop_outliers(cleaners["mlperf_inference"])
    return cleaners


def dropped_text(cleaners: Iterable[Cleaner]) -> str:
    """Return the account of what was left out, as Markdown."""
    lines = ["# What was left out, and why", "", "Written by `python -m tools.fit_rows`.", ""]
    for cleaner in cleaners:
        lines += [f"## {cleaner.name}: {len(cleaner.kept):,} kept, {cleaner.dropped.total():,} left out", ""]
        lines += [f"- {count:,}: {why}" for why, count in sorted(cleaner.dropped.items(), key=lambda item: -item[1])]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Read the command line, clean, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", type=Path, required=True, help="the folder of gathered data")
    parser.add_argument("--to", dest="target", type=Path, default=SHIPPED, help="where the files go")
    parser.add_argument("--private", type=Path, help="where rows go that may not be passed on")
    options = parser.parse_args()
    cleaners = clean(options.source)
    about = {name: lines for name, _, lines in SOURCES.values()} | {"ec2": _EC2_ABOUT}
    for name, lines in about.items():
        _write(options.target / f"{name}.csv.gz", lines, cleaners[name])
    if options.private:
        lines = ("NVIDIA/DeepLearningExamples, parsed from text. Per-model licences: not to be passed on.",)
        _write(options.private / "dle.csv.gz", lines, cleaners["dle"])
    (options.target / "DROPPED.md").write_text(dropped_text(cleaners.values()), encoding="utf-8")


def _write(path: Path, about: Iterable[str], cleaner: Cleaner) -> None:
    print(f"{path.name}: {write(path, about, cleaner.kept):,} rows, {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
