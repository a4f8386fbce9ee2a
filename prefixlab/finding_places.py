"""Where on its line a finding stands: the line's text, and the columns of the expression."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from prefixlab.errors import PrefixlabError
from prefixlab.lint_findings import LintFinding
from prefixlab.template_files import TemplateFile

_LINE_BREAK = re.compile("\r\n|\r|\n")
_OPENING = re.compile(r"\{%[-+~]?|\$?\{+[-~]?[&#^]?|\$")
"""The marks that an expression can stand in; `$` without braces has none behind."""
_KEYWORD = re.compile(r"\s*[a-z]*\s*")


class SourceLines:
    """The lines of all files in which findings stand: those given, and those that they include."""

    def __init__(self) -> None:
        self._files: dict[str, TemplateFile] = {}
        self._lines: dict[str, list[str]] = {}

    def add(self, file: TemplateFile) -> None:
        """A file that has been read already."""
        self._files[file.path] = file

    def line(self, path: str, number: int) -> str:
        """A line, counted from 1; empty where there is none."""
        lines = self._lines.get(path)
        if lines is None:
            try:
                file = self._files.get(path) or TemplateFile.read(path)
                lines = _LINE_BREAK.split(file.text)
            except PrefixlabError:
                lines = []
            self._lines[path] = lines
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def placed(self, finding: LintFinding) -> LintFinding:
        """A finding with its line."""
        line = self.line(finding.at.path, finding.at.line)
        if finding.ends_at or not finding.source:
            return replace(finding, line_text=line)
        source = finding.source
        if finding.at.path.endswith(".json") and source not in line:
            # As JSON writes it, with its escapes.
            source = next((one for one in _escaped(source) if one in line), source)
        starts, ends = expression_span(line, finding.at.column - 1, source)
        return replace(finding, line_text=line, starts_at=starts + 1, ends_at=ends + 1)


def _escaped(source: str) -> list[str]:
    return [json.dumps(source, ensure_ascii=is_ascii)[1:-1] for is_ascii in (False, True)]


def expression_span(line: str, start: int, source: str) -> tuple[int, int]:
    """From where to where on its line the expression at fault stands, of what begins at `start`.

    Where it is all that its marks hold, but for a keyword, they belong to it. Where it is not found, because it is
    written in another way or goes on on the next line, all from the marks on counts.
    """
    if line.startswith(source, start):
        return start, start + len(source)
    marks = _OPENING.match(line, start)
    if marks is None:
        return start, len(line)
    closing = "%}" if "%" in marks[0] else "}" * marks[0].count("{")
    close = line.find(closing, marks.end()) if closing else -1
    found = _found(line, marks.end(), source)
    if found is None or 0 <= close < found[0]:
        return start, close + len(closing) if close >= 0 else len(line)
    if not closing:
        return start, found[1]
    close = line.find(closing, found[1])
    behind = line[found[1] : close if close >= 0 else len(line)]
    is_all = _KEYWORD.fullmatch(line, marks.end(), found[0]) is not None and not behind.strip(" \t-+~")
    if not is_all:
        return found
    return start, close + len(closing) if close >= 0 else len(line)


def _found(line: str, start: int, source: str) -> tuple[int, int] | None:
    """Where a source stands first, whatever blanks are in it."""
    at = line.find(source, start)
    if at >= 0:
        return at, at + len(source)
    wanted = "".join(source.split())
    solid = [number for number in range(start, len(line)) if not line[number].isspace()]
    at = "".join([line[number] for number in solid]).find(wanted)
    return None if at < 0 or not wanted else (solid[at], solid[at + len(wanted) - 1] + 1)
