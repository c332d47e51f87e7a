"""The audit: what it finds, what it calls met, and that nothing is met or not applicable without evidence."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import date

import pytest

from brimful.advise.audit.facts import Branch, Cited, Facts
from brimful.advise.audit.judge import PROOFS, find, first_things, judge
from brimful.advise.audit.scope import _CONCERNS
from brimful.advise.idle import usage
from brimful.catalog.practices import practices
from brimful.model.advice import PracticeStatus, Severity
from brimful.model.evidence import Environment, Figures, Measurement, Sample, Usage
from brimful.model.hardware import (
    Accelerator,
    Device,
    DeviceKind,
    Fitted,
    Machine,
    Offer,
    Status,
    WithdrawalEvidence,
)
from brimful.model.noun import with_gaps
from brimful.model.work import Mode, Setting, Workload

TODAY = date(2026, 11, 19)
PRICES_ON = date(2026, 11, 1)
GIB = 2**30
HOUR = 3600.0


def gpu(model: str, share: float = 1.0, count: int = 1, vendor: str = "NVIDIA", memory: int = 24 * GIB) -> Fitted:
    kind = DeviceKind.NEURON if vendor == "AWS" else DeviceKind.GPU
    usable = int(memory * share * 0.93)
    return with_gaps(
        Fitted,
        "n",
        model=model,
        vendor=vendor,
        kind=kind,
        count=count,
        share=share,
        memory_bytes=int(memory * share),
        usable_memory_bytes=usable,
    )


def offer(instance: str, price: float | None, *parts: Fitted, **more: object) -> Offer:
    known = {"vcpus": 4, "memory_bytes": 16 * GIB, "arch": "x86_64", "nvme_bytes": 0, **more}
    base = {"price_date": PRICES_ON, "status": Status.AVAILABLE, "region": "us-east-1", "source": "s", "licence": "l"}
    return with_gaps(
        Offer,
        "n",
        instance=instance,
        family=instance.partition(".")[0],
        usd_per_hour=price,
        accelerators=parts,
        **{**base, **known},
    )


SHEETS = {
    "T4": (65e12, 320e9),
    "L4": (121e12, 300e9),
    "A10G": (70e12, 600e9),
}
T4 = offer("g4dn.xlarge", 0.526, gpu("T4", memory=16 * GIB), nvme_bytes=125 * 10**9)
L4 = offer("g6.xlarge", 0.8048, gpu("L4"))
L4_EIGHTH = offer("g6f.xlarge", 0.2375, gpu("L4", share=0.125))
A10G_FOUR = offer("g5.12xlarge", 5.672, gpu("A10G", count=4))
V100 = offer(
    "p3.2xlarge",
    3.06,
    gpu("V100", memory=16 * GIB),
    status=Status.WITHDRAWN,
    withdrawn_on=date(2026, 6, 10),
    withdrawal=WithdrawalEvidence.ABSENT,
    successors=("g6e.xlarge",),
)
INF2 = offer("inf2.xlarge", 0.7582, gpu("Inferentia2", vendor="AWS", memory=32 * GIB))
P5 = offer("p5.48xlarge", 55.04, gpu("H100", count=8, memory=80 * GIB))
CPU_TYPE = offer("c7i.2xlarge", 0.357)
STRANGE = with_gaps(
    Offer,
    "no specification",
    instance="x9.huge",
    family="x9",
    region="us-east-1",
    status=Status.UNKNOWN,
    source="s",
    licence="l",
)
MARKET = (T4, L4, L4_EIGHTH, A10G_FOUR, V100, INF2, P5, CPU_TYPE, STRANGE)


def machine(name: str, instance: str, **more: object) -> Machine:
    return with_gaps(Machine, "n", machine=name, cloud="ec2", instance=instance, **{"region": "us-east-1", **more})


def used(
    device: str,
    *,
    busy: float = 80.0,
    releasable: float = 0.0,
    at_end: float = 0.0,
    hours: float = 48,
    memory: float | None = None,
) -> Usage:
    return Usage(
        device=device,
        metric="utilization_percent",
        start_s=0,
        end_s=hours * HOUR,
        samples_count=100,
        known_share=1.0,
        mean_percent=busy,
        p5_percent=busy,
        p95_percent=busy,
        max_percent=busy,
        idle_share=releasable,
        releasable_share=releasable,
        timeout_s=1800.0,
        idle_at_end_s=at_end,
        memory_used_bytes=None if memory is None else int(memory * GIB),
    )


def device(
    model: str = "L4", driver: str | None = "595.91.07", kind: DeviceKind = DeviceKind.GPU, vendor: str = "NVIDIA"
) -> Device:
    return with_gaps(
        Device, "n", device=f"{model}-0", device_kind=kind, vendor=vendor, model=model, driver_version=driver
    )


CPU = device("Xeon", None, DeviceKind.CPU, "Intel")


def fleet(
    *machines: Machine, usages: tuple[Usage, ...] = (), devices: tuple[Device, ...] = (CPU,), **more: object
) -> Facts:
    types = {item.instance for item in machines}
    sheets = {}
    for item in MARKET:
        for part in item.accelerators or ():
            if part.model in SHEETS:
                compute, bandwidth = SHEETS[part.model]
                sheets[part.model, part.memory_bytes] = with_gaps(
                    Accelerator,
                    "n",
                    model=part.model,
                    vendor="NVIDIA",
                    kind=DeviceKind.GPU,
                    architecture="a",
                    peak_flops={"fp16": compute},
                    bandwidth_bytes_per_s=bandwidth,
                    source="s",
                    licence="l",
                )
    return Facts(
        today=TODAY,
        region="us-east-1",
        prices_on=PRICES_ON,
        catalog_id="r/2",
        devices=tuple(Cited(f"d/{index}", item) for index, item in enumerate(devices)),
        machines=tuple(Cited(f"m/{item.machine}", item) for item in machines),
        has_inventory=bool(machines),
        offers={
            (item.instance, item.region): Cited(f"o/{item.instance}", item) for item in MARKET if item.instance in types
        },
        usages=tuple(Cited(f"u/{item.device}", item) for item in usages),
        has_history=bool(usages),
        market=MARKET,
        datasheets=sheets,
        branches=(Branch("595", date(2027, 3, 24), "595.91.07"), Branch("535", date(2026, 6, 1), "535.288.01")),
        **more,
    )


def findings_of(facts: Facts, code: str | None = None):
    found = find(facts)
    return [item for item in found if code in (None, item.code)]


def verdict(number: int, facts: Facts):
    cited = [Cited(f"f/{index}", item) for index, item in enumerate(find(facts))]
    return next(item for item in judge(practices(), facts, cited) if item.number == number)


# --- the table


def test_there_are_92_practices_each_with_its_texts():
    table = practices()
    assert [item.number for item in table] == list(range(1, 93))
    for item in table:
        assert item.title
        assert item.fix
        assert item.decides
        assert set(item.concerns) <= set(_CONCERNS)
    assert set(PROOFS) <= {item.number for item in table}


def test_every_practice_gets_a_row_for_an_empty_and_for_a_full_fleet():
    for facts in (fleet(devices=()), fleet(machine("i-1", "g4dn.xlarge"), machine("i-2", "inf2.xlarge"))):
        rows = judge(practices(), facts, [])
        assert [row.number for row in rows] == list(range(1, 93))
        for row in rows:
            assert row.evidence or row.status is PracticeStatus.UNKNOWN


# --- idle


def test_an_idle_machine_is_found_with_its_money_and_a_dry_run_command():
    facts = fleet(machine("i-1", "g4dn.xlarge"), usages=(used("i-1", busy=5, releasable=0.5, at_end=9 * HOUR),))
    (found,) = findings_of(facts, "idle-accelerator")
    assert found.usd_per_month == pytest.approx(0.526 * 730 * 0.5, abs=0.01)
    assert found.command == "aws ec2 stop-instances --dry-run --region us-east-1 --instance-ids i-1"
    assert found.evidence == ("m/i-1", "u/i-1")
    assert "instance store" in found.fix
    assert verdict(10, facts).status is PracticeStatus.NOT_MET
    assert verdict(10, facts).usd_per_month == found.usd_per_month


def test_a_machine_that_is_busy_now_gets_no_stop_command():
    facts = fleet(machine("i-1", "g6.xlarge"), usages=(used("i-1", busy=5, releasable=0.5, at_end=60.0),))
    (found,) = findings_of(facts, "idle-accelerator")
    assert found.command is None
    assert "not idle now" in found.missing["command"]


@pytest.mark.parametrize(
    "more", [{"owner": "auto-scaling group a"}, {"tags": {"brimful:keep": "yes"}}, {"cloud": "rack"}]
)
def test_a_machine_with_an_owner_or_a_protecting_tag_is_never_to_be_stopped_from_outside(more):
    item = machine("i-1", "g6.xlarge")
    item = replace(item, **more, missing={k: v for k, v in item.missing.items() if k not in more})
    (found,) = findings_of(fleet(item, usages=(used("i-1", releasable=0.9, at_end=9 * HOUR),)), "idle-accelerator")
    assert found.command is None


def test_an_idle_machine_of_a_withdrawn_type_is_to_be_moved_and_never_to_be_stopped():
    facts = fleet(machine("i-1", "p3.2xlarge"), usages=(used("i-1", releasable=0.9, at_end=9 * HOUR),))
    (found,) = findings_of(facts, "idle-accelerator")
    assert "never stop it" in found.fix
    assert found.command == "brimful catalog show p3.2xlarge g6e.xlarge"


def test_a_short_history_is_no_ground_to_call_a_machine_idle():
    assert not findings_of(
        fleet(machine("i-1", "g6.xlarge"), usages=(used("i-1", releasable=1, hours=5),)), "idle-accelerator"
    )


def test_a_machine_is_as_idle_as_its_busiest_device_and_an_unseen_device_is_not_idle():
    four = machine("i-1", "g5.12xlarge")
    seen = tuple(used(f"i-1/gpu{n}", releasable=0.9) for n in range(3))
    assert not findings_of(fleet(four, usages=seen), "idle-accelerator")
    (found,) = findings_of(fleet(four, usages=(*seen, used("i-1/gpu3", releasable=0.1))), "idle-accelerator")
    assert found.usd_per_month == pytest.approx(5.672 * 730 * 0.1, abs=0.01)
    assert "at most" in found.why


def test_the_history_of_another_machine_with_a_longer_name_is_not_mistaken():
    facts = fleet(machine("i-1", "g6.xlarge"), usages=(used("i-10", releasable=0.9),))
    assert not findings_of(facts, "idle-accelerator")
    assert findings_of(facts, "unwatched-accelerator")


def test_an_unknown_price_is_no_saving_of_zero():
    spot = machine("i-1", "g6.xlarge", purchase="spot")
    (found,) = findings_of(fleet(spot, usages=(used("i-1", releasable=0.9),)), "idle-accelerator")
    assert found.usd_per_month is None
    assert "is not known" in found.missing["usd_per_month"]


def test_a_stopped_machine_is_neither_idle_nor_unwatched():
    facts = fleet(machine("i-1", "g6.xlarge", state="stopped"), usages=(used("i-2"),))
    assert not findings_of(facts, "idle-accelerator")
    assert not findings_of(facts, "unwatched-accelerator")


@pytest.mark.parametrize("name", ["a", "a/gpu0"])
@pytest.mark.parametrize("busy", [0.0, 95.0])
def test_one_watched_device_of_eight_proves_nothing_of_the_machine(name, busy):
    facts = fleet(machine("a", "p5.48xlarge"), usages=(used(name, busy=busy, releasable=1.0 - busy / 100),))
    assert not findings_of(facts, "idle-accelerator")
    assert verdict(10, facts).status is PracticeStatus.UNKNOWN
    assert verdict(48, facts).status is not PracticeStatus.MET


def test_a_machine_of_which_some_devices_are_not_watched_is_named():
    facts = fleet(machine("a", "p5.48xlarge"), usages=(used("a/gpu0"),))
    (found,) = findings_of(facts, "unwatched-accelerator")
    assert found.what == "the history lacks accelerators of 1 machine: a"
    assert verdict(3, facts).status is PracticeStatus.UNKNOWN  # the host does send


def test_eight_names_of_which_one_is_a_cpu_or_the_machine_do_not_cover_eight_devices():
    seven = [used(f"a/gpu{number}", busy=95) for number in range(7)]
    for other in ("a", "a/cpu", "a/cpu0"):
        facts = fleet(machine("a", "p5.48xlarge"), usages=(*seven, used(other, busy=95)))
        assert verdict(10, facts).status is PracticeStatus.UNKNOWN
        assert verdict(48, facts).status is PracticeStatus.UNKNOWN
    whole = fleet(machine("a", "p5.48xlarge"), usages=(*seven, used("a/gpu7", busy=95), used("a/cpu", busy=2)))
    assert verdict(10, whole).status is PracticeStatus.MET
    assert verdict(48, whole).status is PracticeStatus.MET


@pytest.mark.parametrize("state", ["pending", "stopping", "shutting-down", "flying", ""])
@pytest.mark.parametrize("usages", [(), (used("a"),)])
def test_a_machine_in_passing_or_in_no_known_state_leaves_open_whether_it_sleeps(state, usages):
    facts = fleet(machine("a", "g6.xlarge", state=state), usages=usages)
    assert verdict(10, facts).status is PracticeStatus.UNKNOWN
    assert verdict(48, facts).status is PracticeStatus.UNKNOWN


def test_stopped_machines_alone_show_no_use_and_a_stopped_reservation_is_billed():
    assert verdict(10, fleet(machine("a", "g6.xlarge", state="stopped"))).status is PracticeStatus.UNKNOWN
    awake = machine("b", "g6.xlarge")
    rest = fleet(machine("a", "g6.xlarge", state="stopped"), awake, usages=(used("b"),))
    assert verdict(10, rest).status is PracticeStatus.MET
    reserved = machine("a", "g6.xlarge", state="stopped", purchase="capacity-block")
    assert verdict(10, fleet(reserved, awake, usages=(used("b"),))).status is PracticeStatus.UNKNOWN


def test_what_is_not_known_of_this_machine_or_of_a_type_leaves_open_whether_all_are_used():
    item, usages = machine("a", "g6.xlarge"), (used("a"),)
    unknown_kind = replace(CPU, device_kind=None, missing={**CPU.missing, "device_kind": "n"})
    bus = Cited("s/0", with_gaps(Sample, "n", time_s=0.0, device="pci", metric="pci_accelerators_count"))
    for facts in (
        fleet(item, usages=usages, devices=()),
        fleet(item, usages=usages, devices=(CPU, unknown_kind)),
        fleet(item, usages=usages, devices=(CPU, device())),
        fleet(item, usages=usages, unseen=(bus,)),
        fleet(item, machine("b", "x9.huge"), usages=usages),
    ):
        assert verdict(10, facts).status is PracticeStatus.UNKNOWN
        assert verdict(48, facts).status is PracticeStatus.UNKNOWN
    assert verdict(10, fleet(item, usages=usages)).status is PracticeStatus.MET


def test_a_history_full_of_holes_proves_nothing_and_grounds_no_smaller_device():
    holes = replace(used("i-1", busy=8, memory=1.8, hours=480), known_share=0.1)
    facts = fleet(machine("i-1", "g4dn.xlarge"), usages=(holes,))
    assert verdict(10, facts).status is PracticeStatus.UNKNOWN
    assert not findings_of(facts, "gpu-too-large")
    assert not findings_of(facts, "under-used")


def test_a_history_of_half_a_day_samples_never_calls_a_machine_idle():
    times = [number * 12 * HOUR for number in range(29)]
    coarse = usage("i-1", "utilization_percent", times, [0.0] * 29)
    facts = fleet(machine("i-1", "g6.xlarge"), usages=(coarse,))
    assert not findings_of(facts, "idle-accelerator")
    assert verdict(10, facts).status is PracticeStatus.UNKNOWN


def test_a_device_that_stalls_now_and_then_is_not_steadily_busy():
    stalling = replace(used("i-1", busy=95), p5_percent=0.0)
    assert verdict(48, fleet(machine("i-1", "g6.xlarge"), usages=(stalling,))).status is PracticeStatus.UNKNOWN


# --- how a machine may be let go


def idle_one(name: str = "i-1", **more: object):
    facts = fleet(machine(name, "g6.xlarge", **more), usages=(used(name, releasable=0.9, at_end=9 * HOUR),))
    return findings_of(facts, "idle-accelerator")[0]


@pytest.mark.parametrize(
    "tags",
    [
        {"Protected": "true"},
        {"Do-Not-Stop": ""},
        {"do_not_terminate": "yes"},
        {"Brimful:Keep": "until Friday"},
        {"aws:autoscaling:groupName": "web"},
        {"eks:nodegroup-name": "gpu"},
        {"aws:eks:cluster-name": "c"},
        {"kubernetes.io/cluster/x": "owned"},
        {"karpenter.sh/nodepool": "gpu"},
        {"aws:elasticmapreduce:job-flow-id": "j-1"},
        {"AWSBatchServiceTag": "batch"},
        {"aws:ec2spot:fleet-request-id": "sfr-1"},
        {"aws:ec2:fleet-id": "fleet-1"},
        {"parallelcluster:cluster-name": "hpc"},
        {"SlurmNode": "gpu-1"},
        {"ray-cluster-name": "r"},
    ],
    ids=lambda tags: next(iter(tags)),
)
def test_what_a_tag_protects_or_assigns_to_an_owner_gets_no_stop_command(tags):
    found = idle_one(tags=tags)
    assert found.command is None
    assert "must not be stopped from outside" in found.missing["command"]
    assert "owner" in found.fix or "ask who set that" in found.fix


def test_a_tag_that_says_no_protects_nothing():
    assert idle_one(tags={"protected": "false", "keep": "no"}).command


@pytest.mark.parametrize("purchase", ["spot", "capacity-block", "odcr", "reserved", "who knows"])
def test_only_a_machine_on_demand_gets_a_stop_command(purchase):
    assert idle_one(purchase=purchase, usd_per_hour=1.0).command is None


@pytest.mark.parametrize("purchase", ["capacity-block", "odcr", "reserved"])
def test_what_is_billed_anyway_saves_nothing_when_it_is_let_go(purchase):
    found = idle_one(purchase=purchase, usd_per_hour=1.0)
    assert found.usd_per_month is None
    assert "is billed whether" in found.missing["usd_per_month"]


def test_a_machine_without_a_region_gets_no_stop_command_and_its_price_says_which_region_it_is_of():
    facts = fleet(with_gaps(Machine, "n", machine="i-1", cloud="ec2", instance="g6.xlarge"))
    facts = replace(facts, usages=(Cited("u/1", used("i-1", releasable=0.9, at_end=9 * HOUR)),), has_history=True)
    (found,) = findings_of(facts, "idle-accelerator")
    assert found.command is None
    assert "does not say its region" in found.missing["command"]
    assert "us-east-1 is assumed" in found.why


def test_words_from_outside_stay_one_word_each_in_every_printed_command():
    bad, place = "a;rm -rf x", "us-east-1;reboot"
    item = machine(bad, "g4dn.xlarge", region=place, usd_per_hour=1.0)
    facts = fleet(item, usages=(used(bad, busy=5, memory=1.0, releasable=0.9, at_end=9 * HOUR),))
    facts = replace(facts, region="x; reboot", prices_on=date(2026, 1, 1))
    commands = [found.command for found in find(facts) if found.command]
    assert any(bad in shlex.split(command) and place in shlex.split(command) for command in commands)
    for command in commands:
        assert not {";", "rm", "reboot"} & set(shlex.shlex(command, posix=True, punctuation_chars=True))


def test_the_price_of_another_region_is_not_the_price():
    far = machine("i-1", "g6.xlarge", region="eu-west-1")
    facts = fleet(far, usages=(used("i-1", releasable=0.9, at_end=9 * HOUR),))
    (found,) = findings_of(facts, "idle-accelerator")
    assert found.usd_per_month is None
    assert "no price of g6.xlarge in eu-west-1" in found.missing["usd_per_month"]
    assert "--region eu-west-1" in found.command
    assert verdict(4, facts).status is PracticeStatus.UNKNOWN
    there = replace(L4, region="eu-west-1", usd_per_hour=0.9)
    priced = replace(facts, offers={("g6.xlarge", "eu-west-1"): Cited("o/eu", there)})
    assert findings_of(priced, "idle-accelerator")[0].usd_per_month == pytest.approx(0.9 * 730 * 0.9, abs=0.01)


def test_a_smaller_device_is_looked_for_in_the_machines_own_region():
    far = machine("i-1", "g4dn.xlarge", region="eu-west-1", usd_per_hour=0.6)
    facts = fleet(far, usages=(used("i-1", busy=5, memory=1.0),))
    assert not findings_of(facts, "gpu-too-large")
    there = replace(L4_EIGHTH, region="eu-west-1")
    assert findings_of(replace(facts, market=(there,)), "gpu-too-large")


# --- a smaller device


def test_a_gpu_that_is_never_busy_is_offered_the_cheapest_share_that_is_enough():
    facts = fleet(machine("i-1", "g4dn.xlarge"), usages=(used("i-1", busy=8, memory=1.8),))
    (found,) = findings_of(facts, "gpu-too-large")
    assert "g6f.xlarge" in found.fix
    assert found.usd_per_month == pytest.approx((0.526 - 0.2375) * 730, abs=0.01)
    assert verdict(63, facts).status is PracticeStatus.NOT_MET


@pytest.mark.parametrize(
    "usage",
    [
        used("i-1", busy=8, memory=2.1),  # 2.1 / 0.7 is more than the eighth's usable memory
        used("i-1", busy=9, memory=1.0),  # the bandwidth is not enough
        used("i-1", busy=8),  # how much memory it takes is not known
        used("i-1", busy=8, memory=1.8, hours=3),  # three hours say little
    ],
)
def test_a_share_that_may_not_be_enough_is_not_offered(usage):
    assert not findings_of(fleet(machine("i-1", "g4dn.xlarge"), usages=(usage,)), "gpu-too-large")


def test_a_smaller_host_or_another_architecture_is_not_offered():
    small = replace(L4_EIGHTH, vcpus=2)
    arm = replace(L4_EIGHTH, arch="arm64")
    facts = fleet(machine("i-1", "g4dn.xlarge"), usages=(used("i-1", busy=5, memory=1.0),))
    for other in (small, arm):
        assert not findings_of(replace(facts, market=(T4, other)), "gpu-too-large")


def test_a_type_that_cannot_be_rented_is_never_offered():
    gone = replace(
        L4_EIGHTH,
        status=Status.WITHDRAWN,
        withdrawal=WithdrawalEvidence.ABSENT,
        missing={k: v for k, v in L4_EIGHTH.missing.items() if k != "withdrawal"},
    )
    elsewhere = replace(L4_EIGHTH, region="eu-west-1")
    facts = fleet(machine("i-1", "g4dn.xlarge"), usages=(used("i-1", busy=5, memory=1.0),))
    for other in (gone, elsewhere):
        assert not findings_of(replace(facts, market=(T4, other)), "gpu-too-large")


# --- the other findings


def test_a_withdrawn_type_is_found_with_its_date_and_successor():
    facts = fleet(machine("i-1", "p3.2xlarge"))
    (found,) = findings_of(facts, "withdrawn-type")
    assert "withdrawn (absent from EC2's lists since 2026-06-10)" in found.what
    assert found.command == "brimful catalog show p3.2xlarge g6e.xlarge"
    assert verdict(5, facts).status is PracticeStatus.NOT_MET


def test_training_on_gpus_without_nvlink_is_found_and_serving_is_not():
    assert findings_of(fleet(machine("i-1", "g5.12xlarge", tags={"workload": "training"})), "training-without-nvlink")
    assert not findings_of(
        fleet(machine("i-1", "g5.12xlarge", tags={"workload": "inference"})), "training-without-nvlink"
    )
    assert not findings_of(fleet(machine("i-1", "g6.xlarge", tags={"workload": "training"})), "training-without-nvlink")


@pytest.mark.parametrize(
    ("driver", "severity", "word"),
    [("535.104.05", Severity.MEDIUM, "ended on 2026-06-01"), ("595.9.1", Severity.LOW, "R595 is at 595.91.07")],
)
def test_an_old_driver_is_found(driver, severity, word):
    facts = fleet(devices=(device(driver=driver),))
    (found,) = findings_of(facts, "old-driver")
    assert found.severity is severity
    assert word in found.what
    assert "595.91.07" in found.fix
    assert verdict(9, facts).status is PracticeStatus.NOT_MET


def test_drivers_are_current_only_when_every_card_tells_and_no_other_host_is_left_out():
    assert verdict(9, fleet(devices=(CPU, device()))).status is PracticeStatus.MET
    for devices in ((device(driver=None),), (device(), device("T4", driver=None)), (device(driver="999.1"),)):
        assert verdict(9, fleet(devices=devices)).status is PracticeStatus.UNKNOWN
    assert verdict(9, fleet(machine("i-1", "g6.xlarge"), devices=(device(),))).status is PracticeStatus.UNKNOWN


def test_prices_older_than_a_quarter_are_found():
    facts = fleet(machine("i-1", "g6.xlarge"))
    assert verdict(4, facts).status is PracticeStatus.MET
    old = replace(facts, prices_on=date(2026, 7, 20))
    assert findings_of(old, "stale-catalogue")[0].command == "brimful catalog refresh --region us-east-1"
    assert verdict(4, old).status is PracticeStatus.NOT_MET


def test_a_fleet_of_types_without_a_price_does_not_meet_the_catalogue_practice():
    assert verdict(4, fleet(machine("i-1", "x9.huge"))).status is PracticeStatus.UNKNOWN
    assert verdict(4, fleet(machine("i-1", "nobody.knows"))).status is PracticeStatus.UNKNOWN


def test_prices_are_stale_where_they_are_used_however_fresh_another_region_is():
    old = replace(L4, price_date=date(2026, 1, 1))
    facts = replace(fleet(machine("i-1", "g6.xlarge")), offers={("g6.xlarge", "us-east-1"): Cited("o/1", old)})
    assert findings_of(facts, "stale-catalogue")[0].command == "brimful catalog refresh --region us-east-1"
    assert verdict(4, facts).status is PracticeStatus.NOT_MET


def test_an_unknown_price_of_an_unwatched_machine_is_not_summed_up_as_zero():
    spot = machine("i-1", "g6.xlarge", purchase="spot")
    (found,) = findings_of(fleet(spot, usages=(used("i-2"),)), "unwatched-accelerator")
    assert "its price is not known" in found.why
    assert "$" not in found.why
    some = fleet(spot, machine("i-3", "g6.xlarge"), usages=(used("i-2"),))
    assert "at least $0.8048 an hour (the price of 1 is not known)" in findings_of(some, "unwatched-accelerator")[0].why


def test_accelerated_machines_without_a_history_are_named_with_the_way_to_give_one():
    facts = fleet(machine("i-1", "g6.xlarge"), machine("i-2", "c7i.2xlarge"))
    (found,) = findings_of(facts, "no-history")
    assert "1 accelerated machine did is unknown: i-1" in found.what
    assert "--history" in found.fix
    assert verdict(3, facts).status is PracticeStatus.UNKNOWN  # nobody showed it to us: that is not against it


def test_devices_that_no_machine_claims_are_no_finding_of_the_fleet():
    strays = (used("gpu0", busy=5), used("gpu1", busy=5))
    assert not findings_of(fleet(machine("i-1", "g6.xlarge"), usages=strays), "under-used")
    assert findings_of(fleet(usages=strays), "under-used")  # without an inventory they are all there is


def test_one_device_stays_and_two_devices_stay_under_the_bound():
    assert "1 of 1 watched device stays" in findings_of(fleet(usages=(used("g", busy=5),)), "under-used")[0].what
    two = (used("g", busy=5), used("h", busy=5))
    assert "2 of 2 watched devices stay under" in findings_of(fleet(usages=two), "under-used")[0].what


def test_a_simulated_device_is_called_so_in_a_finding():
    found = findings_of(fleet(devices=(replace(device(driver="535.104.05"), source="simulated"),)), "old-driver")
    assert "L4-0 (simulated) runs" in found[0].what


def test_without_an_inventory_it_is_said_that_only_this_machine_was_seen():
    assert findings_of(fleet(), "no-inventory")
    assert not findings_of(fleet(machine("i-1", "g6.xlarge")), "no-inventory")


def test_devices_below_the_profilers_bound_are_found_and_hosts_without_accelerators_do_not_count():
    facts = fleet(
        machine("i-1", "g6.xlarge"), machine("i-2", "c7i.2xlarge"), usages=(used("i-1", busy=90), used("i-2", busy=3))
    )
    assert not findings_of(facts, "under-used")
    assert verdict(48, facts).status is PracticeStatus.MET
    low = fleet(machine("i-1", "g6.xlarge"), usages=(used("i-1", busy=60),))
    assert verdict(48, low).status is PracticeStatus.NOT_MET
    assert verdict(48, fleet(machine("i-1", "g6.xlarge"))).status is PracticeStatus.UNKNOWN


def test_nothing_sleeps_is_met_only_when_every_accelerated_machine_was_watched_for_hours():
    both = (machine("i-1", "g6.xlarge"), machine("i-2", "inf2.xlarge"))
    assert verdict(10, fleet(*both, usages=(used("i-1"), used("i-2")))).status is PracticeStatus.MET
    assert verdict(10, fleet(*both, usages=(used("i-1"),))).status is PracticeStatus.UNKNOWN
    assert verdict(10, fleet(*both, usages=(used("i-1"), used("i-2", hours=1)))).status is PracticeStatus.UNKNOWN


# --- benchmarks


def measured(model: str, kind: DeviceKind, refused: str | None = None) -> Cited[Measurement]:
    noun = Measurement(
        workload=Workload(model=model, mode=Mode.INFERENCE),
        device=device("X", None, kind),
        setting=Setting(engine="e"),
        figures=with_gaps(Figures, "n", calls_count=1, wall_s=1.0),
        environment=with_gaps(Environment, "n"),
        refused=refused,
    )
    return Cited(f"b/{model}/{kind}", noun)


def test_benchmarked_means_one_workload_on_a_cpu_and_on_an_accelerator():
    def status(*items: Cited[Measurement]) -> PracticeStatus:
        return verdict(1, replace(fleet(), measurements=items)).status

    cpu, card = measured("a.onnx", DeviceKind.CPU), measured("a.onnx", DeviceKind.GPU)
    assert status(cpu, card) is PracticeStatus.MET
    assert status(cpu) is PracticeStatus.UNKNOWN
    assert status(cpu, measured("b.onnx", DeviceKind.GPU)) is PracticeStatus.UNKNOWN
    assert status(cpu, measured("a.onnx", DeviceKind.GPU, "above the roofline")) is PracticeStatus.UNKNOWN


# --- scope


def test_neuron_practices_do_not_apply_where_no_neuron_device_is():
    row = verdict(84, fleet(machine("i-1", "g6.xlarge")))
    assert row.status is PracticeStatus.NOT_APPLICABLE
    assert row.evidence
    assert verdict(84, fleet(machine("i-1", "inf2.xlarge"))).status is PracticeStatus.UNKNOWN


def test_a_type_without_specification_leaves_the_scope_open():
    row = verdict(84, fleet(machine("i-1", "x9.huge")))
    assert row.status is PracticeStatus.UNKNOWN
    assert "x9.huge" in row.because


def test_what_depends_on_how_machines_are_rented_is_open_without_an_inventory():
    assert verdict(74, fleet()).status is PracticeStatus.UNKNOWN
    assert verdict(74, fleet(machine("i-1", "g6.xlarge"))).status is PracticeStatus.NOT_APPLICABLE
    assert verdict(74, fleet(machine("i-1", "g6.xlarge", purchase="spot"))).status is PracticeStatus.UNKNOWN


def test_an_untagged_accelerator_leaves_open_what_it_does():
    assert verdict(54, fleet(machine("i-1", "g6.xlarge"))).status is PracticeStatus.UNKNOWN
    serving = machine("i-1", "g6.xlarge", tags={"workload": "inference"})
    assert verdict(54, fleet(serving)).status is PracticeStatus.NOT_APPLICABLE


def test_a_type_that_nobody_knows_leaves_open_what_its_machine_does_and_has():
    facts = fleet(machine("i-1", "g6.xlarg"))
    for number in (54, 72, 84):
        assert verdict(number, facts).status is PracticeStatus.UNKNOWN, number
    tagged = fleet(machine("i-1", "g6.xlarg", tags={"Workload": "Inference"}))
    assert verdict(54, tagged).status is PracticeStatus.NOT_APPLICABLE
    assert (
        verdict(54, fleet(machine("i-1", "g6.xlarge", tags={"workload": "trainng"}))).status is PracticeStatus.UNKNOWN
    )


def test_an_empty_inventory_decides_nothing():
    nothing = replace(fleet(), has_inventory=True)
    without = fleet()
    for number in range(1, 93):
        assert verdict(number, nothing).status is verdict(number, without).status
    assert "the inventory lists no machine" in findings_of(nothing, "no-inventory")[0].what
    assert "and the inventory lists no machine" in verdict(84, nothing).because


def test_a_host_of_which_nothing_was_seen_is_not_known_to_have_no_accelerator():
    row = verdict(84, fleet(devices=()))
    assert row.status is PracticeStatus.UNKNOWN
    assert "this machine" in row.because


def test_an_inventory_that_names_no_cloud_leaves_open_which_cloud_it_is():
    item = replace(machine("i-1", "g6.xlarge"), cloud="inventory m.toml")
    assert verdict(89, fleet(item)).status is PracticeStatus.UNKNOWN
    row = verdict(89, fleet(machine("i-1", "g6.xlarge")))
    assert row.status is PracticeStatus.NOT_APPLICABLE
    assert row.because == "no machine of the inventory is on SageMaker"


def test_what_nobody_has_is_said_in_a_sentence():
    assert verdict(84, fleet()).because == "this machine has no Neuron device, and no inventory was given"
    seven = verdict(84, fleet(machine("i-1", "g6.xlarge"), machine("i-2", "g6.xlarge"))).because
    assert seven == "neither this machine nor the inventory (2 machines) has a Neuron device"


def test_several_devices_in_one_machine_are_seen_here_and_in_the_inventory():
    assert verdict(72, fleet(machine("i-1", "g6.xlarge"))).status is PracticeStatus.NOT_APPLICABLE
    assert verdict(72, fleet(machine("i-1", "g5.12xlarge"))).status is PracticeStatus.UNKNOWN
    assert verdict(72, fleet(devices=(device("L4"), device("T4")))).status is PracticeStatus.UNKNOWN


# --- the order


def test_what_is_worth_most_stands_first_and_each_machine_once():
    busy = [used(f"i-2/gpu{number}", releasable=0.9) for number in range(4)]
    facts = fleet(
        *(machine("i-1", "g4dn.xlarge"), machine("i-2", "g5.12xlarge"), machine("i-3", "p3.2xlarge")),
        usages=(used("i-1", busy=8, memory=1.0, releasable=0.3), *busy),
    )
    found = find(facts)
    worth = [item.usd_per_month or 0.0 for item in found]
    assert worth == sorted(worth, reverse=True)
    first = first_things(found)
    assert first[0].subject == "i-2"
    assert len(first) == 3
    subjects = [item.subject for item in first if item.subject]
    assert len(subjects) == len(set(subjects))


def test_what_is_worth_nothing_is_not_among_the_first_things():
    facts = fleet(
        machine("i-1", "g6.xlarge", usd_per_hour=0.0),
        machine("i-2", "p3.2xlarge"),
        usages=(used("i-1", releasable=0.9), used("i-2")),
    )
    found = find(facts)
    assert found[-1].usd_per_month == 0
    assert all(item.usd_per_month is None or item.usd_per_month > 0 for item in first_things(found, len(found)))


def test_a_verdict_with_several_findings_adds_their_money():
    facts = fleet(
        machine("i-1", "g6.xlarge"),
        machine("i-2", "g6.xlarge"),
        usages=(used("i-1", releasable=0.5), used("i-2", releasable=0.25)),
    )
    row = verdict(10, facts)
    assert row.usd_per_month == pytest.approx(0.8048 * 730 * 0.75, abs=0.02)
    assert "1 more" in row.because
