"""Transcoding and FPGAs: what can be had, what it costs, and what is only published."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.advise.fit.fpga import fpga, task
from brimful.advise.fit.transcode import streams, transcode
from brimful.advise.fit.video import video
from brimful.catalog import load
from brimful.model.errors import UsageError

CATALOG = load()


def asked(form: str, count: int):
    return transcode(video(form), count, CATALOG.offers, CATALOG.fitted)


def answer(form: str, count: int, instance: str):
    return next(item for item in asked(form, count).answers if item.instance == instance)


@pytest.mark.parametrize(
    ("form", "small", "middle", "large"),
    [("2160p60", 2, 4, 16), ("2160p30", 4, 8, 32), ("1080p60", 8, 16, 64), ("1080p30", 16, 32, 128),
     ("720p30", 32, 64, 256)],
)  # fmt: skip
def test_vt1_carries_the_streams_of_awss_table(form, small, middle, large):
    for instance, count in (("vt1.3xlarge", small), ("vt1.6xlarge", middle), ("vt1.24xlarge", large)):
        found = answer(form, 1, instance)
        assert found.streams_each.mid == count
        assert found.unverified == ()


def test_twenty_four_streams_of_1080p60_need_three_small_vt1():
    found = answer("1080p60", 24, "vt1.3xlarge")
    assert found.count == 3
    assert found.usd_per_stream_hour.mid == pytest.approx(0.65 / 8)


def test_gpus_and_cpus_are_answers_with_wide_intervals_that_say_so():
    gpu, cpu = answer("1080p60", 24, "g4dn.xlarge"), answer("1080p60", 24, "c5.2xlarge")
    assert gpu.streams_each.mid == 4
    assert gpu.usd_per_stream_hour.high > 2 * gpu.usd_per_stream_hour.low
    assert gpu.unverified
    assert cpu.unverified
    assert (
        cpu.usd_per_stream_hour.mid
        > gpu.usd_per_stream_hour.mid
        > answer("1080p60", 24, "vt1.3xlarge").usd_per_stream_hour.mid
    )


def test_the_cheapest_for_all_streams_comes_first():
    costs = [item.count * item.usd_per_hour for item in asked("1080p30", 100).answers]
    assert costs == sorted(costs)


def test_gpus_without_encoders_and_withdrawn_types_are_left_out_with_a_reason():
    excluded = {item.instance: item.reason for item in asked("1080p30", 1).excluded}
    assert "no video encoder" in excluded["p4d.24xlarge"]
    assert "withdrawn" in excluded["p3.2xlarge"]
    assert all(excluded.values())


def test_pictures_that_are_too_large_for_a_u30_leave_vt1_out():
    assert "3840x2160" in next(item.reason for item in asked("8k30", 1).excluded if item.instance == "vt1.3xlarge")


@pytest.mark.parametrize("text", ["", "0", "-1", "many", "1e3", "99999999999", "\uff12"])
def test_a_number_of_streams_that_is_none_is_refused(text):
    with pytest.raises(UsageError) as caught:
        streams(text)
    assert "--streams 24" in caught.value.fix
    assert streams(" 24 ") == 24


@given(st.text(max_size=12))
def test_any_text_for_streams_and_task_is_read_or_refused(text):
    for read in (streams, task):
        try:
            assert read(text)
        except UsageError:
            continue


def test_genomics_on_fpgas_names_f2_with_its_prices_and_what_is_only_claimed():
    found = fpga(task("fpga:genomics"), CATALOG.offers)
    assert [item.instance for item in found.offers] == ["f2.6xlarge", "f2.12xlarge", "f2.48xlarge"]
    assert found.offers[0].usd_per_hour == pytest.approx(1.98)
    assert any("10x" in claim for claim in found.published)
    assert "f1.2xlarge" in found.withdrawn
    assert "image" in found.needs


@pytest.mark.parametrize("text", ["fpga", "fpga:cooking", "gpu:genomics", ""])
def test_a_task_that_is_not_known_is_refused_with_the_names(text):
    with pytest.raises(UsageError) as caught:
        task(text)
    assert "genomics" in caught.value.why
