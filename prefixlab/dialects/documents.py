"""JSON and YAML files as nodes that know where in the file they stand."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from prefixlab.dialects.document_nodes import Node
from prefixlab.dialects.json_nodes import JsonNodes
from prefixlab.dialects.source_text import SourceText
from prefixlab.dialects.yaml_nodes import YamlNodes
from prefixlab.template_files import BadTemplate, TemplateFile

_READ: WeakKeyDictionary[TemplateFile, Node | BadTemplate] = WeakKeyDictionary()
"""Several dialects look at the same file."""


def document(file: TemplateFile) -> Node:
    """A file of JSON or, by its ending, YAML.

    Raises:
        BadTemplate: it is none.
    """
    found = _READ.get(file)
    if found is None:
        try:
            found = read(SourceText.of_file(file), is_yaml=file.path.endswith((".yaml", ".yml")))
        except BadTemplate as error:
            found = error
        _READ[file] = found
    if isinstance(found, BadTemplate):
        raise found
    return found


def document_or_none(file: TemplateFile) -> Node | None:
    """The same; None where it is none."""
    try:
        return document(file)
    except BadTemplate:
        return None


def read(source: SourceText, *, is_yaml: bool) -> Node:
    """A text of JSON or YAML that may stand inside a file.

    Raises:
        BadTemplate: it is none.
    """
    return (YamlNodes(source) if is_yaml else JsonNodes(source)).read()
