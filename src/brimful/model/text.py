"""Text that comes from outside and goes into records and onto terminals."""

from __future__ import annotations

import os
import shlex
import unicodedata


def readable_path(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    r"""Return a path as Unicode text; bytes that are none stand as \xNN, so that no name is unprintable."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def shell_path(path: str | os.PathLike[str]) -> str:
    """Return a path as a word for the shell that names the very same file, whatever bytes it has."""
    raw = os.fsencode(path)
    text = raw.decode("utf-8", "backslashreplace")
    if text.encode() == raw and printable(text) == text and "\n" not in text:
        return shlex.quote(text)
    kept = (chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\x{byte:02x}" for byte in raw)
    return f"$'{''.join(kept)}'"


def reason(error: Exception) -> str:
    """Return why a file could not be read, in words and not in Python's talk of codecs and error numbers."""
    if isinstance(error, UnicodeDecodeError):
        return f"it is not text in UTF-8 (byte {error.start})"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def unicode_text(text: str) -> str:
    r"""Return text that any record can hold: a byte that the system could not read as UTF-8 stands as \xNN."""
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        return "".join(_escape(char) if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def counted(number: int, thing: str) -> str:
    """Return a number of things in words: 1 machine, 3 machines."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def printable(text: str) -> str:
    """Return text that cannot steer a terminal: control and format characters become visible escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn") else _escape(char)
        for char in text
    )


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # how Python holds a byte of an argument or a path that is no UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def command_line(*words: str) -> str:
    """Return a command as a shell reads it: a word from outside is one word, whatever is in it."""
    return printable(shlex.join(words))
