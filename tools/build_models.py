"""Make `catalog/models/transformers.json`: the measures of well-known transformers, from configurations kept here.

`python -m tools.build_models` reads `tools/models/transformers.json` (one line a model: its name, others for it, the
keys of its published configuration that say how it is built) and writes what `brimful.catalog.models` reads.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from brimful.catalog.models import comparable
from brimful.model.work import Transformer
from brimful.readers.huggingface.families import understood

ROOT = Path(__file__).parent.parent
CONFIGURATIONS = ROOT / "tools" / "models" / "transformers.json"
SHIPPED = ROOT / "src" / "brimful" / "catalog" / "models" / "transformers.json"
SOURCE = (
    "measures of published configurations (config.json of each model; those of 2025 and later as kept by "
    "ai-dynamo/aiconfigurator, Apache-2.0; gpt3_xl, gpt3_27, opt_13 and switchxl4 as kept by NeuSight, MIT), "
    "read by brimful's own reader"
)


def rows() -> list[dict[str, Any]]:
    """Return the configurations, checked for names that two models would share."""
    found: list[dict[str, Any]] = json.loads(CONFIGURATIONS.read_text(encoding="utf-8"))["models"]
    taken: dict[str, str] = {}
    for row in found:
        for name in (row["name"], *row.get("aliases", [])):
            owner = taken.setdefault(comparable(name), row["name"])
            if owner != row["name"]:
                raise ValueError(f"{name!r} is a name of {owner} and of {row['name']}")
    return found


def measures(t: Transformer) -> dict[str, Any]:
    """Return the fields of a transformer that differ from what they are when nobody says them."""
    known: dict[str, Any] = {}
    for item in fields(t):
        value = getattr(t, item.name)
        if item.name == "missing" or value is None or value == item.default:
            continue
        known[item.name] = measures(value) if isinstance(value, Transformer) else value
    return known


def build() -> str:
    """Return the text of the shipped file."""
    lines = []
    for row in rows():
        line = {"name": row["name"], "aliases": row.get("aliases", [])}
        line["measures"] = measures(understood(row["config"]).transformer)
        lines.append("  " + json.dumps({key: value for key, value in line.items() if value}, separators=(",", ":")))
    head = json.dumps({"source": SOURCE, "licence": "LicenseRef-facts"}, indent=1)[:-2]
    return head + ',\n "models": [\n' + ",\n".join(lines) + "\n ]\n}\n"


if __name__ == "__main__":
    SHIPPED.write_text(build(), encoding="utf-8")
    print(f"{len(rows())} models in {SHIPPED.relative_to(ROOT)}")
