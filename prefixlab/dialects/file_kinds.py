"""Which of the formats that share the endings of JSON and YAML a file is of; at most one."""

from __future__ import annotations

from pathlib import Path
from weakref import WeakKeyDictionary

from prefixlab.dialects.conversations import is_messages
from prefixlab.dialects.document_nodes import Node
from prefixlab.dialects.documents import document_or_none
from prefixlab.template_files import TemplateFile

_LANGCHAIN_TYPES = frozenset({"prompt", "few_shot", "few-shot", "chat", "few_shot_with_templates"})
_KERNEL_LANGUAGES = frozenset({"semantic-kernel", "handlebars", "liquid", "jinja2"})
_ROLES = frozenset({"system", "developer", "user", "human", "assistant", "ai", "tool"})
_CONFIG_NAMES = ("promptfooconfig",)
_KNOWN: WeakKeyDictionary[TemplateFile, str] = WeakKeyDictionary()


def kind_of(file: TemplateFile) -> str:
    """langchain, langfuse, semantic-kernel, promptfoo, messages, or empty where it is none of them.

    A file that cannot be read but names role and content is one of messages, so that its fault is said.
    """
    found = _KNOWN.get(file)
    if found is None:
        found = _KNOWN[file] = _kind(file)
    return found


def _kind(file: TemplateFile) -> str:
    text = file.text
    if Path(file.path).name.startswith(_CONFIG_NAMES):
        return "promptfoo"
    if not any([word in text for word in ("role", "template", "prompt")]):
        return ""
    node = document_or_none(file)
    if node is None:
        return "messages" if _names_messages(text) else ""
    if is_messages(node):
        return "messages"
    if not node.fields:
        return "langfuse" if node.items and all([is_langfuse(one) for one in node.items]) else ""
    if _is_langchain(node):
        return "langchain"
    if is_langfuse(node) or (
        (data := node.get("data")) and data.items and all([is_langfuse(one) for one in data.items])
    ):
        return "langfuse"
    if _is_kernel(node):
        return "semantic-kernel"
    if "prompts" in node.fields and ({"providers", "targets", "tests", "scenarios"} & node.fields.keys()):
        return "promptfoo"
    return "messages" if is_messages(node.get("messages")) else ""


def _names_messages(text: str) -> bool:
    """Whether a text that is no document has what messages have: lines of YAML with a role and a content, or the names
    of JSON.
    """
    if '"role"' in text and '"content"' in text:
        return True
    fields = [line.lstrip(" -").partition(":") for line in text.splitlines() if ":" in line]
    return any(name == "content" for name, _, _ in fields) and any(
        name == "role" and value.strip(" \"'\r") in _ROLES for name, _, value in fields
    )


def _is_langchain(node: Node) -> bool:
    if node.text("type") == "constructor" and "lc" in node.fields:
        identifier = node.get("id")
        return identifier is not None and isinstance(identifier.value, list) and "prompts" in identifier.value
    if node.text("_type") in _LANGCHAIN_TYPES:
        return True
    variables = node.get("input_variables")
    listed = variables is not None and all([isinstance(one, str) for one in variables.value or ()])
    return listed and bool({"template", "template_path"} & node.fields.keys())


def is_langfuse(node: Node) -> bool:
    """Whether a value is a prompt as Langfuse's interface gives it."""
    prompt = node.get("prompt")
    if prompt is None or not {"version", "labels", "config", "type", "commitMessage"} & node.fields.keys():
        return False
    return isinstance(prompt.value, str) or is_messages(prompt)


def _is_kernel(node: Node) -> bool:
    if not isinstance(node.fields.get("template", node).value, str):
        return False
    form = node.text("template_format")
    own = {"input_variables", "execution_settings", "output_variable"} & node.fields.keys()
    return bool(own) or form in _KERNEL_LANGUAGES
