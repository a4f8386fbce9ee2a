"""What the dot, variables and known values stand for at a place of a Go template, and what conditions that tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prefixlab.dialects.go_tokens import Word, is_text, text_of
from prefixlab.prompt_templates import Expression, Part, Text


class Given(NamedTuple):
    """What is known of the values that a template is rendered with, by the names of the fields."""

    values: Mapping[str, tuple[Part, ...]] = {}
    """What they are; nothing where they are empty."""
    items: Mapping[str, Sequence[Mapping[str, tuple[Part, ...]]]] = {}
    """Lists with the fields of their first items; others follow."""
    present: frozenset[str] = frozenset()
    """Those that are not empty, whatever they are."""


class Variable(NamedTuple):
    """What a variable of the template holds."""

    expression: Expression
    name: str = ""
    """Of the field that it is."""
    truth: bool | None = None


class Scope(NamedTuple):
    """What names stand for."""

    given: Given
    dot: str = ""
    known: Mapping[str, Variable] = {}
    in_first_items: frozenset[str] = frozenset()
    """The lists that are gone through here, in the items that are known."""

    def field(self, word: Word) -> str:
        """The field that a word reads, from the root; empty where that is not known."""
        text = word.text
        if text.startswith("."):
            return ".".join([one for one in (self.dot, text[1:]) if one]) or "."
        if not text.startswith("$"):
            return ""
        root, _, rest = text.partition(".")
        if root == "$":
            return rest or "."
        found = self.known.get(root)
        if found is None or not found.name:
            return ""
        return f"{found.name}.{rest}" if rest else found.name

    def value(self, words: Sequence[Word]) -> tuple[Part, ...] | None:
        """The parts that a field alone is known to be."""
        return self.given.values.get(self.field(words[0])) if len(words) == 1 else None

    def truth(self, words: Sequence[Word]) -> bool | None:
        """Whether a condition holds; None where that is not known."""
        operands = _operands(words)
        if not operands:
            return None
        if len(operands) == 1:
            return self._truth_of_one(operands[0])
        function, arguments = operands[0], operands[1:]
        name = function[0].text if len(function) == 1 else ""
        if name in ("and", "or"):
            truths = [self.truth(one) for one in arguments]
            if (name == "or") in truths:
                return name == "or"
            return None if None in truths else name == "and"
        if name == "not" and len(arguments) == 1:
            truth = self.truth(arguments[0])
            return None if truth is None else not truth
        if name in ("eq", "ne"):
            is_equal = self._is_equal(arguments)
            return is_equal if is_equal is None or name == "eq" else not is_equal
        return None

    def _truth_of_one(self, operand: Sequence[Word]) -> bool | None:
        if len(operand) > 1:
            return self.truth(operand)
        word = operand[0]
        if is_text(word):
            return bool(text_of(word))
        if word.text in ("true", "false"):
            return word.text == "true"
        if word.text in self.known and not self.known[word.text].name:
            return self.known[word.text].truth
        name = self.field(word)
        if name in self.given.values:
            return bool(self.given.values[name])
        return True if name in self.given.items or name in self.given.present else None

    def _is_equal(self, arguments: Sequence[Sequence[Word]]) -> bool | None:
        if len(arguments) == 2 and self._is_rest(arguments[0]) and [one.text for one in arguments[1]] == ["1"]:
            # Whether this is the last item; others follow.
            return False
        texts = [self._text(one) for one in arguments]
        if None in texts or len(texts) < 2:
            return None
        return texts[0] in texts[1:]

    def _is_rest(self, operand: Sequence[Word]) -> bool:
        """Whether it is how many items there are from this one on: `len (slice $.Messages $i)`."""
        words = [one.text for one in operand if one.text not in ("(", ")")]
        return words[:2] == ["len", "slice"] and any(self.field(one) in self.in_first_items for one in operand)

    def _text(self, operand: Sequence[Word]) -> str | None:
        if len(operand) == 1 and is_text(operand[0]):
            return text_of(operand[0])
        parts = self.value(operand)
        if parts is None or not all(isinstance(part, Text) for part in parts):
            return None
        return "".join([part.text for part in parts if isinstance(part, Text)])


def _operands(words: Sequence[Word]) -> list[Sequence[Word]]:
    """The words of a command, those in parentheses together; none of a pipeline, or of a field of what is in them."""
    found: list[Sequence[Word]] = []
    depth = start = 0
    for at, word in enumerate(words):
        if word.text == "(":
            start = start if depth else at + 1
            depth += 1
        elif word.text == ")":
            depth -= 1
            if not depth:
                found.append(words[start:at])
        elif not depth:
            is_of_parentheses = at and words[at - 1].text == ")" and words[at - 1].end == word.start
            if word.text == "|" or is_of_parentheses:
                return []
            found.append(words[at : at + 1])
    return [one for one in found if one]
