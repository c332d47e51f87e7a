"""`brimful fit` from the command line to the journal: the machine contract, the text, the page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import brimful
from brimful.cli.app import run
from brimful.report.fit_html import front
from brimful.verbs import fit as verb
from fit_stand_in import StandIn
from onnx_models import conv_net

ANSWER = {
    "instance", "count", "share", "usd_per_hour", "latency_p50_ms", "latency_p50_ms_low", "latency_p50_ms_high",
    "latency_p99_ms", "latency_p99_ms_low", "latency_p99_ms_high", "throughput_per_s", "throughput_per_s_low",
    "throughput_per_s_high", "usd_per_million", "usd_per_million_low", "usd_per_million_high", "utilization",
    "limited_by", "watts", "why", "setting", "basis",
}  # fmt: skip
PREDICTION = {
    "id", "latency_ms", "latency_ms_low", "latency_ms_high", "throughput_per_s", "throughput_per_s_low",
    "throughput_per_s_high", "coverage", "basis", "reason",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _foreseen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(verb, "_shipped", StandIn)
    monkeypatch.setenv("BRIMFUL_RUN_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("COLUMNS", "80")


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert run(["fit", *words]) == code
    return capsys.readouterr().out


def answered(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(capsys, *words, "--json"))
    return found


def reasons_are_given(value: Any) -> None:
    """Hold that whatever is null has its reason beside it."""
    if isinstance(value, dict):
        for key, item in value.items():
            if item is None:
                assert value.get("missing", {}).get(key), key
            reasons_are_given(item)
    elif isinstance(value, list):
        for item in value:
            reasons_are_given(item)


def test_a_ranking_keeps_the_machine_contract(capsys: pytest.CaptureFixture[str]) -> None:
    found = answered(capsys, "--name", "resnet50", "--qps", "40", "--p99", "50ms")
    assert (found["v"], found["kind"]) == (1, "fit")
    assert found["answers"]
    for answer in found["answers"]:
        assert answer.keys() >= ANSWER
        assert answer["latency_p50_ms"] <= answer["latency_p99_ms"]
        assert 0 <= answer["utilization"] <= 1
        assert answer["basis"]
    assert set(found["candidates"]) <= {answer["instance"] for answer in found["answers"]}
    assert all(item["instance"] and item["reason"] for item in found["excluded"])
    assert found["cpu"].keys() >= {"instance", "usd_per_million", "break_even_per_s"}
    assert found["decide_with"] is None or found["decide_with"].startswith("brimful bench --name resnet50 ")
    reasons_are_given(found)


def test_every_basis_of_an_answer_is_a_record_of_its_run(capsys: pytest.CaptureFixture[str]) -> None:
    found = answered(capsys, "--name", "resnet50")
    shown = json.loads(said_of(capsys, "show", found["run"], "--json"))
    kinds = {record["id"]: record["kind"] for record in shown["records"]}
    assert {"source", "workload", "profile", "prediction", "offer"} <= set(kinds.values())
    for answer in found["answers"]:
        assert all(item in kinds for item in answer["basis"])
    first = found["answers"][0]
    assert {"prediction", "offer", "profile", "workload"} <= {kinds[item] for item in first["basis"]}


def said_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(list(words)) == 0
    return capsys.readouterr().out


def test_one_prediction_has_the_form_of_a_querys_answer(capsys: pytest.CaptureFixture[str]) -> None:
    found = answered(capsys, "timm:resnet50", "--device", "T4", "--precision", "fp16", "--batch", "32")
    assert found.keys() >= PREDICTION
    assert "fp16 batch 32" in found["setting"]
    assert found["latency_ms_low"] <= found["latency_ms"] <= found["latency_ms_high"]
    reasons_are_given(found)
    words = said(capsys, "--name", "resnet50", "--device", "T4", "--batch", "32")
    assert "80 % within" in words


def test_a_file_of_queries_is_answered_line_by_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(
        '{"id": "a", "model": "resnet50", "device": "T4"}\nbad\n{"id": "c", "model": "x", "device": "T4"}\n'
    )
    lines = [json.loads(line) for line in said(capsys, "--queries", str(path), "--json").splitlines()]
    assert [line["id"] for line in lines] == ["a", 2, "c"]
    assert all(line.keys() >= PREDICTION for line in lines)
    for line in lines:
        reasons_are_given(line)
    own = tmp_path / "own.jsonl"
    own.write_text(json.dumps({"model": "resnet50", "device": "T4", "latency_ms": lines[0]["latency_ms"] * 3}))
    (after, *_) = said(capsys, "--queries", str(path), "--json", "--measured", str(own)).splitlines()
    assert json.loads(after)["latency_ms"] > 2 * lines[0]["latency_ms"]


def test_a_models_own_file_is_ranked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    net, model = conv_net()
    found = answered(capsys, net.write(tmp_path, model), "--qps", "5", "--p99", "1s")
    assert found["answers"]
    assert str(tmp_path) in (found["decide_with"] or str(tmp_path))


def test_a_trace_of_arrivals_is_followed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("time_s\n" + "\n".join(str(second * 0.37) for second in range(300)))
    found = answered(capsys, "--name", "resnet50", "--arrivals", str(path), "--p99", "200ms")
    assert found["workload"]["arrivals"]["trace"] == str(path)
    assert all(answer["latency_p99_ms"] <= 200 for answer in found["answers"])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--qps", "40", "--p99", "50ms"), ("40 requests a second, p99 within 50 ms", "busy", "CPU:", "left out:")),
        ((), ("as much as a machine takes", "per second", "purpose-built:", "a share of a GPU:")),
        (("--train", "--dataset", "1.2M", "--epochs", "90"), ("training on 1,200,000 samples", "hours")),
        (("--qps", "40", "--p99", "1us"), ("Nothing that can be rented keeps this", "The quickest is")),
        (("--explain", "g6.xlarge"), ("g6.xlarge: number", "at least", "peaks in TFLOP/s")),
        (("--explain", "p3.2xlarge"), ("p3.2xlarge: no answer", "withdrawn")),
    ],
)
def test_people_are_told_in_few_lines(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    told = said(capsys, "--name", "resnet50", *words)
    assert all(part in told for part in expected), told
    assert "evidence:" in told


def test_top_bounds_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(answered(capsys, "--name", "resnet50", "--top", "3")["answers"]) == 3
    told = said(capsys, "--name", "resnet50", "--top", "2")
    assert re.search(r"^2 ", told, re.MULTILINE)
    assert not re.search(r"^3 ", told, re.MULTILINE)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


@pytest.mark.parametrize("words", [("--qps", "40", "--p99", "50ms"), (), ("--qps", "4", "--p99", "1us")])
def test_the_page_fetches_nothing_and_holds_what_was_found(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    path = tmp_path / "fit.html"
    said(capsys, "--name", "resnet50", *words, "--html", str(path))
    page = _Page()
    text = path.read_text("utf-8")
    page.feed(text)
    assert not page.links
    assert "script" not in page.tags
    assert ("svg" in page.tags) == ("Nothing that can be rented" not in text)


def test_a_page_that_cannot_be_written_is_an_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["fit", "--name", "resnet50", "--html", str(tmp_path / "no" / "fit.html")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_the_front_is_what_no_other_answer_beats_in_both() -> None:
    points = [(1.0, 9.0), (2.0, 5.0), (2.5, 7.0), (3.0, 1.0), (4.0, 2.0), (1.0, 8.0)]
    assert [points[place] for place in front(points)] == [(1.0, 8.0), (2.0, 5.0), (3.0, 1.0)]


def test_video_and_fpgas_are_answered_from_what_is_published(capsys: pytest.CaptureFixture[str]) -> None:
    video = answered(capsys, "--transcode", "1080p60", "--streams", "24")
    assert video["kind"] == "transcode"
    assert any(item["instance"].startswith("vt1") for item in video["found"]["answers"])
    assert "live streams" in said(capsys, "--transcode", "1080p60", "--streams", "24")
    task = answered(capsys, "--task", "fpga:genomics")
    assert any(item["instance"].startswith("f2") for item in task["found"]["offers"])
    assert "nothing is ranked" in said(capsys, "--task", "fpga:genomics")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "no model is named"),
        (("model.onnx", "--name", "resnet50"), "a model is given twice"),
        (("no-such.onnx",), "there is no file no-such.onnx"),
        (("--name", "resnet5000"), "no model is called"),
        (("--name", "resnet50", "--device", "T99999"), "no device is called"),
        (("--name", "resnet50", "--region", "moon-1"), "nothing of the region moon-1"),
        (("--name", "resnet50", "--queries", "q.jsonl"), "--queries names its models itself"),
        (("--queries", "no-such.jsonl"), "cannot be read"),
        (("--transcode", "1080p60", "--name", "resnet50"), "contradict"),
        (("--streams", "4", "--name", "resnet50"), "--streams stands alone"),
        (("--name", "resnet50", "--arrivals", "no-such.csv"), "cannot be read"),
        (("--name", "resnet50", "--explain", "g6.gigantic"), "no such type"),
        (("--name", "resnet50", "--device-facts", "no-such.toml", "--device", "T4"), "cannot be read"),
    ],
)
def test_bad_input_is_told_with_a_way_out(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], expected: str
) -> None:
    assert run(["fit", *words]) == 2
    told = capsys.readouterr().err
    assert expected in told
    assert "why:" in told
    assert "fix:" in told


def test_bad_lines_of_own_measurements_are_warned_of(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    own.write_text("bad\n")
    assert run(["fit", "--name", "resnet50", "--device", "T4", "--measured", str(own)]) == 0
    assert "warning: line 1" in capsys.readouterr().err


def test_fit_is_a_function_too(tmp_path: Path) -> None:
    config = brimful.load_config({"run_dir": str(tmp_path / "runs")})
    request = brimful.ask(qps=40, p99="50ms")
    found = brimful.fit(config, brimful.Model(name="resnet50"), request, forecasts=StandIn())
    assert found.ranking.answers
    assert found.ranking.answers[0].basis
