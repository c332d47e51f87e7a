"""Models by any of their names, and files of models, to what a pass over them costs; each is worked out once.

models = Models()
models.named("timm:convnext_base", image_size=288)
models.file("hf:config.json", {"sequence": 384})
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from brimful import registry
from brimful.catalog import models, profiles
from brimful.costs.transformer import prefill
from brimful.model.errors import BrimfulError, UsageError
from brimful.model.text import readable_path
from brimful.model.work import Profile

_READERS = {
    "hf": "huggingface", "huggingface": "huggingface", "onnx": "onnx", "safetensors": "safetensors", "pt2": "torch",
}  # fmt: skip
_ENDS = (".onnx", ".json", ".safetensors", ".pt2")
# What files call a sequence's length and an image's side: what a query's `sequence` and `image_size` may bind.
_SEQUENCE = ("sequence", "sequence_length", "seq_len", "seq", "seq_length", "max_seq_len")
_IMAGE = (("image",), ("height", "width"), ("h", "w"), ("H", "W"))
_TOKENS = {True: 512, False: 128}  # of a decoder, of an encoder, when nobody says it
_Key = tuple[str, int | None, int | None]


class Models:
    """Profiles, each worked out once; a name that failed fails again with the same error."""

    def __init__(self) -> None:
        self._named: dict[_Key, Profile | BrimfulError] = {}
        self._files: dict[tuple[str, tuple[tuple[str, int], ...]], Profile | BrimfulError] = {}

    def find(self, name: str, image_size: int | None = None, sequence: int | None = None) -> Profile:
        """Return the profile of a name or, where the name is one of a file, of that file."""
        return self.sized(name, image_size, sequence) if is_file(name) else self.named(name, image_size, sequence)

    def named(self, name: str, image_size: int | None = None, sequence: int | None = None) -> Profile:
        """Return the profile of a named model; an unknown one is an error that says which names are like it."""
        key = (name, image_size, sequence)
        if key not in self._named:
            self._named[key] = _kept(lambda: _named(*key))
        return _given(self._named[key])

    def sized(
        self, path: str, image_size: int | None, sequence: int | None, dims: Mapping[str, int] | None = None
    ) -> Profile:
        """Return the profile of a file whose open sizes are bound under whatever name they have there, if they are."""
        first: BrimfulError | None = None
        for implied in _sizes(image_size, sequence):
            try:
                return self.file(path, {**implied, **(dims or {})})
            except BrimfulError as error:
                first = first or error
        raise first or UsageError(f"no model is named by {path!r}", why="it is empty", fix="name a file")

    def file(self, path: str, dims: Mapping[str, int] | None = None) -> Profile:
        """Return the profile of a file; sizes that a query gives bind what the file leaves open."""
        key = (path, tuple(sorted((dims or {}).items())))
        if key not in self._files:
            self._files[key] = _kept(lambda: read_model(path, dims))
        return _given(self._files[key])


def is_file(name: str) -> bool:
    """Say whether a name is that of a file: it begins with a reader's, ends as models do, or is there."""
    before, colon, after = name.partition(":")
    if colon and before.lower() == "hf" and not after.lower().endswith(_ENDS) and not Path(after).exists():
        return False  # hf:bert-base-uncased is a name
    return (
        (bool(colon) and before.lower() in _READERS)
        or name.lower().endswith(_ENDS)
        or (("/" in name or "\\" in name) and Path(name).exists())
    )


def read_model(path: str, dims: Mapping[str, int] | None = None) -> Profile:
    """Return what one pass over a model's file costs, by the first reader that knows it or the one that is named."""
    before, colon, after = path.partition(":")
    wanted = _READERS.get(before.lower()) if colon else None
    where = after if wanted else path
    if not Path(where).exists():
        raise UsageError(
            f"there is no file {readable_path(where)}",
            why="a model is given by its file, or by --name with a model's name",
            fix="check the path, or give a name: brimful fit --name resnet50",
        )
    for name in (wanted,) if wanted else registry.names("reader"):
        reader = registry.find("reader", name)("")
        with registry.blaming("reader", name):
            if wanted or reader.reads(where):
                found: Profile = reader.profile(where, dims or None)
                return found
    raise UsageError(
        f"no reader knows the file {readable_path(where)}",
        why=f"the readers are {', '.join(sorted(registry.names('reader')))}",
        fix="give an ONNX file, a config.json, a .safetensors file, an exported torch program (.pt2), or --name",
    )


def _named(name: str, image_size: int | None, sequence: int | None) -> Profile:
    found = profiles.find(name, image_size)
    if found is not None:
        return found
    bare = name.removeprefix("hf:")
    transformer = models.named(bare)
    if transformer is not None:
        return prefill(transformer, sequence or _TOKENS[transformer.decoder], 1, model=models.proper_name(bare) or bare)
    like = list(dict.fromkeys((*profiles.near(name)[:2], *models.alike(bare)[:2], *profiles.near(name)[2:])))[:4]
    raise UsageError(
        f"no model is called {name!r:.80}",
        why=f"brimful knows {len(profiles.names()) + len(models.names()):,} models by name, and not this one",
        fix=(f"did you mean {', '.join(like)}? If not, " if like else "") + "give its file: an .onnx or a config.json",
    )


def _sizes(image_size: int | None, sequence: int | None) -> Iterator[dict[str, int]]:
    """Yield the ways in which a file may call the sizes that a query gives; last: its sizes are fixed."""
    if sequence is not None:
        for name in _SEQUENCE:
            yield {name: sequence, **({"image": image_size} if image_size is not None and name == "sequence" else {})}
    if image_size is not None:
        for names in _IMAGE:
            yield dict.fromkeys(names, image_size)
    yield {}


def _kept(work: Callable[[], Profile]) -> Profile | BrimfulError:
    try:
        return work()
    except BrimfulError as error:
        return error


def _given(found: Profile | BrimfulError) -> Profile:
    if isinstance(found, BrimfulError):
        raise found
    return found
