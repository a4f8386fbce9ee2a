"""A clock that is finer than a day shown as a date, where a format says what it shows."""

from __future__ import annotations

import ast
import re
from string import Formatter

from prefixlab.template_rewriting.edits import Edit, Refused
from prefixlab.template_rewriting.jinja_statements import statement, tokens_from
from prefixlab.template_rewriting.python_nodes import PythonNodes

_PIECE = re.compile(r"%[-_0^#]?[A-Za-z%]|[^%]+")
_OF_DAYS = frozenset("YymdbBaAjUWuwGVeDFxhC")
_OF_TIMES = frozenset("HIMSfpXTRrklLPsN")
_OF_ZONES = frozenset("zZ")
_BETWEEN = re.compile(r"(?:[\s,.:\-/|()\[\]T]| at |Z\b|UTC|GMT)*")


def of_days(form: str) -> str:
    """A format of a time without what is finer than a day.

    Raises:
        Refused: it shows no day, or its times stand among other words.
    """
    pieces = _PIECE.findall(form)
    kinds = [_kind(piece) for piece in pieces]
    if "".join(pieces) != form or "?" in kinds:
        raise Refused("its format has directives that are not known")
    times = [at for at, kind in enumerate(kinds) if kind == "time"]
    days = [at for at, kind in enumerate(kinds) if kind == "day"]
    if not times:
        raise Refused("its format has nothing finer than a day")
    if not days:
        raise Refused("its format shows no day, so that nothing would be left")
    if times[0] > days[-1]:
        kept, dropped = slice(0, days[-1] + 1), pieces[days[-1] + 1 :]
    elif times[-1] < days[0]:
        kept, dropped = slice(days[0], len(pieces)), pieces[: days[0]]
    else:
        raise Refused("its format has times between days")
    if any(not _BETWEEN.fullmatch(piece) for piece in dropped if not piece.startswith("%")):
        raise Refused("its format has words between the times")
    return "".join(pieces[kept])


def _kind(piece: str) -> str:
    if not piece.startswith("%") or piece == "%%":
        return "text"
    last = piece[-1]
    return "day" if last in _OF_DAYS else "time" if last in _OF_TIMES | _OF_ZONES else "?"


def in_python(text: str, offset: int) -> list[Edit]:
    """The clock at an offset shows the day: the format of its `strftime`, or of the f-string that it stands in.

    Raises:
        Refused: its format is not in sight, or cannot be cut.
    """
    nodes = PythonNodes(text)
    for node in nodes.at(offset):
        if isinstance(node, ast.Call):
            argument = next((one for one in ast.walk(node) if _is_format(one, nodes)), None)
            if isinstance(argument, ast.Constant):
                return _cut(nodes, argument, nodes.start(argument), nodes.end(argument))
        parent = nodes.parents.get(id(node))
        if isinstance(parent, ast.FormattedValue) and isinstance(node, ast.expr):
            spec = parent.format_spec
            if isinstance(spec, ast.JoinedStr) and len(spec.values) == 1 and isinstance(spec.values[0], ast.Constant):
                start = nodes.end(node)
                return _cut(nodes, spec.values[0], start, start + 1 + len(str(spec.values[0].value)))
        if (
            isinstance(parent, ast.Call)
            and isinstance(node, ast.expr)
            and (edits := _in_format_call(nodes, parent, node))
        ):
            return edits
    raise Refused("its format is not in sight")


def _in_format_call(nodes: PythonNodes, call: ast.Call, clock: ast.expr) -> list[Edit]:
    """The format of the one field of `"{:%H:%M}".format(clock)`; nothing where it is no such call."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != "format" or call.args != [clock] or call.keywords:
        return []
    constant = function.value
    if not isinstance(constant, ast.Constant) or not isinstance(constant.value, str):
        return []
    try:
        fields = [spec for _, name, spec, _ in Formatter().parse(constant.value) if name is not None]
    except ValueError:
        return []
    if len(fields) != 1 or "%" not in (form := fields[0] or ""):
        return []
    cut, whole = of_days(form), constant.value
    at = nodes.text.find(form, nodes.start(constant), nodes.end(constant))
    if at < 0 or whole.count(form) != 1:
        raise Refused("its format is not written out")

    def change() -> None:
        constant.value = whole.replace(form, cut)

    return nodes.proved([Edit(at, at + len(form), cut)], change)


def _is_format(node: ast.AST, nodes: PythonNodes) -> bool:
    """Whether a node is a text that `strftime` is given."""
    call = nodes.parents.get(id(node))
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not isinstance(call, ast.Call):
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else nodes.called(call).rpartition(".")[2]
    return name == "strftime" and node in call.args


def _cut(nodes: PythonNodes, constant: ast.Constant, start: int, end: int) -> list[Edit]:
    form = str(constant.value)
    at = nodes.text.find(form, start, end)
    if at < 0:
        raise Refused("its format is not written out")
    cut = of_days(form)

    def change() -> None:
        constant.value = cut

    return nodes.proved([Edit(at, at + len(form), cut)], change)


def in_jinja(text: str, offset: int) -> list[Edit]:
    """The clock of the statement at an offset shows the day: the texts among its arguments that are formats.

    Raises:
        Refused: its format is not in sight, or cannot be cut.
    """
    edits = []
    for token in statement(tokens_from(text, offset)):
        if token.kind == "string" and "%" in token.text:
            edits.append(Edit(token.start + 1, token.end - 1, of_days(token.text[1:-1])))
    if not edits:
        raise Refused("its format is not in sight")
    return edits
