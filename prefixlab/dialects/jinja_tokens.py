"""The tokens of a Jinja2 text where they stand, and where a fault does; Jinja2 itself tells lines alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
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
    return FollowingParser(environment, text).stops_at()


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


Span = tuple[int, int]
"""From which character to which."""


class FollowingParser(Parser):
    """Jinja2's parser, watched: it knows where operands stand, and where a text is at fault."""

    def __init__(self, environment: jinja2.Environment, text: str) -> None:
        super().__init__(environment, "")
        self._text = text
        self._offsets: dict[int, int] = {}
        """Of tokens, by identity."""
        self._ends: dict[int, int] = {}
        """Of a token, by identity, where the one ahead of it ends."""
        self._kept: list[Token] = []
        self._spans: dict[int, Span] = {}
        """Of operands, by identity."""
        self._end = 0
        self._line = 1
        self._begun: int | None = None
        """The tag that the lexer is in."""
        self._last_begun = 0
        self._open: list[int] = []
        """Tags of statements that have not ended."""
        self._at: int | None = None
        """The fault, where it is known to stand elsewhere than at the token that the parser has reached."""

    def parse(self) -> nodes.Template:
        """The tree.

        Raises:
            jinja2.TemplateSyntaxError: it does not parse.
        """
        self.stream = TokenStream(self._tokens(), None, None)
        return super().parse()

    def stops_at(self) -> int:
        with suppress(jinja2.TemplateSyntaxError, ValueError, RecursionError):
            self.parse()
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
            for token in located(self._numbered(lexer.tokeniter(self._text, None)), self._text):
                if token.kind in ("variable_begin", "block_begin"):
                    self._begun = self._last_begun = token.offset
                elif token.kind in ("variable_end", "block_end"):
                    self._begun = None
                yield from self._wrapped(token)
        except jinja2.TemplateSyntaxError:
            if self._at is None:
                self._at = token.offset if token.kind in _UNFINISHED else token.end
            raise

    def _numbered(self, tokens: Iterable[tuple[int, str, str]]) -> Iterator[tuple[int, str, str]]:
        for token in tokens:
            self._line = token[0]
            yield token

    def _wrapped(self, token: Located) -> Iterator[Token]:
        try:
            made = list(self.environment.lexer.wrap([(self._line, token.kind, token.value)]))
        except (jinja2.TemplateSyntaxError, ValueError):
            self._at = token.offset
            raise
        for one in made:
            self._kept.append(one)
            self._offsets[id(one)] = token.offset
            self._ends[id(one)] = self._end
            self._end = token.end
            yield one

    # --- where operands stand ---

    def parse_unary(self, with_filter: bool = True) -> nodes.Expr:
        """As Jinja2 has it, but that the operand is noted, without its filters and with them."""
        start = self._offsets.get(id(self.stream.current), 0)
        kind, line = self.stream.current.type, self.stream.current.lineno
        node: nodes.Expr
        if kind in ("sub", "add"):
            next(self.stream)
            inner = self.parse_unary(False)
            node = nodes.Neg(inner, lineno=line) if kind == "sub" else nodes.Pos(inner, lineno=line)
        else:
            node = self.parse_primary()
        self._note(node, start)
        node = self.parse_postfix(node)
        if with_filter:
            node = self.parse_filter_expr(node)
            self._note(node, start)
        return node

    def parse_postfix(self, node: nodes.Expr) -> nodes.Expr:
        """As Jinja2 has it, but that what each attribute, item and call is taken of is noted."""
        known = self._spans.get(id(node))
        while (kind := self.stream.current.type) in ("dot", "lbracket", "lparen"):
            node = self.parse_call(node) if kind == "lparen" else self.parse_subscript(node)
            if known is not None:
                self._note(node, known[0])
        return node

    def _note(self, node: nodes.Expr, start: int) -> None:
        self._spans[id(node)] = start, self._ends.get(id(self.stream.current), len(self._text))

    def span(self, node: nodes.Node) -> Span | None:
        """Where an expression of the tree stands; None where it is none that is written."""
        known = self._spans.get(id(node))
        if known is not None:
            return known
        inside = [found for child in node.iter_child_nodes() if (found := self.span(child)) is not None]
        if not inside:
            return None
        made = self._spans[id(node)] = min([one[0] for one in inside]), max([one[1] for one in inside])
        return made

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
