from __future__ import annotations

import json
import os
import subprocess
import sys

from brimful.journal.write import Writer, new_run
from brimful.model.evidence import Environment, Figures, Measurement
from brimful.model.hardware import Device, DeviceKind, Precision
from brimful.model.noun import with_gaps
from brimful.model.work import Mode, Setting, Workload


def measurement(model: str, mean_ms: float, **more: object) -> Measurement:
    return with_gaps(
        Measurement,
        "not asked",
        workload=with_gaps(Workload, "not asked", model=model, mode=Mode.INFERENCE),
        device=with_gaps(
            Device, "not asked", device="gpu0", device_kind=DeviceKind.GPU, vendor="NVIDIA", model="Tesla T4"
        ),
        setting=with_gaps(Setting, "not asked", engine="torch", precision=Precision.FP16, batch=32),
        figures=with_gaps(Figures, "not asked", calls_count=10, wall_s=1.0, mean_ms=mean_ms),
        environment=with_gaps(Environment, "not asked"),
        **more,
    )


def predicted(home, *words: str) -> dict:
    done = subprocess.run(
        [sys.executable, "-m", "brimful", "fit", "timm:resnet50", "--device", "T4", "--engine", "torch", "--precision",
         "fp16", "--batch", "32", "--json", *words],
        capture_output=True, text=True, check=False, env={**os.environ, "HOME": str(home), "XDG_STATE_HOME": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write(home, *nouns: Measurement) -> None:
    with Writer.create(home / ".local/state/brimful/runs", new_run("0.1.0")) as writer:
        for noun in nouns:
            writer.append(noun)


def test_measurements_in_earlier_journals_correct_a_prediction(tmp_path):
    before = predicted(tmp_path)
    factor = 2.0
    write(tmp_path, *(measurement("timm:resnet50", before["latency_ms"] * factor) for _ in range(3)))
    after = predicted(tmp_path)
    assert after["latency_ms"] > before["latency_ms"] * 1.2
    assert "3 measurements of your own" in json.dumps(after["basis"])


def test_what_was_refused_or_names_nothing_known_corrects_nothing(tmp_path):
    before = predicted(tmp_path)
    write(
        tmp_path,
        *(measurement("timm:resnet50", 1e4, refused="above the roofline") for _ in range(3)),
        measurement("a model that nobody has", 5.0),
    )
    assert predicted(tmp_path)["latency_ms"] == before["latency_ms"]


def test_a_damaged_journal_does_not_keep_fit_from_answering(tmp_path):
    folder = tmp_path / ".local/state/brimful/runs/20260101T000000-00000000"
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").write_bytes(b'{"kind":"measurement", broken\n{"kind":"measurement"}\n')
    assert predicted(tmp_path)["latency_ms"] > 0
