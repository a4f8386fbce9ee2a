"""JSON with its keys sorted: `json.dumps(value, sort_keys=True)`, and Jinja2's `tojson` as it is by itself."""

from __future__ import annotations

import ast

from prefixlab.template_rewriting.edits import Edit, Refused
from prefixlab.template_rewriting.jinja_statements import closing, statement, tokens_from
from prefixlab.template_rewriting.python_nodes import PythonNodes

_KNOWN = ("json.dumps", "simplejson.dumps", "ujson.dumps")


def in_python(text: str, offset: int) -> list[Edit]:
    """The call of `json.dumps` at an offset sorts the keys.

    Raises:
        Refused: there is none, or what it is given is not in sight.
    """
    nodes = PythonNodes(text)
    call = next((one for one in nodes.at(offset) if isinstance(one, ast.Call) and nodes.called(one) in _KNOWN), None)
    if call is None:
        raise Refused("only json.dumps has sort_keys")
    if any(keyword.arg is None for keyword in call.keywords):
        raise Refused("its options come from elsewhere")
    sorted_keys = ast.Constant(True)
    said = next((keyword for keyword in call.keywords if keyword.arg == "sort_keys"), None)
    if said is not None:
        if not isinstance(said.value, ast.Constant):
            raise Refused("sort_keys is decided elsewhere")
        edit = Edit(nodes.start(said.value), nodes.end(said.value), "True")

        def change() -> None:
            said.value = sorted_keys

        return nodes.proved([edit], change)
    bracket = nodes.end(call) - 1
    inside = text[:bracket].rstrip()
    given = [*call.args, *[keyword.value for keyword in call.keywords]]
    last = max(map(nodes.end, given), default=bracket)
    if "#" in text[last:bracket]:
        # A comment stands behind the last argument: what is written there would be part of it.
        inside = text[:last]
    comma = "" if inside.endswith(",") else ", "
    added = f"{comma}sort_keys=True" if comma else " sort_keys=True,"

    def add() -> None:
        call.keywords.append(ast.keyword("sort_keys", sorted_keys))

    return nodes.proved([Edit(len(inside), len(inside), added)], add)


def in_jinja(text: str, offset: int) -> list[Edit]:
    """The filters `tojson` of the statement at an offset are not told to leave the keys as they came.

    Raises:
        Refused: none is.
    """
    tokens = statement(tokens_from(text, offset))
    edits = []
    for at, token in enumerate(tokens):
        if (token.kind, token.text) != ("name", "tojson") or [one.text for one in tokens[at + 1 : at + 2]] != ["("]:
            continue
        end = closing(tokens, at + 1)
        depth = 0
        for number in range(at + 1, end):
            depth += tokens[number].text in ("(", "[", "{")
            depth -= tokens[number].text in (")", "]", "}")
            said = [one.text for one in tokens[number : number + 3]]
            if depth != 1 or said[:2] != ["sort_keys", "="] or said[2].lower() not in ("false", "none", "0"):
                continue
            before, behind = tokens[number - 1], tokens[number + 3]
            if before.text == "(" and behind.text == ")":
                edits.append(Edit(before.start, behind.end, ""))
            elif behind.text == ",":
                edits.append(Edit(tokens[number].start, tokens[number + 4].start, ""))
            elif before.text == "," and behind.text == ")":
                edits.append(Edit(before.start, tokens[number + 2].end, ""))
    if not edits:
        raise Refused("it is not tojson(sort_keys=false)")
    return edits
