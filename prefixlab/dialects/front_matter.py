"""YAML between two lines of dashes ahead of a text."""

from __future__ import annotations

from typing import NamedTuple

from prefixlab.dialects.document_nodes import Node
from prefixlab.dialects.source_text import SourceText
from prefixlab.dialects.yaml_nodes import YamlNodes
from prefixlab.template_files import BadTemplate, TemplateFile

_DASHES = "---"


class FrontMatter(NamedTuple):
    """A file in two."""

    head: Node
    body: SourceText


def front_matter(file: TemplateFile) -> FrontMatter | None:
    """The front matter and the text behind it; None where the file does not begin with dashes.

    Comments and empty lines may stand ahead of it.

    Raises:
        BadTemplate: the second line of dashes is missing, or what is between is not YAML.
    """
    text = file.text
    at = 0
    begin = dashes = -1
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end + 1
        line = text[at:end].strip()
        if line == _DASHES:
            if begin >= 0:
                head = YamlNodes(SourceText.of_file(file, begin, at)).read()
                return FrontMatter(head, SourceText.of_file(file, end))
            begin, dashes = end, at
        elif begin < 0 and line and not line.startswith("#"):
            return None
        at = end
    if begin < 0:
        return None
    place = SourceText.of_file(file).place(dashes)
    raise BadTemplate.at(place, "the front matter is never closed", "End it with a line of three dashes")
