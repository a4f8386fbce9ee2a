"""The basics of Liquid: outputs, `if`, `unless`, `case`, `for`, `assign`, `capture`, `comment` and `raw`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from prefixlab.dialects.embedded import DEEPEST, TextTemplate, too_deep
from prefixlab.dialects.source_text import SourceText
from prefixlab.dialects.time_formats import is_time_format
from prefixlab.prompt_templates import Choice, Expression, Hole, Loop, Part, Place, Text
from prefixlab.template_files import BadTemplate

_BLOCKS = frozenset({"if", "unless", "case", "for", "capture", "tablerow"})
_WORDS = frozenset(
    {"and", "or", "contains", "in", "true", "false", "nil", "null", "empty", "blank", "reversed", "limit"}
)


@dataclass(slots=True)
class _Block:
    word: str
    rest: str
    at: Place
    arms: list[list[Part]] = field(default_factory=lambda: [[]])
    has_else: bool = False


def liquid_text(source: SourceText) -> TextTemplate:
    """A text of Liquid. It is not rendered.

    Raises:
        BadTemplate: a tag or block is not closed.
    """
    return TextTemplate(tuple(_Reading(source).read()), None)


class _Reading:
    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._root: list[Part] = []
        self._open: list[_Block] = []
        self._set: dict[str, Expression] = {}

    def _bad(self, what: str, at: Place) -> BadTemplate:
        return BadTemplate.at(at, f"is not Liquid: {what}", "Correct it")

    @property
    def _body(self) -> list[Part]:
        return self._open[-1].arms[-1] if self._open else self._root

    def read(self) -> list[Part]:
        text = self._source.text
        at = 0
        strips = False
        while True:
            start, closing = _next_tag(text, at)
            kept_end = start if start >= 0 else len(text)
            is_output = closing == "}}"
            before = start >= 0 and text[start + 2 : start + 3] == "-"
            begin = at
            while strips and begin < kept_end and text[begin].isspace():
                begin += 1
            while before and kept_end > begin and text[kept_end - 1].isspace():
                kept_end -= 1
            if kept_end > begin:
                self._body.append(self._source.text_part(begin, kept_end))
            if start < 0:
                break
            place = self._source.place(start)
            end = text.find(closing, start + 2)
            if end < 0:
                raise self._bad("a tag is never closed", place)
            strips = text[end - 1] == "-"
            inner = text[start + 2 + before : end - strips].strip()
            at = end + 2
            if is_output:
                self._output(inner, place)
            else:
                at = self._tag(inner, place, at)
        if self._open:
            raise self._bad(f"the block {self._open[-1].word!r} is never closed", self._open[-1].at)
        return self._root

    def _output(self, inner: str, at: Place) -> None:
        expression = self._expression(inner)
        if expression.value is not None:
            self._body.append(Text(expression.value, at))
        elif inner:
            self._body.append(Hole(expression, at, at))

    def _tag(self, inner: str, at: Place, behind: int) -> int:
        """Follows a tag; where what comes next stands."""
        word, _, rest = inner.partition(" ")
        rest = rest.strip()
        if word in ("raw", "comment"):
            return self._skipped(word, at, behind)
        if word in _BLOCKS:
            if len(self._open) >= DEEPEST:
                raise too_deep(at)
            self._open.append(_Block(word, rest, at))
            if word == "for":
                variable, _, over = rest.partition(" in ")
                self._set[variable.strip()] = self._expression(over)
        elif word in ("else", "elsif", "when"):
            if not self._open:
                raise self._bad(f"{word!r} stands in no block", at)
            self._open[-1].arms.append([])
            self._open[-1].has_else |= word == "else"
        elif word.startswith("end"):
            if not self._open or self._open[-1].word != word[3:]:
                raise self._bad(f"{word!r} closes nothing", at)
            self._closed(self._open.pop())
        elif word == "assign":
            name, _, value = rest.partition("=")
            self._set[name.strip()] = self._expression(value.strip())
        return behind

    def _skipped(self, word: str, at: Place, behind: int) -> int:
        text = self._source.text
        start = behind
        while (start := text.find("{%", start)) >= 0:
            end = text.find("%}", start)
            if end < 0:
                break
            if text[start + 2 : end].strip("- \t\n") == f"end{word}":
                if word == "raw" and start > behind:
                    self._body.append(self._source.text_part(behind, start))
                return end + 2
            start += 2
        raise self._bad(f"the block {word!r} is never closed", at)

    def _closed(self, block: _Block) -> None:
        arms = [tuple(arm) for arm in block.arms]
        if block.word == "capture":
            holes = [part.expression for part in arms[0] if isinstance(part, Hole)]
            self._set[block.rest] = _union(block.rest, holes)
            return
        if block.word in ("for", "tablerow"):
            over = self._expression(block.rest.partition(" in ")[2])
            loop: tuple[Part, ...] = (Loop(over, block.at, arms[0]),) if arms[0] else ()
            self._body.extend((Choice(over, block.at, (loop, arms[1])),) if len(arms) > 1 else loop)
            return
        if block.word == "case":
            arms = arms[1:]
        if not block.has_else:
            arms.append(())
        if any(arms):
            self._body.append(Choice(self._expression(block.rest), block.at, tuple(arms)))

    def _expression(self, source: str) -> Expression:
        value, *filters = source.split("|")
        value = value.strip()
        if value[:1] in ("'", '"') and value[-1:] == value[:1] and len(value) > 1 and not filters:
            return Expression(source, value=value[1:-1])
        found: list[Expression] = []
        names: dict[str, None] = {}
        for word in value.replace("(", " ").replace(")", " ").replace("..", " ").split():
            root, _, rest = word.partition(".")
            known = self._set.get(root)
            if known is not None:
                found.append(known._replace(names=tuple([f"{one}.{rest}" if rest else one for one in known.names])))
            elif (word[0].isalpha() or word[0] == "_") and word.rstrip(":") not in _WORDS:
                names[word] = None
        calls, formats = [], []
        for one in filters:
            name, _, argument = one.partition(":")
            calls.append(name.strip())
            written = argument.strip().strip("'\"")
            if is_time_format(written):
                formats.append(written)
            if value.strip("'\"") in ("now", "today") and calls[-1] == "date":
                calls.append("now")
        return _union(source, [*found, Expression("", tuple(names), tuple(calls), tuple(formats))])


def _next_tag(text: str, at: int) -> tuple[int, str]:
    start = at
    while (start := text.find("{", start)) >= 0:
        if text.startswith("{{", start):
            return start, "}}"
        if text.startswith("{%", start):
            return start, "%}"
        start += 1
    return -1, ""


def _union(source: str, expressions: Sequence[Expression]) -> Expression:
    def all_of(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys([one for each in expressions for one in getattr(each, name)]))

    return Expression(source, all_of("names"), all_of("calls"), all_of("formats"))
