"""A baseline: findings that a project knows of and has decided to live with for now.

A finding is known by its file, its rule, what the value is called, the text of its line and the file in which it enters
the prompt, not by the line's number: it stays known when lines are written above it, and is new when its own line is
changed or another template includes it. Paths start where the baseline
lies, so that it holds from whatever folder `lint` is called.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from prefixlab.destination import Destination
from prefixlab.errors import PrefixlabError
from prefixlab.lint_findings import LintFinding
from prefixlab.saved_documents import saved_document

SCHEMA = "prefixlab.lint-baseline/1"
_TODO = "Write it again with --write-baseline"
_KEYS = ("path", "code", "field", "line_sha256", "rendered_in")


class _Known(NamedTuple):
    path: str
    code: str
    field: str
    line_sha256: str
    rendered_in: str


class Baseline:
    """Known findings; of several that look the same, how many."""

    def __init__(self, path: str, known: Counter[_Known]) -> None:
        self._path = path
        self._known = known

    @classmethod
    def read(cls, path: str) -> Baseline:
        """The baseline in a file.

        Raises:
            PrefixlabError: it cannot be read, or is none.
        """
        document = saved_document(path, SCHEMA, "baseline", _TODO)
        known: Counter[_Known] = Counter()
        rows: Any = document.get("findings")
        for each in rows if isinstance(rows, list) else [{}]:
            row: dict[str, Any] = each if isinstance(each, dict) else {}
            count = row.get("count", 1)
            if type(count) is not int or not all([isinstance(row.get(key), str) for key in _KEYS]):
                raise PrefixlabError("a finding of it is not whole", _TODO, path=path)
            known[_Known(*[row[key] for key in _KEYS])] += count
        return cls(path, known)

    @classmethod
    def of(cls, findings: Iterable[LintFinding], path: str) -> Baseline:
        """What a file at path would know of these."""
        return cls(path, Counter([_key(finding, path) for finding in findings]))

    def without_known(self, findings: Iterable[LintFinding]) -> list[LintFinding]:
        """The findings that are new."""
        left = self._known.copy()
        new = []
        for finding in findings:
            key = _key(finding, self._path)
            if left[key] > 0:
                left[key] -= 1
            else:
                new.append(finding)
        return new

    def gone(self, findings: Iterable[LintFinding], looked_at: Collection[str]) -> int:
        """How many it knows in the files looked at that are not found any more."""
        files = {_relative(path, self._path) for path in looked_at}
        left = self._known - Counter([_key(finding, self._path) for finding in findings])
        return sum([count for key, count in left.items() if key.path in files])

    def write(self, read_paths: Collection[str]) -> None:
        """Puts the file in place.

        Raises:
            PrefixlabError: it cannot be written, or is one of the files that were read.
        """
        rows = [{**key._asdict(), "count": count} for key, count in sorted(self._known.items())]
        document = {"schema": SCHEMA, "findings": rows}
        Destination(self._path, list(read_paths), "--write-baseline").write(
            orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        )


def _key(finding: LintFinding, baseline: str) -> _Known:
    # How far a line is indented says nothing of what it does.
    line = finding.line_text.strip().encode("utf-8", "surrogatepass")
    name = finding.field.encode("utf-8", "backslashreplace").decode()
    entered = _relative(finding.rendered_at.path, baseline)
    return _Known(_relative(finding.at.path, baseline), finding.code, name, sha256(line).hexdigest()[:16], entered)


def _relative(path: str, baseline: str) -> str:
    """The path from the folder of the baseline."""
    found = os.path.relpath(os.path.realpath(path), os.path.dirname(os.path.realpath(baseline)))
    return found.replace(os.sep, "/").encode("utf-8", "backslashreplace").decode()
