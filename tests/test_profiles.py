"""The named models: found by any spelling, at any size, from a file that cannot be damaged unnoticed."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful.catalog import SHIPPED, profiles
from brimful.catalog.form import sealed
from brimful.catalog.packed import Index, pack
from brimful.model.errors import CatalogError
from brimful.model.work import OpKind, Profile

MULTIPLIED = {OpKind.CONV, OpKind.GROUPED, OpKind.MATMUL, OpKind.ATTENTION, OpKind.RECURRENT}


def found(name: str, image_size: int | None = None) -> Profile:
    profile = profiles.find(name, image_size)
    assert profile is not None, name
    return profile


def gmacs(profile: Profile) -> float:
    return sum(op.flops * op.ops_count for op in profile.ops if op.op in MULTIPLIED) / 2e9


def test_resnet50_costs_what_everybody_says() -> None:
    profile = found("resnet50")
    assert gmacs(profile) == pytest.approx(4.09, rel=0.01)
    assert profile.parameters == 25_557_032
    assert profile.samples_count == 1
    assert dict(profile.dims) == {"image_size": 224}
    assert "timm" in profile.source


@pytest.mark.parametrize(
    ("spelling", "model"),
    [
        ("timm:resnet50", "timm:resnet50"),
        ("ResNet-50", "timm:resnet50"),
        ("resnet50.a1_in1k", "timm:resnet50"),
        ("timm/resnet50.a1_in1k", "timm:resnet50"),
        ("hf-hub:timm/resnet50.a1_in1k", "timm:resnet50"),
        ("swsl_resnet50", "timm:resnet50"),
        ("torchvision:resnet50", "torchvision:resnet50"),
        ("google/vit-base-patch16-224", "timm:vit_base_patch16_224"),
        ("mobilenet-v1-precision_uint8-0.25-128", "zoo:mobilenet-v1-0.25"),
        ("mobilenet-v3-precision_float-large-minimalistic-224", "timm:tf_mobilenetv3_large_minimal_100"),
        ("efficientnet-int8-lite2", "timm:tf_efficientnet_lite2"),
        ("mlperf:3d-unet-99.9", "zoo:3d-unet"),
        ("3d-unet-99", "zoo:3d-unet"),
        ("dlrm-v2-99.9", "zoo:dlrm-v2"),
        ("yolo_v8n", "zoo:yolov8n"),
        ("openvino:yolo11", "zoo:yolo11n"),
        ("mask_rcnn_resnet50_atrous_coco", "zoo:mask_rcnn_resnet50_atrous_coco"),
        ("swin_v2_cr_tiny_224", "timm:swinv2_cr_tiny_224"),
        ("regnet_x_16gf", "timm:regnetx_160"),
    ],
)
def test_a_model_is_found_by_any_spelling(spelling: str, model: str) -> None:
    assert found(spelling).model == model


@pytest.mark.parametrize("name", ["resnet5x", "torchvision:convnext_atto", "timm:yolov8n", "", ":", "timm:", "."])
def test_what_is_not_there_is_none(name: str) -> None:
    assert profiles.find(name) is None


def test_a_name_that_is_almost_right_has_its_likely_meanings() -> None:
    assert profiles.near("resnet5x")[0] == "timm:resnet50"
    assert profiles.near("timm:convnxt_base")[0] == "timm:convnext_base"
    assert profiles.near("qqqqqqqqqqqqqq") == ()


def test_another_image_size_grows_what_it_makes_grow() -> None:
    small, large = found("resnet50", 224), found("resnet50", 448)
    assert gmacs(large) == pytest.approx(4 * gmacs(small), rel=0.01)
    assert large.parameters == small.parameters
    assert dict(large.dims) == {"image_size": 448}


def test_a_spelling_may_say_the_size_and_the_caller_overrules_it() -> None:
    assert dict(found("mobilenet-v1-precision_float-1.0-160").dims) == {"image_size": 160}
    assert dict(found("convnext_base.clip_laion2b_augreg_ft_in12k_in1k_384").dims) == {"image_size": 384}
    assert dict(found("mobilenet-v1-precision_float-1.0-160", 192).dims) == {"image_size": 192}


def test_a_model_that_is_not_known_to_grow_keeps_its_size_and_says_so() -> None:
    profile = found("swin_base_patch4_window7_224", 384)
    assert dict(profile.dims) == {"image_size": 224}
    assert "384" in profile.source


def test_what_depends_on_the_image_is_said() -> None:
    assert "depends on the image" in found("fasterrcnn_resnet50_fpn").dynamic[0]
    assert not found("resnet50").dynamic


def test_a_sample_that_is_no_image_says_what_it_is() -> None:
    assert "utterance" in found("rnnt").source
    assert "20 steps" in found("stable-diffusion-xl").source


def test_a_size_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="starts at 1"):
        profiles.find("resnet50", 0)


# Millions of parameters and billions of multiplications as published: by Ultralytics, Darknet, OpenVINO's model zoo,
# NVIDIA's papers, timm's and torchvision's tables.
@pytest.mark.parametrize(
    ("name", "parameters_m", "published"),
    [
        ("yolov3-tiny", 8.85, 2.78), ("yolov5m", 21.2, 24.5), ("yolov8n", 3.2, 4.35), ("yolov8x", 68.2, 128.9),
        ("yolo11n", 2.6, 3.25), ("ssd-mobilenet-v1", 6.807, 1.247), ("ssd-resnet34", 20.058, 216.7),
        ("ssd300-vgg16-voc", 26.285, 31.4), ("mobilenet-v1-1.0", 4.24, 0.569), ("convnext_base", 88.59, 15.38),
        ("vit_base_patch16_224", 86.57, 17.56), ("torchvision:retinanet_resnet50_fpn", 34.0, 151.5),
    ],
)  # fmt: skip
def test_counts_are_the_published_ones(name: str, parameters_m: float, published: float) -> None:
    profile = found(name)
    assert profile.parameters is not None
    assert profile.parameters / 1e6 == pytest.approx(parameters_m, rel=0.02)
    assert gmacs(profile) == pytest.approx(published, rel=0.02)


def test_every_named_model_can_be_read_and_computes_something() -> None:
    names = profiles.names()
    assert len(names) > 1400
    for name in names:
        profile = found(name)
        assert profile.model == name
        assert profile.pass_flops
        assert profile.source.startswith("computed by brimful")
        assert "activation_bytes" in profile.missing


@given(st.text(max_size=40), st.none() | st.integers(1, 4096))
@settings(max_examples=300)
def test_any_name_is_found_or_not(name: str, size: int | None) -> None:
    profile = profiles.find(name, size)
    assert profile is None or profile.ops


# --- the file ---


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    path = tmp_path / profiles.FILE
    path.write_bytes((SHIPPED / profiles.FILE).read_bytes())
    return path


def test_a_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="cannot be read"):
        profiles.Profiles(tmp_path / "absent")


@given(data=st.data())
@settings(max_examples=60)
def test_no_byte_can_change_unnoticed(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    whole = bytearray((SHIPPED / profiles.FILE).read_bytes())
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("changed") / profiles.FILE
    path.write_bytes(bytes(whole))
    with pytest.raises(CatalogError):
        profiles.Profiles(path)


def test_a_file_that_is_cut_off_is_an_error(copy: Path) -> None:
    copy.write_bytes(copy.read_bytes()[:1000])
    with pytest.raises(CatalogError):
        profiles.Profiles(copy)


def head(**changed: object) -> dict[str, object]:
    return {
        "kind": "catalog",
        "v": 1,
        "sha256": "0" * 64,
        "table": "profiles",
        "date": "2026-11-19",
        "index_bytes": 9,
    } | changed


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"v": 2}, "newer"),
        ({"table": "offers"}, "not a table of models"),
        ({}, "not in the form"),
        ({"v": 0}, "not a table"),
    ],
)
def test_a_sealed_file_of_another_form_is_an_error(tmp_path: Path, changed: dict[str, object], said: str) -> None:
    path = tmp_path / profiles.FILE
    line = json.dumps(head(**changed), separators=(",", ":")).encode()
    path.write_bytes(sealed(line + b"\n" + zlib.compress(b"[]")))
    with pytest.raises(CatalogError, match=said):
        profiles.Profiles(path)


def index(**changed: object) -> Index:
    plain: dict[str, object] = {
        "libraries": {"zoo": "made here"}, "kinds": [("conv", "convolution")], "growths": [(2.0, 0.0, 2.0, 2.0)],
        "models": [("one", "zoo", 8, True, 10, "")], "aliases": {}, "block_bytes": [],
    }  # fmt: skip
    return Index(**{**plain, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("index_", "columns"),
    [
        (index(), ([1], [1], [8], [2], [3], [4], [0])),
        (index(), ([0], [1], [8], [2], [3], [4], [1])),
        (index(), ([0], [1], [8], [2], [3], [4], [])),
        (index(), ([0], [0], [8], [2], [3], [4], [0])),
        (index(), ([0], [1], [-8], [2], [3], [4], [0])),
        (index(kinds=[("magic", "wand")]), ([0], [1], [8], [2], [3], [4], [0])),
    ],
)
def test_a_wrong_row_is_an_error_that_names_the_model(tmp_path: Path, index_: Index, columns: object) -> None:
    path = tmp_path / profiles.FILE
    path.write_bytes(pack("2026-11-19", index_, [columns]))  # type: ignore[list-item]
    with pytest.raises(CatalogError, match="one"):
        profiles.Profiles(path).find("one")


def test_what_is_packed_is_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / profiles.FILE
    path.write_bytes(pack("2026-11-19", index(), [([0], [3], [8], [2], [3], [4], [0])]))
    profile = profiles.Profiles(path).find("ONE", 16)
    assert profile is not None
    (op,) = profile.ops
    assert (op.ops_count, op.flops, op.weight_elements, op.read_elements, op.write_elements) == (3, 32.0, 2, 12, 16)
    assert profile.pass_flops == 96.0
