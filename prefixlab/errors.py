"""The one kind of failure a person sees: what is wrong, where, and what to do about it."""

from __future__ import annotations

import sys


class PrefixlabError(Exception):
    """A mistake in the input or the call, said as `path:line:column: what is wrong. What to do.`

    The command line prints `str(error)` on one line and exits with status 2.
    """

    def __init__(
        self,
        what: str,
        todo: str = "",
        *,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.what = what.rstrip(".")
        self.todo = todo.rstrip(".")
        self.path = path
        self.line = line
        self.column = column
        """In characters, from 1; None where the line is all that is known."""
        super().__init__(str(self))

    def __str__(self) -> str:
        where = ":".join([str(part) for part in (self.path, self.line, self.column) if part is not None])
        said = ". ".join(part for part in (self.what, self.todo) if part) + "."
        said = " ".join(said.split())
        return f"{where}: {said}" if where else said


class BadRecord(PrefixlabError):
    """One record that cannot be used. `--skip-bad` counts it and goes on; without it the run stops."""


class MissingValue(PrefixlabError):
    """Values that lack a variable or a function, which goes by `name`, without which a template cannot be rendered."""

    def __init__(self, name: str, what: str, todo: str, *, path: str | None = None, line: int | None = None) -> None:
        super().__init__(what, todo, path=path, line=line)
        self.name = name


class MissingExtra(PrefixlabError):
    """A capability whose optional dependency is not installed."""

    def __init__(self, wants: str, extra: str) -> None:
        super().__init__(f"{wants} needs an optional dependency", f"Install it with: pip install 'prefixlab[{extra}]'")
        self.extra = extra


def complain(message: str) -> None:
    """Say on standard error what is wrong: one line, whatever the message quotes."""
    line = "".join(character if character.isprintable() else repr(character)[1:-1] for character in message)
    sys.stderr.write(f"prefixlab: {line}\n".encode("utf-8", "backslashreplace").decode())
