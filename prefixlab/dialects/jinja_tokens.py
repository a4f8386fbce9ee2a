"""The tokens of a Jinja2 text where they stand, and where a fault does; Jinja2 itself tells lines alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import jinja2
from jinja2 import nodes
from jinja2.lexer import TOKEN_EOF, Token, TokenStream
from jinja2.parser import Parser

_UNFINISHED = frozenset({"comment_begin", "raw_begin"})


class Located(NamedTuple):
    """A token as it is written."""

    offset: int
    kind: str
    value: str

    @property
    def end(self) -> int:
        """Behind its last character."""
        return self.offset + len(self.value)


def located(tokens: Iterable[tuple[int, str, str]], text: str) -> Iterator[Located]:
    """What Jinja2's lexer gives, with offsets in the text."""
    at = 0
    for _, kind, value in tokens:
        # Between two tokens only blanks are left out, where a `-` strips them.
        at = text.find(value, at) if value else at
        yield Located(at, kind, value)
        at += len(value)


def fault_offset(environment: jinja2.Environment, text: str) -> int:
    """Where a text that does not parse is at fault: what the lexer or the parser stops at; of what is never closed,
    where it is opened."""
    return _Following(environment, text).stops_at()


def unknown_offset(tokens: Iterable[Located], unknown: Mapping[tuple[str, str], str]) -> tuple[int, str, str] | None:
    """The first filter or test of those that are not known: offset, kind and name.

    `unknown` has full names by kind and first word.
    """
    before = ("", "")
    for token in tokens:
        if token.kind == "whitespace":
            continue
        if token.kind == "name":
            is_filter = before[1] == "|" or before == ("block_begin", "filter")
            kind = "filter" if is_filter else "test" if before[1] == "is" or before == ("is", "not") else ""
            if (kind, token.value) in unknown:
                return token.offset, kind, unknown[kind, token.value]
        before = (before[1], "block_begin" if token.kind == "block_begin" else token.value)
    return None


_AHEAD_OF_VALUE = {"set": ("operator", "="), "for": ("name", "in")}


def value_span(tokens: Iterable[Located]) -> tuple[int, int]:
    """From where to where what a statement sets a name to, or goes through, stands; nothing where it does neither."""
    words = [token for token in tokens if token.kind != "whitespace"]
    keyword = words[1].value if len(words) > 1 else ""
    kinds = [(token.kind, token.value) for token in words]
    ahead = _AHEAD_OF_VALUE.get(keyword)
    if ahead is None or ahead not in kinds:
        return 0, 0
    begin = end = kinds.index(ahead) + 1
    depth = 0
    while end < len(words):
        kind, value = kinds[end]
        depth += (value in ("(", "[", "{")) - (value in (")", "]", "}")) if kind == "operator" else 0
        if keyword == "for" and not depth and kind == "name" and value in ("if", "recursive"):
            break
        end += 1
    return (words[begin].offset, words[end - 1].end) if begin < end else (0, 0)


class _Following(Parser):
    """Jinja2's parser, watched."""

    def __init__(self, environment: jinja2.Environment, text: str) -> None:
        super().__init__(environment, "")
        self._text = text
        self._offsets: dict[int, int] = {}
        """Of tokens, by identity."""
        self._kept: list[Token] = []
        self._begun: int | None = None
        """The tag that the lexer is in."""
        self._last_begun = 0
        self._open: list[int] = []
        """Tags of statements that have not ended."""
        self._at: int | None = None
        """The fault, where it is known to stand elsewhere than at the token that the parser has reached."""

    def stops_at(self) -> int:
        try:
            self.stream = TokenStream(self._tokens(), None, None)
            self.parse()
        except (jinja2.TemplateSyntaxError, ValueError, RecursionError):
            pass
        if self._at is not None:
            return self._at
        if self.stream.current.type is not TOKEN_EOF:
            return self._offsets.get(id(self.stream.current), 0)
        if self._begun is not None:
            return self._begun
        return self._open[-1] if self._open else len(self._text)

    def _tokens(self) -> Iterator[Token]:
        lexer = self.environment.lexer
        token = Located(0, "", "")
        try:
            for token in located(lexer.tokeniter(self._text, None), self._text):
                if token.kind in ("variable_begin", "block_begin"):
                    self._begun = self._last_begun = token.offset
                elif token.kind in ("variable_end", "block_end"):
                    self._begun = None
                yield from self._wrapped(token)
        except jinja2.TemplateSyntaxError:
            if self._at is None:
                self._at = token.offset if token.kind in _UNFINISHED else token.end
            raise

    def _wrapped(self, token: Located) -> Iterator[Token]:
        try:
            made = list(self.environment.lexer.wrap([(1, token.kind, token.value)]))
        except (jinja2.TemplateSyntaxError, ValueError):
            self._at = token.offset
            raise
        for one in made:
            self._kept.append(one)
            self._offsets[id(one)] = token.offset
            yield one

    def parse_statement(self) -> Any:
        self._open.append(self._last_begun)
        made = super().parse_statement()
        self._open.pop()
        return made

    def parse_assign_target(self, *args: Any, **kwargs: Any) -> Any:
        first = self.stream.current
        try:
            return super().parse_assign_target(*args, **kwargs)
        except jinja2.TemplateSyntaxError as error:
            if self._at is None and str(error.message).startswith("can't assign"):
                # The parser has gone over it.
                self._at = self._offsets.get(id(first))
            raise

    def parse_subscript(self, node: nodes.Expr) -> Any:
        is_attribute = self.stream.current.type == "dot"
        attribute = self.stream.look() if is_attribute else None
        try:
            return super().parse_subscript(node)
        except jinja2.TemplateSyntaxError:
            if self._at is None and attribute is not None and attribute.type is not TOKEN_EOF:
                self._at = self._offsets.get(id(attribute))
            raise
