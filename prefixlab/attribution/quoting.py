"""Text from the log in a row's evidence."""

from __future__ import annotations

from os.path import commonprefix

_LONGEST = 60


def quoted(text: str) -> str:
    """The text in quotes. Only what cannot be shown is escaped: a backslash is the log's own, as in a tool's JSON."""
    return f"'{''.join([char if char.isprintable() else repr(char)[1:-1] for char in text])}'"


def around_blanks(text: str, other: str) -> str:
    """What of a text is around the first place where it differs from another in blanks, each blank to be seen."""
    at = len(commonprefix([text, other]))  # noqa: RUF071 - texts, not paths
    start, end = max(at - _LONGEST // 3, 0), at + _LONGEST // 3
    seen = text[start:end].replace(" ", "\u00b7")
    return f"{'...' if start else ''}{quoted(seen)}{'...' if end < len(text) else ''}"


def shortened(text: str) -> str:
    """The text in quotes on one line, its end left out where it is long."""
    shown = " ".join(text.split())
    return quoted(shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "...")
