"""What the command line of `fit` asks, read: quantities with their units, and options that contradict one another."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from brimful.advise.fit import words
from brimful.advise.fit.data import NO_DATA, Data, data
from brimful.advise.fit.training import Optimizer
from brimful.model import units
from brimful.model.errors import UsageError
from brimful.model.work import Arrivals, Mode, Scenario, Slo, Workload

_MOST_COUNT = 1e15
_MOST_BATCH = 65_536


class Load(StrEnum):
    """How work comes, as far as the user says."""

    FULL = "full"  # nothing is said: as much as a machine takes
    ONLINE = "online"  # requests at a rate
    TRACE = "trace"  # requests at the times of a file
    OFFLINE = "offline"  # so many items, all there from the start
    TRAINING = "training"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question to `fit`, read and checked; what was not said is None."""

    load: Load
    slo: Slo
    queries_per_s: float | None = None
    total_count: int | None = None
    trace: str | None = None
    dims: Mapping[str, int] = field(default_factory=dict)
    image_size: int | None = None
    sequence: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    data: Data = NO_DATA
    data_text: str | None = None
    epochs: float | None = None
    optimizer: Optimizer = Optimizer.ADAMW
    engine: str | None = None
    precision: str | None = None
    batch: int | None = None
    allow_int8: bool = False
    device: str | None = None
    spot: bool = False
    reserved_factor: float | None = None

    @property
    def mode(self) -> Mode:
        """Inference or training."""
        return Mode.TRAINING if self.load is Load.TRAINING else Mode.INFERENCE

    def workload(self, model: str) -> Workload:
        """Return what is asked as the noun that the journal keeps."""
        scenario = {
            Load.ONLINE: Scenario.SERVER, Load.TRACE: Scenario.REPLAY, Load.OFFLINE: Scenario.OFFLINE,
        }.get(self.load)  # fmt: skip
        arrivals: dict[str, Any] = {
            "queries_per_s": self.queries_per_s,
            "total_count": self.total_count,
            "trace": self.trace,
        }
        known: dict[str, Any] = {"scenario": scenario, "data": self.data_text}
        dims = {**self.dims, **_said(self, "image_size", "sequence", "tokens_in", "tokens_out", "batch")}
        return Workload(
            model=model,
            mode=self.mode,
            dims=dims,
            slo=self.slo,
            arrivals=Arrivals(**{name: value for name, value in arrivals.items() if value is not None}),
            **{name: value for name, value in known.items() if value is not None},
        )


def _said(request: Request, *names: str) -> dict[str, int]:
    return {name: value for name in names if (value := getattr(request, name)) is not None}


def read(options: Mapping[str, Any]) -> Request:
    """Read the options of the command line, by their names there; None and False are options that were not given."""
    said = {name: value for name, value in options.items() if value not in (None, False, (), "")}
    load = _load(said)
    _refuse_contradictions(said, load)
    text = said.get("data")
    dims = _dims(said.get("dim", ()))
    batch = _whole(said, "batch", _MOST_BATCH)
    if batch is None and "batch" in dims:
        batch = dims["batch"]
    return Request(
        load=load,
        slo=_slo(said, load),
        queries_per_s=_quantity(said, "qps", units.parse_count, "40 or 1.5k", most=1e9),
        total_count=_total(said),
        trace=said.get("arrivals"),
        dims=dims,
        image_size=_whole(said, "image_size", 65_536),
        sequence=_whole(said, "seq", 100_000_000),
        tokens_in=_whole(said, "tokens_in", 100_000_000),
        tokens_out=_whole(said, "tokens_out", 100_000_000),
        data=data(text) if text else NO_DATA,
        data_text=text,
        epochs=_quantity(said, "epochs", units.parse_count, "90"),
        optimizer=Optimizer(said.get("optimizer", "adamw")),
        engine=_word(said, "engine", words.engine, "tensorrt, torch, onnxruntime, openvino or neuron"),
        precision=_word(said, "precision", words.precision, "fp32, tf32, bf16, fp16, fp8, int8 or int4"),
        batch=batch,
        allow_int8=bool(said.get("allow_int8")),
        device=said.get("device"),
        spot=bool(said.get("spot")),
        reserved_factor=_factor(said),
    )


def _load(said: Mapping[str, Any]) -> Load:
    ways = {"qps": Load.ONLINE, "offline": Load.OFFLINE, "arrivals": Load.TRACE, "train": Load.TRAINING}
    named = [name for name in ways if name in said]
    if len(named) > 1:
        one, other = _option(named[0]), _option(named[1])
        raise UsageError(
            f"{one} and {other} contradict one another",
            why="work comes at a rate, at the times of a file, all at once, or is training: one of these",
            fix=f"leave out {one} or {other}; to weigh two cases run brimful fit twice",
        )
    return ways[named[0]] if named else Load.FULL


# What needs what, or goes with one kind of load alone: option -> (loads, what it is about)
_ONLY: Mapping[str, tuple[tuple[Load, ...], str]] = {
    "within": ((Load.OFFLINE,), "the time in which --offline N must be done"),
    "epochs": ((Load.TRAINING,), "passes over the data of --train"),
    "dataset": ((Load.TRAINING,), "the samples of --train"),
    "optimizer": ((Load.TRAINING,), "what updates the weights under --train"),
    "p50": ((Load.ONLINE, Load.TRACE, Load.FULL), "a bound on the latency of requests"),
    "p99": ((Load.ONLINE, Load.TRACE, Load.FULL), "a bound on the latency of requests"),
    "ttft": ((Load.ONLINE, Load.TRACE, Load.FULL), "a bound on the wait for the first token"),
    "tpot": ((Load.ONLINE, Load.TRACE, Load.FULL), "a bound on the time of each token"),
    "tokens_out": ((Load.ONLINE, Load.TRACE, Load.FULL, Load.OFFLINE), "tokens that a request writes"),
    "tokens_in": ((Load.ONLINE, Load.TRACE, Load.FULL, Load.OFFLINE), "tokens that a request reads"),
}


def _refuse_contradictions(said: Mapping[str, Any], load: Load) -> None:
    for name, (loads, about) in _ONLY.items():
        if name in said and load not in loads:
            raise UsageError(
                f"{_option(name)} does not go with {_option(_NAMED.get(load, 'qps'))}"
                if load is not Load.FULL
                else f"{_option(name)} stands alone",
                why=f"{_option(name)} is {about}",
                fix=f"leave out {_option(name)}"
                + ("" if load is not Load.FULL else f", or add {_option(_NAMED[loads[0]])}"),
            )
    if "seq" in said and "tokens_in" in said:
        raise UsageError(
            "--seq and --tokens-in contradict one another",
            why="--seq is one pass over so many tokens; --tokens-in is a prompt that a text is written for",
            fix="leave out one of them",
        )
    if said.get("spot") and "reserved_factor" in said:
        raise UsageError(
            "--spot and --reserved-factor contradict one another",
            why="spot capacity cannot be reserved",
            fix="leave out one of them",
        )


_NAMED = {Load.ONLINE: "qps", Load.TRACE: "arrivals", Load.OFFLINE: "offline", Load.TRAINING: "train"}


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _slo(said: Mapping[str, Any], load: Load) -> Slo:
    known: dict[str, Any] = {
        "p50_ms": _milliseconds(said, "p50"),
        "p99_ms": _milliseconds(said, "p99"),
        "first_token_ms": _milliseconds(said, "ttft"),
        "per_token_ms": _milliseconds(said, "tpot"),
        "within_s": _quantity(said, "within", units.parse_seconds, "6h") if load is Load.OFFLINE else None,
    }
    try:
        return Slo(**{name: value for name, value in known.items() if value is not None})
    except ValueError as error:
        raise UsageError(
            "--p50 and --p99 contradict one another", why=str(error), fix="give a --p99 that is no less than --p50"
        ) from error


def _milliseconds(said: Mapping[str, Any], name: str) -> float | None:
    if name in said and units_missing(str(said[name])):
        raise UsageError(
            f"{_option(name)} {said[name]!r:.40} has no unit",
            why="50 may mean seconds or milliseconds",
            fix=f"write {_option(name)} {str(said[name]).strip()}ms",
        )
    value = _quantity(said, name, units.parse_seconds, "50ms")
    return None if value is None else value * 1000


def units_missing(text: str) -> bool:
    """Say whether a quantity is a number without a unit."""
    try:
        return units.is_bare(text)
    except ValueError:
        return False


def _total(said: Mapping[str, Any]) -> int | None:
    name = "offline" if "offline" in said else "dataset"
    value = _quantity(said, name, units.parse_count, "200M", most=_MOST_COUNT)
    return None if value is None else max(1, round(value))


def _quantity(
    said: Mapping[str, Any], name: str, parse: Callable[[str], float], example: str, most: float = 1e12
) -> float | None:
    if name not in said:
        return None
    try:
        value = parse(str(said[name]))
        if not (math.isfinite(value) and 0 < value <= most):
            raise ValueError(f"it lies above 0 and at {most:g} at most")  # noqa: TRY301 - one way to say it
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{_option(name)} {said[name]!r:.40} cannot be read",
            why=str(error),
            fix=f"write e.g. {_option(name)} {example}",
        ) from error
    return value


def _whole(said: Mapping[str, Any], name: str, most: int) -> int | None:
    if name not in said:
        return None
    value = said[name]
    if not 1 <= value <= most:
        raise UsageError(
            f"{_option(name)} {value} cannot be used",
            why=f"it is a whole number from 1 to {most:,}",
            fix=f"correct {_option(name)}, or leave it out",
        )
    return int(value)


def _word(said: Mapping[str, Any], name: str, meaning: Callable[[str], str | None], known: str) -> str | None:
    if name not in said:
        return None
    found = meaning(str(said[name]))
    if found is None:
        raise UsageError(
            f"{_option(name)} {said[name]!r:.40} is not known", why=f"it is one of {known}", fix="name one of them"
        )
    return found


def _factor(said: Mapping[str, Any]) -> float | None:
    value = said.get("reserved_factor")
    if value is None:
        return None
    if not (math.isfinite(value) and 0 < value <= 1):
        raise UsageError(
            f"--reserved-factor {value} cannot be used",
            why="a commitment costs more than 0 and at most 1 of on-demand",
            fix="write e.g. --reserved-factor 0.6 for 40 % off",
        )
    return float(value)


def _dims(pairs: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for pair in pairs:
        name, sign, size = str(pair).partition("=")
        bare = size.strip().replace("_", "")
        if not sign or not name.strip() or not (bare.isascii() and bare.isdigit() and 1 <= int(bare[:19]) < 1 << 40):
            raise UsageError(
                f"--dim {pair!r:.60} cannot be read",
                why="it is the name of an open size, =, and a whole number from 1",
                fix="write e.g. --dim batch=8 --dim sequence=384",
            )
        if found.get(name.strip(), int(bare)) != int(bare):
            raise UsageError(
                f"--dim {name.strip()} is given twice",
                why=f"as {found[name.strip()]} and as {bare}",
                fix="give each size once",
            )
        found[name.strip()] = int(bare)
    return found
