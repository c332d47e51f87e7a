"""The filter language: what each word finds, what is left out for being unknown, and what a slip of the pen is told."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.catalog import Table, load, write_table
from brimful.catalog.filter import KEYS, OPERATORS, Selection, parse, select
from brimful.config import load as load_config
from brimful.model.answers import Choice
from brimful.model.errors import UsageError
from brimful.model.hardware import Offer, Status
from brimful.model.units import MIB
from brimful.verbs.catalog import show

OFFERS = load().offers


def found(*words: str) -> Selection:
    return select(OFFERS, parse(words))


def names(*words: str) -> list[str]:
    return [item.instance for item in found(*words).offers]


# --- what the words find ---


def test_no_word_shows_everything_cheapest_first_and_unknown_prices_last() -> None:
    chosen = found().offers
    prices = [item.usd_per_hour for item in chosen]
    known = [price for price in prices if price is not None]
    assert len(chosen) == 1395
    assert prices == [*sorted(known), *[None] * 28]


def test_an_l4_is_found_whole_and_in_shares() -> None:
    chosen = found("accelerator=L4").offers
    assert {item.family for item in chosen} == {"g6", "gr6", "g6f", "gr6f"}
    cheapest = chosen[0]
    (part,) = cheapest.accelerators or ()
    assert (cheapest.instance, part.count, part.share) == ("g6f.large", 1, 0.125)
    assert part.usable_memory_bytes == 2861 * MIB


@pytest.mark.parametrize("word", ["accelerator=L4", "accelerator=l4", "accelerator=NVIDIA L4", "Accelerator = L4"])
def test_equality_of_names_is_exact_but_for_case_and_vendor(word: str) -> None:
    assert len(names(word)) == 15
    assert not any(name.startswith("g6e") for name in names(word))


def test_part_of_a_name_is_asked_for_with_a_tilde_or_a_pattern() -> None:
    assert {item.family for item in found("accelerator~l4").offers} == {"g6", "gr6", "g6f", "gr6f", "g6e"}
    assert names("accelerator=L4*") == names("accelerator~l4")


def test_a_size_in_the_name_tells_two_parts_apart() -> None:
    assert names("accelerator=A100") == ["p4d.24xlarge", "p4de.24xlarge"]
    assert names("accelerator=A100-80GB") == ["p4de.24xlarge"]
    assert names("accelerator=V100-16GB", "count=1") == ["p3.2xlarge"]
    assert "g6f.large" in names("accelerator=L4-24GB")


def test_withdrawn_types_are_shown_unless_they_are_excluded() -> None:
    assert names("accelerator=V100") == ["p3.2xlarge", "p3.8xlarge", "p3.16xlarge", "p3dn.24xlarge"]
    assert names("accelerator=V100", "status=available") == ["p3dn.24xlarge"]
    assert len(names("status=withdrawn")) == 16
    assert len(names("status!=available")) == 46


def test_memory_of_accelerators_is_that_of_all_together_or_of_one() -> None:
    assert "g6.12xlarge" in names("accelerator_memory>=96GiB", "family=g6")
    assert names("device_memory>=96GiB", "family=g6") == []
    assert names("usable_memory>=2.7GiB", "price<0.3") == ["g6f.large", "g6f.xlarge"]


@pytest.mark.parametrize("word", ["share=1/8", "share=0.125", "share<0.2"])
def test_shares_may_be_written_as_fractions(word: str) -> None:
    assert names(word) == ["g6f.large", "g6f.xlarge"]


def test_types_without_accelerators_have_no_share_and_count_zero() -> None:
    assert all(item.accelerators for item in found("share<=1").offers)
    none = found("count=0")
    assert not any(item.accelerators for item in none.offers)
    assert none.untold == 0


def test_not_equal_is_true_of_what_has_none() -> None:
    assert "c7i.large" in names("accelerator!=L4")
    assert not set(names("accelerator!=L4")) & set(names("accelerator=L4"))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["g6.*", "price<1"], ["g6.xlarge", "g6.2xlarge"]),
        (["gr6", "g6f.large"], ["g6f.large", "gr6.4xlarge", "gr6.8xlarge"]),
        (["G6.XLARGE"], ["g6.xlarge"]),
        (["family=gr6,gr6f"], ["gr6f.4xlarge", "gr6.4xlarge", "gr6.8xlarge"]),
        (["instance=g6?.large"], ["g6f.large"]),
        (["vendor=nvidia", "arch=arm64", "vcpus<=8"], ["g5g.xlarge", "g5g.2xlarge"]),
        (["kind=fpga", "status=available"], ["f2.6xlarge", "f2.12xlarge", "f2.48xlarge"]),
        (["efa=yes", "count=8", "price<10"], ["vt1.24xlarge", "g4dn.metal"]),
        (["network>=3200Gbps", "price<60"], ["p5.48xlarge"]),
        (["cpu=AMD", "family=c7a", "cores==1"], ["c7a.medium"]),
        (["price=0.202"], ["g6f.large"]),
        (["price>=$142", "kind=gpu"], ["p6-b300.48xlarge"]),
    ],
)
def test_words_together(words: list[str], expected: list[str]) -> None:
    assert names(*words) == expected


def test_every_key_works_as_in_its_example() -> None:
    for key in KEYS.values():
        chosen = found(key.example)
        assert chosen.offers or key.name == "spot", key.example


# --- what is unknown ---


def test_an_unknown_value_satisfies_no_comparison_and_is_counted() -> None:
    for word in ("price<1000000", "price>0", "price!=1"):
        chosen = found(word)
        assert len(chosen.offers) == 1395 - 28
        assert (chosen.untold, chosen.untold_by) == (28, {"price": 28})


def test_only_what_nothing_else_rules_out_counts_as_untold() -> None:
    chosen = found("price<1", "kind=neuron")
    assert [item.instance for item in chosen.offers] == ["inf1.xlarge", "inf1.2xlarge", "inf2.xlarge"]
    assert chosen.untold == 2  # the two sizes of trn2
    assert found("price<1", "family=c7a").untold == 0


def test_what_is_unknown_twice_is_untold_once() -> None:
    chosen = found("vcpus>0", "memory>0", "i3.metal")
    assert (chosen.offers, chosen.untold, chosen.untold_by) == ((), 1, {"vcpus": 1, "memory": 1})


def test_spot_prices_are_unknown_until_they_are_fetched() -> None:
    assert found("spot<1").untold == 1395
    cheap = replace(
        OFFERS[0],
        spot_usd_per_hour=0.01,
        missing={name: why for name, why in OFFERS[0].missing.items() if name != "spot_usd_per_hour"},
    )
    assert select([cheap], parse(["spot<1"])).offers == (cheap,)


# --- slips of the pen ---


@pytest.mark.parametrize(
    ("word", "fix"),
    [
        ("acelerator=L4", "did you mean accelerator"),
        ("colour=red", "write for instance accelerator=L4"),
        ("memory=>4GiB", "write memory>=4GiB"),
        ("vcpus:8", "write vcpus<=8"),
        ("price~1", "write price<1usd"),
        ("family>=g6", "write family=g6"),
        ("memory>=4foo", "write memory>=48GiB"),
        ("memory>=lots", "write memory>=48GiB"),
        ("share<1/0", "write share<1"),
        ("clock>3", "write clock>=3.5GHz"),
        ("clock>GHz", "write clock>=3.5GHz"),
        ("vcpus=", "write vcpus<=8"),
        ("status=gone", "write status=withdrawn"),
        ("status=withdrwan", "did you mean withdrawn?"),
        ("memory", "write memory>=48GiB"),
        ("memory>=16", "did you mean memory>=16GiB?"),
        ("memory=16", "did you mean memory=16GiB?"),
        ("device_memory > 1e9", "did you mean device_memory > 1e9GiB?"),
        ("nvme>=100", "did you mean nvme>=100GB?"),
        ("network>=25", "did you mean network>=25Gbps?"),
        ("network_peak>=25.5", "did you mean network_peak>=25.5Gbps?"),
        ("ebs>500", "did you mean ebs>500MB/s?"),
        ("memory>=-1GiB", "write memory>=48GiB"),
        ("price>-1", "write price<1usd"),
        ("efa=maybe", "write efa=yes"),
        ("kind=gpus", "did you mean gpu?"),
        ("kind!=tpu", "did you mean"),
        ("arch=arm46", "did you mean arm64?"),
        ("arch=z*", "write arch=arm64"),
        ("=L4", "write accelerator=L4"),
        ("<=3", "write accelerator<=3"),
        ("", "leave it out"),
    ],
)
def test_a_word_that_means_nothing_is_told_what_to_type(word: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse([word])
    assert fix in caught.value.fix


def test_architectures_may_be_called_as_other_programs_do() -> None:
    assert names("arch=amd64") == names("arch=x86_64")
    assert names("arch=aarch64") == names("arch=arm64")


@pytest.mark.parametrize("word", ["memory>0", "nvme=0", "network>=0.0", "ebs!=0", "arch=arm*", "kind=n*", "arch~mac"])
def test_zero_needs_no_unit_and_a_pattern_may_stand_for_a_choice(word: str) -> None:
    assert names(word)


def test_an_unknown_key_is_told_all_keys() -> None:
    with pytest.raises(UsageError) as caught:
        parse(["colour=red"])
    assert all(name in caught.value.why for name in KEYS)


@pytest.mark.parametrize(
    ("word", "fix"),
    [
        ("g6.xlrge", "did you mean g6.xlarge"),
        ("g66.*", "name a family"),
        ("H100", "write accelerator=H100"),
        ("g6.[", "g6"),
    ],
)
def test_a_name_of_no_instance_type_is_an_error(word: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        found(word)
    assert fix in caught.value.fix


def test_a_name_that_occurs_nowhere_is_a_hint_not_an_error() -> None:
    assert found("accelerator=H300").hints == ("No offer has accelerator=H300. Did you mean H200 or H100 or B300?",)
    assert found("accelerator=L44").hints == ("No offer has accelerator=L44. Did you mean L4?",)
    (hint,) = found("region=eu-west-1").hints
    assert "us-east-1" in hint
    assert "brimful catalog refresh" in hint
    assert found("accelerator=H100", "price<1").hints == ()


@given(st.lists(st.text(max_size=12), max_size=3))
def test_any_words_are_a_filter_or_a_usage_error(words: list[str]) -> None:
    with contextlib.suppress(UsageError):
        chosen = found(*words)
        assert len(chosen.offers) + chosen.untold <= len(OFFERS)


@given(st.sampled_from(sorted(KEYS)), st.sampled_from(OPERATORS), st.text(max_size=8))
def test_any_comparison_is_a_filter_or_a_usage_error(key: str, op: str, text: str) -> None:
    with contextlib.suppress(UsageError):
        select(OFFERS[:50], parse([f"{key}{op}{text}"]))


@given(st.sampled_from([">=", "<=", ">", "<", "=", "!="]), st.floats(0, 1000))
def test_a_comparison_and_its_opposite_part_the_known_offers(op: str, price: float) -> None:
    opposite = {">=": "<", "<=": ">", ">": "<=", "<": ">=", "=": "!=", "!=": "="}[op]
    one, other = set(names(f"price{op}{price:.4f}")), set(names(f"price{opposite}{price:.4f}"))
    assert not one & other
    assert len(one | other) == 1395 - 28


def test_the_docs_list_every_key_with_its_example() -> None:
    page = (Path(__file__).parent.parent / "docs" / "catalog.md").read_text("utf-8")
    for key in KEYS.values():
        assert f"| `{key.name}` | {key.what} | `{key.example}` |" in page
    for op in OPERATORS:
        assert f"`{op}`" in page


def test_offers_of_the_same_price_stand_in_order_of_size() -> None:
    known: list[Offer] = [item for item in OFFERS if item.status is Status.AVAILABLE and item.vcpus is not None]
    twins = [replace(item, usd_per_hour=1.0) for item in known if item.family == "c7a" and item.usd_per_hour]
    sizes = [item.vcpus for item in select(reversed(twins), parse([])).offers]
    assert sizes == sorted(size for size in sizes if size is not None)


# --- the verb: regions, and services that have ended


def shown(*words: str, region: str = "us-east-1", folder: Path = Path("/nonexistent")) -> Choice:
    return show(load_config({"region": region, "catalog_dir": str(folder)}), words)


@pytest.mark.parametrize("words", [("g6.xlarge",), (), ("status=withdrawn",)])
def test_a_region_of_which_the_catalogue_knows_nothing_is_an_error_with_the_way_to_get_it(words) -> None:
    with pytest.raises(UsageError) as caught:
        shown(*words, region="eu-west-1")
    assert "brimful catalog refresh --region eu-west-1" in caught.value.fix
    assert "it has us-east-1" in caught.value.why


def test_the_configured_region_counts_and_a_condition_on_the_region_counts_over_it(tmp_path) -> None:
    moved = tuple(replace(item, region="eu-west-1") for item in OFFERS[:3])
    write_table(tmp_path / "ec2-eu-west-1.json", Table("offers", date(2026, 8, 2), moved))
    assert len(shown(region="eu-west-1", folder=tmp_path).instances) == 3
    assert len(shown(region="us-east-1", folder=tmp_path).instances) == len(OFFERS)
    assert len(shown("region=eu-west-1", folder=tmp_path).instances) == 3
    assert len(shown("region=*", folder=tmp_path).instances) == len(OFFERS) + 3


@pytest.mark.parametrize(
    "words",
    ["Elastic Inference", "elastic-inference", "eia*", "eia1", "eia2.medium", "accelerator=eia1.medium", "eia?.*"],
)
def test_a_service_that_has_ended_is_found_by_every_name(words: str) -> None:
    for asked in ((words,), tuple(words.split())):
        choice = shown(*asked)
        assert [item.service for item in choice.services] == ["Elastic Inference"]
        assert not choice.instances


def test_what_is_withdrawn_includes_the_services_unless_something_else_is_asked_too() -> None:
    assert [item.service for item in shown("status=withdrawn").services] == ["Elastic Inference", "Elastic Graphics"]
    assert not shown("status=withdrawn", "accelerator=V100").services
    assert not shown("status=withdrawn", "p3").services
    assert not shown("*").services
