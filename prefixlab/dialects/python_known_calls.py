"""What builtins and the standard library give, as far as prompts are made of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from prefixlab.dialects.python_arguments import Call
from prefixlab.dialects.python_facts import constant, facts, gone_over, inside, origin, parts_of, placed, union
from prefixlab.dialects.python_literals import Piece, Spot
from prefixlab.dialects.python_schemas import is_schema
from prefixlab.dialects.python_texts import dedented
from prefixlab.dialects.python_values import (
    MOST_INSIDE,
    NONE,
    Alternatives,
    Dictionary,
    Imported,
    Items,
    Opaque,
    Plain,
    Repeated,
    Spread,
    TextPart,
    TextValue,
    Value,
    constant_text,
    text_of,
)
from prefixlab.prompt_templates import Expression, Order

MOST_ITEMS = 200
"""Items of a constant list that is gone over one by one."""

ORDERS: dict[str, Order] = {
    "random.sample": "random",
    "random.shuffle": "random",
    "random.choices": "random",
    "os.listdir": "directory",
    "os.scandir": "directory",
    "os.walk": "directory",
    "glob.glob": "directory",
    "glob.iglob": "directory",
    "iterdir": "directory",
    "glob": "directory",
    "rglob": "directory",
}
"""Calls whose result has no fixed order; methods by their bare names."""

_IDENTITY = frozenset(
    [
        "list",
        "tuple",
        "iter",
        "reversed",
        "typing.cast",
        "copy.copy",
        "copy.deepcopy",
        "collections.deque",
        "html.unescape",
        "markupsafe.Markup",
        "dict",
        "collections.OrderedDict",
        "types.MappingProxyType",
    ]
)


def known_call(call: Call) -> Value | None:
    """What a builtin or a function of the standard library gives; None where nothing is known of it."""
    found = _KNOWN.get(call.name)
    if found is not None:
        return found(call)
    if call.name in _IDENTITY and call.positional and not (call.named and call.positional[1:]):
        value = call.positional[-1] if call.name == "typing.cast" else call.positional[0]
        if call.name in ("dict", "collections.OrderedDict") and call.named and isinstance(value, Dictionary):
            return Dictionary((*value.entries, *call.named.items()), value.at)
        if isinstance(value, Items) and call.name == "reversed":
            return Items(value.items[::-1], value.kind)
        return value
    return None


def opaque(call: Call, *inner: Value, order: Order | None = None) -> Opaque:
    """A call of which only is known what it reads."""
    at, source = placed(inner, call.at, call.source)
    expression = union(source, [Expression("", calls=(call.name,)), *map(facts, inner)])
    if order is not None:
        expression = expression._replace(orders=tuple(dict.fromkeys([*expression.orders, order])))
    return Opaque(expression, at)


def _text(call: Call) -> Value:
    if not call.positional:
        return TextValue(())
    spec = constant_text(call.argument(1)) if call.name == "format" else ""
    conversion = "r" if call.name in ("repr", "ascii") else ""
    return TextValue(parts_of(call.positional[0], call.at, call.source, conversion, spec or ""))


def _sorted(call: Call) -> Value:
    if not call.positional:
        return NONE
    value = call.positional[0]
    key = call.argument(-1, "key")
    if isinstance(value, Items) and key is None:
        try:
            order = sorted(range(len(value.items)), key=lambda number: constant(value.items[number]))
        except (TypeError, ValueError):
            return _in_order(value)
        descending = call.named.get("reverse") == Plain(True)
        return Items(tuple([value.items[number] for number in (order[::-1] if descending else order)]))
    if isinstance(value, Dictionary):
        return _sorted(call._replace(positional=(Items(tuple(_keys(value, call))),)))
    return _in_order(value)


def _in_order(value: Value) -> Value:
    """Items as they are once they are sorted: it does not matter which order they came in."""
    if isinstance(value, Items):
        return Items(tuple([_item_in_order(one) for one in value.items]))
    if isinstance(value, Opaque):
        return Opaque(value.expression._replace(orders=()), value.at, None, value.is_plain)
    return value


def _item_in_order(item: Value) -> Value:
    if isinstance(item, Spread):
        return Spread(_in_order(item.value))
    if isinstance(item, Repeated):
        return Repeated(item.over._replace(orders=()), item.at, tuple([_item_in_order(one) for one in item.items]))
    if isinstance(item, Alternatives) and item.is_items:
        return Alternatives(item.condition, item.at, tuple([_in_order(arm) for arm in item.arms]), is_items=True)
    return item


def _keys(value: Dictionary, call: Call) -> list[Value]:
    return [text_of(key, value.at or call.at) if key is not None else Spread(item) for key, item in value.entries]


def _set(call: Call) -> Value:
    if not call.positional:
        return Items((), "set")
    value = call.positional[0]
    if isinstance(value, Items):
        return Items(value.items, "set")
    written = origin(value)
    expression = facts(value)._replace(orders=())
    if written is None:
        expression = expression._replace(source=call.source)
    return Opaque(expression, written or call.at, "set", _is_plain(value))


def _is_plain(value: Value) -> bool:
    return isinstance(value, Opaque) and value.is_plain


def _dict(call: Call) -> Value:
    if call.positional:
        value = call.positional[0]
        if isinstance(value, Dictionary):
            return Dictionary((*value.entries, *call.named.items()), value.at)
        if isinstance(value, Items) and all([isinstance(one, Items) and len(one.items) == 2 for one in value.items]):
            pairs = [one.items for one in value.items if isinstance(one, Items)]
            return Dictionary(tuple([(constant_text(pair[0]) or "", pair[1]) for pair in pairs]), call.at)
        return value
    return Dictionary(tuple(call.named.items()), call.at)


def _enumerate(call: Call) -> Value:
    value = call.argument(0)
    start = call.argument(1, "start")
    first = start.value if isinstance(start, Plain) and isinstance(start.value, int) else 0
    if isinstance(value, Items) and not any(isinstance(one, Spread | Repeated) for one in value.items):
        pairs = [Items((Plain(first + number), one), "tuple") for number, one in enumerate(value.items)]
        return Items(tuple(pairs), value.kind)
    return value or NONE


def _zip(call: Call) -> Value:
    lists = [value for value in call.positional if isinstance(value, Items) and not value.is_unordered]
    if len(lists) == len(call.positional) and lists:
        return Items(tuple([Items(tuple(one), "tuple") for one in zip(*[value.items for value in lists])]))
    return _handed_on(call)


def _handed_on(call: Call) -> Value:
    """Items of others in the order that they have there."""
    orders = [order for value in call.positional for order in gone_over(value).orders]
    return opaque(call, *call.positional, order=orders[0] if orders else None)


def _range(call: Call) -> Value:
    limits = [value.value if isinstance(value, Plain) else None for value in call.positional]
    if limits and all([isinstance(one, int) and abs(one) <= 100_000 for one in limits]):
        try:
            numbers = range(*[int(one or 0) for one in limits[:3]])
        except ValueError:
            return NONE
        if len(numbers) <= MOST_ITEMS:
            return Items(tuple([Plain(one) for one in numbers]))
    return opaque(call, *call.positional)


def _map(call: Call) -> Value:
    if len(call.positional) < 2:
        return NONE
    function, value = call.positional[:2]
    if function in (Imported("str"), Imported("repr")):
        return value
    return mapped(call, function, value)


def mapped(call: Call, function: Value, value: Value) -> Value:
    """What a function makes of each item."""
    if isinstance(value, Items) and len(value.items) <= MOST_ITEMS:
        return Items(tuple([call.run(function, [one]) for one in value.items]), value.kind)
    over = gone_over(value)
    item = Opaque(over._replace(orders=()), origin(value) or call.at, None, _is_plain(value))
    at = origin(value) if over.calls or over.orders else None
    return Items((Repeated(over, at or call.at, (call.run(function, [item]),)),))


def _length(call: Call) -> Value:
    value = call.argument(0)
    if isinstance(value, Items) and not any(isinstance(one, Spread | Repeated | Alternatives) for one in value.items):
        return Plain(len(value.items))
    text = constant_text(value)
    return Plain(len(text)) if text is not None else opaque(call, *call.positional)


def _dedent(call: Call) -> Value:
    value = call.argument(0, "text", "doc")
    name = call.name.rpartition(".")[2]
    return dedented(value, name) if isinstance(value, TextValue) else value or NONE


def _filter(call: Call) -> Value:
    """Items that pass a test; of `filter(None, ...)` those that are not known to be empty."""
    test, value = call.argument(0), call.argument(1)
    if not isinstance(value, Items) or test not in (NONE, Imported("bool")):
        return _handed_on(call)
    empty = (NONE, Plain(False), TextValue(()))
    return Items(tuple([one for one in value.items if one not in empty]), value.kind)


_HOLE = "\ue001"


def _json(call: Call) -> Value:
    """`json.dumps`; of what the module writes out itself the very text, with holes in it."""
    value = call.argument(0, "obj")
    if value is None:
        return NONE
    sorted_keys = call.named.get("sort_keys")
    is_sorted = (isinstance(sorted_keys, Plain) and bool(sorted_keys.value)) or is_schema(value)
    if isinstance(value, Opaque) or (isinstance(value, Items) and not isinstance(value, Dictionary)):
        has_other = isinstance(value, Opaque) or any(isinstance(one, Opaque | Spread) for one in value.items)
        if has_other:
            made = opaque(call, value, order=None if is_sorted else "json")
            if is_sorted:
                made = Opaque(made.expression, made.at)
            return TextValue(parts_of(made, call.at, call.source), value)
    holes: list[Value] = []
    try:
        options = {
            name: constant(call.named[name])
            for name in ("indent", "separators", "ensure_ascii", "sort_keys")
            if name in call.named
        }
        if isinstance(options.get("indent"), int) and options["indent"] > 20:
            raise ValueError
        if sum(1 for _ in inside(value)) >= MOST_INSIDE:
            raise ValueError
        text = json.dumps(_skeleton(value, holes), **options)
    except (TypeError, ValueError, RecursionError):
        made = opaque(call, value, order=None if is_sorted else "json")
        return TextValue(parts_of(made, call.at, call.source), value)
    mark = json.dumps(_HOLE, ensure_ascii=bool(options.get("ensure_ascii", True)))
    parts: list[TextPart] = []
    # With sorted keys the holes are no longer in the order in which they were met.
    pieces = text.split(mark[:-1])
    for number, piece in enumerate(pieces):
        rest = piece
        if number:
            index, _, rest = piece.partition('"')
            item = holes[int(index)]
            parts += parts_of(
                Opaque(facts(item), origin(item) or call.at, None, _is_plain(item)), call.at, call.source, "json"
            )
        if rest:
            parts.append(Piece(rest, Spot(call.at)))
    return TextValue(tuple(parts), value)


def _skeleton(value: Value, holes: list[Value], depth: int = 0) -> Any:
    if len(holes) > MOST_ITEMS * 10 or depth > 20:
        raise ValueError
    if isinstance(value, Dictionary) and all([name is not None for name, _ in value.entries]):
        return {name: _skeleton(item, holes, depth + 1) for name, item in value.entries}
    if (
        isinstance(value, Items)
        and value.kind != "set"
        and not any(isinstance(one, Spread | Repeated | Alternatives) for one in value.items)
    ):
        return [_skeleton(item, holes, depth + 1) for item in value.items]
    if isinstance(value, Plain):
        return value.value
    text = constant_text(value)
    if text is not None:
        return text
    if isinstance(value, Opaque | TextValue):
        holes.append(value)
        return f"{_HOLE}{len(holes) - 1}"
    raise ValueError


def _next(call: Call) -> Value:
    value = call.argument(0)
    if isinstance(value, Items) and value.items and not isinstance(value.items[0], Spread | Repeated | Alternatives):
        return value.items[0]
    return opaque(call, *call.positional)


def _shuffled(call: Call) -> Value:
    return opaque(call, *call.positional, order=ORDERS.get(call.name))


_KNOWN: dict[str, Callable[[Call], Value | None]] = {
    "str": _text,
    "repr": _text,
    "format": _text,
    "sorted": _sorted,
    "set": _set,
    "frozenset": _set,
    "dict": _dict,
    "enumerate": _enumerate,
    "zip": _zip,
    "filter": _filter,
    "io.StringIO": lambda call: None if call.positional else Items(()),
    "dict.fromkeys": _handed_on,
    "itertools.chain": _handed_on,
    "itertools.islice": _handed_on,
    "range": _range,
    "map": _map,
    "len": _length,
    "next": _next,
    "textwrap.dedent": _dedent,
    "inspect.cleandoc": _dedent,
    "json.dumps": _json,
    "orjson.dumps": _json,
    "ujson.dumps": _json,
    "simplejson.dumps": _json,
    "random.sample": _shuffled,
    "random.choices": _shuffled,
    "os.listdir": _shuffled,
    "os.scandir": _shuffled,
    "glob.glob": _shuffled,
    "glob.iglob": _shuffled,
}


def mapping_method(value: Dictionary, name: str, call: Call) -> Value | None:
    """What a method of a mapping gives."""
    if name == "get" and call.positional:
        key = constant_text(call.positional[0])
        if key is not None:
            return value.get(key) or (call.positional[1] if len(call.positional) > 1 else NONE)
        return None
    if name == "copy":
        return value
    if name in ("keys", "values", "items") and all([key is not None for key, _ in value.entries]):
        keys = _keys(value, call)
        values = [item for _, item in value.entries]
        if name == "items":
            return Items(tuple([Items(pair, "tuple") for pair in zip(keys, values)]))
        return Items(tuple(keys if name == "keys" else values))
    return None
