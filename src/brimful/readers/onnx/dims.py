"""The sizes that a model leaves open: their names, what the user binds them to, and what is bound on its own."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

from brimful.readers.onnx.messages import Info
from brimful.readers.onnx.values import Misfit, Shape, checked

_BATCH = re.compile(r"(n|b|bs|batch|unk__\d+|none|\?|)|[\w-]*batch[\w-]*", re.IGNORECASE)
_BATCH_ALIASES = ("batch", "batch_size", "bs", "n", "N")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_][A-Za-z0-9_.]*)|(//|[-+*/()]))")
_MOST = 2**40
_SHOWN = 12


class Unbound(ValueError):  # noqa: N818 - read as "a size is unbound"
    """Sizes that nobody gave, or a name that the model does not have; `fix` says what to type."""

    def __init__(self, why: str, fix: str) -> None:
        super().__init__(why)
        self.fix = fix


class Dims:
    """The open sizes of a model's inputs and what they are bound to."""

    def __init__(self, inputs: Iterable[Info], given: Mapping[str, int]) -> None:
        self.bound: dict[str, int] = {}
        self._places: dict[str, list[tuple[str, int]]] = {}  # name -> inputs and axes where it stands
        self._inputs = [info for info in inputs if info.dims is not None]
        for info in self._inputs:
            for axis, name in enumerate(names_of(info)):
                if isinstance(name, str):
                    self._places.setdefault(name, []).append((info.name, axis))
        self._bind(given)
        self._bind_batch()
        self._require_all()

    def shape(self, info: Info) -> Shape:
        """Return the shape of an input, all sizes bound."""
        return checked(tuple(size if isinstance(size, int) else self._size(size) for size in names_of(info)))

    def partly(self, info: Info) -> tuple[int | None, ...] | None:
        """Return a declared shape as far as its sizes are known."""
        if info.dims is None:
            return None
        return tuple(self.known(dim) if isinstance(dim, str) else _fixed(dim) for dim in info.dims)

    def known(self, name: str) -> int | None:
        """Return a size by its name or the sum that it is, or None."""
        if name in self.bound:
            return self.bound[name]
        return computed(name, self.bound)

    def batch(self, info: Info) -> int | None:
        """Return the size of an input's dimension that is called like a batch, if it has one."""
        for dim in info.dims or ():
            if isinstance(dim, str) and dim and _BATCH.fullmatch(dim):
                return self.known(dim)
        return None

    def _size(self, name: str) -> int:
        size = self.known(name)
        if size is None:
            raise Misfit(f"the size {name!r} is not known")
        return size

    def _bind(self, given: Mapping[str, int]) -> None:
        for name, size in given.items():
            if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= _MOST:
                raise Unbound(f"the size {name} is to be {size!r:.40}, which no size can be", f"pass --dim {name}=1")
            targets = [name] if name in self._places else self._batches(name) or self._parts(name)
            if not targets:
                raise self._stray(name)
            for target in targets:
                self.bound[target] = size

    def _parts(self, name: str) -> list[str]:
        """Return a name that stands only within a sum, such as past of past + sequence."""
        return [name] if any(name in _NAME.findall(place) for place in self._places) else []

    def _batches(self, name: str) -> list[str]:
        """Return the leading sizes without a name of their own, when the user speaks of the batch."""
        if name not in _BATCH_ALIASES:
            return []
        return [place for place, at in self._places.items() if self._leads(place, at)]

    def _leads(self, name: str, places: list[tuple[str, int]]) -> bool:
        """Say whether a size is the first of its inputs and is called like a batch, or is not called at all."""
        if any(axis for _, axis in places):
            return False
        return name == f"{places[0][0]}_0" or bool(_BATCH.fullmatch(name))

    def _bind_batch(self) -> None:
        leading = {name for name, places in self._places.items() if name not in self.bound and places[0][1] == 0}
        leading = {name for name in leading if self.known(name) is None and not self._is_sum(name)}
        like_batch = {name for name in leading if self._leads(name, self._places[name])}
        named = {
            name for name in like_batch if not name.startswith("unk__") and name != f"{self._places[name][0][0]}_0"
        }
        if len(named) <= 1:
            self.bound.update(dict.fromkeys(sorted(like_batch), 1))

    def _is_sum(self, name: str) -> bool:
        """Say whether a name is arithmetic over other names of the model."""
        parts = _NAME.findall(name)
        known = bool(parts) and all(part in self._places or part in self.bound for part in parts)
        return known and name not in parts

    def _require_all(self) -> None:
        missing = [name for name in self._places if self.known(name) is None]
        needed = sorted({part for name in missing for part in self._unbound_parts(name)})
        if not missing:
            return
        where = "; ".join(
            f"{name} ({', '.join(f'{value}[{axis}]' for value, axis in self._places[name][:3])})"
            for name in missing[:_SHOWN]
        )
        more = f"; and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        raise Unbound(
            f"its inputs leave sizes open: {where}{more}",
            "bind them: " + " ".join(f"--dim {_quoted(name)}=1" for name in needed[:_SHOWN]),
        )

    def _unbound_parts(self, name: str) -> list[str]:
        if self._is_sum(name):
            return [part for part in _NAME.findall(name) if part not in self.bound]
        return [name]

    def _stray(self, name: str) -> Unbound:
        fixed = {f"{info.name}_{axis}": dim for info in self._inputs for axis, dim in enumerate(info.dims or ())}
        if isinstance(fixed.get(name), int):
            return Unbound(f"the size {name} is fixed to {fixed[name]} in the file", f"leave --dim {name} away")
        known = sorted(self._places)
        if not known:
            return Unbound(f"it has no size called {name!r:.80}: all are fixed in the file", f"leave --dim {name} away")
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean --dim {_quoted(near[0])}?" if near else f"name one of {', '.join(known[:_SHOWN])}"
        return Unbound(f"it has no open size called {name!r:.80}; it has {', '.join(known[:_SHOWN])}", hint)


def names_of(info: Info) -> tuple[int | str, ...]:
    """Return the sizes of an input: numbers, and for what is open its name or one made from input and axis."""
    return tuple(
        dim if isinstance(dim, str) and dim not in ("?", "None") else _number_or_name(dim, f"{info.name}_{axis}")
        for axis, dim in enumerate(info.dims or ())
    )


def _number_or_name(dim: int | str | None, name: str) -> int | str:
    if dim is None or dim == -1 or isinstance(dim, str):
        return name
    if not 0 <= dim <= _MOST:
        raise Misfit(f"the size {name} is {dim}, which no size can be")
    return dim


def _fixed(dim: int | None) -> int | None:
    return dim if dim is not None and 0 <= dim <= _MOST else None


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.:/-]+", name) else f"'{name}'"


def computed(text: str, known: Mapping[str, int]) -> int | None:
    """Return what a sum of names comes to (past + 1), or None when it is none or a name is not known."""
    tokens: list[str] = []
    at = 0
    text = text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or len(tokens) > 100:
            return None
        at = match.end()
        if match[2] is not None and match[2] not in known:
            return None
        tokens.append(str(known[match[2]]) if match[2] is not None else match[1] or match[3])
    try:
        value, rest = _sum(tokens, 0)
    except (IndexError, ValueError, ZeroDivisionError):
        return None
    return value if rest == len(tokens) and 0 <= value <= _MOST else None


def _sum(tokens: list[str], at: int) -> tuple[int, int]:
    value, at = _term(tokens, at)
    while at < len(tokens) and tokens[at] in "+-":
        other, after = _term(tokens, at + 1)
        value, at = (value + other if tokens[at] == "+" else value - other), after
    return value, at


def _term(tokens: list[str], at: int) -> tuple[int, int]:
    value, at = _atom(tokens, at)
    while at < len(tokens) and tokens[at] in ("*", "/", "//"):
        other, after = _atom(tokens, at + 1)
        value, at = (value * other if tokens[at] == "*" else value // other), after
        if abs(value) > _MOST:
            raise ValueError("too large")
    return value, at


def _atom(tokens: list[str], at: int) -> tuple[int, int]:
    if tokens[at] == "(":
        value, at = _sum(tokens, at + 1)
        if tokens[at] != ")":
            raise ValueError("a bracket is open")
        return value, at + 1
    if tokens[at] == "-":
        value, at = _atom(tokens, at + 1)
        return -value, at
    return int(tokens[at]), at + 1
