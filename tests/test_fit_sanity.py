"""What must hold of the shipped predictor, whatever it was trained on."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from brimful.advise.fit.query import Query
from brimful.catalog import chips, load, profiles
from brimful.verbs.forecast import load_forecaster

ONLINE = ("timm:resnet50", "--qps", "40", "--p99", "50ms")
OFFLINE = ("timm:resnet50", "--offline", "10M", "--within", "12h", "--data", "jpeg:110KB")
_LEFT_OPEN = ("layout", "compiled", "image_size", "sequence", "tokens_in", "tokens_out", "cores", "scenario")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Return a function from the words of a command line to the answer, each asked once."""
    home = tmp_path_factory.mktemp("home")
    answers: dict[tuple[str, ...], dict] = {}

    def ask(*words: str) -> dict:
        if words not in answers:
            done = subprocess.run(
                [sys.executable, "-m", "brimful", "fit", *words, "--json"],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "HOME": str(home)},
            )
            assert done.returncode == 0, done.stderr
            answers[words] = json.loads(done.stdout)
        return answers[words]

    return ask


def by_instance(answer: dict) -> dict[str, dict]:
    found: dict[str, dict] = {}
    for row in answer["answers"]:
        found.setdefault(row["instance"], row)
    return found


def per_million(instance: str, chip: str, **setting: object) -> float:
    query = Query(**setting, missing=dict.fromkeys(_LEFT_OPEN, "not said"))  # type: ignore[arg-type]
    found = load_forecaster().foresee([(query, profiles.find("resnet50"), chips.find(chip))])[0]
    return load().offer(instance).usd_per_hour / found.throughput_per_s.mid / 3600 * 1e6


def test_resnet50_costs_least_on_inf1_then_on_a_t4_with_tensorrt_then_with_a_framework_then_on_a_cpu(fitted):
    rows = by_instance(fitted(*OFFLINE))
    framework = per_million("g4dn.xlarge", "T4", engine="torch", precision="fp32", batch=32)
    costs = [rows["inf1.xlarge"]["usd_per_million"], rows["g4dn.xlarge"]["usd_per_million"]]
    assert costs[0] < costs[1] < framework < rows["c5.2xlarge"]["usd_per_million"]
    assert rows["inf1.xlarge"]["limited_by"] == rows["g4dn.xlarge"]["limited_by"] == "host decode"


def test_a_share_of_a_gpu_is_the_cheapest_gpu_where_it_is_enough(fitted):
    names = [row["instance"] for row in fitted(*ONLINE)["answers"]]
    assert next(name for name in names if name.startswith(("g", "p"))) == "g6f.large"


@pytest.mark.parametrize("family", ["dl1", "p3", "p2", "g3", "f1"])
def test_nothing_withdrawn_is_ever_answered(fitted, family):
    for words in (ONLINE, OFFLINE):
        answer = fitted(*words)
        assert [row["instance"] for row in answer["answers"] if row["instance"].startswith(f"{family}.")] == []
        reasons = [row["reason"] for row in answer["excluded"] if row["instance"].startswith(f"{family}.")]
        assert reasons
        assert all("withdrawn" in reason for reason in reasons)


def test_every_number_of_an_answer_has_its_interval_around_it(fitted):
    for row in fitted(*ONLINE)["answers"]:
        for name in ("latency_p50_ms", "latency_p99_ms", "throughput_per_s", "usd_per_million"):
            low, mid, high = (row[name + end] for end in ("_low", "", "_high"))
            assert low <= mid
            assert high is None or mid <= high
            assert high is not None or f"{name}_high" in row["missing"]


def test_what_nobody_can_keep_says_what_can_be_reached(fitted):
    answer = fitted("timm:resnet50", "--qps", "40", "--p99", "0.2ms")
    assert answer["answers"] == []
    assert answer["reachable"]["latency_p99_ms"] > 0.2
    assert answer["reachable"]["usd_per_hour"] > 0
