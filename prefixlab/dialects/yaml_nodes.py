"""YAML read with places: the events of PyYAML, made into nodes. No tag makes anything but plain values."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from prefixlab.dialects.document_nodes import DEEPEST, Node, bad_document
from prefixlab.dialects.source_text import SourceText
from prefixlab.template_files import BadTemplate

if TYPE_CHECKING:
    import yaml

MOST_NODES = 200_000
"""Values of a document, those that aliases name counted each time."""

_ESCAPE_LENGTHS = {"x": 2, "u": 4, "U": 8}


class YamlNodes:
    """Reads one YAML text; of several documents the first."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._size = 0

    def read(self) -> Node:
        """The document.

        Raises:
            BadTemplate: it is not YAML, or its aliases make it too large.
        """
        import yaml

        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._constructor = yaml.constructor.SafeConstructor()
        self._resolver = yaml.resolver.Resolver()
        try:
            events = yaml.parse(self._source.text, Loader=loader)
            for event in events:
                if isinstance(event, yaml.DocumentStartEvent):
                    return self._node(next(events), events, 0)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            what = error.problem or error.context or "it cannot be read"
            begun = error.context_mark
            if error.problem and error.context and begun is not None and begun.line != mark.line:
                # Such as the quote that is never closed.
                what += f" {error.context} of line {self._source.place(self._offset(begun)).line}"
            raise bad_document("YAML", what, self._source.place(self._offset(mark))) from None
        except yaml.YAMLError as error:
            # What is left is a character that YAML does not take; the error counts bytes.
            found = yaml.reader.Reader.NON_PRINTABLE.search(self._source.text)
            at = self._source.place(found.start() if found else 0)
            raise bad_document("YAML", str(error).split("\n")[0], at) from None
        return Node(self._source.place(0), None)

    def _offset(self, mark: Any) -> int:
        return min(mark.index, len(self._source.text)) if mark is not None else 0

    def _node(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Node:
        import yaml

        place = self._source.place(self._offset(event.start_mark))
        if depth > DEEPEST:
            raise bad_document("YAML", f"values are nested more than {DEEPEST} deep", place)
        before = self._size
        self._count(1, place)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise bad_document("YAML", f"the alias {event.anchor!r} names nothing", place)
            node, size = self._anchors[event.anchor]
            self._count(size, place)
            return node
        if isinstance(event, yaml.MappingStartEvent):
            node = self._mapping(place, events, depth)
        elif isinstance(event, yaml.SequenceStartEvent):
            items = []
            while not isinstance(inner := next(events), yaml.SequenceEndEvent):
                items.append(self._node(inner, events, depth + 1))
            node = Node(place, [item.value for item in items], items=items)
        else:
            node = self._scalar(event, place)
        anchor = getattr(event, "anchor", None)
        if anchor:
            self._anchors[anchor] = (node, self._size - before)
        return node

    def _count(self, nodes: int, place: Any) -> None:
        self._size += nodes
        if self._size > MOST_NODES:
            raise BadTemplate.at(place, "is too large with its aliases", "Split it")

    def _mapping(self, place: Any, events: Iterator[yaml.Event], depth: int) -> Node:
        import yaml

        fields: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        while not isinstance(key := next(events), yaml.MappingEndEvent):
            name = self._node(key, events, depth + 1)
            value = self._node(next(events), events, depth + 1)
            if name.value == "<<" and isinstance(key, yaml.ScalarEvent):
                for one in value.items or (value,):
                    for merged_name, merged_value in one.fields.items():
                        merged.setdefault(merged_name, merged_value)
            else:
                fields[str(name.value) if not isinstance(name.value, list | dict) else ""] = value
        fields = {**merged, **fields}
        return Node(place, {name: node.value for name, node in fields.items()}, fields=fields)

    def _scalar(self, event: Any, place: Any) -> Node:
        import yaml

        text: str = event.value
        if event.style is None:
            tag = event.tag or self._resolver.resolve(yaml.ScalarNode, text, event.implicit)
            if tag.startswith("tag:yaml.org,2002:") and tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
                try:
                    node = yaml.ScalarNode(tag, text, event.start_mark, event.end_mark)
                    return Node(place, self._constructor.construct_object(node, deep=True))
                except (ValueError, OverflowError, yaml.constructor.ConstructorError):
                    pass
        return Node(place, text, source=self._decoded(event))

    def _decoded(self, event: Any) -> SourceText:
        """A text with the offset of each of its characters."""
        start, end = self._offset(event.start_mark), self._offset(event.end_mark)
        text: str = event.value
        written = self._source.text
        if event.style is None and written[start:end] == text:
            return self._source.part(start, end)
        if event.style == "|":
            offsets = _literal_offsets(text, written, start, end)
        else:
            offsets = _folded_offsets(text, written, start, end, event.style)
        return self._source.decoded(text, offsets)


def _literal_offsets(text: str, written: str, start: int, end: int) -> array[int]:
    """Of a block that keeps its lines: line for line, behind the indentation."""
    offsets = array("L")
    at = written.find("\n", start) + 1
    for line in text.splitlines(keepends=True) if "\x85" not in text else text.split("\n"):
        until = written.find("\n", at)
        until = len(written) if until < 0 else until
        content = line.rstrip("\n")
        # The text of a line is its end: what stands before is indentation.
        ends = until - 1 if written[until - 1 : until] == "\r" else until
        begin = max(ends - len(content), at)
        offsets.extend([min(begin + number, end) for number in range(len(content))])
        if line.endswith("\n"):
            offsets.append(min(ends, len(written)))
        at = until + 1
    while len(offsets) < len(text):
        offsets.append(min(at, end))
    offsets = offsets[: len(text)]
    offsets.append(offsets[-1] + 1 if offsets else start)
    return offsets


def _folded_offsets(text: str, written: str, start: int, end: int, style: str | None) -> array[int]:
    """Of a text whose lines are joined or whose characters are escaped: what is no blank stands in the same order."""
    offsets = array("L")
    at = written.find("\n", start) + 1 if style == ">" else start + (style in ("'", '"'))
    for character in text:
        if style == '"' and _continues(written, at):
            at = _behind_blanks(written, at + 1, end, style)
        elif not character.isspace():
            at = _behind_blanks(written, at, end, style)
        offsets.append(min(at, len(written)))
        if style == '"' and written[at : at + 1] == "\\":
            at += 2 + _ESCAPE_LENGTHS.get(written[at + 1 : at + 2], 0)
        elif style == "'" and character == "'":
            at += 2
        elif not character.isspace() or written[at : at + 1].isspace():
            at += 1
    offsets.append(min(at, len(written)))
    return offsets


def _continues(written: str, at: int) -> bool:
    """Whether a backslash stands here that ends its line."""
    return written[at : at + 1] == "\\" and written[at + 1 : at + 2] in ("\r", "\n")


def _behind_blanks(written: str, at: int, end: int, style: str | None) -> int:
    while at < end and (written[at].isspace() or (style == '"' and _continues(written, at))):
        at += 1
    return at
