"""The sizes of an exported graph's tensors, with the symbols that its author left open bound to numbers.

A size is a number or a formula as SymPy prints it: `Mul(Integer(16), Symbol('s17', positive=True))`. The formula is
parsed and computed here, by hand: SymPy would run it as a program.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from brimful.model.errors import DataError, UsageError
from brimful.model.text import readable_path

_MOST = 2**62
_MOST_POWER = 16
_MOST_LETTERS = 10_000  # of a formula


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor as far as its cost goes: no data."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: int

    def stride(self) -> tuple[int, ...]:
        """Return the steps between elements, by axis."""
        return self.strides

    def numel(self) -> int:
        """Return how many elements it has."""
        return math.prod(self.shape)

    @property
    def dense(self) -> bool:
        """Whether its elements lie in the order of its axes, without gaps."""
        step = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != step:
                return False
            step *= size
        return True


class Sizes:
    """Looks up the tensors of a graph; `bound` tells which symbol got which number."""

    def __init__(
        self,
        program: Mapping[str, Any],
        graph: Mapping[str, Any],
        inputs: Sequence[Any],
        dims: dict[str, int],
        path: str,
    ) -> None:
        self._tensors, self._numbers = graph["tensor_values"], graph["sym_int_values"]
        self._path = path
        self._known: dict[str, Tensor] = {}
        self._given: dict[str, int] = {}
        self.inputs = [item["as_tensor"]["name"] for item in inputs if "as_tensor" in item]
        hints, places = self._symbols()
        self._given = self._chosen(dims, sorted(hints), places)
        self._check_ranges(program.get("range_constraints") or {})
        hinted = {name: hint for name, hint in hints.items() if name not in self._given and hint is not None}
        self.bound = dict(sorted({**hinted, **self._given}.items()))
        self.dynamic = tuple(f"{name} depends on the values of the input" for name in sorted(hints) if name[:1] == "u")
        still_open = sorted(hints.keys() - self.bound.keys())
        if still_open:
            raise DataError(
                f"the program {readable_path(path)} leaves sizes open",
                why=f"it says nothing of {', '.join(still_open)}",
                fix=" ".join(f"--dim {name}=8" for name in still_open),
            )

    @property
    def samples(self) -> int:
        """The batch: what the first axes of all inputs with two or more axes have in common, else 1."""
        firsts = {item.shape[0] for item in map(self.tensor, self.inputs) if len(item.shape) > 1}
        return max(1, firsts.pop()) if len(firsts) == 1 else 1

    def tensor(self, name: str) -> Tensor:
        """Return a tensor of the graph by its name."""
        if name not in self._known:
            raw = self._tensors[str(name)]
            shape = tuple(self._size(item) for item in raw["sizes"])
            strides = tuple(self._size(item) for item in raw["strides"])
            if len(shape) != len(strides) or math.prod(shape) > _MOST:
                raise ValueError(f"the sizes of {name!r:.60} are none that a tensor can have")
            self._known[name] = Tensor(shape, strides, int(raw["dtype"]))
        return self._known[name]

    def number(self, item: Mapping[str, Any]) -> Any:
        """Return a number of a node's arguments, which may be named, written out, or a formula."""
        if "as_name" in item:
            found = self._numbers.get(item["as_name"])
            return None if found is None else self._size(found)
        return self._size(item) if "as_int" in item or "as_expr" in item else None

    def _size(self, item: Mapping[str, Any]) -> int:
        if "as_int" in item:
            value: int = item["as_int"]
            if type(value) is not int:
                raise ValueError(f"a size is {value!r:.40}")
        else:
            value = math.floor(_computed(_parsed(item["as_expr"]["expr_str"]), self.bound))
        if not 0 <= value <= _MOST:
            raise ValueError(f"a size is {value}")
        return value

    def _symbols(self) -> tuple[dict[str, int | None], dict[str, str]]:
        """Return each symbol with the size that the example had, and where a user sees it: x.0 -> s17."""
        hints: dict[str, int | None] = {}
        places: dict[str, str] = {}
        for name, raw in self._tensors.items():
            for axis, item in enumerate(raw["sizes"]):
                if "as_expr" not in item:
                    continue
                body = _parsed(item["as_expr"]["expr_str"])
                for symbol in _symbols_of(body):
                    hints.setdefault(symbol, None)
                if _is_symbol(body):
                    symbol = _symbols_of(body)[0]
                    hint = (item["as_expr"].get("hint") or {}).get("as_int")
                    hint = hint if type(hint) is int else None
                    hints[symbol] = hint if hints[symbol] is None else hints[symbol]
                    if name in self.inputs:
                        places.setdefault(f"{name}.{axis}", symbol)
        return hints, places

    def _chosen(self, dims: dict[str, int], symbols: Sequence[str], places: Mapping[str, str]) -> dict[str, int]:
        out: dict[str, int] = {}
        for name, size in dims.items():
            symbol = name if name in symbols else places.get(name)
            if symbol is None and len(symbols) == len(dims) == 1:
                symbol = symbols[0]  # torch.export forgets the name that its author gave; one alone can only be this
            if symbol is None:
                seen = [f"{symbol} ({place})" for place, symbol in places.items()]
                raise UsageError(
                    f"the program {readable_path(self._path)} has no size called {name!r:.60}",
                    why=f"the sizes it leaves open are {', '.join(seen) or 'none: all are fixed'}",
                    fix=f"--dim {next(iter(places), 'NAME')}={size}" if places else f"leave out --dim {name}={size}",
                )
            if size < 1:
                raise UsageError(
                    f"--dim {name}={size} is no size", why="a size starts at 1", fix=f"--dim {name}=1, or more"
                )
            out[symbol] = size
        return out

    def _check_ranges(self, ranges: Mapping[str, Any]) -> None:
        for symbol, size in self._given.items():
            limits = ranges.get(symbol) or {}
            least, most = limits.get("min_val"), limits.get("max_val")
            if (isinstance(least, int) and size < least) or (isinstance(most, int) and size > most):
                raise UsageError(
                    f"the program {readable_path(self._path)} takes no {symbol} of {size}",
                    why=f"it was exported for {least} to {'any' if most is None else most}",
                    fix=f"--dim {symbol}={least if isinstance(least, int) and size < least else most}",
                )


# --- formulas ---


def _is_symbol(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) or (isinstance(node, ast.Call) and _called(node) == "Symbol")


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _symbols_of(body: ast.AST) -> list[str]:
    out = []
    for node in ast.walk(body):
        if isinstance(node, ast.Call) and _called(node) == "Symbol":
            out.append(_symbol(node))
        elif (
            isinstance(node, ast.Name)
            and node.id not in _FUNCTIONS
            and node.id not in ("Symbol", "Integer", "Rational")
        ):
            out.append(node.id)
    return list(dict.fromkeys(out))


def _symbol(node: ast.Call) -> str:
    first = node.args[0] if node.args else None
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        raise ValueError("a symbol without a name")
    return first.value


def _parsed(text: str) -> ast.expr:
    if len(text) > _MOST_LETTERS:
        raise ValueError(f"a formula of {len(text)} letters")
    return ast.parse(text, mode="eval").body


def _computed(node: ast.AST, bound: Mapping[str, int]) -> Fraction:
    """Return the value of a formula; only what is listed here is understood."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Fraction(node.value)
    if isinstance(node, ast.Name):
        return Fraction(bound[node.id])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_computed(node.operand, bound)
    if isinstance(node, ast.BinOp):
        return _checked(_OPERATORS[type(node.op)], [_computed(node.left, bound), _computed(node.right, bound)])
    if isinstance(node, ast.Call):
        name = _called(node)
        if name == "Symbol":
            return Fraction(bound[_symbol(node)])
        return _checked(_FUNCTIONS[name], [_computed(item, bound) for item in node.args])
    raise ValueError(f"a formula holds {type(node).__name__}")


_Function = Callable[[Sequence[Fraction]], Fraction | int]


def _checked(function: _Function, values: Sequence[Fraction]) -> Fraction:
    value = Fraction(function(values))
    if abs(value) > _MOST or value.denominator > _MOST:
        raise ValueError("a formula gives a number that no size can have")
    return value


def _power(values: Sequence[Fraction]) -> Fraction:
    base, exponent = values
    if exponent.denominator != 1 or abs(exponent) > _MOST_POWER:
        raise ValueError("a formula holds a power that no size has")
    return Fraction(base ** int(exponent))


_FUNCTIONS: dict[str, _Function] = {
    "Integer": lambda values: values[0],
    "Rational": lambda values: values[0] / (values[1] if len(values) > 1 else 1),
    "Add": sum,
    "Mul": math.prod,
    "Pow": _power,
    "PowByNatural": _power,
    "FloorDiv": lambda values: values[0] // values[1],
    "CleanDiv": lambda values: values[0] // values[1],
    "CeilDiv": lambda values: -(-values[0] // values[1]),
    "IntTrueDiv": lambda values: values[0] / values[1],
    "TruncToInt": lambda values: math.trunc(values[0]),
    "FloorToInt": lambda values: math.floor(values[0]),
    "CeilToInt": lambda values: math.ceil(values[0]),
    "ToFloat": lambda values: values[0],
    "Mod": lambda values: values[0] % values[1],
    "PythonMod": lambda values: values[0] % values[1],
    "Max": max,
    "Min": min,
    "Abs": lambda values: abs(values[0]),
    "floor": lambda values: math.floor(values[0]),
    "ceiling": lambda values: math.ceil(values[0]),
}
_OPERATORS: dict[type, _Function] = {
    ast.Add: sum,
    ast.Sub: lambda values: values[0] - values[1],
    ast.Mult: math.prod,
    ast.FloorDiv: lambda values: values[0] // values[1],
    ast.Div: lambda values: values[0] / values[1],
    ast.Mod: lambda values: values[0] % values[1],
    ast.Pow: _power,
}
