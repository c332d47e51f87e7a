"""catalog refresh: what it reads and refuses, and that a failure leaves the old catalogue as it was, to the byte."""

from __future__ import annotations

import errno
import fcntl
import functools
import http.server
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import botocore.awsrequest
import botocore.endpoint
import pytest
from botocore.exceptions import ClientError, UnknownEndpointError
from botocore.stub import Stubber
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from moto import mock_aws
from moto.ec2.models.instance_types import INSTANCE_TYPES

from brimful import config as settings_of
from brimful.catalog import Table, load, write_table
from brimful.cli import app
from brimful.clouds import aws_errors, ec2_catalog
from brimful.clouds.ec2_catalog import Clients, check_region
from brimful.clouds.ec2_prices import on_demand, sagemaker, spot
from brimful.clouds.ec2_types import offer_from_describe
from brimful.model.errors import BrimfulError, CloudError, ConfigError, StorageError, Unavailable, UsageError
from brimful.model.hardware import DeviceKind, Offer, Status, WithdrawalEvidence
from brimful.model.noun import with_gaps
from brimful.model.refreshed import PriceChange, Refreshed, RefreshedRegion, StatusChange
from brimful.model.units import GIB, MIB
from brimful.report import refreshed
from brimful.verbs import refresh as verb
from brimful.verbs.refresh import LOCK, UNTOUCHED, refresh

DOCS = Path(__file__).parent.parent / "docs"
TODAY = date(2027, 1, 15)  # after every shipped date, so that what is read counts over what is shipped
NOW = datetime(2027, 1, 15, 12, tzinfo=UTC)
REGION = "eu-west-1"


DEFAULTS = {name: getattr(ec2_catalog, name) for name in ("CONNECT_S", "READ_S", "ATTEMPTS")}


@pytest.fixture(autouse=True)
def _fake_credentials(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setattr(ec2_catalog, "ATTEMPTS", 1)
    monkeypatch.setattr(ec2_catalog, "CONNECT_S", 1)
    monkeypatch.setattr(ec2_catalog, "READ_S", 1)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "catalog"


@pytest.fixture
def config(folder):
    return config_for(folder)


def config_for(folder: Path) -> settings_of.Config:
    return settings_of.load({"catalog_dir": str(folder), "region": REGION}, env={"HOME": str(folder)}, folder=folder)


# What AWS would answer, by hand


def described(name: str, **known: Any) -> dict[str, Any]:
    return {
        "InstanceType": name,
        "VCpuInfo": {"DefaultVCpus": 4, "DefaultCores": 2},
        "MemoryInfo": {"SizeInMiB": 16384},
        "ProcessorInfo": {
            "SupportedArchitectures": ["x86_64"],
            "Manufacturer": "Intel",
            "SustainedClockSpeedInGhz": 2.5,
        },
        "NetworkInfo": {
            "NetworkCards": [{"BaselineBandwidthInGbps": 5.0, "PeakBandwidthInGbps": 25.0}],
            "EfaSupported": False,
        },
        "InstanceStorageSupported": False,
        **known,
    }


def product(name: str, usd: Any = "0.5", **known: Any) -> dict[str, Any]:
    """A row of the price list; `known` replaces attributes, or the parts `prices`, `unit`, `terms`."""
    prices = known.pop("prices", {"USD": usd})
    dimension = {"unit": known.pop("unit", "Hrs"), "pricePerUnit": prices, "beginRange": "0", "endRange": "Inf"}
    terms = known.pop("terms", {"OnDemand": {"SKU.TERM": {"priceDimensions": {"SKU.TERM.RATE": dimension}}}})
    attributes = {
        "instanceType": name,
        "regionCode": REGION,
        "locationType": "AWS Region",
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
        **known,
    }
    return {"product": {"sku": "SKU", "attributes": attributes}, "terms": terms, "publicationDate": "2027-01-01"}


def price(name: str, usd: Any = "0.5", **known: Any) -> str:
    return json.dumps(product(name, usd, **known))


def learning(name: str, usd: Any, use: str) -> str:
    attributes = {"instanceName": name, "instanceType": f"{name}-{use}", "component": use, "regionCode": REGION}
    return json.dumps(
        {
            "product": {"sku": "S", "attributes": attributes},
            "terms": {
                "OnDemand": {"a": {"priceDimensions": {"b": {"unit": "Hrs", "pricePerUnit": {"USD": usd}}}}},
            },
        }
    )


def spot_row(name: str, usd: str, zone: str = "eu-west-1a", at: Any = NOW, kind: str = "Linux/UNIX") -> dict[str, Any]:
    return {
        "InstanceType": name, "SpotPrice": usd, "AvailabilityZone": zone, "Timestamp": at, "ProductDescription": kind,
    }  # fmt: skip


L4 = {
    "Gpus": [
        {"Name": "L4", "Manufacturer": "NVIDIA", "Count": 1, "LogicalGpuCount": 1, "MemoryInfo": {"SizeInMiB": 22888}}
    ]
}
ANSWERS: dict[str, Any] = {
    "describe_instance_types": [
        {"InstanceTypes": [described("g6.xlarge", GpuInfo=L4)]},
        {"InstanceTypes": [described("m7i.xlarge")]},
    ],
    "describe_instance_type_offerings": [
        {"InstanceTypeOfferings": [{"InstanceType": "g6.xlarge"}, {"InstanceType": "m7i.xlarge"}]}
    ],
    "AmazonEC2": [{"PriceList": [price("g6.xlarge", "0.8048")]}, {"PriceList": [price("m7i.xlarge", "0.2016")]}],
    "describe_spot_price_history": [{"SpotPriceHistory": [spot_row("g6.xlarge", "0.31")]}],
    "Hosting": [{"PriceList": [learning("ml.g6.xlarge", "1.1267", "Hosting")]}],
    "Training": [{"PriceList": [learning("ml.g6.xlarge", "1.1267", "Training")]}],
    "Notebook": [{"PriceList": []}],
}
ACTION = {
    "describe_instance_types": "ec2:DescribeInstanceTypes",
    "describe_instance_type_offerings": "ec2:DescribeInstanceTypeOfferings",
    "describe_spot_price_history": "ec2:DescribeSpotPriceHistory",
    "AmazonEC2": "pricing:GetProducts",
    "Hosting": "pricing:GetProducts",
}
CORE = ("describe_instance_types", "describe_instance_type_offerings", "AmazonEC2")


class Played:
    """Clients that play back pages by question; an exception among them is raised, a function is called."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {**ANSWERS, **answers}
        self.asked: list[tuple[str, str, dict[str, Any]]] = []

    def make(self, service: str, region: str) -> Any:
        return _Client(self, service, region)


class _Client:
    def __init__(self, played: Played, service: str, region: str) -> None:
        self.played, self.service, self.region = played, service, region

    def get_paginator(self, operation: str) -> Any:
        return functools.partial(_Pages, self, operation)()


class _Pages:
    def __init__(self, client: _Client, operation: str) -> None:
        self.client, self.operation = client, operation

    def paginate(self, **arguments: Any) -> Iterator[Any]:
        self.client.played.asked.append((self.client.region, self.operation, arguments))
        answers = self.client.played.answers
        for page in answers[self._question(arguments)]:
            if isinstance(page, BaseException):
                raise page
            yield page(self.client.region) if callable(page) else page

    def _question(self, arguments: dict[str, Any]) -> str:
        if self.operation != "get_products":
            return self.operation
        told = {item["Field"]: item["Value"] for item in arguments["Filters"]}
        return told.get("component", "AmazonEC2")


def refusal(code: str, said: str = "said by AWS") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": said}}, "Asked")


def read_anew(config: settings_of.Config, clients: Any = None, regions: Any = (REGION,), **how: Any) -> Refreshed:
    return refresh(config, regions, clients or Played(), today=how.pop("today", TODAY), **how)


def only(found: Refreshed) -> RefreshedRegion:
    assert not found.failed
    (region,) = found.regions
    return region


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != LOCK}


@contextmanager
def nothing_changes(folder: Path) -> Iterator[None]:
    """Hold that the old files are there to the byte afterwards, no others, and the lock is free."""
    before = bytes_of(folder)
    yield
    assert bytes_of(folder) == before
    with (folder / LOCK).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.fixture
def old(config, folder):
    """An older refresh, so that there is something to lose."""
    read_anew(config, today=TODAY - timedelta(days=30))
    return folder


def offer_of(folder: Path, name: str, region: str = REGION) -> Offer:
    found = load(folder).offer(name, region)
    assert found is not None
    return found


# What it reads and writes


def test_a_refresh_is_laid_over_the_shipped_catalogue(config, folder):
    found = only(read_anew(config))
    assert [Path(path).name for path in found.files] == [f"ec2-{REGION}.json", f"sagemaker-{REGION}.json"]
    assert (found.described_count, found.offered_count, found.priced_count) == (2, 2, 2)
    assert (found.spot_count, found.sagemaker_count) == (1, 1)
    assert found.added == ("g6.xlarge", "m7i.xlarge", "ml.g6.xlarge")
    assert not found.warnings
    offer = offer_of(folder, "g6.xlarge")
    assert (offer.usd_per_hour, offer.price_date, offer.status) == (0.8048, TODAY, Status.AVAILABLE)
    assert (offer.spot_usd_per_hour, offer.spot_date) == (0.31, TODAY)
    assert offer.accelerators is not None
    assert offer.accelerators[0].usable_memory_bytes == 22888 * MIB
    assert load(folder).offer("g6.xlarge") == load().offer("g6.xlarge"), "another region's offers stay as they were"


def test_the_questions_are_those_that_the_docs_name(config):
    played = Played()
    read_anew(config, played)
    asked = {(region, operation) for region, operation, _ in played.asked}
    assert asked == {
        (REGION, "describe_instance_types"),
        (REGION, "describe_instance_type_offerings"),
        (REGION, "describe_spot_price_history"),
        ("eu-central-1", "get_products"),
    }
    products = [arguments for _, operation, arguments in played.asked if operation == "get_products"]
    filters = {item["Field"]: item["Value"] for item in products[0]["Filters"]}
    assert filters == {
        "regionCode": REGION, "operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA",
        "capacitystatus": "Used",
    }  # fmt: skip
    assert [item["Filters"][1]["Value"] for item in products[1:]] == ["Hosting", "Training", "Notebook"]
    text = (DOCS / "refresh.md").read_text("utf-8")
    for action in aws_errors.ACTIONS:
        assert action in text


@pytest.mark.parametrize(
    ("region", "home"),
    [("af-south-1", "eu-central-1"), ("ap-southeast-2", "ap-south-1"), ("sa-east-1", "us-east-1")],
)
def test_prices_are_asked_for_where_the_price_list_is_served(config, region, home):
    played = Played(AmazonEC2=[{"PriceList": [price("g6.xlarge", regionCode=region)]}])
    read_anew(config, played, regions=(region,))
    assert {place for place, operation, _ in played.asked if operation == "get_products"} == {home}


def test_each_question_is_told_before_it_is_asked_since_its_answer_may_never_come(config):
    told: list[str] = []
    clients = Played()
    with pytest.raises(BrimfulError):
        read_anew(config, clients, regions=("no-such-region",), tell=told.append)
    assert told == []
    read_anew(config, clients, tell=told.append)
    first = next(line for line in told if "ec2:DescribeInstanceTypes" in line)
    assert "asking for" in first


def test_a_silent_server_is_given_up_after_about_a_minute():
    pauses_s = sum(2**attempt for attempt in range(DEFAULTS["ATTEMPTS"] - 1))  # botocore: at most 1, 2, 4, 8 s
    assert max(DEFAULTS["CONNECT_S"], DEFAULTS["READ_S"]) * DEFAULTS["ATTEMPTS"] + pauses_s <= 65


def test_the_policy_in_the_docs_is_the_one_that_errors_print():
    text = (DOCS / "refresh.md").read_text("utf-8")
    block = text.split("```json\n")[1].split("```")[0]
    assert json.loads(block) == json.loads(aws_errors.policy())
    assert json.loads(block)["Statement"][0]["Action"] == list(aws_errors.ACTIONS)


def test_the_configured_region_is_read_when_none_is_named(config, folder):
    played = Played()
    assert [item.region for item in read_anew(config, played, regions=()).regions] == [REGION]
    assert (folder / f"ec2-{REGION}.json").is_file()


def test_a_region_named_twice_is_read_once(config):
    assert len(read_anew(config, regions=(REGION, REGION)).regions) == 1


def test_without_spot_and_sagemaker_their_old_figures_stay(old, config):
    before = bytes_of(old)
    found = only(read_anew(config, with_spot=False, with_sagemaker=False))
    assert (found.spot_count, found.sagemaker_count) == (None, None)
    offer = offer_of(old, "g6.xlarge")
    assert (offer.spot_usd_per_hour, offer.spot_date) == (0.31, TODAY - timedelta(days=30))
    assert offer.price_date == TODAY
    assert bytes_of(old)[f"sagemaker-{REGION}.json"] == before[f"sagemaker-{REGION}.json"]


def test_a_first_refresh_without_spot_says_how_to_get_them(config, folder):
    read_anew(config, with_spot=False, with_sagemaker=False)
    offer = offer_of(folder, "g6.xlarge")
    assert offer.spot_usd_per_hour is None
    assert "brimful catalog refresh" in offer.missing["spot_usd_per_hour"]
    assert not (folder / f"sagemaker-{REGION}.json").exists()


@pytest.mark.usefixtures("old")
def test_the_same_answer_twice_changes_nothing_but_dates(config):
    found = only(read_anew(config))
    assert (found.added, found.removed, found.statuses, found.prices, found.spot_changed_count) == ((), (), (), (), 0)
    assert "nothing changed but the dates" in refreshed.text(Refreshed(regions=(found,), failed=()))


def test_a_machine_whose_clock_is_behind_is_warned_that_the_shipped_prices_count(config):
    found = only(read_anew(config, today=date(2020, 1, 1)))
    assert any("clock says 2020-01-01" in warning for warning in found.warnings)


# The status: only an offering proves that a type can be had


def page(*names: str) -> list[dict[str, Any]]:
    return [{"InstanceTypeOfferings": [{"InstanceType": name} for name in names]}]


def test_a_price_and_a_description_prove_nothing(config, folder):
    only(read_anew(config, Played(describe_instance_type_offerings=page("m7i.xlarge"))))
    offer = offer_of(folder, "g6.xlarge")
    assert (offer.status, offer.usd_per_hour) == (Status.UNKNOWN, 0.8048)
    assert f"Not among the types that EC2 offers in {REGION}, as first seen on {TODAY}" in offer.note


def test_a_price_alone_makes_an_offer_of_unknown_status_and_nothing_else(config, folder):
    only(read_anew(config, Played(AmazonEC2=[{"PriceList": [price("zz9.large", "9")]}])))
    offer = offer_of(folder, "zz9.large")
    assert (offer.status, offer.usd_per_hour, offer.vcpus, offer.accelerators) == (Status.UNKNOWN, 9.0, None, None)
    assert "does not describe" in offer.missing["vcpus"]


def test_an_offering_without_price_and_description_can_be_had(config, folder):
    names = ("g6.xlarge", "m7i.xlarge", "new1.large")
    only(read_anew(config, Played(describe_instance_type_offerings=page(*names))))
    offer = offer_of(folder, "new1.large")
    assert (offer.status, offer.usd_per_hour) == (Status.AVAILABLE, None)
    assert offer.missing["usd_per_hour"] == f"the price list has no price in {REGION}"


def test_a_type_that_vanishes_is_unknown_with_the_day_it_was_first_missed(old, config):
    gone = {
        "describe_instance_types": [{"InstanceTypes": [described("m7i.xlarge")]}],
        "describe_instance_type_offerings": page("m7i.xlarge"),
        "AmazonEC2": [{"PriceList": [price("m7i.xlarge")]}],
    }
    found = only(read_anew(config, Played(**gone)))
    assert found.statuses == (StatusChange(instance="g6.xlarge", before=Status.AVAILABLE, after=Status.UNKNOWN),)
    offer = offer_of(old, "g6.xlarge")
    assert (offer.vcpus, offer.usd_per_hour, offer.withdrawal) == (4, None, None)
    assert offer.specification_date == TODAY - timedelta(days=30), "its machine is that of the older answer"
    only(read_anew(config, Played(**gone), today=TODAY + timedelta(days=9)))
    again = offer_of(old, "g6.xlarge")
    assert again.note.count(f"as first seen on {TODAY}") == 1
    back = only(read_anew(config, today=TODAY + timedelta(days=10)))
    assert [item.after for item in back.statuses] == [Status.AVAILABLE]
    assert offer_of(old, "g6.xlarge").note == ""


def withdrawn(name: str, region: str, by: WithdrawalEvidence) -> Offer:
    return with_gaps(
        Offer, "EC2 no longer describes this type", instance=name, family=name.partition(".")[0], region=region,
        status=Status.WITHDRAWN, withdrawn_on=date(2025, 12, 20), withdrawal=by, successors=("g6.xlarge",),
        note="AWS said so.", source="a notice", licence="LicenseRef-facts",
    )  # fmt: skip


def known_before(folder: Path, *offers: Offer) -> None:
    write_table(folder / "known.json", Table("offers", TODAY - timedelta(days=60), offers))


def test_what_was_withdrawn_stays_withdrawn_with_its_evidence_whatever_has_a_price(config, folder):
    known_before(folder, withdrawn("p3.2xlarge", REGION, WithdrawalEvidence.ABSENT))
    only(read_anew(config, Played(AmazonEC2=[{"PriceList": [price("p3.2xlarge", "3.06")]}])))
    offer = offer_of(folder, "p3.2xlarge")
    assert (offer.status, offer.withdrawn_on, offer.successors) == (
        Status.WITHDRAWN,
        date(2025, 12, 20),
        ("g6.xlarge",),
    )
    assert (offer.usd_per_hour, offer.note) == (3.06, "AWS said so.")


@pytest.mark.parametrize(
    ("by", "status"), [(WithdrawalEvidence.ANNOUNCED, Status.WITHDRAWN), (WithdrawalEvidence.ABSENT, Status.UNKNOWN)]
)
def test_of_another_regions_withdrawals_only_an_announced_one_counts_here(config, folder, by, status):
    known_before(folder, withdrawn("zz9.large", "us-west-2", by))
    only(read_anew(config, Played(AmazonEC2=[{"PriceList": [price("zz9.large", "3.06")]}])))
    assert offer_of(folder, "zz9.large").status is status


def test_the_machine_of_a_type_that_is_not_described_here_is_the_one_known_elsewhere(config, folder):
    only(read_anew(config, Played(AmazonEC2=[{"PriceList": [price("g6f.large", "0.25")]}])))
    offer, known = offer_of(folder, "g6f.large"), offer_of(folder, "g6f.large", "us-east-1")
    assert (offer.accelerators, offer.vcpus, offer.usd_per_hour) == (known.accelerators, known.vcpus, 0.25)
    assert (offer.status, offer.specification_date) == (Status.UNKNOWN, known.specification_date)


def test_a_withdrawn_type_that_is_offered_after_all_can_be_had(config, folder):
    known_before(folder, withdrawn("p3.2xlarge", REGION, WithdrawalEvidence.ANNOUNCED))
    names = ("g6.xlarge", "m7i.xlarge", "p3.2xlarge")
    found = only(read_anew(config, Played(describe_instance_type_offerings=page(*names))))
    offer = offer_of(folder, "p3.2xlarge")
    assert (offer.status, offer.withdrawal, offer.withdrawn_on, offer.note) == (Status.AVAILABLE, None, None, "")
    assert found.statuses[0].before is Status.WITHDRAWN


# Prices


def test_a_changed_a_new_and_a_lost_price_are_named(old, config):
    played = Played(AmazonEC2=[{"PriceList": [price("g6.xlarge", "0.9"), price("new.large", "1")]}])
    found = only(read_anew(config, played))
    by_name = {item.instance: item for item in found.prices}
    assert by_name["g6.xlarge"] == PriceChange(instance="g6.xlarge", before_usd_per_hour=0.8048, after_usd_per_hour=0.9)
    assert by_name["m7i.xlarge"].after_usd_per_hour is None
    assert offer_of(old, "m7i.xlarge").price_date is None
    assert found.added == ("new.large",)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (price("x.large", "0.0000000000"), "its price is 0"),
        (price("x.large", "-0.5"), "its price is negative"),
        (price("x.large", "NaN"), "its price is no number"),
        (price("x.large", "1e999"), "its price is no number"),
        (price("x.large", "cheap"), "its price is no number"),
        (price("x.large", prices={"CNY": "3.5"}), "it is priced in CNY, not in USD"),
        (price("x.large", prices={}), "it is priced in nothing, not in USD"),
        (price("x.large", unit="Quantity"), "its unit is 'Quantity', not an hour"),
        (price("x.large", terms={"Reserved": {}}), "it has no on-demand price"),
        (price("x.large", usd=0.5), "it is not in the form of the price list"),
        (price("", "1"), "it names no instance type"),
        ('{"product":', "it is not in the form of the price list"),
        ('"text"', "it is not in the form of the price list"),
        ("[" * 100_000, "it is not in the form of the price list"),
        (7, "it is not in the form of the price list"),
    ],
    ids=repr,
)
def test_a_price_that_cannot_be_used_is_counted_and_never_zero(config, folder, row, why):
    good = json.loads(ANSWERS["AmazonEC2"][0]["PriceList"][0])
    found = only(read_anew(config, Played(AmazonEC2=[{"PriceList": [good, row]}])))
    (skipped,) = found.skipped
    assert (skipped.part, skipped.why, skipped.rows_count) == ("on-demand prices", why, 1)
    assert any(why in warning for warning in found.warnings)
    assert found.priced_count == 1
    assert all(offer.usd_per_hour != 0 for offer in load(folder).offers)


def test_an_offered_type_with_an_unusable_price_says_why(config, folder):
    only(read_anew(config, Played(AmazonEC2=[{"PriceList": [price("g6.xlarge"), price("m7i.xlarge", "0")]}])))
    offer = offer_of(folder, "m7i.xlarge")
    assert (offer.usd_per_hour, offer.status) == (None, Status.AVAILABLE)
    assert offer.missing["usd_per_hour"] == "its price in the list cannot be used: its price is 0"


@pytest.mark.parametrize(
    "other",
    [
        {"marketoption": "CapacityBlock"},
        {"locationType": "AWS Local Zone"},
        {"tenancy": "Dedicated"},
        {"capacitystatus": "UnusedCapacityReservation"},
        {"operatingSystem": "Windows"},
        {"preInstalledSw": "SQL Web"},
        {"regionCode": "us-west-2"},
    ],
    ids=lambda other: next(iter(other.values())),
)
def test_another_way_to_buy_the_same_type_is_neither_its_price_nor_a_fault(other):
    rates = on_demand([price("p5.4xlarge", "6.88"), price("p5.4xlarge", "0.0000000000", **other)], REGION)
    assert rates.usd_per_hour == {"p5.4xlarge": 6.88}
    assert not rates.skipped


def test_two_different_prices_of_one_type_are_no_price():
    rates = on_demand([price("a.large", "1"), price("a.large", "2"), price("b.large", "3")], REGION)
    assert rates.usd_per_hour == {"b.large": 3.0}
    assert rates.unusable == {"a.large": "the price list gives several prices for it: 1, 2 USD"}


def test_the_same_price_twice_is_one_price_even_beside_a_broken_row():
    rates = on_demand([price("a.large", "0"), price("a.large", "1"), product("a.large", "1")], REGION)
    assert (rates.usd_per_hour, rates.unusable) == ({"a.large": 1.0}, {})


def test_of_the_spot_prices_the_latest_of_each_zone_and_of_those_the_lowest_counts():
    before = NOW - timedelta(hours=5)
    rows = [
        spot_row("a.large", "0.10", "eu-west-1a", before),
        spot_row("a.large", "0.30", "eu-west-1a", NOW),
        spot_row("a.large", "0.25", "eu-west-1b", before, "Linux/UNIX (Amazon VPC)"),
        spot_row("a.large", "0.01", "eu-west-1c", NOW, "Windows"),
    ]
    assert spot(rows).usd_per_hour == {"a.large": 0.25}
    assert spot(reversed(rows)).usd_per_hour == {"a.large": 0.25}


@pytest.mark.parametrize(
    "row",
    [
        spot_row("a.large", "0"),
        spot_row("a.large", "-1"),
        spot_row("a.large", "inf"),
        spot_row("a.large", "1", at=None),
        spot_row("a.large", "1", at=datetime(1, 1, 1)),  # noqa: DTZ001 - a time without a zone, at the edge of time
        spot_row("a.large", "1", zone=""),
        {},
        None,
    ],
    ids=repr,
)
def test_a_spot_price_that_cannot_be_used_is_counted(row):
    rates = spot([row, spot_row("b.large", "1")])
    assert rates.usd_per_hour.get("b.large") == 1.0
    if "a.large" not in rates.usd_per_hour:
        assert sum(map(len, rates.skipped.values())) == 1
    assert 0 not in rates.usd_per_hour.values()


def test_sagemaker_counts_hosting_and_notes_the_other_uses(config, folder):
    training = [learning("ml.g6.xlarge", "1.2", "Training"), learning("ml.p5.4xlarge", "8", "Training")]
    notebook = [learning("ml.zz9.medium", "0.05", "Notebook")]
    played = Played(Training=[{"PriceList": training}], Notebook=[{"PriceList": notebook}])
    found = only(read_anew(config, played))
    assert found.sagemaker_count == 3
    offer = offer_of(folder, "ml.g6.xlarge")
    assert (offer.usd_per_hour, offer.family, offer.status) == (1.1267, "ml.g6", Status.UNKNOWN)
    assert "hosting $1.13, training $1.20; hosting's is the price here" in offer.note
    machine = offer_of(folder, "g6.xlarge")
    assert (offer.vcpus, offer.accelerators, offer.memory_bytes) == (
        machine.vcpus,
        machine.accelerators,
        machine.memory_bytes,
    )
    trained = offer_of(folder, "ml.p5.4xlarge")
    assert trained.usd_per_hour is None
    assert "no price for hosting" in trained.missing["usd_per_hour"]
    known = load().offer("p5.4xlarge")
    assert known is not None
    assert (trained.vcpus, trained.accelerators) == (known.vcpus, known.accelerators), "as in another region"
    assert offer_of(folder, "ml.zz9.medium").vcpus is None


@pytest.mark.usefixtures("old")
def test_a_sagemaker_type_that_left_the_price_list_is_named(config):
    played = Played(Hosting=[{"PriceList": [learning("ml.new.large", "1", "Hosting")]}], Training=[{"PriceList": []}])
    found = only(read_anew(config, played))
    assert (found.removed, found.added) == (("ml.g6.xlarge",), ("ml.new.large",))


def test_rows_of_sagemaker_that_are_no_instances_are_passed_over_in_silence():
    storage = learning("", "0.14", "Hosting")
    older = json.loads(learning("", "1", "Hosting"))
    older["product"]["attributes"] |= {"instanceName": "", "instanceType": "ml.p3.2xlarge-Hosting"}
    rates = sagemaker([storage.replace('"-Hosting"', '""'), json.dumps(older)], REGION, "Hosting")
    assert rates.usd_per_hour == {"ml.p3.2xlarge": 1.0}
    assert not rates.skipped


def test_a_region_without_sagemaker_keeps_its_old_file(old, config):
    before = bytes_of(old)[f"sagemaker-{REGION}.json"]
    empty = [{"PriceList": []}]
    found = only(read_anew(config, Played(Hosting=empty, Training=empty)))
    assert any("no instances of SageMaker" in warning for warning in found.warnings)
    assert bytes_of(old)[f"sagemaker-{REGION}.json"] == before


# The machines: the traps in EC2's descriptions


def fitted(name: str, **known: Any) -> Any:
    offer = offer_from_describe(described(name, **known), region=REGION, day=TODAY)
    assert offer.accelerators is not None
    return offer.accelerators


def gpu(name: str, mib: int, count: int = 1, **known: Any) -> dict[str, Any]:
    part = {"Name": name, "Manufacturer": "NVIDIA", "Count": count, "MemoryInfo": {"SizeInMiB": mib}}
    return {"Gpus": [part | known]}


def test_a_share_of_a_gpu_is_listed_with_the_count_zero():
    (part,) = fitted("g6f.large", GpuInfo=gpu("L4", 2861, 0, LogicalGpuCount=1, GpuPartitionSize=0.125))
    assert (part.count, part.share) == (1, 0.125)
    assert (part.memory_bytes, part.usable_memory_bytes) == (3 * GIB, 2861 * MIB)


def test_inferentia_is_in_two_structures_and_counts_once():
    old_form = {"Accelerators": [{"Name": "Inferentia2", "Manufacturer": "AWS", "Count": 6}]}
    neuron = {
        "NeuronDevices": [
            {"Name": "Inferentia2", "Count": 6, "CoreInfo": {"Count": 2}, "MemoryInfo": {"SizeInMiB": 32768}}
        ]
    }
    (part,) = fitted("inf2.24xlarge", NeuronInfo=neuron, InferenceAcceleratorInfo=old_form)
    assert (part.model, part.kind, part.count, part.cores) == ("Inferentia2", DeviceKind.NEURON, 6, 2)
    (alone,) = fitted("inf9.large", InferenceAcceleratorInfo=old_form)
    assert (alone.vendor, alone.kind, alone.memory_bytes) == ("AWS", DeviceKind.NEURON, None)


def test_trainium2_has_the_memory_that_the_device_has_and_a_note():
    item = described(
        "trn2.3xlarge",
        NeuronInfo={
            "NeuronDevices": [
                {"Name": "Trainium2", "Count": 1, "CoreInfo": {"Count": 8}, "MemoryInfo": {"SizeInMiB": 524288}}
            ]
        },
    )
    offer = offer_from_describe(item, region=REGION, day=TODAY)
    assert offer.accelerators is not None
    assert offer.accelerators[0].memory_bytes == 96 * GIB
    assert "524,288" in offer.note
    item["NeuronInfo"]["NeuronDevices"][0]["MemoryInfo"]["SizeInMiB"] = 98304  # the day AWS mends it
    mended = offer_from_describe(item, region=REGION, day=TODAY)
    assert mended.accelerators is not None
    assert (mended.accelerators[0].memory_bytes, mended.note) == (96 * GIB, "")


def test_gaudi_is_no_gpu_and_media_and_fpga_are_accelerators_too():
    (gaudi,) = fitted("dl1.24xlarge", GpuInfo=gpu("Gaudi HL-205", 32768, 8, Manufacturer="Habana"))
    assert (gaudi.model, gaudi.vendor, gaudi.kind, gaudi.count) == ("Gaudi", "Intel", DeviceKind.GAUDI, 8)
    (media,) = fitted("vt1.3xlarge", MediaAcceleratorInfo={"Accelerators": [{"Name": "U30", "Count": 1}]})
    assert media.kind is DeviceKind.MEDIA
    (fpga,) = fitted("f2.6xlarge", FpgaInfo={"Fpgas": [{"Name": "Virtex UltraScale+ (VU47P)", "Count": 1}]})
    assert (fpga.model, fpga.kind) == ("VU47P", DeviceKind.FPGA)
    (other,) = fitted(
        "dl2q.24xlarge", InferenceAcceleratorInfo={"Accelerators": [{"Name": "Qualcomm AI100", "Count": 8}]}
    )
    assert (other.model, other.kind) == ("Cloud AI 100", DeviceKind.NPU)


def test_an_accelerator_that_nobody_knows_yet_stands_as_ec2_names_it_and_its_usable_memory_is_unknown():
    (part,) = fitted("g99.large", GpuInfo=gpu("X1000", 1000, LogicalGpuCount=1, Manufacturer=None))
    assert (part.model, part.vendor, part.memory_bytes) == ("X1000", "unknown", 1000 * MIB)
    assert "usable" in part.missing["usable_memory_bytes"]
    (share,) = fitted("g99f.large", GpuInfo=gpu("X1000", 250, 0, LogicalGpuCount=2, GpuPartitionSize=0.25))
    assert (share.count, share.memory_bytes, share.usable_memory_bytes) == (2, 250 * MIB, 250 * MIB)


def test_network_cards_add_up_and_an_unknown_one_makes_the_sum_unknown():
    cards = [{"BaselineBandwidthInGbps": 100.0, "PeakBandwidthInGbps": 100.0}] * 4
    item = described("p4d.24xlarge", NetworkInfo={"NetworkCards": cards, "EfaSupported": True})
    assert offer_from_describe(item, region=REGION, day=TODAY).network_bytes_per_s == 400e9 / 8
    item["NetworkInfo"]["NetworkCards"] = [*cards, {"PeakBandwidthInGbps": 100.0}]
    offer = offer_from_describe(item, region=REGION, day=TODAY)
    assert (offer.network_bytes_per_s, offer.network_peak_bytes_per_s) == (None, 500e9 / 8)


def test_disks_that_are_no_nvme_flash_are_no_place_to_stage_data():
    disks = {"TotalSizeInGB": 4000, "Disks": [{"Count": 2, "SizeInGB": 2000, "Type": "hdd"}]}
    item = described("d3.xlarge", InstanceStorageSupported=True, InstanceStorageInfo=disks)
    offer = offer_from_describe(item, region=REGION, day=TODAY)
    assert (offer.nvme_bytes, offer.nvme_disks) == (0, 0)
    assert "(2 x 2000 GB) are no NVMe flash" in offer.note
    disks["Disks"][0]["Type"] = "ssd"
    assert offer_from_describe(item, region=REGION, day=TODAY).nvme_bytes == 4000 * 10**9


def test_what_ec2_leaves_out_is_unknown_and_not_zero():
    offer = offer_from_describe({"InstanceType": "bare.large"}, region=REGION, day=TODAY)
    for name in ("vcpus", "cores", "memory_bytes", "clock_mhz", "network_bytes_per_s", "efa", "nvme_bytes"):
        assert getattr(offer, name) is None
        assert offer.missing[name]
    assert offer.accelerators == ()


def test_every_type_is_read_as_the_shipped_catalogue_has_it():
    """The two ways to an offer, this one and the tool that builds the shipped files, must not drift apart."""
    shipped = {offer.instance: offer for offer in load().offers if offer.specification_date}
    both = sorted(shipped.keys() & INSTANCE_TYPES.keys())
    assert len(both) > 1000
    names = ("vcpus", "cores", "memory_bytes", "arch", "cpu_vendor", "efa", "ebs_iops", "nvme_bytes", "nvme_disks")
    differ = [
        (name, field)
        for name in both
        for field in (*names, "accelerators")
        if getattr(offer_from_describe(INSTANCE_TYPES[name], region="us-east-1", day=TODAY), field)
        != getattr(shipped[name], field)
    ]
    assert len(differ) < len(both) / 100, differ  # AWS corrects its own figures from time to time, but not wholesale
    assert not [name for name, field in differ if field == "accelerators"]


# Refusals: each leaves the old catalogue as it was


@pytest.mark.parametrize("question", CORE)
@pytest.mark.parametrize(
    ("code", "what", "fix"),
    [
        ("UnauthorizedOperation", "does not allow {action}", "allow {action} for this identity"),
        ("AccessDeniedException", "does not allow {action}", "BrimfulCatalogRefresh"),
        ("ExpiredToken", "have expired", "aws sso login"),
        ("RequestExpired", "clock", "timedatectl"),
        ("AuthFailure", "does not accept the credentials", "aws sts get-caller-identity"),
        ("UnrecognizedClientException", "does not accept the credentials", "AWS_PROFILE"),
        ("OptInRequired", "cannot use eu-west-1", "enable-region --region-name eu-west-1"),
        ("RequestLimitExceeded", "throttles {action}", "wait"),
        ("ThrottlingException", "throttles {action}", "wait"),
        ("InvalidNextToken", "by halves", "run it again"),
        ("InternalError", "with InternalError", "again later"),
        ("", "with an error", "again later"),
    ],
)
def test_a_refusal_says_what_to_do_and_keeps_the_old_catalogue(old, config, question, code, what, fix):
    pages = [ANSWERS[question][0], refusal(code)]  # in the middle: one page came, the next one is refused
    with nothing_changes(old), pytest.raises(CloudError) as caught:
        read_anew(config, Played(**{question: pages}))
    action = ACTION[question]
    assert what.format(action=action) in caught.value.what
    assert fix.format(action=action) in caught.value.fix
    assert caught.value.why.endswith(UNTOUCHED)


def test_a_complaint_of_the_library_that_nobody_foresaw_is_still_an_error_of_ours(old, config):
    problem = UnknownEndpointError(service_name="ec2", region_name=REGION)
    with nothing_changes(old), pytest.raises(CloudError, match="failed in the AWS library") as caught:
        read_anew(config, Played(describe_instance_types=[problem]))
    assert "-v" in caught.value.fix


def test_a_mistake_of_our_own_is_not_called_a_refusal_of_aws(old, config):
    with nothing_changes(old), pytest.raises(ZeroDivisionError):
        read_anew(config, Played(describe_instance_types=[ZeroDivisionError()]))


def test_in_a_region_that_must_be_enabled_wrong_keys_may_mean_that_it_is_not(config):
    played = Played(describe_instance_types=[refusal("AuthFailure", "AWS was not able to validate the credentials")])
    with pytest.raises(CloudError, match="cannot use af-south-1") as caught:
        read_anew(config, played, regions=("af-south-1",))
    assert "aws account enable-region --region-name af-south-1" in caught.value.fix
    assert "aws sts get-caller-identity" in caught.value.fix


@pytest.mark.parametrize(
    ("question", "named"), [("describe_spot_price_history", "spot prices"), ("Hosting", "SageMaker's prices")]
)
def test_a_part_that_iam_forbids_is_left_out_with_a_warning_and_its_old_figures_stay(old, config, question, named):
    before = bytes_of(old)
    found = only(read_anew(config, Played(**{question: [refusal("UnauthorizedOperation")]})))
    (warning,) = found.warnings
    assert warning.startswith(f"{named} were not read")
    assert ACTION[question] in warning
    assert offer_of(old, "g6.xlarge").spot_usd_per_hour == 0.31
    same = bytes_of(old)[f"sagemaker-{REGION}.json"] == before[f"sagemaker-{REGION}.json"]
    assert same is (question == "Hosting")


@pytest.mark.parametrize("question", ["describe_spot_price_history", "Hosting"])
def test_a_part_that_fails_otherwise_fails_the_region(old, config, question):
    with nothing_changes(old), pytest.raises(CloudError, match="throttles"):
        read_anew(config, Played(**{question: [refusal("Throttling")]}))


@pytest.mark.parametrize(
    ("question", "pages", "why"),
    [
        ("describe_instance_types", [{"InstanceTypes": [described("a.large")]}, {}], "page 2 has no InstanceTypes"),
        ("describe_instance_types", [{"InstanceTypes": None}], "page 1 has no InstanceTypes"),
        ("describe_instance_types", [None], "page 1 has no InstanceTypes"),
        ("describe_instance_types", [{"InstanceTypes": [{"VCpuInfo": {}}]}], "which InstanceType"),
        ("describe_instance_types", [{"InstanceTypes": ["a.large"]}], "which InstanceType"),
        ("describe_instance_types", [{"InstanceTypes": []}], "no InstanceTypes at all"),
        ("describe_instance_type_offerings", [{"InstanceTypeOfferings": []}], "no InstanceTypeOfferings at all"),
        ("describe_instance_type_offerings", page(""), "which InstanceType"),
        ("AmazonEC2", [{"PriceList": []}], "no PriceList at all"),
        ("AmazonEC2", [{"PriceList": [price("g6.xlarge", "0"), "{"]}], "none of the prices can be used: 1 rows"),
        ("AmazonEC2", [{"PriceList": [price("g6.xlarge", regionCode="x")]}], "every row is about something else"),
        ("Hosting", [{}], "page 1 has no PriceList"),
        ("describe_spot_price_history", [{"SpotPriceHistory": []}, {}], "page 2 has no SpotPriceHistory"),
    ],
)
def test_half_an_answer_is_no_answer(old, config, question, pages, why):
    with nothing_changes(old), pytest.raises(CloudError, match="by halves") as caught:
        read_anew(config, Played(**{question: pages}))
    assert why in caught.value.why
    assert UNTOUCHED in caught.value.why


def test_an_answer_that_never_ends_is_given_up(old, config, monkeypatch):
    monkeypatch.setattr(ec2_catalog, "_MOST_PAGES", 3)
    with nothing_changes(old), pytest.raises(CloudError, match="by halves") as caught:
        read_anew(config, Played(describe_instance_types=[ANSWERS["describe_instance_types"][0]] * 5))
    assert "does not end" in caught.value.why


@pytest.mark.parametrize("question", ["describe_instance_types", "AmazonEC2"])
def test_an_answer_that_has_lost_most_of_a_region_is_no_answer(config, folder, question):
    names = [f"a{number}.large" for number in range(120)]
    many = {
        "describe_instance_types": [{"InstanceTypes": [described(name) for name in names]}],
        "AmazonEC2": [{"PriceList": [price(name) for name in names]}],
    }
    only(read_anew(config, Played(**many)))
    with nothing_changes(folder), pytest.raises(CloudError, match="by halves") as caught:
        read_anew(config, Played(**{**many, question: ANSWERS[question]}))
    assert "where the catalogue knows 12" in caught.value.why  # 120 prices, and two machines more


def test_a_description_that_cannot_be_read_is_counted_and_the_type_keeps_what_was_known(old, config):
    broken = [{"InstanceTypes": [described("g6.xlarge", MemoryInfo={"SizeInMiB": -1}), described("m7i.xlarge")]}]
    found = only(read_anew(config, Played(describe_instance_types=broken)))
    (skipped,) = found.skipped
    assert (skipped.part, skipped.examples) == ("descriptions", ("g6.xlarge",))
    assert "memory_bytes" in skipped.why
    offer = offer_of(old, "g6.xlarge")
    assert (offer.status, offer.memory_bytes) == (Status.AVAILABLE, 16 * GIB)


def test_an_interrupt_in_the_middle_of_reading_leaves_everything_as_it_was(old, config):
    with nothing_changes(old), pytest.raises(KeyboardInterrupt):
        read_anew(config, Played(AmazonEC2=[ANSWERS["AmazonEC2"][0], KeyboardInterrupt()]))


@pytest.mark.parametrize("after", [0, 1])
def test_an_interrupt_in_the_middle_of_writing_leaves_everything_as_it_was(old, config, monkeypatch, after):
    written = []

    def interrupted(path: Path, table: Table) -> str:
        if len(written) == after:
            raise KeyboardInterrupt
        written.append(path)
        return write_table(path, table)

    monkeypatch.setattr(verb, "write_table", interrupted)
    with nothing_changes(old), pytest.raises(KeyboardInterrupt):
        read_anew(config, Played(AmazonEC2=[{"PriceList": [price("g6.xlarge", "7")]}]))


def test_a_full_disk_leaves_the_old_catalogue_whole(old, config):
    """A limit on the size of files stands in for the full disk, so that no root rights are needed."""
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, limits[1]))
        with nothing_changes(old), pytest.raises(StorageError, match="cannot be written") as caught:
            read_anew(config, Played(AmazonEC2=[{"PriceList": [price("g6.xlarge", "7")]}]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert UNTOUCHED in caught.value.why


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_that_cannot_be_written_is_found_out_before_anything_is_asked(old, config, monkeypatch, number):
    opened = os.open

    def refuse(path: Any, flags: int, *rest: Any, **how: Any) -> int:
        if str(path).endswith(LOCK):
            raise OSError(number, os.strerror(number))
        return opened(path, flags, *rest, **how)

    played = Played()
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with nothing_changes(old), pytest.raises(StorageError, match="cannot be written") as caught:
            read_anew(config, played)
    assert os.strerror(number) in caught.value.why
    assert "BRIMFUL_CATALOG_DIR" in caught.value.fix
    assert not played.asked


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(old, config):
    old.chmod(0o500)
    try:
        with pytest.raises(StorageError, match="cannot be written"):
            read_anew(config)
    finally:
        old.chmod(0o700)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="cannot be written"):
        read_anew(config_for(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "mine"


def test_a_rename_that_fails_leaves_no_scraps(old, config, monkeypatch):
    def refuse(self: Path, target: Any) -> Path:
        del self, target
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    written = verb.write_table

    def write_then_break(path: Path, table: Table) -> str:
        digest = written(path, table)
        monkeypatch.setattr(Path, "replace", refuse)
        return digest

    monkeypatch.setattr(verb, "write_table", write_then_break)
    with nothing_changes(old), pytest.raises(StorageError):
        read_anew(config, with_sagemaker=False)


def test_two_refreshes_at_once_do_not_write_over_one_another(old, config):
    played = Played()
    with (old / LOCK).open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(StorageError, match="being refreshed by another process") as caught:
            read_anew(config, played)
    assert UNTOUCHED in caught.value.why
    assert not played.asked
    read_anew(config)


@pytest.mark.usefixtures("old")
def test_a_file_system_without_locks_is_refused(config, monkeypatch):
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", refuse)
        with pytest.raises(StorageError, match="cannot be written"):
            read_anew(config)


def test_a_damaged_old_file_is_named_and_left_alone(old, config):
    path = old / f"ec2-{REGION}.json"
    path.write_bytes(path.read_bytes()[:-100])
    with nothing_changes(old), pytest.raises(BrimfulError, match="is damaged"):
        read_anew(config)


# Several regions


@pytest.mark.usefixtures("old")
def test_a_region_that_fails_does_not_take_the_others_with_it(config, folder):
    def answer(region: str) -> Any:
        if region == "eu-west-2":
            raise refusal("UnauthorizedOperation")
        return {"InstanceTypes": [described("g6.xlarge", GpuInfo=L4)]}

    prices = [lambda _: {"PriceList": [price("g6.xlarge"), price("g6.xlarge", regionCode="eu-north-1")]}]
    played = Played(describe_instance_types=[answer], AmazonEC2=prices, Hosting=[{"PriceList": []}])
    played.answers["Training"] = [{"PriceList": []}]
    found = read_anew(config, played, regions=("eu-west-2", "eu-north-1", REGION))
    assert [item.region for item in found.regions] == ["eu-north-1", REGION]
    (failed,) = found.failed
    assert (failed.region, UNTOUCHED in failed.why) == ("eu-west-2", True)
    assert sorted(bytes_of(folder)) == ["ec2-eu-north-1.json", f"ec2-{REGION}.json", f"sagemaker-{REGION}.json"]
    text = refreshed.text(found)
    assert "eu-west-2: not refreshed: AWS does not allow ec2:DescribeInstanceTypes in eu-west-2" in text
    assert "fix: allow ec2:DescribeInstanceTypes" in text


def test_when_every_region_fails_the_first_error_is_raised(config):
    played = Played(describe_instance_types=[refusal("ExpiredToken")])
    with pytest.raises(CloudError, match="have expired"):
        read_anew(config, played, regions=("eu-west-2", REGION))


@pytest.mark.parametrize("region", ["eu-west-99", "EU-WEST-1", "../../etc", "", "us-east-1a", "eu-west-1\n"])
def test_a_region_that_does_not_exist_is_refused_before_anything_else(config, folder, region):
    with pytest.raises(UsageError, match="there is no region") as caught:
        read_anew(config, regions=(REGION, region))
    assert "eu-west-1" in caught.value.why
    assert not folder.exists()


@pytest.mark.parametrize(("region", "partition"), [("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov")])
def test_a_region_of_another_partition_is_refused_with_the_reason(region, partition):
    with pytest.raises(UsageError, match="cannot be refreshed") as caught:
        check_region(region)
    assert partition in caught.value.why


# The real library: no package, no credentials, no network


def test_without_boto3_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(Unavailable) as caught:
        Clients()
    assert caught.value.fix == "pip install 'brimful[aws]'"


def test_without_credentials_the_error_says_how_to_get_some(old, config, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    with nothing_changes(old), pytest.raises(CloudError, match="no AWS credentials") as caught:
        read_anew(config, Clients())
    assert "AWS_PROFILE" in caught.value.fix


def test_a_profile_that_does_not_exist_is_refused_with_those_that_do(monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="no such AWS profile") as caught:
        Clients("nobody")
    assert "no profiles at all" in caught.value.why
    (tmp_path / "some").write_text("[profile mine]\nregion = eu-west-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "some"))
    with pytest.raises(UsageError) as caught:
        Clients("nobody")
    assert "mine" in caught.value.why


def test_a_broken_aws_configuration_is_an_error_of_ours(monkeypatch, tmp_path):
    (tmp_path / "config").write_text("[profile mine\nregion eu-west-1")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    with pytest.raises(BrimfulError):
        Clients().make("ec2", REGION)


def test_an_endpoint_that_is_no_url_is_an_error_of_ours(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "not a url")
    with pytest.raises(ConfigError, match="no client of ec2") as caught:
        Clients().make("ec2", REGION)
    assert "AWS_ENDPOINT_URL" in caught.value.fix


def test_an_sso_session_that_has_ended_says_how_to_sign_in(old, config, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    (tmp_path / "config").write_text(
        "[profile work]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = Reader\n"
        "[sso-session corp]\nsso_region = eu-west-1\nsso_start_url = https://example.awsapps.com/start\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    with nothing_changes(old), pytest.raises(CloudError, match="sign-in is not valid") as caught:
        read_anew(config, Clients("work"))
    assert "aws sso login" in caught.value.fix


def test_without_a_network_the_error_comes_soon_and_names_what_to_check(old, config, monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
    with nothing_changes(old), pytest.raises(CloudError, match="cannot be reached") as caught:
        read_anew(config, Clients())
    assert "HTTPS_PROXY" in caught.value.fix


def test_a_server_that_never_answers_is_given_up(old, config, monkeypatch):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with nothing_changes(old), pytest.raises(CloudError, match="cannot be reached") as caught:
            read_anew(config, Clients())
    assert "timeout" in caught.value.why.lower()


class Portal(http.server.BaseHTTPRequestHandler):
    """The sign-in page of a hotel, which answers everything."""

    def do_POST(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html><p>Welcome! Please sign in</html>")

    def log_message(self, *_: Any) -> None:
        pass


def test_a_page_that_is_not_from_aws_is_half_an_answer(old, config, monkeypatch):
    with http.server.HTTPServer(("127.0.0.1", 0), Portal) as portal:
        threading.Thread(target=portal.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{portal.server_port}")
        with nothing_changes(old), pytest.raises(CloudError) as caught:
            read_anew(config, Clients())
        portal.shutdown()
    assert "by halves" in caught.value.what


def test_the_limits_of_the_clients_are_those_that_the_docs_name():
    page = " ".join((DOCS / "refresh.md").read_text("utf-8").split())
    connect_s, read_s, attempts = DEFAULTS.values()
    assert f"Each connection may take {connect_s} seconds, each page {read_s}" in page
    assert f"asked at most {attempts} times" in page
    made = Clients().make("pricing", "us-east-1").meta.config
    assert made.retries["mode"] == "standard"


def test_throttling_is_asked_again_with_pauses_and_then_given_up(old, config, monkeypatch):
    monkeypatch.setattr(ec2_catalog, "ATTEMPTS", 5)
    pauses: list[float] = []
    monkeypatch.setattr(botocore.endpoint.time, "sleep", pauses.append)
    asked = []

    def throttle(request: Any, **_: Any) -> Any:
        asked.append(request.url)
        error = b"<Error><Code>RequestLimitExceeded</Code><Message>slow down</Message></Error>"
        body = _Raw(b"<Response><Errors>" + error + b"</Errors></Response>")
        return botocore.awsrequest.AWSResponse(request.url, 503, {}, body)

    class Throttled(Clients):
        def make(self, service: str, region: str) -> Any:
            client = super().make(service, region)
            client.meta.events.register("before-send", throttle)
            return client

    with nothing_changes(old), pytest.raises(CloudError, match="throttles ec2:DescribeInstanceTypes"):
        read_anew(config, Throttled())
    assert len(asked) == 5
    assert len(pauses) == 4


class _Raw:
    def __init__(self, body: bytes) -> None:
        self.body = body

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.body


class Stubbed(Clients):
    """Real clients of which one service plays back answers in botocore's own stub, which checks their form."""

    def __init__(self, service: str, *responses: tuple[str, Any], others: Any = None) -> None:
        super().__init__()
        self.service, self.responses, self.others = service, responses, others

    def make(self, service: str, region: str) -> Any:
        if service != self.service and self.others is not None:
            return self.others.make(service, region)
        client = super().make(service, region)
        if service != self.service:
            return client
        stub = Stubber(client)
        for operation, response in self.responses:
            if isinstance(response, str):
                stub.add_client_error(operation, response, "said by AWS", http_status_code=400)
            else:
                stub.add_response(operation, response)
        stub.activate()
        return client


def test_the_same_token_twice_is_half_an_answer(config):
    types = {"InstanceTypes": [{"InstanceType": "g6.xlarge"}], "NextToken": "again"}
    with pytest.raises(CloudError, match="by halves"):
        read_anew(config, Stubbed("ec2", *[("describe_instance_types", types)] * 3))


US = "us-east-1"


def us(name: str, usd: str, **known: Any) -> str:
    return price(name, usd, regionCode=US, **known)


@pytest.mark.parametrize(
    ("responses", "match"),
    [
        ([{"PriceList": [us("a.large", "1")], "NextToken": "2"}, "AccessDeniedException"], "pricing:GetProducts"),
        ([{"PriceList": [us("a.large", "1")], "NextToken": "2"}, "ExpiredNextTokenException"], "by halves"),
        (["ThrottlingException"], "throttles pricing:GetProducts"),
        ([{"PriceList": ["{}", "nonsense"]}], "by halves"),
        ([{}], "by halves"),
    ],
    ids=["denied", "token expired", "throttled", "nonsense", "no list"],
)
def test_refusals_of_the_price_list_through_botocore(config, folder, responses, match):
    clients = Stubbed("pricing", *[("get_products", item) for item in responses], others=Played())
    with pytest.raises(CloudError, match=match):
        read_anew(config, clients, regions=(US,))
    assert not bytes_of(folder)


@mock_aws
def test_the_whole_of_ec2_as_moto_plays_it(config, folder):
    """DescribeInstanceTypes, offerings and spot prices of us-east-1 through boto3; moto has no price list."""
    before = {offer.instance: offer for offer in load().offers}
    usd = {name: offer.usd_per_hour for name, offer in before.items() if offer.usd_per_hour}
    prices = {"PriceList": [us(name, str(value)) for name, value in {**usd, "g6f.large": 0.2}.items()]}
    clients = Stubbed("pricing", ("get_products", prices), *[("get_products", {"PriceList": []})] * 3)
    found = only(read_anew(config, clients, regions=(US,)))
    assert found.described_count > 1000
    assert 500 < found.offered_count <= found.described_count
    assert found.spot_count is not None
    assert found.spot_count > 500
    assert not found.skipped
    offers = {offer.instance: offer for offer in load(folder).offers if offer.region == US}
    assert offers.keys() >= before.keys()
    share = offers["g6f.large"]
    assert [item.instance for item in found.prices] == ["g6f.large"]
    assert (share.status, share.usd_per_hour, share.spot_usd_per_hour) == (Status.AVAILABLE, 0.2, 0.00001)
    assert share.accelerators == before["g6f.large"].accelerators
    assert (offers["p2.xlarge"].status, offers["p2.xlarge"].usd_per_hour) == (Status.WITHDRAWN, usd["p2.xlarge"])
    offered = {
        row["InstanceType"]
        for row in boto3.client("ec2", region_name=US).describe_instance_type_offerings()["InstanceTypeOfferings"]
    }
    assert {name for name, offer in offers.items() if offer.status is Status.AVAILABLE} == offered
    assert all(offer.usd_per_hour is not None or offer.missing["usd_per_hour"] for offer in offers.values())


# Fuzz: whatever comes, an error of ours or a counted row

JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["0", "-1", "1e309", "Hrs", "USD", "L4"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def put(value: Any, path: tuple[Any, ...], junk: Any, *, remove: bool) -> Any:
    """Return a copy of nested JSON with something else, or nothing, in one place."""
    if not path:
        return junk
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1 and remove:
        del copy[path[0]]
    else:
        copy[path[0]] = put(value[path[0]], path[1:], junk, remove=remove)
    return copy


@st.composite
def mutated(draw: Any, *samples: Any) -> Any:
    value = draw(st.sampled_from(samples))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(places(value))))
        value = put(value, path, draw(JUNK), remove=draw(st.booleans()))
        if not isinstance(value, dict):
            break
    return value


TRAPS = [
    INSTANCE_TYPES[f"{name}large"] for name in ("g6f.", "inf2.x", "trn2.48x", "f2.6x", "vt1.3x", "p4d.24x", "d3.x")
]


@given(item=mutated(*TRAPS))
def test_a_mutated_description_is_an_offer_or_a_reason(item):
    try:
        offer = offer_from_describe(item, region=REGION, day=TODAY)
    except ValueError as error:
        why = str(error)
    else:
        assert offer.instance == item["InstanceType"]
        assert all(part.count >= 1 for part in offer.accelerators or ())
        return
    assert why.startswith("EC2's description cannot be read")


@given(
    rows=st.lists(mutated(product("a.large", "0.5"), json.loads(learning("ml.a.large", "1", "Hosting"))), max_size=4)
)
def test_mutated_prices_are_positive_or_counted(rows):
    texts = [row if number % 2 else json.dumps(row) for number, row in enumerate(rows)]
    for rates in (on_demand(texts, REGION), sagemaker(texts, REGION, "Hosting")):
        assert all(0 < usd < float("inf") for usd in rates.usd_per_hour.values())
        assert not rates.usd_per_hour.keys() & rates.unusable.keys()


@given(cut=st.integers(0, 600), junk=st.text(max_size=3))
def test_a_torn_price_is_counted(cut, junk):
    whole = price("a.large", "0.5")
    torn = whole[:cut] + junk
    rates = on_demand([torn], REGION)
    assert rates.usd_per_hour in ({}, {"a.large": 0.5}) or cut >= len(whole) or rates.usd_per_hour


@given(rows=st.lists(mutated(spot_row("a.large", "0.5")), max_size=4))
def test_mutated_spot_prices_are_positive_or_counted(rows):
    assert all(0 < usd < float("inf") for usd in spot(rows).usd_per_hour.values())


@given(
    types=st.lists(mutated(*TRAPS), max_size=3),
    prices=st.lists(mutated(product("g6f.large", "0.5")), max_size=3),
    spots=st.lists(mutated(spot_row("g6f.large", "0.5")), max_size=3),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
def test_a_whole_refresh_of_mutated_answers_is_written_whole_or_refused(old, config, types, prices, spots):
    played = Played(
        describe_instance_types=[{"InstanceTypes": types}],
        AmazonEC2=[{"PriceList": [json.dumps(row) for row in prices]}],
        describe_spot_price_history=[{"SpotPriceHistory": spots}],
    )
    before = bytes_of(old)
    try:
        read_anew(config, played)
    except BrimfulError:
        assert bytes_of(old) == before
    offers = load(old).offers
    assert all(offer.usd_per_hour != 0 and offer.spot_usd_per_hour != 0 for offer in offers)


# How it reads


def a_region(count: int) -> RefreshedRegion:
    names = tuple(f"g{number}.large" for number in range(count))
    prices = tuple(
        PriceChange(instance=name, before_usd_per_hour=1.0, after_usd_per_hour=1.0 + number / 100)
        for number, name in enumerate(names)
    )
    statuses = [StatusChange(instance="p2.xlarge", before=Status.AVAILABLE, after=Status.UNKNOWN)] * count
    statuses.append(StatusChange(instance="back.large", before=Status.UNKNOWN, after=Status.AVAILABLE))
    statuses.append(StatusChange(instance="p3.large", before=Status.UNKNOWN, after=Status.WITHDRAWN))
    return RefreshedRegion(
        region=REGION, files=("/c/ec2.json",), described_count=count, offered_count=count, priced_count=count,
        spot_count=count, sagemaker_count=count, added=names, removed=names, statuses=tuple(statuses), prices=prices,
        spot_changed_count=3, skipped=(), warnings=(),
    )  # fmt: skip


def test_the_text_shows_twenty_of_each_kind_and_the_json_all():
    found = Refreshed(regions=(a_region(25),), failed=())
    text = refreshed.text(found)
    assert text.count("+5 more (--json has them all)") == 4
    assert "new in the catalogue: 25" in text
    assert "+24.0%" in text, "the largest change comes first"
    assert "p3.large (unknown to withdrawn)" in text
    assert "can be had now: 1" in text
    assert "spot prices that are new or different: 3" in text
    body = refreshed.body(found)
    assert len(body["regions"][0]["prices"]) == len(body["regions"][0]["added"]) == 25
    json.dumps(body)


def test_a_price_that_came_or_went_is_no_percentage():
    region = a_region(0)
    change = PriceChange(instance="a.large", after_usd_per_hour=0.25)
    told = {name: getattr(region, name) for name in region.__slots__}
    text = refreshed.text(Refreshed(regions=(RefreshedRegion(**{**told, "prices": (change,)}),), failed=()))
    line = next(line for line in text.splitlines() if "a.large" in line)
    assert line.split() == ["a.large", "?", "$0.25", "-"]


# The command line


@pytest.fixture
def played_cli(monkeypatch, folder):
    """Let the command line read played answers, as of a day after every shipped one."""
    monkeypatch.setenv("BRIMFUL_CATALOG_DIR", str(folder))
    monkeypatch.setenv("BRIMFUL_REGION", REGION)
    made = []

    def clients(profile: str | None) -> Played:
        made.append(profile)
        return Played(describe_instance_types=[_by_region], Hosting=[refusal("AccessDeniedException")])

    monkeypatch.setattr(verb, "Clients", clients)
    return made


def _by_region(region: str) -> Any:
    if region == "eu-west-2":
        raise refusal("UnauthorizedOperation")
    return {"InstanceTypes": [described("g6.xlarge"), described("m7i.xlarge")]}


def test_the_command_line_refreshes_the_configured_region(played_cli, folder, capsys):
    assert app.run(["catalog", "refresh", "--profile", "mine"]) == 0
    told = capsys.readouterr()
    assert f"{REGION}: 2 types can be had, 2 have a price" in told.out
    assert f"warning: {REGION}: SageMaker's prices were not read" in told.err
    assert played_cli == ["mine"]
    assert (folder / f"ec2-{REGION}.json").is_file()


@pytest.mark.usefixtures("played_cli")
def test_the_command_line_in_json_is_one_object_with_everything(capsys):
    assert app.run(["catalog", "refresh", "--json", "--no-spot", "--no-sagemaker"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["v"], answer["kind"]) == (1, "refresh")
    (region,) = answer["regions"]
    assert region["added"] == ["g6.xlarge", "m7i.xlarge"]
    assert region["spot_count"] is None
    assert region["missing"]["spot_count"] == "no spot prices were read"


@pytest.mark.usefixtures("played_cli")
def test_the_command_line_ends_with_2_when_a_region_failed_and_still_says_what_was_done(capsys):
    assert app.run(["catalog", "refresh", "--region", REGION, "--region", "eu-west-2", "--json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert [item["region"] for item in answer["regions"]] == [REGION]
    assert [item["region"] for item in answer["failed"]] == ["eu-west-2"]
    assert "ec2:DescribeInstanceTypes" in answer["failed"][0]["fix"]


@pytest.mark.usefixtures("played_cli")
def test_the_command_line_prints_an_error_in_three_parts(capsys):
    assert app.run(["catalog", "refresh", "--region", "eu-west-2"]) == 2
    told = capsys.readouterr().err
    assert "error: AWS does not allow ec2:DescribeInstanceTypes in eu-west-2" in told
    assert UNTOUCHED in told


def test_importing_the_command_imports_no_boto3():
    code = "import sys, brimful.cli.catalog, brimful.verbs.refresh; sys.exit('botocore' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.usefixtures("played_cli")
def test_what_was_refreshed_is_what_catalog_show_shows(capsys):
    assert app.run(["catalog", "refresh"]) == 0
    capsys.readouterr()
    assert app.run(["catalog", "show", "m7i.xlarge", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["kind"] == "catalog"
    assert 0.2016 in [item["usd_per_hour"] for item in told["instances"]]
    assert app.run(["catalog", "show", "m7i.xlarge"]) == 0
    assert "m7i.xlarge" in capsys.readouterr().out
