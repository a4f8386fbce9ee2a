"""Which blanks of a Handlebars template fall out: those that `~` strips, and lines with nothing but a block tag."""

from __future__ import annotations

from collections.abc import Sequence

from prefixlab.dialects.handlebars_nodes import BlockNode, CommentNode, Node, PartialNode, Strip, TextNode, ValueNode


def control(nodes: list[Node], text: str) -> None:
    """Takes the blanks out of the text nodes."""
    _Control(text).program(nodes, is_root=True)


class _Control:
    def __init__(self, text: str) -> None:
        self._text = text

    def program(self, body: list[Node], *, is_root: bool = False) -> None:
        for number, node in enumerate(body):
            opens = closes = inline = False
            if isinstance(node, TextNode):
                continue
            if isinstance(node, ValueNode):
                strip = node.strip
            elif isinstance(node, CommentNode) or (isinstance(node, PartialNode) and node.body is None):
                strip, inline = node.strip, True
            else:
                strip, opens, closes = self._block(node)
            is_first = _ends_line(body, number, is_root)
            is_last = _starts_line(body, number, is_root)
            if strip.after:
                self._omit_right(body, number, every=True)
            if strip.before:
                self._omit_left(body, number, every=True)
            if inline and is_first and is_last:
                self._omit_right(body, number)
                if self._omit_left(body, number) and isinstance(node, PartialNode):
                    before = body[number - 1]
                    assert isinstance(before, TextNode)
                    node.indent = before.original[len(before.original.rstrip(" \t")) :]
            if isinstance(node, BlockNode | PartialNode) and opens and is_first:
                self._omit_right(_first_body(node))
                self._omit_left(body, number)
            if isinstance(node, BlockNode | PartialNode) and closes and is_last:
                self._omit_right(body, number)
                inverse = _inverse(node)
                self._omit_left(_first_body(node) if inverse is None else inverse)

    def _block(self, node: BlockNode | PartialNode) -> tuple[Strip, bool, bool]:
        """The strip of a block from outside, and whether its opening and closing tags are alone towards its inside."""
        program, inverse = _first_body(node), _inverse(node)
        self.program(program)
        if inverse is not None:
            self.program(inverse)
        other = inverse
        if isinstance(node, BlockNode) and node.is_chained and inverse:
            assert isinstance(inverse[0], BlockNode)
            other = inverse[0].body
        open_strip = node.open if isinstance(node, BlockNode) else node.strip
        opens = _starts_line(program)
        closes = _ends_line(other if other is not None else program)
        if open_strip.after:
            self._omit_right(program, every=True)
        if other is not None and isinstance(node, BlockNode):
            if node.inverse_strip.before:
                self._omit_left(program, every=True)
            if node.inverse_strip.after:
                self._omit_right(other, every=True)
            if node.close.before:
                self._omit_left(other, every=True)
            if _ends_line(program) and _starts_line(other):
                self._omit_left(program)
                self._omit_right(other)
        elif node.close.before:
            self._omit_left(program, every=True)
        return Strip(open_strip.before, node.close.after), opens, closes

    def _omit_right(self, body: Sequence[Node], number: int = -1, *, every: bool = False) -> None:
        node = body[number + 1] if number + 1 < len(body) else None
        if not isinstance(node, TextNode) or (not every and node.is_right_stripped):
            return
        start = node.start
        while node.start < node.end and (self._text[node.start].isspace() if every else self._is_blank(node.start)):
            node.start += 1
        if not every:
            if self._text.startswith("\r\n", node.start) and node.start + 1 < node.end:
                node.start += 2
            elif node.start < node.end and self._text[node.start] == "\n":
                node.start += 1
        node.is_right_stripped = node.start != start

    def _omit_left(self, body: Sequence[Node], number: int | None = None, *, every: bool = False) -> bool:
        at = (len(body) if number is None else number) - 1
        node = body[at] if at >= 0 else None
        if not isinstance(node, TextNode) or (not every and node.is_left_stripped):
            return False
        end = node.end
        while node.end > node.start and (self._text[node.end - 1].isspace() if every else self._is_blank(node.end - 1)):
            node.end -= 1
        node.is_left_stripped = node.end != end
        return node.is_left_stripped

    def _is_blank(self, at: int) -> bool:
        return self._text[at] in " \t"


def _first_body(node: BlockNode | PartialNode) -> list[Node]:
    return (node.body or []) if isinstance(node, PartialNode) else node.body


def _inverse(node: BlockNode | PartialNode) -> list[Node] | None:
    return node.inverse if isinstance(node, BlockNode) else None


def _ends_line(body: Sequence[Node], number: int | None = None, is_root: bool = False) -> bool:
    """Whether only blanks of its line stand before a node."""
    at = (len(body) if number is None else number) - 1
    if at < 0:
        return is_root
    node = body[at]
    if not isinstance(node, TextNode):
        return False
    blanks = node.original[len(node.original.rstrip()) :]
    return "\n" in blanks or (at == 0 and is_root and len(blanks) == len(node.original))


def _starts_line(body: Sequence[Node], number: int = -1, is_root: bool = False) -> bool:
    """Whether only blanks of its line stand behind a node."""
    at = number + 1
    if at >= len(body):
        return is_root
    node = body[at]
    if not isinstance(node, TextNode):
        return False
    blanks = node.original[: len(node.original) - len(node.original.lstrip())]
    return "\n" in blanks or (at == len(body) - 1 and is_root and len(blanks) == len(node.original))
