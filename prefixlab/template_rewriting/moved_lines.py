"""A line with a volatile value set behind the stable text of its message, where that is a line of its own.

What a line is, the parts of the template tell: which values stand on it, whether a condition or a loop is around them,
where its message ends. Whether it can stand elsewhere, the text around it tells: a line in a list, in JSON, in a block
of code or between two tags belongs there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from prefixlab.prompt_templates import PLAIN, Choice, History, Hole, Loop, Part, Place, PromptTemplate, Text, Turn, walk
from prefixlab.template_rewriting.edits import Refused, offset_of
from prefixlab.template_rewriting.jinja_statements import tokens_from

MOST_WORDS = 10
"""Words of a line beside its values; more are text that is about other things too."""

_HOLE = "\x00"
_SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$)\s*")
_WORD = re.compile(r"[^\W\d_]+")
_REFERENCE = re.compile(r"\b(?:above|earlier|preceding|aforementioned|first line|at the top)\b", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")
_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*)(?:\s[^<>]*)?(/?)>")


class _Message(NamedTuple):
    """The lines of a message, counted from 1: the first, and the one behind the last that is not blank."""

    first: int
    end: int
    parts: Sequence[Part]


def _role(message: _Message) -> str:
    first = message.parts[0] if message.parts else None
    return first.role if isinstance(first, Turn) else ""


class TemplateLines:
    """The lines of a template, and where each can go."""

    def __init__(
        self,
        text: str,
        template: PromptTemplate,
        is_question: Callable[[Hole], bool],
        may_be_question: Callable[[Hole], bool] = lambda hole: False,
    ) -> None:
        """`may_be_question` is asked of the last value of the newest turn, where nothing else is the question.

        Raises:
            Refused: the template's lines cannot be told.
        """
        if "\r" in text.replace("\r\n", ""):
            raise Refused("its lines end in a way that is not known")
        self.lines = text.split("\n")
        self._template = template
        self._is_question = is_question
        self._may_be_question = may_be_question
        self._regions = _regions(text, template)
        self._messages = self._found()

    def with_moved(self, wanted: Sequence[int]) -> str:
        """The text with these lines behind the stable text of their messages, in the order given.

        Raises:
            Refused: one of them belongs where it stands.
        """
        goes: dict[int, list[int]] = {}
        blanks = set()
        for line in wanted:
            message = self._message(line)
            holes = self._holes(line)
            self._check_structure(line, message, holes)
            self._check_words(line, message, holes)
            goes.setdefault(self._target(line, message, wanted), []).append(line)
            ahead = line - 1
            while ahead in wanted:
                ahead -= 1
            if (ahead < message.first or self._is_blank(ahead)) and self._is_blank(line + 1):
                blanks.add(line + 1)
        return self._joined(goes, {*wanted, *blanks}, {line for line in wanted if line + 1 in blanks})

    def _joined(self, goes: Mapping[int, Sequence[int]], gone: Collection[int], with_blank: Collection[int]) -> str:
        """The lines without those that are gone, and where they go the moved ones; one blank line goes with them."""
        ends = {message.end for message in self._messages}
        made: list[str] = []
        for number in range(1, len(self.lines) + 2):
            moved = [self.lines[line - 1] for line in goes.get(number, ())]
            if moved and number > len(self.lines):
                # The file ends without a line break: the moved line is its last now.
                made[-1] += moved[-1][len(moved[-1].rstrip("\r")) :]
                moved[-1] = moved[-1].rstrip("\r")
            if any([line in with_blank for line in goes.get(number, ())]):
                blank = "\r" if moved[0].endswith("\r") else ""
                moved = [blank, *moved] if number in ends else [*moved, blank]
            made += moved
            if number <= len(self.lines) and number not in gone:
                made.append(self.lines[number - 1])
        return "\n".join(made)

    # --- where things are ---

    def _found(self) -> list[_Message]:
        """The messages of the template; one, where it has no roles."""
        last = len(self.lines)
        here = [part for part in self._template.parts if _place(part).path == self._template.path]
        cuts = [at for at, part in enumerate(here) if any(isinstance(one, Turn | History) for one in walk([part]))]
        begins = [0, *cuts] if not cuts or cuts[0] else cuts
        found = []
        for at, begin in enumerate(begins):
            behind = begins[at + 1] if at + 1 < len(begins) else len(here)
            first = _place(here[begin]).line + isinstance(here[begin], Turn) if here else 1
            end = _place(here[behind]).line if behind < len(here) else last + 1
            while end > first and self._is_blank(end - 1):
                end -= 1
            found.append(_Message(first, end, here[begin:behind]))
        return found

    def _message(self, line: int) -> _Message:
        for message in self._messages:
            if message.first <= line < message.end:
                return message
        raise Refused("it stands in no message of its own")

    def _is_blank(self, line: int) -> bool:
        return not 0 < line <= len(self.lines) or not self.lines[line - 1].strip()

    def _holes(self, line: int) -> list[Hole]:
        """The values of a line.

        Raises:
            Refused: they do not stand on it by themselves.
        """
        outer = {id(part) for part in self._template.parts}
        holes = []
        for part in walk(self._template.parts):
            place = part.entered_at if isinstance(part, Hole) else _place(part)
            if place.path != self._template.path or place.line != line or isinstance(part, Text):
                continue
            if not isinstance(part, Hole) or id(part) not in outer:
                raise Refused("it stands inside a condition or a loop, or with one on its line")
            holes.append(part)
        places = [hole.entered_at for hole in holes]
        if len(set(places)) < len(places):
            raise Refused("it is made by a loop, a macro or an include")
        return holes

    def _check_structure(self, line: int, message: _Message, holes: Sequence[Hole]) -> None:
        written = self.lines[line - 1]
        for start, end, word in self._regions:
            if start <= line <= end:
                raise Refused(f"it stands inside `{word}`")
        if "{%" in written or "{#" in written:
            raise Refused("a statement or a comment stands on its line")
        # The text around the first and the last value is all that the line holds: no key, no quotes of the file's form.
        at = {id(part): number for number, part in enumerate(message.parts)}
        first, last = at.get(id(holes[0])), at.get(id(holes[-1]))
        if first is None or last is None:
            raise Refused("it stands in no message of its own")
        ahead = message.parts[first - 1] if first else None
        behind = message.parts[last + 1] if last + 1 < len(message.parts) else None
        said = ahead.text.rpartition("\n")[2] if isinstance(ahead, Text) else ""
        if written[: holes[0].entered_at.column - 1].lstrip() != said.lstrip():
            raise Refused("what stands around its value is of a macro, or of the file's own form")
        after = behind.text.partition("\n")[0] if isinstance(behind, Text) else ""
        if not written.rstrip().endswith(after.rstrip()) or not (after.strip() or written.rstrip().endswith("}")):
            raise Refused("what stands around its value is of a macro, or of the file's own form")

    def _words_of(self, line: int, holes: Sequence[Hole]) -> str:
        """A line with a mark in place of each value."""
        written = self.lines[line - 1].rstrip()
        for hole in sorted(holes, key=lambda one: -one.entered_at.column):
            start = hole.entered_at.column - 1
            opened = written[start:][: len(written[start:]) - len(written[start:].lstrip("{"))]
            end = written.find("}" * max(len(opened), 1), start)
            if not opened or end < 0:
                raise Refused("its value is written over several lines")
            written = written[:start] + _HOLE + written[end + len(opened) :]
        return written

    def _check_words(self, line: int, message: _Message, holes: Sequence[Hole]) -> None:
        words = self._words_of(line, holes)
        if _ITEM.match(words) or words.lstrip().startswith("|"):
            raise Refused("it is an item of a list or a row of a table")
        if any(_HOLE not in one for one in _SENTENCE_END.split(words) if one.strip()):
            raise Refused("its line holds a sentence without a value, which belongs where it stands")
        if len(_WORD.findall(words)) > MOST_WORDS:
            raise Refused("its line holds more words than a label has")
        ahead = [self._plain(one) for one in range(message.first, line)]
        inside = _inside(ahead)
        if inside:
            raise Refused(f"it stands inside {inside}")
        label = {word.lower() for word in _WORD.findall(words) if len(word) > 3}
        before = next((one.strip() for one in reversed(ahead) if one.strip()), "")
        if not label and (before.endswith(":") or before.startswith("#")):
            raise Refused("the line ahead of it says what it is")
        for one in range(message.first, message.end):
            for sentence in _SENTENCE_END.split(self._plain(one)):
                said = {word.lower() for word in _WORD.findall(sentence)}
                if one != line and _REFERENCE.search(sentence) and label & said:
                    raise Refused(f"line {one} speaks of it as standing ahead")

    def _plain(self, line: int) -> str:
        """A line without what stands in braces of the template."""
        return re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", _HOLE, self.lines[line - 1])

    def _target(self, line: int, message: _Message, wanted: Collection[int]) -> int:
        """The line ahead of which a line goes: the question's, or the one behind the message."""
        target = message.end
        holes = [hole for hole in message.parts if isinstance(hole, Hole)]
        questions = [hole for hole in holes if self._is_question(hole)]
        if not questions and self._is_newest(message):
            last = [hole for hole in holes if hole.entered_at.line not in wanted][-1:]
            questions = [hole for hole in last if self._may_be_question(hole)]
        asked = [one.entered_at.line for one in questions if one.entered_at.line > line]
        if asked:
            behind = sum([len(self._plain(one)) for one in range(asked[0] + 1, message.end)])
            between = sum([len(self._plain(one)) for one in range(line + 1, asked[0])])
            if between > behind:
                target = asked[0]
        if target == message.end and self.lines[target - 2].rstrip().endswith(":"):
            # What the model is to go on from stays last.
            target -= 1
        while target - 1 > line and self._is_heading(target, asked):
            target -= 1
        if target <= line + 1:
            raise Refused("nothing stands behind it in its message")
        for start, end, word in self._regions:
            if start < target <= end:
                raise Refused(f"it would come to stand inside `{word}`")
        return target

    def _is_newest(self, message: _Message) -> bool:
        """Whether it is what the user said last, or a prompt without roles."""
        ends = [one for one in self._messages if not _role(one) or _role(one) == "user"]
        return bool(ends) and message is ends[-1]

    def _is_heading(self, target: int, asked: Sequence[int]) -> bool:
        """Whether the line ahead of a target belongs to it: a heading of the question, or the tag around it."""
        if not asked or target > asked[0]:
            return False
        ahead = target - 1
        while ahead > 1 and self._is_blank(ahead):
            ahead -= 1
        said = self.lines[ahead - 1].strip()
        if ahead != target - 1:
            return False
        return said.endswith(":") or said.startswith("#") or bool(_TAG.fullmatch(said) and not said.startswith("</"))


def same_but_moved(before: PromptTemplate, after: PromptTemplate) -> bool:
    """Whether two templates hold the same lines with the same values, message by message, whatever their order."""
    one, other = _outline(before), _outline(after)
    return [role for role, _ in one] == [role for role, _ in other] and all(
        [_lines(text) == _lines(other_text) for (_, text), (_, other_text) in zip(one, other)]
    )


def _lines(text: str) -> list[str]:
    return sorted([line.strip() for line in text.split("\n") if line.strip()])


def _outline(template: PromptTemplate) -> list[tuple[str, str]]:
    """The messages with what each value is read from in its place."""
    found: list[tuple[str, list[str]]] = [(PLAIN, [])]
    for part in template.parts:
        if isinstance(part, Turn):
            found.append((part.role, []))
        else:
            found[-1][1].append(_said(part))
    return [(role, "".join(texts)) for role, texts in found]


def _said(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Hole):
        shown = part.expression
        return f"{_HOLE}{shown.source} {shown.names} {shown.calls}{_HOLE}"
    if isinstance(part, Choice):
        return _block(part.condition.source, part.arms)
    if isinstance(part, Loop):
        return _block(part.over.source, [part.body])
    return f"\n{_HOLE}{part[0]}{_HOLE}\n"


def _block(source: str, arms: Sequence[Sequence[Part]]) -> str:
    """A condition or a loop, set off where its texts begin or end a line."""
    texts = ["".join(map(_said, arm)) for arm in arms if arm]
    ahead = "\n" if all([text.startswith("\n") for text in texts]) else ""
    behind = "\n" if all([text.endswith("\n") for text in texts]) else ""
    shown = [" ".join(text.split()) for text in texts]
    return f"{ahead}{_HOLE}{source}{'|'.join(shown)}{_HOLE}{behind}"


def _place(part: Part) -> Place:
    return part.entered_at if isinstance(part, Hole) else part.at


def _regions(text: str, template: PromptTemplate) -> list[tuple[int, int, str]]:
    """Blocks of Jinja2 in the file: the lines of their first and last statement, and their word."""
    if "{%" not in text or not template.parts:
        return []
    here = [_place(part) for part in template.parts if _place(part).path == template.path]
    begin = text.rfind("\n", 0, offset_of(text, min(here))) + 1 if here else 0
    if template.dialect in ("jinja2", "promptflow"):
        begin = 0
    opened: list[tuple[str, int]] = []
    found = []
    tokens = tokens_from(text, begin)
    for at, token in enumerate(tokens):
        line = text.count("\n", 0, token.start) + 1
        word = ""
        if token.kind == "block_begin" and at + 1 < len(tokens):
            word = tokens[at + 1].text
        elif token.kind in ("raw_begin", "raw_end"):
            word = "raw" if token.kind == "raw_begin" else "endraw"
        if word.startswith("end") and any(one == word[3:] for one, _ in opened):
            while opened:
                name, start = opened.pop()
                if name == word[3:]:
                    found.append((start, line, name))
                    break
        elif word:
            opened.append((word, line))
    return found


def _inside(lines: Sequence[str]) -> str:
    """What is still open behind these lines: code, JSON, a tag; empty where nothing is."""
    text = "\n".join(lines)
    if sum([line.lstrip().startswith("```") for line in lines]) % 2:
        return "a block of code"
    if any(text.count(one) > text.count(other) for one, other in ("{}", "[]")):
        return "brackets that are closed behind it, as those of JSON"
    opened: list[str] = []
    for found in _TAG.finditer(text):
        closes, name, is_empty = found.groups()
        if closes and name in opened:
            del opened[opened.index(name) :]
        elif not closes and not is_empty:
            opened.append(name)
    return f"the tag <{opened[-1]}>" if opened else ""
