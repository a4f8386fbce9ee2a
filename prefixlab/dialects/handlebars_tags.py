"""Handlebars text as a tree. Follows the grammar and the whitespace control of Handlebars 4.7."""

from __future__ import annotations

from prefixlab.dialects.embedded import DEEPEST, too_deep
from prefixlab.dialects.handlebars_expressions import NotHandlebars, TagReader
from prefixlab.dialects.handlebars_nodes import (
    BlockNode,
    Call,
    CommentNode,
    Literal,
    Node,
    PartialNode,
    PathTo,
    Strip,
    TextNode,
    ValueNode,
)
from prefixlab.dialects.handlebars_whitespace import control
from prefixlab.dialects.source_text import SourceText
from prefixlab.template_files import BadTemplate


def handlebars_tree(source: SourceText) -> list[Node]:
    """The nodes of a template.

    Raises:
        BadTemplate: it is none.
    """
    try:
        nodes = _Tree(source).read()
    except NotHandlebars as error:
        raise BadTemplate.at(source.place(error.at), f"is not Handlebars: {error}", "Correct it") from None
    control(nodes, source.text)
    return nodes


class _Open:
    """A block that is not closed yet, and where what comes next goes."""

    def __init__(self, node: BlockNode | PartialNode, body: list[Node], name: str) -> None:
        self.node = node
        self.body = body
        self.name = name
        self.chain: list[BlockNode] = []
        """The blocks of `else if`, which close with it."""


class _Tree:
    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._text = source.text
        self._root: list[Node] = []
        self._open: list[_Open] = []

    @property
    def _body(self) -> list[Node]:
        return self._open[-1].body if self._open else self._root

    def read(self) -> list[Node]:
        text = self._text
        at = 0
        while at < len(text):
            start = text.find("{{", at)
            if start < 0:
                break
            backslashes = 0
            while start - backslashes > at and text[start - backslashes - 1] == "\\":
                backslashes += 1
            if backslashes == 1:
                at = self._escaped(at, start)
                continue
            self._text_until(at, start - (backslashes > 1))
            at = self._raw(start) if text.startswith("{{{{", start) else self._tag(start)
        self._text_until(at, len(text))
        if self._open:
            raise NotHandlebars(f"the block {self._open[-1].name!r} is never closed", self._open[-1].node.start)
        return self._root

    def _text_until(self, start: int, end: int) -> None:
        if end > start:
            self._body.append(TextNode(start, end, self._text[start:end]))

    def _escaped(self, at: int, start: int) -> int:
        r"""`\{{not a tag}}`: text without the backslash, until the next tag."""
        self._text_until(at, start - 1)
        end = self._text.find("{{", start + 2)
        end = len(self._text) if end < 0 else end
        while end > start + 2 and end < len(self._text) and self._text[end - 1] == "\\":
            end -= 1
        self._text_until(start, end)
        return end

    def _raw(self, start: int) -> int:
        """`{{{{raw}}}} ... {{{{/raw}}}}`: text without tags."""
        reader = TagReader(self._text, start + 4)
        call = reader.call()
        reader.blanks()
        if not reader.takes("}}}}"):
            raise NotHandlebars("a raw block is never opened in full", start)
        ending = "{{{{/" + call.name.source + "}}}}"
        end = self._text.find(ending, reader.at)
        if end < 0:
            raise NotHandlebars(f"the raw block {call.name.source!r} is never closed", start)
        node = BlockNode(call, start, Strip())
        if end > reader.at:
            node.body.append(TextNode(reader.at, end, self._text[reader.at : end]))
        self._body.append(node)
        return end + len(ending)

    def _tag(self, start: int) -> int:
        text = self._text
        reader = TagReader(text, start + 2)
        before = reader.takes("~")
        if reader.takes("!"):
            return self._comment(reader, start, before)
        if reader.takes("{"):
            call = reader.call()
            strip = Strip(before, reader.closes("}}}", start))
            self._body.append(ValueNode(call, start, strip, False))
            return reader.at
        if reader.takes("&"):
            call = reader.call()
            self._body.append(ValueNode(call, start, Strip(before, reader.closes("}}", start)), False))
        elif reader.takes("#>"):
            call = reader.call()
            partial = PartialNode(call, start, Strip(before, reader.closes("}}", start)), body=[])
            self._opens(partial, partial.body or [], call)
        elif reader.takes(">"):
            call = reader.call()
            self._body.append(PartialNode(call, start, Strip(before, reader.closes("}}", start))))
        elif reader.takes("#"):
            is_decorator = reader.takes("*")
            self._block(reader, start, before, is_decorator=is_decorator)
        elif reader.takes("/"):
            self._closes(reader, start, before)
        elif reader.takes("^"):
            reader.blanks()
            if text.startswith(("~}}", "}}"), reader.at):
                self._otherwise(start, Strip(before, reader.closes("}}", start)))
            else:
                self._block(reader, start, before, is_inverted=True)
        elif self._is_else(reader):
            reader.blanks()
            if text.startswith(("~}}", "}}"), reader.at):
                self._otherwise(start, Strip(before, reader.closes("}}", start)))
            else:
                self._chained(reader, start, before)
        else:
            call = reader.call()
            self._body.append(ValueNode(call, start, Strip(before, reader.closes("}}", start)), True))
        return reader.at

    @staticmethod
    def _is_else(reader: TagReader) -> bool:
        at = reader.at
        reader.blanks()
        if reader.takes("else") and reader.text[reader.at : reader.at + 1] in (" ", "\t", "\n", "\r", "}", "~"):
            return True
        reader.at = at
        return False

    def _comment(self, reader: TagReader, start: int, before: bool) -> int:
        text = self._text
        ending = "--" if text.startswith("--", reader.at) else ""
        end = reader.at + len(ending)
        while True:
            end = text.find(ending + ("" if ending else "}}"), end)
            if end < 0:
                raise NotHandlebars("a comment is never closed", start)
            behind = end + len(ending)
            if not ending:
                after = text[end - 1] == "~"
                break
            after = text.startswith("~}}", behind)
            if after or text.startswith("}}", behind):
                end = behind + after
                break
            end += 1
        self._body.append(CommentNode(start, Strip(before, after)))
        return end + 2

    def _block(
        self, reader: TagReader, start: int, before: bool, *, is_inverted: bool = False, is_decorator: bool = False
    ) -> None:
        call = reader.call()
        parameters = reader.block_parameters()
        strip = Strip(before, reader.closes("}}", start))
        node = BlockNode(call, start, strip, parameters, is_inverted, is_decorator)
        self._opens(node, node.body, call)

    def _opens(self, node: BlockNode | PartialNode, body: list[Node], call: Call) -> None:
        if len(self._open) + sum([len(one.chain) for one in self._open]) >= DEEPEST:
            raise too_deep(self._source.place(node.start))
        if isinstance(node, PartialNode):
            node.body = body
        self._body.append(node)
        self._open.append(_Open(node, body, _closing_name(call)))

    def _otherwise(self, start: int, strip: Strip) -> None:
        block = self._innermost(start)
        if block.inverse is not None:
            raise NotHandlebars("a block has two else", start)
        block.inverse = []
        block.inverse_strip = strip
        self._open[-1].body = block.inverse

    def _chained(self, reader: TagReader, start: int, before: bool) -> None:
        block = self._innermost(start)
        if block.inverse is not None:
            raise NotHandlebars("an else if stands behind the else", start)
        call = reader.call()
        parameters = reader.block_parameters()
        strip = Strip(before, reader.closes("}}", start))
        if len(self._open) + len(self._open[-1].chain) >= DEEPEST:
            raise too_deep(self._source.place(start))
        inner = BlockNode(call, start, strip, parameters)
        block.inverse = [inner]
        block.is_chained = True
        block.inverse_strip = strip
        self._open[-1].chain.append(inner)
        self._open[-1].body = inner.body

    def _innermost(self, start: int) -> BlockNode:
        """The block that an `else` belongs to."""
        if not self._open or isinstance(self._open[-1].node, PartialNode):
            raise NotHandlebars("an else stands in no block", start)
        opened = self._open[-1]
        return opened.chain[-1] if opened.chain else opened.node  # type: ignore[return-value]

    def _closes(self, reader: TagReader, start: int, before: bool) -> None:
        reader.blanks()
        name = _closing_name(Call("", reader.operand()))
        strip = Strip(before, reader.closes("}}", start))
        if not self._open:
            raise NotHandlebars(f"{name!r} is closed, which was never opened", start)
        opened = self._open.pop()
        if opened.name != name:
            raise NotHandlebars(f"{name!r} is closed, where {opened.name!r} is open", start)
        opened.node.close = strip
        # As in Handlebars: the first of a chain closes as the block does, the others as they open.
        for number, inner in enumerate(opened.chain):
            inner.close = inner.open if number else strip


def _closing_name(call: Call) -> str:
    name = call.name
    return str(name.value) if isinstance(name, Literal) else name.source if isinstance(name, PathTo) else ""
