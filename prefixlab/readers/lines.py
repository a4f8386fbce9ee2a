"""Lines of text as records."""

from __future__ import annotations


class ServerLine(str):
    """A line that a server wrote into its text log, as opposed to a prompt of a text file."""

    __slots__ = ()
