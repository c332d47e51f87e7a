"""From a question about one model on one device to the passes that answer it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from brimful.advise.fit.case import Case, Ops, activation_bytes_of, ops_of, weight_bytes_of
from brimful.costs.transformer import decode, kv_cache_elements, parameters, prefill
from brimful.model.hardware import Chip, DeviceKind
from brimful.model.noun import Noun, noun, unknown
from brimful.model.work import Mode, Profile, Transformer

_NOT_SAID = "the query does not say"
FILLED_BATCH = 64  # where throughput is asked for and no batch is given: most devices are full then
STREAMED_SAMPLES = 8  # of a query of MLPerf's multi-stream scenario, since v2.0
TOKENS_IN, TOKENS_OUT = 512, 128
_MOST_BATCH, _FAIR_BATCH = 512, 32  # sequences that a server of language models handles at once, as memory allows
_USABLE_SHARE = 0.85  # of a device's memory, for weights and what sequences keep
_FILLED = ("offline", "server", "throughput")
_LANGUAGE_ENGINES = {"tensorrt": "trtllm"}  # what runs a language model where that engine is named
UNPADDED_TOKENS, PADDED_TOKENS = 177, 384  # SQuAD's mean question, and what MLPerf's BERT would pad it to
_MLPERF = ("offline", "server", "single-stream", "multi-stream")
_UNPADDED_ENGINES = ("tensorrt", "torch", "openvino")


@noun
class Query(Noun):
    """A question: this model, on this device, run like this, in fit's own words (`words.py` reads those of people).

    What is not said is filled in, and said in the answer.
    """

    engine: str | None = unknown(_NOT_SAID)
    precision: str | None = unknown(_NOT_SAID)
    layout: str | None = unknown(_NOT_SAID)
    compiled: str | None = unknown(_NOT_SAID)
    batch: int | None = unknown(_NOT_SAID)
    mode: Mode = Mode.INFERENCE
    scenario: str | None = unknown(_NOT_SAID)
    image_size: int | None = unknown(_NOT_SAID)
    sequence: int | None = unknown(_NOT_SAID)
    tokens_in: int | None = unknown(_NOT_SAID)
    tokens_out: int | None = unknown(_NOT_SAID)
    count: int = 1
    share: float = 1.0
    cores: float | None = unknown("the whole device")

    def _agree(self) -> None:
        """Refuse sizes below one."""
        for name in ("batch", "image_size", "sequence", "tokens_in", "tokens_out", "count"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}: it starts at 1")


@dataclass(frozen=True)
class Part:
    """A pass and how often it is made for one call."""

    case: Case
    times: float


@dataclass(frozen=True)
class Plan:
    """The passes of one call, how many samples it answers, and how many such calls run side by side."""

    parts: tuple[Part, ...]
    batch: int
    side_by_side: int


def engine_of(query: Query, chip: Chip) -> str:
    """Return the engine that a query means."""
    if query.engine:
        return query.engine
    if chip.kind is DeviceKind.CPU:
        return "openvino" if chip.vendor in ("Intel", "AMD") else "onnxruntime"
    if chip.kind is DeviceKind.NEURON:
        return "neuron"
    return "openvino" if chip.vendor == "Intel" and chip.kind is not DeviceKind.GAUDI else "torch"


def precision_of(query: Query, chip: Chip) -> str:
    """Return the precision that a query means: what people use on such a device when they say nothing."""
    if query.precision:
        return query.precision
    if chip.kind is DeviceKind.CPU:
        return "fp32"
    return "bf16" if chip.kind is DeviceKind.NEURON else "fp16"


def batch_of(query: Query) -> int:
    """Return the batch of one call."""
    if query.batch is not None:
        return query.batch
    return {
        "multi-stream": STREAMED_SAMPLES,
        "offline": FILLED_BATCH,
        "server": FILLED_BATCH,
        "throughput": FILLED_BATCH,
    }.get(query.scenario or "", FILLED_BATCH if query.mode is Mode.TRAINING else 1)


def scenario_of(query: Query, chip: Chip) -> str:
    """Return the scenario that a query means: how such an engine is measured when nothing else is said."""
    if query.scenario or query.mode is Mode.TRAINING:
        return query.scenario or "throughput"
    engine, single = engine_of(query, chip), batch_of(query) == 1
    if engine == "tensorrt":
        return "single-stream" if single else "offline"
    if engine in ("tflite", "armnn", "onnxruntime"):
        return "single-stream"
    return "latency" if single and engine in ("openvino", "neuron") else "throughput"


def tokens_of(sequence: int | None, scenario: str | None, engine: str | None) -> int | None:
    """Return the tokens that are computed: of MLPerf's BERT, NVIDIA's and Intel's code computes no padding."""
    padded = sequence == PADDED_TOKENS and scenario in _MLPERF and engine in _UNPADDED_ENGINES
    return UNPADDED_TOKENS if padded else sequence


def generates(profile: Profile) -> bool:
    """Say whether the model writes token after token."""
    return profile.transformer is not None and profile.transformer.decoder


def plan(query: Query, profile: Profile, chip: Chip) -> Plan:
    """Return the passes that answer a query."""
    if generates(profile) and query.mode is Mode.INFERENCE and query.sequence is None:
        return _generation(query, profile, chip)
    case = _case(query, ops_of(profile), chip, batch_of(query), scenario=scenario_of(query, chip))
    return Plan((Part(case, 1.0),), case.batch, query.count)


def _case(query: Query, ops: Ops, chip: Chip, batch: int, *, scenario: str, split: int = 1) -> Case:
    return Case(
        ops=ops,
        chip=chip,
        engine=engine_of(query, chip),
        precision=precision_of(query, chip),
        batch=batch,
        layout=(query.layout or "nchw").lower(),
        compiled=(query.compiled or "eager").lower(),
        mode=query.mode,
        scenario=scenario,
        share=query.share,
        cores=1.0 if engine_of(query, chip) == "tflite" else query.cores,  # one thread, unless it is told otherwise
        split=split,
    )


def _generation(query: Query, profile: Profile, chip: Chip) -> Plan:
    """Plan a prompt that is read once, and a pass for every further token over a growing memory."""
    transformer = profile.transformer
    if transformer is None:
        raise ValueError("only a transformer generates")
    tokens_in, tokens_out = query.tokens_in or TOKENS_IN, query.tokens_out or TOKENS_OUT
    batch, split = _served(query, transformer, chip, tokens_in + tokens_out)
    first, next_ = _prefilled(transformer, tokens_in), _decoded(transformer, tokens_in + tokens_out // 2, batch)
    parts = []
    for name, profile_of, times, tokens in (
        ("prefill", first, 1.0, tokens_in),
        ("decode", next_, float(tokens_out - 1), 1),
    ):
        case = replace(
            _case(query, ops_of(profile_of), chip, batch, scenario=name, split=split),
            engine=_LANGUAGE_ENGINES.get(engine_of(query, chip), engine_of(query, chip)),
            exchanged_elements=float(2 * transformer.layers * transformer.hidden * tokens * profile_of.samples_count),
            exchanges=2 * transformer.layers,
        )
        parts.append(Part(case, times))
    return Plan(tuple(parts), batch, max(1, query.count // split))


@lru_cache(maxsize=512)
def _prefilled(transformer: Transformer, tokens: int) -> Profile:
    return prefill(transformer, tokens, 1)


@lru_cache(maxsize=512)
def _decoded(transformer: Transformer, context: int, batch: int) -> Profile:
    return decode(transformer, context, batch)


def _served(query: Query, transformer: Transformer, chip: Chip, tokens: int) -> tuple[int, int]:
    """Return how many sequences are in work at once, and over how many devices each lies.

    Where the query says neither a batch nor single requests, a server fills the memory: over the fewest devices that
    hold the weights and a fair number of sequences, with as many such groups side by side as there are devices for.
    """
    if query.batch is not None or (query.scenario or "") not in _FILLED or chip.memory_bytes is None:
        return batch_of(query), query.count
    name = precision_of(query, chip)
    weights = parameters(transformer) * weight_bytes_of(name)
    each = kv_cache_elements(transformer, tokens) * activation_bytes_of(name)
    batch = 1
    for split in (size for size in (1, 2, 4, 8, 16, 32, 64) if size <= query.count):
        free = chip.memory_bytes * split * _USABLE_SHARE - weights
        batch = int(min(_MOST_BATCH, free / max(each, 1.0)))
        if batch >= _FAIR_BATCH:
            return batch, split
    return max(1, batch), query.count
