"""How long training takes on one device and on many, and when more devices must not be advised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.advise.fit.training import (
    Optimizer,
    allreduce_ms,
    backward_factor,
    checkpoint_s,
    epoch_s,
    link_between,
    link_within,
    run_s,
    scaled,
    step,
)
from brimful.catalog import load
from brimful.model.evidence import Interval
from brimful.model.noun import with_gaps
from brimful.model.work import OpCost, OpKind, Profile

CATALOG = load()
A100, L4 = CATALOG.accelerator("A100", 40 * 1024**3), CATALOG.accelerator("L4")
P4D, G6, SMALL = (CATALOG.offer(name) for name in ("p4d.24xlarge", "g6.12xlarge", "g6.xlarge"))


def exactly(value: float) -> Interval:
    return Interval(low=value, mid=value, high=value, coverage=0.8)


def of(*kinds: tuple[OpKind, float]) -> Profile:
    ops = tuple(OpCost(op=kind, op_type=kind, flops=flops, read_elements=1, write_elements=1) for kind, flops in kinds)
    return with_gaps(Profile, "not needed", model="m", source="test", ops=ops)


RESNET = step(exactly(30.0), 64, 25_600_000, 1555e9, of((OpKind.CONV, 1e9)))


def test_a_step_takes_as_many_forward_passes_as_such_models_were_measured_to_take():
    assert backward_factor(of((OpKind.MATMUL, 1e9)))[1] == pytest.approx(2.95)
    assert backward_factor(of((OpKind.CONV, 9e9), (OpKind.GROUPED, 1e9)))[1] > backward_factor(None)[1]
    assert RESNET.compute_ms.mid == pytest.approx(96.0)
    assert RESNET.step_ms.low < RESNET.step_ms.mid < RESNET.step_ms.high


def test_the_optimizer_moves_bytes_for_each_weight_once_a_step():
    sgd, adam = (step(exactly(1.0), 1, 10**9, 1e12, optimizer=kind) for kind in (Optimizer.SGD, Optimizer.ADAM))
    assert adam.optimizer_ms == pytest.approx(28e9 / 0.7e12 * 1000)
    assert sgd.optimizer_ms < adam.optimizer_ms
    many = step(exactly(1.0), 1, 10**9, 1e12, accumulate=8)
    assert many.samples_count == 8
    assert many.optimizer_ms == pytest.approx(adam.optimizer_ms)
    assert many.compute_ms.mid == pytest.approx(8 * adam.compute_ms.mid)


def test_recomputing_activations_costs_one_more_forward_pass():
    plain, again = (step(exactly(10.0), 1, 1, 1e12, recompute=way) for way in (False, True))
    assert again.compute_ms.mid - plain.compute_ms.mid == pytest.approx(10.0)


def test_links_reach_what_was_measured_on_them():
    assert link_within(A100).bytes_per_s.low <= 231e9 <= link_within(A100).bytes_per_s.high
    assert link_between(P4D).bytes_per_s.low <= 30e9 <= link_between(P4D).bytes_per_s.high
    assert (link_within(A100).kind, link_within(L4).kind) == ("nvlink", "pcie")
    assert (link_between(P4D).kind, link_between(SMALL).kind) == ("efa", "tcp")


def test_an_all_reduce_of_a_gigabyte_takes_what_p4d_was_measured_to_take():
    size = 1024**3
    assert allreduce_ms(size, 8, link_within(A100)) == pytest.approx(8.14, rel=0.1)
    assert allreduce_ms(size, 1, link_within(A100)) == 0


def test_eight_gpus_with_nvlink_scale_and_four_without_say_what_they_lack():
    good = scaled(RESNET, 102e6, A100, P4D, 8)
    assert good.efficiency_share > 0.95
    assert good.notes == ()
    poor = scaled(RESNET, 4e9, L4, G6, 4)
    assert poor.efficiency_share < 0.8
    assert any("NVLink" in note for note in poor.notes)
    assert poor.refused is None


def test_several_nodes_are_slower_for_each_device_than_one():
    one, four = (scaled(RESNET, 4e9, A100, P4D, 8, nodes) for nodes in (1, 4))
    assert four.efficiency_share < one.efficiency_share
    assert four.samples_per_s.mid > one.samples_per_s.mid
    assert any("TCP" in note for note in scaled(RESNET, 1e8, L4, SMALL, 1, 2).notes)


def test_more_devices_are_refused_while_input_cannot_fill_one():
    alone = RESNET.samples_count / RESNET.step_ms.mid * 1000
    starved = scaled(RESNET, 102e6, A100, P4D, 8, feed_per_s=0.5 * alone)
    assert "50%" in starved.refused
    assert "brimful feed" in starved.refused
    assert starved.samples_per_s.mid == pytest.approx(0.5 * alone)
    assert scaled(RESNET, 102e6, A100, P4D, 8, feed_per_s=0.95 * alone).refused is None
    assert scaled(RESNET, 102e6, A100, P4D, 1, feed_per_s=0.5 * alone).refused is None


def test_accumulating_gradients_makes_a_slow_link_matter_less():
    once, eight = (
        scaled(step(exactly(30.0), 64, 25_600_000, 300e9, accumulate=count), 4e9, L4, G6, 4) for count in (1, 8)
    )
    assert eight.efficiency_share > once.efficiency_share


@given(st.floats(1, 1e3), st.floats(1e3, 1e11), st.integers(1, 8), st.integers(1, 16))
def test_no_number_of_devices_is_more_than_as_many_times_one(forward, size, per_node, nodes):
    one = step(exactly(forward), 8, 1000, 1e12)
    found = scaled(one, size, A100, P4D, per_node, nodes)
    assert 0 < found.efficiency_share <= 1
    assert found.exposed_ms <= found.allreduce_ms
    assert found.step_ms.low <= found.step_ms.mid <= found.step_ms.high
    assert found.samples_per_s.mid <= found.devices * one.samples_count / one.step_ms.mid * 1000 * (1 + 1e-9)


def test_epochs_and_runs_pass_the_interval_on_the_other_way_round():
    rate = Interval(low=500, mid=1000, high=2000, coverage=0.8)
    assert epoch_s(1_200_000, rate) == Interval(low=600, mid=1200, high=2400, coverage=0.8)
    assert run_s(1_200_000, 90, rate, start_s=60).mid == pytest.approx(90 * 1200 + 60)


def test_a_checkpoint_holds_weights_and_the_optimizers_state():
    assert checkpoint_s(10**9, 1e9) == pytest.approx(12)
    assert checkpoint_s(10**9, 1e9, Optimizer.SGD) == pytest.approx(4)


def test_a_network_that_is_not_known_gives_no_step_over_several_nodes():
    offer = next(item for item in CATALOG.offers if item.network_bytes_per_s is None)
    assert link_between(offer) is None
    with pytest.raises(ValueError, match="not known"):
        scaled(RESNET, 1e8, A100, offer, 8, 2)
