"""Python source with the offsets of its nodes, and the proof that an edit did what was meant."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import accumulate

from prefixlab.template_rewriting.edits import Edit, Refused, applied


class PythonNodes:
    """The nodes of a module."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self.tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            raise Refused("the file is not Python") from None
        # As the parser counts: line breaks of three kinds, columns in bytes of UTF-8.
        self._lines = text.replace("\r\n", "\n\0").replace("\r", "\n").replace("\n\0", "\r\n").split("\n")
        lengths = [len(line) + 1 for line in self._lines]
        self._starts = [0, *accumulate(lengths)]
        self.parents = {id(child): node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self.imported = _imported(self.tree)

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode(errors="ignore"))

    def at(self, offset: int) -> list[ast.expr | ast.stmt | ast.comprehension]:
        """The nodes that begin at an offset, outermost first."""
        return [
            node for node in ast.walk(self.tree) if isinstance(node, ast.expr | ast.stmt) and self.start(node) == offset
        ]

    def called(self, call: ast.expr) -> str:
        """The full name of what a call calls, after the module's imports; empty where it is none."""
        if not isinstance(call, ast.Call):
            return ""
        names: list[str] = []
        node = call.func
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self.imported.get(node.id, node.id), *reversed(names)])

    def binds(self, name: str) -> bool:
        """Whether the module gives a name of Python's own another meaning."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
                return True
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
                return True
            if isinstance(node, ast.arg) and node.arg == name:
                return True
        return name in self.imported

    def proved(self, edits: Sequence[Edit], change: Callable[[], None]) -> list[Edit]:
        """The edits, if the text with them is the tree with `change`.

        Raises:
            Refused: it is another, as where an expression is in brackets or a comment stands in it.
        """
        change()
        try:
            made = ast.parse(applied(self.text, edits))
        except (SyntaxError, ValueError):
            made = ast.parse("")
        if ast.dump(made) != ast.dump(self.tree):
            raise Refused("it is written in a form that is not rewritten")
        return list(edits)


def _imported(tree: ast.Module) -> dict[str, str]:
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                found[one.asname or one.name.partition(".")[0]] = one.name if one.asname else one.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for one in node.names:
                found[one.asname or one.name] = f"{node.module}.{one.name}"
    return found
