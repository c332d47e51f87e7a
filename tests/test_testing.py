"""The kits catch what they are there to catch: for every promise a back-end that breaks it, and it alone."""

# ruff: noqa: ARG002 - what is broken about a back-end may be that it ignores what it is given

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import brimful.testing
from brimful.model.advice import Act, Action
from brimful.model.errors import CloudError, DataError, StorageError, Unavailable
from brimful.model.evidence import Sample
from brimful.model.hardware import Device, Machine
from brimful.model.noun import with_gaps
from brimful.model.work import Mode, Profile, Setting, Workload
from brimful.seams import Series, Support, Window
from brimful.testing import (
    FakeProbe,
    check_cloud,
    check_engine,
    check_history,
    check_probe,
    check_reader,
    check_store,
    fake_device,
)


def breaks(promise: str):
    """Expect a kit to name the promise that is broken."""
    return pytest.raises(AssertionError, match=promise)


class Checked:
    @classmethod
    def check(cls) -> None:
        """Pass."""


def test_what_the_kits_export_is_what_the_text_says():
    assert sorted(brimful.testing.__all__) == brimful.testing.__all__
    assert all(hasattr(brimful.testing, name) for name in brimful.testing.__all__)


# --- probes


class Unitless(FakeProbe):
    def sample(self):
        return [replace(sample, metric=sample.metric.rpartition("_")[0]) for sample in super().sample()]


class Overfull(FakeProbe):
    def sample(self):
        full = {"utilization_percent": 130.0}
        return [
            sample if sample.value is None else replace(sample, value=full.get(sample.metric, sample.value))
            for sample in super().sample()
        ]


class SilentIsZero(FakeProbe):
    """Also what a vanished device looks like to a probe that answers zero for what does not answer."""

    def sample(self):
        return [
            sample if sample.value is not None else Sample(
                time_s=sample.time_s, device=sample.device, metric=sample.metric, value=0.0
            )
            for sample in super().sample()
        ]  # fmt: skip


class SilentIsLeftOut(FakeProbe):
    def sample(self):
        return [sample for sample in super().sample() if sample.value is not None]


class Stutters(FakeProbe):
    def sample(self):
        return [*super().sample(), *super().sample()]


class NamesTwice(FakeProbe):
    def devices(self):
        return [*super().devices(), *super().devices()]


class NamesStrings(FakeProbe):
    def devices(self):
        return [device.device for device in super().devices()]


class NamesTheVanished(FakeProbe):
    def devices(self):
        self._tick, now = 0, self._tick
        try:
            return super().devices()
        finally:
            self._tick = now


class NamesNobody(FakeProbe):
    def devices(self):
        return []


class SaysNothingOfItsSource(FakeProbe):
    def devices(self):
        return [replace(device, source="") for device in super().devices()]


class HasZeroBytes(FakeProbe):
    def devices(self):
        return [replace(device, memory_bytes=0) for device in super().devices()]


class RunsBackwards(FakeProbe):
    def sample(self):
        self._tick, now = 100 - self._tick, self._tick
        samples = super().sample()
        self._tick = now + 1
        return samples


class GivesNumbers(FakeProbe):
    def sample(self):
        return [sample.value for sample in super().sample()]


class ClosesOnce(FakeProbe):
    closed = False

    def close(self):
        if self.closed:
            raise RuntimeError("handle is not open")
        self.closed = True


class ChecksByCrashing(FakeProbe):
    @classmethod
    def check(cls):
        raise ImportError("no module named driver")


class CannotWorkHere(FakeProbe):
    @classmethod
    def check(cls):
        raise Unavailable("no driver", why="it is not installed", fix="install it")


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (Unitless, "a metric's name ends in its unit: 'utilization' does not"),
        (Overfull, "a value fits its unit: utilization_percent is 130"),
        (SilentIsZero, r"has no value, and never zero: \('gpu3', 'utilization_percent'\) is 0"),
        (SilentIsLeftOut, "there is none of"),
        (Stutters, "one sample.. gives one value each"),
        (NamesTwice, "each device has a name of its own"),
        (NamesStrings, "returns Devices"),
        (NamesTheVanished, "gpu1 has vanished and is still named"),
        (NamesNobody, "'gpu0' is not"),
        (SaysNothingOfItsSource, "a device says where it comes from"),
        (HasZeroBytes, "None with a reason: memory_bytes of gpu0 is 0"),
        (RunsBackwards, "time does not run backwards"),
        (GivesNumbers, "returns Samples"),
        (ClosesOnce, "a second close.. does nothing: it raised RuntimeError"),
        (ChecksByCrashing, "check.. raises Unavailable or HardwareAbsent alone: it raised ImportError"),
        (CannotWorkHere, "the kit needs a back-end that can work here"),
    ],
)
def test_a_broken_probe_is_caught(broken, promise):
    unknown = [("gpu3", "utilization_percent")]
    lost = {"lose": lambda _: "gpu1", "unknown": unknown}
    check_probe(lambda: FakeProbe("4xL4,lose=1@2"), **lost)
    with breaks(promise):
        check_probe(lambda: broken("4xL4,lose=1@2"), **lost)


def test_zeros_of_a_vanished_device_are_caught():
    with breaks("a vanished device has no values, and never zero"):
        check_probe(lambda: SilentIsZero("2xL4,lose=1@2"), lose=lambda _: "gpu1")


def test_a_device_that_hides_that_it_is_simulated_is_caught():
    class Pretends(FakeProbe):
        def devices(self):
            return [replace(device, source="measured") for device in super().devices()]

    with breaks("gpu0 says it is measured, and it is simulated"):
        check_probe(lambda: Pretends(""), source="simulated")


# --- engines


class Counting(Checked):
    """An engine whose work is to count."""

    def __init__(self) -> None:
        self.count = 0

    def supports(self, workload: Workload, device: Device) -> Support:
        return Support(yes=workload.model == "count", reason=f"it is {workload.model} on a {device.device_kind}")

    def load(self, workload: Workload, setting: Setting):
        return self

    def run(self) -> None:
        self.count += 1

    def close(self) -> None:
        """Do nothing."""


class AgreesSilently(Counting):
    def supports(self, workload, device):
        return replace(super().supports(workload, device), reason=" ")


class AgreesToAll(Counting):
    def supports(self, workload, device):
        return Support(yes=True, reason="why not")


class RefusesAll(Counting):
    def supports(self, workload, device):
        return Support(yes=False, reason="not today")


class AnswersWithBool(Counting):
    def supports(self, workload, device):
        return workload.model == "count"


class WorksLater(Counting):
    """Returns before its work is done, as an engine does that does not synchronise its device."""

    def run(self):
        threading.Timer(0.2, super().run).start()


class UnloadsOnce(Counting):
    loaded = True

    def close(self):
        if not self.loaded:
            raise RuntimeError("double free")
        self.loaded = False


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (AgreesSilently, "came without a reason"),
        (AgreesToAll, "refuses what cannot be run"),
        (RefusesAll, "agrees to what can be run"),
        (AnswersWithBool, "returns a Support"),
        (WorksLater, "returns when its work is finished: after 1 calls, 0 were"),
        (UnloadsOnce, "a second close.. does nothing"),
    ],
)
def test_a_broken_engine_is_caught(broken, promise):
    good, bad = (Workload(model=name, mode=Mode.INFERENCE) for name in ("count", "fly"))
    facts = {"runs": (good, fake_device(), Setting(engine="count")), "refuses": (bad, fake_device())}
    engine, other = Counting(), broken()
    check_engine(lambda: engine, calls=lambda: engine.count, **facts)
    with breaks(promise):
        check_engine(lambda: other, calls=lambda: other.count, **facts)


# --- stores


class MemoryStore(Checked):
    """A store that keeps its promises in 25 lines."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def list(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        for key in sorted(self.objects):
            if key.startswith(prefix):
                yield key, len(self.objects[key])

    def read(self, key: str, start: int = 0, end: int | None = None) -> bytes:
        data = self.objects.get(self.checked(key))
        if data is None or not 0 <= start <= len(data) or not start <= (len(data) if end is None else end) <= len(data):
            raise StorageError(f"{key} cannot be read", why="no such object or no such bytes", fix="list them")
        return data[start:end]

    def put(self, key: str, data: bytes | Iterable[bytes]) -> None:
        self.objects[self.checked(key)] = data if isinstance(data, bytes) else b"".join(data)

    def checked(self, key: str) -> str:
        if "\0" in key or {"", ".", ".."} & set(key.split("/")):
            raise StorageError(f"{key!r} is no key", why="it leads elsewhere", fix="choose another")
        return key


class ListsUnsorted(MemoryStore):
    def list(self, prefix=""):
        return iter(sorted(super().list(prefix), key=lambda item: item[0].split("/")))  # folder by folder


class ListsWrongSizes(MemoryStore):
    def list(self, prefix=""):
        return ((key, 0) for key, _ in super().list(prefix))


class ListsFolders(MemoryStore):
    def list(self, prefix=""):
        return iter(sorted({("a/", 0), *super().list(prefix)} if self.objects else []))


class ListsByFolder(MemoryStore):
    def list(self, prefix=""):
        return super().list(f"{prefix.rstrip('/')}/" if prefix else "")


class ReadsToTheEnd(MemoryStore):
    def read(self, key, start=0, end=None):
        return super().read(key, start, None)


class ReadsShort(MemoryStore):
    def read(self, key, start=0, end=None):
        data = self.objects.get(self.checked(key))
        if data is None:
            return super().read(key)
        return data[start:end]


class ReadsNothingForAbsent(MemoryStore):
    def read(self, key, start=0, end=None):
        return super().read(key, start, end) if self.checked(key) in self.objects else b""


class PutsPieceByPiece(MemoryStore):
    """Not atomic: what was written before an error stays."""

    def put(self, key, data):
        self.objects[self.checked(key)] = b""
        for piece in [data] if isinstance(data, bytes) else data:
            self.objects[key] += piece


class PutsIntoAVisibleTemporary(MemoryStore):
    def put(self, key, data):
        self.objects[f"{self.checked(key)}.tmp"] = b""
        super().put(key, data)
        del self.objects[f"{key}.tmp"]


class PutsOnce(MemoryStore):
    def put(self, key, data):
        data = data if isinstance(data, bytes) else b"".join(data)
        self.objects.setdefault(self.checked(key), data)


class SwallowsErrors(MemoryStore):
    def put(self, key, data):
        try:
            super().put(key, data)
        except ConnectionAbortedError:
            return


class TakesAnyKey(MemoryStore):
    def checked(self, key):
        return key


class CrashesOnBadKeys(MemoryStore):
    def checked(self, key):
        try:
            return super().checked(key)
        except StorageError as error:
            raise ValueError(key) from error


class OneWriterAtATime(MemoryStore):
    busy = False

    def put(self, key, data):
        if self.busy:
            raise StorageError("locked", why="somebody writes", fix="wait")
        self.busy = True
        try:
            self.barrier.wait()
            super().put(key, data)
        finally:
            self.busy = False

    class barrier:  # noqa: N801 - stands for an object with wait()
        @staticmethod
        def wait() -> None:
            threading.Event().wait(0.02)


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (ListsUnsorted, "list.. is in order of key"),
        (ListsWrongSizes, "list.. gives the sizes"),
        (ListsFolders, "names every object once and nothing else"),
        (ListsByFolder, "a prefix is the beginning of a key"),
        (ReadsToTheEnd, r"read\(start=0, end=10\) of 100 does not"),
        (ReadsShort, "never gives fewer bytes than asked for"),
        (ReadsNothingForAbsent, "is not there is an error, and never empty bytes"),
        (PutsPieceByPiece, "a torn one damaged the old object|whole or not at all"),
        (PutsIntoAVisibleTemporary, "after a torn one of 'range' there are"),
        (PutsOnce, "put.. replaces an object whole"),
        (SwallowsErrors, "lets through what the data's own iterator raises"),
        (TakesAnyKey, "a key stays below the store"),
        (CrashesOnBadKeys, "it raised ValueError: .*, which is no BrimfulError"),
        (OneWriterAtATime, "several may put.. at once"),
    ],
)
def test_a_broken_store_is_caught(broken, promise):
    check_store(MemoryStore)
    with breaks(promise):
        check_store(broken)


def test_a_store_that_mixes_writers_is_caught():
    class Mixes(MemoryStore):
        def put(self, key, data):
            if isinstance(data, bytes) and len(data) == 100_000:
                data = data[:50_000] + self.objects.get(key, b"").ljust(50_000, b"?")[:50_000]
            super().put(key, data)

    with breaks("one wins, whole"):
        check_store(Mixes)


def test_a_store_that_is_not_empty_is_no_store_for_the_kit():
    store = MemoryStore()
    store.put("a", b"")
    with breaks("the kit needs an empty store"):
        check_store(lambda: store)


# --- clouds


class Rack(Checked):
    """A cloud of two machines that can be stopped and started."""

    def __init__(self) -> None:
        self.states = {"one": "running", "two": "running"}

    def machines(self):
        return [self.look(name) for name in self.states]

    def look(self, machine: str) -> Machine:
        if machine not in self.states:
            raise CloudError(f"no {machine}", why="it is not in the rack", fix="look at the rack")
        return with_gaps(
            Machine, "nobody wrote it down", machine=machine, cloud="rack", instance="2U",
            state=self.states[machine], actions={"stop": "start", "start": "stop"},
        )  # fmt: skip

    def do(self, action: Action, *, dry_run: bool) -> Act:
        inverse = self.look(action.target).actions.get(action.action)
        if inverse is None:
            raise CloudError(f"no {action.action}", why="nobody can", fix="stop or start")
        if not dry_run:
            self.states[action.target] = "stopped" if action.action == "stop" else "running"
        return Act(
            action=action.action, target=action.target, dry_run=dry_run, outcome="pressed the button",
            inverse=inverse, evidence=action.evidence,
        )  # fmt: skip


class DryRunActs(Rack):
    def do(self, action, *, dry_run):
        return replace(super().do(action, dry_run=False), dry_run=dry_run)


class HidesThatItWasDry(Rack):
    def do(self, action, *, dry_run):
        return replace(super().do(action, dry_run=dry_run), dry_run=False)


class DoesToAnother(Rack):
    def do(self, action, *, dry_run):
        return replace(super().do(action, dry_run=dry_run), target="two")


class ForgetsTheEvidence(Rack):
    def do(self, action, *, dry_run):
        return replace(super().do(action, dry_run=dry_run), evidence=())


class SaysNothing(Rack):
    def do(self, action, *, dry_run):
        return replace(super().do(action, dry_run=dry_run), outcome=" ")


class UndoesDifferently(Rack):
    def do(self, action, *, dry_run):
        return replace(super().do(action, dry_run=dry_run), inverse="terminate")


class DoesAnything(Rack):
    def do(self, action, *, dry_run):
        if action.target in self.states and action.action not in ("stop", "start"):
            return super().do(replace(action, action="stop"), dry_run=dry_run)
        return super().do(action, dry_run=dry_run)


class ReturnsText(Rack):
    def do(self, action, *, dry_run):
        return super().do(action, dry_run=dry_run).outcome


class FindsAnybody(Rack):
    def look(self, machine):
        return replace(super().look("one"), machine=machine) if machine not in self.states else super().look(machine)


class CrashesOnStrangers(Rack):
    def look(self, machine):
        self.states[machine]
        return super().look(machine)


class LooksElsewhere(Rack):
    def machines(self):
        return [Rack.look(self, name) for name in self.states]

    def look(self, machine):
        super().look(machine)
        return super().look("two")


class NamesAllAlike(Rack):
    def machines(self):
        return [replace(machine, machine="one") for machine in super().machines()]


class IsEmpty(Rack):
    def machines(self):
        return []


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (DryRunActs, "a dry run does nothing"),
        (HidesThatItWasDry, "an act says whether it was a dry run"),
        (DoesToAnother, "an act says what was done to which machine"),
        (ForgetsTheEvidence, "an act carries the evidence"),
        (SaysNothing, "an act says what came of it"),
        (UndoesDifferently, "name one inverse: 'terminate', 'start'"),
        (DoesAnything, "refuses an action that the machine does not allow"),
        (ReturnsText, "returns an Act, not str"),
        (FindsAnybody, "look.. at a machine that is not there is an error"),
        (CrashesOnStrangers, "KeyError.*, which is no BrimfulError"),
        (LooksElsewhere, "look.. returns the machine that was asked for"),
        (NamesAllAlike, "each machine has an id of its own"),
        (IsEmpty, "the kit needs a machine"),
    ],
)
def test_a_broken_cloud_is_caught(broken, promise):
    rack = Rack()
    stop = with_gaps(Action, "no price", action="stop", target="one", why="a test", evidence=("run/1",))
    check_cloud(lambda: rack, world=lambda: dict(rack.states), act=stop)
    assert rack.states == {"one": "stopped", "two": "running"}
    with breaks(promise):
        check_cloud(broken, act=stop)


def test_a_dry_run_that_only_the_world_notices_is_caught():
    log: list[str] = []

    class Whispers(Rack):
        def do(self, action, *, dry_run):
            log.append(action.action)
            return super().do(action, dry_run=dry_run)

    with breaks("a dry run does nothing"):
        check_cloud(Whispers, world=lambda: len(log))


# --- readers

MAGIC, BODY = b"MODEL1\n", bytes(100_000)


class TinyReader(Checked):
    """Reads `MODEL1`, a line with the number of weights, and the weights never."""

    def reads(self, path: str) -> bool:
        try:
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123
                return file.read(len(MAGIC)) == MAGIC
        except OSError:
            return False

    def count(self, path: str) -> int:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            text = file.read(30).removeprefix(MAGIC).partition(b"\n")[0]
        if not text.isdigit():
            raise DataError(f"{path} cannot be read", why="its number is none", fix="save it anew")
        return int(text)

    def profile(self, path: str, dims: Mapping[str, int] | None = None) -> Profile:
        assert not dims
        try:
            count = self.count(path)
        except OSError as error:
            raise DataError(f"{path} cannot be read", why=str(error), fix="check the path") from error
        return with_gaps(Profile, "the file does not say", model="tiny", source=path, parameters=count)


class ReadsItAll(TinyReader):
    def profile(self, path, dims=None):
        if Path(path).exists():
            Path(path).read_bytes()
        return super().profile(path)


class ClaimsAll(TinyReader):
    def reads(self, path):
        return Path(path).exists()


class DeniesAll(TinyReader):
    def reads(self, path):
        return False


class ClaimsTheAbsent(TinyReader):
    def reads(self, path):
        return super().reads(path) or not Path(path).exists()


class ZeroForUnknown(TinyReader):
    def profile(self, path, dims=None):
        known = {"parameters": super().profile(path).parameters, "pass_flops": 0.0}
        return with_gaps(Profile, "the file does not say", model="tiny", source=path, **known)


class ForgetsItsName(TinyReader):
    def profile(self, path, dims=None):
        return replace(super().profile(path), model="")


class ReturnsCount(TinyReader):
    def profile(self, path, dims=None):
        return super().profile(path).parameters


class NeverTheSame(TinyReader):
    calls = itertools.count()

    def profile(self, path, dims=None):
        return replace(super().profile(path), source=f"look {next(self.calls)}")


class CrashesOnTheAbsent(TinyReader):
    def profile(self, path, dims=None):
        return with_gaps(Profile, "the file does not say", model="tiny", source=path, parameters=self.count(path))


class CrashesOnDamage(TinyReader):
    def count(self, path):
        try:
            return super().count(path)
        except DataError as error:
            raise IndexError("string index out of range") from error


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (ReadsItAll, "reads no more than it needs: 1000.. bytes, not 1000"),
        (ClaimsAll, "denies what it cannot read"),
        (DeniesAll, "knows its own files"),
        (ClaimsTheAbsent, "denies a file that is not there"),
        (ZeroForUnknown, "None with a reason: pass_flops is 0"),
        (ForgetsItsName, "a profile says of which model it is"),
        (ReturnsCount, "returns a Profile, not int"),
        (NeverTheSame, "of a file that did not change does not change"),
        (CrashesOnTheAbsent, "not there is an error for people; it raised FileNotFoundError"),
        (CrashesOnDamage, "a damaged file is an error for people: .* raised IndexError"),
    ],
)
def test_a_broken_reader_is_caught(broken, promise, tmp_path):
    if broken is ReadsItAll and not Path("/proc/self/io").exists():
        pytest.skip("this system does not count what a process reads")
    (tmp_path / "knows").write_bytes(MAGIC + b"7\n" + BODY)
    (tmp_path / "foreign").write_bytes(b"PK")
    facts = {"knows": str(tmp_path / "knows"), "foreign": str(tmp_path / "foreign"), "reads_at_most": 1000}
    check_reader(TinyReader, **facts)
    with breaks(promise):
        check_reader(broken, **facts)


# --- histories


class Remembers(Checked):
    """Two devices with a value every ten seconds, and a gap."""

    def __init__(self) -> None:
        self.values = {("gpu0", "power_watts", t): float(t) for t in (0, 10, 20, 50)}
        self.values |= {("gpu1", "power_watts", t): 7.0 for t in (0, 50)}

    def devices(self, window: Window):
        return sorted({name for name, _, t in self.values if window.start_s <= t < window.end_s})

    def series(self, device: str, metric: str, window: Window) -> Series:
        known = sorted(
            (float(t), value)
            for (name, what, t), value in self.values.items()
            if (name, what) == (device, metric) and window.start_s <= t < window.end_s
        )
        return series(device, metric, known)


def series(device: str, metric: str, known: list[tuple[float, float]], **more: str) -> Series:
    times, values = (tuple(column) for column in zip(*known, strict=True)) if known else ((), ())
    return Series(device=device, metric=metric, times_s=times, values=values, **more)


def known(found: Series) -> list[tuple[float, float]]:
    return list(zip(found.times_s, found.values, strict=True))


class FillsWithZeros(Remembers):
    def series(self, device, metric, window):
        found = dict(known(super().series(device, metric, window)))
        times = [t for t in range(0, 60, 10) if window.start_s <= t < window.end_s]
        return series(device, metric, [(float(t), found.get(t, 0.0)) for t in times] if device == "gpu0" else [])


class CarriesForward(Remembers):
    """Repeats the last value where there is none, at the start of the window."""

    def series(self, device, metric, window):
        found = known(super().series(device, metric, window))
        before = known(super().series(device, metric, Window(start_s=0, end_s=window.start_s)))
        return series(device, metric, found or [(window.start_s, value) for _, value in before[-1:]])


class EndsIncluded(Remembers):
    def series(self, device, metric, window):
        return super().series(device, metric, replace(window, end_s=window.end_s + 1e-6))


class StartsExcluded(Remembers):
    def series(self, device, metric, window):
        return super().series(device, metric, Window(start_s=window.start_s + 1e-6, end_s=window.end_s + 1e-6))


class RoundsValues(Remembers):
    def series(self, device, metric, window):
        return series(
            device, metric, [(t, round(value, -2)) for t, value in known(super().series(device, metric, window))]
        )


class AveragesOut(Remembers):
    def series(self, device, metric, window):
        return series(device, metric, known(super().series(device, metric, window))[::2])


class NamesAll(Remembers):
    def devices(self, window):
        return ["gpu0", "gpu1"]


class NamesUnsorted(Remembers):
    def devices(self, window):
        return super().devices(window)[::-1]


class NamesNone(Remembers):
    def devices(self, window):
        return []


class MixesDevices(Remembers):
    def series(self, device, metric, window):
        return super().series(device if device == "gpu0" else "gpu0", metric, window)


class MixesMetrics(Remembers):
    def series(self, device, metric, window):
        found = super().series(device, "power_watts", window)
        return replace(found, metric=metric)


class ForgetsItsSource(Remembers):
    def series(self, device, metric, window):
        return replace(super().series(device, metric, window), source="somewhere")


class ReturnsPairs(Remembers):
    def series(self, device, metric, window):
        return known(super().series(device, metric, window))


class MislabelsItself(Remembers):
    def series(self, device, metric, window):
        return replace(super().series(device, metric, window), metric="utilization_percent")


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (FillsWithZeros, r"is never filled in: \[\(30.0, 0.0\), \(40.0, 0.0\)\]"),
        (CarriesForward, "is never filled in: .* in the gap|an empty window holds nothing"),
        (EndsIncluded, "a window is from start up to but without end"),
        (StartsExcluded, "the known values as they are|a window is from start"),
        (RoundsValues, "the known values as they are"),
        (AveragesOut, "the known values as they are"),
        (NamesAll, "has none in the gap"),
        (NamesUnsorted, "each device once, in order"),
        (NamesNone, "gpu0 is missing"),
        (MixesDevices, "of what is not there is empty"),
        (MixesMetrics, "of what is not there is empty"),
        (ForgetsItsSource, "a series says where it comes from"),
        (ReturnsPairs, "returns a Series, not list"),
        (MislabelsItself, "of which device and metric it is"),
    ],
)
def test_a_broken_history_is_caught(broken, promise):
    facts = {
        "device": "gpu0",
        "metric": "power_watts",
        "window": Window(start_s=0, end_s=100),
        "expected": [(0.0, 0.0), (10.0, 10.0), (20.0, 20.0), (50.0, 50.0)],
        "gap": Window(start_s=21, end_s=50),
    }
    check_history(Remembers, **facts)
    with breaks(promise):
        check_history(broken, **facts)
