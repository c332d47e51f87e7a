"""The cleaned measurements: whole, consistent, and about devices whose facts are known."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from brimful.catalog.chips import find

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tools are part of the checkout and of no package

from tools.fit_data import SHIPPED, Row, read, rows, write
from tools.fit_sources.clean import notes, precision
from tools.fit_sources.ec2 import instance_of
from tools.fit_sources.mlperf_names import engine, model_of

ROWS = tuple(rows())
SCENARIOS = {
    *("offline", "server", "single-stream", "multi-stream", "latency", "throughput", "llm", "train-to-target"),
}
PRECISIONS = {"", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8", "int4"}


def test_every_device_of_the_rows_has_facts_under_that_very_name() -> None:
    for name in {row.device for row in ROWS}:
        chip = find(name)
        assert chip is not None
        assert chip.model == name


def test_there_are_as_many_rows_as_the_account_says() -> None:
    assert len(ROWS) > 40_000
    assert len({row.id for row in ROWS}) == len(ROWS)


def test_every_row_has_a_figure_and_all_figures_are_positive() -> None:
    for row in ROWS:
        figures = (row.throughput_per_s, row.latency_ms, row.ttft_ms, row.tpot_ms)
        assert any(figures), row.id
        assert all(value is None or value > 0 for value in figures), row.id
        assert row.count >= 1
        assert 0 < row.share <= 1


def test_words_come_from_their_lists() -> None:
    assert {row.scenario for row in ROWS} <= SCENARIOS
    assert {row.precision for row in ROWS} <= PRECISIONS
    assert {row.mode for row in ROWS} == {"inference", "training"}
    assert {row.compiled for row in ROWS} == {"", "eager", "inductor"}


def test_rate_and_latency_of_one_device_agree() -> None:
    for row in ROWS:
        if row.source in ("timm", "neusight") and row.throughput_per_s and row.latency_ms and row.batch:
            assert abs(row.throughput_per_s * row.latency_ms / 1000 / row.batch - 1) < 0.01, row.id


def test_a_group_is_of_one_device_and_one_setting() -> None:
    settings: dict[str, Counter[tuple[object, ...]]] = {}
    for row in ROWS:
        key = (row.device, row.model, row.precision, row.batch, row.scenario, row.count)
        settings.setdefault(row.group, Counter())[key] += 1
    assert max(len(found) for found in settings.values()) == 1


def test_what_may_not_be_passed_on_is_not_there() -> None:
    assert not any("dle" in row.source for row in ROWS)
    share_alike = [path.name for path in SHIPPED.glob("*.csv.gz") if "cc-by-sa" in path.name]
    assert share_alike == ["neuron.cc-by-sa-4.0.csv.gz"]
    assert {row.source for row in ROWS if row.device.startswith(("Inferentia2", "Trainium"))} == {"neuron"}
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < 2_500_000


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\n#\x00"), min_size=1, max_size=8)


@given(_TEXT, st.integers(1, 9), st.floats(0.001, 1e9), st.integers(1, 4096) | st.none())
def test_a_row_is_read_as_it_was_written(model: str, count: int, rate: float, batch: int | None) -> None:
    row = Row(
        id="x-1", model=model, device="T4", count=count, engine="torch", batch=batch, scenario="offline",
        throughput_per_s=float(f"{rate:.6g}"), source="test",
    )  # fmt: skip
    with TemporaryDirectory() as folder:  # hypothesis runs a test many times with one tmp_path
        path = Path(folder) / "rows.csv.gz"
        write(path, ["about"], [row])
        assert list(read(path)) == [row]


@given(st.text())
def test_no_text_breaks_what_reads_names(text: str) -> None:
    notes(text)
    precision(text)
    instance_of(text)
    engine(text)
    model_of(text, "v4.0")


def test_names_of_systems_and_frameworks_are_understood() -> None:
    assert instance_of("aws_c5.2xlarge-tflite_cpp") == "c5.2xlarge"
    assert instance_of("Triton_Inferentia_INF1_6XLARGEx1") == "inf1.6xlarge"
    assert instance_of("DGX-A100_A100-SXM-80GBx8_TRT") == ""
    assert engine("TensorRT 8.4.0, CUDA 11.6") == ("tensorrt", "8.4.0")
    assert precision("fp16-amp") == "fp16"
    assert model_of("bert-99.9", "v2.0")[0] == "bert-large"
