"""`lint` as commands of a GitHub workflow, which annotate the lines of a pull request."""

from __future__ import annotations

from prefixlab.errors import PrefixlabError
from prefixlab.lint_findings import LintFinding, LintReport
from prefixlab.reporters.lint_text import as_logged
from prefixlab.reporters.lint_wording import headline, uri_path
from prefixlab.reporters.neutral import neutral

_COMMANDS = {"high": "error", "medium": "warning", "low": "notice", "info": "notice"}


def render_github(report: LintReport, width: int) -> bytes:
    """One line a finding, and what was found in a sentence; `width` is of no use to it."""
    lines = [*map(_complaint, report.unread), *map(_command, report.findings)]
    lines += [neutral(headline(report)), *map(neutral, report.notes)]
    return ("\n".join([as_logged(line) for line in lines]) + "\n").encode()


def _command(one: LintFinding) -> str:
    properties = {
        "file": uri_path(one.at.path),
        "line": str(one.at.line),
        "endLine": str(one.at.line),
        "col": str(one.at.column),
        **({"endColumn": str(one.ends_at)} if one.ends_at else {}),
        "title": f"{one.code} {one.name}",
    }
    said = ",".join([f"{name}={_property(value)}" for name, value in properties.items()])
    message = f"{one.message}. {one.fix}" if one.fix else one.message
    return f"::{_COMMANDS[one.severity]} {said}::{_data(message)}"


def _complaint(error: PrefixlabError) -> str:
    place = {"file": uri_path(error.path or ""), **({"line": str(error.line)} if error.line else {})}
    said = ",".join([f"{name}={_property(value)}" for name, value in {**place, "title": "not read"}.items()])
    return f"::error {said}::{_data(str(error))}"


def _data(text: str) -> str:
    return neutral(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
