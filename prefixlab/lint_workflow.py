"""`lint`: templates found, read, laid out as prompts, and checked by the rules."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import glob
from typing import Any

from prefixlab import __version__
from prefixlab.changed_lines import ChangedLines
from prefixlab.earlier_lint import EarlierLint
from prefixlab.errors import PrefixlabError
from prefixlab.finding_places import SourceLines
from prefixlab.lint_baseline import Baseline
from prefixlab.lint_findings import LintFinding, LintReport, RuleSheet
from prefixlab.lint_rules import Rule
from prefixlab.number_words import counted
from prefixlab.prompt_templates import Volatility
from prefixlab.registry import engine_named, known_rules
from prefixlab.suppressions import Suppressions
from prefixlab.template_checks import BUDGET_KEYS, Checked, Checks, Model, budget_fits
from prefixlab.template_discovery import TemplateFiles
from prefixlab.template_files import BadTemplate
from prefixlab.template_values import Values
from prefixlab.touched_findings import TouchedFindings

DEFAULT_TOKENIZER = "o200k_base"


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
    keep_going: bool = False
    """Whether files that cannot be read are listed in the report while the others are checked, instead of raised."""

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
    rules = chosen_rules(settings.select, settings.ignore, asked=(BUDGET_RULE,) if settings.budgets else ())
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
    model = model or model_of(settings)
    checks = Checks(rules, model, engine.granularity, engine.min_tokens, declared, values, settings.budgets)
    touched = None if changed is None else TouchedFindings(changed, checks, settings.diff or "")
    linted = _Linted()
    whole: list[str] = []
    unread = list(files.unread)
    suppressions, lines = Suppressions(texts), SourceLines()
    for file, dialect in files:
        lines.add(file)
        found: list[Checked] = []
        try:
            for one in checks.of(file, dialect, suppressions):
                found.append(one)  # noqa: PERF402 - what came before a fault is kept
            whole.append(file.path)
        except BadTemplate as error:
            unread.append(error)
        linted.add(file.path, found if touched is None else touched.of(file, dialect, found))
    if unread and not (settings.keep_going and settings.write_baseline is None):
        raise unread[0]
    findings = [lines.placed(finding) for finding in linted.findings]
    new = _together(findings if known is None else known.without_known(findings))
    notes = linted.notes
    if values is not None:
        notes += values.notes({one.template.called: one.fit for one in linted.templates if one.fit is not None})
    if known is not None and changed is None and (gone := known.gone(findings, whole)):
        notes.append(
            f"The baseline knows {counted(gone, 'finding')} that {'is' if gone == 1 else 'are'} gone: write it again."
        )
    notes += suppressions.notes
    notes += _idle_budgets(settings.budgets, [file.path for file, _ in files])
    if settings.write_baseline is not None:
        Baseline.of(findings, settings.write_baseline).write([file.path for file, _ in files])
        new = []
    figures = [each.figures for each in linted.templates]
    return LintReport(
        files=len(files),
        findings=tuple(new),
        templates=tuple(figures if earlier is None else [earlier.beside(each) for each in figures]),
        tokenizer=model.name,
        engine=engine.name,
        block_size=engine.granularity,
        suppressed=sum([each.suppressed for each in linted.templates]),
        known=len(_together(findings)) - len(new),
        unread=tuple(unread),
        notes=(*notes, *files.notes, *(changed.notes if changed is not None else ())),
        rules=tuple([rule.sheet for rule in rules]),
        version=__version__,
        since=settings.diff or "",
        against=settings.against or "",
    )


BUDGET_RULE = "PL305"


def _idle_budgets(budgets: Iterable[str], paths: Iterable[str]) -> list[str]:
    """That budgets fit no file that there is: names change, and a budget of an old one holds nothing."""
    known = [*paths]
    idle = [one for one in budgets if not budget_fits(one, known) and not glob(one, recursive=True)]
    return [f"The budget of {one} fits no file." for one in idle]


def model_of(settings: LintSettings) -> Model:
    """The model that templates are laid out for."""
    return Model(settings.tokenizer, settings.chat_template, offline=settings.offline)


class _Linted:
    """The templates of all files, each once: a file of prompts names others that are linted themselves."""

    def __init__(self) -> None:
        self.templates: list[Checked] = []
        self._from: list[str] = []
        """The file through which each was read."""
        self._at: dict[tuple[str, int, int], int] = {}

    def add(self, path: str, found: Sequence[Checked]) -> None:
        """What was found in a file."""
        for one in found:
            template = one.template
            place = (os.path.realpath(template.path), template.at.line, template.at.column)
            at = self._at.setdefault(place, len(self.templates))
            if at < len(self.templates) and template.path != path:
                continue
            if at < len(self.templates) and self._from[at] == path:
                # A file may make several prompts of one text.
                at = len(self.templates)
            self.templates[at : at + 1] = [one]
            self._from[at : at + 1] = [path]

    @property
    def notes(self) -> list[str]:
        """What could not be followed, each once."""
        return [*dict.fromkeys([note for one in self.templates for note in one.template.notes])]

    @property
    def findings(self) -> list[LintFinding]:
        """By place; those of one rule at one place, which several templates render, one after another."""
        return sorted([each for one in self.templates for each in one.findings], key=lambda finding: finding.order)


def _together(findings: Iterable[LintFinding]) -> list[LintFinding]:
    """Of findings of one rule at one place, which several templates render, the gravest, with where else it enters."""
    by_place: dict[Any, list[LintFinding]] = {}
    for finding in findings:
        by_place.setdefault((os.path.realpath(finding.at.path), finding.at[1:], finding.code), []).append(finding)
    kept = []
    for same in by_place.values():
        gravest = max(same, key=lambda one: one.stable_tokens_after)
        entered = dict.fromkeys([one.rendered_at for one in same])
        kept.append(replace(gravest, also_at=tuple([at for at in entered if at != gravest.rendered_at])))
    return kept


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


def chosen_rules(select: Sequence[str], ignore: Sequence[str], asked: Sequence[str] = ()) -> list[Rule]:
    """The rules that are looked for: `asked` are those that another option asks for, beside those selected.

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
        if (is_one_of(rule, (*select, *asked)) if select else rule.is_default) and not is_one_of(rule, ignore)
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
