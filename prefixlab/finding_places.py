"""Where on its line a finding stands: the line's text, and the column behind the expression."""

from __future__ import annotations

import re
from dataclasses import replace

from prefixlab.errors import PrefixlabError
from prefixlab.lint_findings import LintFinding
from prefixlab.template_files import TemplateFile

_LINE_BREAK = re.compile("\r\n|\r|\n")


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
        return replace(finding, line_text=line, ends_at=finding.ends_at or _end(line, finding))


def _end(line: str, finding: LintFinding) -> int:
    """The column behind an expression: behind the braces that close as many as are opened ahead of it.

    0 where no expression is at fault; behind the line where it goes on on the next.
    """
    start = finding.at.column - 1
    if not finding.source:
        return 0
    found = line.find(finding.source, start)
    if found < 0:
        return len(line) + 1
    end = found + len(finding.source)
    opened = len(line[start:found]) - len(line[start:found].lstrip("${"))
    braces = line[start : start + opened].count("{")
    if braces:
        closing = line.find("}" * braces, end)
        end = closing + braces if closing >= 0 else len(line)
    return end + 1
