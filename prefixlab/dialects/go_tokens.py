"""The words between the braces of a Go template."""

from __future__ import annotations

import re
from typing import NamedTuple


class NotGo(Exception):
    """What is wrong, and at which character."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.at = at


class Word(NamedTuple):
    """A name, a field, a literal or a mark, as it is written."""

    text: str
    start: int
    end: int


_WORD = re.compile(
    r"""
    (?P<blank>[ \t\r\n]+)
    | (?P<string>"(?:[^"\\\n]|\\.)*" | `[^`]*` | '(?:[^'\\\n]|\\.)*')
    | (?P<mark>:=|=|\||\(|\)|,)
    | (?P<name>[$.]?[\w]*(?:\.\w+)*)
    """,
    re.VERBOSE,
)
_NUMBER = re.compile(r"[-+]?[0-9][\w.]*")


def words_of(text: str, at: int, start: int) -> tuple[list[Word], int]:
    """The words from a place on, and where the closing braces stand. Comments have none."""
    comment = at
    while comment < len(text) and text[comment] in " \t\r\n":
        comment += 1
    if text.startswith("/*", comment):
        end = text.find("*/", comment)
        if end < 0:
            raise NotGo("a comment is never closed", start)
        closing = text.find("}}", end)
        if closing < 0 or text[end + 2 : closing].strip(" \t\r\n-"):
            raise NotGo("a comment ends before its tag", start)
        return [], closing
    words: list[Word] = []
    while True:
        if text.startswith("}}", at):
            return words, at
        if text.startswith("-}}", at) and at and text[at - 1] in " \t\r\n":
            return words, at + 1
        found = _NUMBER.match(text, at) or _WORD.match(text, at)
        if found is None or found.end() == at:
            what = "a tag is never closed" if at >= len(text) else f"{text[at]!r} cannot stand here"
            raise NotGo(what, start if at >= len(text) else at)
        if found.lastgroup != "blank":
            words.append(Word(found[0], at, found.end()))
        at = found.end()


def is_text(word: Word) -> bool:
    """Whether a word is a literal text."""
    return word.text[:1] in ('"', "`")


def text_of(word: Word) -> str:
    """The text that a literal stands for."""
    inner = word.text[1:-1]
    if word.text[0] == "`" or "\\" not in inner:
        return inner
    made = []
    at = 0
    plain = {"n": "\n", "t": "\t", "r": "\r"}
    while at < len(inner):
        character = inner[at]
        if character == "\\" and at + 1 < len(inner):
            at += 1
            character = plain.get(inner[at], inner[at])
        made.append(character)
        at += 1
    return "".join(made)
