"""Where the lines of a file start, so that the place of each of its characters is known."""

from __future__ import annotations

import re
from bisect import bisect_right

from prefixlab.prompt_templates import Place


class FileLines:
    """A file's text, and where its lines start."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.starts = [0, *[found.end() for found in re.finditer("\n", text)]]

    def place(self, offset: int) -> Place:
        """The place of a character."""
        line = bisect_right(self.starts, offset)
        return Place(self.path, line, offset - self.starts[line - 1] + 1)
