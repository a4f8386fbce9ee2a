"""Python literals inside the text lines of servers, read without running anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

_ESCAPE = r"\\[\\'\"nrtxuU]"
_STRING = rf"'[^'\\]*+(?:{_ESCAPE}[^'\\]*+)*+'|\"[^\"\\]*+(?:{_ESCAPE}[^\"\\]*+)*+\""
_LITERAL = re.compile(rf"(?P<text>{_STRING})|(?P<ids>\[[0-9, ]*+\])|(?P<none>None\b)", re.DOTALL)
_FIELD = re.compile(rf"(?:{_STRING})|(?P<open>[\[({{])|(?P<close>[\])}}])|\b(?P<name>\w+)=", re.DOTALL)


class NoLiteral(ValueError):
    """What stands there is no text, no list of integers and not None."""


def literal_at(line: str, start: int) -> tuple[Any, int]:
    """The string, list of integers or None at `start`, and where it ends.

    Raises:
        NoLiteral: something else stands there, or text that is no Unicode.
    """
    match = _LITERAL.match(line, start)
    if match is None:
        raise NoLiteral
    if match["none"]:
        return None, match.end()
    if match["ids"]:
        return orjson.loads(match["ids"]), match.end()
    import ast

    try:
        text = ast.literal_eval(match["text"])
        text.encode()
    except (ValueError, SyntaxError, MemoryError):
        raise NoLiteral from None
    return text, match.end()


def fields(line: str, start: int) -> Iterator[tuple[str, int]]:
    """The names in `Name(field=value, ...)` that opens at `start`, each with where its value starts; "" at its end."""
    depth = 0
    for token in _FIELD.finditer(line, start):
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth -= 1
            if depth == 0:
                yield "", token.end()
                return
        elif token["name"] and depth == 1:
            yield token["name"], token.end()


def any_literal(text: str) -> Any:
    """Any Python literal; None where the text is none."""
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
