"""The forms of `lint`'s report, by the name that `--format` has for them; JSON is made here.

JSON of `lint` (`"schema": "prefixlab.lint/1"`):

| key | holds |
|---|---|
| `version`, `tokenizer`, `engine`, `block_size` | what it was counted with |
| `files` | template files that were read |
| `findings` | by place: `code`, `name`, `severity`, `path`, `line`, `column`, `end_column` (0 where not known), `message`, `field`, `stable_tokens_before`, `stable_tokens_after`, `blocks_before`, `blocks_after`, `rendered_at` (`path`, `line`, `column`), `also_at` (the same of other templates that it enters), `template`, `fix` |
| `templates` | `path`, `name`, `dialect`, `stable_tokens`, `stable_blocks`, `stranded_tokens`, `holes`, `renderings`; `stable_tokens_then`, `stranded_tokens_then` of the run of `--against`, or null; `assumed`: values taken for the same in all requests though nothing tells |
| `unread` | files that could not be read: `path`, `line` and `column` (null where not known), `message` |
| `suppressed`, `known` | findings that a comment accepts, and that the baseline has |
| `since` | the revision since which lines were changed, or null |
| `notes` | sentences |
"""  # noqa: E501

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from prefixlab.lint_findings import LintFinding, LintReport
from prefixlab.reporters.lint_github import render_github
from prefixlab.reporters.lint_junit import render_junit
from prefixlab.reporters.lint_markdown import render_markdown
from prefixlab.reporters.lint_sarif import render_sarif
from prefixlab.reporters.lint_text import render_text
from prefixlab.reporters.neutral import without_surrogates

SCHEMA = "prefixlab.lint/1"


def as_document(report: LintReport) -> dict[str, Any]:
    """The report as plain values, in the order of the schema."""
    return {
        "schema": SCHEMA,
        "version": report.version,
        "tokenizer": report.tokenizer,
        "engine": report.engine,
        "block_size": report.block_size,
        "files": report.files,
        "findings": [_finding(one, report.block_size) for one in report.findings],
        "templates": [one._asdict() for one in report.templates],
        "unread": [
            {"path": one.path, "line": one.line, "column": one.column, "message": str(one)} for one in report.unread
        ],
        "suppressed": report.suppressed,
        "known": report.known,
        "since": report.since or None,
        "notes": list(report.notes),
    }


def _finding(one: LintFinding, block_size: int) -> dict[str, Any]:
    return {
        "code": one.code,
        "name": one.name,
        "severity": one.severity,
        "path": one.at.path,
        "line": one.at.line,
        "column": one.column,
        "end_column": one.ends_at,
        "message": one.message,
        "field": one.field,
        "stable_tokens_before": one.stable_tokens_before,
        "stable_tokens_after": one.stable_tokens_after,
        "blocks_before": one.blocks_before,
        "blocks_after": one.stable_tokens_after // block_size,
        "rendered_at": one.rendered_at._asdict(),
        "also_at": [at._asdict() for at in one.also_at],
        "template": one.template,
        "fix": one.fix,
    }


def render_json(report: LintReport, width: int) -> bytes:
    """The report for programs."""
    return (without_surrogates(json.dumps(as_document(report), ensure_ascii=False, indent=1)) + "\n").encode()


FORMS: Mapping[str, Callable[[LintReport, int], bytes]] = {
    "text": render_text,
    "json": render_json,
    "markdown": render_markdown,
    "sarif": render_sarif,
    "github": render_github,
    "junit": render_junit,
}
"""Each makes the whole document for a width in columns, which only text needs."""

ENDINGS: Mapping[str, tuple[str, ...]] = {
    "sarif": (".sarif", ".sarif.json"),
    "text": (".txt",),
    "json": (".json",),
    "markdown": (".md", ".markdown"),
    "junit": (".xml",),
    "github": (),
}
"""File endings that choose a form; the longer ones first."""
