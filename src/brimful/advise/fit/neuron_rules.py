"""Neuron's own rules of thumb for batches and cores, as its documents have them: starts of a sweep, not its answers.

aws-neuron-sdk at 81ce03a: neuroncore-batching.rst, neuroncore-pipeline.rst, and the guides of tensor-parallel training
and of DataParallel inference. They compute with figures of their own: Trainium there has 210 TFLOPS in bf16, where the
hardware page and brimful's catalogue have 190. That moves BERT-large from a batch of 2 to 1: callers who print the
answer print the difference.
"""

from __future__ import annotations

import math

_CORE_WEIGHTS = 2e7  # weights that a NeuronCore's cache holds, by the pipeline guide
_CORES_PER_CHIP = 4  # of Inferentia
_HALF = 0.5  # the guide's factor: half of the batch at which arithmetic and memory take as long
_FILL = 0.6  # of a core's memory that the training guide gives to the batch


def optimal_batch(
    *, peak_flops: float, bandwidth_bytes_per_s: float, model_flops: float, parameters: int, bytes_per_parameter: int
) -> int:
    """Return the batch that the batching guide computes: from there on, arithmetic hides the reading of weights."""
    return max(
        1,
        math.ceil(
            optimal_batch_value(
                peak_flops=peak_flops,
                bandwidth_bytes_per_s=bandwidth_bytes_per_s,
                model_flops=model_flops,
                parameters=parameters,
                bytes_per_parameter=bytes_per_parameter,
            )
        ),
    )


def optimal_batch_value(
    *, peak_flops: float, bandwidth_bytes_per_s: float, model_flops: float, parameters: int, bytes_per_parameter: int
) -> float:
    """Return the guide's value before it is rounded up: half of the device's intensity over the model's."""
    if min(peak_flops, bandwidth_bytes_per_s, model_flops, parameters, bytes_per_parameter) <= 0:
        raise ValueError("each of the guide's figures is above 0")
    device = peak_flops / bandwidth_bytes_per_s
    model = model_flops / (parameters * bytes_per_parameter)
    return _HALF * device / model


def pipeline_cores(parameters: int) -> int:
    """Return over how many NeuronCores of Inferentia a model's weights fit into caches; embeddings do not count."""
    return max(_CORES_PER_CHIP, _CORES_PER_CHIP * round(parameters / _CORE_WEIGHTS))


def training_batch(
    *, tensor: int, pipeline: int, core_memory_bytes: int, parameters: int, bytes_per_parameter: int
) -> int:
    """Return the batch a data-parallel replica that the training guide starts from, at least 1."""
    room = _FILL * tensor * pipeline * core_memory_bytes
    return max(1, int(room / (parameters * bytes_per_parameter)))


def data_parallel_split(batch: int, cores: int) -> tuple[int, int, bool]:
    """Return DataParallel's workers, the size of each part, and whether every core gets as much as any other."""
    if batch < 1 or cores < 1:
        raise ValueError(f"a batch of {batch} over {cores} cores: each starts at 1")
    return 2 * cores, max(1, batch // cores), batch % cores == 0
