from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimful.model.errors import BrimfulError, StorageError, UsageError
from brimful.model.text import readable_path
from brimful.stores.local import LocalStore
from brimful.testing import check_store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def store(root: Path) -> LocalStore:
    return LocalStore(str(root))


def everything(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_the_local_store_keeps_the_promises_of_a_store(store, tmp_path):
    check_store(lambda: store)
    (tmp_path / "other").mkdir()
    check_store(lambda: LocalStore(f"{tmp_path}/other/"))


def test_without_an_address_it_is_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    LocalStore("").put("a", b"1")
    assert (tmp_path / "a").read_bytes() == b"1"


def test_keys_come_in_the_order_of_keys_and_not_of_folders(store):
    for key in ("a/b", "a.txt", "a!", "a0", "b", "a/a/z", "a-"):
        store.put(key, b"")
    assert [key for key, _ in store.list()] == sorted(["a/b", "a.txt", "a!", "a0", "b", "a/a/z", "a-"])


def test_names_that_are_no_utf8_keep_all_their_bytes(store, root):
    name = b"caf\xe9-\xff/\xc3\xa9.bin"
    path = root / os.fsdecode(name)
    path.parent.mkdir()
    path.write_bytes(b"data")
    ((key, size),) = store.list()
    assert (os.fsencode(key), size) == (name, 4)
    assert store.read(key) == b"data"
    assert [found for found, _ in store.list(key[:4])] == [key]
    store.put(key, b"other")
    assert everything(root) == [key]
    assert readable_path(key) == "caf\\xe9-\\xff/é.bin"


def test_text_that_is_no_name_of_any_file_cannot_be_a_key(store):
    for call in (store.read, lambda key: store.put(key, b""), lambda key: list(store.list(key))):
        with pytest.raises(UsageError, match="cannot be a key"):
            call("a\ud800b")


@pytest.mark.parametrize("key", ["", "/", "a//b", "/etc/passwd", "../x", "a/../b", ".", "a/.", "a/", "a\0b"])
def test_a_key_cannot_lead_out_of_the_store(store, root, key):
    with pytest.raises(UsageError, match="cannot be a key"):
        store.read(key)
    with pytest.raises(UsageError, match="cannot be a key"):
        store.put(key, b"x")
    assert everything(root) == []


def test_a_link_that_leaves_the_store_is_an_error_wherever_it_is_met(store, root, tmp_path):
    (tmp_path / "secret").write_text("secret")
    (root / "link").symlink_to(tmp_path / "secret")
    for call in (lambda: store.read("link"), lambda: list(store.list())):
        with pytest.raises(StorageError, match="leaves the store"):
            call()
    store.put("link", b"mine")  # takes the place of the link, and leaves what it showed alone
    assert (tmp_path / "secret").read_text() == "secret"
    assert store.read("link") == b"mine"


def test_a_folder_that_is_a_link_out_of_the_store_takes_nothing_in(store, root, tmp_path):
    (tmp_path / "outside").mkdir()
    (root / "folder").symlink_to(tmp_path / "outside")
    for key in ("folder/x", "folder/new/x"):
        with pytest.raises(StorageError, match="leaves the store"):
            store.put(key, b"x")
        with pytest.raises(StorageError):
            store.read(key)
    assert list((tmp_path / "outside").iterdir()) == []


def test_links_inside_the_store_are_objects_and_linked_folders_are_not_listed_twice(store, root):
    store.put("data/one", b"12345")
    (root / "alias").symlink_to("data/one")
    (root / "latest").symlink_to("data")
    (root / "loop").symlink_to(".")
    (root / "dangling").symlink_to("nowhere")
    assert list(store.list()) == [("alias", 5), ("data/one", 5)]
    assert store.read("latest/one") == b"12345"


def test_pipes_and_folders_are_no_objects_and_do_not_block(store, root):
    os.mkfifo(root / "pipe")
    (root / "folder").mkdir()
    assert list(store.list()) == []
    for key in ("pipe", "folder"):
        with pytest.raises(StorageError, match="names no object"):
            store.read(key)
    with pytest.raises(StorageError, match="cannot be written"):
        store.put("folder", b"x")
    store.put("file", b"x")
    with pytest.raises(StorageError) as caught:
        store.put("file/below", b"x")
    assert "is an object, not a folder" in caught.value.fix


def test_a_store_that_is_not_there_is_an_error_until_something_is_put(tmp_path):
    store = LocalStore(str(tmp_path / "new"))
    with pytest.raises(StorageError, match="cannot be listed"):
        list(store.list())
    with pytest.raises(StorageError, match="cannot be read"):
        store.read("a")
    store.put("a/b", b"1")
    assert list(store.list()) == [("a/b", 1)]


def test_ranges_are_checked_against_the_object(store):
    store.put("ten", b"0123456789")
    assert store.read("ten", 2, 5) == b"234"
    for start, end in ((-1, 5), (5, 2), (0, -1)):
        with pytest.raises(UsageError):
            store.read("ten", start, end)
    for start, end in ((0, 11), (11, None), (2**70, None)):
        with pytest.raises(StorageError) as caught:
            store.read("ten", start, end)
        assert "has 10 bytes" in caught.value.why


def test_an_object_is_written_with_the_usual_permissions(store, root):
    before = os.umask(0o027)
    try:
        store.put("a", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o640


def test_many_pieces_of_any_bytes_like_kind_become_one_object(store):
    store.put("a", iter([b"one", bytearray(b"two"), memoryview(b"three"), b""]))
    assert store.read("a") == b"onetwothree"
    store.put("b", bytearray(b"four"))
    assert store.read("b") == b"four"


def test_what_the_data_raises_goes_through_and_leaves_nothing(store, root):
    store.put("a", b"old")

    def torn() -> Iterator[bytes]:
        yield b"new"
        raise OSError(errno.EIO, "the source broke")

    with pytest.raises(OSError, match="the source broke"):
        store.put("a", torn())
    with pytest.raises(TypeError):
        store.put("b", iter(["text"]))
    assert everything(root) == ["a"]
    assert store.read("a") == b"old"


def test_a_write_under_way_is_no_object(store, root):
    seen: list[list[str]] = []

    def watched() -> Iterator[bytes]:
        yield b"half"
        seen.append([key for key, _ in store.list()])
        seen.append(everything(root))
        yield b"half"

    store.put("folder/a", watched())
    assert seen[0] == []
    assert seen[1][0].startswith("folder/.brimful-tmp-")
    with pytest.raises(UsageError, match="cannot be a key"):
        store.put("folder/.brimful-tmp-1", b"x")


WRITER = """
import sys
from brimful.stores.local import LocalStore
store = LocalStore(sys.argv[1])
def data():
    while True:
        yield b"x" * 1000
        print("writing", flush=True)
store.put("a", data())
"""


def test_a_killed_writer_leaves_the_old_object_and_no_new_one(store, root):
    store.put("a", b"old")
    with subprocess.Popen([sys.executable, "-c", WRITER, str(root)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"writing\n"
        writer.send_signal(signal.SIGKILL)
        writer.stdout.read()
    assert list(store.list()) == [("a", 3)]
    assert store.read("a") == b"old"


def test_readers_see_the_old_or_the_new_object_and_never_a_mixture(store):
    values = [bytes([at]) * 50_000 for at in (1, 2)]
    store.put("a", values[0])
    stop = threading.Event()

    def write() -> None:
        at = 0
        while not stop.is_set():
            at += 1
            store.put("a", values[at % 2])

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert all(store.read("a") in values for _ in range(300))
    finally:
        stop.set()
        thread.join()


@contextlib.contextmanager
def small_disk(options: str = "size=64k") -> Iterator[Path]:
    """Mount a real file system of 64 KiB, which root alone may do."""
    mount = shutil.which("mount")
    if mount is None or os.getuid() != 0:
        pytest.skip("mounting a small file system needs root; the limit on the size of files is tested instead")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [mount, "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_is_an_error_that_leaves_the_old_object_and_no_debris():
    with small_disk() as disk:
        store = LocalStore(str(disk))
        store.put("a", b"old")
        with pytest.raises(StorageError, match="the object a cannot be written") as caught:
            store.put("a", iter([b"x" * 10_000] * 100))
        assert caught.value.why == "No space left on device"
        assert "free space" in caught.value.fix
        assert everything(disk) == ["a"]
        assert store.read("a") == b"old"
        store.put("a", b"new")  # and the space is free again
        assert store.read("a") == b"new"


def test_a_disk_without_free_names_is_an_error_too():
    with small_disk("size=64k,nr_inodes=3") as disk:
        store = LocalStore(str(disk))
        store.put("a", b"1")
        store.put("b", b"1")
        with pytest.raises(StorageError, match="No space left"):
            store.put("c/d", b"1")
        assert everything(disk) == ["a", "b"]


def test_a_read_only_disk_is_an_error():
    with small_disk() as disk:
        store = LocalStore(str(disk))
        store.put("a", b"old")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(StorageError) as caught:
            store.put("a", b"new")
        assert caught.value.why == "Read-only file system"
        assert store.read("a") == b"old"


def test_a_limit_on_the_size_of_files_is_an_error_that_leaves_the_old_object(store, root):
    store.put("a", b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(StorageError) as caught:
            store.put("a", iter([b"x" * 10_000] * 100))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert caught.value.why == "File too large"
    assert "ulimit" in caught.value.fix
    assert everything(root) == ["a"]
    assert store.read("a") == b"old"


def test_a_disk_that_fails_at_the_end_is_an_error_too(store, root, monkeypatch):
    store.put("a", b"old")

    def broken(_file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(StorageError, match="cannot be written"):
        store.put("a", b"new")
    assert everything(root) == ["a"]
    assert store.read("a") == b"old"


def test_an_object_that_shrinks_while_it_is_read_is_an_error(store, monkeypatch):
    store.put("a", b"x" * 100)
    monkeypatch.setattr(os, "pread", lambda *_: b"")
    with pytest.raises(StorageError) as caught:
        store.read("a")
    assert "shrank" in caught.value.why


def test_what_may_not_be_read_is_an_error_and_is_not_left_out(store, monkeypatch):
    store.put("a/b", b"x")

    def denied(path: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(StorageError, match="cannot be listed"):
        list(store.list())


def test_folders_may_be_deeper_than_python_recurses(store, root):
    key = "/".join(["d"] * 1500) + "/x"
    try:
        store.put(key, b"deep")
        assert list(store.list()) == [(key, 4)]
    finally:
        subprocess.run(["rm", "-rf", str(root / "d")], check=True)  # pytest's own clean-up recurses


def test_a_name_that_is_too_long_is_an_error(store):
    with pytest.raises(StorageError, match="cannot be written"):
        store.put("n" * 300, b"x")


KEYS = st.text(st.characters(exclude_characters="\0", max_codepoint=0x2FF), min_size=1, max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(objects=st.dictionaries(KEYS, st.binary(max_size=30), max_size=8), prefix=st.text(max_size=3))
def test_what_is_put_is_listed_in_order_and_read_back(tmp_path, objects, prefix):
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        store, kept = LocalStore(folder), {}
        for key, data in objects.items():
            try:
                store.put(key, data)
            except BrimfulError:
                continue
            kept[key] = data
        assert [key for key, _ in store.list()] == sorted(kept)
        assert {key: store.read(key) for key, _ in store.list()} == kept
        with contextlib.suppress(UsageError):
            assert [key for key, _ in store.list(prefix)] == sorted(key for key in kept if key.startswith(prefix))
