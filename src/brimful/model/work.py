"""What is asked of the hardware, and what it costs to compute: Workload, Profile with its OpCosts, Setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from brimful.model.hardware import Precision
from brimful.model.noun import Noun, noun, unknown

_NOT_ASKED = "not asked"


class Mode(StrEnum):
    """The kinds of work."""

    INFERENCE = "inference"
    TRAINING = "training"
    TRANSCODE = "transcode"
    COMMAND = "command"


class Scenario(StrEnum):
    """How requests arrive, in MLPerf's sense; `replay` is a file of arrival times."""

    SINGLE_STREAM = "single-stream"
    MULTI_STREAM = "multi-stream"
    SERVER = "server"
    OFFLINE = "offline"
    REPLAY = "replay"


@noun
class Slo(Noun):
    """What an answer must keep; what is not asked does not bind."""

    p50_ms: float | None = unknown(_NOT_ASKED)
    p99_ms: float | None = unknown(_NOT_ASKED)
    first_token_ms: float | None = unknown(_NOT_ASKED)
    per_token_ms: float | None = unknown(_NOT_ASKED)
    within_s: float | None = unknown(_NOT_ASKED)

    def _agree(self) -> None:
        """Refuse a 99th percentile below the median."""
        if self.p50_ms is not None and self.p99_ms is not None and self.p99_ms < self.p50_ms:
            raise ValueError(f"p99_ms is {self.p99_ms}: below p50_ms, which is {self.p50_ms}")


@noun
class Arrivals(Noun):
    """How much work comes, and when."""

    queries_per_s: float | None = unknown(_NOT_ASKED)
    total_count: int | None = unknown(_NOT_ASKED)
    trace: str | None = unknown("no file of arrivals was given")


@noun
class Workload(Noun):
    """What is asked: a model or a command, its input, how it arrives, what it must keep, what it may cost."""

    model: str
    mode: Mode
    scenario: Scenario | None = unknown(_NOT_ASKED)
    dims: Mapping[str, int] = field(default_factory=dict)
    data: str | None = unknown("the input was not described")
    slo: Slo = field(default_factory=Slo)
    arrivals: Arrivals = field(default_factory=Arrivals)
    budget_usd: float | None = unknown(_NOT_ASKED)


class OpKind(StrEnum):
    """The kinds of operations that hardware treats differently."""

    CONV = "conv"  # a dense convolution
    GROUPED = "grouped"  # a convolution in groups, depthwise among them: little arithmetic for each byte
    MATMUL = "matmul"  # weights times activations
    ATTENTION = "attention"  # activations times activations
    RECURRENT = "recurrent"  # steps that wait for one another
    NORM = "norm"
    SOFTMAX = "softmax"
    POOL = "pool"
    REDUCE = "reduce"
    ELEMENTWISE = "elementwise"
    GATHER = "gather"  # embeddings and other reads at computed places
    COPY = "copy"  # moves elements and computes nothing
    OTHER = "other"  # known by name, and none of the above
    UNKNOWN = "unknown"  # not known: its cost is a guess from the sizes of what it reads and writes


@noun
class OpCost(Noun):
    """What operations that are alike cost, each of them, over all samples of their profile.

    Elements, not bytes: the precision they are kept in belongs to the setting. `weight_elements` are read once a call,
    however large the batch; `weight_bits` is there when the file itself fixes how they are kept (a quantised graph).
    `flops` counts a multiplication and an addition as two.
    """

    op: OpKind
    op_type: str  # as the file's format calls it
    ops_count: int = 1
    flops: float
    weight_elements: int = 0
    read_elements: int
    write_elements: int
    weight_bits: int | None = unknown("the setting's precision decides")

    def _agree(self) -> None:
        """Refuse a group of no operations."""
        if self.ops_count < 1:
            raise ValueError(f"ops_count is {self.ops_count}: it starts at 1")


@noun
class Transformer(Noun):
    """A transformer by its measures, from which the cost of any number of tokens follows."""

    family: str  # as its configuration calls it: llama, bert, vit
    decoder: bool
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    intermediate: int
    gated: bool  # three matrices in the feed-forward part, not two
    vocabulary: int
    tied_embeddings: bool = False
    positions: int = 0  # learned positions: rows of a table
    token_types: int = 0
    experts: int = 0  # of each layer with experts; 0: none
    experts_per_token: int = 0
    expert_intermediate: int = 0
    shared_intermediate: int = 0  # of the experts that every token passes
    dense_layers: int = 0  # with experts in the model: layers at its start without them
    window: int | None = unknown("every token sees all before it")
    windowed_layers: int = 0  # how many of the layers see the window alone
    latent: int | None = unknown("keys and values are kept as they are")  # numbers a token, of latent attention
    biases: bool = False
    head: str = "language"  # what stands at its end: language, pooler, classes, none
    classes: int = 0
    patches: int = 0  # of an image model: tokens an image
    patch_elements: int = 0  # of an image model: numbers in a patch

    def _agree(self) -> None:
        """Refuse measures that no transformer has."""
        for name in ("layers", "hidden", "heads", "kv_heads", "head_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: it starts at 1")
        if self.kv_heads > self.heads:
            raise ValueError(f"kv_heads is {self.kv_heads}: more than heads, which is {self.heads}")
        if self.experts_per_token > self.experts:
            raise ValueError(f"experts_per_token is {self.experts_per_token}: of {self.experts} experts")


@noun
class Profile(Noun):
    """What one pass costs, whatever the hardware. `samples_count` is the batch that `ops` and the sums are over."""

    model: str
    source: str
    samples_count: int = 1
    parameters: int | None = unknown()
    weight_bytes: int | None = unknown()
    pass_flops: float | None = unknown()
    read_bytes: int | None = unknown()
    write_bytes: int | None = unknown()
    activation_bytes: int | None = unknown()  # the most that is alive at once
    ops: tuple[OpCost, ...] = ()  # empty: not known
    op_types: Mapping[str, int] = field(default_factory=dict)
    weight_types: Mapping[str, int] = field(default_factory=dict)
    dims: Mapping[str, int] = field(default_factory=dict)  # what symbolic sizes were bound to
    unknown_ops: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()  # what makes its shapes depend on its input's values
    transformer: Transformer | None = unknown("it is not known as a transformer")

    def _agree(self) -> None:
        """Refuse a pass over no samples."""
        if self.samples_count < 1:
            raise ValueError(f"samples_count is {self.samples_count}: it starts at 1")


@noun
class Setting(Noun):
    """One point of the space that can be searched: how a workload is run on a device."""

    engine: str
    precision: Precision | None = unknown("the engine decides")
    batch: int = 1
    threads: int | None = unknown("the engine decides")
    streams: int | None = unknown("the engine decides")
    cores: int | None = unknown("the engine decides")
    layout: str | None = unknown("the engine decides")
    options: Mapping[str, str] = field(default_factory=dict)

    def _agree(self) -> None:
        """Refuse counts below one."""
        for name in ("batch", "threads", "streams", "cores"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}: it starts at 1")
