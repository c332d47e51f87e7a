"""What a safetensors file says of a model: how many weights, of which types. Its header is read, its weights never.

The format stands in `tensor_headers.py`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from brimful.model.errors import DataError
from brimful.model.noun import with_gaps
from brimful.model.text import readable_path
from brimful.model.work import Profile
from brimful.readers.tensor_headers import INDEX, LENGTH_BYTES, MOST_HEADER_BYTES, TYPES, Tensor, header, indexed

_WHY = "a safetensors file holds weights, not what is computed with them: the model's config or an ONNX file tells it"


class SafetensorsReader:
    """Reads the header of `*.safetensors`, or of every file that a `*.safetensors.index.json` names.

    Parameters are all elements of all tensors, buffers among them; where several small weights are packed into one
    integer (GPTQ and others), the integers are counted, and `weight_types` shows it.
    """

    def __init__(self, where: str = "") -> None:
        self._where = where

    @classmethod
    def check(cls) -> None:
        """Do nothing: it works everywhere."""

    def reads(self, path: str) -> bool:
        """Say whether it is such a file, by its name or its first nine bytes."""
        try:
            if not Path(path).is_file():
                return False
            if path.endswith((".safetensors", INDEX)):
                return True
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - unbuffered, so that no weight is read ahead
                first = file.read(LENGTH_BYTES + 1)
                length = int.from_bytes(first[:LENGTH_BYTES], "little")
                whole = os.fstat(file.fileno()).st_size
        except (OSError, ValueError):
            return False
        return first[LENGTH_BYTES:] == b"{" and 2 <= length <= min(MOST_HEADER_BYTES, whole - LENGTH_BYTES)

    def profile(self, path: str, dims: Mapping[str, int] | None = None) -> Profile:
        """Return the sizes and the types of the weights; such a file leaves no dims open."""
        del dims
        try:
            return _profile(path, list(indexed(path) if path.endswith(INDEX) else header(path).values()))
        except OSError as error:
            raise _unusable(path, error.strerror or str(error), "check the path and its permissions") from error
        except RecursionError as error:
            raise _unusable(path, "its JSON is nested too deeply", "fetch the file again") from error
        except ValueError as error:
            raise _unusable(path, str(error), "fetch the file again, or save the model anew") from error


def _profile(path: str, tensors: Sequence[Tensor]) -> Profile:
    types = Counter[str]()
    for name, elements, _ in tensors:
        types[TYPES[name][1]] += elements
    return with_gaps(
        Profile,
        _WHY,
        model=readable_path(Path(path).name).removesuffix(".index.json").removesuffix(".safetensors"),
        source=f"safetensors header of {readable_path(path)}",
        parameters=sum(types.values()),
        weight_bytes=sum(size for _, _, size in tensors),
        weight_types=dict(sorted(types.items())),
    )


def _unusable(path: str, why: str, fix: str) -> DataError:
    return DataError(f"the model {readable_path(path)} cannot be read", why=why, fix=fix)
