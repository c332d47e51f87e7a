from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimful.model.errors import BrimfulError, DataError, UsageError
from brimful.model.hardware import DeviceKind
from brimful.model.noun import plain
from brimful.probes.fake import FakeProbe
from brimful.probes.file import FORMATS, FileProbe, parse
from brimful.testing import check_probe

LONG = """\
time_s,device,metric,value,model
10,gpu0,utilization_percent,91.5,L4
10,gpu0,power_watts,,L4
20,gpu0,utilization_percent,0,L4
15,neuron1,memory_used_bytes,N/A,
"""
WIDE = """\
time_s,device,kind,vendor,utilization_percent,memory_used_bytes
10,card0,fpga,AMD,50,
20,card0,fpga,AMD,75,1024
"""
LINES = """\
{"time_s": 10, "device": "gpu0", "metric": "utilization_percent", "value": 12.5, "model": "T4"}
{"kind": "finding", "what": "a line of another kind"}

{"time_s": 20, "device": "gpu0", "metric": "utilization_percent", "value": null}
{"time_s": 20, "device": "gpu0", "metric": "power_watts", "value": null, "missing": {"value": "no meter"}}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics"


def probe(path: Path, text: str | bytes) -> FileProbe:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return FileProbe(str(path))


def found(probe: FileProbe) -> dict[tuple[str, str], tuple[float, float | None]]:
    return {(sample.device, sample.metric): (sample.time_s, sample.value) for sample in probe.sample()}


def test_long_csv_gives_the_latest_value_of_each_metric(path):
    probe_ = probe(path, LONG)
    assert found(probe_) == {
        ("gpu0", "utilization_percent"): (20.0, 0.0),
        ("gpu0", "power_watts"): (10.0, None),
        ("neuron1", "memory_used_bytes"): (15.0, None),
    }
    gpu, neuron = probe_.devices()
    assert (gpu.device_kind, gpu.model, gpu.vendor, gpu.source) == (DeviceKind.GPU, "L4", None, "recorded")
    assert (neuron.device_kind, neuron.model) == (DeviceKind.NEURON, None)


def test_an_empty_cell_and_words_for_nothing_are_unknown_with_their_line(path):
    gaps = {sample.metric: sample.missing["value"] for sample in probe(path, LONG).sample() if sample.value is None}
    assert gaps == {
        "power_watts": "the file gives no value (an empty cell, line 3)",
        "memory_used_bytes": "the file gives no value (N/A, line 5)",
    }


def test_wide_csv_has_a_column_per_metric(path):
    probe_ = probe(path, WIDE)
    assert found(probe_) == {
        ("card0", "utilization_percent"): (20.0, 75.0),
        ("card0", "memory_used_bytes"): (20.0, 1024.0),
    }
    assert (probe_.devices()[0].device_kind, probe_.devices()[0].vendor) == (DeviceKind.FPGA, "AMD")


def test_one_json_sample_per_line(path):
    probe_ = probe(path, LINES)
    gaps = {sample.metric: sample.missing["value"] for sample in probe_.sample()}
    assert gaps == {"utilization_percent": "the file does not tell it", "power_watts": "no meter"}
    assert probe_.devices()[0].model == "T4"


def test_dates_are_times(path):
    text = "time_s,device,utilization_percent\n1970-01-01T00:01:00,gpu0,5\n1970-01-01T02:02:00+02:00,gpu0,6\n"
    assert found(probe(path, text)) == {("gpu0", "utilization_percent"): (120.0, 6.0)}


def test_devices_saved_on_another_machine_come_back_as_recorded(path):
    there = FakeProbe("2xH100")
    saved = {"devices": plain(list(there.devices())), "samples": plain(list(there.sample())), "later": {"key": 1}}
    probe_ = probe(path, json.dumps(saved))
    assert [device.model for device in probe_.devices()] == ["H100", "H100"]
    assert probe_.devices()[0].source == "simulated"  # what was simulated stays so
    assert len(probe_.sample()) == 8
    saved["devices"][0]["source"] = "measured"
    assert probe(path, json.dumps(saved)).devices()[0].source == "recorded"


def test_a_device_needs_no_reasons_for_what_the_file_leaves_out(path):
    device = {"device": "npu0", "device_kind": "npu", "vendor": "Acme", "model": "X1", "from_later": True}
    minimal = {"devices": [device]}
    (device,) = probe(path, json.dumps(minimal, indent=2)).devices()
    assert device.missing["memory_bytes"] == "the file does not tell it"
    assert probe(path, json.dumps(minimal)).sample() == []


def test_a_growing_file_is_read_anew_and_its_unfinished_line_waits(path):
    probe_ = probe(path, "time_s,device,metric,value\n1,gpu0,utilization_percent,10\n2,gpu0,utilization_percent,9")
    assert found(probe_) == {("gpu0", "utilization_percent"): (1.0, 10.0)}
    with path.open("a") as file:
        file.write("5\n3,gpu1,utilization_percent,7\n")
    assert found(probe_) == {("gpu0", "utilization_percent"): (2.0, 95.0), ("gpu1", "utilization_percent"): (3.0, 7.0)}
    assert len(probe_.devices()) == 2


def test_a_torn_json_line_waits_too(path):
    probe_ = probe(path, LINES + '{"time_s": 30, "device": "gpu0", "met')
    assert max(sample.time_s for sample in probe_.sample()) == 20.0


def test_an_unchanged_file_is_not_parsed_twice(path, monkeypatch):
    probe_ = probe(path, LONG)
    first = probe_.sample()
    monkeypatch.setattr("brimful.probes.file.parse", lambda _: pytest.fail("parsed again"))
    assert probe_.sample() == first


def test_a_file_that_is_replaced_is_seen(path, tmp_path):
    probe_ = probe(path, LONG)
    assert len(probe_.devices()) == 2
    other = tmp_path / "other"
    other.write_text(WIDE)
    other.replace(path)
    assert [device.device for device in probe_.devices()] == ["card0"]


def test_an_old_value_keeps_its_old_time(path):
    """A writer that has stopped shows by its times, and never as a value of now."""
    assert {sample.time_s for sample in probe(path, LONG).sample()} == {10.0, 15.0, 20.0}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("hello\n", "its format is not known"),
        ("{\n", "its format is not known"),
        ('{"other": 1}', "its format is not known"),
        ("\x00\x01", "its format is not known"),
        (b"\xff\xfe\x00", "it is not text in UTF-8 (byte 0)"),
        ("time_s,device,metric,value\n1,gpu0,power_watts\n", "line 2 has 3 cells, and the first has 4"),
        ("time_s,device,metric,value\n1,gpu0,power_watts,nan\n", "line 2: power_watts is 'nan', which is no number"),
        ("time_s,device,metric,value\n1,gpu0,power_watts,inf\n", "which is no number"),
        ("time_s,device,metric,value\n1,gpu0,power_watts,1_0\n", "which is no number"),
        ("time_s,device,metric,value\n1,gpu0,power_watts,lots\n", "which is no number"),
        ("time_s,device,metric,value\n1,gpu0,power_watts,-3\n", "line 2: power_watts is -3.0: it must lie between 0"),
        ("time_s,device,metric,value\n1,gpu0,utilization_percent,101\n", "between 0 and 100"),
        ("time_s,device,metric,value\nsoon,gpu0,power_watts,1\n", "line 2: time_s is 'soon'"),
        ("time_s,device,metric,value\n-5,gpu0,power_watts,1\n", "before the beginning"),
        ("time_s,device,metric,value\n2024-13-01,gpu0,power_watts,1\n", "month must be in 1..12"),
        ("time_s,device,metric,value\n1,,power_watts,1\n", "has no name"),
        ("time_s,device,metric,value,kind\n1,gpu0,power_watts,1,toaster\n", "the unknown kind 'toaster'"),
        ("time_s,device,metric,value,value\n1,gpu0,power_watts,1,1\n", "two have one"),
        ('{"time_s": 1, "device": "g", "metric": "power_watts", "value": "x"}\n', "line 1: Expected `float | null`"),
        ('{"time_s": 1, "device": "g", "metric": "power_watts", "value": -1}\n', "line 1: power_watts is -1.0"),
        ('{"time_s": 1, "device": "g", "metric": "power_watts", "value": 1}\nnonsense\n', "line 2 is no JSON"),
        ('{"time_s": 1, "device": "g", "metric": "power_watts", "value": 1}\n[]\n', "line 2 is no JSON object"),
        ('{"devices": 3}', "devices is no list"),
        ('{"devices": [], "samples": 3}', "samples is no list"),
        ('{"devices": [3]}', "devices[0]"),
        ('{"devices": [{"vendor": "a"}]}', "devices[0]"),
        ('{"devices": [{"device": "a", "device_kind": "toaster", "vendor": "v", "model": "m"}]}', "Invalid enum value"),
    ],
)
def test_what_cannot_be_used_is_said_with_its_line(path, text, why):
    with pytest.raises(DataError) as caught:
        probe(path, text).devices()
    assert why in caught.value.why
    assert str(path) in caught.value.what


def test_two_devices_of_one_name_are_refused(path):
    device = {"device": "a", "device_kind": "gpu", "vendor": "v", "model": "m"}
    with pytest.raises(DataError, match="cannot be used") as caught:
        probe(path, json.dumps({"devices": [device, device]})).devices()
    assert "two devices 'a'" in caught.value.why


def test_a_file_that_is_not_there_or_too_large_is_an_error(path, tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        FileProbe(str(path)).devices()
    with pytest.raises(DataError, match="cannot be read"):
        FileProbe(str(tmp_path)).devices()
    with path.open("wb") as file:
        os.truncate(file.fileno(), 65 * 1024**2)
    with pytest.raises(DataError) as caught:
        FileProbe(str(path)).devices()
    assert "larger than 64 MiB" in caught.value.why


def test_no_file_is_named():
    with pytest.raises(UsageError, match="no file is named"):
        FileProbe("")


@pytest.mark.parametrize("text", [LONG, WIDE, LINES, json.dumps({"devices": plain(list(FakeProbe("").devices()))})])
def test_the_file_probe_keeps_the_promises_of_a_probe(path, text):
    probe(path, text)

    def lose(_probe: object) -> str:
        path.write_text('{"devices": []}')
        return "gpu0"

    check_probe(lambda: FileProbe(str(path)), source=None if text[0] == "{" else "recorded", lose=lose)


def test_every_format_is_recognised_by_itself_alone():
    saved = json.dumps(
        {"devices": plain(list(FakeProbe("").devices())), "samples": plain(list(FakeProbe("").sample()))}
    )
    for number, text in enumerate((LONG, WIDE, LINES, saved)):
        first = next(known for known in FORMATS if known.recognises(text))
        assert first is FORMATS[number]


MUTATED = st.sampled_from([LONG, WIDE, LINES, json.dumps({"devices": plain(list(FakeProbe("1xL4").devices()))})])
JUNK = st.sampled_from(
    [b"", b",", b"\n", b'"', b"\x00", b"-", b"9" * 400, b"nan", b"{", b"[" * 5000, b"\xf0\x9f\x98\x80", b"null"]
)


@given(st.binary(max_size=300))
def test_random_bytes_are_contents_or_a_value_error(data):
    try:
        parse(data)
    except ValueError:
        return


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=MUTATED, at=st.floats(0, 1), cut=st.integers(0, 20), junk=JUNK)
def test_a_mutated_file_gives_values_or_an_error_for_people(path, text, at, cut, junk):
    data = text.encode()
    where = int(at * len(data))
    try:
        probe_ = probe(path, data[:where] + junk + data[where + cut :])
        for sample in probe_.sample():
            assert sample.value is None or sample.value == sample.value
        probe_.devices()
    except BrimfulError:
        return
