"""The prompts that a module makes: what its functions send, return and hold, each given once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prefixlab.dialects.format_fields import NoFormat
from prefixlab.dialects.python_arguments import Call
from prefixlab.dialects.python_calls import CallReading
from prefixlab.dialects.python_facts import weight
from prefixlab.dialects.python_heap import Heap
from prefixlab.dialects.python_literals import Piece, Source
from prefixlab.dialects.python_operators import Names
from prefixlab.dialects.python_overrides import overridden
from prefixlab.dialects.python_requests import asked, has_messages, has_text, own_parts
from prefixlab.dialects.python_survey import OPENINGS, survey
from prefixlab.dialects.python_texts import filled, name_gap
from prefixlab.dialects.python_values import (
    MOST_CHARACTERS,
    MOST_PARTS,
    Class,
    Dictionary,
    Function,
    Gap,
    Imported,
    Instance,
    Items,
    MessageValue,
    TemplateValue,
    TextPart,
    TextValue,
    TooLarge,
    Value,
    constant_text,
)
from prefixlab.dialects.template_objects import unbound_parts
from prefixlab.prompt_templates import Choice, History, Loop, Place, Turn
from prefixlab.template_files import BadTemplate, TemplateFile

MOST_STEPS = 150_000
"""Statements and expressions that are gone over in a module, beside those that it has."""

MOST_STEPS_OF_ONE = 15_000
"""And from one function that nobody in the module calls, beside its own."""

MOST_PROMPTS = 500
"""Prompts of a module."""

_WORDS = ("system", "preamble", "persona")
_LEAST_WORDS = 3
"""Words of a text that is a prompt by its name alone; a hole is one."""


class Found(NamedTuple):
    """A prompt of a module."""

    name: str
    at: Place
    parts: tuple[TextPart, ...]
    is_sure: bool
    unread: str | None = None
    """The text of a Jinja2 object that nobody filled in."""


class PromptReading:
    """Finds the prompts of one module."""

    def __init__(self, source: Source, tree: ast.Module, file: TemplateFile) -> None:
        self._source = source
        self._tree = tree
        self._file = file
        self._name = ""
        self._found: list[Found] = []
        self._templates: dict[Place, tuple[str, TemplateValue]] = {}
        self.notes: dict[str, tuple[str, ...]] = {}
        """What could not be followed from a function."""
        self._most_steps = 0
        self._objects: dict[int, tuple[Instance, Heap]] = {}
        """An object of each class, with the attributes it begins with."""
        self._used: set[Place] = set()
        """Template objects that are part of another prompt."""
        self.reading = CallReading(source, file, self._see_call, self._see_template)

    def prompts(self) -> list[Found]:
        """All prompts, in the order of the file."""
        reading = self.reading
        names = Names()
        seen = survey(self._tree, _is_prompt_name)
        self._most_steps = MOST_STEPS + seen.sizes[0]
        reading.most_steps = MOST_STEPS_OF_ONE * 2 + seen.sizes[0]
        try:
            reading.block(self._tree.body, names)
        except RecursionError:
            reading.notes["The module is nested too deeply and is not followed."] = None
        reading.target = ""
        heap = reading.heap
        functions = list(_functions(names.own, self._tree))
        reading.repeatable = seen.sizes.keys() - seen.matters
        returned: list[tuple[str, Function, Value]] = []
        waiting = [one for one in functions if _called_as(one[0]) not in seen.called]
        # Of those that only call one another, what comes later mostly calls what stands ahead of it.
        again = overridden(names.own)
        for group in (waiting, functions[::-1], again):
            for name, function, owner in group:
                is_done = group is not again and id(function.node) in reading.executed
                if is_done or id(function.node) not in seen.matters:
                    continue
                self._name = name
                reading.notes.clear()
                self._allow(MOST_STEPS_OF_ONE + seen.sizes.get(id(function.node), 0))
                reading.heap = heap.copy()
                try:
                    made = self._run(function, owner)
                except RecursionError:
                    self.notes[name] = (f"{name} is nested too deeply and is not followed.",)
                    continue
                self.notes[name] = tuple(reading.notes)
                if made is not None:
                    returned.append((name, function, made))
        self._add_returned(returned)
        self._add_held(names)
        self._add_templates()
        return sorted(self._each_once(), key=lambda one: (one.at.line, one.at.column))[:MOST_PROMPTS]

    def _run(self, function: Function, owner: Class | None) -> Value | None:
        """What a function gives to somebody whom the module does not know."""
        reading = self.reading
        given = reading.parameters(function.node.args)
        if owner is not None and given:
            first = next(iter(given))
            marks = {getattr(one, "id", "") for one in function.node.decorator_list}  # type: ignore[union-attr]
            if "staticmethod" not in marks:
                del given[first]
                bound: Value = owner
                if "classmethod" not in marks:
                    bound = self._object(owner)
                function = Function(function.node, function.outer, bound)
        return reading.follow(function, (), given, function.node)

    def _allow(self, steps: int) -> None:
        self.reading.most_steps = min(self.reading.steps + steps, self._most_steps)

    def _object(self, owner: Class) -> Value:
        """An object of a class, made once with what somebody hands over whom the module does not know."""
        reading = self.reading
        if id(owner) not in self._objects:
            start = reading.member(owner, "__init__")
            wanted = reading.parameters(start.node.args) if isinstance(start, Function) else {}
            made = reading.instance(owner, (), dict(list(wanted.items())[1:]), owner.node)
            self._objects[id(owner)] = made, reading.heap.copy()
            self._allow(MOST_STEPS_OF_ONE)
        made, heap = self._objects[id(owner)]
        reading.heap = heap.copy()
        return made

    # --- what is met on the way ---

    def _called_by(self) -> str:
        return self._name or self.reading.target

    def _see_call(self, call: Call, path: str, owner: Value | None) -> None:
        try:
            request = asked(call, path, owner)
        except TooLarge:
            request = None
        if request is None:
            return
        at = call.at
        self._use([*call.positional, *call.named.values()])
        self._found.append(Found(self._called_by(), at, request.parts, request.is_sure))

    def _see_template(self, template: TemplateValue) -> None:
        name = self._templates[template.at][0] if template.at in self._templates else self._called_by()
        self._templates[template.at] = (name, template)
        if template.kind == "chat":
            self._use(template.messages)
        self._use(template.made_of)

    def _use(self, values: Sequence[Value], depth: int = 0) -> None:
        """Template objects, and the templates of messages, in other prompts are none of their own."""
        for value in values:
            if isinstance(value, TemplateValue | MessageValue):
                self._used.add(value.at)
            if isinstance(value, Items) and depth < 4:
                self._use(value.items[:100], depth + 1)

    # --- what is left when all is read ---

    def _add_returned(self, returned: Sequence[tuple[str, Function, Value]]) -> None:
        for name, function, value in returned:
            at = self._source.place(function.node)
            if has_messages(value) or _is_one_message(value):
                if not isinstance(value, TemplateValue):
                    self._found.append(Found(name, at, _messages(value, at), False))
            elif (
                isinstance(value, TextValue)
                and _is_a_text(value)
                and (_is_prompt_name(name) or _reads_as_prompt(value) or _returns_prompt(function.node))
            ):
                self._found.append(Found(name, at, value.parts, False))

    def _add_held(self, names: Names) -> None:
        """Constants that are called prompts, and that nothing in the module makes a prompt of."""
        known = {place for one in self._found for place in _places(one.parts)}
        for name, value in _held(names.own, known):
            if not _is_prompt_name(name) and not _reads_as_prompt(value):
                continue
            if isinstance(value, TextValue) and value.parts and isinstance(value.parts[0], Piece):
                text = constant_text(value)
                if not _is_a_text(value) or value.parts[0].place() in known:
                    continue
                parts = value.parts if text is None else _as_format(value)
                self._found.append(Found(name, value.parts[0].place(), parts, False))
            elif has_messages(value) and not isinstance(value, TemplateValue):
                at = value.items[0].at if isinstance(value, Items) and isinstance(value.items[0], Dictionary) else None
                place = at or Place(self._source.path, 1, 1)
                self._found.append(Found(name, place, _messages(value, place), False))

    def _add_templates(self) -> None:
        for at, (name, template) in self._templates.items():
            if at in self._used:
                continue
            if template.kind == "chat":
                parts = _messages(template, at)
            else:
                text = template.messages[0]
                if not isinstance(text, TextValue):
                    continue
                try:
                    parts = unbound_parts(template, text, at, self._file)
                except TooLarge:
                    continue
                except (BadTemplate, NoFormat):
                    if not _is_prompt_name(name):
                        continue
                    raise
                if template.kind in ("dollar", "jinja2", "parts"):
                    # Pages and mails are made of these, too.
                    if not _is_prompt_name(name) and not _reads_as_prompt(text):
                        continue
                elif template.kind == "message":
                    parts = (Turn(template.role, at), *parts)
            unread = template.unread
            self._found.append(Found(name, at, parts, template.kind in ("chat", "text", "message"), unread))

    def _each_once(self) -> Iterator[Found]:
        """The prompts without those that are the same as another, or on the way to it."""
        known: set[tuple[object, ...]] = set()
        found: list[tuple[Found, frozenset[Place]]] = []
        for one in sorted(self._found, key=lambda one: not one.is_sure):
            if not has_text(one.parts) or len(found) >= MOST_PROMPTS or _is_too_large(one.parts):
                continue
            places = frozenset(_places(one.parts))
            key = (places, tuple(_holes(one.parts)))
            if key not in known:
                known.add(key)
                found.append((one, places))
        sure: set[Place] = set()
        for one, places in found:
            if one.is_sure:
                sure |= places
        # Of prompts with the same texts the first stays.
        largest: dict[Place, tuple[int, int]] = {}
        for number, (one, places) in enumerate(found):
            if not one.is_sure:
                for place in places:
                    largest[place] = max(largest.get(place, (0, 0)), (len(places), -number))
        for number, (one, places) in enumerate(found):
            rank = (len(places), -number)
            if one.is_sure or not (places <= sure or all([largest[place] > rank for place in places])):
                yield one


def _functions(own: dict[str, Value], tree: ast.Module) -> Iterator[tuple[str, Function, Class | None]]:
    """Functions of the module and methods of its classes, in the order of the file."""
    for value in own.values():
        if isinstance(value, Function) and not isinstance(value.node, ast.Lambda):
            yield value.node.name, value, None
        elif isinstance(value, Class):
            for name, member in value.names.items():
                if isinstance(member, Function) and not isinstance(member.node, ast.Lambda) and name != "__init__":
                    yield f"{value.node.name}.{name}", member, value


def _called_as(name: str) -> str:
    owner, _, method = name.partition(".")
    return f".{method}" if method else owner


def _messages(value: Value, at: Place) -> tuple[TextPart, ...]:
    try:
        return tuple(own_parts(value, at))
    except TooLarge:
        return ()


def _held(own: dict[str, Value], known: set[Place]) -> Iterator[tuple[str, Value]]:
    for name, value in own.items():
        if isinstance(value, Class):
            yield from [(f"{value.node.name}.{key}", one) for key, one in value.names.items()]
        elif isinstance(value, Dictionary) and _is_prompt_name(name):
            texts = [one for one in value.flat().values() if isinstance(one, TextValue)]
            if any([place in known for one in texts for place in _places(one.parts)]):
                # One of them is chosen where a prompt is made.
                continue
            yield from [(f"{name}.{key}", one) for key, one in value.flat().items()]
        elif not isinstance(value, Function | Imported | Instance):
            yield name, value


def _as_format(value: TextValue) -> tuple[TextPart, ...]:
    """A constant with `{name}` in it is filled in where it is imported."""
    try:
        parts = filled(value.parts, "f-string", name_gap, value.parts[0].place())
    except (NoFormat, TooLarge):
        return value.parts
    gaps = [part for part in parts if isinstance(part, Gap)]
    named = all([gap.expression.source.replace(".", "_").isidentifier() for gap in gaps])
    return parts if gaps and named else value.parts


def _is_one_message(value: Value) -> bool:
    return isinstance(value, Dictionary) and {"role", "content"} <= {name for name, _ in value.entries}


def _is_a_text(value: TextValue) -> bool:
    words = [len(part.text[:200].split()) if isinstance(part, Piece) else 1 for part in value.parts[:8]]
    return sum(words) >= _LEAST_WORDS


def _is_prompt_name(name: str) -> bool:
    lower = name.lower()
    words = lower.rpartition(".")[2].split("_")
    return "prompt" in lower or "instruction" in lower or any([word in words for word in _WORDS])


def _is_too_large(parts: Sequence[TextPart]) -> bool:
    characters = sum([len(part.text) for part in parts if isinstance(part, Piece)])
    return characters > MOST_CHARACTERS or weight(parts, MOST_PARTS * 2) >= MOST_PARTS * 2


def _returns_prompt(node: ast.AST) -> bool:
    """Whether what a function returns is called a prompt in it."""
    names = [one.value.id for one in ast.walk(node) if isinstance(one, ast.Return) and isinstance(one.value, ast.Name)]
    return any([_is_prompt_name(name) for name in names])


def _reads_as_prompt(value: Value) -> bool:
    if isinstance(value, TextValue):
        head = "".join([part.text for part in value.parts[:4] if isinstance(part, Piece)])[:300].lower()
        return any([line.strip(" #*-").startswith(OPENINGS) for line in head.split("\n")[:4]])
    return has_messages(value)


def _places(parts: Sequence[TextPart]) -> Iterator[Place]:
    for part in parts:
        if isinstance(part, Piece):
            if part.text.strip():
                yield part.place()
        elif isinstance(part, Choice):
            for arm in part.arms:
                yield from _places(arm)
        elif isinstance(part, Loop):
            yield from _places(part.body)


def _holes(parts: Sequence[TextPart]) -> Iterator[object]:
    for part in parts:
        if isinstance(part, Gap):
            yield part.at, part.expression.names
        elif isinstance(part, History):
            yield part.name
        elif isinstance(part, Choice):
            for arm in part.arms:
                yield from _holes(arm)
        elif isinstance(part, Loop):
            yield from _holes(part.body)
