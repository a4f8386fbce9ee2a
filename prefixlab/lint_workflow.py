"""`lint`: templates found, read, laid out as prompts, and checked by the rules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

from prefixlab import __version__
from prefixlab.changed_lines import ChangedLines
from prefixlab.earlier_lint import EarlierLint
from prefixlab.errors import PrefixlabError
from prefixlab.finding_places import SourceLines
from prefixlab.lint_baseline import Baseline
from prefixlab.lint_findings import LintFinding, LintReport, RuleSheet, TemplateFigures
from prefixlab.lint_rules import Rule
from prefixlab.misplacement import called
from prefixlab.prompt_templates import Hole, PromptTemplate, Volatility, walk
from prefixlab.records import TEMPLATE, TOKEN_BYTES, Chat, Location, Origin, Request, Segment
from prefixlab.registry import engine_named, known_rules
from prefixlab.served_models import ServedModel, ServedModels
from prefixlab.suppressions import Suppressions
from prefixlab.template_discovery import TemplateFiles, read_templates
from prefixlab.template_measures import Budget, Judge, Measured, measured
from prefixlab.template_values import Fit, Values

DEFAULT_TOKENIZER = "o200k_base"
FILLERS = ("17", "Qx")
"""Two unlike values: tokens ahead of a hole that both leave alone stay whatever the value is."""
TAIL = 200
"""Characters ahead of a hole that a value can change tokens of, by far."""


@dataclass(frozen=True, slots=True)
class LintSettings:
    """The options of `lint`, with the defaults of the command line."""

    tokenizer: str = DEFAULT_TOKENIZER
    chat_template: str = "auto"
    engine: str = "vllm"
    block_size: int | None = None
    engine_options: Mapping[str, object] = field(default_factory=dict)
    offline: bool = False
    select: tuple[str, ...] = ()
    """Codes or beginnings of codes, such as PL1; empty: the rules that are on by default."""
    ignore: tuple[str, ...] = ()
    dialect: str | None = None
    search_paths: tuple[str, ...] = ()
    jinja_filters: tuple[str, ...] = ()
    volatility: Mapping[str, str] = field(default_factory=dict)
    """Variable, or a pattern of variables, to a word of the scale."""
    values: str | None = None
    """A file of values, one JSON object a line."""
    exclude: tuple[str, ...] = ()
    budgets: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Path or pattern of paths to `min_stable_tokens` and `max_stranded_tokens`; of several the last counts."""
    baseline: str | None = None
    """A file of findings that are known."""
    write_baseline: str | None = None
    """A file to write what is found to; it is all known from then on."""
    diff: str | None = None
    """A revision of Git: only what was changed since is looked at."""
    against: str | None = None
    """An earlier run, saved as JSON, whose figures are set beside."""

    def __post_init__(self) -> None:
        if self.diff is not None and self.write_baseline is not None:
            raise PrefixlabError(
                "--write-baseline with --diff would forget what was not changed", "Leave one of them out"
            )
        for pattern, budget in self.budgets.items():
            for key, tokens in budget.items():
                if key not in BUDGET_KEYS or type(tokens) is not int or tokens < 0:
                    known = " and ".join(BUDGET_KEYS)
                    raise PrefixlabError(
                        f"the budget {key} = {tokens!r} of {pattern} cannot be", f"Give {known} as whole numbers"
                    )


BUDGET_KEYS = ("min_stable_tokens", "max_stranded_tokens")


class _Linted(NamedTuple):
    """What was found in a template."""

    file: str
    """The file through which it was read."""
    figures: TemplateFigures
    findings: list[LintFinding]
    suppressed: int


def lint(
    paths: Sequence[str],
    settings: LintSettings,
    model: Model | None = None,
    texts: Mapping[str, str] | None = None,
) -> LintReport:
    """Check the templates at paths: files, and folders in which templates are looked for. `model` is one that is
    loaded already; `texts` count in place of what the disk has, by real path.

    Raises:
        PrefixlabError: a path is not there, or a template cannot be read.
    """
    rules = chosen_rules(settings.select, settings.ignore)
    engine = engine_named(settings.engine, settings.engine_options, settings.block_size)
    # A baseline that is written anew owes nothing to the one before.
    known_file = settings.baseline if settings.write_baseline is None else None
    known = None if known_file is None else Baseline.read(known_file)
    files = TemplateFiles.found(
        paths,
        dialect=settings.dialect,
        roots=settings.search_paths,
        own_names=settings.jinja_filters,
        exclude=settings.exclude,
        texts=texts,
    )
    values = None if settings.values is None else Values.read(settings.values)
    declared = declared_volatility(settings.volatility)
    earlier = None if settings.against is None else EarlierLint.read(settings.against)
    changed = None if settings.diff is None else ChangedLines.since(settings.diff, paths)
    model = model or Model(settings)
    linted: list[_Linted] = []
    known_at: dict[tuple[str, int, int], int] = {}
    """Where in `linted` the template at a place stands; a file of prompts names others that are linted themselves."""
    suppressions, lines = Suppressions(), SourceLines()
    notes: dict[str, None] = {}
    fits: dict[str, Fit] = {}
    for file, dialect in files:
        lines.add(file)
        own = suppressions.of(file)
        judge = Judge({**declared, **own.volatility}, {} if values is None else values.distinct)
        for template in read_templates(file, dialect):
            notes.update(dict.fromkeys(template.notes))
            place = (os.path.realpath(template.path), template.at.line, template.at.column)
            at = known_at.setdefault(place, len(linted))
            if at < len(linted) and template.path != file.path:
                continue
            if at < len(linted) and linted[at].file == file.path:
                # A file may make several prompts of one text.
                at = len(linted)
            found = model.measure(template, judge, engine.granularity, engine.min_tokens)
            fit = None if values is None else values.fit(template)
            figures = _figures(found, model, values, fit)
            if fit is not None:
                fits[called(found)] = fit
            found = found._replace(budget=_budget(settings.budgets, figures))
            findings: list[LintFinding] = []
            suppressed = 0
            is_changed = changed is None or changed.has_any(_files_of(template))
            for rule in rules:
                for finding in rule.check(found):
                    if suppressions.accepts(finding):
                        suppressed += 1
                    elif (is_changed and rule.is_of_template) or _is_on_changed_line(finding, changed):
                        findings.append(finding)
            linted[at : at + 1] = [_Linted(file.path, figures, findings, suppressed)]
    if values is not None:
        notes.update(dict.fromkeys(values.notes(fits)))
    findings = [lines.placed(finding) for finding in _distinct([one for each in linted for one in each.findings])]
    new = findings if known is None else known.without_known(findings)
    if known is not None and changed is None and (gone := known.gone(findings, [file.path for file, _ in files])):
        said = "1 finding" if gone == 1 else f"{gone:,} findings"
        notes[f"The baseline knows {said} that {'is' if gone == 1 else 'are'} gone: write it again."] = None
    if settings.write_baseline is not None:
        Baseline.of(findings, settings.write_baseline).write([file.path for file, _ in files])
        new = []
    return LintReport(
        files=len(files),
        findings=tuple(new),
        templates=tuple([each.figures if earlier is None else earlier.beside(each.figures) for each in linted]),
        tokenizer=model.name,
        engine=engine.name,
        block_size=engine.granularity,
        suppressed=sum([each.suppressed for each in linted]),
        known=len(findings) - len(new),
        notes=(*notes, *files.notes, *(changed.notes if changed is not None else ())),
        rules=tuple([rule.sheet for rule in rules]),
        version=__version__,
        since=settings.diff or "",
        against=settings.against or "",
    )


def _budget(budgets: Mapping[str, Mapping[str, int]], figures: TemplateFigures) -> Budget | None:
    """What the project demands of a template; None where it says nothing."""
    demanded: dict[str, int] = {}
    for pattern, budget in budgets.items():
        path = os.path.abspath(figures.path) if os.path.isabs(pattern) else os.path.relpath(figures.path)
        if fnmatchcase(path.replace(os.sep, "/"), pattern):
            demanded.update(budget)
    if not demanded:
        return None
    least, most = [demanded.get(key) for key in BUDGET_KEYS]
    return Budget(least, most, figures.stable_tokens, figures.stranded_tokens)


def _is_on_changed_line(finding: LintFinding, changed: ChangedLines | None) -> bool:
    return changed is None or changed.has(finding.at) or changed.has(finding.rendered_at)


def _files_of(template: PromptTemplate) -> set[str]:
    """The files that a template is made of."""
    return {template.path, *[part.at.path for part in walk(template.parts)]}


def rule_sheets(code: str | None) -> list[RuleSheet]:
    """What there is to say of all rules, or of those that a code, the beginning of one or a name chooses.

    Raises:
        PrefixlabError: there is no such rule.
    """
    rules = [rule.sheet for rule in known_rules().values()]
    if code is None:
        return rules
    chosen = [rule for rule in rules if code and code.upper() in (rule.code[: len(code)], rule.name.upper())]
    if not chosen:
        raise PrefixlabError(f"there is no rule {code!r}", "prefixlab rules lists them")
    return chosen


def chosen_rules(select: Sequence[str], ignore: Sequence[str]) -> list[Rule]:
    """The rules that are looked for.

    Raises:
        PrefixlabError: a code is of no rule.
    """
    rules = list(known_rules().values())
    for code in (*select, *ignore):
        if not any(rule.code.startswith(code) or rule.name == code for rule in rules):
            raise PrefixlabError(f"there is no rule {code!r}", "prefixlab rules lists them")

    def is_one_of(rule: Rule, codes: Sequence[str]) -> bool:
        return any(rule.code.startswith(code) or rule.name == code for code in codes)

    return [
        rule
        for rule in rules
        if (is_one_of(rule, select) if select else rule.is_default) and not is_one_of(rule, ignore)
    ]


def declared_volatility(said: Mapping[str, str]) -> dict[str, Volatility]:
    """The scale's words as the scale.

    Raises:
        PrefixlabError: a word is none of the scale.
    """
    found = {}
    for name, word in said.items():
        try:
            found[name] = Volatility[word.upper()]
        except KeyError:
            scale = ", ".join([one.name.lower() for one in Volatility])
            raise PrefixlabError(f"volatility {name} = {word!r} cannot be", f"Give one of: {scale}") from None
    return found


class Model:
    """The tokenizer and the chat template that templates are laid out for."""

    def __init__(self, settings: LintSettings) -> None:
        self._models = ServedModels(
            (settings.tokenizer,), chat_template=settings.chat_template, offline=settings.offline
        )
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


def _figures(found: Measured, model: Model, values: Values | None, fit: Fit | None) -> TemplateFigures:
    template = found.template
    stable = found.stable_tokens
    if values is not None and fit is not None and fit.bodies:
        stable = values.common_prefix(fit, model.served)
    return TemplateFigures(
        template.path,
        template.name,
        template.dialect,
        stable,
        stable // found.block_size,
        found.stranded_tokens,
        sum([isinstance(sight.part, Hole) for sight in found.sights]),
        0 if fit is None else len(fit.bodies),
    )


def _distinct(findings: Sequence[LintFinding]) -> list[LintFinding]:
    """Findings by place; of those of one rule at one place, which several templates render, the gravest."""
    kept: dict[Any, LintFinding] = {}
    for finding in findings:
        key = (os.path.realpath(finding.at.path), finding.at[1:], finding.code)
        if key not in kept or finding.stable_tokens_after > kept[key].stable_tokens_after:
            kept[key] = finding
    return sorted(kept.values(), key=lambda finding: finding.order)
