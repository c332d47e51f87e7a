"""The machine form of a ranking: what the issue of `fit` promises, on one line."""

from __future__ import annotations

from typing import Any

from brimful.advise.fit.ranking import Fitting
from brimful.model.noun import plain
from brimful.report import json


def text(found: Fitting, top: int = 0) -> str:
    """Return a ranking as JSON; `top` keeps so many of the answers (0: all)."""
    ranking: dict[str, Any] = plain(found.ranking)
    if top:
        ranking["answers"] = ranking["answers"][:top]
    reasons = ranking.pop("missing", {})
    body = {
        "model": found.model,
        "region": found.region,
        "run": found.run,
        "journal": found.journal,
        **ranking,
        "workload": plain(found.workload),
        "explained": plain(found.explained),
        "warnings": list(found.warnings),
    }
    reasons = {**reasons, **found.missing}
    return json.answer("fit", {**body, "missing": reasons} if reasons else body)
