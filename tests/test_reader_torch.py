"""What a PyTorch module and a file of torch.export cost: against PyTorch's own counter, and against hostile files."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brimful
from brimful.model.errors import BrimfulError, DataError, UsageError
from brimful.model.work import OpKind
from brimful.readers import torch_sizes
from brimful.readers.torch_costs import Call, costs, kind_of
from brimful.readers.torch_export import TorchReader
from brimful.registry import open_backend
from brimful.testing import check_reader

torch = pytest.importorskip("torch")
flop_counter = pytest.importorskip("torch.utils.flop_counter")
nn = torch.nn
pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of itself; what it warns of is not ours

MULTIPLIED = {OpKind.CONV, OpKind.GROUPED, OpKind.MATMUL, OpKind.ATTENTION, OpKind.RECURRENT}
E = torch.empty


class Function(nn.Module):  # type: ignore[misc]
    def __init__(self, function: Any, *parts: Any) -> None:
        super().__init__()
        self.function, self.parts = function, nn.ModuleList(parts)

    def forward(self, *inputs: Any) -> Any:
        return self.function(*self.parts, *inputs)


def attend(*inputs: Any) -> Any:
    return nn.functional.scaled_dot_product_attention(*inputs)


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "linear": (nn.Linear(8, 16), (E(2, 5, 8),)),
    "linear without a bias": (nn.Linear(8, 16, bias=False), (E(2, 8),)),
    "conv1d": (nn.Conv1d(4, 8, 5), (E(2, 4, 20),)),
    "conv2d in groups": (nn.Conv2d(4, 8, 3, groups=2, stride=2), (E(2, 4, 17, 17),)),
    "conv3d": (nn.Conv3d(2, 4, 3), (E(1, 2, 8, 8, 8),)),
    "transposed in groups": (nn.ConvTranspose2d(4, 8, 3, stride=2, groups=2), (E(2, 4, 9, 9),)),
    "two lstm layers, both ways": (nn.LSTM(8, 16, 2, bidirectional=True, batch_first=True), (E(3, 7, 8),)),
    "an lstm that projects": (nn.LSTM(8, 16, 2, proj_size=4), (E(7, 3, 8),)),
    "an lstm without a batch": (nn.LSTM(8, 16), (E(7, 8),)),
    "an lstm without biases": (nn.LSTM(8, 16, bias=False), (E(7, 3, 8),)),
    "gru": (nn.GRU(8, 16), (E(7, 3, 8),)),
    "rnn": (nn.RNN(8, 16), (E(7, 3, 8),)),
    "one lstm step": (nn.LSTMCell(8, 16), (E(3, 8),)),
    "transformer layer": (nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), (E(2, 9, 16),)),
    "attention": (Function(attend), (E(2, 4, 9, 16), E(2, 4, 7, 16), E(2, 4, 7, 16))),
    "products": (Function(torch.matmul), (E(2, 3, 4), E(2, 4, 5))),
    "einsum": (Function(lambda a, b: torch.einsum("bij,bjk->bik", a, b)), (E(2, 3, 4), E(2, 4, 5))),
}


def multiplied(ops: Any) -> float:
    return sum(op.flops * op.ops_count for op in ops if op.op in MULTIPLIED)


def profile(module: Any, *inputs: Any) -> Any:
    module = copy.deepcopy(module).eval().to("meta")
    return brimful.profile_module(module, *(item.to("meta") for item in inputs), model="it", samples=2)


@pytest.mark.parametrize("case", CASES)
def test_multiplications_are_those_of_pytorchs_own_counter(case: str) -> None:
    module, inputs = CASES[case]
    module, inputs = copy.deepcopy(module).eval().to("meta"), [item.to("meta") for item in inputs]
    counter = flop_counter.FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        module(*inputs)
    assert multiplied(profile(module, *inputs).ops) == counter.get_total_flops() > 0


@pytest.mark.parametrize("case", CASES)
def test_an_exported_program_costs_what_its_module_costs(case: str, tmp_path: Path) -> None:
    module, inputs = CASES[case]
    torch.export.save(torch.export.export(module.eval(), tuple(inputs)), tmp_path / "it.pt2")
    found = TorchReader().profile(str(tmp_path / "it.pt2"))
    alike = profile(module, *inputs)
    assert multiplied(found.ops) == multiplied(alike.ops)
    assert found.parameters == alike.parameters
    assert not found.unknown_ops


class Net(nn.Module):  # type: ignore[misc]
    """A bit of everything."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.act = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Hardswish()
        self.depth, self.pool, self.drop = nn.Conv2d(8, 8, 3, groups=8), nn.MaxPool2d(2), nn.Dropout()
        self.words, self.bag = nn.Embedding(100, 8), nn.EmbeddingBag(50, 8)
        self.cells, self.last = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 10)

    def forward(self, image: Any, ids: Any) -> Any:
        x = self.pool(self.depth(self.act(self.norm(self.conv(image)))))
        x = self.drop(x).mean((2, 3)) + self.bag(ids % 50)
        return self.last(self.cells(self.words(ids) + x.unsqueeze(1))[0].contiguous()).softmax(-1)


INPUTS = (E(2, 3, 32, 32), torch.zeros(2, 5, dtype=torch.long))


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fixed") / "net.pt2"
    torch.export.save(torch.export.export(Net().eval(), INPUTS), path)
    return path


@pytest.fixture(scope="module")
def open_batch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("open") / "net.pt2"
    batch = torch.export.Dim("batch", min=1, max=64)
    torch.export.save(torch.export.export(Net().eval(), INPUTS, dynamic_shapes=({0: batch}, {0: batch})), path)
    return path


def test_it_keeps_the_promises_of_readers(fixed: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.pt2"
    foreign.write_bytes(b"no archive")
    check_reader(lambda: open_backend("reader", "torch"), knows=str(fixed), foreign=str(foreign))


def test_every_kind_is_told_apart() -> None:
    found = profile(Net(), *INPUTS)
    kinds = {op.op_type: op.op for op in found.ops}
    assert kinds["convolution"] in (OpKind.CONV, OpKind.GROUPED)
    assert {op.op for op in found.ops if op.op_type == "convolution"} == {OpKind.CONV, OpKind.GROUPED}
    assert kinds["hardswish"] is OpKind.ELEMENTWISE
    assert kinds["lstm_input"] is OpKind.MATMUL
    assert kinds["lstm"] is OpKind.RECURRENT
    assert kinds["embedding"] is kinds["_embedding_bag"] is OpKind.GATHER
    assert kinds["max_pool2d_with_indices"] is OpKind.POOL
    assert kinds["native_batch_norm"] is OpKind.NORM
    assert kinds["_softmax"] is OpKind.SOFTMAX
    assert OpKind.UNKNOWN not in kinds.values()


def test_a_recurrent_layer_takes_its_steps_one_after_another() -> None:
    found = profile(nn.LSTM(8, 16), E(7, 3, 8))
    steps = next(op for op in found.ops if op.op is OpKind.RECURRENT)
    assert steps.ops_count == 7
    assert steps.weight_elements == 4 * 16 * 16 + 4 * 16
    assert next(op for op in found.ops if op.op is OpKind.MATMUL).ops_count == 1


def test_the_module_and_its_file_agree_on_all_kinds(fixed: Path) -> None:
    ours, file = profile(Net(), *INPUTS), TorchReader().profile(str(fixed))
    kinds = (*MULTIPLIED, OpKind.NORM, OpKind.SOFTMAX, OpKind.POOL, OpKind.GATHER, OpKind.ELEMENTWISE)
    for kind in kinds:
        left, right = ([op for op in one.ops if op.op is kind] for one in (ours, file))
        assert sum(op.flops * op.ops_count for op in left) == sum(op.flops * op.ops_count for op in right), kind
    assert file.parameters == ours.parameters
    assert file.samples_count == ours.samples_count == 2


def test_a_table_is_read_where_it_is_asked_for_and_not_whole() -> None:
    found = profile(nn.Embedding(1_000_000, 8), torch.zeros(4, dtype=torch.long))
    assert [op.weight_elements for op in found.ops] == [32]


def test_what_lives_at_once_is_counted_without_the_weights() -> None:
    module = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))
    assert profile(module, E(1, 3, 16, 16)).activation_bytes == 4 * 256 * (3 + 8 + 8)


def test_an_open_size_takes_the_examples_and_says_so(open_batch: Path) -> None:
    found = TorchReader().profile(str(open_batch))
    assert found.samples_count == 2
    assert list(found.dims.values()) == [2]


@pytest.mark.parametrize("name", ["batch", "image.0"])
def test_an_open_size_is_bound_by_name(open_batch: Path, name: str) -> None:
    two, eight = TorchReader().profile(str(open_batch)), TorchReader().profile(str(open_batch), {name: 8})
    assert eight.samples_count == 8
    assert multiplied(eight.ops) == 4 * multiplied(two.ops)
    assert eight.parameters == two.parameters


@pytest.mark.parametrize("dims", [{"batch": 65}, {"batch": 0}, {"batch": 2, "width": 3}])
def test_a_size_that_the_program_does_not_take_is_refused_with_the_way_out(open_batch: Path, dims: Any) -> None:
    with pytest.raises(UsageError) as caught:
        TorchReader().profile(str(open_batch), dims)
    assert "--dim" in caught.value.fix


def test_a_program_without_open_sizes_says_that_there_are_none(fixed: Path) -> None:
    with pytest.raises(UsageError, match="no size called") as caught:
        TorchReader().profile(str(fixed), {"batch": 8})
    assert "none" in caught.value.why


def test_only_archives_of_torch_export_are_read(tmp_path: Path, fixed: Path) -> None:
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert TorchReader().reads(str(fixed))
    assert not TorchReader().reads(str(other))
    assert not TorchReader().reads(str(tmp_path))
    assert not TorchReader().reads(str(tmp_path / "absent.pt2"))


def graph_of(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        return json.loads(
            archive.read(
                "net/models/net.json" if "net/models/net.json" in archive.namelist() else "net/models/model.json"
            )
        )


def archived(graph: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("net/models/model.json", graph)
    return out.getvalue()


def test_nothing_that_a_file_holds_is_run(tmp_path: Path, open_batch: Path) -> None:
    graph = graph_of(open_batch)
    mark = tmp_path / "ran"
    bad = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    text = json.dumps(graph).replace("Symbol('s", f"{bad} or Symbol('s".replace('"', "'"), 1)
    path = tmp_path / "net.pt2"
    path.write_bytes(archived(text.encode()))
    with pytest.raises(DataError):
        TorchReader().profile(str(path))
    assert not mark.exists()


def test_an_operation_of_a_stranger_is_unknown_and_counted(tmp_path: Path, fixed: Path) -> None:
    text = json.dumps(graph_of(fixed)).replace("torch.ops.aten.hardswish.default", "torch.ops.mine.act.default")
    path = tmp_path / "net.pt2"
    path.write_bytes(archived(text.encode()))
    found = TorchReader().profile(str(path))
    assert found.unknown_ops == ("mine::act",)
    assert found.op_types["mine::act"] == 1


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_graph_with_anything_in_it_is_read_or_refused(
    data: st.DataObject, fixed: Path, tmp_path_factory: Any
) -> None:
    graph: Any = graph_of(fixed)
    place: Any = graph
    for _ in range(data.draw(st.integers(1, 9))):
        if not isinstance(place, dict | list) or not place:
            break
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if data.draw(st.booleans()):
            place[key] = data.draw(
                st.none() | st.integers(-9, 2**70) | st.text(max_size=9) | st.just([]) | st.just({"as_int": -1})
            )
        place = place[key]
    path = tmp_path_factory.mktemp("any") / "net.pt2"
    path.write_bytes(archived(json.dumps(graph).encode()))
    with contextlib.suppress(BrimfulError):
        TorchReader().profile(str(path))


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(tmp_path_factory: Any, data: bytes) -> None:
    for content in (data, archived(data)):
        path = tmp_path_factory.mktemp("bytes") / "net.pt2"
        path.write_bytes(content)
        with pytest.raises(BrimfulError):
            TorchReader().profile(str(path))


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.pt2"
    path.write_bytes(archived(b"[" * 200_000))
    with pytest.raises(DataError):
        TorchReader().profile(str(path))


class Sized:
    def __init__(self, *shape: int) -> None:
        self.shape = shape

    def stride(self) -> tuple[int, ...]:
        return (1,) * len(self.shape)

    def numel(self) -> int:
        return int(torch.Size(self.shape).numel())


def test_regions_and_boxes_cost_what_their_count_says() -> None:
    crops = costs(
        Call("torchvision::roi_align", {}, [Sized(1, 8, 50, 50), Sized(10, 5)], [False, False], [Sized(10, 8, 7, 7)])
    )[0]
    boxes = costs(Call("torchvision::nms", {}, [Sized(100, 4), Sized(100)], [False, False], [Sized(20)]))[0]
    assert crops.op is OpKind.GATHER
    assert crops.read_elements == 2 * 10 * 8 * 7 * 7  # of the map what the regions cover, at most
    assert boxes.flops == 16 * 100 * 99 / 2


def test_a_recorded_kind_is_brought_up_to_date_but_multiplications_keep_theirs() -> None:
    assert kind_of("hardswish", "other") == "elementwise"
    assert kind_of("bmm", "attention") == "attention"
    assert kind_of("never_seen", "other") == "other"


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("Mul(Integer(16), Symbol('s17', positive=True, integer=True))", 112),
        ("Add(Symbol('s17'), Integer(-2))", 5),
        ("FloorDiv(Symbol('s17'), Integer(2))", 3),
        ("CeilDiv(Symbol('s17'), Integer(2))", 4),
        ("Max(Integer(1), Mod(Symbol('s17'), Integer(4)))", 3),
        ("Pow(Symbol('s17'), Integer(2))", 49),
        ("((s17 - 1)//2) + 1", 4),
        ("Add(Mul(Rational(1, 2), Symbol('s17')), Rational(1, 2))", 4),
    ],
)
def test_a_size_may_be_a_formula(formula: str, value: int) -> None:
    assert torch_sizes._computed(torch_sizes._parsed(formula), {"s17": 7}) == value


@pytest.mark.parametrize(
    "formula",
    [
        "Pow(Symbol('s17'), Integer(99))",
        "Symbol(s17)",
        "open('x')",
        "s17.real",
        "1/0",
        "1 +",
        "9**9**9",
        "[1]",
        "1" * 20_000,
    ],
)
def test_a_formula_that_no_size_has_is_refused(formula: str) -> None:
    with pytest.raises((ValueError, KeyError, ArithmeticError, SyntaxError)):
        torch_sizes._computed(torch_sizes._parsed(formula), {"s17": 7})
