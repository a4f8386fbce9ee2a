"""Templates checked: laid out as prompts with a served model around them, measured, and held against the rules."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from prefixlab.contracts import Dialect
from prefixlab.errors import PrefixlabError
from prefixlab.lint_findings import LintFinding, TemplateFigures
from prefixlab.lint_rules import Rule
from prefixlab.misplacement import field_of
from prefixlab.prompt_templates import Hole, PromptTemplate, Volatility
from prefixlab.records import TEMPLATE, TOKEN_BYTES, Chat, Location, Origin, Request, Segment
from prefixlab.served_models import ServedModel, ServedModels
from prefixlab.suppressions import Suppressions
from prefixlab.template_discovery import read_templates
from prefixlab.template_files import BadTemplate, TemplateFile
from prefixlab.template_measures import Budget, Judge, Measured, measured
from prefixlab.template_values import Fit, Values

FILLERS = ("17", "Qx")
"""Two unlike values: tokens ahead of a hole that both leave alone stay whatever the value is."""
TAIL = 200
"""Characters ahead of a hole that a value can change tokens of, by far."""

BUDGET_KEYS = ("min_stable_tokens", "max_stranded_tokens")


class Checked(NamedTuple):
    """A template, and what the rules found in it."""

    template: PromptTemplate
    figures: TemplateFigures
    findings: tuple[LintFinding, ...]
    suppressed: int
    """Findings that a comment accepts; they are not among the others."""
    fit: Fit | None
    """The renderings with the values that there are."""


@dataclass(frozen=True, slots=True)
class Checks:
    """What templates are held against."""

    rules: Sequence[Rule]
    model: Model
    block_size: int
    min_tokens: int
    declared: Mapping[str, Volatility]
    values: Values | None
    budgets: Mapping[str, Mapping[str, int]]

    def of(self, file: TemplateFile, dialect: Dialect, suppressions: Suppressions) -> Iterator[Checked]:
        """The templates of a file.

        Raises:
            BadTemplate: it cannot be read as what it is.
        """
        own = suppressions.of(file)
        distinct = {} if self.values is None else self.values.distinct
        judge = Judge({**self.declared, **own.volatility}, distinct)
        for template in read_templates(file, dialect):
            try:
                found = self.model.measure(template, judge, self.block_size, self.min_tokens)
            except PrefixlabError as error:
                # Such as a text that no tokenizer takes.
                raise BadTemplate.at(template.at, error.what, error.todo) from None
            fit = None if self.values is None else self.values.fit(template)
            figures = self._figures(found, fit)
            found = found._replace(budget=_budget(self.budgets, figures))
            findings = [finding for rule in self.rules for finding in rule.check(found)]
            left = tuple([finding for finding in findings if not suppressions.accepts(finding)])
            yield Checked(template, figures, left, len(findings) - len(left), fit)

    def _figures(self, found: Measured, fit: Fit | None) -> TemplateFigures:
        template = found.template
        stable, renderings = found.stable_tokens, 0
        if self.values is not None and fit is not None and fit.bodies:
            stable, renderings = self.values.common_prefix(fit, self.model.served), len(fit.bodies)
        return TemplateFigures(
            template.path,
            template.name,
            template.dialect,
            stable,
            stable // found.block_size,
            found.stranded_tokens,
            sum([isinstance(sight.part, Hole) for sight in found.sights]),
            renderings,
            assumed=()
            if renderings or template.is_chat_template
            else tuple(dict.fromkeys([field_of(sight) for sight in found.assumed])),
        )


def budget_fits(pattern: str, paths: Iterable[str]) -> bool:
    """Whether a budget's pattern is of one of these files."""
    for path in paths:
        whole = os.path.abspath(path) if os.path.isabs(pattern) else os.path.relpath(path)
        if fnmatchcase(whole.replace(os.sep, "/"), pattern):
            return True
    return False


def _budget(budgets: Mapping[str, Mapping[str, int]], figures: TemplateFigures) -> Budget | None:
    """What the project demands of a template; None where it says nothing."""
    demanded: dict[str, int] = {}
    for pattern, budget in budgets.items():
        if budget_fits(pattern, [figures.path]):
            demanded.update(budget)
    if not demanded:
        return None
    least, most = [demanded.get(key) for key in BUDGET_KEYS]
    return Budget(least, most, figures.stable_tokens, figures.stranded_tokens)


class Model:
    """The tokenizer and the chat template that templates are laid out for."""

    def __init__(self, tokenizer: str, chat_template: str = "auto", *, offline: bool = False) -> None:
        self._models = ServedModels((tokenizer,), chat_template=chat_template, offline=offline)
        self._served = next(iter(self._models.loaded.values()))
        self.name = self._served.tokenizer.name
        self._count = lru_cache(maxsize=65536)(self._counted)

    @property
    def served(self) -> ServedModel:
        return self._served

    def measure(self, template: PromptTemplate, judge: Judge, block_size: int, min_tokens: int = 0) -> Measured:
        """A template with its figures."""
        return measured(template, judge, self._layer, self._count, block_size, min_tokens)

    def _layer(self, messages: Sequence[tuple[str, str]]) -> list[tuple[str, bool]]:
        body = Chat([{"role": role, "content": text} for role, text in messages])
        renderer = self._served.renderer_of(body)
        rendering = renderer.render(Request("template", Location("", 1), body))
        return [(segment.text, segment.origin == TEMPLATE) for segment in rendering.segments]

    def _counted(self, text: str, is_template: bool, value_behind: bool) -> tuple[int, bool]:
        tokens = self._tokens(text, is_template)
        if not value_behind:
            return len(tokens) // TOKEN_BYTES, False
        # A value changes tokens near the end alone, but what is near depends on the words: compare whole lines.
        start = max(text.rfind("\n", 0, max(len(text) - TAIL, 0)), 0)
        tail = text[start:]
        ahead = len(self._tokens(text[:start], is_template)) if start else 0
        one, other = [self._tokens(tail + filler, False) for filler in FILLERS]
        same = 0
        while same < min(len(one), len(other)) and one[same : same + TOKEN_BYTES] == other[same : same + TOKEN_BYTES]:
            same += TOKEN_BYTES
        stay = (ahead + same) // TOKEN_BYTES
        return stay, stay < len(tokens) // TOKEN_BYTES

    def _tokens(self, text: str, is_template: bool) -> bytes:
        origin = TEMPLATE if is_template else Origin("text", "user")
        pieces = self._served.encoder.encode((Segment(text, origin),)) if text else ()
        return b"".join([piece.tokens for piece in pieces])
