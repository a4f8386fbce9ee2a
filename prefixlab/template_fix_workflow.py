"""`fix` on a template: lines with a misplaced value set behind the stable text, measured before they are offered."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from prefixlab.compare_workflow import CompareSettings, compare_templates
from prefixlab.contracts import Dialect
from prefixlab.destination import Destination
from prefixlab.errors import PrefixlabError
from prefixlab.lint_findings import SEVERITIES, LintFinding, LintReport
from prefixlab.lint_workflow import DEFAULT_TOKENIZER, LintSettings, declared_volatility, lint, model_of
from prefixlab.prompt_templates import PromptTemplate
from prefixlab.template_discovery import TemplateFiles, read_templates
from prefixlab.template_files import TemplateFile
from prefixlab.template_fix_summary import KeptLine, MovedLine, Reuse, TemplateFixSummary
from prefixlab.template_measures import Judge
from prefixlab.template_rewriting.diffs import mark_of, unified
from prefixlab.template_rewriting.edits import Refused
from prefixlab.template_rewriting.moved_lines import TemplateLines, same_but_moved
from prefixlab.template_values import Values

DIALECTS = ("jinja2", "promptflow", "prompty", "mustache", "messages")
"""Dialects whose prompts are lines of text in a file."""

_LOGS = (".json", ".jsonl", ".ndjson", ".csv", ".log", ".txt")
"""Endings of what is a log unless it is said to be a template."""


@dataclass(frozen=True, slots=True)
class TemplateFixSettings(CompareSettings):
    """The options of `fix` on a template: those of `compare`, and how volatile variables are."""

    volatility: Mapping[str, str] = field(default_factory=dict)


def is_template(path: str, settings: TemplateFixSettings) -> bool:
    """Whether a path is of a template rather than of a log."""
    if settings.dialect is not None or settings.values is not None:
        return True
    if not os.path.isfile(path) or path.endswith(_LOGS):
        return False
    try:
        return len(_found(path, settings)) == 1
    except PrefixlabError:
        return False


def dialect_of_log(path: str, settings: TemplateFixSettings) -> str | None:
    """The dialect that a file would be a template of, were it said to be one; None where there is none."""
    try:
        return next((dialect.name for _, dialect in _found(path, settings)), None) if os.path.isfile(path) else None
    except PrefixlabError:
        return None


def fix_template(path: str, settings: TemplateFixSettings, destination: Destination | None) -> TemplateFixSummary:
    """Look for lines to move; write the template with them to a destination, if there is one and something is gained.

    Raises:
        PrefixlabError: the template cannot be read, is of a dialect without lines, or its values do not fit.
    """
    file, dialect = next(iter(_found(path, settings)))
    if dialect.name not in DIALECTS:
        raise PrefixlabError(
            f"is of {dialect.name}, where fix moves nothing",
            f"lint names the places; fix moves lines of {', '.join(DIALECTS)}",
            path=path,
        )
    fix = _Fix(file, dialect, settings)
    found = fix.summary()
    if destination is None or not found.moved:
        return found
    destination.write(fix.document(path))
    return replace(found, written_to=destination.named)


def _found(path: str, settings: TemplateFixSettings, texts: Mapping[str, str] | None = None) -> TemplateFiles:
    return TemplateFiles.found(
        [path],
        dialect=settings.dialect,
        roots=settings.search_paths,
        own_names=settings.jinja_filters,
        texts=texts,
    ).whole()


class _Fix:
    """One template, and the lines of it that can be moved."""

    def __init__(self, file: TemplateFile, dialect: Dialect, settings: TemplateFixSettings) -> None:
        self._file, self._dialect, self._settings = file, dialect, settings
        known = {one.name for one in fields(LintSettings)} & {one.name for one in fields(TemplateFixSettings)}
        self._lint = LintSettings(
            **{name: getattr(settings, name) for name in known},
            tokenizer=next(iter(settings.tokenizers), DEFAULT_TOKENIZER).rpartition("=")[2],
            select=("PL1",),
        )
        self._model = model_of(self._lint)
        self._values = None if settings.values is None else Values.read(settings.values)
        self._text = file.text
        self._template = self._read(file.text)

    def _read(self, text: str) -> PromptTemplate:
        file = TemplateFile(
            self._file.path, text, self._file.roots, self._file.own_names, {os.path.realpath(self._file.path): text}
        )
        templates = list(read_templates(file, self._dialect))
        if len(templates) != 1:
            raise PrefixlabError(
                f"makes {len(templates)} prompts", "fix moves lines of files that make one", path=file.path
            )
        return templates[0]

    def summary(self) -> TemplateFixSummary:
        """What is moved; `document` is the file with it."""
        before = self._linted(self._file.text)
        chosen, kept = self._chosen(before)
        was = now = Reuse(before.templates[0].stable_tokens)
        moved: list[LintFinding] = []
        if chosen:
            was, now = self._reuse(self._with(chosen))
            moved = chosen if _gains(was, now) else []
            while moved:
                # Lines that add nothing to what the others give stay.
                idle = next((one for one in moved if len(moved) > 1 and self._is_idle(one, moved, now)), None)
                if idle is None:
                    break
                moved = [one for one in moved if one is not idle]
                kept.append(_kept(idle, "moving it too gains nothing"))
        if not moved:
            kept += [_kept(one, "moving it gains nothing") for one in chosen]
            now = was
        text = self._with(moved) if moved else self._file.text
        self._text = text
        return TemplateFixSummary(
            path=self._file.path,
            dialect=self._dialect.name,
            moved=tuple(
                [MovedLine(one.rendered_at.line, self._line(one), one.field) for one in sorted(moved, key=_line_of)]
            ),
            kept=tuple(sorted(kept, key=lambda one: (one.path, one.line))),
            before=was,
            after=now,
            renderings=0 if self._values is None else len(self._values.rows),
            diff=unified([(self._file.path, self._file.text, text)]),
            tokenizer=self._model.name,
        )

    def document(self, path: str) -> bytes:
        """The bytes of the file with the lines moved."""
        return (mark_of(path) + self._text).encode(self._file.encoding)

    def _linted(self, text: str) -> LintReport:
        return lint([self._file.path], self._lint, self._model, {os.path.realpath(self._file.path): text})

    def _line(self, finding: LintFinding) -> str:
        return self._file.text.split("\n")[finding.rendered_at.line - 1].rstrip("\r")

    def _chosen(self, report: LintReport) -> tuple[list[LintFinding], list[KeptLine]]:
        """The lines that can be moved, each by its gravest finding, in the order in which they are to stand, and the
        others."""
        if self._template.is_chat_template:
            return [], [_kept(one, "a chat template is the model's own") for one in report.findings]
        gravest: dict[int, LintFinding] = {}
        kept = []
        for one in report.findings:
            if one.rendered_at.path != self._file.path or one.at.path != self._file.path:
                kept.append(_kept(one, "it is written in a file that this one includes"))
            elif _grave(one) < _grave(gravest.setdefault(one.rendered_at.line, one)):
                gravest[one.rendered_at.line] = one
        chosen: list[LintFinding] = []
        # What differs least often stands first, so that it strands no more than it must.
        for one in sorted(gravest.values(), key=lambda one: (-_grave(one), one.rendered_at.line)):
            try:
                self._with([*chosen, one])
                chosen.append(one)
            except Refused as why:
                kept.append(_kept(one, str(why)))
        return chosen, kept

    def _with(self, chosen: Sequence[LintFinding]) -> str:
        """The text with the lines moved.

        Raises:
            Refused: one belongs where it stands, or the template is another then.
        """
        if self._file.path.endswith(".json"):
            raise Refused(
                "it is a part of a JSON string: put it at the end of that string, behind its last \\n, by hand"
            )
        judge = Judge(declared_volatility(self._settings.volatility), {})
        lines = TemplateLines(
            self._file.text,
            self._template,
            lambda hole: judge(hole).sort == "question",
            lambda hole: judge(hole).sort == "unknown",
        )
        text = lines.with_moved([one.rendered_at.line for one in chosen])
        try:
            made = self._read(text)
        except PrefixlabError as error:
            raise Refused(f"without it the file cannot be read ({error.what})") from None
        if not same_but_moved(self._template, made) or not self._renders_same(made):
            raise Refused("behind the stable text it would render otherwise")
        return text

    def _renders_same(self, made: PromptTemplate) -> bool:
        """Whether the values give the same lines in each message."""
        if self._values is None or self._template.render is None or made.render is None:
            return True
        return all([_lines_of(self._template, row) == _lines_of(made, row) for row in self._values.rows])

    def _reuse(self, text: str) -> tuple[Reuse, Reuse]:
        """What is reused before and after: of the renderings, or of the text where there are none."""
        stable = [self._linted(one).templates[0].stable_tokens for one in (self._file.text, text)]
        if self._values is None:
            return Reuse(stable[0]), Reuse(stable[1])
        found = compare_templates(self._template, self._read(text), self._settings, "before", "after")
        sides = [
            Reuse(side.stable_tokens or 0, side.warm.raw_reuse, side.warm.aligned_reuse)
            for side in (found.before, found.after)
        ]
        return sides[0], sides[1]

    def _is_idle(self, one: LintFinding, moved: Sequence[LintFinding], now: Reuse) -> bool:
        without = self._reuse(self._with([other for other in moved if other is not one]))[1]
        return _rank(without) >= _rank(now)


def _lines_of(template: PromptTemplate, row: Mapping[str, object]) -> list[tuple[str, list[str]]]:
    assert template.render is not None
    return [
        (role, sorted([line.strip() for line in text.splitlines() if line.strip()]))
        for role, text in template.render(row)
    ]


def _rank(reuse: Reuse) -> tuple[float, float, int]:
    return reuse.aligned or 0.0, reuse.raw or 0.0, reuse.stable_tokens


def _gains(before: Reuse, after: Reuse) -> bool:
    """Whether more is reused, by the shares of warm requests where there are values."""
    return _rank(after) > _rank(before)


def _grave(finding: LintFinding) -> int:
    return SEVERITIES.index(finding.severity)


def _line_of(finding: LintFinding) -> int:
    return finding.rendered_at.line


def _kept(finding: LintFinding, why: str) -> KeptLine:
    return KeptLine(finding.at.path, finding.at.line, finding.field, why)
