"""From a question about one model on one device to the passes that answer it."""

from __future__ import annotations

from dataclasses import dataclass

from brimful.advise.fit.case import Case, Ops, ops_of
from brimful.costs.transformer import decode, prefill
from brimful.model.hardware import Chip, DeviceKind
from brimful.model.noun import Noun, noun, unknown
from brimful.model.work import Mode, Profile

# What people write, and what it is called here.
_ENGINES = {"pytorch": "torch", "trt": "tensorrt", "ort": "onnxruntime", "ov": "openvino", "trt-llm": "trtllm",
            "tensorrt-llm": "trtllm", "tf": "tensorflow", "neuronx": "neuron", "tensorflow-lite": "tflite"}  # fmt: skip
_PRECISIONS = {"float32": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "amp": "fp16-amp",
               "mixed": "fp16-amp", "nvfp4": "fp4", "mxfp4": "fp4", "i8": "int8", "float8": "fp8"}  # fmt: skip

_NOT_SAID = "the query does not say"
FILLED_BATCH = 64  # where throughput is asked for and no batch is given: most devices are full then
STREAMED_SAMPLES = 8  # of a query of MLPerf's multi-stream scenario, since v2.0
TOKENS_IN, TOKENS_OUT = 512, 128
_MOST_BATCH = 256  # sequences that a server of language models handles at once, where memory allows it


@noun
class Query(Noun):
    """A question: this model, on this device, run like this. What is not said is filled in, and said in the answer."""

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
        return _ENGINES.get(query.engine.lower(), query.engine.lower())
    if chip.kind is DeviceKind.CPU:
        return "openvino" if chip.vendor in ("Intel", "AMD") else "onnxruntime"
    if chip.kind is DeviceKind.NEURON:
        return "neuron"
    return "openvino" if chip.vendor == "Intel" and chip.kind is not DeviceKind.GAUDI else "torch"


def precision_of(query: Query, chip: Chip) -> str:
    """Return the precision that a query means: what people use on such a device when they say nothing."""
    if query.precision:
        name = query.precision.lower().partition(",")[0]
        return _PRECISIONS.get(name, name)
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
        cores=query.cores,
        split=split,
    )


def _generation(query: Query, profile: Profile, chip: Chip) -> Plan:
    """Plan a prompt that is read once, and a pass for every further token over a growing memory."""
    transformer = profile.transformer
    if transformer is None:
        raise ValueError("only a transformer generates")
    tokens_in, tokens_out = query.tokens_in or TOKENS_IN, query.tokens_out or TOKENS_OUT
    batch = batch_of(query)
    first, next_ = prefill(transformer, tokens_in, 1), decode(transformer, tokens_in + tokens_out // 2, batch)
    exchanged = float(2 * transformer.layers * transformer.hidden)
    parts = []
    for name, profile_of, times, size, tokens in (
        ("prefill", first, 1.0, batch, tokens_in),
        ("decode", next_, float(tokens_out - 1), batch, 1),
    ):
        case = _case(query, ops_of(profile_of), chip, size, scenario=name, split=query.count)
        object.__setattr__(case, "exchanged_elements", exchanged * tokens * case.ops.samples)
        object.__setattr__(case, "exchanges", 2 * transformer.layers)
        parts.append(Part(case, times))
    return Plan(tuple(parts), batch, 1)
