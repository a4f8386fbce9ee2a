"""LangChain's templates with examples: what stands ahead of them, each example, what stands behind."""

from __future__ import annotations

from prefixlab.dialects.python_arguments import Call
from prefixlab.dialects.python_facts import facts, gone_over, origin, parts_of
from prefixlab.dialects.python_literals import Piece, Spot
from prefixlab.dialects.python_values import (
    Dictionary,
    Gap,
    Items,
    Opaque,
    TemplateValue,
    TextPart,
    TextValue,
    Value,
)
from prefixlab.dialects.template_objects import format_of, partially, read_text, variables
from prefixlab.prompt_templates import Loop
from prefixlab.template_files import TemplateFile

_MOST_EXAMPLES = 200
"""Examples that are written out; more are one loop."""


def few_shot_template(call: Call, file: TemplateFile) -> TemplateValue | None:
    """`FewShotPromptTemplate(prefix=..., examples=..., example_prompt=..., suffix=...)`; None where a call is none."""
    if call.name.rpartition(".")[2] != "FewShotPromptTemplate":
        return None
    kind = format_of(call)
    separator = call.named.get("example_separator")
    between = parts_of(separator, call.at) if isinstance(separator, TextValue) else (Piece("\n\n", Spot(call.at)),)
    ahead, behind = [
        read_text(text, kind, call, file).parts if isinstance(text := call.named.get(key), TextValue) else ()
        for key in ("prefix", "suffix")
    ]
    pieces = [one for one in (ahead, *_examples(call, between), behind) if one]
    parts: list[TextPart] = []
    for number, piece in enumerate(pieces):
        parts += [*(between if number else ()), *piece]
    shape = call.named.get("example_prompt")
    own = (shape,) if isinstance(shape, TemplateValue) else ()
    made = TemplateValue("text", (TextValue(tuple(parts)),), call.at, made_of=own)
    return partially(made, variables(call.named.get("partial_variables")), call)


def _examples(call: Call, between: tuple[TextPart, ...]) -> list[tuple[TextPart, ...]]:
    """The text of each example, or one loop where they are known at run time only."""
    examples = call.named.get("examples") or call.named.get("example_selector")
    shape = call.named.get("example_prompt")
    if examples is None or not isinstance(shape, TemplateValue):
        return []
    known = examples.items if isinstance(examples, Items) else ()
    if 0 < len(known) <= _MOST_EXAMPLES and all([isinstance(one, Dictionary) for one in known]):
        return [_filled(shape, variables(one), call) for one in known]
    over = gone_over(examples)
    over = over if over.source else over._replace(source="examples")
    item = Opaque(facts(examples)._replace(orders=()), origin(examples) or call.at)
    names = {part.expression.source: item for part in _text(shape) if isinstance(part, Gap)}
    return [(Loop(over, origin(examples) or call.at, (*_filled(shape, dict(names), call), *between)),)]


def _filled(shape: TemplateValue, values: dict[str, Value], call: Call) -> tuple[TextPart, ...]:
    return _text(partially(shape, values, call))


def _text(shape: TemplateValue) -> tuple[TextPart, ...]:
    text = shape.messages[0]
    return text.parts if isinstance(text, TextValue) else ()
