"""What `fit` answers: machines in order, what was left out, the CPU's answer, the set to choose from, how to decide."""

from __future__ import annotations

from collections.abc import Mapping

from brimful.model.noun import Noun, noun, unknown
from brimful.model.work import Workload

_NO_LOAD = "no arrivals are stated: waiting is not known"
_NO_RUN = "nothing says how much is to be done"
_NO_TOKENS = "it writes no tokens"


@noun
class Ranked(Noun):
    """A machine type, or several of one, as an answer; price and rates are those of all `count` of them."""

    instance: str
    count: int
    share: float  # of a device: an eighth of an L4
    device: str
    devices: int  # of one machine
    kind: str
    usd_per_hour: float
    price: str  # on demand, spot, or the user's factor
    latency_p50_ms: float | None = unknown(_NO_LOAD)
    latency_p50_ms_low: float | None = unknown(_NO_LOAD)
    latency_p50_ms_high: float | None = unknown(_NO_LOAD)
    latency_p99_ms: float | None = unknown(_NO_LOAD)
    latency_p99_ms_low: float | None = unknown(_NO_LOAD)
    latency_p99_ms_high: float | None = unknown(_NO_LOAD)
    call_ms: float  # the service time of one call of that batch
    call_ms_low: float
    call_ms_high: float
    throughput_per_s: float  # the most that it can do
    throughput_per_s_low: float
    throughput_per_s_high: float
    usd_per_million: float
    usd_per_million_low: float
    usd_per_million_high: float
    usd_per_1k_tokens: float | None = unknown(_NO_TOKENS)
    run_s: float | None = unknown(_NO_RUN)
    run_usd: float | None = unknown(_NO_RUN)
    run_usd_low: float | None = unknown(_NO_RUN)
    run_usd_high: float | None = unknown(_NO_RUN)
    epoch_usd: float | None = unknown("it is not trained")
    first_token_ms: float | None = unknown(_NO_TOKENS)
    per_token_ms: float | None = unknown(_NO_TOKENS)
    utilization: float | None = unknown(_NO_LOAD)
    meets_share: float = 1.0  # the probability that what was asked is kept
    limited_by: str
    watts: float | None = unknown("the maker publishes no power limit of this device")
    items_per_joule: float | None = unknown("the maker publishes no power limit of this device")
    why: str
    setting: str
    support: str | None = unknown("its engine runs what its framework runs")
    notes: tuple[str, ...] = ()
    basis: tuple[str, ...] = ()


@noun
class Excluded(Noun):
    """A machine type that is no answer, and why."""

    instance: str
    reason: str


@noun
class CpuAnswer(Noun):
    """The cheapest machine without an accelerator, and the rate from which one with an accelerator costs less."""

    instance: str | None = unknown()
    usd_per_million: float | None = unknown()
    usd_per_hour: float | None = unknown()
    break_even_per_s: float | None = unknown()
    accelerator: str | None = unknown()  # what costs less from there on
    reason: str


@noun
class Reachable(Noun):
    """The quickest answer, where none keeps what was asked, and its price."""

    instance: str
    latency_p99_ms: float
    usd_per_hour: float
    usd_per_million: float | None = unknown()
    why: str


@noun
class Decide(Noun):
    """The cheapest measurement that tells the candidates apart."""

    instances: tuple[str, ...]
    command: str
    usd: float
    tied_share: float  # how often it leaves it open


@noun
class Ranking(Noun):
    """The answers in order and everything beside them; instance names stand for answers."""

    answers: tuple[Ranked, ...]
    candidates: tuple[str, ...] = ()
    candidate_shares: tuple[float, ...] = ()  # the probability of each that it is the cheapest that keeps the SLO
    decide_with: str | None = unknown("one answer is left: there is nothing to decide")
    decide: Decide | None = unknown("one answer is left: there is nothing to decide")
    excluded: tuple[Excluded, ...] = ()
    cpu: CpuAnswer
    surer: str | None = unknown("the first keeps what was asked with 80 %")  # the cheapest that does
    purpose_built: Ranked | None = unknown()
    fractional: Ranked | None = unknown()
    reachable: Reachable | None = unknown("the SLO can be kept")
    counts: Mapping[str, int]
    notes: tuple[str, ...] = ()


@noun
class CallRow(Noun):
    """A call of one batch on the device of an answer; `used` says whether the answer makes such calls."""

    batch: int
    call_ms: float
    call_ms_low: float
    call_ms_high: float
    throughput_per_s: float
    roofline_ms: float
    limited_by: str
    memory_bytes: int
    used: bool


@noun
class Explained(Noun):
    """One machine type in full: its place among the answers and what its figures come from, or why it is none."""

    instance: str
    place: int | None = unknown()
    of_count: int = 0
    calls: tuple[CallRow, ...] = ()
    facts: tuple[str, ...] = ()
    usable_bytes: int | None = unknown("it is no answer")
    feed: tuple[str, ...] = ()
    excluded: str | None = unknown()
    basis: tuple[str, ...] = ()


@noun
class Fitting(Noun):
    """What `fit` found, and the run whose journal has what it rests on."""

    run: str
    journal: str
    model: str
    workload: Workload
    region: str
    ranking: Ranking
    explained: Explained | None = unknown("nothing was to be explained")
    warnings: tuple[str, ...] = ()
