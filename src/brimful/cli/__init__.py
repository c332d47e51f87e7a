"""The command line: one module per verb, no logic; each parses, calls its verb and hands the record to report."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from brimful.cli.app import run  # noqa: PLC0415 - importing brimful.cli alone stays free of click

    sys.exit(run(sys.argv[1:]))
