"""One machine type as an answer to training: a step on one device, on all of a machine's, the epochs, their cost.

The step of one device is foreseen as a whole, by what training runs of such models took. More than one device is not
advised while input would not fill one, nor where gradients take longer than they save.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from brimful.advise.fit.places import Place
from brimful.advise.fit.request import Request
from brimful.advise.fit.rows import Row, per_million
from brimful.advise.fit.services import Spans
from brimful.advise.fit.serving import Serving, kept_share
from brimful.advise.fit.training import Step, backward_factor, scaled
from brimful.model.evidence import Interval
from brimful.model.hardware import Accelerator, Fitted
from brimful.model.work import Profile

_GRADIENT_BYTES = 2  # of a parameter, in mixed precision
_FED = 0.999  # of what the host lets through: the step waits for it
_SOCKETS_SHARE = 0.9  # what a second socket adds where gradients go through memory


def row(
    place: Place,
    serving: Serving,
    *,
    request: Request,
    profile: Profile,
    sheet: Callable[[Fitted], Accelerator | None],
) -> Row | str:
    """Return a type with its run, or why it is no answer."""
    if place.lasting_share < 1:
        return f"burstable: its price buys {place.lasting_share:.0%} of its CPU for good, and training needs all of it"
    rate, limited = _rate(place, serving, profile, sheet)
    if isinstance(limited, _Refused):
        return limited
    total = (request.total_count or 0) * (request.epochs or 1.0)
    run: Spans | None = None
    meets = 1.0
    if total:
        run = total / rate[2], total / rate[1], total / rate[0]
    if run is not None and request.slo.within_s is not None:
        meets = kept_share(run[1] / request.slo.within_s, math.log(run[2] / run[1]))
    return Row(place, serving, 1, rate, limited, per_million(place.usd_per_hour, rate), None, meets, run)


class _Refused(str):
    """Why more devices than one are not advised."""

    __slots__ = ()


def _rate(
    place: Place, serving: Serving, profile: Profile, sheet: Callable[[Fitted], Accelerator | None]
) -> tuple[Spans, str]:
    """Return the samples a second of a machine, and what limits them."""
    count, call = place.inside.count, serving.call
    low, mid, high = serving.per_s
    limited = call.limited_by
    feed = place.feed
    fitted = (place.offer.accelerators or (None,))[0]
    facts = sheet(fitted) if fitted is not None else None
    if count > 1 and fitted is not None and facts is not None:
        one = _step(serving, profile)
        many = scaled(
            one,
            (profile.parameters or 0) * _GRADIENT_BYTES,
            facts,
            place.offer,
            count,
            feed_per_s=None if feed is None else feed.items_per_s.mid,
        )
        if many.refused is not None:
            return (low, mid, high), _Refused(many.refused)
        rate = many.samples_per_s
        low, mid, high = rate.low, rate.mid, rate.high
        if many.exposed_ms > one.step_ms.mid:
            limited = "network"
        if feed is not None and mid >= _FED * feed.items_per_s.mid:
            limited = feed.limited_by
    elif count > 1:
        low, mid, high = (end * (1 + (count - 1) * _SOCKETS_SHARE) for end in (low, mid, high))
    if feed is not None and feed.items_per_s.mid < mid:
        return (min(low, feed.items_per_s.low), feed.items_per_s.mid, min(high, feed.items_per_s.high)), feed.limited_by
    return (low, mid, high), limited


def _step(serving: Serving, profile: Profile) -> Step:
    """Return the step that was foreseen, divided as such models' passes are."""
    call = serving.call
    factor = backward_factor(profile)[1]
    whole = Interval(low=call.ms[0], mid=call.ms[1], high=call.ms[2], coverage=serving.table.coverage)
    forward = Interval(
        low=whole.low / factor, mid=whole.mid / factor, high=whole.high / factor, coverage=whole.coverage
    )
    return Step(samples_count=call.batch, forward_ms=forward, compute_ms=whole, optimizer_ms=0.0, step_ms=whole)
