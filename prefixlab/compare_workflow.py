"""`compare`: two templates on the same values, a template change on a log, two logs, or two saved runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import orjson

from prefixlab.comparison import Comparison, Side, changes_of, verdict_of
from prefixlab.contracts import ReadOptions
from prefixlab.errors import PrefixlabError
from prefixlab.findings import Break, Field, Losses, Report, Totals
from prefixlab.git_files import at_revision
from prefixlab.prompt_templates import PromptTemplate
from prefixlab.readers import read_requests
from prefixlab.records import Location, Request
from prefixlab.settings import AuditSettings
from prefixlab.template_changes import changed_requests
from prefixlab.template_discovery import TemplateFiles, read_templates
from prefixlab.template_values import Values, common_prefix_tokens
from prefixlab.workflows import analyse, report_of

TAG = "template"
"""The tag that makes all renderings of a template one family."""

DEFAULT_TOKENIZER = "o200k_base"
_RUN = "prefixlab.audit/1"


@dataclass(frozen=True, slots=True)
class CompareSettings(AuditSettings):
    """The options of `compare`: those of `audit`, and how the sides are told apart."""

    values: str | None = None
    log: str | None = None
    min_delta: float = 0.0
    dialect: str | None = None
    search_paths: tuple[str, ...] = ()
    jinja_filters: tuple[str, ...] = ()
    prompt: str | None = None
    """Which prompt of a file that makes several."""

    def __post_init__(self) -> None:
        AuditSettings.__post_init__(self)
        if not 0 <= self.min_delta <= 1:
            raise PrefixlabError(f"--min-delta {self.min_delta:g} cannot be", "Give a fraction from 0 to 1")
        if self.values is not None and self.log is not None:
            raise PrefixlabError("--values and --log both say what to render with", "Give one of them")


def compare(before: str, after: str, settings: CompareSettings) -> Comparison:
    """Compare two sides of one kind.

    Raises:
        PrefixlabError: a side cannot be read, the sides are of two kinds, or a template lacks values.
    """
    _check(settings)
    kinds = [_kind(path, settings) for path in (before, after)]
    if kinds[0] != kinds[1]:
        raise PrefixlabError(
            f"{before} is a {kinds[0]} and {after} a {kinds[1]}", "Compare two templates, two logs or two saved runs"
        )
    if kinds[0] == "run":
        sides = [_saved(path) for path in (before, after)]
        return _compared(sides[0], sides[1], settings, [])
    if kinds[0] == "log":
        if settings.values is not None or settings.log is not None:
            raise PrefixlabError("--values and --log are for templates", "Leave them out to compare two logs")
        sides = [_of_log(path, settings) for path in (before, after)]
        return _compared(sides[0], sides[1], settings, [])
    return compare_templates(_template(before, settings), _template(after, settings), settings, before, after)


def compare_revisions(revisions: str, path: str, settings: CompareSettings) -> Comparison:
    """Compare a template at two git revisions, `A..B`; B may be empty for the file as it is.

    Raises:
        PrefixlabError: it is not in a repository, a revision is not known, or the file is not in it.
    """
    _check(settings)
    first, dots, second = revisions.partition("..")
    second = second.removeprefix(".")
    if not dots or not first:
        raise PrefixlabError(f"--git {revisions!r} cannot be", "Give two revisions, such as main..HEAD")
    names = [f"{path} at {revision or 'the working tree'}" for revision in (first, second)]
    with ExitStack() as stack:
        # The files of a revision have to be there until all is rendered.
        files = [stack.enter_context(at_revision(path, revision)) for revision in (first, second)]
        try:
            before, after = [
                replace(template, path=name) if template.path == file else template
                for file, name in zip(files, names, strict=True)
                for template in [_template(file, settings, shown=path)]
            ]
            return compare_templates(before, after, settings, *names)
        except PrefixlabError as error:
            if error.path not in files:
                raise
            name = names[files.index(error.path)]
            raise PrefixlabError(error.what, error.todo, path=name, line=error.line) from None


def compare_templates(
    before: PromptTemplate, after: PromptTemplate, settings: CompareSettings, before_name: str, after_name: str
) -> Comparison:
    """Compare two templates, rendered with the same values or with what a log's prompts were made of.

    Raises:
        PrefixlabError: there is nothing to render with, or a rendering fails.
    """
    names = (before_name, after_name)
    if settings.log is not None:
        given = read_requests([settings.log], ReadOptions(tags=settings.tags), input_format=settings.input_format,
                              skip_bad=settings.skip_bad, limit=settings.limit)  # fmt: skip
        requests, notes = changed_requests(before, after, list(given), settings.log)
        sides = [_of_requests(name, of_one, settings) for name, of_one in zip(names, requests, strict=True)]
        return _compared(sides[0], sides[1], settings, notes)
    if settings.values is None:
        raise PrefixlabError(
            "templates are compared with values in them",
            "Give --values FILE with one JSON object of variables a line, or --log FILE with requests made of BEFORE",
        )
    values = Values.read(settings.values)
    settings = replace(settings, values=None)
    sides, notes = [], []
    for name, template in zip(names, (before, after), strict=True):
        bodies = values.bodies(template)
        made = [Request(str(n), Location(values.path, n), body) for n, body in enumerate(bodies, 1)]
        sides.append(_of_requests(name, made, settings))
        notes += values.lacks(name, template)
    absent = [values.absent(template) for template in (before, after)]
    one, other = [
        side._replace(lacking=tuple(sorted(own - theirs)))
        for side, own, theirs in zip(sides, absent, reversed(absent), strict=True)
    ]
    return _compared(one, other, settings, notes)


def _check(settings: CompareSettings) -> None:
    if settings.by:
        raise PrefixlabError(
            f"--by {settings.by[0]} cannot be: compare does not break figures down",
            "Use audit --by on each side, or compare the requests of one value",
        )


def _compared(before: Side, after: Side, settings: CompareSettings, notes: Sequence[str]) -> Comparison:
    notes = list(notes)
    one, other = before.totals, after.totals
    if before.what != "template" and one.requests != other.requests:
        notes.append(f"the sides have {one.requests:,} and {other.requests:,} requests; shares are compared, not sums.")
    return Comparison(
        before,
        after,
        changes_of(before, after),
        verdict_of(before, after, settings.min_delta),
        settings.min_delta,
        tuple(notes),
    )


def _kind(path: str, settings: CompareSettings) -> Literal["template", "log", "run"]:
    if not os.path.exists(path):
        raise PrefixlabError("there is no such file", "Check the path", path=path)
    if _run_of(path) is not None:
        return "run"
    if settings.values is not None or settings.log is not None or settings.dialect is not None:
        return "template"
    try:
        found = TemplateFiles.found([path]).whole() if os.path.isfile(path) else ()
    except PrefixlabError:
        return "log"
    return "template" if len(found) and not path.endswith((".json", ".jsonl", ".yaml", ".csv")) else "log"


def _template(path: str, settings: CompareSettings, shown: str = "") -> PromptTemplate:
    """The one prompt of a file."""
    files = TemplateFiles.found(
        [path], dialect=settings.dialect, roots=settings.search_paths, own_names=settings.jinja_filters
    ).whole()
    found = [template for file, dialect in files for template in read_templates(file, dialect)]
    shown = shown or path
    names = _names(found, path)
    if settings.prompt is not None:
        chosen = [names[settings.prompt]] if settings.prompt in names else []
        if not chosen and settings.prompt.isdecimal() and 0 < int(settings.prompt) <= len(found):
            chosen = [found[int(settings.prompt) - 1]]
        if not chosen and found:
            raise PrefixlabError(
                f"makes no prompt {settings.prompt!r}", f"Choose one with --prompt: {', '.join(names)}", path=shown
            )
        found = chosen
    if len(found) == 1:
        return found[0]
    if not found:
        raise PrefixlabError("makes no prompt", "Give another file", path=shown)
    raise PrefixlabError(f"makes {len(found)} prompts", f"Choose one with --prompt: {', '.join(names)}", path=shown)


def _names(found: Sequence[PromptTemplate], path: str) -> dict[str, PromptTemplate]:
    """Prompts of a file by their names, those without one by their own files; by number where that is of several."""
    called = [one.name or (os.path.basename(one.path) if one.path != path else "") for one in found]
    return {
        name if name and not name.isdecimal() and called.count(name) == 1 else str(number): one
        for number, (name, one) in enumerate(zip(called, found, strict=True), 1)
    }


def _audit_settings(settings: CompareSettings) -> AuditSettings:
    known = {field.name for field in fields(AuditSettings)}
    return AuditSettings(**{name: getattr(settings, name) for name in known})


def _of_requests(name: str, requests: Sequence[Request], settings: CompareSettings) -> Side:
    made = _audit_settings(settings)
    made = replace(made, family=TAG, tokenizers=made.tokenizers or (DEFAULT_TOKENIZER,))
    tagged = [replace(request, tags={**request.tags, TAG: "1"}) for request in requests]
    analysis = analyse(tagged, made)
    return _side(
        name,
        "template",
        report_of(analysis, made),
        common_prefix_tokens([prompt.tokens for prompt in analysis.prompts]),
    )


def _of_log(path: str, settings: CompareSettings) -> Side:
    made = _audit_settings(settings)
    return _side(path, "log", report_of(analyse([path], made), made))


def _side(name: str, what: Literal["template", "log", "run"], report: Report, stable_tokens: int | None = None) -> Side:
    rows: list[Field | Break] = [*report.fields, *report.breaks]
    causes = sorted(rows, key=lambda one: one.rank)
    return Side(name, what, report.totals, report.warm, report.losses, tuple(causes), stable_tokens, report.engine)


# --- saved runs ---


def _run_of(path: str) -> Mapping[str, Any] | None:
    """The saved run that a file is, or None."""
    if not path.endswith(".json") or not os.path.isfile(path):
        return None
    with open(path, "rb") as stream:
        if b'"prefixlab.' not in stream.read(4096):
            return None
        stream.seek(0)
        try:
            run = orjson.loads(stream.read())
        except orjson.JSONDecodeError as error:
            raise PrefixlabError(f"not JSON: {error}", "Save the run again with -o FILE.json", path=path) from None
    if not isinstance(run, dict) or run.get("schema") != _RUN:
        said = run.get("schema") if isinstance(run, dict) else None
        raise PrefixlabError(
            f"is a run of the schema {said!r}", f"Save it with audit --format json, whose schema is {_RUN}", path=path
        )
    return run


def _saved(path: str) -> Side:
    run = _run_of(path)
    assert run is not None
    causes: list[Field | Break]
    try:
        totals, warm = (_of(Totals, run[name]) for name in ("totals", "warm"))
        causes = [*_rows(Field, run["fields"]), *_rows(Break, run["breaks"])]
        losses = _of(Losses, run["losses"])
        engine = dict(run["engine"])
    except (KeyError, TypeError, ValueError) as error:
        raise PrefixlabError(
            f"is no whole run: {json.dumps(str(error))}", "Save it again with audit --format json", path=path
        ) from None
    causes.sort(key=lambda one: one.rank)
    return Side(path, "run", totals, warm, losses, tuple(causes), engine=engine)


def _rows(kind: Any, rows: Sequence[Mapping[str, Any]]) -> Iterator[Any]:
    for row in rows:
        yield _of(kind, {**row, **({"examples": tuple(row["examples"])} if "examples" in row else {})})


def _of(kind: Any, row: Mapping[str, Any]) -> Any:
    known = kind._fields if hasattr(kind, "_fields") else [field.name for field in fields(kind)]
    return kind(**{name: row[name] for name in known if name in row})
