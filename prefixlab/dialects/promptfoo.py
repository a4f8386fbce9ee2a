"""The prompts of promptfoo's configuration: written in it, or in files that it names.

A prompt of a file is given with that file's path and places: where the file is linted by itself as well, the two have
the same path (resolved) and the same places, and are one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from glob import glob
from pathlib import Path

from prefixlab.dialects.conversations import bad_shape, is_messages
from prefixlab.dialects.document_nodes import Node
from prefixlab.dialects.documents import document, read
from prefixlab.dialects.embedded import plain_render
from prefixlab.dialects.file_kinds import kind_of
from prefixlab.dialects.jinja_texts import jinja_text
from prefixlab.dialects.message_lists import messages_template
from prefixlab.dialects.source_text import SourceText
from prefixlab.prompt_templates import Place, PromptTemplate
from prefixlab.template_files import BadTemplate, TemplateFile

_FILE = "file://"
_TEXTS = (".txt", ".md", ".j2", ".jinja", ".jinja2")
_LISTS = (".json", ".yaml", ".yml")
_PROGRAMS = (".py", ".js", ".ts", ".mjs", ".cjs", ".mts", ".sh", ".rb", ".go", ".csv")
_SEPARATOR = "\n---\n"
_FILTERS = ("dump", "nl2br", "groupby")
"""Filters of Nunjucks that Jinja2 has not."""


class Promptfoo:
    """Configurations of promptfoo."""

    name = "promptfoo"
    summary = "promptfoo's configuration, with the prompts in files that it names"
    endings = (".yaml", ".yml", ".json")

    def recognises(self, file: TemplateFile) -> bool:
        """Whether the file is a configuration of promptfoo."""
        return file.path.endswith(self.endings) and kind_of(file) == "promptfoo"

    def templates(self, file: TemplateFile) -> Iterator[PromptTemplate]:
        """Each prompt that the configuration names, those first that can be read.

        Raises:
            BadTemplate: one cannot be read, or a file that it names is not there.
        """
        prompts = document(file).get("prompts")
        if prompts is None:
            return
        if prompts.fields and not {"raw", "id", "label"} & prompts.fields.keys():
            # An older form: a mapping of files to labels.
            found = [self._named(path, prompts, file) for path in prompts.fields]
        else:
            found = [self._prompt(one, file) for one in prompts.items or (prompts,)]
        bad: BadTemplate | None = None
        for one in found:
            try:
                yield from one
            except BadTemplate as error:
                bad = bad or error
        if bad is not None:
            raise bad

    def _prompt(self, node: Node, file: TemplateFile) -> Iterator[PromptTemplate]:
        label = node.text("label") or (node.text("id") if node.get("raw", "prompt") else "")
        if node.fields:
            raw = node.get("raw", "prompt", "id")
            if raw is None:
                raise bad_shape("a prompt has neither raw nor id", "Give one of them", node.at)
            node = raw
        if node.source is None:
            raise bad_shape("a prompt is no text", "Write it as a text or as file://...", node.at)
        text = node.source.text
        for made in self._named(text, node, file) if _is_path(text) else (self._text(node.source, file, label),):
            yield replace(made, name=made.name or label)

    def _named(self, name: str, node: Node, file: TemplateFile) -> Iterator[PromptTemplate]:
        """The prompts of the files that a path or a pattern names."""
        path = name.removeprefix(_FILE)
        ending = _ending(path)
        if ending in _PROGRAMS or path.startswith("exec:"):
            note = f"{node.at.path}:{node.at.line}: {path} is a program or a table, and is not read."
            yield PromptTemplate(file.path, self.name, (), node.at, path, notes=(note,))
            return
        if any([mark in path for mark in "*?["]):
            folder = Path(file.path).parent
            found = sorted(glob(path, root_dir=folder, recursive=True))
            names = [one for one in found if one.endswith((*_TEXTS, *_LISTS))]
        else:
            names = [path]
        if not names:
            raise bad_shape(f"no file is named {path!r}", "Correct the path", node.at)
        for one in names:
            other = file.other(one, in_project=True)
            if other is None:
                raise bad_shape(
                    f"the prompt {one!r} is not found",
                    "Correct the path, or name its folder with --search-path",
                    node.at,
                )
            yield from self._file(other)

    def _file(self, file: TemplateFile) -> Iterator[PromptTemplate]:
        if file.path.endswith(_LISTS):
            try:
                root = document(file)
            except BadTemplate:
                # It need not be JSON before it is rendered.
                yield self._text(SourceText.of_file(file), file, "")
                return
            messages = root if is_messages(root) else root.get("messages")
            if messages is not None and is_messages(messages):
                yield messages_template(file, messages, self.name, root.get("system"))
            else:
                yield self._text(SourceText.of_file(file), file, "")
            return
        text = file.text
        at = 0
        while True:
            end = text.find(_SEPARATOR, at)
            stop = len(text) if end < 0 else end
            if text[at:stop].strip():
                yield self._text(SourceText.of_file(file, at, stop), file, "")
            if end < 0:
                return
            at = end + len(_SEPARATOR)

    def _text(self, source: SourceText, file: TemplateFile, name: str) -> PromptTemplate:
        known = TemplateFile(file.path, file.text, file.roots, (*file.own_names, *_FILTERS), file.texts)
        start = source.text.lstrip()
        if start.startswith(("[", "- role:")):
            try:
                node = read(source, is_yaml=start.startswith("-"))
            except BadTemplate:
                node = None
            if node is not None and is_messages(node):
                return messages_template(known, node, self.name)
        text = jinja_text(source, known)
        at = source.place(0) if source.text else Place(file.path, 1, 1)
        return PromptTemplate(file.path, self.name, text.parts, at, name, plain_render(text), notes=text.notes)


def _ending(path: str) -> str:
    """The ending of a path; a function of a program may stand behind it."""
    name = path.rpartition("/")[2]
    return "." + name.rpartition(".")[2].partition(":")[0] if "." in name else ""


def _is_path(text: str) -> bool:
    """Whether a prompt is the path of a file."""
    if text.startswith((_FILE, "exec:")):
        return True
    return "\n" not in text and " " not in text and "{" not in text and _ending(text) in (*_TEXTS, *_LISTS, *_PROGRAMS)


DIALECT = Promptfoo()
