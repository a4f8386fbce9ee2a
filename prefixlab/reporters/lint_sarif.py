"""`lint` as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from prefixlab.errors import PrefixlabError
from prefixlab.lint_findings import LintFinding, LintReport, RuleSheet
from prefixlab.prompt_templates import Place
from prefixlab.reporters.lint_wording import elsewhere, fingerprint, uri_path
from prefixlab.reporters.neutral import neutral

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"high": "error", "medium": "warning", "low": "note", "info": "note"}
_ROOT = "%SRCROOT%"


def render_sarif(report: LintReport, width: int) -> bytes:
    """The whole log; `width` is of no use to it."""
    numbers = {rule.code: at for at, rule in enumerate(report.rules)}
    seen: Counter[tuple[str, ...]] = Counter()
    results = []
    for finding in report.findings:
        key = tuple(fingerprint(finding))
        results.append(_result(finding, numbers, seen[key]))
        seen[key] += 1
    driver = {
        "name": "prefixlab",
        "version": report.version,
        "semanticVersion": report.version,
        "informationUri": "https://pypi.org/project/prefixlab/",
        "rules": [_rule(rule) for rule in report.rules],
    }
    run: dict[str, Any] = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    if report.unread:
        notifications = [_notification(error) for error in report.unread]
        run["invocations"] = [{"executionSuccessful": False, "toolExecutionNotifications": notifications}]
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return (json.dumps(document, indent=2, ensure_ascii=True) + "\n").encode()


def _rule(rule: RuleSheet) -> dict[str, Any]:
    help = f"{rule.documentation}\n\nFound:\n\n{_indented(rule.bad[1])}\n\nIn order:\n\n{_indented(rule.good[1])}\n"
    return {
        "id": rule.code,
        "name": "".join([word.capitalize() for word in rule.name.split("-")]),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.documentation.partition("\n\n")[0].replace("\n", " ")},
        "help": {"text": help, "markdown": help},
        "properties": {"tags": ["prompt-caching"]},
    }


def _indented(text: str) -> str:
    return "\n".join([f"    {line}".rstrip() for line in text.strip("\n").split("\n")])


def _result(one: LintFinding, numbers: dict[str, int], count: int) -> dict[str, Any]:
    message = neutral(one.message)
    key = "\0".join([*fingerprint(one), str(count)])
    result: dict[str, Any] = {
        "ruleId": one.code,
        "level": _LEVELS[one.severity],
        "message": {"text": _plain(f"{message}. {one.fix}" if one.fix else message)},
        "locations": [_location(one.at._replace(column=one.column), one.ends_at)],
        "partialFingerprints": {"prefixlab/v1": sha256(key.encode("utf-8", "surrogatepass")).hexdigest()},
        "properties": {
            "severity": one.severity,
            "field": neutral(one.field),
            "stable_tokens_before": one.stable_tokens_before,
            "stable_tokens_after": one.stable_tokens_after,
            "blocks_before": one.blocks_before,
        },
    }
    if one.code in numbers:
        result["ruleIndex"] = numbers[one.code]
    entered = [*([one.rendered_at] if elsewhere(one) else ()), *one.also_at]
    if entered:
        result["relatedLocations"] = [
            {"id": number, **_location(at, 0), "message": {"text": "It enters a prompt here."}}
            for number, at in enumerate(entered, 1)
        ]
    return result


def _notification(error: PrefixlabError) -> dict[str, Any]:
    """That a file could not be read."""
    said: dict[str, Any] = {"level": "error", "message": {"text": _plain(neutral(str(error)))}}
    if error.path is not None:
        place: dict[str, Any] = {"artifactLocation": _artifact(error.path)}
        if error.line:
            place["region"] = {"startLine": error.line, **({"startColumn": error.column} if error.column else {})}
        said["locations"] = [{"physicalLocation": place}]
    return said


def _plain(text: str) -> str:
    """Text as a message string has it: braces are doubled, and what would be a link has its brackets escaped."""
    if "](" in text:
        text = text.replace("[", "\\[").replace("]", "\\]")
    return text.replace("{", "{{").replace("}", "}}")


def _location(place: Place, ends_at: int) -> dict[str, Any]:
    region = {"startLine": place.line, "startColumn": place.column}
    # Where no end is known one character is marked: without an end the whole line would be.
    region["endColumn"] = max(ends_at, place.column + 1)
    return {"physicalLocation": {"artifactLocation": _artifact(place.path), "region": region}}


def _artifact(path: str) -> dict[str, str]:
    found = uri_path(path)
    if found.startswith("../") or Path(found).is_absolute():
        return {"uri": Path(path).resolve().as_uri()}
    return {"uri": quote(found.encode("utf-8", "surrogateescape")), "uriBaseId": _ROOT}
