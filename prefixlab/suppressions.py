"""Comments in a template that accept a finding or declare how volatile a variable is.

`prefixlab: ignore[PL102] why` accepts findings of the rules on its own line; on a line that holds nothing else, on the
next line. `prefixlab: ignore-file[PL102] why` accepts them in the whole file. `prefixlab: volatility region=deployment`
declares. They are looked for line by line, for every dialect has comments of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from prefixlab.errors import PrefixlabError
from prefixlab.lint_findings import LintFinding
from prefixlab.prompt_templates import Place, Volatility
from prefixlab.template_files import BadTemplate, TemplateFile

_COMMENT = re.compile(r"prefixlab:\s*(?:(ignore(?:-file)?)\[([A-Z0-9, ]*)\]\s*([^\n]*)|volatility\s+([^\n]*))")
_PAIR = re.compile(r"([\w.*-]+)\s*=\s*(\w+)")
_ALONE = re.compile(r"[^\w]*prefixlab:")


class _Accepted(NamedTuple):
    codes: tuple[str, ...]
    line: int
    """The line it is about; 0 for the whole file."""


class FileComments(NamedTuple):
    """What a file's comments say."""

    accepted: tuple[_Accepted, ...]
    volatility: Mapping[str, Volatility]


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
            found = self._files[file.path] = comments_of(file)
        return found

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
        return any(one.line in (0, place.line) and code in one.codes for one in comments.accepted)


def comments_of(file: TemplateFile) -> FileComments:
    """The comments of a file.

    Raises:
        BadTemplate: a comment names a volatility that is none.
    """
    accepted: list[_Accepted] = []
    volatility: dict[str, Volatility] = {}
    if "prefixlab:" not in file.text:
        return FileComments((), {})
    for number, line in enumerate(file.text.splitlines(), 1):
        for found in _COMMENT.finditer(line):
            what, codes, _, pairs = found.groups()
            if pairs is not None:
                for name, word in _PAIR.findall(pairs):
                    if word.upper() not in Volatility.__members__:
                        scale = ", ".join([one.name.lower() for one in Volatility])
                        raise BadTemplate(
                            f"volatility {name}={word} cannot be", f"Give one of: {scale}", path=file.path, line=number
                        )
                    volatility[name] = Volatility[word.upper()]
                continue
            about = 0 if what == "ignore-file" else number + 1 if _ALONE.match(line) else number
            accepted.append(_Accepted(tuple(re.findall(r"[A-Z0-9]+", codes)), about))
    return FileComments(tuple(accepted), volatility)
