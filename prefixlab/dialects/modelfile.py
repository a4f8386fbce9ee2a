"""Ollama's Modelfile: the model's chat template, and the messages with which each conversation begins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from string import ascii_letters
from typing import NamedTuple

from prefixlab.dialects.brace_texts import plain_text
from prefixlab.dialects.conversations import conversation
from prefixlab.dialects.embedded import MessageTemplate, TextTemplate
from prefixlab.dialects.go_templates import go_template
from prefixlab.dialects.go_texts import GoTemplate
from prefixlab.dialects.ollama_layout import FUNCTIONS, GivenMessage, laid_out
from prefixlab.dialects.source_text import SourceText
from prefixlab.prompt_templates import Place, PromptTemplate
from prefixlab.template_files import BadTemplate, TemplateFile

_TRIPLE = '"""'
_BLANKS = " \t\r\n"
_LETTERS = ascii_letters
_WORDS = (
    *("FROM", "PARAMETER", "TEMPLATE", "SYSTEM", "ADAPTER", "DRAFT", "LICENSE", "MESSAGE", "RENDERER", "PARSER"),
    "REQUIRES",
)
_ROLES = ("system", "user", "assistant")


class _Instruction(NamedTuple):
    word: str
    role: str
    """Of a message; the name of a parameter."""
    text: SourceText
    at: Place


class Modelfile:
    """Modelfiles of Ollama."""

    name = "ollama"
    summary = "Ollama's Modelfile: TEMPLATE, SYSTEM and MESSAGE"
    endings = ("Modelfile", ".modelfile", ".Modelfile")

    def recognises(self, file: TemplateFile) -> bool:
        """Whether the file is of this dialect; by its name."""
        name = Path(file.path).name
        return name.endswith(self.endings) or name.startswith("Modelfile.")

    def templates(self, file: TemplateFile) -> Iterator[PromptTemplate]:
        """The chat template, and the messages that are given.

        Raises:
            BadTemplate: a text is never closed, or the template cannot be read.
        """
        found = list(instructions(file))
        given = [one for one in found if one.word == "MESSAGE"]
        system = next((one for one in reversed(found) if one.word == "SYSTEM"), None)
        if system is not None:
            given.insert(0, system._replace(role="system"))
        messages = [GivenMessage(one.role, one.text) for one in given]
        for one in found:
            if one.word == "TEMPLATE":
                parts = laid_out(GoTemplate(one.text, FUNCTIONS), messages)
                yield go_template(file, TextTemplate(parts, None), one.at, self.name, "TEMPLATE")
        if given:
            entries = [MessageTemplate(one.role, one.at, plain_text(one.text)) for one in given]
            yield conversation(file, self.name, entries, given[0].at, "SYSTEM")


def instructions(file: TemplateFile) -> Iterator[_Instruction]:
    """The instructions, as Ollama's parser takes them."""
    text = file.text
    whole = SourceText.of_file(file)
    at = 0
    while at < len(text):
        start = _behind(text, at, _BLANKS)
        if start >= len(text):
            return
        if text[start] == "#":
            at = _line_end(text, start)
            continue
        begin = _behind(text, start, _LETTERS)
        word, role = text[start:begin].upper(), ""
        if word not in _WORDS or text[begin : begin + 1] not in (" ", "\t"):
            what = f"{word} has no value" if word in _WORDS else "is no instruction of a Modelfile"
            raise BadTemplate.at(
                whole.place(start), f"the line {what}", f"Begin it with one of {', '.join(_WORDS)}, and a value"
            )
        begin = _behind(text, begin, " \t")
        if word in ("MESSAGE", "PARAMETER"):
            end = _name_end(text, begin)
            role = text[begin:end]
            if word == "MESSAGE" and role not in _ROLES:
                raise BadTemplate.at(whole.place(start), f"the role {role!r} is none", f"One of {', '.join(_ROLES)}")
            begin = _behind(text, end, " \t")
        quotes = _TRIPLE if text.startswith(_TRIPLE, begin) else '"' if text.startswith('"', begin) else ""
        at = end = _line_end(text, begin)
        if quotes:
            end = _text_end(text, begin, quotes)
            if end < 0:
                raise BadTemplate.at(
                    whole.place(begin),
                    f"the text of {word} is never closed",
                    f"End it with {'three quotes' if quotes == _TRIPLE else 'a quote'} at the end of a line",
                )
            at = _line_end(text, end)
            begin += len(quotes)
        else:
            end = max(begin, len(text[:end].rstrip(_BLANKS)))
        yield _Instruction(word, role, whole.part(begin, end), whole.place(start))


def _behind(text: str, at: int, characters: str) -> int:
    """The first place from `at` on that has none of the characters."""
    while at < len(text) and text[at] in characters:
        at += 1
    return at


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _name_end(text: str, at: int) -> int:
    while at < len(text) and text[at] not in _BLANKS:
        at += 1
    return at


def _text_end(text: str, begin: int, quotes: str) -> int:
    """Where a text in quotes ends: at the first line that ends with them; below zero where none does."""
    at = begin + len(quotes)
    while True:
        stop = _line_end(text, at)
        kept = text[at:stop].rstrip(_BLANKS)
        if kept.endswith(quotes):
            return at + len(kept) - len(quotes)
        if stop >= len(text):
            return -1
        at = stop + 1


DIALECT = Modelfile()
