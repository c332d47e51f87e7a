"""The facts about devices: found by any name, in agreement with the given datasheets, and read from a user's file."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.catalog import load
from brimful.catalog.chip_names import parse
from brimful.catalog.chips import Chips, find, shipped
from brimful.catalog.device_facts import KEYS, parse_device_facts, read_device_facts
from brimful.model.errors import DataError, UsageError
from brimful.model.hardware import Chip, DeviceKind
from brimful.model.units import GIB

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tools are part of the checkout and of no package

from tools.catalog_chips import by_model, chips

CATALOG = load()
SPELLINGS = {
    "NVIDIA A100-SXM-80GB": "A100-SXM4-80GB",
    "NVIDIA A100 80GB PCIe": "A100-PCIe-80GB",
    "A100-PCIE-40GB": "A100-PCIe-40GB",
    "NVIDIA A100_PCIe_80GB": "A100-PCIe-80GB",
    "NVIDIA A100 - PCIe - 80 GB": "A100-PCIe-80GB",
    "NVIDIA A100-SXM-80GB CTS": "A100-SXM4-80GB-500W",
    "NVIDIA A100-SXM4-40GB (400W)": "A100-SXM4-40GB",
    "NVIDIA A100-SXM-80GB (7x1g.10gb MIG)": "A100-SXM4-80GB",
    "A100": "A100-SXM4-40GB",
    "Tesla V100-SXM2-32GB": "V100-SXM2-32GB",
    "NVIDIA V100-SXM3-32GB (450W)": "V100-SXM3-32GB-450W",
    "Nvidia Tesla V100S-PCIe-32GB": "V100S-PCIe-32GB",
    "tesla t4": "T4",
    "NVIDIA GRID T4-16Q": "T4",
    "NVIDIA GeForce RTX 4090": "RTX 4090",
    "rtx4090": "RTX 4090",
    "NVIDIA GeForce RTX 4090 (Ada Lovelace)": "RTX 4090",
    "GeForce RTX 4090 Laptop GPU": "RTX 4090 Laptop",
    "RTX PRO 6000 Max-Q": "RTX PRO 6000 Max-Q",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition": "RTX PRO 6000 Max-Q",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "RTX PRO 6000",
    "NVIDIA RTX 6000 Ada Generation": "RTX 6000 Ada",
    "Quadro RTX 8000": "Quadro RTX 8000",
    "NVIDIA H100 80GB HBM3": "H100-SXM5-80GB",
    "H100 PCIe": "H100-PCIe-80GB",
    "NVIDIA H100 NVL": "H100-NVL-94GB",
    "h200_sxm": "H200-SXM-141GB",
    "NVIDIA Blackwell GPU (B200-SXM-180GB)": "B200-SXM-180GB",
    "NVIDIA GH200 Grace Hopper Superchip 144GB": "GH200-144GB",
    "AMD Instinct MI300X 192GB HBM3": "MI300X",
    "AMD MI300X-NPS1-SPX-192GB-750W": "MI300X",
    "AMD Radeon RX 7900 XTX": "RX 7900 XTX",
    "Intel® Gaudi® 2 AI Accelerator": "Gaudi2",
    "TPU-trillium": "TPU v6e",
    "[MAXSUN] MS-Intel Arc Pro B60 Dual 48G Turbo": "Arc Pro B60",
    "CPU Intel(R) Xeon(R) Platinum 8480+ (Sapphire Rapids) CPU @ 2.00GHz": "Xeon Platinum 8480+",
    "CPU INTEL(R) XEON(R) PLATINUM 8592+": "Xeon Platinum 8592+",
    "Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz": "Xeon E5-2686 v4",
    "Intel® Core™ Ultra 7 processor 155H NPU-only": "Core Ultra 7 155H NPU",
    "Intel® Core™ i7-1185GRE iGPU-only": "Core i7-1185GRE iGPU",
    "13th Gen Intel(R) Core(TM) i9-13900K": "Core i9-13900K",
    "12th Gen Intel(R) Core(TM) i7-12700H": "Core i7-12700H",
    "CPU i9-10940X": "Core i9-10940X",
    "AMD Ryzen 9 7950X 16-Core Processor": "Ryzen 9 7950X",
    "AMD Ryzen 7 7840HS w/ Radeon 780M Graphics": "Ryzen 7 7840HS",
    "AMD EPYC 9654 96-Core Processor": "EPYC 9654",
    "Apple M2 Pro": "Apple M2 Pro",
    "Neoverse-V1": "Graviton3",
    "NVIDIA AGX Xavier": "Jetson AGX Xavier",
    "NVIDIA Jetson AGX Orin 64G": "Jetson AGX Orin 64GB",
}
UNRELATED = (
    *("", "GPU", "CPU", "Intel(R) Xeon(R)", "banana", "NVIDIA", "4080", "8480", "m5.large", "c7i.4xlarge", "my server"),
    *("Core i5 CPU+iGPU", "Intel® Core™ i7-1185G7 CPU+iGPU", "RTX", "A1000000", "resnet50", "80GB", "SXM4", "epyc"),
)


# --- names ---


@pytest.mark.parametrize(("text", "model"), SPELLINGS.items())
def test_odd_spellings_find_their_device(text: str, model: str) -> None:
    found = find(text)
    assert found is not None
    assert found.model == model


@pytest.mark.parametrize("text", UNRELATED)
def test_what_names_no_device_finds_none(text: str) -> None:
    assert find(text) is None


def test_every_model_and_alias_finds_its_own_device() -> None:
    astray = [
        (name, chip.model, getattr(find(name), "model", None))
        for chip in CATALOG.chips
        for name in (chip.model, *chip.aliases)
        if getattr(find(name), "model", None) != chip.model
    ]
    assert astray == []


def test_an_unknown_device_is_an_error_that_says_what_is_like_it() -> None:
    with pytest.raises(UsageError, match="RTX 4090") as caught:
        shipped().require("RTX 4099")
    assert "--device-facts" in caught.value.fix


def test_a_device_like_no_other_gets_no_suggestion() -> None:
    with pytest.raises(UsageError) as caught:
        shipped().require("zzzzzzzzzzzz")
    assert "did you mean" not in caught.value.fix


@given(st.text())
def test_no_text_breaks_the_search_for_a_device(text: str) -> None:
    parse(text)
    find(text)
    shipped().suggest(text)


# --- facts ---


def test_names_are_unique_and_clocks_and_rates_are_plausible() -> None:
    assert len(by_model(CATALOG.chips)) == len(CATALOG.chips) > 500
    for chip in CATALOG.chips:
        rates = chip.peak_flops
        if "fp64" in rates and "fp32" in rates:
            assert rates["fp64"] <= rates["fp32"] * 1.01, chip.model
        if "bf16" in rates and "fp32" in rates:
            assert rates["bf16"] >= rates["fp32"], chip.model


def test_the_shipped_table_is_what_the_tables_of_devices_give() -> None:
    assert sorted(CATALOG.chips, key=lambda chip: chip.model) == sorted(chips(), key=lambda chip: chip.model)


def test_two_devices_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="stands twice"):
        by_model([CATALOG.chips[0], CATALOG.chips[0]])


@pytest.mark.parametrize("given", [item for item in CATALOG.accelerators if item.kind not in ("fpga", "media")])
def test_devices_agree_with_the_given_datasheets(given: object) -> None:
    size = "" if given.memory_bytes is None else f" {given.memory_bytes / GIB:.0f}GB"
    chip = find(given.model + size) or find(given.model)
    assert chip is not None
    for name, rate in given.peak_flops.items():
        assert chip.peak_flops[name] == pytest.approx(rate, rel=0.02), name
    for name in ("memory_bytes", "bandwidth_bytes_per_s", "cache_bytes", "power_cap_watts"):
        if getattr(given, name) is not None:
            assert getattr(chip, name) == pytest.approx(getattr(given, name), rel=0.02), name


@pytest.mark.parametrize("given", [item for item in CATALOG.cpus if item.family != "c8i"])
def test_cpus_agree_with_the_given_estimates_for_each_core(given: object) -> None:
    chip = shipped().of_family(given.family)[-1]
    for name, rate in given.peak_core_flops.items():
        assert chip.peak_flops[name] / chip.compute_units == pytest.approx(rate, rel=0.13), name
    assert chip.bandwidth_bytes_per_s >= given.bandwidth_bytes_per_s * 0.99


def test_every_family_of_instances_has_a_cpu_and_its_accelerator() -> None:
    known = shipped()
    for offer in CATALOG.offers:
        inside = known.of_family(offer.family)
        assert any(chip.kind is DeviceKind.CPU for chip in inside), offer.family
        for fitted in offer.accelerators or ():
            if fitted.kind not in (DeviceKind.FPGA, DeviceKind.MEDIA):
                assert known.find(fitted.model) is not None, fitted.model


def test_a_family_that_mixes_cpus_names_each() -> None:
    assert [chip.model for chip in shipped().of_family("c5")] == ["Xeon Platinum 8124M", "Xeon Platinum 8275CL"]


# --- a user's file ---

ONE = {"model": "X9000", "kind": "gpu", "peak_tflops": {"fp16": 400}, "bandwidth_gb_per_s": 2000, "memory_gib": 48}


def parsed(document: object) -> tuple[Chip, ...]:
    return parse_device_facts(json.dumps(document).encode(), toml=False, source="facts.json")


def test_a_device_from_a_file_is_found_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "facts.toml"
    path.write_text(
        'model = "X9000"\npeak_tflops = { fp16 = 400 }\nbandwidth_gb_per_s = 2000\nwatts = 300\ncores = 96\n'
        'clock_mhz = 2100\nisa = ["amx_int8"]\n'
    )
    (chip,) = read_device_facts(path)
    assert Chips([chip]).find("x-9000 GPU") is chip
    assert chip.peak_flops == {"fp16": 400e12}
    assert (chip.bandwidth_bytes_per_s, chip.power_cap_watts, chip.compute_units) == (2e12, 300, 96)
    assert chip.missing["memory_bytes"].endswith("does not say")


def test_a_file_may_hold_a_list() -> None:
    two = [ONE, {**ONE, "model": "X9001"}]
    assert [chip.model for chip in parsed(two)] == [chip.model for chip in parsed({"device": two})]


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ([], "no device"),
        ("x", "no device"),
        ([3], "no table"),
        ({**ONE, "model": ""}, "must be text"),
        ({"kind": "gpu"}, "model is missing"),
        ({**ONE, "peak_tflops": {}}, "no table of rates"),
        ({**ONE, "peak_tflops": {"fp17": 3}}, "fp17"),
        ({**ONE, "peak_tflops": {"fp16": 0}}, "no rate"),
        ({**ONE, "bandwidth_gb_per_s": 0}, "never 0"),
        ({**ONE, "bandwidth_gb_per_s": "2 TB/s"}, "must be a number"),
        ({**ONE, "bandwidth_bytes_per_s": 1e12}, "says again"),
        ({**ONE, "bandwith_gb_per_s": 3}, "not known"),
        ({**ONE, "kind": "toaster"}, "toaster"),
        ({**ONE, "aliases": "x"}, "no list"),
        ({**ONE, "year": True}, "must be a number"),
        ([ONE, ONE], "two devices"),
        ({"device": [ONE], "model": "x"}, "beside device"),
        ({**ONE, "base_mhz": 3000, "boost_mhz": 2000}, "must not fall"),
    ],
)
def test_a_wrong_file_says_what_why_and_what_to_type(document: object, why: str) -> None:
    with pytest.raises(DataError, match="cannot be used") as caught:
        parsed(document)
    assert why in caught.value.why
    assert caught.value.fix


def test_a_misspelt_key_is_met_with_the_right_one() -> None:
    with pytest.raises(DataError) as caught:
        parsed({**ONE, "bandwith_gb_per_s": 3})
    assert "bandwidth_gb_per_s" in caught.value.fix


def test_an_absent_or_huge_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_device_facts(tmp_path / "none.json")
    huge = tmp_path / "huge.json"
    huge.write_bytes(b" " * (1 << 20) + b"{}")
    with pytest.raises(DataError) as caught:
        read_device_facts(huge)
    assert "1 MiB" in caught.value.why


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from((*KEYS, "device", "x")), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(st.binary(max_size=200), st.booleans())
def test_random_bytes_give_devices_or_a_data_error(data: bytes, toml: bool) -> None:  # noqa: FBT001 - drawn
    with suppress(DataError):
        assert parse_device_facts(data, toml=toml, source="random")


@given(_JSON)
def test_random_documents_give_devices_or_a_data_error(document: object) -> None:
    with suppress(DataError):
        assert parsed(document)


@given(st.dictionaries(st.sampled_from(KEYS), st.integers(-5, 10**15) | st.text(max_size=5)))
def test_random_facts_of_a_device_give_it_or_a_data_error(more: dict[str, object]) -> None:
    try:
        (chip,) = parsed({**ONE, **more})
    except DataError:
        return
    assert chip.peak_flops
