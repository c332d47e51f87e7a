"""Instance types that cannot be had any more, or not in us-east-1: the judgement, and the evidence for each.

The lists: EC2's DescribeInstanceTypes of all regions as recorded by moto every week or month since 2021, its offerings
of 30 regions (2026-08-01: none of the types in ABSENT is offered in any), and Karpenter's generated list of types. A
type with accelerators that has left the lists is withdrawn, "absent" since the first list without it, unless AWS
announced a date. A type without accelerators that has left them stays unknown: it may still be had by those who ask,
and nothing here would recommend it anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from brimful.model.hardware import DeviceKind, Fitted, Status, WithdrawalEvidence
from brimful.model.units import MIB

ANNOUNCED, ABSENT_SINCE = WithdrawalEvidence.ANNOUNCED, WithdrawalEvidence.ABSENT


@dataclass(frozen=True, kw_only=True)
class Absent:
    """What is known of a type that EC2 no longer describes."""

    status: Status
    on: date | None = None
    by: WithdrawalEvidence | None = None
    accelerators: tuple[Fitted, ...] = ()
    successors: tuple[str, ...] = ()
    note: str
    sources: tuple[str, ...]


def _gpu(model: str, count: int, mib: int, usable: int | str) -> tuple[Fitted, ...]:
    return _fit(model, "NVIDIA", DeviceKind.GPU, count, mib, usable)


def _fit(model: str, vendor: str, kind: DeviceKind, count: int, mib: int, usable: int | str) -> tuple[Fitted, ...]:
    missing = {"cores": "EC2 lists no cores for it"}
    if isinstance(usable, str):
        missing["usable_memory_bytes"] = usable
    return (
        Fitted(
            model=model,
            vendor=vendor,
            kind=kind,
            count=count,
            share=1.0,
            memory_bytes=mib * MIB,
            usable_memory_bytes=None if isinstance(usable, str) else usable * MIB,
            missing=missing,
        ),
    )


_UNSEEN = "no captured output of the driver shows what is left of the nominal size"


def _withdrawn(
    on: date,
    by: WithdrawalEvidence,
    note: str,
    sources: tuple[str, ...],
    types: dict[str, tuple[tuple[Fitted, ...], tuple[str, ...]]],
) -> dict[str, Absent]:
    """Spell out a family: {type: (what it holds, what takes its place)}."""
    return {
        name: Absent(
            status=Status.WITHDRAWN,
            on=on,
            by=by,
            accelerators=held,
            successors=successors,
            note=note,
            sources=sources,
        )
        for name, (held, successors) in types.items()
    }


# Successors are our choice, the nearest available size first: AWS's notices name families at most ("newer generation G
# or P" for P3, "newer generation G" for G3), and AWS's own test suites went from P3 to G5 and from G3 to G4dn.
_DL1 = _withdrawn(
    date(2026, 7, 11),
    ABSENT_SINCE,
    "Last listed by EC2 on 2026-07-02; AWS's Well-Architected text still recommends it. No announcement was found.",
    ("moto-2026-07", "karpenter-types", "hl-smi"),
    {
        "dl1.24xlarge": (
            _fit("Gaudi", "Intel", DeviceKind.GAUDI, 8, 32768, 32768),
            ("trn1.32xlarge", "p4d.24xlarge", "g6e.48xlarge"),
        )
    },
)
_P3 = _withdrawn(
    date(2025, 12, 20),
    ANNOUNCED,
    "AWS asked its customers to leave P3 by this date; EC2 last listed it on 2026-04-01. p3dn is still listed.",
    ("p3-notice", "moto-2026-04"),
    {
        "p3.2xlarge": (_gpu("V100", 1, 16384, _UNSEEN), ("g6.2xlarge", "g5.2xlarge", "g6e.2xlarge")),
        "p3.8xlarge": (_gpu("V100", 4, 16384, _UNSEEN), ("g6.12xlarge", "g5.12xlarge", "g6e.12xlarge")),
        "p3.16xlarge": (_gpu("V100", 8, 16384, _UNSEEN), ("p4d.24xlarge", "g6e.48xlarge", "g5.48xlarge")),
    },
)
_NO_ALLOCATOR = "an FPGA has no allocator: the design decides"
_F1 = _withdrawn(
    date(2025, 12, 20),
    ANNOUNCED,
    "AWS retired F1 on this date; EC2 last listed it on 2026-04-01.",
    ("f1-notice", "moto-2026-04"),
    {
        "f1.2xlarge": (_fit("VU9P", "Xilinx", DeviceKind.FPGA, 1, 65536, _NO_ALLOCATOR), ("f2.6xlarge",)),
        "f1.4xlarge": (_fit("VU9P", "Xilinx", DeviceKind.FPGA, 2, 65536, _NO_ALLOCATOR), ("f2.12xlarge",)),
        "f1.16xlarge": (_fit("VU9P", "Xilinx", DeviceKind.FPGA, 8, 65536, _NO_ALLOCATOR), ("f2.48xlarge",)),
    },
)
_P2 = _withdrawn(
    date(2025, 3, 30),
    ABSENT_SINCE,
    "Last listed by EC2 on 2025-03-16. AWS's own test suites left it in 2024 because it would be retired.",
    ("moto-2025-03", "p2-hint"),
    {
        "p2.xlarge": (_gpu("K80", 1, 12288, _UNSEEN), ("g4dn.xlarge", "g6.xlarge", "g5.xlarge")),
        "p2.8xlarge": (_gpu("K80", 8, 12288, _UNSEEN), ("g4dn.metal", "g6.48xlarge", "g5.48xlarge")),
        "p2.16xlarge": (_gpu("K80", 16, 12288, _UNSEEN), ("g6.48xlarge", "g5.48xlarge", "p4d.24xlarge")),
    },
)
_G3 = _withdrawn(
    date(2025, 10, 31),
    ANNOUNCED,
    "AWS retired G3 by this date; who had none could start none since 2024-11, when EC2's list no longer had it.",
    ("g3-notice", "moto-2024-11"),
    {
        "g3s.xlarge": (_gpu("M60", 1, 8192, _UNSEEN), ("g4dn.xlarge", "g6f.xlarge", "g6.xlarge")),
        "g3.4xlarge": (_gpu("M60", 1, 8192, _UNSEEN), ("g4dn.4xlarge", "g6.4xlarge", "g5.4xlarge")),
        "g3.8xlarge": (_gpu("M60", 2, 8192, _UNSEEN), ("g4dn.12xlarge", "g6.12xlarge", "g5.12xlarge")),
        "g3.16xlarge": (_gpu("M60", 4, 8192, _UNSEEN), ("g4dn.12xlarge", "g6.24xlarge", "g5.24xlarge")),
    },
)
_G2 = _withdrawn(
    date(2023, 10, 8),
    ABSENT_SINCE,
    "Last listed by EC2 on 2023-10-01. No announcement was found.",
    ("moto-2023-10",),
    {
        "g2.2xlarge": (_gpu("K520", 1, 4096, _UNSEEN), ("g4dn.2xlarge", "g6f.2xlarge", "g6.2xlarge")),
        "g2.8xlarge": (_gpu("K520", 4, 4096, _UNSEEN), ("g4dn.12xlarge", "g6.12xlarge", "g5.12xlarge")),
    },
)


def _left(last: str, *sources: str, also: str = "") -> Absent:
    note = f"EC2 last listed it on {last} and offers it in no region (2026-08-01), yet it has a price.{also}"
    return Absent(status=Status.UNKNOWN, note=note, sources=("offered", *sources))


_UNKNOWN = {
    "i3.metal": _left("2025-07-20", "moto-2025-07", "i3-hint", also=" AWS has called it deprecated."),
    "u-9tb1.112xlarge": _left("2025-06-22", "moto-2025-06"),
    "u-12tb1.112xlarge": _left("2025-06-22", "moto-2025-06"),
    "u-18tb1.112xlarge": _left("2025-06-22", "moto-2025-06"),
    "u-24tb1.112xlarge": _left("2025-06-22", "moto-2025-06"),
    "cr1.8xlarge": Absent(
        status=Status.UNKNOWN,
        note="No recorded answer of EC2's API (since 2021-02-22) has ever described it, yet it has a price.",
        sources=("offered", "moto-2020-04"),
    ),
}

# Types with a price that EC2 no longer describes: 16 withdrawn, 6 unknown.
ABSENT: dict[str, Absent] = {**_DL1, **_P3, **_F1, **_P2, **_G3, **_G2, **_UNKNOWN}

# Types that EC2's list of 2026-08-02 describes, and whose end somebody has reported since: one report of a third party
# is no withdrawal while our own lists have the type, but enough to recommend it no more.
DOUBTED: dict[str, Absent] = {
    f"g4ad.{size}": Absent(
        status=Status.UNKNOWN,
        note=(
            "EC2 listed it on 2026-08-02; a report of 2026-09-11 says that AWS's list of types by region has it "
            "nowhere. No announcement was found: ask EC2 (brimful catalog refresh)."
        ),
        sources=("g4ad-report",),
    )
    for size in ("xlarge", "2xlarge", "4xlarge", "8xlarge", "16xlarge")
}

# Types that EC2 describes and offers elsewhere, but not in us-east-1 (2026-08-01): hence no price here.
_X8 = "ap-northeast-1, ap-northeast-2, ap-south-1, eu-north-1, eu-west-1, us-west-2"
_HPC7A = "eu-north-1, eu-west-1, eu-west-3, us-east-2"
OFFERED_IN: dict[str, str] = {
    "dl2q.24xlarge": "eu-central-1, us-west-2",
    "hpc6a.48xlarge": "ap-southeast-1, ap-southeast-2, eu-north-1, us-east-2",
    "hpc6id.32xlarge": "eu-north-1, eu-west-3, us-east-2",
    "hpc7a.12xlarge": _HPC7A,
    "hpc7a.24xlarge": _HPC7A,
    "hpc7a.48xlarge": _HPC7A,
    "hpc7a.96xlarge": _HPC7A,
    "hpc8a.96xlarge": "ap-northeast-1, eu-north-1, us-east-2",
    "p5e.48xlarge": "ap-southeast-2, ap-southeast-3, eu-north-1, eu-west-2, sa-east-1, us-east-2, us-west-2",
    "trn2.3xlarge": "ap-southeast-4, sa-east-1",
    "trn2.48xlarge": "us-east-2",
    "x8aedz.large": _X8,
    "x8aedz.xlarge": _X8,
    "x8aedz.3xlarge": _X8,
    "x8aedz.6xlarge": _X8,
    "x8aedz.12xlarge": _X8,
    "x8aedz.24xlarge": _X8,
    "x8aedz.metal-12xl": _X8,
    "x8aedz.metal-24xl": _X8,
}
