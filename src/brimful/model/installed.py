"""How this brimful was installed, and so what to type to get it, or a file of it, back whole.

A clone is not repaired from a package index: that would put another version beside it, and leave the clone as it was.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from brimful.model.text import shell_path


def again() -> str:
    """Return the command that builds and installs this brimful anew, from where it came."""
    pip = f"{shlex.quote(sys.executable)} -m pip install"
    source, editable = _source()
    if source is None:
        return f"{pip} --force-reinstall --no-cache-dir --no-deps brimful"
    if not editable:
        return f"{pip} --force-reinstall --no-deps {shell_path(source)}"
    own = source / ".venv"
    if Path(sys.prefix).resolve() == own.resolve():  # what scripts/demo has made; a second run of it makes it anew
        return f"rm -rf {shell_path(own)} && {shell_path(source / 'scripts' / 'demo')}"
    return f"{pip} -e {shell_path(source)}"


def restored(file: Path) -> str:
    """Return the command that brings a shipped file back: a clone has it in its history, a package in its wheel."""
    source, editable = _source()
    if source is not None and editable and file.is_relative_to(source):
        return f"git -C {shell_path(source)} checkout -- {shell_path(file)}"
    return again()


def _source() -> tuple[Path | None, bool]:
    """Return the folder or file that brimful was installed from (None: an index), and whether it is used in place."""
    import json  # noqa: PLC0415 - here and below: whoever imports this module seldom needs them
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415

    try:
        told = json.loads(distribution("brimful").read_text("direct_url.json") or "{}")
        url, editable = urlsplit(told.get("url", "")), told.get("dir_info", {}).get("editable") is True
    except (PackageNotFoundError, ValueError, AttributeError):
        return None, False
    return (Path(unquote(url.path)), editable) if url.scheme == "file" else (None, False)
