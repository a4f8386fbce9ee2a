"""A statement or an output of Jinja2 in a file of whatever format, as the tokens of Jinja2's own lexer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jinja2

from prefixlab.template_rewriting.edits import Refused


class Token(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


_OPENS = {"(": ")", "[": "]", "{": "}"}


def tokens_from(text: str, start: int) -> list[Token]:
    """The tokens of the text from `start` on, blanks left out.

    Raises:
        Refused: the lexer of Jinja2 cannot read it.
    """
    # The lexer counts a line break as one character: each kind is set to one of that length.
    plain = text[start:].replace("\r", " ")
    tokens = []
    at = 0
    try:
        for _, kind, value in jinja2.Environment(keep_trailing_newline=True).lexer.tokeniter(plain, None):  # noqa: S701
            # Between two tokens only blanks are left out, where a `-` strips them.
            at = plain.find(value, at)
            if kind != "whitespace":
                tokens.append(Token(kind, value, start + at))
            at += len(value)
            if kind in ("variable_end", "block_end") and _is_first(tokens):
                # The rest of the file may be of another language.
                tokens.append(Token("stop", "", start + at))
    except jinja2.TemplateSyntaxError:
        if not any(token.kind == "stop" for token in tokens):
            raise Refused("it is not written as Jinja2 there") from None
    return tokens


def _is_first(tokens: Sequence[Token]) -> bool:
    return sum([token.kind in ("variable_end", "block_end", "stop") for token in tokens]) == 1


def statement(tokens: Sequence[Token]) -> list[Token]:
    """The first statement or output, without the marks around it.

    Raises:
        Refused: the tokens do not begin with one.
    """
    if not tokens or tokens[0].kind not in ("variable_begin", "block_begin"):
        raise Refused("it is not written as Jinja2 there")
    end = next((at for at, one in enumerate(tokens) if one.kind in ("variable_end", "block_end")), None)
    if end is None:
        raise Refused("it is not written as Jinja2 there")
    return list(tokens[1:end])


def closing(tokens: Sequence[Token], at: int) -> int:
    """The index of the bracket that closes the one at `at`."""
    depth = 0
    for number in range(at, len(tokens)):
        if tokens[number].kind == "operator":
            depth += tokens[number].text in _OPENS
            depth -= tokens[number].text in _OPENS.values()
            if not depth:
                return number
    raise Refused("it is not written as Jinja2 there")
