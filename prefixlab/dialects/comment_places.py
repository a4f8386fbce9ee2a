"""Where in a file of another format a comment can stand: outside its texts, or in a comment of their own language."""

from __future__ import annotations

import re
from collections.abc import Iterator

from prefixlab.dialects.document_nodes import Node
from prefixlab.dialects.documents import document
from prefixlab.dialects.front_matter import front_matter
from prefixlab.dialects.modelfile import DIALECT as MODELFILE
from prefixlab.dialects.modelfile import instructions
from prefixlab.template_files import BadTemplate, TemplateFile

_OPENS = re.compile(r"(?<!\{)\{#|\{\{[-~]?\s*(?:!|/\*)|\{%-?\s*comment\b")
_CLOSES = {"#": "#}", "!": "}}", "*": "*/", "t": "endcomment"}
"""By the last character of what opens the comment."""

Span = tuple[int, int]


def text_spans(file: TemplateFile) -> tuple[Span, ...]:
    """Where the texts of a file of YAML, JSON, a Modelfile, Prompty or dotprompt stand, from the first character to the
    one behind the last; none of other files, and of those that cannot be read.
    """
    try:
        return tuple(_spans(file))
    except BadTemplate:
        return ()


def can_be_comment(file: TemplateFile, spans: tuple[Span, ...], offset: int) -> bool:
    """Whether the character at an offset of the file stands in no text, or in a comment of the text's own language."""
    span = next((one for one in spans if one[0] <= offset < one[1]), None)
    if span is None:
        return True
    at, end = span
    while (found := _OPENS.search(file.text, at, offset)) is not None:
        closing = file.text.find(_CLOSES[found[0][-1]], found.end(), end)
        if closing < 0 or closing >= offset:
            return True
        at = closing
    return False


def _spans(file: TemplateFile) -> Iterator[Span]:
    if file.path.endswith((".json", ".yaml", ".yml")):
        yield from _of_nodes(document(file))
    elif file.path.endswith((".prompty", ".prompt")):
        found = front_matter(file)
        yield (0, len(file.text)) if found is None else found.body.span
        if found is not None:
            yield from _of_nodes(found.head)
    elif MODELFILE.recognises(file):
        for one in instructions(file):
            yield one.text.span


def _of_nodes(root: Node) -> Iterator[Span]:
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            waiting += (*node.fields.values(), *node.items)
            if node.source is not None:
                yield node.source.span
