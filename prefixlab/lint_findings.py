"""The nouns of `lint`: a finding in a template, the report on the templates of a run, what a rule says of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import Place

Severity = Literal["high", "medium", "low", "info"]

SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low", "info")
"""The gravest first."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """A place of a template that costs reuse. Tokens are those of stable text, with the chat template around it."""

    code: str
    name: str
    severity: Severity
    at: Place
    """Where the expression at fault is written."""
    rendered_at: Place
    """Where it enters the prompt."""
    message: str
    field: str
    """The expression, or what it is called."""
    stable_tokens_before: int
    stable_tokens_after: int
    """Stable tokens that stand behind it and are lost with it."""
    blocks_before: int
    template: str
    """The template that renders it, by path and name."""
    fix: str | None = None
    source: str = ""
    """The expression as it is written, without the marks around it; empty where none is at fault."""
    line_text: str = ""
    """The line on which it is written."""
    starts_at: int = 0
    """The column of the expression: behind `at` where that is the tag or the statement of which it is a part."""
    ends_at: int = 0
    """The column behind the expression, and behind the marks around it where they hold nothing else, on its line; 0
    where it is not known."""

    @property
    def column(self) -> int:
        """The column that reports show."""
        return self.starts_at or self.at.column

    also_at: tuple[Place, ...] = ()
    """Where it enters the prompts of other templates, in which less is lost, or as much."""

    @property
    def order(self) -> tuple[str, int, int, str]:
        """By place."""
        return self.at.path, self.at.line, self.at.column, self.code


class TemplateFigures(NamedTuple):
    """What of a template every rendering shares from the first token on, and what stands behind."""

    path: str
    name: str
    dialect: str
    stable_tokens: int
    stable_blocks: int
    stranded_tokens: int
    """Stable tokens behind the first value that differs."""
    holes: int
    renderings: int = 0
    """Rows of values it was rendered with; 0 where the figures are from the text alone."""
    stable_tokens_then: int | None = None
    """In the run that it is compared with; None where that has no such template."""
    stranded_tokens_then: int | None = None
    assumed: tuple[str, ...] = ()
    """Variables and conditions that are taken for the same in all requests though nothing tells."""

    @property
    def called(self) -> str:
        """The template's path, and its name where the file has several."""
        return f"{self.path}:{self.name}" if self.name else self.path


class RuleSheet(NamedTuple):
    """What there is to say of a rule."""

    code: str
    name: str
    summary: str
    documentation: str
    bad: tuple[str, str]
    """An example that it finds: the name of a file, and its text."""
    good: tuple[str, str]
    """The same in order."""
    is_default: bool
    asked: str
    """Options that the examples need."""


@dataclass(frozen=True, slots=True)
class LintReport:
    """The answer of `lint`."""

    files: int
    findings: tuple[LintFinding, ...]
    templates: tuple[TemplateFigures, ...]
    tokenizer: str
    engine: str
    block_size: int
    suppressed: int = 0
    """Findings that a comment in the file accepts."""
    known: int = 0
    """Findings that the baseline has."""
    unread: tuple[PrefixlabError, ...] = ()
    """What is wrong with the files that could not be read as templates."""
    notes: tuple[str, ...] = field(default=())
    rules: tuple[RuleSheet, ...] = ()
    """The rules that were looked for."""
    version: str = ""
    since: str = ""
    """The revision since which a finding's line was changed; empty where all were looked at."""
    against: str = ""
    """The run that it is compared with."""

    def at_least(self, severity: Severity) -> bool:
        """Whether there is a finding as grave as that."""
        wanted = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return any(finding.severity in wanted for finding in self.findings)
