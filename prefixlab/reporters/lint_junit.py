"""`lint` as JUnit's XML, for services that show test results: a finding is a test that failed."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape

from prefixlab.errors import PrefixlabError
from prefixlab.lint_findings import LintFinding, LintReport
from prefixlab.reporters import lint_wording as wording
from prefixlab.reporters.neutral import neutral


def render_junit(report: LintReport, width: int) -> bytes:
    """One case a finding, one a file that cannot be read, one a template in which nothing is found.

    `width` is of no use to it.
    """
    cases = [*map(_unread, report.unread), *[_case(finding, report) for finding in report.findings]]
    faulty = {finding.template for finding in report.findings}
    for figures in report.templates:
        name = wording.called(figures)
        if name not in faulty:
            cases.append(f"    <testcase{_attributes({'classname': name, 'name': 'lint'})}/>")
    failures = sum([finding.severity != "info" for finding in report.findings])
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": str(len(report.unread))}
    counts["skipped"] = str(len(report.findings) - failures)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites{_attributes({'name': 'prefixlab lint', **counts})}>",
        f"  <testsuite{_attributes({'name': 'prefixlab lint', **counts})}>",
        *cases,
        "  </testsuite>",
        "</testsuites>",
    ]
    return ("\n".join(lines) + "\n").encode()


def _case(one: LintFinding, report: LintReport) -> str:
    name = f"{one.code} {one.name} at {one.at.path}:{one.at.line}:{one.at.column}"
    place = {"classname": one.template, "name": name, "file": wording.uri_path(one.at.path), "line": str(one.at.line)}
    said = [one.message, wording.around(one, report), *([one.fix] if one.fix else [])]
    # What is merely worth knowing breaks no build.
    outcome = "skipped" if one.severity == "info" else "failure"
    details = {"message": f"{one.severity}: {one.message}", **({} if outcome == "skipped" else {"type": one.code})}
    text = "\n".join([_text(line) for line in said])
    inside = f"<{outcome}{_attributes(details)}>{text}</{outcome}>"
    return f"    <testcase{_attributes(place)}>\n      {inside}\n    </testcase>"


def _unread(error: PrefixlabError) -> str:
    place = {"classname": error.path or "", "name": "read"}
    details = {"message": error.what, "type": "unread"}
    inside = f"<error{_attributes(details)}>{_text(str(error))}</error>"
    return f"    <testcase{_attributes(place)}>\n      {inside}\n    </testcase>"


def _attributes(values: Mapping[str, str]) -> str:
    return "".join([f' {name}="{_text(value)}"' for name, value in values.items()])


def _text(text: str) -> str:
    """Text that stands in XML as it is: what XML cannot hold is spelled out, `]]>` cannot come about."""
    return escape(neutral(text), {'"': "&quot;", "'": "&apos;"})
