from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.model.errors import UsageError
from brimful.model.hardware import DeviceKind
from brimful.probes.fake import METRICS, FakeProbe
from brimful.testing import check_probe, fake_device


def test_a_count_and_a_model_make_devices():
    devices = FakeProbe("8xL4").devices()
    assert [device.device for device in devices] == [f"gpu{n}" for n in range(8)]
    assert {(device.model, device.vendor, device.source) for device in devices} == {("L4", "NVIDIA", "simulated")}
    assert devices[0].memory_bytes == 24 * 1024**3
    assert devices[0].missing["driver_version"] == "the device is simulated"


def test_several_models_stand_side_by_side():
    devices = FakeProbe("2xh100,inferentia2,1xCPU").devices()
    assert [(device.device, device.device_kind, device.model) for device in devices] == [
        ("gpu0", DeviceKind.GPU, "H100"),
        ("gpu1", DeviceKind.GPU, "H100"),
        ("neuron2", DeviceKind.NEURON, "Inferentia2"),
        ("cpu3", DeviceKind.CPU, "CPU"),
    ]


def test_two_probes_made_alike_say_the_same():
    ours, theirs = FakeProbe("4xL4,seed=3"), FakeProbe("4xL4,seed=3")
    for _ in range(5):
        ours.devices()  # looking at devices does not move time on
        assert ours.sample() == theirs.sample()


def test_another_seed_says_something_else():
    assert FakeProbe("4xL4,seed=3").sample() != FakeProbe("4xL4,seed=4").sample()


def test_the_figures_of_a_seed_never_change():
    found = {sample.metric: sample.value for sample in FakeProbe("1xL4,seed=7").sample()}
    assert found == {
        "utilization_percent": 86.5,
        "memory_used_bytes": 18647017457.0,
        "power_watts": 59.6,
        "temperature_celsius": 67.0,
    }


def of(probe: FakeProbe, device: str) -> dict[str, float | None]:
    return {sample.metric: sample.value for sample in probe.sample() if sample.device == device}


def test_the_states_are_told_apart_by_their_figures():
    probe = FakeProbe("4xL4")
    busy, idle, held, silent = (of(probe, f"gpu{n}") for n in range(4))
    assert busy["utilization_percent"] > 80
    assert idle["utilization_percent"] == held["utilization_percent"] == 0
    assert idle["memory_used_bytes"] < 1024**3 < held["memory_used_bytes"]
    assert silent["utilization_percent"] is None
    assert silent["power_watts"] is None
    assert silent["memory_used_bytes"] > 0


def test_states_can_be_chosen():
    probe = FakeProbe("3xL4,states=idle")
    assert [of(probe, f"gpu{n}")["utilization_percent"] for n in range(3)] == [0, 0, 0]


def test_a_device_vanishes_at_its_tick_and_has_no_values_then():
    probe = FakeProbe("2xL4,lose=1@3")
    for _ in range(3):
        assert len(probe.devices()) == 2
        assert of(probe, "gpu1")["memory_used_bytes"] is not None
    assert [device.device for device in probe.devices()] == ["gpu0"]
    gone = [sample for sample in probe.sample() if sample.device == "gpu1"]
    assert [sample.value for sample in gone] == [None] * len(METRICS)
    assert gone[0].missing["value"] == "the simulated device has vanished"


def test_time_moves_on_as_it_was_told():
    probe = FakeProbe("1xL4,start=100,every=2.5")
    assert [probe.sample()[0].time_s for _ in range(3)] == [100.0, 102.5, 105.0]


def test_the_clock_can_start_now():
    assert FakeProbe("1xL4,start=now").sample()[0].time_s > 1_700_000_000


def test_the_fake_probe_keeps_the_promises_of_a_probe():
    check_probe(lambda: FakeProbe(""), source="simulated")

    unknown = [("gpu3", "utilization_percent"), ("gpu3", "power_watts"), ("cpu4", "power_watts")]
    # the device goes with the third sample, after the two that the kit has taken
    check_probe(lambda: FakeProbe("4xL4,cpu,lose=1@2"), unknown=unknown, lose=lambda _: "gpu1", source="simulated")


def test_one_device_can_be_had_without_a_probe():
    assert fake_device("1xH100").model == "H100"
    assert fake_device().source == "simulated"


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("8xInferentia", "did you mean Inferentia2"),
        ("8x", "the simulated models are"),
        ("0xL4", "it names 0 devices"),
        ("999999xL4", "it names 999999 devices"),
        ("2xL4,lose=2@3", "those to lose among them"),
        ("2xL4,lose=1", "is no whole number"),
        ("2xL4,seed=x", "is no whole number"),
        ("2xL4,states=sleepy", "the states are busy, idle, held, silent"),
        ("2xL4,every=soon", "is no number of seconds"),
        ("2xL4,colour=red", "the options are"),
        (",", "the simulated models are"),
    ],
)
def test_what_cannot_be_simulated_is_refused_with_what_can(where, why):
    with pytest.raises(UsageError) as caught:
        FakeProbe(where)
    assert why in str(caught.value)


PARTS = st.sampled_from(
    ["8xL4", "2xH100", "seed=3", "lose=1@3", "states=idle/busy", "start=now", "every=0", "=", "x", "٣xL4"]
)


@given(st.one_of(st.text(max_size=30), st.lists(PARTS, max_size=5).map(",".join)))
def test_any_address_makes_devices_or_an_error_for_people(where):
    try:
        probe = FakeProbe(where)
    except UsageError:
        return
    assert probe.devices() or "lose" in where
    assert probe.sample()
