"""`lint --fix`: what is mechanical and safe written into the templates, at the place of the finding and nowhere else.

Each rewrite is tried first: the files are read and checked with it, and rendered where there are values. One that
leaves its finding, gives a new one, does not parse or changes more than an order is dropped.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from prefixlab.destination import write_over
from prefixlab.errors import PrefixlabError
from prefixlab.lint_findings import SEVERITIES, LintFinding, LintReport
from prefixlab.lint_workflow import LintSettings, lint, model_of
from prefixlab.number_words import counted
from prefixlab.template_checks import Model
from prefixlab.template_discovery import TemplateFiles, read_templates
from prefixlab.template_rewriting import day_formats, sorted_json, sorted_order
from prefixlab.template_rewriting.diffs import unified
from prefixlab.template_rewriting.edits import Edit, Refused, applied, offset_of
from prefixlab.template_values import Values

_REWRITES: Mapping[str, tuple[Callable[[str, int], list[Edit]], Callable[[str, int], list[Edit]]]] = {
    "PL102": (day_formats.in_python, day_formats.in_jinja),
    "PL201": (sorted_json.in_python, sorted_json.in_jinja),
    "PL202": (sorted_order.in_python, sorted_order.in_jinja),
    "PL203": (sorted_order.in_python, sorted_order.in_jinja),
}
"""For each code the rewrite of Python and that of Jinja2."""

_CLOCK = "PL102"
_MARK = b"\xef\xbb\xbf"


class LintFix(NamedTuple):
    """What `lint --fix` did."""

    report: LintReport
    """Of the files with what was fixed."""
    fixed: tuple[LintFinding, ...]
    unfixed: tuple[tuple[LintFinding, str], ...]
    """Findings of kinds that can be fixed, each with the reason why it was not."""
    diff: str
    """Unified, over all files."""


def fix_findings(paths: Sequence[str], settings: LintSettings, *, clocks: bool = False, write: bool = True) -> LintFix:
    """Fix what can be fixed at paths; a clock is made a date only with `clocks`, files are changed only with `write`.

    Raises:
        PrefixlabError: a path is not there, a template cannot be read, or a file cannot be written.
    """
    model = model_of(settings)
    before = lint(paths, replace(settings, write_baseline=None), model)
    trials = _Trials(paths, settings, model)
    fixed, unfixed = [], []
    for finding in before.findings:
        if finding.code not in _REWRITES:
            continue
        if finding.code == _CLOCK and not clocks:
            unfixed.append((finding, "a clock becomes a date with --fix-clocks alone"))
            continue
        try:
            trials.fix(finding)
            fixed.append(finding)
        except Refused as why:
            unfixed.append((finding, str(why)))
    if write:
        trials.write()
    report = lint(paths, settings if write else replace(settings, write_baseline=None), model, trials.texts)
    done, left = counted(len(fixed), "finding"), counted(len(report.findings), "finding")
    said = f"{done} {'fixed' if write else 'would be fixed'}; {left} left."
    notes = [f"{one.at.path}:{one.at.line}: {one.code} is not fixed: {why}." for one, why in unfixed]
    return LintFix(replace(report, notes=(said, *notes, *report.notes)), tuple(fixed), tuple(unfixed), trials.diff)


class _Trials:
    """The files with the rewrites that proved right so far."""

    def __init__(self, paths: Sequence[str], settings: LintSettings, model: Model) -> None:
        self.texts: dict[str, str] = {}
        """By real path."""
        folders = [path for path in paths if os.path.isdir(path)]
        self._settings = replace(
            settings,
            search_paths=(*settings.search_paths, *folders),
            baseline=None,
            write_baseline=None,
            diff=None,
            against=None,
            keep_going=False,
            values=None,
        )
        self._model = model
        self._values = None if settings.values is None else Values.read(settings.values)
        self._files = {os.path.realpath(file.path): file for file, _ in self._found(paths, {})}

    def _found(self, paths: Sequence[str], texts: Mapping[str, str]) -> TemplateFiles:
        settings = self._settings
        return TemplateFiles.found(
            paths,
            dialect=settings.dialect,
            roots=settings.search_paths,
            own_names=settings.jinja_filters,
            exclude=settings.exclude,
            texts=texts,
        )

    def fix(self, finding: LintFinding) -> None:
        """Try the rewrite of a finding, and keep it.

        Raises:
            Refused: there is none, or it does not prove right.
        """
        path = os.path.realpath(finding.at.path)
        file = self._files.get(path)
        if file is None:
            raise Refused("its file is not among those that are given")
        text = self.texts.get(path, file.text)
        # Earlier rewrites of the line have moved what stands behind them.
        rewrite = _REWRITES[finding.code][0 if path.endswith((".py", ".pyi")) else 1]
        edits = rewrite(text, offset_of(text, self._now(finding).at))
        texts = {**self.texts, path: applied(text, edits)}
        self._check(finding, texts)
        self.texts = texts

    def _now(self, finding: LintFinding) -> LintFinding:
        if not self.texts:
            return finding
        now = [one for one in self._findings(finding, self.texts) if _key(one) == _key(finding)]
        same = [one for one in now if one.source == finding.source] or now
        if not same:
            raise Refused("another fix on its line put an end to it")
        return min(same, key=lambda one: abs(one.at.column - finding.at.column))

    def _check(self, finding: LintFinding, texts: Mapping[str, str]) -> None:
        try:
            was, now = self._findings(finding, self.texts), self._findings(finding, texts)
        except PrefixlabError as error:
            raise Refused(f"with it the file cannot be read ({error.what})") from None
        counts, left = Counter(map(_key, was)), Counter(map(_key, now))
        graver = [sum([SEVERITIES.index(one.severity) for one in some if _key(one) == _key(finding)])
                  for some in (now, was)]  # fmt: skip
        is_milder = finding.code == _CLOCK and left[_key(finding)] == counts[_key(finding)] and graver[0] > graver[1]
        if left[_key(finding)] >= counts[_key(finding)] and not is_milder:
            raise Refused("it would still be found")
        if any(left[key] > counts[key] for key in left if key[2] in _REWRITES):
            raise Refused("another finding would come of it")
        if self._values is not None and finding.code != _CLOCK:
            self._compare(finding, texts)

    def _findings(self, finding: LintFinding, texts: Mapping[str, str]) -> list[LintFinding]:
        """What is found in the template of a finding."""
        path = finding.template
        while not os.path.exists(path):
            path = path.rpartition(":")[0]
        return list(lint([path], self._settings, self._model, texts).findings)

    def _compare(self, finding: LintFinding, texts: Mapping[str, str]) -> None:
        """Hold the renderings against each other: only an order may differ, of lines or within one."""
        assert self._values is not None
        path = finding.template
        while not os.path.exists(path):
            path = path.rpartition(":")[0]
        sides = []
        for some in (self.texts, texts):
            templates = [one for file, kind in self._found([path], some).whole() for one in read_templates(file, kind)]
            try:
                sides.append([
                    [_in_no_order(content) for _, content in template.render(row)]
                    for template in templates if template.render is not None
                    for row in self._values.rows
                ])  # fmt: skip
            except PrefixlabError as error:
                raise Refused(f"with the values it does not render ({error.what})") from None
        if sides[0] != sides[1]:
            raise Refused("with the values it renders other text, and not only in another order")

    def write(self) -> None:
        """Put the changed files in place.

        Raises:
            PrefixlabError: one was changed meanwhile, or cannot be written.
        """
        for path, text in self.texts.items():
            with open(path, "rb") as stream:
                data = stream.read()
            file = self._files[path]
            if data.removeprefix(_MARK).decode(file.encoding, errors="replace") != file.text:
                raise PrefixlabError("was changed while it was read", "Run it again", path=file.path)
            write_over(file.path, (_MARK if data.startswith(_MARK) else b"") + text.encode(file.encoding))

    @property
    def diff(self) -> str:
        """All changes."""
        files = [self._files[path] for path in sorted(self.texts)]
        return unified([(file.path, file.text, self.texts[path]) for file, path in zip(files, sorted(self.texts))])


def _key(finding: LintFinding) -> tuple[str, int, str]:
    return finding.at.path, finding.at.line, finding.code


def _in_no_order(text: str) -> list[str]:
    """What a text holds whatever its order: its lines, and the characters of each."""
    return sorted(["".join(sorted(line.rstrip(", "))) for line in text.splitlines()])
