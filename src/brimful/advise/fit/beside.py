"""What is said beside the order: the CPU's answer, the purpose-built and the fractional one, and what would decide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from brimful.advise.fit.choose import Selection
from brimful.advise.fit.cost import Price, break_even
from brimful.advise.fit.ranking import CpuAnswer, Decide, Ranked
from brimful.advise.fit.request import Load, Request
from brimful.advise.fit.rows import Row
from brimful.model.hardware import DeviceKind

_FULLEST = 0.8  # of a machine's rate: where it is filled to the brim, waits have no bound
_MOST_PER_S = 1e7
_Array = npt.NDArray[np.float64]


@dataclass
class Beside:
    """The further answers; `missing` says why one is not there."""

    cpu: CpuAnswer
    purpose_built: Ranked | None = None
    fractional: Ranked | None = None
    decide: Decide | None = None
    notes: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)


def beside(
    rows: Sequence[Row], answers: Mapping[str, Ranked], chosen: Selection, request: Request, model: str
) -> Beside:
    """Return the answers beside the order."""
    order = [name for name in chosen.order if name in answers]
    sorts = {row.place.offer.instance: row.place for row in rows}
    neuron = next((name for name in order if sorts[name].kind is DeviceKind.NEURON), None)
    share = next((name for name in order if sorts[name].spare), None)
    out = Beside(
        cpu=_cpu(rows, [name for name in order if sorts[name].kind is DeviceKind.CPU], answers),
        purpose_built=answers.get(neuron or ""),
        fractional=answers.get(share or ""),
        decide=_decide(chosen, answers, request, model),
    )
    if out.purpose_built is None:
        out.missing["purpose_built"] = "no Inferentia or Trainium type can answer; excluded says why"
    if out.fractional is None:
        out.missing["fractional"] = "no type with a share of a GPU can answer; excluded says why"
    if out.decide is None:
        out.missing["decide"] = out.missing["decide_with"] = chosen.missing.get("decide", "nothing is left to decide")
    return out


def _cpu(rows: Sequence[Row], order: Sequence[str], answers: Mapping[str, Ranked]) -> CpuAnswer:
    """Return the CPU's answer: the cheapest of them, and from which rate on an accelerator costs less."""
    best = answers.get(order[0]) if order else None
    if best is None:
        why = "no type without an accelerator can answer; excluded says why"
        names = ("instance", "usd_per_million", "usd_per_hour", "break_even_per_s", "accelerator")
        return CpuAnswer(reason=why, missing=dict.fromkeys(names, why))
    plain = [row for row in rows if row.place.inside.is_cpu]
    others = [row for row in rows if not row.place.inside.is_cpu]
    rate, name, why = _break_even(plain, others)
    return CpuAnswer(
        instance=best.instance,
        usd_per_million=best.usd_per_million,
        usd_per_hour=best.usd_per_hour,
        break_even_per_s=rate,
        accelerator=name,
        reason=why,
        missing={} if rate is not None else {"break_even_per_s": why, "accelerator": why},
    )


def _break_even(plain: Sequence[Row], others: Sequence[Row]) -> tuple[float | None, str | None, str]:
    """Return the rate from which some accelerator costs no more than any CPU, each at 80 % of its most."""
    if not others:
        return None, None, "no accelerator can answer"
    small, large = _Cheapest(plain), _Cheapest(others)
    found = break_even(small.price(), large.price(), _MOST_PER_S)
    if found.rate_per_s is None:
        return None, None, found.missing["rate_per_s"]
    name = large.name(max(found.rate_per_s, 1e-6))
    if found.rate_per_s <= 0:
        return 0.0, name, "an accelerator costs less at any rate"
    return found.rate_per_s, name, f"from {found.rate_per_s:.3g} a second on {name} costs no more than any CPU"


class _Cheapest:
    """Of several types the cheapest at each rate, in as many machines as it takes."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._names = [row.place.offer.instance for row in rows]
        self._usd: _Array = np.array([row.place.usd_per_hour for row in rows])
        self._rate: _Array = np.array([row.rate[1] * _FULLEST * row.place.lasting_share for row in rows])

    def _all(self, per_s: float) -> _Array:
        cost: _Array = np.ceil(per_s / self._rate - 1e-9).clip(min=1.0) * self._usd
        return cost

    def price(self) -> Price:
        """Return the price an hour as a function of the rate."""
        return lambda per_s: float(self._all(per_s).min()) if len(self._usd) else None

    def name(self, per_s: float) -> str:
        """Return the type that is the cheapest at a rate."""
        return self._names[int(self._all(per_s).argmin())]


def _decide(chosen: Selection, answers: Mapping[str, Ranked], request: Request, model: str) -> Decide | None:
    if chosen.decide is None:
        return None
    names = chosen.decide.measure
    usd = chosen.decide.bench_usd
    command = f"brimful bench {model} --on ec2:{','.join(names)}{_scenario(request)} --budget {_budget(usd)}usd"
    del answers
    return Decide(instances=names, command=command, usd=usd, tied_share=chosen.decide.tied_share)


def _scenario(request: Request) -> str:
    if request.load is Load.ONLINE and request.queries_per_s:
        limit = f" --p99 {request.slo.p99_ms:g}ms" if request.slo.p99_ms is not None else ""
        return f" --scenario server --qps {request.queries_per_s:g}{limit}"
    return " --scenario offline" if request.load in (Load.OFFLINE, Load.FULL) else ""


def _budget(usd: float) -> str:
    return f"{math.ceil(usd * 2 * 100) / 100:g}"  # twice the estimate: a machine takes minutes to come up
