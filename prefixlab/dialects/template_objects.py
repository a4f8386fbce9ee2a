"""Prompt classes of LangChain, and template objects of Jinja2 and `string.Template`, as a module makes and fills them.

Follows langchain-core 1 and Jinja2 3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from prefixlab.dialects.format_fields import Field, NoFormat
from prefixlab.dialects.jinja_objects import jinja_object, jinja_parts
from prefixlab.dialects.python_arguments import Call
from prefixlab.dialects.python_literals import Piece
from prefixlab.dialects.python_texts import bound, filled, name_gap
from prefixlab.dialects.python_values import (
    Alternatives,
    Dictionary,
    Function,
    Imported,
    Items,
    MessageValue,
    Opaque,
    Repeated,
    Spread,
    TemplateValue,
    TextPart,
    TextValue,
    Value,
    constant_text,
)
from prefixlab.prompt_templates import Expression, Place
from prefixlab.template_files import TemplateFile

ROLES = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "SystemMessage": "system",
    "SystemMessagePromptTemplate": "system",
    "HumanMessage": "user",
    "HumanMessagePromptTemplate": "user",
    "AIMessage": "assistant",
    "AIMessagePromptTemplate": "assistant",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
}
"""Other words for the roles of messages."""

_PLACEHOLDER = ("placeholder", "MessagesPlaceholder")
_MESSAGES = frozenset({"SystemMessage", "HumanMessage", "AIMessage", "ToolMessage", "FunctionMessage"})
_WITH_ROLE = ("ChatMessage", "Message", "ChatCompletionMessage")
_MESSAGE_TEMPLATES = frozenset(
    {
        "SystemMessagePromptTemplate",
        "HumanMessagePromptTemplate",
        "AIMessagePromptTemplate",
        "ChatMessagePromptTemplate",
    }
)
_CHAT = frozenset({"ChatPromptTemplate"})
_TEXT = frozenset({"PromptTemplate"})


def template_call(call: Call, file: TemplateFile) -> Value | None:
    """A message or template that a call makes; None where it makes none."""
    owner, _, method = call.name.rpartition(".")
    cls = owner.rpartition(".")[2] if method.startswith("from_") else method
    if cls in _MESSAGES:
        return MessageValue(ROLES[cls], call.argument(0, "content") or TextValue(()), call.at)
    if (method in _WITH_ROLE or method.endswith("MessageParam")) and "role" in call.named:
        content = call.argument(1, "content", "blocks") or TextValue(())
        return MessageValue(call.named["role"], content, call.at)
    if cls == "MessagesPlaceholder":
        name = constant_text(call.argument(0, "variable_name")) or "messages"
        return Spread(Opaque(Expression(name, (name,)), call.at, None, True))
    if method in ("from_messages", "from_template") or method == cls:
        if cls in _CHAT:
            return _chat(call, file, is_template=method == "from_template")
        if cls in _MESSAGE_TEMPLATES or cls in _TEXT:
            return _text_template(call, cls, file)
    return _other_template(call, method, file)


def _other_template(call: Call, method: str, file: TemplateFile) -> Value | None:
    if call.name == "string.Template":
        text = call.argument(0, "template")
        return TemplateValue("dollar", (text,), call.at) if isinstance(text, TextValue) else None
    return jinja_object(call, None, method, file)


def format_of(call: Call) -> str:
    """The format that a template of LangChain says it has."""
    return constant_text(call.named.get("template_format")) or "f-string"


def _chat(call: Call, file: TemplateFile, is_template: bool) -> Value | None:
    given = call.argument(0, "messages", "template")
    if is_template and isinstance(given, TextValue):
        given = Items((given,))
    if not isinstance(given, Items):
        return None
    kind = format_of(call)
    messages = [_message(one, kind, call, file) for one in given.items]
    made = TemplateValue("chat", tuple(messages), call.at)
    return partially(made, variables(call.named.get("partial_variables")), call)


def _message(value: Value, kind: str, call: Call, file: TemplateFile) -> Value:
    if isinstance(value, TextValue):
        return MessageValue("user", read_text(value, kind, call, file), value_at(value, call))
    role: Value | str | None = None
    content: Value | None = None
    at = call.at
    if isinstance(value, Items) and len(value.items) == 2 and value.kind in ("tuple", "list"):
        role, content = value.items
        at = value_at(role, call)
    elif isinstance(value, Dictionary):
        role, content, at = value.get("role"), value.get("content"), value.at or call.at
    elif isinstance(value, TemplateValue):
        if value.kind == "message":
            return MessageValue(value.role, value.messages[0], value.at)
        return Items(value.messages) if value.kind == "chat" else MessageValue("user", value.messages[0], value.at)
    elif isinstance(value, Alternatives):
        arms = tuple([_message(one, kind, call, file) for one in value.arms])
        return Alternatives(value.condition, value.at, arms, value.is_items)
    elif isinstance(value, Items):
        return Items(tuple([_message(one, kind, call, file) for one in value.items]))
    elif isinstance(value, Repeated):
        return Repeated(value.over, value.at, tuple([_message(one, kind, call, file) for one in value.items]))
    if role is None or content is None:
        # Messages that are made elsewhere; a message object is no template.
        return value
    word = constant_text(role) if not isinstance(role, str) else role
    if word is None and hasattr(role, "name"):
        word = str(role.name).rpartition(".")[2]
    if word in _PLACEHOLDER:
        name = constant_text(content)
        if name is None and isinstance(content, Items) and content.items:
            name = constant_text(content.items[0])
        name = (name or "messages").strip("{} ")
        return Spread(Opaque(Expression(name, (name,)), at, None, True))
    shown: Value | str = ROLES.get(word, word) if word else role
    if isinstance(content, TextValue):
        content = read_text(content, kind, call, file)
    elif isinstance(content, Items):
        content = Items(tuple([_block(one, kind, call, file) for one in content.items]))
    return MessageValue(shown, content, at)


def _block(value: Value, kind: str, call: Call, file: TemplateFile) -> Value:
    text = value.get("text") if isinstance(value, Dictionary) else value
    return read_text(text, kind, call, file) if isinstance(text, TextValue) else value


def value_at(value: Value | str, call: Call) -> Place:
    """Where a text begins; where the call stands for another value."""
    if isinstance(value, TextValue) and value.parts and isinstance(value.parts[0], Piece):
        at = value.parts[0].place()
        return Place(at.path, at.line, max(at.column - 1, 1))
    return call.at


def _text_template(call: Call, cls: str, file: TemplateFile) -> Value | None:
    text = call.argument(0, "template", "prompt")
    unread = constant_text(text) if format_of(call) == "jinja2" else None
    if isinstance(text, TemplateValue):
        text = text.messages[0]
    elif isinstance(text, TextValue):
        text = read_text(text, format_of(call), call, file)
    if not isinstance(text, TextValue):
        return None
    kind = "message" if cls in _MESSAGE_TEMPLATES else "text"
    role = constant_text(call.named.get("role")) or "user"
    made = TemplateValue(kind, (text,), call.at, ROLES.get(cls, role), unread if kind == "text" else None)
    return partially(made, variables(call.named.get("partial_variables")), call)


def read_text(text: TextValue, kind: str, call: Call, file: TemplateFile) -> TextValue:
    """The text of a template with its variables as holes."""
    if kind == "jinja2":
        return TextValue(jinja_parts(text, call.at, file))
    try:
        return TextValue(filled(text.parts, kind if kind == "mustache" else "f-string", _fill(kind), call.at))
    except NoFormat:
        return text


def _fill(kind: str) -> Callable[[Field, Place], Sequence[TextPart]]:
    def fill(field: Field, place: Place) -> Sequence[TextPart]:
        # A variable in double braces is escaped as HTML is.
        return name_gap(
            field._replace(conversion="raw" if field.kind else "html") if kind == "mustache" else field, place
        )

    return fill


def variables(value: Value | None) -> dict[str, Value]:
    """What a mapping gives for variables."""
    return value.flat() if isinstance(value, Dictionary) else {}


def partially(template: TemplateValue, values: Mapping[str, Value], call: Call) -> TemplateValue:
    """The template with some of its variables known; a function is called for its value."""
    if not values:
        return template
    known = {name: call.run(one, ()) if _is_called(one) else one for name, one in values.items()}
    messages = tuple([_with(message, known) for message in template.messages])
    return replace(template, messages=messages, unread=None)


_CALLED = frozenset(["datetime", "time", "uuid", "random", "secrets", "os", "socket", "platform", "getpass"])


def _is_called(value: Value) -> bool:
    """Whether a value is a function, as far as that can be told of one of the standard library."""
    if isinstance(value, Imported):
        return value.name.partition(".")[0] in _CALLED
    return isinstance(value, Function)


def _with(value: Value, known: Mapping[str, Value]) -> Value:
    if isinstance(value, TextValue):
        return TextValue(bound(value.parts, known))
    if isinstance(value, MessageValue):
        return MessageValue(value.role, _with(value.content, known), value.at)
    if isinstance(value, Items):
        return Items(tuple([_with(one, known) for one in value.items]), value.kind)
    if isinstance(value, Spread) and isinstance(value.value, Opaque):
        found = known.get(value.value.expression.source)
        if isinstance(found, Items):
            return found
        return value if found is None else Spread(found)
    if isinstance(value, Alternatives):
        return Alternatives(value.condition, value.at, tuple([_with(one, known) for one in value.arms]), value.is_items)
    return value


_FILLING = frozenset(
    [
        "format",
        "aformat",
        "render",
        "render_async",
        "substitute",
        "safe_substitute",
        "format_messages",
        "aformat_messages",
        "format_prompt",
        "invoke",
        "ainvoke",
        "stream",
        "astream",
        "batch",
        "abatch",
        "format_map",
    ]
)


def template_method(template: TemplateValue, name: str, call: Call, file: TemplateFile) -> Value | None:
    """What a method of a template object gives; None where it is not known."""
    if name == "partial":
        return partially(template, call.as_mapping(), call)
    if name in ("append", "extend") and template.kind == "chat" and call.positional:
        more = call.positional[0]
        added = more.items if name == "extend" and isinstance(more, Items) else (more,)
        messages = [_message(one, "f-string", call, file) for one in added]
        return TemplateValue("chat", (*template.messages, *messages), template.at)
    if name not in _FILLING:
        return template if name.startswith(("with_", "bind", "pipe", "assign")) else None
    values = call.as_mapping()
    if template.kind in ("dollar", "jinja2"):
        text = template.messages[0]
        if not isinstance(text, TextValue):
            return None
        return TextValue(bound(unbound_parts(template, text, call.at, file), values))
    filled_in = partially(template, values, call)
    if filled_in.kind in ("text", "parts"):
        return filled_in.messages[0]
    return filled_in if filled_in.kind == "chat" else Items(filled_in.messages)


def unbound_parts(template: TemplateValue, text: TextValue, at: Place, file: TemplateFile) -> tuple[TextPart, ...]:
    """The parts of a template whose variables are all open."""
    if template.kind == "jinja2":
        return jinja_parts(text, at, file)
    return filled(text.parts, "dollar", name_gap, at) if template.kind == "dollar" else text.parts
