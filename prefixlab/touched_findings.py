"""Which findings a change is answerable for: those on its lines, and those that it made or made graver elsewhere.

Stable text that is written or moved behind a clock strands as much as a clock that is moved ahead of it, and what Git
calls a line that was changed depends on which of two lines it takes for the moved one. So where a template was changed
and a finding stands on a line that was not, the template is read as it was, too: what was found there as well and
strands as much is no matter of this change.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from prefixlab.changed_lines import ChangedLines
from prefixlab.contracts import Dialect
from prefixlab.errors import PrefixlabError
from prefixlab.lint_findings import LintFinding
from prefixlab.prompt_templates import PromptTemplate, walk
from prefixlab.suppressions import Suppressions
from prefixlab.template_checks import Checked, Checks
from prefixlab.template_files import TemplateFile

_Earlier = dict[tuple[str, str], list[int]]
"""Stable tokens behind each finding, the most first, by code and by what is at fault."""


class TouchedFindings:
    """The findings of a change, template by template."""

    def __init__(self, changed: ChangedLines, checks: Checks, revision: str) -> None:
        self._changed = changed
        self._checks = checks
        self._revision = revision
        self._of_template = {rule.code for rule in checks.rules if rule.is_of_template}
        self._suppressions = Suppressions(changed.earlier)

    def of(self, file: TemplateFile, dialect: Dialect, templates: list[Checked]) -> list[Checked]:
        """The templates of a file with the findings that the change is answerable for."""
        touched = [
            one if self._changed.has_any(_files_of(one.template)) else one._replace(findings=()) for one in templates
        ]
        if all(self._is_on_change(finding) for one in touched for finding in one.findings):
            return touched
        left = self._earlier(file, dialect)
        if left is None:
            return [
                one._replace(findings=tuple([each for each in one.findings if self._is_on_change(each)]))
                for one in touched
            ]
        kept: dict[int, LintFinding] = {}
        found = [finding for one in touched for finding in one.findings]
        # Of findings that look the same, the gravest now is the gravest then.
        for finding in sorted(found, key=lambda one: -one.stable_tokens_after):
            known = left[finding.code, finding.source]
            then = known.pop(0) if known else None
            if self._is_on_change(finding) or then is None:
                kept[id(finding)] = finding
            elif (more := finding.stable_tokens_after - then) >= self._checks.block_size:
                said = f"{finding.message}, {more:,} more than at {self._revision}"
                kept[id(finding)] = replace(finding, message=said)
        return [
            one._replace(findings=tuple([kept[id(each)] for each in one.findings if id(each) in kept]))
            for one in touched
        ]

    def _is_on_change(self, finding: LintFinding) -> bool:
        """Whether a finding is plainly of the change: on a line of it, or about all of a template."""
        on_line = self._changed.has(finding.at) or self._changed.has(finding.rendered_at)
        return on_line or finding.code in self._of_template

    def _earlier(self, file: TemplateFile, dialect: Dialect) -> _Earlier | None:
        """What was found in a file; None where it could not be read then."""
        found: _Earlier = defaultdict(list)
        try:
            then = TemplateFile.read(file.path, file.roots, file.own_names, self._changed.earlier)
            for one in self._checks.of(then, dialect, self._suppressions):
                for finding in one.findings:
                    found[finding.code, finding.source].append(finding.stable_tokens_after)
        except PrefixlabError:
            return None
        for tokens in found.values():
            tokens.sort(reverse=True)
        return found


def _files_of(template: PromptTemplate) -> set[str]:
    """The files that a template is made of."""
    return {template.path, *[part.at.path for part in walk(template.parts)]}
