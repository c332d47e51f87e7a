"""The shipped model of `fit` as it lies on disk: arrays and a card that says what they were learned from."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from brimful.catalog.form import File

FILE = Path(__file__).parent / "data" / "predictor.npz"
VERSION = 1
_CARD = "card"
Arrays = dict[str, npt.NDArray[Any]]


def load(path: Path = FILE) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and the card; a damaged file is a CatalogError."""
    file = File(path, shipped=True)
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        card: dict[str, Any] = json.loads(bytes(arrays.pop(_CARD)).decode())
    except OSError as error:
        raise file.error("cannot be read", error.strerror or str(error)) from error
    except Exception as error:  # whatever a damaged archive makes of zip, numpy and json
        raise file.error("is damaged", f"{type(error).__name__}: {error}") from error
    if card.get("v") != VERSION:
        why = f"its version is {card.get('v')}, and this one reads {VERSION}"
        raise file.error("was written by another brimful", why)
    if card.get("sha256") != digest(arrays):
        raise file.error("is damaged", "its arrays do not match the sha256 of its card")
    return arrays, card


def save(path: Path, arrays: Mapping[str, npt.NDArray[Any]], card: Mapping[str, Any]) -> None:
    """Write arrays and their card, whole or not at all."""
    text = json.dumps({**card, "v": VERSION, "sha256": digest(arrays)}).encode()
    new = path.with_name(f".{path.name}.tmp")
    with new.open("wb") as stream:
        parts: dict[str, Any] = {**arrays, _CARD: np.frombuffer(text, np.uint8)}
        np.savez_compressed(stream, **parts)
        stream.flush()
        os.fsync(stream.fileno())
    new.replace(path)


def digest(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return the digest of all arrays with their names."""
    out = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        out.update(f"{name} {array.dtype} {array.shape} ".encode())
        out.update(array.tobytes())
    return out.hexdigest()
