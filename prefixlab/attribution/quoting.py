"""Text from the log in a row's evidence."""

from __future__ import annotations

_LONGEST = 60


def quoted(text: str) -> str:
    """The text in quotes. Only what cannot be shown is escaped: a backslash is the log's own, as in a tool's JSON."""
    return f"'{''.join([char if char.isprintable() else repr(char)[1:-1] for char in text])}'"


def shortened(text: str) -> str:
    """The text in quotes on one line, its end left out where it is long."""
    shown = " ".join(text.split())
    return quoted(shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "...")
