"""Text from a log, made fit to be shown: nothing in it acts on a terminal, all of it is visible, its width is known.

Names, values, ids and tags of a report were written by whoever wrote the log. What a terminal would obey (control
characters, escape sequences, bidi overrides) and what nobody would see (zero-width characters, odd blanks) is spelled
out as an escape. Widths are counted in terminal cells, so that East Asian text and emoji stay in their columns.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

ELLIPSIS = "…"

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_MARKS = frozenset({"Mn", "Me"})
_MOST_MARKS = 2
"""Combining marks kept on one character: scripts need them, a tower of them covers the lines above and below."""

_HELD = "\u00a0"
"""A blank that no line is broken at; neutral text has none of its own."""


def _is_invisible(code: int) -> bool:
    """Characters that count as printable and yet show nothing."""
    return (
        code in (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0)
        or 0x180B <= code <= 0x180F
        or 0xFE00 <= code <= 0xFE0F
        or 0xE0000 <= code <= 0xE0FFF
    )


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return _NAMED.get(char) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@lru_cache(maxsize=4096)
def _spelled(char: str) -> str:
    """The character itself, or its escape where it must not be shown as it is."""
    return char if char.isprintable() and not _is_invisible(ord(char)) else _escape(char)


def neutral(text: str) -> str:
    """The text with everything spelled out that acts or hides: one line, safe to print."""
    if text.isascii() and text.isprintable():
        return text
    out: list[str] = []
    marks = _MOST_MARKS
    for char in text:
        if unicodedata.category(char) in _MARKS:
            marks += 1
            # A mark with nothing before it would sit on what the report prints there.
            out.append(_spelled(char) if marks <= _MOST_MARKS else _escape(char))
        else:
            marks = 0
            out.append(_spelled(char))
    return "".join(out)


@lru_cache(maxsize=4096)
def _char_cells(char: str) -> int:
    code = ord(char)
    if unicodedata.category(char) in _MARKS or 0x1160 <= code <= 0x11FF:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cells(text: str) -> int:
    """Terminal cells that a neutral text takes."""
    return len(text) if text.isascii() else sum([_char_cells(char) for char in text])


def cut(text: str, width: int) -> str:
    """As much of the front of the text as fits into `width` cells."""
    if text.isascii():
        return text[:width]
    used = 0
    for at, char in enumerate(text):
        used += _char_cells(char)
        if used > width:
            return text[:at]
    return text


def shown(text: str, width: int) -> str:
    """The text neutral and at most `width` cells wide; what is left out leaves an ellipsis."""
    # A value may be megabytes long; marks take no cells, so a little more than `width` characters is looked at.
    whole = neutral(text[: 4 * width + 4])
    return whole if cells(whole) <= width else cut(whole, width - 1) + ELLIPSIS


def shown_end(text: str, width: int) -> str:
    """The same of a path, of which the end tells most: what is left out is at its front."""
    whole = neutral(text[-(4 * width + 4) :])
    if cells(whole) <= width and len(text) <= 4 * width + 4:
        return whole
    while cells(whole) > width - 1:
        whole = whole[max((cells(whole) - width + 1) // 2, 1) :]
    return ELLIPSIS + whole


def pad(text: str, width: int) -> str:
    """The text filled up with blanks to `width` cells."""
    return text + " " * (width - cells(text))


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells, broken at blanks, or inside a word that is wider than a line.

    A number and its per cent sign stay together.
    """
    if " %" in text:
        held = wrapped(text.replace(" %", f"{_HELD}%"), width)
        return [line.replace(_HELD, " ") for line in held]
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        if line and cells(line) + 1 + cells(word) <= width:
            line += " " + word
            continue
        if line:
            lines.append(line)
        while cells(word) > width:
            head = cut(word, width) or word[0]
            lines.append(head)
            word = word[len(head) :]
        line = word
    return [*lines, line] if line or not lines else lines


def bulleted(said: str, width: int) -> list[str]:
    """An item of a list: the text wrapped behind a dash."""
    return [("    " if at else "  - ") + line for at, line in enumerate(wrapped(said, width - 4))]


def without_surrogates(text: str) -> str:
    """The text as UTF-8 can hold it: a lone surrogate becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
