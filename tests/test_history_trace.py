from __future__ import annotations

import gzip
import importlib.util
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimful.histories.trace import TraceHistory
from brimful.model.errors import DataError, Unavailable, UsageError
from brimful.seams import Window
from brimful.testing import check_history

EVER = Window(start_s=0, end_s=1e12)
BUSY = "utilization_percent"

TRACE = """\
time_s,device,utilization_percent,memory_used_bytes
0,gpu0,10,1024
60,gpu0,,2048
0,gpu1,0,
180,gpu0,30,
120,gpu1,,
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trace.csv"


def history(path: Path, text: str | bytes) -> TraceHistory:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return TraceHistory(str(path))


def pairs(trace: TraceHistory, device: str = "gpu0", metric: str = BUSY, window: Window = EVER):
    series = trace.series(device, metric, window)
    return list(zip(series.times_s, series.values, strict=True))


def test_known_values_come_in_order_and_unknown_ones_not_at_all(path):
    trace = history(path, TRACE)
    assert pairs(trace) == [(0.0, 10.0), (180.0, 30.0)]
    assert pairs(trace, metric="memory_used_bytes") == [(0.0, 1024.0), (60.0, 2048.0)]
    assert pairs(trace, "gpu1") == [(0.0, 0.0)]  # a zero that was written is a zero
    assert trace.series("gpu0", BUSY, EVER).source == "recorded"


def test_a_device_without_a_known_value_in_the_window_is_not_there(path):
    trace = history(path, TRACE)
    assert trace.devices(EVER) == ["gpu0", "gpu1"]
    assert trace.devices(Window(start_s=1, end_s=200)) == ["gpu0"]
    assert trace.devices(Window(start_s=61, end_s=180)) == []
    assert trace.devices(Window(start_s=500, end_s=600)) == []


def test_a_window_begins_with_its_start_and_ends_before_its_end(path):
    trace = history(path, TRACE)
    assert pairs(trace, window=Window(start_s=0, end_s=180)) == [(0.0, 10.0)]
    assert pairs(trace, window=Window(start_s=180, end_s=181)) == [(180.0, 30.0)]


def test_rows_out_of_order_are_sorted_for_each_device(path):
    rows = [(t, f"gpu{d}", (t * 7 + d) % 101) for t in range(50) for d in range(3)]
    shuffled = sorted(rows, key=lambda row: (row[0] * 31 + int(row[1][-1]) * 5) % 17)
    trace = history(path, "time_s,device,utilization_percent\n" + "".join(f"{t},{d},{v}\n" for t, d, v in shuffled))
    for device in range(3):
        assert pairs(trace, f"gpu{device}") == [(t, v) for t, d, v in rows if d == f"gpu{device}"]


def test_dates_are_seconds_since_1970_and_utc_unless_they_say_otherwise(path):
    text = "time_s,device,utilization_percent\n2024-11-15 16:57:50,gpu0,1\n2024-11-15T18:00:00+01:00,gpu0,2\n"
    assert pairs(history(path, text)) == [(1731689870.0, 1.0), (1731690000.0, 2.0)]


def test_a_compressed_trace_is_the_same_whatever_its_name(path):
    assert pairs(history(path, gzip.compress(TRACE.encode(), mtime=0))) == [(0.0, 10.0), (180.0, 30.0)]


def test_a_byte_order_mark_blank_lines_and_windows_line_ends_do_no_harm(path):
    text = "\ufeff" + TRACE.replace("\n", "\r\n") + "\r\n\r\n"
    assert pairs(history(path, text)) == [(0.0, 10.0), (180.0, 30.0)]
    assert pairs(history(path, TRACE.rstrip("\n"))) == [(0.0, 10.0), (180.0, 30.0)]  # nobody is writing it any more


def test_what_the_file_does_not_have_is_an_empty_series(path):
    trace = history(path, TRACE)
    assert pairs(trace, "gpu9") == []
    assert pairs(trace, metric="power_watts") == []


def test_the_file_is_parsed_once(path):
    trace = history(path, TRACE)
    first = pairs(trace)
    path.unlink()
    assert pairs(trace) == first


def test_a_header_alone_is_a_history_of_nothing(path):
    assert history(path, "time_s,device,utilization_percent\n").devices(EVER) == []


HEADER = "time_s,device,utilization_percent\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "its columns are none"),
        ("time_s,device\n1,gpu0\n", "time_s, device and a metric are needed"),
        ("time_s;device;utilization_percent\n1;gpu0;5\n", "time_s, device and a metric are needed"),
        ("time_s,device,a_percent,a_percent\n", "two have one"),
        ("time_s,device,a_percent,\n", "has no name"),
        (HEADER + "1,gpu0\n", "line 2 has 2 cells, and the first has 3"),
        (HEADER + "1,gpu0,5,6\n", "line 2 has 4 cells, and the first has 3"),
        (HEADER + "1,gpu0,5\n\n2,gpu0,nan\n", "line 4: utilization_percent is 'nan', which is no number"),
        (HEADER + "1,gpu0,inf\n", "line 2: utilization_percent is 'inf'"),
        (HEADER + "1,gpu0,-1\n", "line 2: utilization_percent is -1: it must lie between 0 and 100"),
        (HEADER + "1,gpu0,100.5\n", "it must lie between 0 and 100"),
        (HEADER + "1,gpu0,1_0\n", "which is no number"),
        (HEADER + "1,gpu0,\u0665\n", "which is no number"),
        (HEADER + "1,gpu0,busy\n", "'busy', which is no number"),
        (HEADER + "soon,gpu0,5\n", "line 2: time_s is 'soon', which is no number"),
        (HEADER + "nan,gpu0,5\n", "time_s is 'nan', which is no number"),
        (HEADER + ",gpu0,5\n", "time_s is '', which is no number"),
        (HEADER + "-1,gpu0,5\n", "lies before 0"),
        (HEADER + "1,,5\n", "the device has no name"),
        (HEADER + "1,gpu0,5\n2024-01-01,gpu0,5\n", "line 3: time_s is '2024-01-01', which is no number"),
        (HEADER + "2024-01-01,gpu0,5\n7,gpu0,5\n", "line 3: time_s is '7', which is no date, as the first is"),
        (HEADER + "2024-13-01,gpu0,5\n", "line 2: time_s is '2024-13-01', which is no date"),
        (HEADER + "0001-01-01T00:00:00+23:59,gpu0,5\n", "line 2"),
        (
            HEADER + "5,gpu0,1\n6,gpu1,1\n5,gpu1,1\n5,gpu0,2\n",
            "line 5: 'gpu0' has a row for that time already, in line 2",
        ),
        (HEADER + "5,gpu0,1\n5.0,gpu0,\n", "line 3: 'gpu0' has a row for that time already, in line 2"),
        (HEADER + '1,"gpu0,5\n' * 3, "cells"),
        (HEADER + "x" * 1_100_000, "a line is longer than"),
        (HEADER + "1," + "x" * 200_000 + ",5\n", "field larger than field limit"),
        (b"\xff\xfe\x00", "invalid start byte"),
        (gzip.compress(TRACE.encode(), mtime=0)[:-10], "its compression is damaged"),
        (b"\x1f\x8b\x08rubbish that is no gzip", "its compression is damaged"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_cannot_be_used_is_said_with_its_line(path, text, why):
    with pytest.raises(DataError) as caught:
        history(path, text).devices(EVER)
    assert why in caught.value.why
    assert str(path) in caught.value.what


def test_a_file_that_is_not_there_is_an_error_every_time(path, tmp_path):
    trace = TraceHistory(str(path))
    for _ in range(2):
        with pytest.raises(DataError, match="cannot be used"):
            trace.series("gpu0", BUSY, EVER)
    with pytest.raises(DataError):
        TraceHistory(str(tmp_path)).devices(EVER)
    with pytest.raises(UsageError, match="no trace file"):
        TraceHistory("")


def test_parquet_without_pyarrow_says_how_to_get_it(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Unavailable) as caught:
        history(path, b"PAR1rest").devices(EVER)
    assert "pip install 'brimful[data]'" in caught.value.fix


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="pyarrow is an extra, and is not installed")
def test_parquet_says_the_same_as_csv(path):
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    columns = {"time_s": [0.0, 60.0, 180.0], "device": ["gpu0"] * 3, BUSY: [10.0, None, 30.0]}
    pq.write_table(pa.table(columns), path)
    assert pairs(TraceHistory(str(path))) == [(0.0, 10.0), (180.0, 30.0)]
    pq.write_table(pa.table({**columns, "time_s": [0.0, 60.0, 0.0]}), path)
    with pytest.raises(DataError) as caught:
        TraceHistory(str(path)).devices(EVER)
    assert "line 3: 'gpu0' has a row for that time already, in line 1" in caught.value.why
    pq.write_table(pa.table({**columns, "device": [[1], [2], [3]]}), path)
    with pytest.raises(DataError):
        TraceHistory(str(path)).devices(EVER)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError):
        TraceHistory(str(path)).devices(EVER)


def test_the_trace_keeps_the_promises_of_a_history(path):
    history(path, TRACE)
    check_history(
        lambda: TraceHistory(str(path)),
        device="gpu0",
        metric=BUSY,
        window=EVER,
        expected=[(0.0, 10.0), (180.0, 30.0)],
        gap=Window(start_s=61, end_s=180),
    )


def test_a_long_trace_takes_seconds_and_tens_of_bytes_a_row(path):
    with path.open("w") as file:
        file.write(HEADER)
        for t in range(2500):
            file.writelines(f"{t * 60},gpu{d:03d},{(t * d) % 101 if (t + d) % 7 else ''}\n" for d in range(100))
    start = time.process_time()
    trace = TraceHistory(str(path))
    assert len(trace.devices(EVER)) == 100
    assert time.process_time() - start < 5  # a quarter of a million rows; about 0.4 s on one core of 2024
    columns = trace._tracks["gpu001"]
    assert columns.times.itemsize * len(columns.times) + sum(c.itemsize * len(c) for c in columns.values) == 16 * 2500


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.dictionaries(
        st.tuples(st.integers(0, 50), st.sampled_from(["gpu0", "gpu1"])), st.none() | st.floats(0, 100), max_size=30
    ),
    start=st.integers(0, 50),
    length=st.integers(0, 50),
)
def test_what_was_written_comes_back_and_nothing_else(path, rows, start, length):
    text = "".join(f"{t},{device},{'' if value is None else repr(value)}\n" for (t, device), value in rows.items())
    trace, window = history(path, HEADER + text), Window(start_s=start, end_s=start + length)
    for device in ("gpu0", "gpu1"):
        meant = sorted(
            (t, value)
            for (t, name), value in rows.items()
            if name == device and value is not None and start <= t < start + length
        )
        assert pairs(trace, device, window=window) == meant
        assert (device in trace.devices(window)) == bool(meant)


JUNK = [
    b"",
    b",",
    b"\n",
    b'"',
    b"\x00",
    b"-",
    b"9" * 400,
    b"nan",
    b"1e999",
    b"\xff",
    b"2024-01-01",
    b"\r",
    b"\x1f\x8b",
    b"PAR1",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    at=st.floats(0, 1),
    cut=st.integers(0, 20),
    junk=st.one_of(st.sampled_from(JUNK), st.binary(max_size=20)),
    zipped=st.booleans(),
)
def test_any_file_is_a_history_or_an_error_for_people(path, at, cut, junk, zipped):
    data = gzip.compress(TRACE.encode(), mtime=0) if zipped else TRACE.encode()
    where = int(at * len(data))
    try:
        trace = history(path, data[:where] + junk + data[where + cut :])
        for device in trace.devices(EVER):
            assert trace.series(device, BUSY, EVER).device == device
    except (DataError, Unavailable):
        return
