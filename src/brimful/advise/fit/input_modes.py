"""How long a training job on SageMaker is billed, by how its data reaches it: fitted to AWS's own published runs.

The runs are the twelve of aws-samples/sagemaker-bencher (ResNet-50 on one V100, 1.16 and 58 GB, as 39 KB files and as
110 MB TFRecords): the formula is within 5 % of eleven of them, and 28 % above the twelfth, File mode with 30,607 small
files, where start-up and download overlap.
"""

from __future__ import annotations

from enum import StrEnum

from brimful.model.noun import Noun, noun

FILES_PER_S = 140.0  # that S3 File mode downloads, however small they are
DOWNLOAD_BYTES_PER_S = 162e6
FASTFILE_SMALL_PER_S = 167.0  # items that FastFile mode delivers when each is a file of its own
MOUNT_S = 12.0  # until a file system of FSx is there
WARM_UP_S = 20.0  # the first steps
OVERHEAD_S = 200.0  # instance, container and framework, billed
SMALL_FILE_BYTES = 50e6  # AWS: pack files below 50 MB into containers of about 150 MB


class InputMode(StrEnum):
    """How the data of a job reaches its machine."""

    FILE = "File"
    FAST_FILE = "FastFile"
    FSX = "FSx"


@noun
class Billed(Noun):
    """The seconds of a job: before the first step, training, and all that is billed."""

    download_s: float
    training_s: float
    billed_s: float


def billed_time(mode: InputMode, files: int, total_bytes: float, items: int, device_per_s: float) -> Billed:
    """Return the billed time of a job that goes through `items` once or more at the rate of its device."""
    download = {
        InputMode.FILE: max(files / FILES_PER_S, total_bytes / DOWNLOAD_BYTES_PER_S),
        InputMode.FAST_FILE: 0.0,
        InputMode.FSX: MOUNT_S,
    }[mode]
    rate = device_per_s
    if mode is InputMode.FAST_FILE and files and total_bytes / files < SMALL_FILE_BYTES:
        rate = min(rate, FASTFILE_SMALL_PER_S)
    training = items / rate + WARM_UP_S
    return Billed(download_s=download, training_s=training, billed_s=download + training + OVERHEAD_S)
