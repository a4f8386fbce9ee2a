"""Text that stands in a file, as it is or decoded from a value of JSON or YAML, and where each character of it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prefixlab.file_lines import FileLines
from prefixlab.prompt_templates import Choice, Expression, Hole, Loop, Part, Place, Text
from prefixlab.template_files import TemplateFile


class SourceText:
    """Text and, for each of its characters and its end, the offset in the file."""

    def __init__(self, text: str, lines: FileLines, offsets: Sequence[int]) -> None:
        self.text = text
        self._lines = lines
        self._offsets = offsets

    @classmethod
    def of_file(cls, file: TemplateFile, start: int = 0, end: int | None = None) -> SourceText:
        """A file's text from `start` to `end`."""
        end = len(file.text) if end is None else end
        return cls(file.text[start:end], FileLines(file.path, file.text), range(start, end + 1))

    @property
    def path(self) -> str:
        """The path of the file."""
        return self._lines.path

    @property
    def span(self) -> tuple[int, int]:
        """The offsets in the file of its first character and of its end."""
        return self._offsets[0], self._offsets[-1]

    def place(self, offset: int) -> Place:
        """Where in the file a character of the text stands."""
        return self._lines.place(self._offsets[offset])

    def part(self, start: int, end: int) -> SourceText:
        """The text from `start` to `end`."""
        return SourceText(self.text[start:end], self._lines, self._offsets[start : end + 1])

    def decoded(self, text: str, offsets: Sequence[int]) -> SourceText:
        """A text that is written here in another form; `offsets` are those of its characters and its end here."""
        return SourceText(text, self._lines, [self._offsets[one] for one in offsets])

    def text_part(self, start: int, end: int) -> Text:
        """The same as a part of a prompt."""
        return Text(self.text[start:end], self.place(start))

    def hole(self, expression: Expression, offset: int) -> Hole:
        """A hole whose expression is written at `offset` and enters there."""
        at = self.place(offset)
        return Hole(expression, at, at)


def moving(source: SourceText) -> Callable[[Place], Place]:
    """What gives the place in the file for one that was found in `source.text` as if it were the file."""
    starts = [0, *[at + 1 for at, character in enumerate(source.text) if character == "\n"]]

    def place(at: Place) -> Place:
        if at.path != source.path or at.line > len(starts):
            return at
        return source.place(min(starts[at.line - 1] + at.column - 1, len(source.text)))

    return place


def moved(parts: Sequence[Part], source: SourceText) -> tuple[Part, ...]:
    """Parts that were read from `source.text` as if it were the file, with the places that they have in the file."""
    place = moving(source)

    def move(part: Part) -> Part:
        if isinstance(part, Hole):
            return part._replace(at=place(part.at), entered_at=place(part.entered_at))
        if isinstance(part, Choice):
            return part._replace(
                at=place(part.at), arms=tuple([tuple([move(one) for one in arm]) for arm in part.arms])
            )
        if isinstance(part, Loop):
            return part._replace(at=place(part.at), body=tuple([move(one) for one in part.body]))
        return part._replace(at=place(part.at))

    return tuple([move(part) for part in parts])


def entered(parts: Sequence[Part], at: Place) -> tuple[Part, ...]:
    """Parts of another file, as they enter the prompt at the place that includes it."""

    def enter(part: Part) -> Part:
        if isinstance(part, Hole):
            return part._replace(entered_at=at)
        if isinstance(part, Choice):
            return part._replace(arms=tuple([entered(arm, at) for arm in part.arms]))
        if isinstance(part, Loop):
            return part._replace(body=entered(part.body, at))
        return part

    return tuple([enter(part) for part in parts])
