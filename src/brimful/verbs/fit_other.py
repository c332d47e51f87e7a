"""fit for what is no model: live video, and tasks on FPGAs. Nothing is predicted here but by published figures."""

from __future__ import annotations

from importlib.metadata import version

from brimful.advise.fit.fpga import FpgaAnswer, fpga, task
from brimful.advise.fit.transcode import Transcoding, streams, transcode
from brimful.advise.fit.video import video
from brimful.catalog import Catalog, load
from brimful.config import Config
from brimful.journal.write import Writer, new_run
from brimful.model.evidence import Source
from brimful.model.hardware import Offer
from brimful.model.noun import Noun, noun
from brimful.model.text import readable_path
from brimful.model.work import Arrivals, Mode, Workload
from brimful.verbs.doctor import newest_price

_WRITTEN = 20


@noun
class Transcoded(Noun):
    """What transcodes so many streams, and the run whose journal has what it rests on."""

    run: str
    journal: str
    region: str
    form: str
    streams: int
    found: Transcoding


@noun
class OnFpga(Noun):
    """What there is for a task on FPGAs, and the run whose journal has what it rests on."""

    run: str
    journal: str
    region: str
    found: FpgaAnswer


def transcoding(config: Config, form: str, count: str, *, command: tuple[str, ...] = ()) -> Transcoded:
    """Rank what transcodes so many live streams of a form, such as 1080p60."""
    wanted, number = video(form), streams(count)
    catalog, region, offers = _market(config)
    found = transcode(wanted, number, offers, catalog.fitted)
    workload = Workload(
        model=f"transcode {form}",
        mode=Mode.TRANSCODE,
        arrivals=Arrivals(
            total_count=number,
            missing={"queries_per_s": "streams do not come one by one", "trace": "no file of arrivals was given"},
        ),
    )
    run, journal = _written(config, catalog, workload, [item.instance for item in found.answers], offers, command)
    return Transcoded(run=run, journal=journal, region=region, form=form, streams=number, found=found)


def on_fpga(config: Config, what: str, *, command: tuple[str, ...] = ()) -> OnFpga:
    """Say what there is for a task on FPGAs, such as fpga:genomics."""
    name = task(what)
    catalog, region, offers = _market(config)
    found = fpga(name, offers)
    workload = Workload(model=what, mode=Mode.COMMAND)
    run, journal = _written(config, catalog, workload, [item.instance for item in found.offers], offers, command)
    return OnFpga(run=run, journal=journal, region=region, found=found)


def _market(config: Config) -> tuple[Catalog, str, list[Offer]]:
    catalog = load(config.path("catalog_dir"))
    region = config.text("region") or "us-east-1"
    return catalog, region, [offer for offer in catalog.offers if offer.region == region]


def _written(
    config: Config,
    catalog: Catalog,
    workload: Workload,
    named: list[str],
    offers: list[Offer],
    command: tuple[str, ...],
) -> tuple[str, str]:
    """Write down what the answer rests on, and return the run and its folder."""
    with Writer.create(config.path("run_dir"), new_run(version("brimful"), command)) as writer:
        dated = newest_price(catalog.offers).isoformat()
        writer.append(Source(what="catalogue", where="shipped and refreshed", dated=dated))
        writer.append(workload)
        wanted = set(named[:_WRITTEN])
        for offer in offers:
            if offer.instance in wanted:
                writer.append(offer)
    return writer.run.run, readable_path(writer.directory)
