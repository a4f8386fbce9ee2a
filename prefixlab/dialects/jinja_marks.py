"""A Jinja2 template rendered so that each piece of its text tells which expression or text of the template wrote it.

Ahead of each output stands a mark, a character for private use. Where the template itself looks at what it renders (in
macros and what is set to a block) there are none: the output that has that counts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from jinja2 import nodes

from prefixlab.dialects.jinja_files import JinjaFile
from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import Place
from prefixlab.rendering.limits import TooMuch
from prefixlab.rendering.prompts import PromptEnvironment
from prefixlab.template_files import TemplateFile

FIRST_MARK = 0x100000
MOST_MARKS = 0xFFFD

_MARK = re.compile(f"[{chr(FIRST_MARK)}-{chr(FIRST_MARK + MOST_MARKS)}]")

Source = Callable[[str, str | None], tuple[str, str] | None]


class Piece(NamedTuple):
    """Text that one expression wrote."""

    start: int
    end: int
    mark: int


class Written:
    """A rendering."""

    def __init__(self, marked: str, writers: list[tuple[Place, str]]) -> None:
        self.text = _MARK.sub("", marked)
        self._writers = writers
        self._pieces: list[Piece] = []
        found = list(_MARK.finditer(marked))
        for number, mark in enumerate(found):
            end = found[number + 1].start() if number + 1 < len(found) else len(marked)
            if end > mark.end():
                # Each mark ahead is a character that is not in the text.
                self._pieces.append(Piece(mark.start() - number, end - number - 1, ord(mark[0]) - FIRST_MARK))
        self._starts = [piece.start for piece in self._pieces]

    def piece(self, at: int) -> Piece | None:
        """The piece that a character is of."""
        number = bisect_right(self._starts, at) - 1
        return self._pieces[number] if number >= 0 else None

    def writer(self, at: int) -> tuple[Place, str] | None:
        """Where what wrote a character stands, and how it is written; empty of text."""
        piece = self.piece(at)
        if piece is None:
            return None
        place, source = self._writers[piece.mark]
        if source:
            return place, source
        ahead = self.text[piece.start : at]
        line = ahead.rfind("\n") + 1
        column = len(ahead) - line + (1 if line else place.column)
        return Place(place.path, place.line + ahead.count("\n"), column), source


class MarkedEnvironment(PromptEnvironment):
    """Renders one template, with one allowance for all renderings."""

    def __init__(self, file: TemplateFile, source: Source) -> None:
        super().__init__(source, is_chat_template=True)
        self._file = file
        self._writers: list[tuple[Place, str]] = []
        self.is_spent = False
        self.allowance.renew(None)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        if name != self._file.path:
            return super()._parse(source, name, filename)
        file = JinjaFile(self._file, self, self._file.own_names)
        self._mark(file.tree.body, file)
        return file.tree

    def written(self, values: Mapping[str, Any]) -> Written:
        """A rendering with values.

        Raises:
            PrefixlabError: the template fails, or has taken all its steps.
        """
        try:
            return Written(str(self.get_template(self._file.path).render(values)), self._writers)
        except PrefixlabError:
            raise
        except Exception as error:  # whatever a template does is its own fault
            self.is_spent = self.is_spent or isinstance(error, TooMuch | MemoryError)
            raise PrefixlabError(f"cannot be rendered: {error}", "Correct it", path=self._file.path) from None

    def _mark(self, body: Iterable[nodes.Node], file: JinjaFile) -> None:
        for node in body:
            if isinstance(node, nodes.Output):
                node.nodes = [marked for one in node.nodes for marked in self._marked(one, file)]
            elif isinstance(node, nodes.If):
                for arm in (node.body, node.else_, *[other.body for other in node.elif_]):
                    self._mark(arm, file)
            elif isinstance(node, nodes.For):
                if not node.recursive:
                    self._mark(node.body, file)
                    self._mark(node.else_, file)
            elif isinstance(node, nodes.With | nodes.Scope | nodes.ScopedEvalContextModifier | nodes.Block):
                self._mark(node.body, file)
            elif isinstance(node, nodes.CallBlock) and not isinstance(node.call.node, nodes.Name):
                # `generation` renders its body as it is.
                self._mark(node.body, file)

    def _marked(self, node: nodes.Expr, file: JinjaFile) -> list[nodes.Expr]:
        marked: list[Any] = []
        for one in _operands(node):
            if len(self._writers) < MOST_MARKS:
                mark = chr(FIRST_MARK + len(self._writers))
                marked.append(nodes.TemplateData(mark, lineno=node.lineno).set_environment(self))
                if isinstance(one, nodes.TemplateData):
                    self._writers.append((file.of_text(one), ""))
                elif one is node:
                    self._writers.append(file.of_output(node))
                else:
                    self._writers.append(file.expression(one) or file.of_output(node))
            marked.append(one)
        return marked


def _operands(node: nodes.Expr) -> list[nodes.Expr]:
    """What an output puts together, each for itself."""
    if isinstance(node, nodes.Concat):
        return [inner for one in node.nodes for inner in _operands(one)]
    if isinstance(node, nodes.Add):
        operands = [*_added(node.left), *_added(node.right)]
        if any(isinstance(one, nodes.Const) and isinstance(one.value, str) for one in operands):
            return operands
    return [node]


def _added(node: nodes.Expr) -> list[nodes.Expr]:
    return [*_added(node.left), *_added(node.right)] if isinstance(node, nodes.Add) else [node]
