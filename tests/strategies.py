"""Hypothesis strategies that make any noun from its annotations, unknown values with their reasons included."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Mapping
from dataclasses import fields
from datetime import date
from typing import Any

from hypothesis import strategies as st

from brimful.advise.fit.data import Data, DataKind
from brimful.advise.fit.memory import Setup, Split
from brimful.advise.fit.query import Query
from brimful.advise.fit.training_memory import Training
from brimful.advise.fit.video import Video
from brimful.model import units
from brimful.model.advice import Finding, PracticeStatus, Verdict
from brimful.model.evidence import Figures, Interval, Prediction
from brimful.model.hardware import (
    Accelerator,
    Chip,
    CpuFamily,
    Device,
    Fitted,
    Offer,
    Precision,
    Status,
    WithdrawalEvidence,
)
from brimful.model.noun import Noun
from brimful.model.work import OpCost, Profile, Setting, Slo, Transformer
from brimful.seams import Series, Window

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
REASON = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


def nouns(cls: type[Noun]) -> st.SearchStrategy[Noun]:
    """Return a strategy for any valid noun of a class."""
    return _fields(cls).map(lambda known: cls(**_consistent(cls, known)))


@st.composite
def _fields(draw: Any, cls: type[Noun]) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    known: dict[str, Any] = {}
    missing: dict[str, str] = {}
    for item in fields(cls):
        if item.name == "missing":
            continue
        parts = typing.get_args(hints[item.name]) if _is_union(hints[item.name]) else (hints[item.name],)
        inner = next(part for part in parts if part is not type(None))
        if len(parts) > 1 and (inner is cls or draw(st.booleans())):  # a noun inside itself would never end
            missing[item.name] = draw(REASON)
        else:
            known[item.name] = draw(_value(item.name, inner))
    return {**known, "missing": missing}


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (types.UnionType, typing.Union)


def _value(name: str, hint: Any) -> st.SearchStrategy[Any]:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return st.lists(_value(name, parts[0]), max_size=3).map(tuple)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(TEXT, _value(name, parts[1]), max_size=3)
    if hint in (int, float):
        return _number(name, hint)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return st.sampled_from(list(hint))
    if isinstance(hint, type) and issubclass(hint, Noun):
        return nouns(hint)
    return {str: TEXT, bool: st.booleans(), date: st.dates()}[hint]


def _number(name: str, hint: type) -> st.SearchStrategy[Any]:
    least, most = units.range_of(name)
    if hint is int:
        return st.integers(int(max(least, -(2**62))), int(min(most, 2**62)))
    return st.floats(max(least, -1e300), min(most, 1e300), allow_nan=False)


def _forget(known: dict[str, Any], *names: str) -> None:
    for name in names:
        known.pop(name, None)
        known["missing"].setdefault(name, "not drawn")


def _consistent(cls: type[Noun], known: dict[str, Any]) -> dict[str, Any]:
    """Mend what a draw of independent fields gets wrong across fields."""
    mend = _MENDS.get(cls)
    if mend is not None:
        mend(known)
    return known


def _mend_memory(known: dict[str, Any]) -> None:
    if "share" in known:
        known["share"] = known["share"] or 0.125
    if "count" in known:
        known["count"] = abs(known["count"]) or 1
    if known.get("usable_memory_bytes", 0) > known.get("memory_bytes", 2**63):
        known["usable_memory_bytes"] = known["memory_bytes"]
    for rates in ("peak_flops", "peak_core_flops"):
        if rates in known:
            known[rates] = dict(zip(Precision, known[rates].values(), strict=False))


def _mend_chip(known: dict[str, Any]) -> None:
    names = [name for name in ("base_mhz", "sustained_mhz", "boost_mhz") if name in known]
    known.update(zip(names, sorted(known[name] for name in names), strict=True))
    _mend_memory(known)


def _mend_offer(known: dict[str, Any]) -> None:
    if known.get("usd_per_hour") == 0:
        _forget(known, "usd_per_hour")
    if known["status"] is Status.WITHDRAWN:
        known["withdrawal"] = WithdrawalEvidence.ABSENT
        known["missing"].pop("withdrawal", None)
    else:
        _forget(known, "withdrawal", "withdrawn_on")


def _mend_figures(known: dict[str, Any]) -> None:
    names = [name for name in ("min_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms") if name in known]
    known.update(zip(names, sorted(known[name] for name in names), strict=True))
    _forget(known, "mean_ms")


def _mend_slo(known: dict[str, Any]) -> None:
    if "p50_ms" in known and "p99_ms" in known:
        known["p50_ms"], known["p99_ms"] = sorted((known["p50_ms"], known["p99_ms"]))


def _mend_interval(known: dict[str, Any]) -> None:
    names = ("low", "mid", "high")
    known.update(zip(names, sorted(abs(known[name]) for name in names), strict=True))
    known["coverage"] = 0.8


def _mend_setting(known: dict[str, Any]) -> None:
    for name in ("batch", "threads", "streams", "cores"):
        if name in known:
            known[name] = max(1, known[name])


def _mend_prediction(known: dict[str, Any]) -> None:
    known["basis"] = known["basis"] or ("a table",)


def _mend_finding(known: dict[str, Any]) -> None:
    known["evidence"] = known["evidence"] or ("run/1",)
    for name in ("what", "why", "fix"):
        known[name] = known[name] or "said"


def _mend_series(known: dict[str, Any]) -> None:
    times = sorted(set(known["times_s"]))
    known["times_s"] = tuple(times)
    known["values"] = tuple(times)


def _mend_window(known: dict[str, Any]) -> None:
    known["start_s"], known["end_s"] = sorted((known["start_s"], known["end_s"]))


def _mend_verdict(known: dict[str, Any]) -> None:
    if known["status"] is not PracticeStatus.UNKNOWN:
        known["evidence"] = known["evidence"] or ("run/1",)
    if "fix" not in known:
        known["missing"].pop("fix")
        known["fix"] = "do it"


def _mend_op(known: dict[str, Any]) -> None:
    known["ops_count"] = known["ops_count"] or 1


def _mend_profile(known: dict[str, Any]) -> None:
    known["samples_count"] = known["samples_count"] or 1


def _mend_transformer(known: dict[str, Any]) -> None:
    for name, value in known.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            known[name] = type(value)(min(abs(value), 1e15))
    for name in ("layers", "hidden", "heads", "kv_heads", "head_size"):
        known[name] = known[name] or 1
    for more, fewer in (("heads", "kv_heads"), ("experts", "experts_per_token")):
        known[more], known[fewer] = max(known[more], known[fewer]), min(known[more], known[fewer])
    for name in ("dense_layers", "windowed_layers", "linear_layers"):
        known[name] = min(known[name], known["layers"])
    known.update(head="none", rope_size=0, cross=False)
    known["latent"] = max(1, known.get("latent", 1))
    known["missing"].pop("latent", None)


def _mend_data(known: dict[str, Any]) -> None:
    known["item_bytes"] = 0 if known["kind"] is DataKind.NONE else known["item_bytes"] or 1


def _mend_split(known: dict[str, Any]) -> None:
    for name in ("tensor", "pipeline", "data"):
        known[name] = abs(known[name]) or 1


def _mend_training(known: dict[str, Any]) -> None:
    known["optimizer"] = "adam"
    known["zero_stage"] = abs(known["zero_stage"]) % 4


def _mend_setup(known: dict[str, Any]) -> None:
    if "batch" in known:
        known["batch"] = abs(known["batch"]) or 1
    known["context"] = abs(known["context"])


def _mend_query(known: dict[str, Any]) -> None:
    for name in ("batch", "image_size", "sequence", "tokens_in", "tokens_out", "count"):
        if name in known:
            known[name] = abs(known[name]) or 1


def _mend_video(known: dict[str, Any]) -> None:
    for name in ("width", "height"):
        known[name] = abs(known[name]) or 1
    known["frames_per_s"] = abs(known["frames_per_s"]) or 1.0


_MENDS = {
    Accelerator: _mend_memory,
    Chip: _mend_chip,
    CpuFamily: _mend_memory,
    Data: _mend_data,
    Device: _mend_memory,
    Figures: _mend_figures,
    Finding: _mend_finding,
    Fitted: _mend_memory,
    Interval: _mend_interval,
    Offer: _mend_offer,
    OpCost: _mend_op,
    Prediction: _mend_prediction,
    Profile: _mend_profile,
    Query: _mend_query,
    Series: _mend_series,
    Setting: _mend_setting,
    Setup: _mend_setup,
    Slo: _mend_slo,
    Split: _mend_split,
    Training: _mend_training,
    Transformer: _mend_transformer,
    Verdict: _mend_verdict,
    Video: _mend_video,
    Window: _mend_window,
}
