"""Which records a journal can hold, and their published JSON Schema."""

from __future__ import annotations

from typing import Any

import msgspec

from brimful.model.advice import Act, Finding, Plan, Verdict
from brimful.model.evidence import Measurement, Prediction, Run, Sample, Source, Stage, Usage
from brimful.model.hardware import Device, Machine, Offer
from brimful.model.noun import Noun
from brimful.model.work import Profile, Setting, Workload

VERSION = 1

KINDS: dict[str, type[Noun]] = {
    "run": Run,
    "source": Source,
    "workload": Workload,
    "profile": Profile,
    "device": Device,
    "machine": Machine,
    "offer": Offer,
    "setting": Setting,
    "measurement": Measurement,
    "prediction": Prediction,
    "sample": Sample,
    "usage": Usage,
    "stage": Stage,
    "finding": Finding,
    "plan": Plan,
    "act": Act,
    "verdict": Verdict,
}
KIND_OF: dict[type[Noun], str] = {cls: kind for kind, cls in KINDS.items()}

# What a killed machine, not only a killed program, must not lose: what was done to somebody's hardware.
DURABLE = frozenset({"run", "act"})

_ENVELOPE = {
    "kind": {"description": "what this line holds", "type": "string"},
    "id": {"description": "<run>/<number>; what evidence cites", "type": "string"},
    "at": {"description": "when it was written, UTC, ISO 8601", "type": "string"},
}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of one line of a journal of this version."""
    schemas, components = msgspec.json.schema_components(tuple(KINDS.values()), ref_template="#/$defs/{name}")
    del schemas
    lines = []
    for kind, cls in KINDS.items():
        body = dict(components[cls.__name__])
        body["properties"] = {**_ENVELOPE, "kind": {"const": kind}, **body.get("properties", {})}
        body["required"] = ["kind", "id", "at", *body.get("required", [])]
        body["title"] = kind
        lines.append(body)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"One line of a brimful journal, version {VERSION}",
        "description": "The first line is a run. A field that is null has its reason in missing.",
        "oneOf": lines,
        "$defs": components,
    }
