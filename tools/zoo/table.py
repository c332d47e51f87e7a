"""Pack the named models into the file that brimful ships: `python -m tools.zoo.table`.

Reads what `tools.zoo.images` and `tools.zoo.make` wrote to tools/data/zoo. The same rows give the same bytes.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from brimful.catalog import SHIPPED
from brimful.catalog.form import write_sealed
from brimful.catalog.packed import Columns, Index, pack
from brimful.catalog.profiles import FILE, key
from tools.zoo.aliases import ALIASES, renamed
from tools.zoo.mended import mended

DATA = Path(__file__).parents[1] / "data" / "zoo"
DAY = "2026-11-19"
LIBRARIES = {
    "timm": "computed by brimful from timm 1.0.29",
    "torchvision": "computed by brimful from torchvision",
    "zoo": "computed by brimful from its own description of the published architecture",
}
_ORDER = tuple(LIBRARIES)


def main() -> None:
    """Write the file and say how large it is."""
    data = table(rows())
    write_sealed(SHIPPED / FILE, data)
    print(f"{FILE}: {len(data) / 1000:.0f} kB")


def rows() -> Iterator[dict[str, Any]]:
    """Yield every model that could be profiled, as its tool wrote it."""
    for path in sorted(DATA.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from (row for row in map(json.loads, file) if "error" not in row)


def table(found: Iterable[dict[str, Any]]) -> bytes:
    """Return the bytes of the shipped file."""
    models = sorted(map(mended, found), key=lambda row: (_ORDER.index(row["library"]), row["name"]))
    kinds, growths = _Numbers(), _Numbers()
    packed = [_columns(row["ops"], kinds, growths) for row in models]
    places: dict[str, int] = {}
    for place, row in enumerate(models):
        first = models[
            places.setdefault(key(row["name"]), place)
        ]  # libraries stand in the order in which they are meant
        if first is not row and row["library"] in ("zoo", first["library"]):
            raise ValueError(f"{first['name']} and {row['name']} are spelt alike")
    index = Index(
        libraries=LIBRARIES,
        kinds=list(kinds),
        growths=list(growths),
        models=[
            (row["name"], row["library"], row["size"], row["grows"], row["parameters"], row.get("remark", ""))
            for row in models
        ],
        aliases=_aliases(places),
        block_bytes=[],
    )
    return pack(DAY, index, packed)


class _Numbers(dict[Any, int]):
    """Numbers its keys in the order in which they are first asked for."""

    def __missing__(self, item: Any) -> int:
        self[item] = len(self)
        return self[item]


def _columns(ops: list[list[Any]], kinds: _Numbers, growths: _Numbers) -> Columns:
    lines = [(kinds[op[0], op[1]], *op[2:7], growths[tuple(op[7:11])]) for op in ops]
    columns: Any = [list(column) for column in zip(*lines, strict=True)]
    return tuple(columns)


def _aliases(places: dict[str, int]) -> dict[str, tuple[int, int]]:
    """Return other spellings by their key; one that is a model's own name, or names no model, is a mistake."""
    out: dict[str, tuple[int, int]] = {}
    for spelling, (name, size) in {**renamed(DATA / "timm_renamed.json"), **ALIASES}.items():
        if key(name) not in places:
            print(f"no model {name} for {spelling}")
        elif key(spelling) not in places:
            out[key(spelling)] = (places[key(name)], size)
    return out


if __name__ == "__main__":
    main()
