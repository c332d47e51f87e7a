"""Conformance kits: does a back-end keep its seam's promises? And the simulated devices, for tests without hardware.

A kit is a function to call from any test, of this project or of yours:

    def test_my_store(tmp_path):
        brimful.testing.check_store(lambda: MyStore(str(tmp_path)))

It takes a function that makes the back-end, and facts about what was set up for it, and raises AssertionError that
names the promise which is broken. Promises that need a set-up which was not given (a device that vanishes, say) are
not checked: give it, where the back-end can be brought there.
"""

from __future__ import annotations

from brimful.probes.fake import FakeProbe
from brimful.testing.cloud import check_cloud
from brimful.testing.engine import check_engine
from brimful.testing.history import check_history
from brimful.testing.probe import check_probe, fake_device
from brimful.testing.reader import check_reader
from brimful.testing.store import check_store

__all__ = [
    "FakeProbe",
    "check_cloud",
    "check_engine",
    "check_history",
    "check_probe",
    "check_reader",
    "check_store",
    "fake_device",
]
