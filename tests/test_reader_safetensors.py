from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimful.model.errors import DataError
from brimful.model.work import Profile
from brimful.readers.safetensors import SafetensorsReader
from brimful.testing import check_reader

READER = SafetensorsReader("")


def tensor(dtype: str, shape: list[int], start: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


TWO = {
    "__metadata__": {"format": "pt"},
    "embed.weight": tensor("BF16", [100, 8], 0, 1600),
    "head.bias": tensor("F32", [10], 1600, 1640),
}


def packed(header: Any, data: int | None = None, padding: int = 0) -> bytes:
    """Return a file: its header (a dict, or text as it is), and as many bytes of weights as the offsets end at."""
    text = header.encode() if isinstance(header, str) else json.dumps(header).encode()
    text += b" " * padding
    if data is None:
        data = max((item["data_offsets"][1] for name, item in header.items() if name != "__metadata__"), default=0)
    return struct.pack("<Q", len(text)) + text + bytes(data)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def profile(path: Path, data: bytes) -> Profile:
    path.write_bytes(data)
    return READER.profile(str(path))


def why(path: Path, data: bytes) -> str:
    with pytest.raises(DataError) as caught:
        profile(path, data)
    return caught.value.why


def test_the_header_says_how_many_weights_there_are_and_of_which_types(path):
    found = profile(path, packed(TWO, padding=3))
    assert (found.model, found.parameters, found.weight_bytes) == ("model", 810, 1640)
    assert found.weight_types == {"bf16": 800, "fp32": 10}
    assert found.pass_flops is None
    assert "config" in found.missing["pass_flops"]
    assert str(path) in found.source


def test_scalars_empty_tensors_and_empty_files_are_valid(path):
    assert profile(path, packed({})).parameters == 0
    header = {"a": tensor("F64", [], 0, 8), "b": tensor("I8", [0, 2**40], 8, 8)}
    assert profile(path, packed(header)).parameters == 1


def test_types_smaller_than_a_byte_are_counted_in_elements(path):
    found = profile(path, packed({"a": tensor("F4", [3, 2], 0, 3), "b": tensor("F6_E3M2", [4], 3, 6)}))
    assert (found.parameters, found.weight_bytes, found.weight_types) == (10, 6, {"fp4": 6, "fp6": 4})


@pytest.mark.parametrize(
    ("dtype", "size", "name"),
    [("F16", 2, "fp16"), ("F8_E4M3", 1, "fp8"), ("I8", 1, "int8"), ("U32", 4, "uint32"), ("BOOL", 1, "bool")],
)
def test_types_have_brimfuls_names(path, dtype, size, name):
    assert profile(path, packed({"a": tensor(dtype, [3], 0, 3 * size)})).weight_types == {name: 3}


def test_the_reference_writers_own_file_is_read(path):
    """The bytes that huggingface/safetensors expects of its writer in test_serialization (Apache-2.0)."""
    header = b'{"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}}'
    assert profile(path, b"\x40" + bytes(7) + header + bytes(24)).parameters == 6


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "its header would have 0 bytes, of a file of 0"),
        (b"\x02\0\0", "of a file of 3"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS pointer"),
        (struct.pack("<Q", 2**63) + b"{}", "its header would have 9223372036854775808 bytes"),
        (struct.pack("<Q", 100_000_001) + b"{}", "its header would have 100000001 bytes"),
        (struct.pack("<Q", 3) + b"{}", "its header would have 3 bytes, of a file of 10"),
        (packed(" {}", 0), "does not begin with {"),
        (packed("[]", 0), "does not begin with {"),
        (packed("{]", 0), "Expecting property name"),
        (packed('{"a":' + "[" * 100_000, 0), "nested too deeply"),
        (struct.pack("<Q", 4) + b'{"\xff"', "its JSON is damaged"),
        (packed('{"a": NaN}', 0), "its JSON holds NaN"),
        (packed('{"a": {"dtype": "I8", "shape": [1' + "0" * 5000 + "]}}", 0), "integer string conversion"),
        (packed('{"a": {"dtype":"I8","dtype":"I8","shape":[],"data_offsets":[0,1]}}', 1), "is there twice"),
        (packed({"a": tensor("I8", [1], 0, 1)}, 0), "cover 1 bytes of data, and the file has 0"),
        (packed({"a": tensor("I8", [1], 0, 1)}, 2), "cover 1 bytes of data, and the file has 2"),
        (packed({"a": tensor("I8", [1], 1, 2)}, 2), "a hole or overlap at byte 0"),
        (packed({"a": tensor("I8", [2], 0, 2), "b": tensor("I8", [2], 1, 3)}, 3), "a hole or overlap at byte 1"),
        (packed({"a": tensor("I8", [2], 0, 2), "b": tensor("I8", [1], 3, 4)}, 4), "a hole or overlap at byte 2"),
        (packed({"a": tensor("F32", [2], 0, 4)}, 4), "2 elements of F32 are 8 bytes"),
        (packed({"a": tensor("I8", [1], 1, 0)}, 0), "1 elements of I8 are 1 bytes"),
        (packed({"a": tensor("F4", [3], 0, 1)}, 1), "3 elements of F4 are 1.5 bytes"),
        (packed({"a": tensor("F7", [1], 0, 1)}, 1), "its dtype 'F7' is not one of"),
        (packed({"a": tensor(None, [1], 0, 1)}, 1), "its dtype None is not one of"),
        (packed({"a": tensor("I8", [-1], 0, 0)}, 0), "none that a file can have"),
        (packed({"a": tensor("I8", [True], 0, 1)}, 1), "none that a file can have"),
        (packed({"a": tensor("I8", [1.0], 0, 1)}, 1), "none that a file can have"),
        (packed({"a": tensor("I8", [2**64], 0, 1)}, 1), "none that a file can have"),
        (packed({"a": tensor("I8", [2**62, 4, 0], 0, 0)}, 0), "larger than any file can be"),
        (packed({"a": {"dtype": "I8", "shape": 3, "data_offsets": [0, 1]}}, 1), "are no lists"),
        (packed({"a": {"dtype": "I8", "shape": [1], "data_offsets": [0]}}, 1), "are no lists"),
        (packed({"a": {"dtype": "I8", "shape": [1]}}, 1), "needs dtype, shape and data_offsets"),
        (packed({"a": 3}, 1), "needs dtype, shape and data_offsets"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_file_that_is_not_sound_is_refused_with_the_reason(path, data, text):
    assert text in why(path, data)


def test_only_the_header_is_read(path):
    """The weights of this file are a hole of a terabyte, which nobody could read within the test."""
    size = 2**40
    with path.open("wb") as file:
        file.write(packed({"a": tensor("F16", [size // 2], 0, size)}, 0))
        os.truncate(file.fileno(), file.tell() + size)
    found = READER.profile(str(path))
    assert (found.parameters, found.weight_bytes) == (size // 2, size)


def sharded(folder: Path, files: dict[str, Any], index: Any) -> Path:
    for name, header in files.items():
        (folder / name).write_bytes(packed(header))
    path = folder / "model.safetensors.index.json"
    path.write_text(index if isinstance(index, str) else json.dumps(index))
    return path


ONE, OTHER = {"a": tensor("F16", [4], 0, 8)}, {"b": tensor("F32", [2], 0, 8), "unused": tensor("I8", [1], 8, 9)}
INDEX = {"metadata": {"total_size": 16}, "weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}}


def test_a_model_in_several_files_is_summed_over_what_its_index_names(tmp_path):
    path = sharded(tmp_path, {"m-1.safetensors": ONE, "m-2.safetensors": OTHER}, INDEX)
    found = READER.profile(str(path))
    assert (found.model, found.parameters, found.weight_bytes) == ("model", 6, 16)
    assert found.weight_types == {"fp16": 4, "fp32": 2}


@pytest.mark.parametrize(
    ("index", "text"),
    [
        ({"weight_map": {"a": "m-1.safetensors", "b": "gone.safetensors"}}, "'gone.safetensors', one of the 2 files"),
        ({"weight_map": {"b": "m-1.safetensors"}}, "'m-1.safetensors' does not hold 'b'"),
        ({"weight_map": {"a": "../m-1.safetensors"}}, "which is no file beside it"),
        ({"weight_map": {"a": "/etc/passwd"}}, "which is no file beside it"),
        ({"weight_map": {"a": 3}}, "which is no file beside it"),
        ({"weight_map": {"a": ".."}}, "which is no file beside it"),
        ({"weight_map": {"a": "torn.safetensors"}}, "'torn.safetensors': its header would have"),
        ({"weight_map": {"a": "folder"}}, "'folder': "),
        ({"weight_map": {"a": "\ud800"}}, "surrogates not allowed"),
        ({"weight_map": {}}, "its weight_map is missing or empty"),
        ({}, "its weight_map is missing or empty"),
        ([], "it is no JSON object"),
        ("{", "Expecting property name"),
        ("", "Expecting value"),
    ],
)
def test_an_index_that_does_not_hold_is_refused(tmp_path, index, text):
    path = sharded(tmp_path, {"m-1.safetensors": ONE, "m-2.safetensors": OTHER}, index)
    (tmp_path / "torn.safetensors").write_bytes(b"\x40\0\0\0\0\0\0\0{")
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError) as caught:
        READER.profile(str(path))
    assert text in caught.value.why


def test_a_file_is_known_by_its_name_or_its_first_bytes(tmp_path, path):
    path.write_bytes(b"damaged")
    assert READER.reads(str(path))  # profile() then says what is wrong with it
    other = tmp_path / "weights.bin"
    other.write_bytes(packed(TWO))
    assert READER.reads(str(other))
    assert READER.profile(str(other)).model == "weights.bin"
    for data in (b"", b"PK\x03\x04", b"{}", packed(TWO)[:-1640][:20], b"\x08\0\0\0\0\0\0\0" + b"\x0a" * 8):
        other.write_bytes(data)
        assert not READER.reads(str(other))
    assert not READER.reads(str(tmp_path))
    assert not READER.reads(str(tmp_path / "nothing.safetensors"))
    assert not READER.reads("nul\0")


def test_a_name_that_is_no_utf8_is_readable(tmp_path):
    name = os.fsencode(tmp_path) + b"/caf\xe9.safetensors"
    Path(os.fsdecode(name)).write_bytes(packed(TWO))
    found = READER.profile(os.fsdecode(name))
    assert found.model == "caf\\xe9"


def test_the_safetensors_reader_keeps_the_promises_of_a_reader(tmp_path, path):
    path.write_bytes(packed({"a": tensor("F32", [1_000_000], 0, 4_000_000)}))
    foreign = tmp_path / "model.onnx"
    foreign.write_bytes(b"\x08\x07\x12\x07pytorch")
    check_reader(lambda: READER, knows=str(path), foreign=str(foreign), reads_at_most=1000)
    index = sharded(tmp_path, {"m-1.safetensors": ONE, "m-2.safetensors": OTHER}, INDEX)
    check_reader(lambda: READER, knows=str(index), foreign=str(foreign), reads_at_most=2000)


HEADERS = st.dictionaries(
    st.text(max_size=4),
    st.one_of(
        st.fixed_dictionaries(
            {
                "dtype": st.sampled_from(["F32", "BF16", "F4", "X", None, 3]),
                "shape": st.lists(st.one_of(st.integers(-1, 4), st.just(2**62), st.booleans(), st.none()), max_size=3),
                "data_offsets": st.lists(st.integers(-1, 40), max_size=3),
            }
        ),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2), max_leaves=3
        ),
    ),
    max_size=3,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.one_of(
        st.binary(max_size=100),
        st.builds(packed, HEADERS, st.integers(0, 50)),
        st.builds(
            lambda at, junk: packed(TWO)[: int(at * 250)] + junk + packed(TWO)[int(at * 250) + len(junk) :],
            st.floats(0, 1),
            st.binary(max_size=6),
        ),
    )
)
def test_any_bytes_are_a_profile_or_an_error_for_people(path, data):
    try:
        found = profile(path, data)
    except DataError:
        return
    assert found.parameters is not None
    assert found.weight_bytes <= len(data)
