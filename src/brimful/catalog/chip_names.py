"""The many names of a device: what drivers, sellers, kernels and data sets write, taken apart into what tells apart.

A name has a core ("a100", "i913900k", "ultra7155hnpu") and hints: memory size, form (SXM, PCIe, NVL) and watts. The
core must agree; hints choose among the devices that share one. What is left out is what everybody writes differently:
makers, brands, "(R)", "CPU @ 2.80GHz", "16-Core Processor", "with Radeon Graphics".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARKS = re.compile(r"\((?:r|tm|c)\)|[®™©]")
_PHRASES = re.compile(
    r"@.*?hz|\(\d+(?:\.\d+)?\s*ghz\)|\b\d+(?:st|nd|rd|th) gen\b|\b\d+-cores?\b"
    r"|\b(?:w/|with) .*graphics\b|\bwith radeon\b.*"
    r"|\(?\b\d*x?\d+[cg]\.\d+gb\b\)?|\bmig\b|^\s*\d+\s*x\s+"
)
_SIZE = re.compile(r"(\d+)(?:gi?b?)")
_WATTS = re.compile(r"(\d+)w")
_FORM = re.compile(r"(sxm)\d?|(pcie)")
_MEMORY = re.compile(r"hbm\d?e?|gddr\d\w?|lpddr\d\w?")
_MAKERS = frozenset(
    "nvidia amd intel arm apple aws amazon google qualcomm habana xilinx ampere corporation inc".split()  # noqa: SIM905
)
_BRANDS = frozenset("xeon platinum gold silver bronze geforce tesla instinct radeon core arc epyc".split())  # noqa: SIM905
_NOISE = frozenset(
    "cpu cpus gpu gpus processor processors graphics card accelerator ai only dgpu edition generation superchip "  # noqa: SIM905
    "virtualized the device blackwell lovelace".split()
)
_COMBINED = re.compile(r"\b(?:cpu|gpu|igpu|npu)\s*\+\s*(?:cpu|gpu|igpu|npu)\b")
_DIGITS = re.compile(r"\d+[a-z+]?")
_KEPT = {"epyc", "arc"}  # brands whose numbers mean nothing without them


@dataclass(frozen=True, slots=True)
class Name:
    """A name taken apart; "" and None stand for what it does not say."""

    core: str
    form: str = ""
    size_gib: int | None = None
    watts: int | None = None


def parse(text: str) -> Name | None:
    """Take a name apart; None when nothing in it names one device."""
    lower = _MARKS.sub(" ", text.lower())
    if _COMBINED.search(lower):
        return None
    words = [word for word in re.split(r"[^a-z0-9+]+", _PHRASES.sub(" ", lower)) if word.strip("+")]
    form, size, watts = "", None, None
    core: list[str] = []
    branded = False
    for word in _joined(words):
        branded = branded or word in _BRANDS
        if _FORM.fullmatch(word):
            form = word
        elif match := _SIZE.fullmatch(word):
            size = int(match[1])
        elif match := _WATTS.fullmatch(word):
            watts = int(match[1])
        elif word == "cts":  # a custom thermal solution: the 500 W variant of the A100
            watts = 500
        elif word in _KEPT or not (word in _MAKERS or word in _BRANDS or word in _NOISE or _MEMORY.fullmatch(word)):
            core.append(word)
    joined = "".join(core)
    if not joined or joined in _KEPT or (_DIGITS.fullmatch(joined) and not branded):
        return None
    return Name(joined, form, size, watts)


def _joined(words: list[str]) -> list[str]:
    """Join a number and the unit behind it: "80 gb" is "80gb"."""
    out: list[str] = []
    for word in words:
        if word in ("gb", "gib") and out and out[-1].isdigit():
            out[-1] += "gb"
        else:
            out.append(word)
    return out


def likeness(asked: Name, known: Name, memory_gib: float | None, watts: float | None) -> int:
    """Say how well hints agree; `memory_gib` and `watts` are the device's own, for what its name does not say."""
    score = 0
    if asked.form and known.form:
        score += 8 if asked.form[:3] == known.form[:3] else -8
        score += 1 if asked.form == known.form else 0  # SXM2 and SXM3 differ, and plain SXM is either
    size = known.size_gib or memory_gib
    if asked.size_gib and size:
        score += 4 if abs(asked.size_gib - size) <= 0.04 * size else -4
    limit = known.watts or watts
    if asked.watts and limit:
        score += 2 if abs(asked.watts - limit) < 1 else -2
    return score
