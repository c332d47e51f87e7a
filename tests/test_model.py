"""The nouns: what they refuse, and that nothing is lost on the way through JSON."""

from __future__ import annotations

import importlib
import math
import pickle
import pkgutil

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brimful
import brimful.catalog.nouns
import brimful.model.answers
import brimful.seams
from brimful.journal.schema import KINDS
from brimful.model import errors, units
from brimful.model.advice import Finding, PracticeStatus, Severity, Verdict
from brimful.model.evidence import Figures, Interval, Sample
from brimful.model.hardware import Device, DeviceKind, Fitted, Machine, Offer, Precision, Status
from brimful.model.noun import Noun, plain, with_gaps
from brimful.model.text import printable, readable_path
from brimful.model.work import Setting, Slo
from strategies import nouns


def all_nouns() -> list[type[Noun]]:
    for module in pkgutil.walk_packages(brimful.__path__, "brimful."):  # a noun is known once its module is imported
        if not module.name.endswith(("__main__", "._native")):
            importlib.import_module(module.name)
    found, queue = set(), [Noun]
    while queue:
        # A slotted dataclass is made twice; the module holds the one that counts.
        for cls in queue.pop().__subclasses__():
            if getattr(__import__(cls.__module__, fromlist=["_"]), cls.__name__, None) is cls:
                found.add(cls)
            queue.append(cls)
    return sorted((cls for cls in found if cls.__module__.startswith("brimful.")), key=lambda cls: cls.__name__)


def a_device(**known: object) -> Device:
    base = {"device": "gpu0", "device_kind": DeviceKind.GPU, "vendor": "NVIDIA", "model": "L4"}
    return with_gaps(Device, "not asked", **{**base, **known})


@pytest.mark.parametrize("cls", all_nouns(), ids=lambda cls: cls.__name__)
@given(data=st.data())
def test_every_noun_survives_json(cls, data):
    noun = data.draw(nouns(cls))
    text = msgspec.json.encode(plain(noun))
    again = msgspec.json.decode(text, type=cls)
    assert again == noun
    assert msgspec.json.encode(plain(again)) == text


@pytest.mark.parametrize("cls", all_nouns(), ids=lambda cls: cls.__name__)
def test_no_noun_uses_a_name_that_the_journal_needs_for_itself(cls):
    names = set(cls.__dataclass_fields__)
    assert not names & {"id", "at"}
    assert "kind" not in names or cls not in KINDS.values()


@pytest.mark.parametrize("nonsense", [math.nan, math.inf, -math.inf, -1, True, "1", 2**70])
def test_bytes_that_cannot_be_are_refused(nonsense):
    with pytest.raises(ValueError, match="memory_bytes"):
        a_device(memory_bytes=nonsense)


@pytest.mark.parametrize("nonsense", [math.nan, math.inf, -0.1, True, "1"])
def test_watts_that_cannot_be_are_refused(nonsense):
    with pytest.raises(ValueError, match="power_cap_watts"):
        a_device(power_cap_watts=nonsense)


@given(st.text(max_size=8).filter(lambda text: text not in list(Precision)))
def test_a_precision_that_does_not_exist_is_refused(name):
    with pytest.raises(ValueError, match="precision"):
        Setting(engine="onnxruntime", precision=name)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"engine": "onnxruntime", "precision": name}, Setting)


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_a_p99_below_the_p50_is_refused(one, other):
    low, high = sorted((one, other))
    known = {"calls_count": 9, "wall_s": 1.0}
    assert with_gaps(Figures, "n", p50_ms=low, p99_ms=high, **known).p99_ms == high
    if low < high:
        with pytest.raises(ValueError, match=r"p99_ms.*below p50_ms"):
            with_gaps(Figures, "n", p50_ms=high, p99_ms=low, **known)
        with pytest.raises(ValueError, match=r"p99_ms.*below p50_ms"):
            Slo(p50_ms=high, p99_ms=low)


def test_a_mean_outside_the_range_is_refused():
    with pytest.raises(ValueError, match="below min_ms"):
        with_gaps(Figures, "n", calls_count=1, wall_s=1.0, mean_ms=1.0, min_ms=2.0)
    with pytest.raises(ValueError, match="above max_ms"):
        with_gaps(Figures, "n", calls_count=1, wall_s=1.0, mean_ms=3.0, max_ms=2.0)


def test_a_none_without_a_reason_is_refused():
    with pytest.raises(ValueError, match="memory_bytes is unknown: missing must say why"):
        a_device(missing={"memory_bytes": ""})


def test_a_reason_beside_a_known_value_is_refused():
    with pytest.raises(ValueError, match="cannot give a reason"):
        a_device(memory_bytes=1, missing={"memory_bytes": "nobody looked"})


def test_a_reason_for_a_field_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="which Device does not have"):
        a_device(missing={"colour": "nobody looked"})


def test_a_field_that_must_be_known_cannot_be_none():
    with pytest.raises(ValueError, match="device cannot be unknown"):
        Device(device=None)


def test_none_is_not_zero():
    sample = Sample(
        time_s=1.0, device="gpu0", metric="utilization_percent", missing={"value": "the driver did not say"}
    )
    assert sample.value is None
    assert plain(sample)["missing"] == {"value": "the driver did not say"}


def test_an_unknown_price_cannot_be_told_as_zero():
    with pytest.raises(ValueError, match="unknown price is None"):
        with_gaps(
            Offer,
            "n",
            instance="a.b",
            family="a",
            region="r",
            status=Status.UNKNOWN,
            source="s",
            licence="l",
            usd_per_hour=0.0,
        )


def test_a_withdrawn_type_says_how_we_know():
    with pytest.raises(ValueError, match="says how we know"):
        with_gaps(Offer, "n", instance="a.b", family="a", region="r", status=Status.WITHDRAWN, source="s", licence="l")


@pytest.mark.parametrize(("count", "share"), [(0, 1.0), (-1, 1.0), (1, 0.0), (1, 1.5)])
def test_a_count_or_a_share_of_nothing_is_refused(count, share):
    with pytest.raises(ValueError, match=r"share|count"):
        with_gaps(Fitted, "n", model="L4", vendor="NVIDIA", kind=DeviceKind.GPU, count=count, share=share)


def test_usable_memory_is_never_more_than_there_is():
    with pytest.raises(ValueError, match="more than memory_bytes"):
        a_device(memory_bytes=1, usable_memory_bytes=2)


@pytest.mark.parametrize(
    ("low", "mid", "high", "coverage"), [(2, 1, 3, 0.8), (1, 2, 1, 0.8), (1, 1, 1, 1.0), (-1, 1, 1, 0.8)]
)
def test_an_interval_out_of_order_is_refused(low, mid, high, coverage):
    with pytest.raises(ValueError, match="no interval"):
        Interval(low=low, mid=mid, high=high, coverage=coverage)


def test_a_verdict_is_never_met_without_evidence():
    for status in set(PracticeStatus) - {PracticeStatus.UNKNOWN}:
        with pytest.raises(ValueError, match="without evidence"):
            Verdict(number=1, title="t", section="A", because="b", status=status, evidence=(), fix="f")


def test_an_unknown_verdict_says_what_would_decide_it():
    with pytest.raises(ValueError, match="what would decide it"):
        Verdict(number=1, title="t", section="A", because="b", status=PracticeStatus.UNKNOWN, evidence=())


def test_a_finding_cites_its_evidence():
    with pytest.raises(ValueError, match="evidence"):
        Finding(code="idle", severity=Severity.HIGH, what="w", why="y", fix="f", evidence=())


def test_severities_compare_by_weight():
    assert [item.rank for item in (Severity.INFO, Severity.LOW, Severity.MEDIUM, Severity.HIGH)] == [0, 1, 2, 3]


def test_text_that_is_no_unicode_is_refused_and_a_path_can_be_made_readable():
    name = "caf\udce9"
    with pytest.raises(ValueError, match="readable_path"):
        a_device(model=name)
    assert a_device(model=readable_path(name)).model == "caf\\xe9"


def test_a_mapping_is_checked_inside():
    with pytest.raises(ValueError, match=r"tags\[a\]"):
        with_gaps(Machine, "n", machine="i-1", cloud="ec2", instance="g6.xlarge", tags={"a": 1})


def walk(cls: type[errors.BrimfulError]) -> list[type[errors.BrimfulError]]:
    return [cls, *(found for sub in cls.__subclasses__() for found in walk(sub))]


@pytest.mark.parametrize("cls", walk(errors.BrimfulError), ids=lambda cls: cls.__name__)
def test_every_error_says_what_why_and_fix(cls):
    error = cls("it broke", why="it was old", fix="renew it")
    assert str(error) == "it broke\n  why: it was old\n  fix: renew it"
    assert error.exit_code in (2, 3)
    for empty in ("what", "why", "fix"):
        words = {"what": "w", "why": "y", "fix": "f"} | {empty: ""}
        with pytest.raises(ValueError, match="all of what, why and fix"):
            cls(words.pop("what"), **words)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - it crosses process borders in worker pools
    assert (type(again), str(again)) == (cls, str(error))


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (units.parse_bytes, "48GiB", 48 * 2**30),
        (units.parse_bytes, "110KB", 110_000),
        (units.parse_bytes, "1_000", 1000),
        (units.parse_bytes, " 2.8 gib ", round(2.8 * 2**30)),
        (units.parse_seconds, "50ms", 0.05),
        (units.parse_seconds, "6h", 21600.0),
        (units.parse_seconds, "1.5", 1.5),
        (units.parse_count, "200M", 2e8),
        (units.parse_bytes_per_s, "25Gbps", 25e9 / 8),
        (units.parse_bytes_per_s, "300MB/s", 3e8),
        (units.parse_bytes_per_s, "1e9", 1e9),
        (units.parse_usd, "$0.80", 0.8),
        (units.parse_usd, "2usd", 2.0),
    ],
)
def test_quantities_are_read_with_their_units(parse, text, value):
    assert parse(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "GiB", "1 parsec", "1e999", "--1", "1GiB2", "nan", "inf"])
def test_quantities_that_are_none_are_refused(text):
    for parse in (units.parse_bytes, units.parse_seconds, units.parse_count, units.parse_bytes_per_s):
        with pytest.raises(ValueError, match=r"number|unit|large"):
            parse(text)


@given(st.text(max_size=20))
def test_no_text_breaks_the_parsers_of_quantities(text):
    for parse in (units.parse_bytes, units.parse_seconds, units.parse_count, units.parse_bytes_per_s, units.parse_usd):
        try:
            assert math.isfinite(parse(text))
        except ValueError as error:
            assert str(error)  # noqa: PT017 - either is right; neither may be another exception


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (units.format_bytes(3 * 2**30 * 0.953), "2.86 GiB"),
        (units.format_bytes(24 * 2**30), "24 GiB"),
        (units.format_bytes(900), "900 B"),
        (units.format_bytes(2**40 * 1.5), "1.5 TiB"),
        (units.format_seconds(0.00085), "850 µs"),
        (units.format_seconds(0.0125), "12.5 ms"),
        (units.format_seconds(3.2), "3.2 s"),
        (units.format_seconds(21600), "6 h"),
        (units.format_seconds(600), "10 min"),
        (units.format_bit_rate(25e9 / 8), "25 Gbps"),
        (units.format_bit_rate(1e8 / 8), "100 Mbps"),
        (units.format_share(0.125), "1/8"),
        (units.format_usd(0.202), "$0.202"),
        (units.format_usd(0.0116), "$0.0116"),
        (units.format_usd(13.3504), "$13.35"),
        (units.format_usd(1314.2), "$1,314"),
        (units.format_usd(0), "$0.00"),
    ],
)
def test_quantities_are_printed_short(text, shown):
    assert text == shown


def test_hostile_text_cannot_steer_a_terminal():
    assert printable("\x1b[31mred\x07\u202e\n") == "\\x1b[31mred\\x07\\u202e\n"
    assert printable("plain") == "plain"
