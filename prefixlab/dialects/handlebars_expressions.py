"""What stands between the braces of a Handlebars tag: a name, its arguments, the closing braces."""

from __future__ import annotations

from prefixlab.dialects.embedded import DEEPEST
from prefixlab.dialects.handlebars_nodes import Call, Literal, Operand, PathTo

_ENDS_NAME = frozenset(" \t\r\n=~}()|\"'`,;&^!*+<>@#%{")
_WORDS = {"true": True, "false": False, "null": None, "undefined": None}


class NotHandlebars(Exception):
    """What is wrong, and at which character."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.at = at


class TagReader:
    """Reads one tag from a place on; `at` moves on."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def blanks(self) -> None:
        """Goes over blanks."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def takes(self, mark: str) -> bool:
        """Whether a mark stands here; goes over it."""
        if self.text.startswith(mark, self.at):
            self.at += len(mark)
            return True
        return False

    def call(self, depth: int = 0) -> Call:
        """A name with its arguments."""
        self.blanks()
        start = self.at
        name = self.operand(depth)
        arguments: list[Operand] = []
        named: list[tuple[str, Operand]] = []
        while True:
            end = self.at
            self.blanks()
            here = self.text[self.at : self.at + 1]
            if not here:
                raise NotHandlebars("a tag is never closed", start)
            if here in "~})|" or self._is_as():
                return Call(self.text[start:end].strip(), name, tuple(arguments), tuple(named))
            key = self._key()
            if key:
                self.blanks()
                named.append((key, self.operand(depth)))
            elif named:
                raise NotHandlebars("an argument stands behind one with a name", self.at)
            else:
                arguments.append(self.operand(depth))

    def block_parameters(self) -> tuple[str, ...]:
        """The names in `as |item index|`."""
        self.blanks()
        if not self._is_as():
            return ()
        self.at = self.text.index("|", self.at) + 1
        end = self.text.find("|", self.at)
        if end < 0:
            raise NotHandlebars("the names of a block are not closed with |", self.at)
        names = tuple(self.text[self.at : end].split())
        self.at = end + 1
        return names

    def closes(self, braces: str, start: int) -> bool:
        """Goes over the closing braces; whether they strip what follows."""
        self.blanks()
        strips = self.takes("~") if braces != "}}}" else False
        if braces == "}}}":
            if not self.takes("}"):
                raise self._not_closed(start)
            strips = self.takes("~")
            braces = "}}"
        if not self.takes(braces):
            raise self._not_closed(start)
        return strips

    def _not_closed(self, start: int) -> NotHandlebars:
        if self.at >= len(self.text):
            return NotHandlebars("a tag is never closed", start)
        return NotHandlebars(f"{self.text[self.at]!r} cannot stand here", self.at)

    def _is_as(self) -> bool:
        if not self.text.startswith("as", self.at):
            return False
        behind = self.at + 2
        while behind < len(self.text) and self.text[behind].isspace():
            behind += 1
        return behind > self.at + 2 and self.text.startswith("|", behind)

    def _key(self) -> str:
        """The name in `name=`, which it goes over."""
        end = self._name_end()
        key = self.text[self.at : end]
        if not key or not self.text.startswith("=", end):
            return ""
        self.at = end + 1
        return key

    def _name_end(self) -> int:
        end = self.at
        while end < len(self.text) and self.text[end] not in _ENDS_NAME and self.text[end] not in "/.[":
            end += 1
        return end

    def operand(self, depth: int = 0) -> Operand:
        """A variable, a literal or a call in parentheses."""
        text, start = self.text, self.at
        here = text[start : start + 1]
        if here == "(":
            if depth > DEEPEST:
                raise NotHandlebars("calls are nested too deeply", start)
            self.at += 1
            call = self.call(depth + 1)
            self.blanks()
            if not self.takes(")"):
                raise NotHandlebars("a parenthesis is never closed", start)
            return call
        if here and here in "\"'":
            end = start + 1
            while (end := text.find(here, end)) > 0 and text[end - 1] == "\\":
                end += 1
            if end < 0:
                raise NotHandlebars("a text is never closed", start)
            self.at = end + 1
            return Literal(text[start : self.at], text[start + 1 : end].replace("\\" + here, here))
        return self._path(start)

    def _path(self, start: int) -> Operand:
        text = self.text
        is_data = self.takes("@")
        keys: list[str] = []
        up = 0
        is_scoped = False
        while True:
            if text.startswith("..", self.at) and not keys:
                self.at += 2
                up += 1
            elif text.startswith("[", self.at):
                end = text.find("]", self.at)
                if end < 0:
                    raise NotHandlebars("a bracket is never closed", self.at)
                keys.append(text[self.at + 1 : end])
                self.at = end + 1
            else:
                end = self._name_end()
                key = text[self.at : end]
                if not key and text.startswith(".", self.at) and not keys:
                    is_scoped = True
                    self.at += 1
                    if not text.startswith("/", self.at):
                        break
                elif not key:
                    what = repr(text[self.at]) if self.at < len(text) else "the end"
                    raise NotHandlebars(f"a name is missing before {what}", min(self.at, len(text)))
                elif key == "this" and not keys:
                    is_scoped = True
                    self.at = end
                else:
                    keys.append(key)
                    self.at = end
            if text[self.at : self.at + 1] in ("/", ".") and self.at < len(text):
                self.at += 1
            else:
                break
        source = text[start : self.at]
        if len(keys) <= 2 and not is_data and not up:
            if source in _WORDS:
                return Literal(source, _WORDS[source])
            number = source.lstrip("-")
            if number.replace(".", "", 1).isdecimal() and len(number) < 40:
                return Literal(source, float(source) if "." in source else int(source))
        return PathTo(source, tuple(keys), up, is_data, is_scoped)
