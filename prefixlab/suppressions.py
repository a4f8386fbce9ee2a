"""Comments in a template that accept a finding or declare how volatile a variable is.

`prefixlab: ignore[PL102] why` accepts findings of the rules on the lines that the comment is about, `ignore[PL1]` those
of a family; `prefixlab: ignore-file[PL102] why` accepts them in the whole file. `prefixlab: volatility
region=deployment` declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from prefixlab.errors import PrefixlabError
from prefixlab.file_lines import FileLines
from prefixlab.lint_findings import LintFinding
from prefixlab.prompt_templates import Place, Volatility
from prefixlab.registry import known_rules
from prefixlab.template_comments import comments_of
from prefixlab.template_files import BadTemplate, TemplateFile

_COMMENT = re.compile(
    r"prefixlab:\s*(?:(?P<what>ignore(?:-file)?)\b\s*(?:\[(?P<codes>[^\]\n]*)\])?|volatility\s+(?P<pairs>[^\n]*))"
)
_PAIR = re.compile(r"([\w.*-]+)\s*=\s*(\w+)")


class _Accepted(NamedTuple):
    codes: tuple[str, ...]
    lines: frozenset[int] | None
    """The lines that it is about; None for the whole file."""


class FileComments(NamedTuple):
    """What a file's comments say."""

    accepted: tuple[_Accepted, ...]
    volatility: Mapping[str, Volatility]
    notes: tuple[str, ...] = ()
    """What is said that cannot be meant."""


class Suppressions:
    """The comments of all files in which findings stand: those given, and those that they include."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._files: dict[str, FileComments] = {}
        self._texts = texts
        """Texts that count in place of what the disk has, by real path."""

    def of(self, file: TemplateFile) -> FileComments:
        """The comments of a file."""
        found = self._files.get(file.path)
        if found is None:
            found = self._files[file.path] = said_in(file)
        return found

    @property
    def notes(self) -> list[str]:
        """What the comments of all files say that cannot be meant."""
        return [note for comments in self._files.values() for note in comments.notes]

    def accepts(self, finding: LintFinding) -> bool:
        """Whether a comment where the finding is written, or where it enters the prompt, accepts it."""
        return any(self._accepts(place, finding.code) for place in (finding.at, finding.rendered_at))

    def _accepts(self, place: Place, code: str) -> bool:
        comments = self._files.get(place.path)
        if comments is None:
            try:
                comments = self.of(TemplateFile.read(place.path, texts=self._texts))
            except PrefixlabError:
                return False
        return any(
            (one.lines is None or place.line in one.lines) and code.startswith(one.codes) for one in comments.accepted
        )


def said_in(file: TemplateFile) -> FileComments:
    """What the comments of a file say.

    Raises:
        BadTemplate: a comment names a volatility that is none.
    """
    if "prefixlab:" not in file.text:
        return FileComments((), {})
    accepted: list[_Accepted] = []
    volatility: dict[str, Volatility] = {}
    notes: list[str] = []
    known = [rule.code for rule in known_rules().values()]
    lines = FileLines(file.path, file.text)
    for comment in comments_of(file):
        for found in _COMMENT.finditer(comment.text):
            if found["pairs"] is not None:
                volatility |= dict(_declared(found["pairs"], lines, comment.at + found.start("pairs")))
                continue
            codes = re.findall(r"\w+", (found["codes"] or "").upper())
            none = [code for code in codes if not any(one.startswith(code) for one in known)]
            if none or not codes:
                what = f"there is no rule {none[0]}" if none else "no rule is named"
                line = lines.place(comment.at + found.start()).line
                notes.append(f"{file.path}:{line}: {what}; a comment accepts those that it names: ignore[PL102] why.")
            if codes := [code for code in codes if code not in none]:
                accepted.append(_Accepted(tuple(codes), None if found["what"] == "ignore-file" else comment.lines))
    return FileComments(tuple(accepted), volatility, tuple(notes))


def _declared(pairs: str, lines: FileLines, at: int) -> Iterator[tuple[str, Volatility]]:
    for pair in _PAIR.finditer(pairs):
        name, word = pair.groups()
        if word.upper() not in Volatility.__members__:
            scale = ", ".join([one.name.lower() for one in Volatility])
            raise BadTemplate.at(
                lines.place(at + pair.start()), f"volatility {name}={word} cannot be", f"Give one of: {scale}"
            )
        yield name, Volatility[word.upper()]
