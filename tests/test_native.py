"""The native module and its fallback: the same answers, order, bounds and errors, whoever does the work."""

from __future__ import annotations

import array
import errno
import fcntl
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful import native
from brimful.model.errors import ConfigError, DataError
from brimful.native import FileRead, crc32c, read_files

WAYS = native.crc32c_paths()
READERS = ("native", "python") if len(WAYS) > 1 else ("python",)
every_way = pytest.mark.usefixtures("way")
both_readers = pytest.mark.usefixtures("reader")
needs_native = pytest.mark.skipif(len(WAYS) == 1, reason="the native module is not built in this environment")

# RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
VECTORS = {
    b"": 0x00000000,
    b"123456789": 0xE3069283,
    bytes(32): 0x8A9136AA,
    b"\xff" * 32: 0x62A8AB43,
    bytes(range(32)): 0x46DD794E,
    bytes(range(31, -1, -1)): 0x113FDB5C,
    bytes.fromhex(
        "01c00000000000000000000000000000140000000000040000000014000000182800000000000000"
        "0200000000000000"
    ): 0xD9963A56,
}  # fmt: skip


def use(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.ISA_VARIABLE, "" if way == "native" else way)
    native._ways.cache_clear()


@pytest.fixture(autouse=True)
def _fresh():
    native._ways.cache_clear()
    yield
    native._ways.cache_clear()


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    use(request.param, monkeypatch)
    return request.param


@pytest.fixture(params=READERS)
def reader(request, monkeypatch):
    use(request.param, monkeypatch)
    return request.param


@pytest.fixture
def files(tmp_path) -> list[Path]:
    """Many files of sizes that change from one to the next, from nothing up to a few pages."""
    source = random.Random(5)
    made = [tmp_path / f"{number:04}" for number in range(300)]
    for path in made:
        path.write_bytes(source.randbytes(source.choice((0, 1, 5000, source.randrange(20000)))))
    return made


def bitwise(data: bytes, value: int) -> int:
    """The definition, bit by bit."""
    crc = value ^ 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def threads_now() -> int:
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def files_open_now() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def wait_for_threads(count: int) -> None:
    """A thread that was joined may still stand in /proc for a moment."""
    for _ in range(200):
        if threads_now() <= count:
            return
        time.sleep(0.01)
    assert threads_now() <= count


# --- checksums -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", VECTORS, ids=lambda data: data[:9].hex())
def test_known_checksums(way, data):
    assert native.crc32c_path() == way
    assert crc32c(data) == VECTORS[data]


@every_way
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 255, 767, 768, 769, 1536, 6143, 6144, 6145, 6911, 20000])
def test_checksums_around_the_sizes_of_blocks_are_right(size):
    data = random.Random(size).randbytes(size + 3)
    assert crc32c(memoryview(data)[3:], 77) == bitwise(data[3:], 77)


@given(data=st.binary(max_size=3000), start=st.integers(0, 9), value=st.integers(0, 2**32 - 1))
def test_every_way_gives_the_same_checksum(data, start, value):
    expected = bitwise(data[start:], value)
    with pytest.MonkeyPatch.context() as patch:
        for name in WAYS:
            use(name, patch)
            assert crc32c(memoryview(data)[start:], value) == expected, name


@given(first=st.binary(max_size=5000), second=st.binary(max_size=5000))
def test_a_checksum_continues_from_the_checksum_of_what_came_before(first, second):
    with pytest.MonkeyPatch.context() as patch:
        for name in WAYS:
            use(name, patch)
            assert crc32c(second, crc32c(first)) == crc32c(first + second), name


@every_way
def test_a_checksum_is_taken_of_anything_with_contiguous_bytes():
    data = bytes(range(240))
    expected = crc32c(data)
    shaped = memoryview(data).cast("B", (12, 20))
    for same in (bytearray(data), memoryview(data), array.array("I", data), memoryview(data).cast("d"), shaped):
        assert crc32c(same) == expected
    assert crc32c(array.array("I")) == 0


@every_way
def test_large_data_is_right_too():
    data = random.Random(1).randbytes(300_000)
    assert crc32c(data) == crc32c(data[200_001:], crc32c(data[:200_001])) == native._pure_crc32c(data, 0)


@every_way
def test_a_checksum_is_refused_for_what_has_no_contiguous_bytes():
    with pytest.raises(BufferError):
        crc32c(memoryview(b"abcdef")[::2])
    with pytest.raises(TypeError):
        crc32c("text")


@every_way
def test_a_value_is_taken_modulo_two_to_the_32():
    assert crc32c(b"x", 2**32 + 5) == crc32c(b"x", 5)
    assert crc32c(b"x", -1) == crc32c(b"x", 2**32 - 1)


# --- which way -------------------------------------------------------------------------------------------------------


def test_a_way_that_this_cpu_lacks_is_refused_with_the_way_out(monkeypatch):
    use("sse9000", monkeypatch)
    with pytest.raises(ConfigError) as caught:
        crc32c(b"")
    assert "BRIMFUL_NATIVE_ISA=sse9000" in caught.value.what
    assert "unset BRIMFUL_NATIVE_ISA" in caught.value.fix
    assert not native.state().available


@needs_native
def test_the_native_module_is_used_where_it_is_built():
    assert native.state() == (True, f"checksums by {WAYS[0]}")
    assert native.notice() is None
    assert "portable" in WAYS


def test_the_native_module_can_be_left_aside(monkeypatch):
    use("python", monkeypatch)
    assert native.state() == (False, "the native module is left aside by BRIMFUL_NATIVE_ISA=python")
    assert native.notice() is None  # it was asked for


def test_without_the_native_module_one_line_says_so_and_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "brimful._native", None)
    assert native.state() == (
        False,
        "the native module is not built (installed without a C++ compiler, or with BRIMFUL_PURE=1)",
    )
    line = native.notice()
    assert line is not None
    assert "\n" not in line
    assert "pip install" in line
    assert crc32c(b"123456789") == 0xE3069283
    assert native.crc32c_paths() == ("python",)


def test_a_native_way_cannot_be_forced_where_the_module_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "brimful._native", None)
    use("portable", monkeypatch)
    with pytest.raises(ConfigError, match="not built"):
        crc32c(b"")


def test_a_native_module_that_does_not_load_is_a_reason_and_not_a_crash(monkeypatch):
    class Broken:
        def __getattr__(self, name):
            raise ImportError("undefined symbol: _ZN")

    monkeypatch.setitem(sys.modules, "brimful._native", Broken())
    assert native.state() == (False, "the native module does not load (undefined symbol: _ZN)")


def test_importing_the_door_loads_nothing_heavy():
    code = "import sys, brimful.native; print(*{'numpy', 'msgspec', 'brimful._native', 'asyncio'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# --- reading: what comes out -----------------------------------------------------------------------------------------


@both_readers
@pytest.mark.parametrize("threads", range(1, 9))
def test_files_come_in_the_order_of_the_list(files, threads):
    files = files * 2  # more than the native reader's ring has places
    reads = list(read_files(files, threads=threads))
    assert [read.number for read in reads] == list(range(len(files)))
    assert [read.path for read in reads] == [os.fsencode(path) for path in files]
    assert [read.data for read in reads] == [path.read_bytes() for path in files]
    assert all(read.crc32c == crc32c(read.data) for read in reads)
    assert not any(read.changed or read.errno for read in reads)


@needs_native
def test_the_native_reader_and_the_pure_one_give_the_same(files, monkeypatch):
    paths = [*files, "/nowhere", files[0].parent, b"a\0b", files[0]]
    use("native", monkeypatch)
    native_reads = list(read_files(paths, threads=3, max_bytes_ahead=30_000))
    use("python", monkeypatch)
    assert list(read_files(paths, threads=3, max_bytes_ahead=30_000)) == native_reads
    assert all(type(read) is FileRead for read in native_reads)


@settings(max_examples=25)
@given(
    sizes=st.lists(st.integers(0, 3000), max_size=40),
    threads=st.integers(1, 8),
    budget=st.sampled_from([1, 100, 5000, 2**20]),
    leave_at=st.integers(0, 40),
)
def test_no_list_and_no_bound_makes_a_difference_to_what_is_read(tmp_path_factory, sizes, threads, budget, leave_at):
    folder = tmp_path_factory.mktemp("files")
    contents = [random.Random(size).randbytes(size) for size in sizes]
    paths = [folder / str(number) for number in range(len(sizes))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        for name in READERS:
            use(name, patch)
            reads = read_files(paths, threads=threads, max_bytes_ahead=budget)
            assert [read.data for read, _ in zip(reads, range(leave_at), strict=False)] == contents[:leave_at]
            reads.close()


@both_readers
def test_an_empty_list_gives_nothing():
    assert list(read_files([])) == []


@both_readers
def test_a_file_larger_than_the_bound_is_read_all_the_same(tmp_path):
    large, small = tmp_path / "large", tmp_path / "small"
    large.write_bytes(random.Random(2).randbytes(3_000_000))
    small.write_bytes(b"small")
    reads = list(read_files([small, large, small, large], threads=2, max_bytes_ahead=100_000))
    assert [len(read.unwrap()) for read in reads] == [5, 3_000_000, 5, 3_000_000]
    assert {read.crc32c for read in reads[1::2]} == {crc32c(large.read_bytes())}


@both_readers
def test_a_checksum_that_is_not_wanted_is_not_computed(files):
    assert {read.crc32c for read in read_files(files[:5], checksum=False)} == {None}


@both_readers
def test_names_that_are_no_unicode_can_be_read(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff\xfe caf\xe9"
    Path(os.fsdecode(path)).write_bytes(b"content")
    reads = list(read_files([path, os.fsdecode(path), path + b"-missing"]))
    assert [read.data for read in reads] == [b"content", b"content", None]
    with pytest.raises(DataError) as caught:
        reads[2].unwrap()
    assert r"\xff\xfe caf\xe9-missing" in str(caught.value)


@both_readers
def test_a_file_that_is_longer_than_it_said_is_marked_and_cut():
    (read,) = read_files(["/proc/version"])  # says 0 bytes, and has some
    assert (read.data, read.changed, read.errno) == (b"", True, None)


@both_readers
def test_a_file_that_is_shorter_than_it_said_is_marked():
    path = Path("/sys/devices/system/cpu/online")  # says a page, and has a few bytes
    if not path.exists():
        pytest.skip("this kernel shows no /sys")
    (read,) = read_files([path])
    assert (read.data, read.changed) == (path.read_bytes(), True)
    (large,) = read_files([path], max_bytes_ahead=100)
    assert (large.data, large.crc32c, large.changed) == (path.read_bytes(), crc32c(path.read_bytes()), True)


@both_readers
def test_files_that_change_all_the_time_harm_nobody(tmp_path):
    path = tmp_path / "restless"
    path.write_bytes(bytes(range(250)) * 80)
    done = threading.Event()

    def change():
        size = 0
        while not done.is_set():
            size = (size + 7919) % 20_000
            os.truncate(path, size)

    restless = threading.Thread(target=change)
    restless.start()
    try:
        for read in read_files([path] * 2000, threads=4, max_bytes_ahead=100_000):
            assert read.errno is None
            assert read.crc32c == crc32c(read.data)
    finally:
        done.set()
        restless.join()


@both_readers
def test_a_file_that_another_holds_a_lease_on_is_waited_for_and_signals_are_heard_meanwhile(tmp_path):
    path = tmp_path / "leased"
    path.write_bytes(b"content")
    heard = []
    with path.open("rb+") as holder:

        def give_up(number, _):
            heard.append(number)
            fcntl.fcntl(holder, fcntl.F_SETLEASE, fcntl.F_UNLCK)

        before = signal.signal(signal.SIGIO, give_up)  # how the kernel asks the holder
        try:
            try:
                fcntl.fcntl(holder, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            except OSError:
                pytest.skip("this file system has no leases")
            (read,) = read_files([path])  # the handler runs in this thread, while it waits
        finally:
            signal.signal(signal.SIGIO, before)
    assert (read.data, heard) == (b"content", [signal.SIGIO])


# --- reading: what goes wrong ----------------------------------------------------------------------------------------


@both_readers
def test_what_cannot_be_read_is_a_value_with_its_errno(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    (tmp_path / "fine").write_bytes(b"fine")
    expected = {
        tmp_path / "missing": errno.ENOENT,
        tmp_path: errno.EISDIR,
        tmp_path / "fifo": errno.EOPNOTSUPP,
        tmp_path / "loop": errno.ELOOP,
        tmp_path / "dangling": errno.ENOENT,
        tmp_path / "fine" / "below": errno.ENOTDIR,
        tmp_path / ("n" * 300): errno.ENAMETOOLONG,
        Path("/dev/zero"): errno.EOPNOTSUPP,
        tmp_path / "fine": None,
        b"nul\0nul": errno.EINVAL,
        b"": errno.ENOENT,
    }
    reads = list(read_files(expected, threads=2))
    assert [read.errno for read in reads] == list(expected.values())
    assert all((read.data is None) == (read.crc32c is None) == (read.errno is not None) for read in reads)


@both_readers
def test_a_file_that_may_not_be_read_is_a_value_too():
    with tempfile.TemporaryDirectory() as folder:  # not tmp_path, which nobody but its owner may enter
        path = Path(folder) / "secret"
        path.write_bytes(b"secret")
        path.chmod(0)
        Path(folder).chmod(0o755)
        user = os.geteuid()
        try:
            if user == 0:  # may read everything
                os.seteuid(65534)
            (read,) = read_files([path])
        finally:
            os.seteuid(user)
    assert read.errno == errno.EACCES


@both_readers
def test_whoever_asks_for_the_error_gets_it_with_its_errno_and_path(tmp_path):
    (read,) = read_files([tmp_path / "missing"])
    with pytest.raises(DataError) as caught:
        read.unwrap()
    assert caught.value.why == "No such file or directory (ENOENT)"
    cause = caught.value.__cause__
    assert isinstance(cause, FileNotFoundError)
    assert (cause.errno, cause.filename) == (errno.ENOENT, str(tmp_path / "missing"))


@both_readers
@pytest.mark.parametrize("bound", [2**20, 2**34])
def test_a_file_that_no_memory_can_hold_is_a_value_too(tmp_path, bound):
    path = tmp_path / "huge"
    path.touch()
    os.truncate(path, 2**32)
    code = (
        "import resource, sys; from brimful.native import read_files\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))\n"
        "(read,) = read_files(sys.argv[1:2], threads=1, max_bytes_ahead=int(sys.argv[2])); print(read.errno)"
    )
    done = subprocess.run([sys.executable, "-c", code, path, str(bound)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(errno.ENOMEM)


def test_nonsense_is_refused_at_once():
    for kwargs in ({"threads": 0}, {"threads": 5000}, {"max_bytes_ahead": 0}):
        with pytest.raises(ValueError, match="it must"):
            read_files([], **kwargs)
    with pytest.raises(TypeError, match="one path"):
        read_files("/etc/hostname")
    with pytest.raises(TypeError):
        read_files([3])


# --- reading: memory and threads -------------------------------------------------------------------------------------


@both_readers
def test_no_more_is_read_ahead_than_the_bound_allows(tmp_path):
    paths = [tmp_path / str(number) for number in range(60)]
    for path in paths:
        path.write_bytes(b"old" + bytes(99_997))
    reads = read_files(paths, threads=8, max_bytes_ahead=1_000_000)
    next(reads)
    time.sleep(0.3)  # as long as the consumer stays away, the threads may fill the bound and no more
    for path in paths:
        path.write_bytes(b"new" + bytes(99_997))
    old = 1 + sum(read.data.startswith(b"old") for read in reads)
    assert 2 <= old <= 1_000_000 / 100_000 + 1


@both_readers
def test_many_small_files_are_bounded_too(tmp_path):
    paths = [tmp_path / str(number) for number in range(3000)]
    for path in paths:
        path.touch()
    reads = read_files(paths, threads=2)
    next(reads)
    time.sleep(0.3)
    for path in paths:
        path.write_bytes(b"new")
    assert sum(read.data == b"" for read in reads) < 1000


@both_readers
def test_an_iterator_that_is_dropped_leaves_no_threads_and_no_open_files(files):
    before, open_before = threads_now(), files_open_now()
    for leave_at in (1, 2, 50, 299):
        for read in read_files(files, threads=8, max_bytes_ahead=20_000):
            if read.number == leave_at:
                break
        del read
        wait_for_threads(before)
    assert files_open_now() == open_before


@both_readers
def test_every_file_is_closed(files):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files_open_now() + 20, hard))
    try:
        # All by the threads; all by the consumer, since every file but the empty ones is larger than the bound.
        for bound in (10**6, 1):
            paths = [*files, "/tmp"] * 2
            assert {read.errno for read in read_files(paths, threads=2, max_bytes_ahead=bound)} == {None, errno.EISDIR}
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@both_readers
def test_an_exhausted_iterator_leaves_no_threads(files):
    before = threads_now()
    reads = read_files([*files, "/nowhere"], threads=4)
    for _ in reads:
        pass
    wait_for_threads(before)
    assert next(reads, None) is None


@both_readers
def test_an_iterator_that_nobody_starts_starts_no_threads(files):
    before = threads_now()
    reads = read_files(files, threads=4)
    assert threads_now() == before
    reads.close()


@both_readers
def test_an_exception_of_the_consumer_ends_the_threads(files):
    before = threads_now()
    with pytest.raises(ZeroDivisionError):
        sum(1 // (read.number - 100) for read in read_files(files, threads=4))
    wait_for_threads(before)


@both_readers
def test_more_threads_than_files_are_no_trouble(files):
    assert len(list(read_files(files[:3], threads=64))) == 3


@both_readers
def test_several_iterators_live_side_by_side(files):
    first, second = read_files(files, threads=2), read_files(files[::-1], threads=2)
    assert [(one.path, two.path) for one, two in zip(first, second, strict=True)] == [
        (os.fsencode(one), os.fsencode(two)) for one, two in zip(files, files[::-1], strict=True)
    ]


@both_readers
@pytest.mark.parametrize("ending", ["", "sys.exit(0)", "threading.Thread(target=lambda: next(reads)).start()"])
def test_an_iterator_alive_at_exit_does_not_keep_the_program_from_ending(files, ending):
    code = (
        "import sys, threading; from brimful.native import read_files\n"
        "reads = read_files(sys.argv[1:], threads=4, max_bytes_ahead=10_000); next(reads)\n" + ending
    )
    command = [sys.executable, "-c", code, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@both_readers
def test_a_child_of_fork_cannot_read_on_and_says_so(files):
    reads = read_files(files * 5, threads=4, max_bytes_ahead=100_000)
    next(reads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of fork() beside threads, rightly
        child = os.fork()
    if child == 0:
        try:
            for _ in reads:
                pass
        except RuntimeError as error:
            reads.close()
            os._exit(7 if "fork" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert sum(1 for _ in reads) == len(files) * 5 - 1


@needs_native
def test_the_raw_reader_refuses_what_would_harm_it():
    module = pytest.importorskip("brimful._native")
    with pytest.raises(TypeError):
        module.FileReader(["text"], 1, 1, checksum=True, record=FileRead)
    with pytest.raises(TypeError):
        module.FileReader([b"path"], 1, 1, checksum=True, record=int)
    with pytest.raises(ValueError, match="no such path"):
        module.use_crc32c_path("none")
    raw = module.FileReader([b"/nowhere"], 1, 1, checksum=False, record=FileRead)
    assert raw.next_batch() == [FileRead(0, b"/nowhere", None, None, errno.ENOENT, changed=False)]
    assert raw.next_batch() == raw.next_batch() == []
    raw.close()
    raw.close()
    assert raw.next_batch() == []
