"""The host as part of the machine: what `--data` says, what limits a device, how long a job is billed."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.advise.fit.data import Data, DataKind, data
from brimful.advise.fit.host import decode_per_vcpu, delivered, doubt, feed_limit, gpu_decode_per_s, pcie_bytes_per_s
from brimful.advise.fit.input_modes import InputMode, billed_time
from brimful.advise.fit.video import video
from brimful.catalog import load
from brimful.model.errors import UsageError
from brimful.model.evidence import Interval

PUBLISHED = Path(__file__).parent / "data" / "fit"
CATALOG = load()
IMAGENET = data("jpeg:110KB@500x375")
RESNET50_FLOPS = 7.8e9


def rows(name: str) -> list[dict[str, str]]:
    with (PUBLISHED / name).open(newline="") as stream:
        return list(csv.DictReader(stream))


def exactly(value: float) -> Interval:
    return Interval(low=value, mid=value, high=value, coverage=0.8)


@pytest.mark.parametrize(
    ("text", "kind", "size", "pixels"),
    [
        ("jpeg:110KB", DataKind.JPEG, 110_000, 187_500),
        (" JPEG:110KB@500x375 ", DataKind.JPEG, 110_000, 187_500),
        ("png:300KiB@640x480", DataKind.PNG, 307_200, 307_200),
        ("tensor:600KB", DataKind.TENSOR, 600_000, None),
        ("text:2KB", DataKind.TEXT, 2_000, None),
        ("none", DataKind.NONE, 0, None),
    ],
)
def test_data_is_read(text, kind, size, pixels):
    found = data(text)
    assert (found.kind, found.item_bytes, found.pixels) == (kind, size, pixels)


def test_an_item_of_video_is_a_frame():
    found = data("video:1080p30")
    assert (found.pixels, found.frames_per_s) == (1920 * 1080, 30)


@pytest.mark.parametrize(
    "text",
    ["", "jpeg", "jpeg:", "bmp:1KB", "jpeg:0", "jpeg:1KB@0x5", "jpeg:-1KB", "text:1KB@2x2", "none:1", "tensor:1e30",
     "video:purple", "jpeg:1KB@", "png:1e400KB"],
)  # fmt: skip
def test_what_is_no_data_is_refused_with_the_way_to_write_it(text):
    with pytest.raises(UsageError) as caught:
        data(text)
    assert caught.value.fix


@given(st.text(max_size=30) | st.from_regex(r"(jpeg|png|video|text|tensor):[0-9a-zA-Z@.]{0,12}", fullmatch=True))
def test_any_text_for_data_is_read_or_refused(text):
    try:
        found = data(text)
    except UsageError:
        return
    assert isinstance(found, Data)


@pytest.mark.parametrize(
    ("text", "width", "height", "rate"),
    [
        ("1080p60", 1920, 1080, 60), ("4k30", 3840, 2160, 30), ("720p", 1280, 720, 30), ("8K", 7680, 4320, 30),
        ("1920x1080@59.94", 1920, 1080, 59.94), ("640x480", 640, 480, 30), ("2160P25fps", 3840, 2160, 25),
    ],
)  # fmt: skip
def test_forms_of_video_are_read(text, width, height, rate):
    found = video(text)
    assert (found.width, found.height, found.frames_per_s) == (width, height, rate)


@pytest.mark.parametrize(
    "text", ["", "1080", "p60", "1081p", "0x0", "1080p0", "99999x2", "1080p999", "4k30x", "\uff11\uff10\uff18\uff10p"]
)
def test_what_is_no_form_of_video_is_refused(text):
    with pytest.raises(UsageError) as caught:
        video(text)
    assert "1080p60" in caught.value.fix


@given(st.text(max_size=20) | st.from_regex(r"[0-9xkp@.]{1,12}", fullmatch=True))
def test_any_text_for_video_is_read_or_refused(text):
    try:
        assert video(text).pixels_per_s > 0
    except UsageError:
        return


def test_six_accelerated_runs_on_four_vcpus_end_at_what_their_host_decodes():
    feed = feed_limit(CATALOG.offer("g4dn.xlarge"), IMAGENET, CATALOG.accelerator("T4"))
    assert feed.limited_by == "host decode"
    limited = []
    for row in rows("tds_resnet50_accelerators.csv"):
        if row["instance"] not in ("g4dn.xlarge", "inf1.xlarge"):
            continue
        peak = 8.1e12 if row["precision"] == "fp32" else 64e12
        device = min(float(row["reported_img_s"]), peak / RESNET50_FLOPS)
        rate, limit = delivered(exactly(device), feed)
        assert rate.mid == pytest.approx(float(row["end_to_end_img_s"]), rel=0.07)
        if limit == "host decode":
            assert rate.low <= float(row["end_to_end_img_s"]) <= rate.high
            limited.append(row["config"])
    assert limited == ["trt-fp32", "trt-fp16", "trt-int8", "neuron-b1-c1", "neuron-b5-c1", "neuron-b1-c4-pipeline"]


def test_rates_that_cannot_be_are_doubted_and_others_are_not():
    peaks = {"fp32": 8.1e12, "fp16": 65e12, "int8": 130e12, "fp32->bf16 auto": 64e12}
    doubted = {}
    for row in rows("tds_resnet50_accelerators.csv"):
        why = doubt(float(row["reported_img_s"]), RESNET50_FLOPS, peaks[row["precision"]], float(row["cv"]))
        if why:
            doubted[row["config"]] = why
    assert doubted.keys() == {"trt-fp32", "trt-fp16", "trt-int8"}
    assert "above the roofline" in doubted["trt-fp32"]


def test_smaller_pictures_are_decoded_faster_and_about_as_fast_as_was_measured():
    assert decode_per_vcpu(data("jpeg:39KB@500x375")).mid == pytest.approx(118, rel=0.05)
    emerald = decode_per_vcpu(data("jpeg:86KB"))
    assert emerald.low <= 2049 / 16 <= emerald.high
    assert decode_per_vcpu(IMAGENET, compiled=True).mid > decode_per_vcpu(IMAGENET).mid
    assert decode_per_vcpu(data("none")) is None


@given(st.integers(1_000, 10_000_000), st.integers(100, 10_000_000), st.floats(1, 4))
def test_a_larger_picture_is_never_decoded_faster(size, pixels, factor):
    small = Data(kind=DataKind.JPEG, item_bytes=size, pixels=pixels)
    large = Data(kind=DataKind.JPEG, item_bytes=round(size * factor), pixels=round(pixels * factor))
    assert decode_per_vcpu(large).mid <= decode_per_vcpu(small).mid


def test_decoding_on_the_chip_is_known_where_it_was_measured():
    assert gpu_decode_per_s(CATALOG.accelerator("H200"), data("jpeg:86KB")).mid > 10_000
    assert gpu_decode_per_s(CATALOG.accelerator("T4"), IMAGENET) is None
    offer = CATALOG.offer("p5en.48xlarge")
    on_host, on_chip = (
        feed_limit(offer, IMAGENET, CATALOG.accelerator("H200"), decode_on_chip=way) for way in (False, True)
    )
    assert on_host.limited_by == "host decode"
    assert on_chip.items_per_s.mid > on_host.items_per_s.mid


def test_large_tensors_are_limited_by_the_line_they_come_over():
    offer = CATALOG.offer("g4dn.xlarge")
    assert feed_limit(offer, data("tensor:600KB"), CATALOG.accelerator("T4")).limited_by == "network"
    assert feed_limit(offer, data("tensor:600KB"), CATALOG.accelerator("T4"), storage="ebs").limited_by == "ebs"
    assert feed_limit(offer, data("tensor:600KB"), CATALOG.accelerator("T4"), storage="memory").limited_by in (
        "host decode",
        "pcie",
    )


def test_without_input_nothing_limits():
    feed = feed_limit(CATALOG.offer("g4dn.xlarge"), data("none"), CATALOG.accelerator("T4"))
    assert feed.limited_by == "nothing"
    assert delivered(exactly(500), feed) == (exactly(500), "device")


def test_what_is_general_knowledge_is_marked_as_unverified():
    assert feed_limit(CATALOG.offer("g4dn.xlarge"), data("png:300KB")).unverified == ("host decode of png",)
    assert feed_limit(CATALOG.offer("g4dn.xlarge"), IMAGENET).unverified == ()


def test_the_link_is_known_for_the_gpus_of_ec2():
    assert pcie_bytes_per_s(CATALOG.accelerator("H200")).mid == pytest.approx(50e9, rel=0.05)
    assert pcie_bytes_per_s(CATALOG.accelerator("T4")).mid < 16e9
    pinned, pageable = (pcie_bytes_per_s(CATALOG.accelerator("H200"), pinned=way).mid for way in (True, False))
    assert pageable < pinned / 2
    assert pcie_bytes_per_s(CATALOG.accelerator("Inferentia")) is None


MODES = {"ffm": InputMode.FAST_FILE, "file": InputMode.FILE, "fsx": InputMode.FSX}


def test_billed_times_of_sagemakers_input_modes_are_reproduced():
    errors = {}
    for row in rows("sagemaker_input_modes.csv"):
        found = billed_time(
            MODES[row["input_mode"]],
            int(row["n_files_est"]),
            float(row["dataset_GB_est"]) * 1e9,
            int(row["images"]),
            device_per_s=330,
        )
        key = (row["file_format"], row["dataset_scale"], row["input_mode"])
        errors[key] = found.billed_s / float(row["t_billable_s"]) - 1
    assert len(errors) == 12
    assert [key for key, error in errors.items() if abs(error) > 0.05] == [("jpg", "1x", "file")]
    assert max(map(abs, errors.values())) < 0.29


def test_packing_small_files_is_worth_hours_of_download():
    small = billed_time(InputMode.FILE, 2_000_000, 10e9, 2_000_000, 330)
    large = billed_time(InputMode.FILE, 2_000, 10e9, 2_000_000, 330)
    assert small.download_s / 3600 == pytest.approx(3.97, rel=0.01)
    assert large.download_s < 80
