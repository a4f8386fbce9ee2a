"""A Jinja2 file parsed by Jinja2, and where in it each text, output and statement stands.

The nodes of Jinja2 know their line alone. Its lexer gives the tokens in order, so the columns are found by counting:
the n-th output of the file is the n-th `{{`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Collection, Sequence

import jinja2
from jinja2 import nodes
from jinja2.ext import do, i18n, loopcontrols

from prefixlab.dialects.jinja_limits import refused
from prefixlab.dialects.jinja_tokens import (
    FollowingParser,
    Located,
    Span,
    fault_offset,
    located,
    unknown_offset,
    value_span,
)
from prefixlab.prompt_templates import Place
from prefixlab.rendering.sandbox import GenerationBlock
from prefixlab.template_files import BadTemplate, TemplateFile

EXTENSIONS = (GenerationBlock, loopcontrols, do, i18n)


MOST_MARKS = 50_000
"""Outputs and statements of a file; one with more is no template that a person wrote."""

_KEYWORDS: dict[type[nodes.Node], str] = {
    nodes.If: "if",
    nodes.For: "for",
    nodes.Assign: "set",
    nodes.AssignBlock: "set",
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "from",
    nodes.Extends: "extends",
    nodes.Block: "block",
    nodes.CallBlock: "call",
    nodes.With: "with",
    nodes.Macro: "macro",
}


class JinjaFile:
    """The nodes of a file and their places."""

    def __init__(self, file: TemplateFile, environment: jinja2.Environment, own_filters: Collection[str] = ()) -> None:
        """`own_filters` are names of filters and tests that the project adds.

        Raises:
            BadTemplate: Jinja2 cannot parse it, or it uses a filter or test that is not known.
        """
        self.file = file
        self.path = file.path
        # As Jinja2 sees it, with one kind of line break.
        self.text = file.text.replace("\r\n", "\n").replace("\r", "\n")
        if self.text.count("{{") + self.text.count("{%") > MOST_MARKS:
            raise BadTemplate(f"has more than {MOST_MARKS:,} outputs and statements", "Split it", path=self.path)
        self._starts = [0]
        for at, character in enumerate(self.text):
            if character == "\n":
                self._starts.append(at + 1)
        try:
            self._parser = FollowingParser(environment, self.text)
            self.tree = self._parser.parse()
            tokens = list(located(environment.lexer.tokeniter(self.text, None), self.text))
        except (jinja2.TemplateSyntaxError, ValueError) as error:
            at = fault_offset(environment, self.text)
            # Of a character that fits nowhere Jinja2 says the offset as well, of a long number nothing.
            message = error.message if isinstance(error, jinja2.TemplateSyntaxError) else "a number is too large"
            what = str(message).removesuffix(f" at {at}")
            raise BadTemplate.at(self._at(at), f"is not a Jinja2 template: {what}", "Correct it") from None
        except RecursionError:
            at = fault_offset(environment, self.text)
            raise BadTemplate.at(self._at(at), "is nested too deeply", "Correct it") from None
        try:
            self._check_names(environment, own_filters, tokens)
            faults = [(self._span(node), what) for node, what in refused(self.tree)]
        except RecursionError:
            raise BadTemplate.at(self._deepest(), "is nested too deeply", "Correct it") from None
        if faults:
            # The innermost: what is around it asks for no more.
            (start, _), what = min(faults, key=lambda one: one[0][1])
            raise BadTemplate.at(self._at(start), what, "Correct it")
        self._outputs: dict[int, tuple[Place, str]] = {}
        self._texts: dict[int, Place] = {}
        self._statements: dict[int, tuple[Place, str]] = {}
        self._values: dict[Place, str] = {}
        self._place(tokens)

    def _check_names(self, environment: jinja2.Environment, own: Collection[str], tokens: Sequence[Located]) -> None:
        unknown = {
            (kind, node.name.partition(".")[0]): node.name
            for kind, known, found in (
                ("filter", environment.filters, self.tree.find_all(nodes.Filter)),
                ("test", environment.tests, self.tree.find_all(nodes.Test)),
            )
            for node in found
            if node.name not in known and node.name not in own
        }
        if unknown and (found := unknown_offset(tokens, unknown)) is not None:
            at, kind, name = found
            raise BadTemplate.at(
                self._at(at),
                f"the {kind} {name!r} is not known",
                "If your project adds it, name it under jinja-filters in [tool.prefixlab]",
            )

    def _deepest(self) -> Place:
        """Of what is nested too deeply to be gone through, the innermost statement or output."""
        node: nodes.Node = self.tree
        while True:
            for child in node.iter_child_nodes():
                try:
                    for _ in child.find_all(nodes.Node):
                        pass
                except RecursionError:
                    node = child
                    break
            else:
                return self._node_place(node)
            if isinstance(node, nodes.Expr):
                return self._node_place(node)

    def _node_place(self, node: nodes.Node) -> Place:
        try:
            return self._at(self._span(node)[0])
        except RecursionError:
            # It begins with its first leaf.
            while (child := next(node.iter_child_nodes(), None)) is not None:
                node = child
            return self._at(self._span(node)[0])

    def _span(self, node: nodes.Node) -> Span:
        start = self._starts[min(node.lineno, len(self._starts)) - 1]
        return self._parser.span(node) or (start, start)

    def expression(self, node: nodes.Node) -> tuple[Place, str] | None:
        """Where an expression stands, and how it is written; None where it is none that is written."""
        span = self._parser.span(node)
        return None if span is None else (self._at(span[0]), self.text[slice(*span)])

    def _place(self, tokens: Sequence[Located]) -> None:
        texts, outputs = [], []
        opened: Place | None = None
        statements: dict[tuple[int, str], deque[tuple[Place, str]]] = {}
        keywords: list[tuple[int, str]] = []
        begin = first = 0
        for number, (at, kind, value) in enumerate(tokens):
            place = self._at(at)
            if kind == "data" and value:
                texts.append(place)
            elif kind == "variable_begin":
                begin, opened = at + len(value), place
            elif kind == "variable_end" and opened is not None:
                outputs.append((opened, self.text[begin:at].strip(" \n\t-+")))
            elif kind == "block_begin":
                begin, opened, first = at + len(value), place, number
                named = [tokens[next_one] for next_one in range(number + 1, min(number + 4, len(tokens)))]
                keywords.append(
                    next(((self._at(where).line, word) for where, what, word in named if what == "name"), (0, ""))
                )
            elif kind == "block_end" and opened is not None and keywords:
                inside = self.text[begin:at].strip(" \n\t-+")
                begins, ends = value_span(tokens[first:number])
                self._values[opened] = self.text[begins:ends]
                statements.setdefault(keywords[-1], deque()).append(
                    (opened, inside.removeprefix(keywords[-1][1]).strip())
                )
        # Statements of one kind stand in a tree in the order in which they stand in the file.
        later = {id(one) for node in self.tree.find_all(nodes.If) for one in node.elif_}
        for node in self.tree.find_all(tuple(_KEYWORDS)):
            keyword = "elif" if id(node) in later else _KEYWORDS[type(node)]
            waiting = statements.get((node.lineno, keyword))
            if waiting:
                self._statements[id(node)] = waiting.popleft()
        found_texts = found_outputs = 0
        for output in self.tree.find_all(nodes.Output):
            for node in output.nodes:
                if isinstance(node, nodes.TemplateData):
                    if found_texts < len(texts):
                        self._texts[id(node)] = texts[found_texts]
                    found_texts += 1
                else:
                    if found_outputs < len(outputs):
                        self._outputs[id(node)] = outputs[found_outputs]
                    found_outputs += 1

    def _at(self, offset: int) -> Place:
        line = bisect_right(self._starts, offset)
        return Place(self.path, line, offset - self._starts[line - 1] + 1)

    def of_text(self, node: nodes.TemplateData) -> Place:
        """Where a text starts."""
        return self._texts.get(id(node), Place(self.path, node.lineno, 1))

    def of_output(self, node: nodes.Expr) -> tuple[Place, str]:
        """Where an output starts, and its expression as written."""
        return self._outputs.get(id(node), (Place(self.path, node.lineno, 1), ""))

    def of_statement(self, node: nodes.Node) -> Place:
        """Where a statement starts."""
        found = self._statements.get(id(node))
        return Place(self.path, node.lineno, 1) if found is None else found[0]

    def value_text(self, node: nodes.Node) -> str:
        """What a statement sets a name to or goes through, as written."""
        return self._values.get(self.of_statement(node), "")

    def statement_text(self, node: nodes.Node) -> str:
        """A statement as written, without its keyword."""
        found = self._statements.get(id(node))
        return "" if found is None else found[1]
