"""aiconfigurator's sample of measured language-model serving: time to the first token and for each after it.

`batch` is the number of requests at once. The rate is requests a second that follow from the times: tokens a second in
the source are derived in the same way. The deployment's parallelism beyond `tp` is not said, so that `count` is `tp`
where the source has none.
"""

from __future__ import annotations

import re

from tools.fit_sources.clean import Cleaner, Raw, precision

_LENGTHS = re.compile(r"isl(\d+)-osl(\d+)")


def add(raw: Raw, into: Cleaner) -> None:
    """Clean one row."""
    chip = into.chip(raw["hardware"])
    batch, lengths = raw.number("batch"), _LENGTHS.search(raw["scenario"])
    if chip is None or batch is None or lengths is None:
        return
    engine, _, version = raw.notes["backend"].partition(" ")
    first, each = float(raw.notes["ttft_ms"]), float(raw.notes["tpot_ms"])
    tokens_out = int(lengths[2])
    latency = first + each * (tokens_out - 1)
    tensor, given = raw.notes["tp"], raw.number("count")
    if tensor == "nan" and given is None:
        into.drop("neither a count of GPUs nor a tensor-parallel degree")
        return
    count = int(given or float(tensor))
    flags = ["tp-unknown"] if tensor == "nan" else [f"tp{float(tensor):.0f}"]
    if given is None:
        flags.append("count-assumed")
    whole = tensor == "nan" or count == float(tensor)
    if not whole:
        flags.append("parallel-otherwise")
    into.keep(
        model=raw["model"],
        device=chip.model,
        count=count,
        engine=engine,
        version="" if version == "nan" else version,
        precision=precision(raw["precision"]),
        batch=int(batch),
        scenario="llm",
        tokens_in=int(lengths[1]),
        tokens_out=tokens_out,
        throughput_per_s=1000 * batch / latency if whole else None,
        latency_ms=latency,
        ttft_ms=first,
        tpot_ms=each,
        source="aiconfigurator",
        weight=0.5 if "parallel-otherwise" in flags else 1.0,
        flags="|".join(flags),
    )
