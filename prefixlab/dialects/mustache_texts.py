"""Mustache text read into parts and rendered, as its specification says.

Like chevron and LangChain, and unlike the specification, a list of keys `a.b` looks in the outer contexts too where the
inner one has `a` without `b`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from prefixlab.dialects.embedded import DEEPEST, MOST_PARTS, TextTemplate, too_deep, too_large
from prefixlab.dialects.mustache_tags import MustacheTags, Tag
from prefixlab.dialects.source_text import SourceText, entered
from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import Choice, Expression, Loop, Part
from prefixlab.template_files import BadTemplate, TemplateFile

ENDING = ".mustache"
_MOST_CHARACTERS = 20_000_000


class _Piece(NamedTuple):
    """The pieces of a file and the file."""

    tags: list[Tag]
    source: SourceText
    file: TemplateFile


def mustache_text(source: SourceText, file: TemplateFile) -> TextTemplate:
    """A text of mustache.

    Raises:
        BadTemplate: it is none, or a partial is not there.
    """
    reading = _Reading()
    piece = _Piece(MustacheTags(source).read(), source, file)
    parts = reading.parts(piece, piece.tags, ".", ())

    def render(values: Mapping[str, Any]) -> str:
        return _Rendering(reading.partials, file.path).text(piece, piece.tags, [values])

    return TextTemplate(tuple(parts), render)


class _Reading:
    def __init__(self) -> None:
        self.partials: dict[tuple[str, str, str], _Piece] = {}
        """By the file that names it, its name and its indentation."""
        self._made = 0

    def parts(self, piece: _Piece, tags: Sequence[Tag], here: str, stack: tuple[str, ...]) -> list[Part]:
        """The parts; `here` is what `.` stands for."""
        parts: list[Part] = []
        self._made += len(tags)
        if self._made > MOST_PARTS:
            raise too_large(piece.file.path)
        skipped = False
        for tag, following in zip(tags, [*tags[1:], None]):
            if skipped:
                skipped = False
                continue
            if tag.kind == "text":
                parts.append(piece.source.text_part(tag.start, tag.end))
            elif tag.kind in ("", "&"):
                parts.append(
                    piece.source.hole(Expression(tag.name, (here if tag.name == "." else tag.name,)), tag.start)
                )
            elif tag.kind == ">":
                parts += self._partial(piece, tag, here, stack)
            else:
                other = following if following and following.name == tag.name and following.kind in "#^" else None
                skipped = other is not None and other.kind != tag.kind
                parts.append(self._section(piece, tag, other if skipped else None, here, stack))
        return parts

    def _section(self, piece: _Piece, tag: Tag, other: Tag | None, here: str, stack: tuple[str, ...]) -> Part:
        """A section, with the inverted one of the same name that follows it."""
        at = piece.source.place(tag.start)
        expression = Expression(tag.name, (here if tag.name == "." else tag.name,))
        bodies = {one.kind: one for one in (tag, other) if one is not None}
        body: tuple[Part, ...] = ()
        if "#" in bodies:
            inner = tag.name if tag.name != "." else here
            body = tuple(self.parts(piece, bodies["#"].body, inner, stack))
            if _is_list(bodies["#"]):
                body = (Loop(expression, at, body),)
        inverted = tuple(self.parts(piece, bodies["^"].body, here, stack)) if "^" in bodies else ()
        if len(body) == 1 and isinstance(body[0], Loop) and not inverted:
            return body[0]
        return Choice(expression, at, (body, inverted))

    def _partial(self, piece: _Piece, tag: Tag, here: str, stack: tuple[str, ...]) -> Sequence[Part]:
        at = piece.source.place(tag.start)
        other = self._other(piece, tag)
        if other.file.path in (*stack, piece.file.path):
            raise BadTemplate.at(at, f"the partial {tag.name!r} includes itself", "Break the ring")
        if len(stack) >= DEEPEST:
            raise too_deep(at)
        return entered(self.parts(other, other.tags, here, (*stack, piece.file.path)), at)

    def _other(self, piece: _Piece, tag: Tag) -> _Piece:
        key = (piece.file.path, tag.name, tag.indent)
        if key not in self.partials:
            at = piece.source.place(tag.start)
            found = piece.file.other(tag.name + ENDING)
            if found is None:
                raise BadTemplate.at(
                    at,
                    f"the partial {tag.name!r} is not found",
                    f"Put it beside this one as {tag.name}{ENDING}, or name its folder with --search-path",
                )
            source = _indented(SourceText.of_file(found), tag.indent)
            self.partials[key] = _Piece(MustacheTags(source).read(), source, found)
        return self.partials[key]


def _is_list(tag: Tag) -> bool:
    """Whether a section looks like one that is rendered for each item: it writes the item, or its name is a plural.

    Mustache tells only when it has the value.
    """
    stack = list(tag.body)
    while stack:
        one = stack.pop()
        if one.name == "." and one.kind != "text":
            return True
        stack += one.body
    return tag.name.endswith("s") and not tag.name.endswith("ss") and not tag.name.startswith(("has", "is"))


def _indented(source: SourceText, indent: str) -> SourceText:
    if not indent:
        return source
    text: list[str] = []
    offsets: list[int] = []
    at = 0
    for line in source.text.splitlines(keepends=True):
        text += (indent, line)
        offsets += [*[at] * len(indent), *range(at, at + len(line))]
        at += len(line)
    return source.decoded("".join(text), [*offsets, at])


_ESCAPES = str.maketrans({"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;"})


class _Rendering:
    def __init__(self, partials: Mapping[tuple[str, str, str], _Piece], path: str) -> None:
        self._partials = partials
        self._path = path
        self._made = 0

    def text(self, piece: _Piece, tags: Sequence[Tag], contexts: list[Any]) -> str:
        """The text of pieces; the innermost context is the last one."""
        made: list[str] = []
        for tag in tags:
            self._made += 1
            if tag.kind == "text":
                made.append(piece.source.text[tag.start : tag.end])
            elif tag.kind in ("", "&"):
                value = _looked_up(tag.name, contexts)
                shown = value if isinstance(value, str) else str(value)
                made.append(shown if tag.kind else shown.translate(_ESCAPES))
            elif tag.kind == ">":
                other = self._partials[piece.file.path, tag.name, tag.indent]
                made.append(self.text(other, other.tags, contexts))
            else:
                made += self._section(piece, tag, contexts)
            self._made += len(made[-1]) if made else 0
            if self._made > _MOST_CHARACTERS:
                raise PrefixlabError("the rendered text is too large", "Correct the values", path=self._path)
        return "".join(made)

    def _section(self, piece: _Piece, tag: Tag, contexts: list[Any]) -> list[str]:
        value = _looked_up(tag.name, contexts)
        if tag.kind == "^":
            return [] if value else [self.text(piece, tag.body, contexts)]
        if not value:
            return []
        items = value if isinstance(value, list | tuple) else (value,)
        return [self.text(piece, tag.body, [*contexts, item]) for item in items]


def _looked_up(name: str, contexts: Sequence[Any]) -> Any:
    """The value of a name; empty where no context has it. False and zero are values, other empty ones are none."""
    if name == ".":
        return contexts[-1]
    for context in reversed(contexts):
        found = _attribute(context, name)
        if found is not _MISSING:
            return found if found or found in (0, False) else ""
    return ""


_MISSING: Any = object()


def _attribute(context: Any, name: str) -> Any:
    for key in name.split("."):
        if isinstance(context, Mapping) and key in context:
            context = context[key]
        elif isinstance(context, list | tuple) and key.isdigit() and int(key) < len(context):
            context = context[int(key)]
        else:
            return _MISSING
    return context


__all__ = ["ENDING", "mustache_text"]
