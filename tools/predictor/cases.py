"""From cleaned measurements to what the predictor learns: a pass, the logarithm of its seconds, and its weight."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from brimful.advise.fit.case import Case
from brimful.advise.fit.query import UNPADDED_TOKENS, Query, plan
from brimful.catalog import chips, models, profiles
from brimful.costs.transformer import prefill
from brimful.model.hardware import Chip, DeviceKind
from brimful.model.work import Mode, Profile
from tools.fit_data import Row

_BY_RATE = ("throughput", "offline", "server", "training", "train-to-target")
_TWINS = ("MI250", "MI250X", "Flex 140")
_SLOWED = {"maxq", "power-mode"}  # a power limit that the source does not tell
_SKIPPED_MODES = ("train-to-target",)  # a run to a target of accuracy: not a time of a pass


@dataclass(frozen=True)
class Example:
    """Something to learn from."""

    row: Row
    case: Case
    log_s: float
    model: str  # as its profile calls it
    family: str  # of models that are alike, to be held out together

    @property
    def device(self) -> str:
        """The device that was measured."""
        return self.case.chip.model


@cache
def profile_of(model: str, image_size: int | None, sequence: int | None) -> Profile | None:
    """Return the profile of a named model."""
    found = profiles.find(model, image_size)
    if found is not None:
        return found
    transformer = models.named(model)
    name = models.proper_name(model) or model
    return None if transformer is None else prefill(transformer, sequence or 128, 1, model=name)


def examples(table: Iterable[Row]) -> Iterator[Example]:
    """Yield what can be learned from each row; a row of a language model gives its prompt and its tokens apart."""
    for row in table:
        chip = chips.find(row.device)
        sequence = UNPADDED_TOKENS if "unpadded" in row.flags.split("|") else row.sequence
        profile = profile_of(row.model, row.image_size, sequence)
        if chip is None or profile is None or row.weight <= 0 or row.scenario in _SKIPPED_MODES or not profile.ops:
            continue
        if _SLOWED & set(row.flags.split("|")):
            continue
        yield from _examples(row, chip, profile)


def _examples(row: Row, chip: Chip, profile: Profile) -> Iterator[Example]:
    asked = plan(query_of(row, chip), profile, chip)
    if len(asked.parts) > 1:
        for part, took_ms in zip(asked.parts, (row.ttft_ms, row.tpot_ms), strict=True):
            if took_ms:
                yield Example(row, part.case, math.log(took_ms / 1000), profile.model, family(row.model))
        return
    case = asked.parts[0].case
    if row.throughput_per_s and (row.scenario in _BY_RATE or not row.latency_ms):
        log_s = math.log(asked.batch * asked.side_by_side / row.throughput_per_s)
        yield Example(row, case, log_s, profile.model, family(row.model))
    elif row.latency_ms:
        yield Example(row, case, math.log(row.latency_ms / 1000), profile.model, family(row.model))


def query_of(row: Row, chip: Chip) -> Query:
    """Return the query that a row answers."""
    cores = None
    words = row.flags.split("|")
    split = next((int(word[2:]) for word in words if word[:2] == "tp" and word[2:].isdigit()), None)
    if chip.kind is DeviceKind.CPU and row.vcpus:
        per_core = (chip.threads or chip.compute_units or 1) / (chip.compute_units or 1)
        cores = max(1.0, row.vcpus / per_core)
    known: dict[str, Any] = {
        "engine": row.engine or None,
        "precision": row.precision or None,
        "layout": row.layout or None,
        "compiled": row.compiled or None,
        "batch": row.batch,
        "scenario": row.scenario,
        "image_size": row.image_size,
        "sequence": row.sequence,
        "tokens_in": row.tokens_in,
        "tokens_out": row.tokens_out,
        "cores": cores,
    }
    missing = {name: "the row does not say" for name, value in known.items() if value is None}
    mode = Mode.TRAINING if row.mode == "training" else Mode.INFERENCE
    count = row.count
    if chip.kind is DeviceKind.CPU and row.scenario in ("latency", "llm", "single-stream"):
        count = 1  # one call stays on one socket
    if split is not None:
        count = split
    # Two chips under one name, of which a program sees and uses one.
    share = row.share / 2 if chip.model in _TWINS and count == 1 else row.share
    return Query(**known, mode=mode, count=max(1, count), share=share, missing=missing)


def family(model: str) -> str:
    """Return what models that are built alike have in common: the letters before the first digit or mark."""
    name = model.lower().rpartition("/")[2]
    head = ""
    for letter in name:
        if not letter.isalpha():
            break
        head += letter
    return head or name
