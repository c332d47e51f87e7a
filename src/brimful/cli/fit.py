"""`brimful fit`: which hardware for this workload."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from brimful.cli.session import Session, verb
from brimful.model.errors import StorageError, UsageError
from brimful.model.text import readable_path

_FILE = click.Path(path_type=Path)


@verb("fit", "region")
@click.argument("model", required=False)
@click.option("--name", help="A model by its name (bert-large, resnet50) instead of a file.")
@click.option("--dim", multiple=True, metavar="NAME=SIZE", help="Bind a size that the model's file leaves open.")
@click.option("--image-size", type=int, metavar="PIXELS", help="The side of the model's images.")
@click.option("--seq", type=int, metavar="TOKENS", help="The tokens of one pass.")
@click.option("--qps", metavar="RATE", help="Requests a second.")
@click.option("--arrivals", metavar="FILE", help="Requests at the times of a file.")
@click.option("--p50", metavar="TIME", help="The median latency to keep, e.g. 20ms.")
@click.option("--p99", metavar="TIME", help="The 99th percentile to keep, e.g. 50ms.")
@click.option("--offline", metavar="COUNT", help="So many items, all there from the start, e.g. 200M.")
@click.option("--within", metavar="TIME", help="With --offline: when they must be done, e.g. 6h.")
@click.option("--tokens-in", type=int, metavar="TOKENS", help="The prompt of a request to a language model.")
@click.option("--tokens-out", type=int, metavar="TOKENS", help="The tokens that a request writes.")
@click.option("--ttft", metavar="TIME", help="The time to the first token to keep, e.g. 500ms.")
@click.option("--tpot", metavar="TIME", help="The time of each further token to keep, e.g. 40ms.")
@click.option("--train", is_flag=True, help="Train it: --dataset samples, --epochs times.")
@click.option("--dataset", metavar="COUNT", help="The samples of the training data, e.g. 1.2M.")
@click.option("--epochs", metavar="COUNT", help="Passes over them.")
@click.option("--data", metavar="KIND:SIZE", help="One item of the input, e.g. jpeg:110KB.")
@click.option("--transcode", metavar="FORM", help="Transcode live video instead, e.g. 1080p60.")
@click.option("--streams", metavar="COUNT", help="With --transcode: the streams at once.")
@click.option("--task", metavar="fpga:NAME", help="What there is for a task on FPGAs.")
@click.option("--device", metavar="NAME", help="Predict for this device alone.")
@click.option("--engine", metavar="NAME", help="Only this engine.")
@click.option("--precision", metavar="NAME", help="Only this precision.")
@click.option("--batch", type=int, metavar="COUNT", help="Only this batch.")
@click.option("--allow-int8", is_flag=True, help="Consider int8, which may cost accuracy.")
@click.option("--spot", is_flag=True, help="At spot prices, where they are known.")
@click.option("--reserved-factor", type=float, metavar="SHARE", help="What you pay of on-demand, e.g. 0.6.")
@click.option("--device-facts", type=_FILE, metavar="FILE", help="Devices of your own (docs/fit-devices.md).")
@click.option("--measured", type=_FILE, metavar="FILE", help="Measurements of your own, which correct predictions.")
@click.option("--queries", type=_FILE, metavar="FILE", help="Answer each line of a file of queries.")
@click.option("--explain", metavar="INSTANCE", help="Show one instance type in full.")
@click.option("--html", type=_FILE, metavar="FILE", help="Write the answer as a page, with its chart.")
@click.option("--top", type=int, metavar="COUNT", help="Rows to show. [default: 10; with --json all]")
def command(session: Session, **options: Any) -> int:
    """Say which hardware a MODEL needs, what it costs, and how sure that is.

    MODEL is an ONNX file, a config.json of Hugging Face, a safetensors file, or a name such as timm:convnext_base.
    Everything is computed here, from the catalogue and what was published; nothing is rented or fetched.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # the matrices are small: threads only wait for each other
        os.environ.setdefault(name, "1")
    if options["queries"] is not None:
        return _queries(session, options)
    if options["transcode"] is not None or options["task"] is not None:
        return _other(session, options)
    if options["streams"] is not None:
        raise UsageError(
            "--streams stands alone",
            why="it counts the streams of --transcode",
            fix="add e.g. --transcode 1080p60, or leave it out",
        )
    if options["device"] is not None:
        return _one(session, options)
    return _ranking(session, options)


def _own(options: dict[str, Any]) -> Any:
    from brimful.verbs.fit import Own  # noqa: PLC0415

    return Own(device_facts=options["device_facts"], measured=options["measured"])


def _model(options: dict[str, Any]) -> Any:
    from brimful.verbs.fit import Model  # noqa: PLC0415

    path, name = options["model"], options["name"]
    if (path is None) == (name is None):
        both = path is not None
        raise UsageError(
            "a model is given twice" if both else "no model is named",
            why=f"{path} as a file, and --name {name}" if both else "fit answers for one model",
            fix="leave out one of them" if both else "name a file (model.onnx), or a model: --name resnet50",
        )
    return Model(path=path, name=name)


def _queries(session: Session, options: dict[str, Any]) -> int:
    from brimful.report import fit_queries as drawn  # noqa: PLC0415
    from brimful.verbs.fit import queries  # noqa: PLC0415

    if options["model"] or options["name"]:
        raise UsageError(
            "--queries names its models itself",
            why="each line of the file has a model of its own",
            fix="leave out MODEL and --name",
        )
    found, warnings = queries(session.config, options["queries"], _own(options))
    for warning in warnings:
        session.warn(warning)
    lines = drawn.json_lines(found) if session.as_json else drawn.text_lines(found)
    for some in lines:
        session.answer(some)
    return 0


def _one(session: Session, options: dict[str, Any]) -> int:
    from brimful.advise.fit.request import read  # noqa: PLC0415
    from brimful.report import fit_queries as drawn  # noqa: PLC0415
    from brimful.verbs.fit import predict  # noqa: PLC0415

    found = predict(session.config, _model(options), read(options), _own(options), command=("brimful", *sys.argv[1:]))
    for warning in found.warnings:
        session.warn(warning)
    session.answer(drawn.one_json(found) if session.as_json else drawn.one(found))
    return 0


def _other(session: Session, options: dict[str, Any]) -> int:
    from brimful.report import fit_other as drawn  # noqa: PLC0415
    from brimful.report import json  # noqa: PLC0415
    from brimful.verbs.fit_other import on_fpga, transcoding  # noqa: PLC0415

    named = [name for name in ("transcode", "task", "model", "name", "queries", "device") if options[name] is not None]
    if len(named) > 1:
        raise UsageError(
            f"{_spelt(named[0])} and {_spelt(named[1])} contradict one another",
            why="video, a task on FPGAs and a model are three questions",
            fix="ask one of them",
        )
    typed = ("brimful", *sys.argv[1:])
    if options["task"] is not None:
        told = on_fpga(session.config, options["task"], command=typed)
        session.answer(json.answer("fpga", told) if session.as_json else drawn.fpga(told.found, told.journal))
        return 0
    found = transcoding(session.config, options["transcode"], options["streams"] or "1", command=typed)
    if session.as_json:
        session.answer(json.answer("transcode", found))
    else:
        session.answer(drawn.transcoding(found.found, found.form, found.streams, found.journal, options["top"]))
    return 0


def _spelt(name: str) -> str:
    return "MODEL" if name == "model" else f"--{name}"


def _ranking(session: Session, options: dict[str, Any]) -> int:
    from brimful.advise.fit.request import read  # noqa: PLC0415
    from brimful.report import fit as drawn  # noqa: PLC0415
    from brimful.report import fit_html, fit_json  # noqa: PLC0415
    from brimful.verbs.fit import fit  # noqa: PLC0415

    request, top = read(options), options["top"]
    found = fit(
        session.config,
        _model(options),
        request,
        _own(options),
        explained=options["explain"],
        command=("brimful", *sys.argv[1:]),
    )
    for warning in found.warnings:
        session.warn(warning)
    if options["html"] is not None:
        _write(options["html"], fit_html.page(found))
    session.answer(fit_json.text(found, top or 0) if session.as_json else drawn.text(found, top or drawn.ROWS))
    return 0


def _write(path: Path, page: str) -> None:
    try:
        path.write_text(page, "utf-8")
    except OSError as error:
        raise StorageError(
            f"the page {readable_path(path)} cannot be written",
            why=error.strerror or str(error),
            fix="name a file in a folder that is there and can be written",
        ) from error
