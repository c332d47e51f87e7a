"""Whether a model runs on a target: yes, no by a rule with a name, or unknown and which operators make it so.

A list of operators proves what it names and nothing about the rest: what is absent is unknown, "compile to know". Only
rules say no, and each says where it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from brimful.advise.fit.operators import Listed, bare
from brimful.catalog.nouns import ModelFit, OperatorList
from brimful.model.noun import Noun, noun, unknown
from brimful.model.work import OpKind, Profile, Transformer

_FIT_PAGE = "AWS Neuron's page on how models fit (2023-05)"
_RULES_PAGE = "AWS Neuron's page on how models fit (2023-05); 'A complete guide to AI accelerators' (2020)"
_SHORT_DECODER = 128  # tokens up to which AWS calls a decoder tolerable on Inferentia1
_MOST_BOXES = 100
_PROTOBUF_BYTES = 2 * 1024**3
_DETECTION = frozenset({"roialign", "roipool", "psroialign", "maxroipool", "nonmaxsuppression", "nms", "batchednms"})
_TWO_STAGE = frozenset({"roialign", "roipool", "psroialign", "maxroipool"})
_BOTH_PARTS = frozenset({"t5", "mt5", "bart", "mbart", "marian", "pegasus", "whisper", "m2m_100", "umt5", "longt5"})


class Target(StrEnum):
    """What a model can be compiled for or run by."""

    INFERENTIA1 = "inferentia1"
    INFERENTIA2 = "inferentia2"
    TRAINIUM = "trainium"
    TENSORRT = "tensorrt"
    OPENVINO = "openvino"
    ORT_CPU = "onnxruntime-cpu"
    ORT_CUDA = "onnxruntime-cuda"


NEURON = (Target.INFERENTIA1, Target.INFERENTIA2, Target.TRAINIUM)
_LISTS = {Target.TRAINIUM: Target.INFERENTIA2}  # one compiler, one list


class Answer(StrEnum):
    """Whether a model runs on a target."""

    YES = "yes"
    UNKNOWN = "unknown"
    NO = "no"


@noun
class Supported(Noun):
    """The answer for a target, why, and which operators may leave the device.

    `leaves_share` is the share of the time (`share_of` is "time") or of the arithmetic ("flops") that these operators
    stand for.
    """

    target: Target
    answer: Answer
    reason: str
    rule: str | None = unknown("no rule decides")
    leaves: tuple[str, ...] = ()
    leaves_share: float | None = unknown("no operator is known to leave the device")
    share_of: str | None = unknown("no operator is known to leave the device")
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of fit: when it applies, it says no and why; `source` says who laid it down."""

    name: str
    source: str
    says: Callable[[Profile, Target], str | None]


def family_of(profile: Profile) -> str | None:
    """Return the family of a model in the words of the fit table, or None when its profile does not tell."""
    if _TWO_STAGE & {bare(name) for name in profile.op_types}:
        return "r-cnn"
    return _family_by_measures(profile.transformer) if profile.transformer else _family_by_costs(profile)


def _family_by_measures(measures: Transformer) -> str:
    if measures.family.lower() in _BOTH_PARTS:
        return "encoder-decoder"
    if measures.decoder:
        return "transformer decoder"
    return "vision transformer" if measures.patches else "transformer encoder"


def _family_by_costs(profile: Profile) -> str | None:
    """Tell recurrent and convolutional models; with attention it may be a transformer or a diffusion model."""
    flops = dict.fromkeys(OpKind, 0.0)
    for op in profile.ops:
        flops[op.op] += op.ops_count * op.flops
    total = sum(flops.values())
    if flops[OpKind.RECURRENT] > 0.3 * total:
        return "lstm"
    convolutional = not flops[OpKind.ATTENTION] and flops[OpKind.CONV] + flops[OpKind.GROUPED] > 0.5 * total
    return "cnn" if convolutional else None


def _decoder(profile: Profile, target: Target) -> str | None:
    if target is not Target.INFERENTIA1 or family_of(profile) not in ("transformer decoder", "encoder-decoder"):
        return None
    length = profile.dims.get("sequence")
    if length is not None and length <= _SHORT_DECODER:
        return None
    return f"a decoder waits for memory, and Inferentia1 has 50 GB/s; tolerable up to {_SHORT_DECODER} tokens at most"


def _detection(profile: Profile, target: Target) -> str | None:
    found = sorted(name for name in profile.op_types if bare(name) in _DETECTION)
    boxes = profile.dims.get("boxes", 0)
    if target not in NEURON or not (found or boxes > _MOST_BOXES):
        return None
    what = " and ".join(found) if found else f"{boxes} boxes (above {_MOST_BOXES})"
    return f"{what}: on Neuron devices this part falls back to the CPU; a GPU keeps it"


def _dynamic(profile: Profile, target: Target) -> str | None:
    if target not in NEURON or not profile.dynamic:
        return None
    what = ", ".join(profile.dynamic[:3])
    return f"its shapes depend on the values of its input ({what}), and Neuron compiles fixed ones"


def _custom(profile: Profile, target: Target) -> str | None:
    if target not in NEURON or not profile.unknown_ops:
        return None
    return f"operators of its own ({', '.join(profile.unknown_ops[:3])}) leave a Neuron device for the CPU"


def _large(profile: Profile, target: Target) -> str | None:
    weights = profile.weight_bytes
    if target is not Target.INFERENTIA1 or weights is None or weights <= _PROTOBUF_BYTES:
        return None
    return "its weights are above 2 GB, the most that Inferentia1's frameworks can write into one file"


RULES: tuple[Rule, ...] = (
    Rule("decoder-on-inferentia1", _FIT_PAGE, _decoder),
    Rule("detection-on-neuron", _RULES_PAGE, _detection),
    Rule("dynamic-shapes-on-neuron", _RULES_PAGE, _dynamic),
    Rule("custom-operators-on-neuron", _RULES_PAGE, _custom),
    Rule("weights-above-2gb-on-inferentia1", _FIT_PAGE, _large),
)


def support(
    profile: Profile,
    target: Target,
    lists: Iterable[OperatorList],
    fits: Iterable[ModelFit] = (),
    time_shares: Mapping[str, float] | None = None,
) -> Supported:
    """Return whether a model runs on a target; `time_shares` is each operator type's predicted share of the time."""
    for rule in RULES:
        why = rule.says(profile, target)
        if why is not None:
            return Supported(target=target, answer=Answer.NO, rule=rule.name, reason=f"{why} ({rule.source})")
    listed = Listed(name for item in lists if item.target == _LISTS.get(target, target) for name in item.operators)
    notes = _notes(profile, target, fits)
    if not profile.op_types:
        reason = "the model's operators are not known: compile it to know"
        return Supported(target=target, answer=Answer.UNKNOWN, reason=reason, notes=notes)
    leaves = tuple(sorted(name for name in profile.op_types if not listed.has(name)))
    if not leaves:
        reason = f"all {len(profile.op_types)} kinds of its operators are on the target's list"
        return Supported(target=target, answer=Answer.YES, reason=reason, notes=notes)
    share, share_of = _share(profile, leaves, time_shares)
    shown = ", ".join(leaves[:5]) + (", ..." if len(leaves) > 5 else "")
    return Supported(
        target=target,
        answer=Answer.UNKNOWN,
        reason=f"not on the target's list, compile to know: {shown}",
        leaves=leaves,
        leaves_share=share,
        share_of=share_of,
        missing={}
        if share is not None
        else dict.fromkeys(("leaves_share", "share_of"), "its operators' costs are unknown"),
        notes=notes,
    )


def _share(
    profile: Profile, leaves: Iterable[str], time_shares: Mapping[str, float] | None
) -> tuple[float | None, str | None]:
    """Return what operators stand for: of the time where that is predicted, otherwise of the arithmetic."""
    gone = set(leaves)
    if time_shares:
        return min(1.0, sum(share for name, share in time_shares.items() if name in gone)), "time"
    total = sum(op.ops_count * op.flops for op in profile.ops)
    if total <= 0:
        return None, None
    return min(1.0, sum(op.ops_count * op.flops for op in profile.ops if op.op_type in gone) / total), "flops"


def _notes(profile: Profile, target: Target, fits: Iterable[ModelFit]) -> tuple[str, ...]:
    """Return what is known beyond the lists: the family's fit, and settings that the rules ask to try."""
    family = family_of(profile)
    out = []
    for fit in fits:
        if fit.target == target and fit.family == family:
            limits = f" ({fit.note})" if fit.note else ""
            out.append(f"{family}: fit {fit.fit}, {fit.support} when AWS told it in 2023{limits}")
    if target is Target.INFERENTIA1 and family in ("cnn", "transformer encoder"):
        out.append("at batch 1 try pipeline cores beside batches and measure: ResNet-50 was slower with them (0.70x)")
    return tuple(out)
