"""The promises of a store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from brimful.seams import Store
from brimful.testing.promises import NOBODY, checks, promise, refuses, shown

BAD_KEYS = ("", "/", "/absolute", "..", "../outside", "a/../../outside", "a//b", "a/", "./a", "nul\0")
_GOOD_KEYS = ("a/b", "a.txt", "a/c/d", "ab", "ä/ö", "z z", "-", "%2e")
_WRITERS = 8


def check_store(make: Callable[[], Store]) -> None:
    """Check a store, which must be empty and writable; afterwards it holds the kit's objects."""
    store = make()
    checks(store)
    promise("the kit needs an empty store", list(store.list()) == [])
    contents = {key: key.encode() * (at + 1) for at, key in enumerate(_GOOD_KEYS)} | {"empty": b"", "parts": b"onetwo"}
    for key, data in contents.items():
        store.put(key, iter([b"one", b"", b"two"]) if key == "parts" else data)
    for key, data in contents.items():
        promise(f"read() returns what put() was given: {key!r} differs", store.read(key) == data)
    _check_list(store, contents)
    _check_ranges(store)
    _check_torn(store)
    _check_writers(store)
    for key in BAD_KEYS:
        refuses(f"a key stays below the store: put({key!r}) must be refused", store.put, key, b"x")
        refuses(f"a key stays below the store: read({key!r}) must be refused", store.read, key)
    refuses("read() of an object that is not there is an error, and never empty bytes", store.read, NOBODY)


def _check_list(store: Store, contents: dict[str, bytes]) -> None:
    listed = list(store.list())
    keys = [key for key, _ in listed]
    promise(f"list() is in order of key: {keys}", keys == sorted(keys))
    promise(f"list() names every object once and nothing else: {keys}", keys == sorted(contents))
    wrong = [(key, size) for key, size in listed if size != len(contents[key])]
    promise(f"list() gives the sizes: {shown(wrong)} are wrong", not wrong)
    for prefix in ("a", "a/", "a/c", "a/c/d", "ä", "q"):
        found, meant = [key for key, _ in store.list(prefix)], sorted(key for key in contents if key.startswith(prefix))
        promise(f"a prefix is the beginning of a key: list({prefix!r}) is {found}, not {meant}", found == meant)


def _check_ranges(store: Store) -> None:
    data = bytes(range(100))
    store.put("range", data)
    for start, end in ((0, None), (10, None), (0, 10), (10, 20), (99, 100), (100, None), (100, 100), (0, 0)):
        text = f"read() returns the bytes from start up to end: read(start={start}, end={end}) of 100 does not"
        promise(text, store.read("range", start, end) == data[start:end])
    for start, end in ((-1, None), (0, -1), (20, 10), (101, None), (0, 101), (101, 102)):
        text = f"read() never gives fewer bytes than asked for: read(start={start}, end={end}) of 100 must be refused"
        refuses(text, store.read, "range", start, end)


def _check_torn(store: Store) -> None:
    """Break puts off half way: of a new object nothing may be seen, and of an old one everything."""
    before, keys = store.read("range"), [key for key, _ in store.list()]
    for key in ("range", "new/one"):
        try:
            store.put(key, _torn())
        except ConnectionAbortedError:
            now = [listed for listed, _ in store.list()]
            promise(f"put() is whole or not at all: after a torn one of {key!r} there are {now}", now == keys)
        else:
            raise AssertionError("put() lets through what the data's own iterator raises: it did not")
    promise("put() is whole or not at all: a torn one damaged the old object", store.read("range") == before)
    store.put("range", b"short")
    promise("put() replaces an object whole", store.read("range") == b"short")


def _check_writers(store: Store) -> None:
    values = [bytes([at]) * 100_000 for at in range(_WRITERS)]
    errors: list[Exception] = []

    def write(value: bytes) -> None:
        try:
            store.put("range", value)
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs into the finding
            errors.append(error)

    threads = [threading.Thread(target=write, args=(value,)) for value in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    promise(f"several may put() at once: {shown(errors)}", not errors)
    promise("of several put() at once one wins, whole", store.read("range") in values)


def _torn() -> Iterator[bytes]:
    yield b"half of it"
    raise ConnectionAbortedError("the data ended early")
