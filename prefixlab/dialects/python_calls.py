"""Calls in Python: followed where the module defines what is called, known where the library is, else a hole."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

from prefixlab.dialects.few_shot_templates import few_shot_template
from prefixlab.dialects.jinja_objects import jinja_object
from prefixlab.dialects.python_arguments import Call
from prefixlab.dialects.python_branches import one_of
from prefixlab.dialects.python_classes import ClassReading
from prefixlab.dialects.python_facts import facts, origin, placed, union
from prefixlab.dialects.python_fixed_calls import fixed_call
from prefixlab.dialects.python_helpers import (
    MOST_STEPS_OF_HELPERS,
    READINGS,
    followed_elsewhere,
    is_helper,
    is_self_contained,
    known_helper,
)
from prefixlab.dialects.python_known_calls import ORDERS, known_call, mapping_method, opaque
from prefixlab.dialects.python_list_methods import list_method
from prefixlab.dialects.python_literals import Source
from prefixlab.dialects.python_modules import Member, imported, imported_constant
from prefixlab.dialects.python_operators import Names
from prefixlab.dialects.python_partials import partial_of
from prefixlab.dialects.python_text_classes import text_in_class
from prefixlab.dialects.python_texts import formatted, joined, text_method
from prefixlab.dialects.python_values import (
    NONE,
    Alternatives,
    Class,
    Dictionary,
    Function,
    Imported,
    Instance,
    Items,
    Opaque,
    Spread,
    TemplateValue,
    TextValue,
    Value,
    constant_text,
)
from prefixlab.dialects.template_objects import partially, template_call, template_method
from prefixlab.prompt_templates import Expression, Order
from prefixlab.template_files import TemplateFile

_CHANGING = frozenset(
    ["append", "extend", "insert", "add", "update", "clear", "reverse", "pop", "shuffle", "remove", "sort", "write"]
)
_VIEWS = frozenset(["items", "keys", "values"])
_OF_SETS = frozenset(["union", "intersection", "difference", "symmetric_difference", "copy"])
_AS_THEY_ARE = frozenset(["with_options", "with_config", "with_retry", "copy", "to_dict", "tolist"])

MOST_STEPS_OF_A_MODULE = 100_000
"""Statements and expressions of a module that are gone over for what another imports from it."""

Watch = Callable[[Call, str, Value | None], None]
"""Looks at each call that is not followed: the call, the names behind one another that it is called by, its object."""
WatchTemplate = Callable[[TemplateValue], None]


class CallReading(ClassReading):
    """Reads a module with its calls."""

    def __init__(self, source: Source, file: TemplateFile, watch: Watch, watch_template: WatchTemplate) -> None:
        super().__init__(source)
        self._file = file
        self._watch = watch
        self._watch_template = watch_template
        self._constants: dict[str, Value | None] = {}
        self._helpers: dict[str, Value | None] = {}
        self._left_for_helpers = MOST_STEPS_OF_HELPERS
        self.is_kept = False
        """Whether the reading is kept for other modules."""

    def constant_of(self, home: str) -> Value | None:
        """A constant that another module of the project holds."""
        if home not in self._constants:
            found = imported_constant(home, self._file, _read_module)
            found = None if found is None else self.started.of(found)
            if self.is_kept:
                # What is asked of it later must not be older than the files.
                return found
            self._constants[home] = found
        return self._constants[home]

    def run(self, value: Value, args: Sequence[Value]) -> Value:
        """Calls a value of the module."""
        if isinstance(value, Function):
            return self.follow(value, args, {}, value.node)
        if isinstance(value, Class):
            return self.instance(value, args, {}, value.node)
        if isinstance(value, Imported):
            made = Opaque(Expression(f"{value.name}()", calls=(value.name,)), value.at or self.source.start)
            return _EMPTY.get(value.name, made)
        return Opaque(facts(value), origin(value) or self.source.start)

    def call(self, node: ast.Call, names: Names) -> Value:
        """What a call gives."""
        function = node.func
        owner: Value | None = None
        called: Value | None = None
        method = ""
        if isinstance(function, ast.Attribute):
            method = function.attr
            if isinstance(function.value, ast.Call) and _is_super(function.value):
                return self._super(node, method, names)
            owner = self.value(function.value, names)
            if isinstance(owner, Instance | Class):
                called = self.attribute_of(owner, method, node)
            elif isinstance(owner, Imported):
                called = Imported(f"{owner.name}.{method}", home=owner.home and f"{owner.home}.{method}")
        else:
            called = self.value(function, names)
        positional, named = self._arguments(node, names)
        call = Call(
            node,
            _name_of(owner, called, method, node),
            positional,
            named,
            self.place(node),
            self.written(node),
            self.run,
        )
        if isinstance(called, Function):
            return self.follow(called, positional, named, node)
        if isinstance(called, Class):
            return text_in_class(call, called) or self.instance(called, positional, named, node)
        if call.name == "functools.partial" and positional and isinstance(positional[0], Function):
            return partial_of(positional[0], positional[1:], named, node)
        asked_for = constant_text(call.argument(1)) if call.name == "getattr" else None
        if asked_for is not None:
            return self.attribute(positional[0], asked_for, node)
        if owner is not None and not isinstance(owner, Imported):
            made = self._method(owner, method, call, names)
        else:
            made = template_call(call, self._file) or few_shot_template(call, self._file) or known_call(call)
            made = made or fixed_call(call) or text_in_class(call, called)
        if isinstance(made, TemplateValue):
            self._watch_template(made)
        if call.name == "random.shuffle" and node.args:
            self.assign(node.args[0], opaque(call, *positional, order="random"), names)
            return NONE
        if made is None:
            self._watch(call, _path(function), owner)
            self._follow_lambdas([*positional, *named.values()])
            made = self._unknown(call, owner, method)
            if isinstance(called, Imported) and called.home:
                # Most calls never enter a text: it is followed when one does.
                made = replace(made, later=cache(partial(self._of_helper, called.home, call)))
        return made

    def _of_helper(self, home: str, call: Call) -> Value | None:
        """What a function of another module of the project gives; None where it is none, or gives no text."""
        values = [*call.positional, *call.named.values()]
        if self._left_for_helpers <= 0 or not is_self_contained(values):
            return None
        if home not in self._helpers or self.is_kept:
            self._helpers[home] = imported(home, self._file, _read_module, is_helper)
        helper = self._helpers[home]
        reading = None if helper is None else READINGS.get(helper)
        if reading is None or not isinstance(helper, Function):
            return None
        made, steps = followed_elsewhere(reading, helper, call, self._left_for_helpers)
        self._left_for_helpers -= steps
        return made

    def _arguments(self, node: ast.Call, names: Names) -> tuple[list[Value], dict[str, Value]]:
        positional: list[Value] = []
        for one in node.args:
            if isinstance(one, ast.Starred):
                inner = self.value(one.value, names)
                positional += inner.items if isinstance(inner, Items) else [Spread(inner)]
            else:
                positional.append(self.value(one, names))
        named: dict[str, Value] = {}
        for keyword in node.keywords:
            value = self.entering(keyword.value, names)
            if keyword.arg is not None:
                named[keyword.arg] = value
            elif isinstance(value, Dictionary):
                named.update(value.flat())
            elif isinstance(value, Alternatives):
                for arm in value.arms:
                    named.update(arm.flat() if isinstance(arm, Dictionary) else {})
        return positional, named

    def _follow_lambdas(self, values: Sequence[Value]) -> None:
        """Goes over functions that are written where they are handed to another: what they send is found."""
        for one in values:
            if isinstance(one, Function) and isinstance(one.node, ast.Lambda) and id(one.node) not in self.executed:
                self.follow(one, (), self.parameters(one.node.args), one.node)

    def _super(self, node: ast.Call, method: str, names: Names) -> Value:
        owner = names.get("self")
        positional, named = self._arguments(node, names)
        if isinstance(owner, Instance):
            for base in owner.of.bases:
                found = self.member(base, method) if isinstance(base, Class) else None
                if isinstance(found, Function):
                    return self.follow(Function(found.node, found.outer, owner), positional, named, node)
        return NONE

    # --- methods ---

    def _method(self, owner: Value, name: str, call: Call, names: Names) -> Value | None:
        """What a method of a value gives; None where it is not known."""
        if isinstance(owner, TemplateValue):
            made = template_method(owner, name, call, self._file)
            if isinstance(made, TextValue | TemplateValue) and owner.is_piped and name != "partial":
                self._watch_template(partially(owner, call.as_mapping(), call))
                return opaque(call, *call.positional)
            return made
        if isinstance(owner, Alternatives) and name not in _CHANGING:
            arms = [self._method(one, name, call, names) for one in owner.arms if one != NONE]
            known = [one for one in arms if one is not None]
            return one_of(owner.condition, owner.at, known, lambda: NONE) if known and len(known) == len(arms) else None
        if isinstance(owner, TextValue):
            return self._of_text(owner, name, call)
        if name in _CHANGING and isinstance(call.node.func, ast.Attribute):
            changed = self._changed(owner, name, call)
            if changed is not None:
                self.assign(call.node.func.value, changed, names)
                if name == "pop" and isinstance(owner, Items) and owner.items:
                    return opaque(call, owner)
                return NONE
        if isinstance(owner, Dictionary):
            of = getattr(call.node.func, "value", None)
            if not owner.entries and name in _VIEWS and isinstance(of, ast.Attribute):
                # An object begins with it empty so that others fill it.
                filled = _path(of)
                return self._of_opaque(Opaque(Expression(filled, (filled,)), call.at, None, True), name, call)
            return mapping_method(owner, name, call)
        if isinstance(owner, Items):
            if name == "getvalue":
                return joined(TextValue(()), owner, call.at, call.source)
            if name in _OF_SETS:
                return Items(owner.items, owner.kind) if name == "copy" else opaque(call, owner, order="set")
            return None
        if isinstance(owner, Opaque):
            return jinja_object(call, owner, name, self._file) or self._of_opaque(owner, name, call)
        return None

    def _of_text(self, owner: TextValue, name: str, call: Call) -> Value | None:
        call = call._replace(
            positional=[self.helped(one) for one in call.positional],
            named={key: self.helped(one) for key, one in call.named.items()},
        )
        if name in ("format", "format_map"):
            named = call.as_mapping() if name == "format_map" else call.named
            return formatted(owner, "f-string", call.positional, named, call.at)
        if name == "join" and call.positional:
            return joined(owner, call.positional[0], call.at, call.source)
        if name == "encode":
            return owner
        return text_method(owner, name, call.positional, call.at, call.source)

    def _changed(self, owner: Value, name: str, call: Call) -> Value | None:
        if isinstance(owner, Alternatives) and name in ("append", "extend"):
            arms = [one if isinstance(one, Items) else Items((Spread(one),)) for one in owner.arms if one != NONE]
            start = Items((Alternatives(owner.condition, owner.at, tuple(arms), is_items=True),))
            return list_method(start, name, call.positional)
        if isinstance(owner, Items):
            if name == "sort":
                return known_call(call._replace(name="sorted", positional=(owner,)))
            return list_method(owner, name, call.positional)
        if isinstance(owner, Dictionary) and name == "update":
            return Dictionary((*owner.entries, *call.as_mapping().items()), owner.at)
        if isinstance(owner, Opaque) and owner.is_plain:
            if name == "sort":
                return known_call(call._replace(name="sorted", positional=(owner,)))
            if name in ("append", "extend", "insert"):
                kind: Order | None = owner.order
                start = Items((Spread(Opaque(owner.expression, owner.at, kind, True)),))
                return list_method(start, name, call.positional)
        return None

    def _of_opaque(self, owner: Opaque, name: str, call: Call) -> Value | None:
        if name in _VIEWS and not call.positional:
            expression = owner.expression._replace(source=call.source)
            order: Order = "set" if owner.order == "set" else "mapping"
            return Opaque(expression, owner.at if not owner.is_plain else call.at, order, owner.is_plain)
        if owner.order == "set" and name in _OF_SETS:
            return Opaque(owner.expression, owner.at, "set")
        if name in ("most_common", "sort"):
            return None
        return owner if name in _AS_THEY_ARE else None

    def _unknown(self, call: Call, owner: Value | None, method: str) -> Opaque:
        """A call of which only is known what it reads."""
        values = [*call.positional, *call.named.values()]
        read = [facts(one) for one in values if not isinstance(one, Imported)]
        formats = [one for one in map(constant_text, values) if one and "%" in one and len(one) < 80]
        if (
            "strftime" not in method
            and "format" not in method
            and not call.name.endswith(("strftime", "format_datetime"))
        ):
            formats = []
        mine = Expression("", calls=(call.name,), formats=tuple(formats))
        inner = [facts(owner)] if owner is not None and not isinstance(owner, Imported | Instance | Class) else []
        order = ORDERS.get(call.name) or (ORDERS.get(method) if isinstance(owner, Opaque) else None)
        if order is not None:
            mine = mine._replace(orders=(order,))
        at, source = placed((owner, *values), call.at, call.source)
        return Opaque(union(source, [*inner, mine, *read]), at, None, False, call.named)


def _read_module(file: TemplateFile, tree: ast.Module) -> Member:
    """What a module gives to others."""
    reading = CallReading(Source(file.path, file.text), file, lambda *_: None, lambda _: None)
    names = Names()
    reading.is_kept = True
    reading.most_steps = MOST_STEPS_OF_A_MODULE
    reading.block(tree.body, names)
    return lambda attributes: known_helper(reading.member_of(names, attributes), reading)


_EMPTY: dict[str, Value] = {"list": Items(()), "dict": Dictionary(()), "set": Items((), "set")}


def _name_of(owner: Value | None, called: Value | None, method: str, node: ast.Call) -> str:
    if isinstance(called, Imported):
        return called.name
    if owner is not None:
        if isinstance(owner, Opaque) and owner.is_plain and owner.expression.names:
            return f"{owner.expression.names[0]}.{method}"
        if isinstance(owner, Instance):
            return f"self.{method}"
        return method
    if isinstance(called, Opaque) and called.expression.names:
        return called.expression.names[0]
    return _path(node.func).rpartition(".")[2]


def _path(node: ast.expr) -> str:
    """The names behind one another that something is called by: `chat.completions.create`."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        names.append(node.id)
    return ".".join(reversed(names))


def _is_super(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "super"
