"""Values for templates: one JSON object of variables a line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from prefixlab.errors import MissingValue, PrefixlabError
from prefixlab.prompt_templates import PLAIN, Choice, Expression, History, Hole, Loop, Message, Part, PromptTemplate
from prefixlab.records import TOKEN_BYTES, Body, Chat, Location, Request, Text
from prefixlab.served_models import ServedModel
from prefixlab.template_files import BadTemplate

CANNOT = "cannot be rendered with these values: "

_MOST_NAMED = 8
_OWN_NAMES = frozenset({"", "loop", "this", "caller", "varargs", "kwargs"})
"""Of template languages, which no values give."""


class Fit(NamedTuple):
    """A template rendered with the rows that are its own."""

    bodies: tuple[Body, ...]
    rows: int
    """Rows that have a variable of it; the others are of other templates."""
    lacking: Mapping[str, int]
    """Variables that it reads whatever the values are and functions that it calls, and how many of its rows do not
    have them."""
    faults: tuple[str, ...] = ()
    """Why rows do not render that lack nothing."""


class Values:
    """Rows of values, and how much each variable varies in them."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], path: str = "values") -> None:
        self.rows = tuple(rows)
        self.path = path

    @classmethod
    def read(cls, path: str) -> Values:
        """The rows of a file.

        Raises:
            PrefixlabError: it cannot be read, has no row, or a row is no JSON object.
        """
        try:
            lines = Path(path).read_bytes().split(b"\n")
        except OSError as error:
            raise PrefixlabError(f"cannot be read: {error.strerror or error}", "Check the path", path=path) from None
        rows = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise PrefixlabError(f"not JSON: {error}", "Give one object a line", path=path, line=number) from None
            if not isinstance(row, dict):
                raise PrefixlabError("not a JSON object", "Give one object a line", path=path, line=number)
            rows.append(row)
        if not rows:
            raise PrefixlabError("has no values", "Give one JSON object of variables a line", path=path)
        return cls(rows, path)

    @property
    def distinct(self) -> dict[str, float]:
        """For each variable the part of the rows that have it whose value differs from all before: 0 where it is
        always the same.

        One row shows nothing of how a value varies.
        """
        seen: dict[str, list[str]] = {}
        for row in self.rows:
            for name, value in row.items():
                seen.setdefault(name, []).append(json.dumps(value, sort_keys=True, default=str))
        return {name: (len(set(values)) - 1) / (len(values) - 1) for name, values in seen.items() if len(values) > 1}

    def bodies(self, template: PromptTemplate) -> list[Body]:
        """The template rendered with each row.

        Raises:
            PrefixlabError: it cannot be rendered, or a row lacks a value.
        """
        if template.render is None:
            raise PrefixlabError(
                f"a template of {template.dialect} such as this is read, but its own program would have to run to "
                "render it with values",
                "Give --log with requests made of BEFORE, or compare two logs",
                path=template.path,
            )
        return [_body(template.render(row)) for row in self.rows]

    def fit(self, template: PromptTemplate) -> Fit:
        """The template rendered with the rows that are its own.

        Rows of other templates do not count, nor do those that do not render, for want of a variable or otherwise.

        Raises:
            BadTemplate: it does what no values make right.
        """
        needed, read = variables(template)
        own = [row for row in self.rows if not needed or not read.isdisjoint(row)]
        lacking: Counter[str] = Counter()
        faults: dict[str, None] = {}
        bodies = []
        # Of a template that no row is of it is still found out what no values make right.
        for row in own or self.rows[:1]:
            lacking.update(needed.difference(row))
            if template.render is None:
                continue
            try:
                body = _body(template.render(row))
            except BadTemplate:
                raise
            except PrefixlabError as error:
                absent = read.difference(row) | ({error.name} if isinstance(error, MissingValue) else set())
                lacking.update(absent - needed)
                if not absent:
                    faults[error.what.removeprefix(CANNOT)] = None
            else:
                bodies += [body] if own else []
        return Fit(tuple(bodies), len(own), lacking, tuple(faults))

    def common_prefix(self, fit: Fit, model: ServedModel) -> int:
        """Tokens that all renderings begin with."""
        prompts = [
            model.prompt(Request(str(number), Location(self.path, number), body))
            for number, body in enumerate(fit.bodies, 1)
        ]
        return common_prefix_tokens([prompt.tokens for prompt in prompts])

    def absent(self, template: PromptTemplate) -> frozenset[str]:
        """The variables that a template needs and no row has."""
        return variables(template)[0].difference(*self.rows)

    def lacks(self, name: str, template: PromptTemplate) -> list[str]:
        """What all rows lack of what a template reads, in a sentence if there is any."""
        needed, _ = variables(template)
        return self._lacks(name, Counter([one for row in self.rows for one in needed.difference(row)]), len(self.rows))

    def _lacks(self, name: str, lacking: Mapping[str, int], rows: int) -> list[str]:
        said = ", ".join([f"{one} ({count:,} of {rows:,})" for one, count in sorted(lacking.items())])
        return [f"Rows of {self.path} lack what {name} reads: {said}."] if said else []

    def notes(self, fits: Mapping[str, Fit]) -> list[str]:
        """What there is to say of rows that do not fit templates, which go by their names."""
        notes = []
        for name, fit in fits.items():
            if not fit.bodies:
                continue
            notes += self._lacks(name, fit.lacking, fit.rows)
            if (missed := len(self.rows) - len(fit.bodies)) > 0:
                said = "1 row does" if missed == 1 else f"{missed:,} rows do"
                why = f" ({fit.faults[0]})" if fit.faults else ", for want of its variables"
                notes.append(f"{said} not count for {name}{why}.")
        bare: dict[str, list[str]] = {}
        for name, fit in fits.items():
            if not fit.bodies:
                bare.setdefault(fit.faults[0] if fit.faults else "", []).append(name)
        for fault, names in bare.items():
            named = ", ".join(names[:_MOST_NAMED]) + (
                f" and {len(names) - _MOST_NAMED:,} more" * (len(names) > _MOST_NAMED)
            )
            lacking = ", ".join(sorted({one for name in names for one in fits[name].lacking})[:_MOST_NAMED])
            why = "; ".join([*([fault] if fault else []), *([f"lacking: {lacking}"] if lacking else [])])
            notes.append(
                f"No row of {self.path} renders {named}{f' ({why})' if why else ''}: "
                "the figures are from the text alone."
            )
        return notes


def variables(template: PromptTemplate) -> tuple[frozenset[str], frozenset[str]]:
    """The variables that a template needs, and all that it reads.

    What a condition asks for may be missing, in its arms as well, and what has a default.
    """
    needed: set[str] = set()
    read: set[str] = set()

    def roots(expression: Expression) -> set[str]:
        return {name.partition(".")[0] for name in expression.names} - _OWN_NAMES

    def visit(parts: Sequence[Part], asked: frozenset[str]) -> None:
        for part in parts:
            if isinstance(part, Choice):
                names = roots(part.condition)
                read.update(names)
                for arm in part.arms:
                    visit(arm, asked | names)
            elif isinstance(part, Hole | Loop):
                expression = part.expression if isinstance(part, Hole) else part.over
                names = roots(expression)
                read.update(names)
                if not _has_default(expression):
                    needed.update(names - asked)
                if isinstance(part, Loop):
                    visit(part.body, asked | names)
            elif isinstance(part, History):
                read.add(part.name)

    visit(template.parts, frozenset())
    return frozenset(needed), frozenset(read)


def _has_default(expression: Expression) -> bool:
    # `or` stands between names in most languages; in a text in quotes it costs a note alone.
    return not {"default", "d", "get"}.isdisjoint(expression.calls) or "or" in expression.source.split()


def _body(messages: Sequence[Message]) -> Body:
    if len(messages) == 1 and messages[0][0] == PLAIN:
        return Text(messages[0][1])
    return Chat([{"role": role, "content": text} for role, text in messages])


def common_prefix_tokens(prompts: Sequence[bytes]) -> int:
    """How many tokens all of these begin with."""
    return len(reduce(_common, prompts)) // TOKEN_BYTES if prompts else 0


def _common(one: bytes, other: bytes) -> bytes:
    """The whole tokens with which both begin."""
    low, high = 0, min(len(one), len(other)) // TOKEN_BYTES
    while low < high:
        middle = (low + high + 1) // 2
        if one[: middle * TOKEN_BYTES] == other[: middle * TOKEN_BYTES]:
            low = middle
        else:
            high = middle - 1
    return one[: low * TOKEN_BYTES]
