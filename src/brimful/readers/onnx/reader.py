"""The reader of `*.onnx`: opens the file, has it walked through, and makes the profile; every error is for people."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from brimful.costs.profile import profiled
from brimful.model.errors import DataError
from brimful.model.text import printable, readable_path
from brimful.model.work import Profile
from brimful.readers.onnx.dims import Dims, Unbound
from brimful.readers.onnx.messages import Graph, Info, Model, Parser
from brimful.readers.onnx.tensors import Folder
from brimful.readers.onnx.values import Misfit
from brimful.readers.onnx.walk import Walk
from brimful.readers.onnx.wire import Damaged, File, Part

_NEWEST_IR = 40  # a version beyond it is no version: today's is 13
_FOREIGN = (
    (b"version https://git-lfs", "it is a Git LFS pointer, not the model: git lfs pull fetches it"),
    (b"PK\x03\x04", "it is a ZIP archive (a torch checkpoint or a TorchScript file is one), not an ONNX file"),
    (b"\x80", "it is a pickle, not an ONNX file: export the model with torch.onnx.export"),
    (b"\x89HDF", "it is an HDF5 file (Keras), not an ONNX file: tf2onnx converts it"),
    (b"<", "it is a web page or XML, not an ONNX file: the download gave something else"),
    (b"{", "it is JSON, not an ONNX file"),
    (b"\x1f\x8b", "it is compressed with gzip: unpack it first"),
)


class OnnxReader:
    """Reads the graph of `*.onnx` and what each operation costs; weights are measured, never loaded."""

    def __init__(self, where: str = "") -> None:
        self._where = where

    @classmethod
    def check(cls) -> None:
        """Do nothing: it works everywhere."""

    def reads(self, path: str) -> bool:
        """Say whether it is such a file, by its name or by its first bytes."""
        try:
            if not Path(path).is_file():
                return False
            if path.endswith(".onnx"):
                return True
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - unbuffered, so that no weight is read ahead
                first = file.read(3)
        except (OSError, ValueError):
            return False
        # ir_version, a small number, then the producer's name, the domain, the opsets or the graph
        return (
            len(first) == 3 and first[0] == 8 and 1 <= first[1] <= _NEWEST_IR and first[2] in (0x12, 0x22, 0x3A, 0x42)
        )

    def profile(self, path: str, dims: Mapping[str, int] | None = None) -> Profile:
        """Return what one pass costs; `dims` binds the sizes that the file leaves open, by their names."""
        with _told(path):
            model, graph = _opened(path)
            inputs = [info for info in graph.inputs if info.name not in graph.initializers]
            bound = Dims(inputs, dims or {})
            walk = Walk(model, bound)
            walk.run(graph)
            return _profile(path, walk, bound, inputs)


def shapes_of(path: str, dims: Mapping[str, int] | None = None) -> dict[str, tuple[int, ...]]:
    """Return the shape of every value that a node gives, by its name; for checks against other tools."""
    with _told(path):
        model, graph = _opened(path)
        bound = Dims([info for info in graph.inputs if info.name not in graph.initializers], dims or {})
        shapes: dict[str, tuple[int, ...]] = {}
        Walk(model, bound, shapes).run(graph)
        return shapes


def _opened(path: str) -> tuple[Model, Graph]:
    if not stat.S_ISREG(Path(path).stat().st_mode):
        raise Damaged("it is no file: a folder, a pipe or a device")
    with open(path, "rb", buffering=0) as stream:  # noqa: PTH123 - unbuffered, so that no weight is read ahead
        file = File(stream.fileno())
        if not file.size:
            raise Damaged("it is empty")
        first = file.slice(0, min(32, file.size))
        for mark, what in _FOREIGN:
            if first.startswith(mark):
                raise Damaged(what)
        if first[4:8] in (b"TFL3", b"ORTM"):
            form = "a TensorFlow Lite" if first[4:8] == b"TFL3" else "an ORT-format"
            raise Damaged(f"it is {form} file, not an ONNX file")
        model = Parser(Folder(path)).model(Part(file, 0, file.size))
    if model.graph is None:
        raise Damaged("it has no graph: it is cut off, or no ONNX model")
    return model, model.graph


def _profile(path: str, walk: Walk, dims: Dims, inputs: list[Info]) -> Profile:
    ledger = walk.ledger
    types = ledger.parameters()
    return profiled(
        ledger.costs(),
        model=readable_path(Path(path).name).removesuffix(".onnx"),
        source=f"ONNX graph of {readable_path(path)}",
        samples_count=_samples(inputs, dims),
        parameters=sum(types.values()),
        weight_bytes=ledger.weight_bytes(),
        activation_bytes=ledger.peak,
        op_types={printable(name): count for name, count in sorted(ledger.op_types.items())},
        weight_types=dict(sorted(types.items())),
        dims={printable(name): size for name, size in sorted(dims.bound.items())},
        unknown_ops=tuple(map(printable, ledger.unknown)),
        dynamic=tuple(map(printable, ledger.assumptions())),
    )


def _samples(inputs: list[Info], dims: Dims) -> int:
    """Return the batch: a size that is called so, else the first size of all inputs when it is the same."""
    shapes = [(info, dims.shape(info)) for info in inputs if info.dims]
    if not shapes:
        return 1
    named = dims.batch(shapes[0][0])
    if named is not None:
        return max(1, named)
    info, first = shapes[0]
    common = all(shape[0] == first[0] for _, shape in shapes)
    fixed_row = len(first) == 1 and isinstance((info.dims or (None,))[0], int)  # one signal, and no batch of numbers
    return max(1, first[0]) if common and not fixed_row else 1


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Turn whatever can be wrong with a file into an error for people."""
    try:
        yield
    except OSError as error:
        raise _unusable(path, error.strerror or str(error), "check the path and its permissions") from error
    except Unbound as error:
        raise _unusable(path, printable(str(error)), printable(error.fix)) from error
    except Damaged as error:
        raise _unusable(path, printable(str(error)), _fix(str(error))) from error
    except Misfit as error:
        raise _unusable(path, printable(str(error)), "correct the model's inputs, or export it again") from error
    except (OverflowError, ValueError) as error:  # sums beyond what a figure can be, and paths that are none
        raise _unusable(path, f"its figures cannot be: {printable(str(error))}", "export the model again") from error
    except RecursionError as error:
        raise _unusable(path, "it is nested too deeply", "fetch the file again") from error


def _fix(why: str) -> str:
    if "does not fit" in why:
        return "bind sizes that agree with one another (--dim NAME=SIZE), or check the model with onnx.checker"
    if "cannot be read beside" in why:
        return "put the file with the weights beside the model, under the name that the model has for it"
    if "ends at byte" in why:
        return "fetch the file with the weights again: it is shorter than the model says"
    return "fetch the file again, or export the model anew"


def _unusable(path: str, why: str, fix: str) -> DataError:
    name = readable_path(path) if os.fspath(path) else "''"
    return DataError(f"the model {name} cannot be read", why=why, fix=fix)
