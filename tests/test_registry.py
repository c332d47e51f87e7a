from __future__ import annotations

import importlib.metadata
import sys
import types

import pytest

from brimful import registry
from brimful.config import load
from brimful.model.errors import BrimfulError, Unavailable, UsageError
from brimful.probes.fake import FakeProbe
from brimful.seams import Cloud, Engine, History, Probe, Reader, Store
from brimful.verbs.audit import Sources, audit

SEAMS = {"probe": Probe, "engine": Engine, "store": Store, "cloud": Cloud, "reader": Reader, "history": History}
OURS = [(seam, name) for seam, table in registry.BACKENDS.items() for name in table]


class Point:
    """An entry point, as a package announces it."""

    def __init__(self, group: str, name: str, value: str) -> None:
        self.group, self.name, self.value = group, name, value


@pytest.fixture
def announce(monkeypatch):
    """Return a function that announces a module's content as an entry point of `brimful.probe`."""
    points: list[Point] = []
    monkeypatch.setattr(
        importlib.metadata, "entry_points", lambda group: [point for point in points if point.group == group]
    )

    def add(name: str, value: str, **content: object) -> None:
        module = types.ModuleType(value.partition(":")[0])
        for key, item in content.items():
            setattr(module, key, item)
        if content:
            monkeypatch.setitem(sys.modules, module.__name__, module)
        points.append(Point("brimful.probe", name, value))

    return add


def state(name: str) -> registry.BackendState:
    (found,) = [state for state in registry.states() if (state.seam, state.name) == ("probe", name)]
    return found


@pytest.mark.parametrize(("seam", "name"), OURS)
def test_every_back_end_of_the_table_has_what_its_seam_asks_for(seam, name):
    cls = registry.find(seam, name)
    methods = {key for key in vars(SEAMS[seam]) if not key.startswith("_")} | {"check"}
    assert all(callable(getattr(cls, key)) for key in methods)
    assert cls.__doc__


def test_every_seam_has_a_line_in_the_table():
    assert registry.BACKENDS.keys() == SEAMS.keys()


def test_a_back_end_is_opened_by_its_name_and_its_address():
    probe = registry.open_backend("probe", "fake:3xL4,seed=1")
    assert isinstance(probe, FakeProbe)
    assert len(probe.devices()) == 3
    assert len(registry.open_backend("probe", "fake").devices()) == 2


def test_an_address_may_hold_colons(tmp_path):
    path = tmp_path / "a:b.csv"
    path.write_text("time_s,device,utilization_percent\n1,gpu0,5\n")
    assert [sample.value for sample in registry.open_backend("probe", f"file:{path}").sample()] == [5.0]


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(UsageError) as caught:
        registry.find("probe", "nvlm")
    assert "fake, file, host" in caught.value.why
    with pytest.raises(UsageError, match="no seam is called 'prob'"):
        registry.names("prob")


def test_the_state_of_every_back_end_of_ours_is_told():
    states = {(state.seam, state.name): state for state in registry.states()}
    assert states.keys() >= set(OURS)
    assert all(state.reason for state in states.values())


def test_an_announced_back_end_is_found(announce):
    announce("mine", "their_probe:Probe", Probe=FakeProbe)
    assert registry.find("probe", "mine") is FakeProbe
    assert state("mine").available


def test_a_class_within_a_class_and_extras_are_understood(announce):
    announce("mine", "their_module:Outer.Probe [gpu]", Outer=types.SimpleNamespace(Probe=FakeProbe))
    assert registry.find("probe", "mine") is FakeProbe


def test_a_stranger_cannot_take_our_name(announce):
    announce("fake", "their_module:Probe", Probe=object)
    assert registry.find("probe", "fake") is FakeProbe


@pytest.mark.parametrize("value", ["no_such_module:Probe", "json:NoSuchClass", "json:", ":x", "", "json:loads.x.y"])
def test_what_cannot_be_imported_is_a_state_and_an_error_for_people(announce, value):
    announce("mine", value)
    assert not state("mine").available
    assert "cannot be imported" in state("mine").reason
    with pytest.raises(Unavailable, match="cannot be imported"):
        registry.find("probe", "mine")


class Unspeakable(Exception):  # noqa: N818
    def __str__(self) -> str:
        raise RuntimeError("even its text is broken")


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (ValueError("nope"), "its check failed: ValueError: nope"),
        (SystemExit(3), "its check failed: SystemExit: 3"),
        (Unspeakable(), "its check failed: Unspeakable"),
        (ValueError("\x1b[31m\ud800"), "its check failed: ValueError: \\x1b[31m\\ud800"),
        (Unavailable("a\x1bb", why="c", fix="d"), "a\\x1bb: c"),
    ],
)
def test_whatever_a_check_raises_is_a_state(announce, raised, said):
    class Broken(FakeProbe):
        @classmethod
        def check(cls):
            raise raised

    announce("mine", "their_module:Broken", Broken=Broken)
    assert (state("mine").available, state("mine").reason) == (False, said)
    assert state("mine").fix


def test_a_class_without_a_check_is_a_state(announce):
    announce("mine", "their_module:Thing", Thing=object)
    assert "AttributeError" in state("mine").reason


class Raises(FakeProbe):
    """Raises where it is told to."""

    where = ""

    def __init__(self, where):
        if self.where == "__init__":
            raise ZeroDivisionError("in __init__")
        super().__init__(where)

    @classmethod
    def check(cls):
        if cls.where == "check":
            raise ZeroDivisionError("in check")

    def devices(self):
        if self.where == "exit":
            raise SystemExit("in exit")
        if self.where == "devices":
            raise ZeroDivisionError("in devices")
        return super().devices()


@pytest.mark.parametrize("where", ["check", "__init__", "devices", "exit"])
def test_whatever_a_strangers_back_end_raises_in_an_audit_is_an_error_that_names_it(announce, tmp_path, where):
    announce("boom", "their_module:Boom", Boom=type("Boom", (Raises,), {"where": where}))
    with pytest.raises(Unavailable, match="the probe 'boom' has failed") as caught:
        audit(load({"run_dir": str(tmp_path)}), Sources(probes=("boom",)))
    assert f"in {where}" in caught.value.why
    assert "their_module:Boom" in caught.value.fix


def test_a_class_without_a_check_cannot_be_opened_and_is_named(announce):
    announce("mine", "their_module:Thing", Thing=object)
    with pytest.raises(Unavailable, match="the probe 'mine' has failed") as caught:
        registry.open_backend("probe", "mine:x")
    assert "has no attribute 'check'" in caught.value.why


def test_a_mistake_of_ours_keeps_its_own_name(monkeypatch):
    monkeypatch.setattr(FakeProbe, "check", None)
    with pytest.raises(TypeError):
        registry.open_backend("probe", "fake")


def test_an_interrupt_within_a_strangers_back_end_stays_an_interrupt(announce):
    announce("mine", "their_module:Probe", Probe=FakeProbe)
    with pytest.raises(KeyboardInterrupt), registry.blaming("probe", "mine"):
        raise KeyboardInterrupt


def test_a_stranger_with_a_name_of_ours_is_named_as_passed_over(announce):
    announce("host", "their_module:Probe", Probe=FakeProbe)
    (found,) = [item for item in registry.states() if item.name == "host (their_module:Probe)"]
    assert not found.available
    assert "passed over" in found.reason
    assert "another name" in str(found.fix)


def test_a_class_without_a_text_is_available_all_the_same(announce):
    class Plain:
        @classmethod
        def check(cls) -> None:
            pass

    announce("mine", "their_module:Plain", Plain=Plain)
    assert (state("mine").available, state("mine").reason) == (True, "it answers")


def test_an_interrupt_is_no_state_but_an_interrupt(announce):
    class Slow(FakeProbe):
        @classmethod
        def check(cls):
            raise KeyboardInterrupt

    announce("mine", "their_module:Slow", Slow=Slow)
    with pytest.raises(KeyboardInterrupt):
        list(registry.states())


def test_a_module_interrupted_while_it_is_imported_stays_interrupted(announce, tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text("raise KeyboardInterrupt\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    announce("mine", "slow_to_import:Probe")
    with pytest.raises(KeyboardInterrupt):
        registry.find("probe", "mine")


def test_a_back_end_that_cannot_work_here_is_not_opened(announce):
    class Absent(FakeProbe):
        @classmethod
        def check(cls):
            raise Unavailable("no driver", why="it is not installed", fix="install it")

    announce("mine", "their_module:Absent", Absent=Absent)
    with pytest.raises(BrimfulError, match="no driver"):
        registry.open_backend("probe", "mine:x")
