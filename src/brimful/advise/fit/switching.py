"""What switching a machine off between the requests of a trace would save, as a note to an answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from brimful.advise.fit.rows import Row
from brimful.advise.fit.sporadic import scale_to_zero
from brimful.model.units import format_seconds

IDLE_S, COLD_S = 600.0, 120.0  # off after ten minutes; up, with its model loaded, after two: usual figures, unverified
_WORTH = 0.8  # of the hours: where less is saved nothing is said
_MOST_ARRIVALS = 200_000


def switched(row: Row, times_ms: npt.NDArray[np.float64]) -> Row:
    """Return a row with a note where switching its one machine off when idle saves a fifth of its hours or more."""
    if row.count > 1 or row.place.inside.count > 1 or not 1 < len(times_ms) <= _MOST_ARRIVALS:
        return row
    sizes = np.array(row.serving.batches, dtype=float)
    taken = [row.serving.table.call(size).ms[1] for size in row.serving.batches]
    service = np.interp(np.arange(1, int(sizes[-1]) + 1), sizes, taken).tolist()
    found = scale_to_zero(times_ms, service, IDLE_S, COLD_S)
    if found.billed_hours > _WORTH * found.always_on_hours:
        return row
    usd = found.billed_hours * row.place.usd_per_hour / found.requests_count * 1e6
    note = (
        f"off after {format_seconds(IDLE_S)} without requests it is billed {found.billed_hours:.3g} of "
        f"{found.always_on_hours:.3g} h, ${usd:,.3g} a million; {found.cold_share:.0%} of the requests then wait for a "
        f"start of about {format_seconds(COLD_S)} (unverified)"
    )
    return replace(row, notes=(*row.notes, note))
