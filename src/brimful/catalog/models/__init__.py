"""Well-known transformers by name: their measures, as `tools/build_models.py` reads them from configurations.

`transformers.json` has the names that people and benchmarks use. A name is compared by its words and numbers alone,
without its organisation; when nothing has that name, the ends that change nothing of the architecture are left out.
"""

from __future__ import annotations

import difflib
import functools
import re
from importlib.resources import files
from typing import Any

import msgspec

from brimful.model.work import Transformer

_WORDS = re.compile(r"[a-z]+|\d+")
_ENDS = re.compile(
    r"[-_. ](instruct|chat|hf|it|sft|dpo|base|preview|thinking|fp8|fp16|bf16|nvfp4|mxfp4|fp4|int8|int4|4bit|8bit|awq"
    r"|gptq|gguf|autoround|w4a16|w8a8|dynamic|static|pertensor|pre-training|fine-tuning|\d{4})$"
)
_LONGEST = 200
_START = re.compile(r"^(meta|openai|google|facebook|huggingface)[-_ ]")
_INSIDE = re.compile(r"\(([^()]+)\)$")  # "BERT base (bert-base-cased)"


@functools.cache
def _table() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return, by comparable name, the name proper and the measures."""
    text = files("brimful.catalog.models").joinpath("transformers.json").read_bytes()
    table: dict[str, tuple[str, dict[str, Any]]] = {}
    for row in msgspec.json.decode(text)["models"]:
        for name in (row["name"], *row.get("aliases", ())):
            table[comparable(name)] = (row["name"], row["measures"])
    return table


def comparable(name: str) -> str:
    """Return the words and numbers of a name, without its organisation: `Meta/Llama-2_7B` is `llama 2 7 b`."""
    return " ".join(_WORDS.findall(name.lower().rsplit("/", 1)[-1]))


def _found(name: str) -> tuple[str, dict[str, Any]] | None:
    name = name[:_LONGEST].strip().lower()
    inside = _INSIDE.search(name)
    name = (inside[1] if inside else name).rsplit("/", 1)[-1]
    while True:
        for spelt in (name, _START.sub("", name)):
            if found := _table().get(comparable(spelt)):
                return found
        shorter = _ENDS.sub("", name)
        if shorter == name:
            return None
        name = shorter


def named(name: str) -> Transformer | None:
    """Return the transformer of a name, None when nobody told of it."""
    found = _found(name)
    return None if found is None else _made(found[1])


def proper_name(name: str) -> str | None:
    """Return the name under which a model is kept, by any name it has."""
    found = _found(name)
    return None if found is None else found[0]


def names() -> tuple[str, ...]:
    """Return the proper names of all models, in order."""
    return tuple(sorted({name for name, _ in _table().values()}))


def alike(name: str, most: int = 5) -> tuple[str, ...]:
    """Return the names that are most like one that nobody has, for a question of the kind "did you mean it?"."""
    close = difflib.get_close_matches(comparable(name[:_LONGEST]), _table(), n=3 * most, cutoff=0.5)
    return tuple(dict.fromkeys(_table()[key][0] for key in close))[:most]


def _made(measures: dict[str, Any]) -> Transformer:
    encoder = measures.get("encoder")
    inner = {"encoder": _made(encoder)} if encoder is not None else {}
    return Transformer(**{**measures, **inner})
