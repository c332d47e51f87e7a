"""The reader of Hugging Face configurations: what it understands, what it refuses, and that nothing breaks it."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimful.costs.transformer import matrix_parameters, parameters
from brimful.model.errors import BrimfulError, DataError, UsageError
from brimful.model.work import Profile
from brimful.readers.huggingface import HuggingFaceReader
from brimful.readers.huggingface.config import defaults
from brimful.readers.huggingface.decoders import DECODERS
from brimful.readers.huggingface.encoders import ENCODERS
from brimful.readers.huggingface.sides import TEXT_SIDES, TWO_SIDED
from brimful.readers.huggingface.vision import VISION
from brimful.registry import find
from brimful.testing import check_reader

READER = HuggingFaceReader("")

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "intermediate_size": 160,
    "vocab_size": 1000,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
BERT = {
    "model_type": "bert",
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 500,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
}
VIT = {"model_type": "vit", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 224}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tiny").mkdir()
    return tmp_path / "tiny"


def profile(folder: Path, config: Any, dims: dict[str, int] | None = None) -> Profile:
    (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return READER.profile(str(folder), dims)


def refused(folder: Path, config: Any, dims: dict[str, int] | None = None) -> DataError:
    with pytest.raises(DataError) as caught:
        profile(folder, config, dims)
    return caught.value


def test_a_folder_and_the_configuration_in_it_are_one_model(folder):
    found = profile(folder, LLAMA)
    alone = READER.profile(str(folder / "config.json"))
    assert (alone.ops, alone.model, alone.transformer) == (found.ops, found.model, found.transformer)
    assert found.model == "tiny"
    assert found.transformer is not None
    assert (found.transformer.layers, found.transformer.kv_heads, found.transformer.head_size) == (4, 2, 8)
    assert found.parameters == parameters(found.transformer)
    assert found.weight_bytes == 2 * found.parameters
    assert found.weight_types == {"bf16": found.parameters}


def test_it_is_known_by_what_stands_in_it_and_not_by_its_name(tmp_path):
    other = tmp_path / "anything.txt"
    for text, known in (
        (json.dumps(LLAMA), True),
        ('{"architectures": []}', True),
        ('{"model_type": 3}', False),
        ("{}", False),
        ("[]", False),
        ("{", False),
        ("", False),
        ("\x08\x07", False),
        ('{"a":' * 100_000, False),
    ):
        other.write_text(text)
        assert READER.reads(str(other)) is known
    assert not READER.reads(str(tmp_path))
    assert not READER.reads(str(tmp_path / "nothing"))
    assert not READER.reads("nul\0")


def test_open_sizes_are_the_batch_the_sequence_and_the_image(folder):
    found = profile(folder, LLAMA)
    assert found.dims == {"batch": 1, "sequence": 512}
    assert profile(folder, LLAMA, {"sequence": 64, "batch": 3}).dims == {"batch": 3, "sequence": 64}
    assert profile(folder, BERT).dims == {"batch": 1, "sequence": 128}
    assert profile(folder, VIT).dims["sequence"] == 14 * 14 + 1
    assert profile(folder, VIT, {"image": 384}).dims["sequence"] == 24 * 24 + 1
    assert profile(folder, VIT, {"image": 384}).parameters == profile(folder, VIT).parameters


@pytest.mark.parametrize("dims", [{"width": 3}, {"batch": 0}, {"batch": True}, {"sequence": 10**9}, {"batch": -1}])
def test_a_size_that_is_not_open_or_not_possible_is_refused(folder, dims):
    with pytest.raises(UsageError) as caught:
        profile(folder, LLAMA, dims)
    assert next(iter(dims)) in caught.value.what


def test_a_sequence_beyond_the_learned_positions_is_refused(folder):
    assert "512 positions" in refused(folder, BERT, {"sequence": 513}).why
    assert profile(folder, {**BERT, "max_position_embeddings": 64}).dims["sequence"] == 64


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({k: v for k, v in LLAMA.items() if k != "hidden_size"} | {"model_type": "newest"}, "it has no hidden_size"),
        ({k: v for k, v in LLAMA.items() if k != "vocab_size"} | {"model_type": "newest"}, "it has no vocab_size"),
        ({**LLAMA, "hidden_size": "big"}, "its hidden_size is 'big'"),
        ({**LLAMA, "hidden_size": 0}, "from 1 on"),
        ({**LLAMA, "hidden_size": -4}, "from 1 on"),
        ({**LLAMA, "hidden_size": 10**12}, "at most"),
        ({**LLAMA, "num_hidden_layers": 2.5}, "whole number"),
        ({**LLAMA, "num_hidden_layers": True}, "whole number"),
        ({**LLAMA, "num_key_value_heads": 9}, "more than heads"),
        ({**LLAMA, "tie_word_embeddings": "yes"}, "true or false"),
        ({**VIT, "image_size": 4}, "no patch of 16"),
        ({**LLAMA, "layer_types": 3, "model_type": "mistral", "sliding_window": 4}, "must be a list"),
        ({**LLAMA, "model_type": "clip", "text_config": 7}, "must be an object"),
        ({"model_type": "nemotron_h", "hidden_size": 4}, "Mamba"),
        ({"model_type": "swin"}, "widths"),
        ("[]", "no JSON object"),
        ("{", "JSON is damaged"),
        ('{"model_type": "llama", "hidden_size": NaN}', "its hidden_size is nan"),
        ({**LLAMA, "block_configs": [{}]}, "sizes of its own"),
        ('{"a": 1, "a": 2}', "there twice"),
        ('{"a":' + "[" * 100_000, "nested too deeply"),
        ('{"a": "' + "x" * 8_000_001 + '"}', "no configuration is larger"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_used_is_refused_with_the_reason(folder, config, why):
    error = refused(folder, config)
    assert why in error.why
    assert error.fix


def test_a_file_that_is_not_there_is_refused():
    with pytest.raises(DataError):
        READER.profile("/nowhere/config.json")


def test_a_family_that_nobody_told_of_is_read_by_its_usual_keys_and_says_so(folder):
    found = profile(folder, {**LLAMA, "model_type": "newest"})
    assert "'newest' is not known" in found.source
    assert found.parameters == profile(folder, LLAMA).parameters
    encoder = profile(folder, {**BERT, "model_type": "newest", "architectures": ["NewestModel"]}).transformer
    assert encoder is not None
    assert not encoder.decoder
    latent = {"kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "n_routed_experts": 4}
    mixed = profile(folder, {**LLAMA, **latent, "model_type": "newest", "num_experts_per_tok": 2}).transformer
    assert mixed is not None
    assert (mixed.latent, mixed.experts) == (40, 4)


def test_a_model_of_several_inputs_is_read_as_its_decoder_and_says_so(folder):
    found = profile(folder, {"model_type": "llava", "text_config": LLAMA, "vision_config": VIT})
    assert "decoder of text alone" in found.source
    assert found.parameters == profile(folder, LLAMA).parameters


def test_what_a_part_leaves_out_is_its_family_s_default(folder):
    found = profile(folder, {"model_type": "llava", "text_config": {"model_type": "llama"}})
    assert found.parameters == 6_738_415_616


def test_both_sides_of_a_translator_are_there(folder):
    t5 = {
        "model_type": "t5",
        "d_model": 64,
        "d_kv": 16,
        "d_ff": 128,
        "num_layers": 2,
        "num_heads": 4,
        "vocab_size": 100,
    }
    found = profile(folder, t5, {"sequence": 200})
    assert found.transformer is not None
    assert found.transformer.encoder is not None
    assert found.transformer.cross
    assert found.dims["sequence"] == 200


@pytest.mark.parametrize(
    ("table", "bits", "kept", "name"),
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4, 4 + 20 / 128, "int4"),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, 8, 8, "int8"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, 4, 4 + 20 / 64, "int4"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8, 8 + 32 / 16384, "fp8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4, 4.5, "fp4"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, 4, 4.127, "fp4"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8, 8, "int8"),
        ({"quant_method": "mxfp4"}, 4, 4.25, "fp4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4, 4.5, "fp4"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 128}}},
            },
            4,
            4 + 16 / 128,
            "int4",
        ),
    ],
)
def test_quantised_weights_are_counted_with_their_scales(folder, table, bits, kept, name):
    found = profile(folder, {**LLAMA, "quantization_config": table})
    t = found.transformer
    assert t is not None
    assert t.weight_bits == bits
    packed = matrix_parameters(t)[0]
    assert found.weight_types == {"bf16": found.parameters - packed, name: packed}
    assert found.weight_bytes == round((found.parameters - packed) * 2 + packed * kept / 8)
    assert "quantised by" in found.source


def test_what_nvidias_quantiser_says_beside_the_configuration_counts(folder):
    (folder / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "NVFP4"}}')
    found = profile(folder, LLAMA)
    assert found.transformer is not None
    assert found.transformer.weight_bits == 4
    (folder / "hf_quant_config.json").write_text('{"quantization": 3}')
    assert profile(folder, LLAMA).weight_types.keys() == {"bf16"}


def test_infinity_where_nobody_looks_does_no_harm(folder):
    text = json.dumps({**LLAMA, "time_step_limit": [0.0, float("inf")]})
    assert "Infinity" in text
    assert profile(folder, text).parameters == profile(folder, LLAMA).parameters


def test_layers_with_experts_are_counted_however_they_are_told(folder):
    experts = {**LLAMA, "model_type": "qwen3_moe", "num_experts": 4, "num_experts_per_tok": 2, "head_dim": 8}
    for told, dense in (
        ({}, 0),
        ({"mlp_only_layers": [0, 2, 99]}, 2),
        ({"decoder_sparse_step": 2}, 2),
        ({"first_k_dense_replace": 1}, 1),
        ({"mlp_layer_types": ["dense", "sparse", "sparse", "dense"]}, 2),
        ({"moe_layer_freq": [0, 1, 1, 1]}, 1),
    ):
        t = profile(folder, {**experts, **told}).transformer
        assert t is not None
        assert t.dense_layers == dense


def test_only_the_experts_are_quantised_where_attention_is_left_alone(folder):
    table = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}
    config = {**LLAMA, "model_type": "gpt_oss", "num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 8}
    found = profile(folder, {**config, "quantization_config": table})
    assert found.transformer is not None
    assert (found.transformer.weight_bits, found.transformer.experts_bits) == (None, 4)
    assert found.weight_types["fp4"] == matrix_parameters(found.transformer)[1]


def test_a_quantisation_that_nobody_told_of_leaves_the_plain_figures(folder):
    plain = profile(folder, LLAMA).weight_bytes
    for method in ("magic", "bitsandbytes", "compressed-tensors"):
        assert profile(folder, {**LLAMA, "quantization_config": {"quant_method": method}}).weight_bytes == plain


def test_bytes_are_unknown_when_nobody_says_how_the_weights_are_kept(folder):
    found = profile(folder, BERT)
    assert found.weight_bytes is None
    assert "does not say" in found.missing["weight_bytes"]


def weights(path: Path, elements: int) -> None:
    header = json.dumps({"w": {"dtype": "F16", "shape": [elements], "data_offsets": [0, 2 * elements]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(2 * elements))


def test_the_headers_of_weights_beside_it_count_before_the_configuration(folder):
    right = profile(folder, LLAMA).parameters
    weights(folder / "model.safetensors", right)
    found = profile(folder, LLAMA)
    assert (found.parameters, found.weight_bytes, found.weight_types) == (right, 2 * right, {"fp16": right})
    assert "weights from the header" in found.source
    assert "where the configuration gives" not in found.source
    weights(folder / "model.safetensors", 2 * right)
    assert "(+100 %)" in profile(folder, LLAMA).source


def test_an_index_beside_it_counts_before_a_single_file(folder):
    weights(folder / "model-1.safetensors", 10)
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"w": "model-1.safetensors"}}')
    assert profile(folder, LLAMA).parameters == 10


def test_weights_that_cannot_be_read_are_said_and_not_used(folder):
    (folder / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    found = profile(folder, LLAMA)
    assert "Git LFS" in found.source
    assert found.parameters == profile(folder, LLAMA).parameters
    weights(folder / "model.safetensors", 0)
    assert "holds no weights" in profile(folder, LLAMA).source


def test_the_name_is_the_model_s_own_where_it_has_one(folder):
    assert profile(folder, {**LLAMA, "_name_or_path": "org/net"}).model == "org/net"
    assert profile(folder, {**LLAMA, "_name_or_path": "/home/me/net"}).model == "tiny"
    assert profile(folder, {**LLAMA, "_name_or_path": "a\ud800b"}).model


def test_what_depends_on_the_tokens_is_said(folder):
    mixtral = {**LLAMA, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}
    assert profile(folder, mixtral).dynamic
    assert not profile(folder, LLAMA).dynamic


def test_every_family_with_defaults_is_read_from_them_alone(folder):
    tables = (DECODERS, ENCODERS, VISION, TWO_SIDED, TEXT_SIDES)
    families = [family for family in defaults() if any(family in table for table in tables)]
    assert len(families) > 70
    for family in families:
        found = profile(folder, {"model_type": family}, {"sequence": 16} if family not in VISION else None)
        assert found.parameters
        assert found.pass_flops


def test_the_reader_keeps_the_promises_of_a_reader(folder, tmp_path):
    profile(folder, LLAMA)
    foreign = tmp_path / "other.json"
    foreign.write_text("{}")
    check_reader(lambda: READER, knows=str(folder / "config.json"), foreign=str(foreign), reads_at_most=2000)
    assert find("reader", "huggingface") is HuggingFaceReader


NUMBERS = st.one_of(
    st.integers(-3, 64),
    st.sampled_from([0, 2**31, 2**63, 10**30, 5 * 10**7, 0.5, 1e300, float("inf")]),
    st.none(),
    st.booleans(),
    st.text(max_size=3),
    st.lists(st.integers(0, 3), max_size=3),
)
KEYS = sorted({key for table in defaults().values() for key in table})
FAMILIES = sorted({*DECODERS, *ENCODERS, *VISION, *TWO_SIDED, *TEXT_SIDES, "newest", "llava", ""})
PARTS = st.dictionaries(st.sampled_from(KEYS), NUMBERS, max_size=6)
QUANTS = st.fixed_dictionaries(
    {"quant_method": st.sampled_from(["gptq", "awq", "fp8", "bitsandbytes", "mxfp4", "compressed-tensors", "x"])},
    optional={"bits": NUMBERS, "group_size": NUMBERS, "weight_block_size": NUMBERS, "load_in_4bit": NUMBERS},
)
CONFIGS = st.builds(
    lambda family, known, parts: {"model_type": family, **known, **parts},
    st.sampled_from(FAMILIES),
    st.one_of(PARTS, st.just(LLAMA).map(lambda known: {k: v for k, v in known.items() if k != "model_type"})),
    st.fixed_dictionaries(
        {},
        optional={
            "text_config": PARTS, "vision_config": PARTS, "quantization_config": st.one_of(QUANTS, NUMBERS),
            "architectures": NUMBERS, "layer_types": NUMBERS, "attn_config": PARTS, "ffn_config": PARTS,
            "id2label": NUMBERS, "torch_dtype": NUMBERS, "head_dim": NUMBERS, "num_attention_heads": NUMBERS,
        },
    ),
)  # fmt: skip
NAMES = st.sampled_from([*KEYS, "model_type"])
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(config=st.one_of(CONFIGS, ANY), batch=st.sampled_from([1, 7, 10**8]), sequence=st.sampled_from([1, 100, 10**8]))
def test_whatever_stands_in_it_gives_a_profile_or_an_error_for_people(folder, config, batch, sequence):
    try:
        found = profile(folder, config, {"batch": batch, "sequence": sequence})
    except BrimfulError:
        return
    assert found.parameters is None or found.parameters >= 0


@given(data=st.binary(max_size=80))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_bytes_it_has_give_a_profile_or_an_error_for_people(folder, data):
    (folder / "config.json").write_bytes(data)
    READER.reads(str(folder))
    with pytest.raises(DataError):
        READER.profile(str(folder))
