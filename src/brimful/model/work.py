"""What is asked of the hardware, and what it costs to compute: Workload, Profile with its OpCosts, Setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from enum import StrEnum

from brimful.model.hardware import Precision
from brimful.model.noun import Noun, noun, unknown

_NOT_ASKED = "not asked"
_MOST = 1e15  # of a measure of a model: what is larger is a slip, and would overflow what is computed from it


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


# What stands at the end of a transformer, and over which tokens it is computed
HEADS = (
    "language",  # a row of the vocabulary for every token, or for the last one alone while generating
    "masked",  # the same after one more matrix and norm, as BERT's masked words are guessed
    "pooler",  # a square matrix over the first token
    "pooled classes",  # the same, then the classes
    "classes",  # of the whole input, from one token
    "labels",  # the classes of every token
    "dense labels",  # the same behind a square matrix over every token
    "projection",  # the classes without a bias: a vector to be compared with another model's
    "none",
)


_PARTS = (
    ("kv_heads", "heads"),
    ("experts_per_token", "experts"),
    ("dense_layers", "layers"),
    ("windowed_layers", "layers"),
    ("linear_layers", "layers"),
)


@noun
class Transformer(Noun):
    """A transformer by its measures, from which the cost of any number of tokens follows.

    A model of two sides (a translator, a model of images and text) is its decoder, or its side of text, with the other
    as `encoder`. Layers differ in three ways at most: some see a window alone (`windowed_layers`), some keep a state
    instead of keys and values (`linear_layers`), some have no experts (`dense_layers`). In which order they stand does
    not change what they cost.
    """

    family: str  # as its configuration calls it: llama, bert, vit
    decoder: bool
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int  # of queries and keys
    value_size: int | None = unknown("values are as long as keys")
    intermediate: int
    gated: bool  # three matrices in the feed-forward part, not two
    vocabulary: int
    embedding_size: int | None = unknown("the tables are as wide as the layers")
    tied_embeddings: bool = False
    positions: int = 0  # learned positions: rows of a table
    relative_positions: int = 0  # rows of a table that queries and keys are compared with, beside one another
    token_types: int = 0
    experts: int = 0  # of each layer with experts; 0: none
    experts_per_token: int = 0
    expert_intermediate: int = 0
    shared_intermediate: int = 0  # of the experts that every token passes, together
    dense_layers: int = 0  # with experts in the model: layers without them
    window: int | None = unknown("every token sees all before it")
    windowed_layers: int = 0  # how many of the layers see the window alone
    latent: int | None = unknown("keys and values are kept as they are")  # numbers a token, of latent attention
    rope_size: int = 0  # with a latent: how many of its numbers, and of each head's, carry the position
    query_latent: int | None = unknown("queries come straight from the token")
    gated_attention: bool = False  # each head's outcome is multiplied by a gate as long as itself
    linear_layers: int = 0  # layers that keep a state of fixed size in place of keys and values
    linear_heads: int = 0
    linear_key_heads: int = 0
    linear_head_size: int = 0
    biases: bool = False  # every matrix of the layers has one
    norms: int = 2  # of each layer
    outer_norms: int = 1  # before and after the layers, together
    norm_vectors: int = 1  # that a norm keeps: 2 a scale and a shift, 1 a scale, 0 nothing
    rest_parameters: int = 0  # weights that no other field tells: odd biases, scales, tables of relative positions
    shared_layers: bool = False  # all layers use the weights of one
    head: str = "language"  # what stands at its end: one of HEADS
    classes: int = 0
    patches: int = 0  # of a model of images or sound: tokens an input
    patch_elements: int = 0  # of an image model: numbers in a patch
    class_tokens: int = 0  # of an image model: tokens beside its patches
    stem_flops: float = 0.0  # around the layers, an input: convolutions before them, a pool behind them
    stem_parameters: int = 0
    weight_bits: int | None = unknown("the setting's precision decides")  # of the layers' matrices
    experts_bits: int | None = unknown("as weight_bits")  # of the experts' matrices, where only they are quantised
    encoder: Transformer | None = unknown("it has one side")
    cross: bool = False  # each layer attends over what the encoder gives

    def _agree(self) -> None:
        """Refuse measures that no transformer has."""
        for name in ("layers", "hidden", "heads", "kv_heads", "head_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: it starts at 1")
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, int | float) and not 0 <= value <= _MOST:
                raise ValueError(f"{item.name} is {value}: it must lie between 0 and {_MOST:.0e}")
        for part, whole in _PARTS:
            if getattr(self, part) > getattr(self, whole):
                raise ValueError(f"{part} is {getattr(self, part)}: more than {whole}, which is {getattr(self, whole)}")
        if self.latent is not None and self.rope_size >= min(self.latent, self.head_size):
            raise ValueError(f"rope_size is {self.rope_size}: a part of latent ({self.latent}) and of head_size")
        if self.head not in HEADS:
            raise ValueError(f"head is {self.head!r}: it must be one of {', '.join(HEADS)}")
        if self.cross and self.encoder is None:
            raise ValueError("cross is true: of an encoder that is not there")


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
