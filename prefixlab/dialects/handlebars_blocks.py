"""What the blocks of Handlebars itself demand, and what the body of `each` tells of what it goes through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prefixlab.dialects.handlebars_nodes import BlockNode, Call, Node, Operand, PartialNode, PathTo, ValueNode
from prefixlab.prompt_templates import Place
from prefixlab.template_files import BadTemplate

_OF_ONE = ("if", "unless", "with")
_NAMES_OF_KEYS = frozenset(("key", "name", "k"))


def check_arguments(node: BlockNode, at: Place) -> None:
    """Refuses what Handlebars refuses whatever the values are.

    Raises:
        BadTemplate: a block has too few or too many arguments.
    """
    name, given = node.call.name.source, len(node.call.arguments)
    if name in _OF_ONE and given != 1:
        raise BadTemplate.at(at, f"#{name} requires exactly one argument, and has {given or 'none'}", "Correct it")
    if name == "each" and not given:
        raise BadTemplate.at(at, "#each has nothing to go through", "Name what it goes through")


def shows_keys(node: BlockNode) -> bool:
    """Whether the body of an `each` writes the keys of what it goes through, which is a mapping then."""
    names = node.parameters[1:2] if node.parameters[1:2] and node.parameters[1] in _NAMES_OF_KEYS else ()
    return any(_is_key(path, names, up) for path, up in _paths(node.body, 0))


def _is_key(path: PathTo, names: Sequence[str], up: int) -> bool:
    if path.is_data:
        return path.keys == ("key",) and path.up == up
    return path.keys in [(name,) for name in names]


def _paths(nodes: Sequence[Node], up: int) -> Iterator[tuple[PathTo, int]]:
    """All variables that are read, and how many `each` they stand in."""
    for node in nodes:
        if isinstance(node, ValueNode):
            yield from ((path, up) for path in _paths_of(node.call))
        elif isinstance(node, BlockNode | PartialNode):
            yield from ((path, up) for path in _paths_of(node.call))
            inside = up + 1 if isinstance(node, BlockNode) and node.call.name.source == "each" else up
            yield from _paths(node.body or (), inside)
            if isinstance(node, BlockNode):
                yield from _paths(node.inverse or (), up)


def _paths_of(operand: Operand) -> Iterator[PathTo]:
    if isinstance(operand, PathTo):
        yield operand
    elif isinstance(operand, Call):
        for one in (operand.name, *operand.arguments, *[value for _, value in operand.named]):
            yield from _paths_of(one)
