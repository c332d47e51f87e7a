"""What AWS says about its instance types in a region, read whole: types, offerings, prices, spot and SageMaker prices.

`read` asks and collects in memory; it writes nothing and judges nothing. Every answer is either complete or an error:
an answer that breaks off in the middle, or a page without what it must have, is no answer. `ec2_offers` makes offers
of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, TypeVar

from brimful.clouds.aws_errors import explained, half_answer, is_denial
from brimful.clouds.ec2_prices import COMPONENTS, EC2_FILTERS, SPOT_PRODUCTS, Rates, on_demand, sagemaker, spot
from brimful.model.errors import CloudError, ConfigError, Unavailable, UsageError

# A server that never answers is given up after about a minute: 5 times 10 s, and at most 15 s of pauses between them.
CONNECT_S, READ_S, ATTEMPTS = 4, 10, 5
_T = TypeVar("_T")
_MOST_PAGES = 1000  # far above any real answer: a server that always has one page more must not hold us for ever
# The price list of every region is served from these three; the nearest one is asked.
_PRICE_REGIONS = {
    "eu": "eu-central-1",
    "af": "eu-central-1",
    "il": "eu-central-1",
    "ap": "ap-south-1",
    "me": "ap-south-1",
}


class Clients:
    """Makes the clients of boto3; the one place that knows timeouts, retries and profiles."""

    def __init__(self, profile: str | None = None) -> None:
        try:
            import boto3  # noqa: PLC0415 - an extra, and slow to import
        except ImportError as error:
            raise Unavailable(
                "the catalogue cannot be refreshed without boto3",
                why=f"the AWS library is not installed ({error})",
                fix="pip install 'brimful[aws]'",
            ) from error
        with explained("the AWS configuration", "this account"):
            self._session = boto3.session.Session(profile_name=profile)

    def make(self, service: str, region: str) -> Any:
        """Return the client of a service in a region."""
        from botocore.config import Config  # noqa: PLC0415 - as above

        retries: Any = {"mode": "standard", "total_max_attempts": ATTEMPTS}
        config = Config(connect_timeout=CONNECT_S, read_timeout=READ_S, retries=retries, user_agent_extra="brimful")
        try:
            with explained("the AWS configuration", region):
                return self._session.client(service, region_name=region, config=config)  # type: ignore[call-overload]
        except ValueError as error:
            raise ConfigError(
                f"no client of {service} can be made for {region}",
                why=str(error),
                fix="check AWS_ENDPOINT_URL and the endpoint_url lines of ~/.aws/config",
            ) from error


@dataclass(frozen=True, slots=True)
class Answer:
    """All that AWS said about one region on one day; a part that was not asked for, or not allowed, is None."""

    region: str
    day: date
    types: Mapping[str, Mapping[str, Any]]
    offered: frozenset[str]
    prices: Rates
    spot: Rates | None = None
    sagemaker: Mapping[str, Rates] | None = None
    warnings: list[str] = field(default_factory=list)


def check_region(region: str) -> None:
    """Refuse, without asking AWS, a region that does not exist or that the price list in USD does not cover."""
    partition = _partitions().get(region)
    if partition == "aws":
        return
    if partition is not None:
        raise UsageError(
            f"the region {region} cannot be refreshed",
            why=f"it belongs to {partition}, whose prices are not in the price list that brimful reads",
            fix="name a region of the partition aws, e.g. --region us-east-1",
        )
    known = (name for name, place in _partitions().items() if place == "aws")
    raise UsageError(
        f"there is no region {region!r}",
        why=f"the installed AWS library knows {', '.join(known)}",
        fix="name one of them; for a newer region: pip install -U boto3",
    )


@functools.cache
def _partitions() -> dict[str, str]:
    """Return the partition of every region that the AWS library knows."""
    import botocore.session  # noqa: PLC0415 - as above

    session = botocore.session.Session()
    return {
        region: partition
        for partition in session.get_available_partitions()
        for region in session.get_available_regions("ec2", partition_name=partition)
    }


def read(
    region: str,
    clients: Clients,
    *,
    with_spot: bool = True,
    with_sagemaker: bool = True,
    tell: Callable[[str], None] = lambda _: None,
    today: date | None = None,
) -> Answer:
    """Ask AWS for everything about a region; an answer that is not complete is an error, and nothing is kept of it.

    Spot and SageMaker prices are parts that IAM may forbid by themselves: then the answer lacks them, with a warning.
    """
    asked = _Asked(region, clients, tell)
    warnings: list[str] = []
    types = asked.types()
    offered = asked.offered()
    prices = asked.prices()
    spots = _optional(asked.spot, warnings, "spot prices") if with_spot else None
    machine_learning = _optional(asked.sagemaker, warnings, "SageMaker's prices") if with_sagemaker else None
    if machine_learning is not None and not any(rates.usd_per_hour for rates in machine_learning.values()):
        warnings.append(f"the price list has no instances of SageMaker in {region}; what was known of them is kept")
        machine_learning = None
    return Answer(
        region=region,
        day=today or datetime.now(UTC).date(),
        types=types,
        offered=offered,
        prices=prices,
        spot=spots,
        sagemaker=machine_learning,
        warnings=warnings,
    )


def _optional(part: Callable[[], _T], warnings: list[str], name: str) -> _T | None:
    try:
        return part()
    except CloudError as error:
        if not is_denial(error):
            raise
        warnings.append(f"{name} were not read: {error.what}; what was known of them is kept. {error.fix}")
        return None


class _Asked:
    """The questions about one region, each asked to its last page."""

    def __init__(self, region: str, clients: Clients, tell: Callable[[str], None]) -> None:
        self._region = region
        self._tell = tell
        self._ec2 = clients.make("ec2", region)
        self._pricing = clients.make("pricing", _PRICE_REGIONS.get(region.partition("-")[0], "us-east-1"))

    def types(self) -> dict[str, Mapping[str, Any]]:
        """Return EC2's description of every type that it knows in the region."""
        action = "ec2:DescribeInstanceTypes"
        rows = self._ask(
            action, self._ec2, "describe_instance_types", "InstanceTypes", PaginationConfig={"PageSize": 100}
        )
        return {self._named(action, row): row for row in rows}

    def offered(self) -> frozenset[str]:
        """Return the types that can be had in the region: the only proof that a type can."""
        action = "ec2:DescribeInstanceTypeOfferings"
        rows = self._ask(
            action,
            self._ec2,
            "describe_instance_type_offerings",
            "InstanceTypeOfferings",
            LocationType="region",
            PaginationConfig={"PageSize": 1000},
        )
        return frozenset(self._named(action, row) for row in rows)

    def prices(self) -> Rates:
        """Return the on-demand prices for Linux on shared hardware."""
        rates = on_demand(self._products("AmazonEC2", {"regionCode": self._region, **EC2_FILTERS}), self._region)
        if not rates.usd_per_hour:
            why = f"none of the prices can be used: {_reasons(rates)}"
            raise half_answer("pricing:GetProducts", self._region, why)
        return rates

    def spot(self) -> Rates:
        """Return the spot prices that count now: a start time of now gives the last change before it, in each zone."""
        rows = self._ask(
            "ec2:DescribeSpotPriceHistory",
            self._ec2,
            "describe_spot_price_history",
            "SpotPriceHistory",
            empty=True,
            StartTime=datetime.now(UTC),
            ProductDescriptions=list(SPOT_PRODUCTS),
            PaginationConfig={"PageSize": 1000},
        )
        return spot(rows)

    def sagemaker(self) -> dict[str, Rates]:
        """Return SageMaker's prices for each use of an instance."""
        out = {}
        for component in COMPONENTS:
            rows = self._products("AmazonSageMaker", {"regionCode": self._region, "component": component}, empty=True)
            out[component] = sagemaker(rows, self._region, component)
        return out

    def _products(self, service: str, filters: Mapping[str, str], *, empty: bool = False) -> list[Any]:
        return self._ask(
            "pricing:GetProducts",
            self._pricing,
            "get_products",
            "PriceList",
            empty=empty,
            ServiceCode=service,
            FormatVersion="aws_v1",
            Filters=[{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in filters.items()],
            PaginationConfig={"PageSize": 100},
        )

    def _ask(
        self, action: str, client: Any, operation: str, key: str, *, empty: bool = False, **arguments: Any
    ) -> list[Any]:
        """Return the rows of all pages; without any, the answer is by halves unless it may be empty."""
        rows: list[Any] = []
        self._tell(f"{self._region}: asking for {action} (a server that does not answer is given up after a minute)")
        with explained(action, self._region):
            for number, page in enumerate(_pages(client, operation, arguments), 1):
                found = page.get(key) if isinstance(page, Mapping) else None
                if not isinstance(found, list):
                    raise half_answer(action, self._region, f"its page {number} has no {key}")
                if number > _MOST_PAGES:
                    raise half_answer(
                        action, self._region, f"it does not end: {_MOST_PAGES} pages, and another one follows"
                    )
                rows += found
                self._tell(f"{self._region}: {action}, {len(rows)} rows")
        if not rows and not empty:
            raise half_answer(action, self._region, f"it has no {key} at all, which cannot be true of a region")
        return rows

    def _named(self, action: str, row: Any) -> str:
        name = row.get("InstanceType") if isinstance(row, Mapping) else None
        if not (isinstance(name, str) and name):
            raise half_answer(action, self._region, "one of its rows does not say which InstanceType it is about")
        return name


def _pages(client: Any, operation: str, arguments: Mapping[str, Any]) -> Iterator[Any]:
    yield from client.get_paginator(operation).paginate(**arguments)


def _reasons(rates: Rates) -> str:
    counted = sorted(((len(names), why) for why, names in rates.skipped.items()), reverse=True)
    return "; ".join(f"{count} rows: {why}" for count, why in counted[:3]) or "every row is about something else"
