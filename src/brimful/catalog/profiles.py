"""Named models: what a model costs, by its name alone, from a table that brimful computed and ships.

    find("timm:convnext_base", image_size=288)

`tools/zoo` makes the table: it builds each model with random weights, runs it once on PyTorch's meta device, and keeps
its operations and how each grows with the side of the image. Nothing was typed in. Language models are not here: their
configuration says all that is needed.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from brimful.catalog.contents import SHIPPED
from brimful.catalog.packed import Packed
from brimful.costs.profile import profiled
from brimful.model.work import OpCost, OpKind, Profile

FILE = "profiles.bin"
_ORDER = ("timm", "torchvision", "zoo")  # who is meant when a name has no library before it
_ELSEWHERE = frozenset(("mlperf", "tflite", "openvino", "mlperf_inference", "nvidia", "onnx", "keras"))
_HUB = re.compile(r"^(?:hf[-_]hub:)?timm/", re.IGNORECASE)
_TAG_SIZE = re.compile(r"_(\d{3})$")  # timm: a tag that ends in a size was trained for that size
_NOT_COUNTED = "the table keeps operations, not what is alive between them"
_PLAIN_BYTES = 4
_IMAGE = "image_size"
_DYNAMIC = "dynamic: "  # begins a remark about shapes that depend on the image


def key(name: str) -> str:
    """Return the form in which names are compared: no case, and nothing but letters and digits."""
    return re.sub(r"[^a-z0-9]+", "", name.lower())


class Profiles:
    """The named models of one file."""

    def __init__(self, path: Path) -> None:
        self._packed = Packed(path)
        index = self._packed.index
        self._places = {(library, key(name)): place for place, (name, library, *_) in enumerate(index.models)}

    def names(self) -> tuple[str, ...]:
        """Return every model as library:name, in order."""
        return tuple(sorted(f"{library}:{name}" for name, library, *_ in self._packed.index.models))

    def near(self, name: str, most: int = 3) -> tuple[str, ...]:
        """Return the names that resemble one that is not known, the likeliest first."""
        library, bare = _split(name)
        known: dict[str, str] = {}
        for named, its, *_ in self._packed.index.models:
            if library in (None, its):
                known.setdefault(key(named), f"{its}:{named}")
        return tuple(known[item] for item in get_close_matches(key(bare), known, most, 0.6))

    def find(self, name: str, image_size: int | None = None) -> Profile | None:
        """Return what one sample of a named model costs, for images of that side (its own when None); None: no such.

        A model whose operations are not known to grow with its image keeps its own size, and its `source` says so.
        """
        if image_size is not None and image_size < 1:
            raise ValueError(f"image_size is {image_size}: it starts at 1")
        found = self._place(name)
        if found is None:
            return None
        place, spelt = found
        return self._profile(place, image_size or spelt)

    def _place(self, name: str) -> tuple[int, int | None] | None:
        """Return where a model stands, and the image size that the spelling of its name implies."""
        library, bare = _split(name)
        last = bare.rpartition("/")[2]  # of a repository's name, owner/model
        for text in dict.fromkeys((bare, bare.partition(".")[0], last)):
            tag = _TAG_SIZE.search(bare) if "." in bare and "." not in text else None
            size = int(tag[1]) if tag else None
            for one in _ORDER if library is None else (library,):
                place = self._places.get((one, key(text)))
                if place is not None:
                    return place, size
            alias = self._packed.index.aliases.get(key(text))
            if alias is not None and library in (None, self._library(alias[0])):
                return alias[0], size or alias[1] or None
        return None

    def _library(self, place: int) -> str:
        return self._packed.index.models[place][1]

    def _profile(self, place: int, image_size: int | None) -> Profile:
        name, library, own, grows, parameters, remark = self._packed.index.models[place]
        source = self._packed.index.libraries[library]
        remarks = [part for part in remark.split("; ") if part]
        said = [part for part in remarks if not part.startswith(_DYNAMIC)]
        size = (image_size or own) if grows else own
        if own and image_size not in (None, size):
            said.append(f"at {own} pixels, for what it costs at {image_size} is not known")
        try:
            ops = self._ops(place, size / own if own else 1.0)
            return profiled(
                ops,
                model=f"{library}:{name}",
                source="; ".join([source, *said]),
                parameters=parameters,
                weight_bytes=parameters * _PLAIN_BYTES,
                dims={_IMAGE: size} if own else {},
                dynamic=tuple(part.removeprefix(_DYNAMIC) for part in remarks if part.startswith(_DYNAMIC)),
                missing={"activation_bytes": _NOT_COUNTED},
            )
        except (ValueError, OverflowError) as error:
            raise self._packed.wrong(place, str(error)) from error

    def _ops(self, place: int, scale: float) -> list[OpCost]:
        index, out = self._packed.index, []
        for kind, count, flops, weights, read, write, growth in zip(*self._packed.columns(place), strict=True):
            op, op_type = index.kinds[kind]
            grown: Any = (flops, weights, read, write)
            if scale != 1.0:
                powers = index.growths[growth]
                grown = [round(amount * scale**power) for amount, power in zip(grown, powers, strict=True)]
            out.append(
                OpCost(
                    op=OpKind(op),
                    op_type=op_type,
                    ops_count=count,
                    flops=float(grown[0]),
                    weight_elements=grown[1],
                    read_elements=grown[2],
                    write_elements=grown[3],
                )
            )
        return out


def find(name: str, image_size: int | None = None) -> Profile | None:
    """Return what one sample of a named model costs, from the shipped table; None when it is not there."""
    return shipped().find(name, image_size)


def names() -> tuple[str, ...]:
    """Return every model of the shipped table as library:name."""
    return shipped().names()


def near(name: str, most: int = 3) -> tuple[str, ...]:
    """Return the names of the shipped table that resemble one that is not in it, the likeliest first."""
    return shipped().near(name, most)


@cache
def shipped() -> Profiles:
    """Open the shipped table, once."""
    return Profiles(SHIPPED / FILE)


def _split(name: str) -> tuple[str | None, str]:
    """Return the library before the colon, if it is one, and the rest; where else a name comes from does not matter."""
    if _HUB.match(name):
        return "timm", _HUB.sub("", name)
    before, colon, after = name.partition(":")
    library = before.strip().lower().replace("-", "_")
    if colon and library in _ORDER:
        return library, after.strip()
    return None, (after if colon and library in _ELSEWHERE else name).strip()
