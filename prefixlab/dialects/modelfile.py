"""Ollama's Modelfile: the model's chat template, and the messages with which each conversation begins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from prefixlab.dialects.brace_texts import plain_text
from prefixlab.dialects.conversations import conversation
from prefixlab.dialects.embedded import MessageTemplate, common_role
from prefixlab.dialects.go_templates import go_template
from prefixlab.dialects.go_texts import go_text
from prefixlab.dialects.source_text import SourceText
from prefixlab.prompt_templates import Place, PromptTemplate
from prefixlab.template_files import BadTemplate, TemplateFile

_TRIPLE = '"""'


class _Instruction(NamedTuple):
    word: str
    role: str
    """Of a message."""
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
        found = list(_instructions(file))
        messages = [
            MessageTemplate("system" if one.word == "SYSTEM" else common_role(one.role), one.at, plain_text(one.text))
            for one in sorted(found, key=lambda one: one.word != "SYSTEM")
            if one.word in ("SYSTEM", "MESSAGE")
        ]
        for one in found:
            if one.word == "TEMPLATE":
                yield go_template(file, go_text(one.text), one.at, self.name, "TEMPLATE")
        if messages:
            yield conversation(file, self.name, messages, messages[0].at, "SYSTEM")


def _instructions(file: TemplateFile) -> Iterator[_Instruction]:
    text = file.text
    whole = SourceText.of_file(file)
    at = 0
    while at < len(text):
        line_end = text.find("\n", at)
        line_end = len(text) if line_end < 0 else line_end
        start = at
        line = text[at:line_end]
        at = line_end + 1
        words = line.split(None, 1)
        if not words or line.lstrip().startswith("#") or len(words) < 2:
            continue
        word, role = words[0].upper(), ""
        begin = start + line.index(words[1], line.index(words[0]) + len(words[0]))
        if word == "MESSAGE":
            role, _, content = words[1].partition(" ")
            begin += len(words[1]) - len(content.lstrip())
        if text.startswith(_TRIPLE, begin):
            begin += len(_TRIPLE)
            end = text.find(_TRIPLE, begin)
            if end < 0:
                raise BadTemplate.at(
                    whole.place(begin - len(_TRIPLE)), f"the text of {word} is never closed", "End it with three quotes"
                )
            following = text.find("\n", end)
            at = len(text) if following < 0 else following + 1
        else:
            end = start + len(line.rstrip())
            if text[begin : begin + 1] == '"' and end - begin > 1 and text[end - 1] == '"':
                begin, end = begin + 1, end - 1
        yield _Instruction(word, role, whole.part(begin, max(begin, end)), whole.place(start))


DIALECT = Modelfile()
