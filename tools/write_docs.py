"""Write the parts of the docs that the code knows: help blocks, tables of settings, the schema, the demo's output.

    python -m tools.write_docs            writes them
    python -m tools.write_docs --check    says which are out of date, and exits with 1

A Markdown file marks such a part with a comment, and the fenced block behind it is the part:

    <!-- written: help brimful audit -->
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

import click
import msgspec

from brimful.cli.app import app, run
from brimful.config import KEYS, load
from brimful.journal.schema import VERSION, json_schema
from brimful.report import audit as drawn
from brimful.report import catalog as drawn_catalog
from brimful.verbs.audit import Sources, audit
from brimful.verbs.catalog import show

ROOT = Path(__file__).parent.parent
_PART = re.compile(r"(<!-- written: (?P<words>[^\n]+) -->\n+```\w*\n)(?:.*?\n)??(```\n)", re.DOTALL)
_RUN = re.compile(r"\d{8}T\d{6}-[0-9a-f]{8}")


def commands() -> dict[str, click.Command]:
    """Return every command by its full name, groups included."""
    found: dict[str, click.Command] = {"brimful": app}

    def walk(path: str, group: click.Group) -> None:
        context = click.Context(group, info_name=path)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if command is not None:
                found[f"{path} {name}"] = command
                if isinstance(command, click.Group):
                    walk(f"{path} {name}", command)

    walk("brimful", app)
    return found


def _help(name: str) -> str:
    command = commands()[name]
    context = click.Context(
        command, info_name=name, max_content_width=80, terminal_width=80, **command.context_settings
    )
    return command.get_help(context)


def _settings(_: str) -> str:
    lines = []
    for key in KEYS:
        value = f"one of {', '.join(key.choices)}" if key.choices else "a path" if key.path else "a text"
        default = f"; default {key.default}" if key.default else ""
        lines.append(f"{key.name:12} {key.variable:20} {key.doc}\n{'':33} {value}{default}")
    return "\n".join(lines)


def _demo(_: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        config = load({"run_dir": f"{folder}/runs", "catalog_dir": f"{folder}/catalog"}, env={"HOME": folder})
        found = drawn.text(audit(config, Sources(example=True), today=date(2026, 11, 19)))
    return _RUN.sub("20261119T060000-0123abcd", found.replace(folder, "~/.local/state/brimful")).strip()


def _catalog(words: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        config = load({"catalog_dir": folder}, env={"HOME": folder})
        return drawn_catalog.text(show(config, words.split())).strip()


def _fit(words: str) -> str:
    """Return what `fit` prints, with one run's name for all, as for a terminal of 80 columns."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(_Narrow()) as out:
        old = {name: os.environ.get(name) for name in _PLACES}
        os.environ.update({name: f"{folder}/{place}" for name, place in _PLACES.items()}, COLUMNS="80")
        try:
            run(["fit", *shlex.split(words)])
        finally:
            for name, value in old.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
    found = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).replace(folder, "~/.local/state/brimful")
    lines = "\n".join(line.rstrip() for line in found.strip().splitlines())
    return f"$ brimful fit {words}\n" + _RUN.sub("20261119T060000-0123abcd", lines)


_PLACES = {"BRIMFUL_RUN_DIR": "runs", "BRIMFUL_CATALOG_DIR": "catalog", "HOME": "."}


class _Narrow(io.StringIO):
    """A terminal, so that what is drawn keeps to its columns."""

    def isatty(self) -> bool:
        return True


PARTS: dict[str, Callable[[str], str]] = {
    "help": _help,
    "settings": _settings,
    "demo": _demo,
    "catalog": _catalog,
    "fit": _fit,
}


def rewritten(markdown: str) -> str:
    """Return a page with every marked part written anew."""

    def part(match: re.Match[str]) -> str:
        kind, _, rest = match["words"].partition(" ")
        return f"{match[1]}{PARTS[kind](rest)}\n{match[3]}"

    return _PART.sub(part, markdown)


def pages() -> list[Path]:
    """Return every page of the docs."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def out_of_date() -> dict[Path, str]:
    """Return what should be written differently: file -> content."""
    wanted = {page: rewritten(page.read_text("utf-8")) for page in pages()}
    schema = json.dumps(json.loads(msgspec.json.encode(json_schema())), indent=1, sort_keys=True) + "\n"
    wanted[ROOT / "docs" / "schema" / f"journal.v{VERSION}.json"] = schema
    return {path: new for path, new in wanted.items() if not path.is_file() or path.read_text("utf-8") != new}


def main() -> int:
    """Write, or with --check only tell."""
    with contextlib.redirect_stdout(io.StringIO()):  # pages are drawn as for a file, not for the terminal of the writer
        stale = out_of_date()
    for path, content in stale.items():
        print(path.relative_to(ROOT))
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
