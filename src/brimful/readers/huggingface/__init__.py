"""What a Hugging Face `config.json` says of a transformer: its measures, and with them what a pass costs.

`config.py` reads keys, `families.py` finds the family, `decoders.py`, `encoders.py`, `vision.py` and `sides.py` know
each family's ways, `quantization.py` how the weights are kept. What it deliberately does not do: run a model's own code
(`auto_map`), or fetch anything.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from brimful.costs.transformer import input_tokens, matrix_parameters, parameters, prefill
from brimful.model.errors import DataError, UsageError
from brimful.model.text import readable_path
from brimful.model.work import Profile, Transformer
from brimful.readers.huggingface.families import BuiltOtherwiseError, understood
from brimful.readers.huggingface.quantization import Quantization, plain_bits, quantization
from brimful.readers.huggingface.weights import Weights, beside
from brimful.readers.tensor_headers import read_json

_NAME = "config.json"
_QUANTIZED = "hf_quant_config.json"  # where NVIDIA's ModelOpt says how it quantised
_MOST_BYTES = 8_000_000  # of a configuration: the largest known, with a name for each of 21,000 classes, has 2 MB
_LONGEST = 100_000_000  # tokens; and the most sequences of a batch
_SEQUENCE = {True: 512, False: 128}  # of a decoder, of an encoder, when nobody says it
_DIMS = ("batch", "sequence", "image")


class HuggingFaceReader:
    """Reads a model's `config.json`, or the folder that holds one, with the weights' headers where they lie beside it.

    A decoder's profile is that of a prefill; its `transformer` has what any other pass follows from. Open sizes are
    `batch`, `sequence` (tokens an input) and `image` (pixels of a side).
    """

    def __init__(self, where: str = "") -> None:
        self._where = where

    @classmethod
    def check(cls) -> None:
        """Do nothing: it works everywhere."""

    def reads(self, path: str) -> bool:
        """Say whether it is a configuration, by what stands in it, or a folder with one."""
        try:
            raw = _raw(path)
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(raw.get("model_type"), str) or isinstance(raw.get("architectures"), list)

    def profile(self, path: str, dims: Mapping[str, int] | None = None) -> Profile:
        """Return what one pass costs over `batch` inputs of `sequence` tokens, or of images `image` pixels wide."""
        try:
            return _profile(path, _asked(dims or {}))
        except BuiltOtherwiseError as error:
            fix = "export the model to ONNX and give that file"
            raise _unusable(path, "has a model that cannot be told by these measures", str(error), fix) from error
        except OSError as error:
            raise _unusable(
                path, "cannot be read", error.strerror or str(error), f"give a {_NAME}, or the folder with one"
            ) from error
        except RecursionError as error:
            raise _unusable(path, "cannot be read", "its JSON is nested too deeply", "fetch the file again") from error
        except ValueError as error:
            fix = "correct the configuration, fetch it again, or export the model to ONNX and give that file"
            raise _unusable(path, "cannot be used", str(error), fix) from error


@dataclass(frozen=True, slots=True)
class _Asked:
    batch: int
    sequence: int | None
    image: int | None


def _asked(dims: Mapping[str, int]) -> _Asked:
    for name, value in dims.items():
        if name not in _DIMS:
            raise UsageError(
                f"a configuration leaves no size {name!r:.60} open",
                why=f"what it leaves open is {', '.join(_DIMS)}",
                fix="name one of them, e.g. --dim sequence=384",
            )
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LONGEST:
            raise UsageError(
                f"{name} is {value!r:.60}",
                why=f"it is a whole number from 1 to {_LONGEST:,}",
                fix=f"give one, e.g. --dim {name}=8",
            )
    return _Asked(batch=dims.get("batch", 1), sequence=dims.get("sequence"), image=dims.get("image"))


def _file(path: str) -> Path:
    return Path(path) / _NAME if Path(path).is_dir() else Path(path)


def _raw(path: str) -> dict[str, Any]:
    raw = _object(_file(path))
    beside = _file(path).parent / _QUANTIZED
    if "quantization_config" not in raw and beside.is_file():
        table = _object(beside).get("quantization")
        if isinstance(table, dict):
            raw["quantization_config"] = {"quant_method": "modelopt", **table}
    return raw


def _object(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > _MOST_BYTES:
            raise ValueError(f"it has {size} bytes: no configuration is larger than {_MOST_BYTES}")
        start = file.read(1)
        if start not in (b"{", b" ", b"\n", b"\r", b"\t"):
            raise ValueError("it is no JSON object")
        return read_json(start + file.read(_MOST_BYTES), constants=True)  # Python writes Infinity into some


def _profile(path: str, asked: _Asked) -> Profile:
    raw = _raw(path)
    found = understood(raw, asked.image)
    how = quantization(raw)
    t = _quantised(found.transformer, how)
    tokens = _tokens(t, asked)
    counted = parameters(t)
    weights = beside(_file(path).parent)
    notes = [*found.notes, *([f"quantised by {how.method}"] if how else []), *weights.said(counted)]
    known = {
        "model": _model(path, raw),
        "source": "; ".join([f"configuration {readable_path(path)}", *notes]),
        "dynamic": ("which experts a token takes depends on the token",) if t.experts else (),
        **_kept(raw, t, how, weights),
    }
    return prefill(t, tokens, asked.batch, **known)


def _model(path: str, raw: dict[str, Any]) -> str:
    name = raw.get("_name_or_path")
    if isinstance(name, str) and name and not name.startswith((".", "/")):
        return readable_path(name.encode("utf-8", "backslashreplace"))[:200]
    return readable_path(_file(path).absolute().parent.name) or _NAME


def _tokens(t: Transformer, asked: _Asked) -> int:
    side = t.encoder if t.cross and t.encoder is not None else t
    most = side.positions if side.positions and not side.patches else _LONGEST
    if asked.sequence is None:
        return input_tokens(side, min(_SEQUENCE[t.decoder and not t.cross], most))
    if asked.sequence > most:
        raise ValueError(f"it has learned {most} positions, and a sequence of {asked.sequence} was asked for")
    return input_tokens(side, asked.sequence)


def _quantised(t: Transformer, how: Quantization | None) -> Transformer:
    if how is None or how.bits > 64:
        return t
    return replace(t, experts_bits=how.bits, missing={}) if how.experts_only else _all_quantised(t, how.bits)


def _all_quantised(t: Transformer, bits: int) -> Transformer:
    encoder = _all_quantised(t.encoder, bits) if t.encoder is not None else None
    return replace(t, weight_bits=bits, encoder=encoder, missing={})


def _kept(raw: dict[str, Any], t: Transformer, how: Quantization | None, weights: Weights) -> dict[str, Any]:
    """Return parameters, bytes and types of the weights: from the weights' own headers before the configuration's."""
    known: dict[str, Any] = {}
    if weights.bytes is not None:
        known["weight_bytes"] = weights.bytes
        known["weight_types"] = weights.types
        if how is None and weights.parameters is not None:
            known["parameters"] = weights.parameters
        return known
    plain = plain_bits(raw)
    if plain is None and how is None:
        return {"missing": {"weight_bytes": "the configuration does not say how its weights are kept"}}
    bits, name = plain if plain is not None else (16, "fp16")
    every, experts = matrix_parameters(t)
    packed = (experts if how.experts_only else every) if how is not None else 0
    rest = parameters(t) - packed
    known["weight_bytes"] = round(rest * bits / 8 + packed * (how.kept_bits if how is not None else 0) / 8)
    known["weight_types"] = {name: rest} | ({how.name: packed} if how is not None and packed else {})
    return known


def _unusable(path: str, what: str, why: str, fix: str) -> DataError:
    return DataError(f"the configuration {readable_path(path)} {what}", why=why, fix=fix)
