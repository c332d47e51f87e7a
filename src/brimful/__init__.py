"""brimful: every device right for its job, full while it runs, gone when the job is done.

The verbs are functions of this module, each imported when it is first used:

    import brimful
    found = brimful.audit(brimful.load_config())
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brimful.config import load as load_config
    from brimful.readers.torch_program import profile_module
    from brimful.verbs.audit import Sources, audit
    from brimful.verbs.doctor import doctor
    from brimful.verbs.fit import Model, Own, fit, predict, queries
    from brimful.verbs.fit_ask import ask

_NAMES = {
    "Sources": "brimful.verbs.audit:Sources",
    "audit": "brimful.verbs.audit:audit",
    "Model": "brimful.verbs.fit:Model",
    "Own": "brimful.verbs.fit:Own",
    "ask": "brimful.verbs.fit_ask:ask",
    "doctor": "brimful.verbs.doctor:doctor",
    "fit": "brimful.verbs.fit:fit",
    "predict": "brimful.verbs.fit:predict",
    "queries": "brimful.verbs.fit:queries",
    "load_config": "brimful.config:load",
    "profile_module": "brimful.readers.torch_program:profile_module",
}

__all__ = [
    "Model",
    "Own",
    "Sources",
    "ask",
    "audit",
    "doctor",
    "fit",
    "load_config",
    "predict",
    "profile_module",
    "queries",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for, and nothing before that."""
    if name not in _NAMES:
        raise AttributeError(f"module 'brimful' has no attribute {name!r}")
    module, _, attribute = _NAMES[name].partition(":")
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value
