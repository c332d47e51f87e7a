"""The command line: one module per verb, no logic; each parses, calls its verb and hands the record to report."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and end the process with its exit code; an interrupt counts from here on, imports too."""
    try:
        from brimful.cli.app import run  # noqa: PLC0415 - importing brimful.cli alone stays free of click

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
