"""Values for templates: one JSON object of variables a line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import orjson

from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import PLAIN, PromptTemplate
from prefixlab.records import TOKEN_BYTES, Body, Chat, Location, Request, Text
from prefixlab.served_models import ServedModel


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
        """For each variable the part of the rows whose value differs from all before: 0 where it is always the same.

        One row shows nothing of how a value varies.
        """
        seen: dict[str, set[str]] = {}
        for row in self.rows:
            for name, value in row.items():
                seen.setdefault(name, set()).add(json.dumps(value, sort_keys=True, default=str))
        count = len(self.rows)
        return {name: (len(values) - 1) / (count - 1) for name, values in seen.items()} if count > 1 else {}

    def bodies(self, template: PromptTemplate) -> list[Body]:
        """The template rendered with each row.

        Raises:
            PrefixlabError: it cannot be rendered, or a row lacks a value.
        """
        if template.render is None:
            raise PrefixlabError(
                "a program would have to run to render this", "Give a template file or logs", path=template.path
            )
        bodies: list[Body] = []
        for row in self.rows:
            messages = template.render(row)
            if len(messages) == 1 and messages[0][0] == PLAIN:
                bodies.append(Text(messages[0][1]))
            else:
                bodies.append(Chat([{"role": role, "content": text} for role, text in messages]))
        return bodies

    def common_prefix(self, template: PromptTemplate, model: ServedModel) -> tuple[int, int]:
        """Tokens that all renderings begin with, and how many renderings there are."""
        prompts = [
            model.prompt(Request(str(number), Location(self.path, number), body))
            for number, body in enumerate(self.bodies(template), 1)
        ]
        return common_prefix_tokens([prompt.tokens for prompt in prompts]), len(self.rows)


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
