"""Go's text/template read into parts. Follows Go 1.23. It is not rendered."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from prefixlab.dialects.embedded import DEEPEST, MOST_PARTS, TextTemplate, too_deep, too_large
from prefixlab.dialects.go_scopes import Given, Scope, Variable
from prefixlab.dialects.go_tokens import NotGo, Word, is_text, text_of, words_of
from prefixlab.dialects.source_text import SourceText, entered
from prefixlab.dialects.time_formats import of_go
from prefixlab.prompt_templates import Choice, Expression, Hole, Loop, Part, Place, Text
from prefixlab.template_files import BadTemplate

_OWN = frozenset(
    (
        *("and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len", "index", "slice", "call"),
        *("printf", "print", "println", "html", "js", "urlquery", "true", "false", "nil"),
    )
)
_KEYWORDS = frozenset(("if", "range", "with", "define", "block", "template", "else", "end", "break", "continue"))


@dataclass(slots=True)
class _Action:
    """A text (no words and no keyword), an output, or a block with its arms."""

    start: int
    words: list[Word] = field(default_factory=list)
    keyword: str = ""
    end: int = 0
    arms: list[_Arm] = field(default_factory=list)


class _Arm(NamedTuple):
    """The words behind `if` or `else if`, none of a plain `else`; and what is rendered."""

    keyword: str
    words: list[Word]
    start: int
    body: list[_Action]


def go_text(source: SourceText) -> TextTemplate:
    """A text of Go's templates.

    Raises:
        BadTemplate: it is none.
    """
    return TextTemplate(GoTemplate(source).parts(), None)


class GoTemplate:
    """A text of Go's templates, to be read into parts with what is known of its values."""

    def __init__(self, source: SourceText, functions: Collection[str] | None = None) -> None:
        """Of a template whose program adds nothing but `functions` to Go's own, every other one is a fault.

        Raises:
            BadTemplate: it is none.
        """
        self._source = source
        self._tree = _Tree(source, functions)
        try:
            self._root = self._tree.read()
        except NotGo as error:
            raise self._bad(error) from None

    def _bad(self, error: NotGo) -> BadTemplate:
        place = self._source.place(min(error.at, len(self._source.text)))
        return BadTemplate.at(place, f"is not a Go template: {error}", "Correct it")

    @property
    def fields(self) -> Collection[str]:
        """Every name of a field that is read anywhere in it."""
        return self._tree.fields

    def parts(self, given: Given | None = None) -> tuple[Part, ...]:
        """The parts, for values of which that is known.

        Raises:
            BadTemplate: it calls what is not there.
        """
        try:
            reading = _Reading(self._source, self._tree.defined)
            return tuple(reading.parts(self._root, Scope(given or Given()), 0))
        except NotGo as error:
            raise self._bad(error) from None


class _Tree:
    def __init__(self, source: SourceText, functions: Collection[str] | None) -> None:
        self._source = source
        self._functions = None if functions is None else {*functions, *_OWN}
        self.defined: dict[str, list[_Action]] = {}
        self.fields: set[str] = set()

    def read(self) -> list[_Action]:
        text = self._source.text
        root: list[_Action] = []
        open_blocks: list[_Action] = []
        at = 0
        trims = False
        while True:
            body = open_blocks[-1].arms[-1].body if open_blocks else root
            start = text.find("{{", at)
            kept = len(text) if start < 0 else start
            begin = at
            while trims and begin < kept and text[begin] in " \t\r\n":
                begin += 1
            trims_before = (start >= 0 and text.startswith("{{- ", start)) or text[start : start + 4] in (
                "{{-\n",
                "{{-\t",
            )
            while trims_before and kept > begin and text[kept - 1] in " \t\r\n":
                kept -= 1
            if kept > begin:
                body.append(_Action(begin, end=kept))
            if start < 0:
                break
            inner = start + 2 + (2 if trims_before else 0)
            words, end = words_of(text, inner, start)
            trims = text[end - 2 : end] in (" -", "\n-", "\t-")
            at = end + 2
            if words:
                self._action(words, start, body, open_blocks)
        if open_blocks:
            raise NotGo(f"the block {open_blocks[-1].keyword!r} is never ended", open_blocks[-1].start)
        return root

    def _action(self, words: list[Word], start: int, body: list[_Action], open_blocks: list[_Action]) -> None:
        first = words[0].text
        for at, word in enumerate(words):
            name, *fields = word.text.split(".") if not is_text(word) else ("",)
            self.fields.update(fields)
            if self._functions is None or not (name[:1].isalpha() or name[:1] == "_"):
                continue
            if name not in self._functions and not (at < 2 and name in _KEYWORDS):
                raise NotGo(f'function "{name}" not defined', word.start)
        if first not in _KEYWORDS:
            body.append(_Action(start, words))
        elif first in ("if", "range", "with", "define", "block"):
            if len(open_blocks) >= DEEPEST:
                raise too_deep(self._source.place(start))
            action = _Action(start, words[1:], first, arms=[_Arm(first, words[1:], start, [])])
            if first in ("define", "block"):
                if len(words) < 2 or not is_text(words[1]):
                    raise NotGo(f"{first} has no name", start)
                self.defined.setdefault(text_of(words[1]), action.arms[0].body)
            if first != "define":
                body.append(action)
            open_blocks.append(action)
        elif first == "template":
            if len(words) < 2 or not is_text(words[1]):
                raise NotGo("template has no name", start)
            body.append(_Action(start, words[1:], "template"))
        elif first == "else":
            if not open_blocks:
                raise NotGo("else stands in no block", start)
            keyword = words[1].text if len(words) > 1 else ""
            open_blocks[-1].arms.append(_Arm(keyword, words[2:], start, []))
        elif first == "end":
            if not open_blocks:
                raise NotGo("end ends nothing", start)
            open_blocks.pop()
        else:
            body.append(_Action(start, keyword=first))


class _Reading:
    def __init__(self, source: SourceText, defined: Mapping[str, list[_Action]]) -> None:
        self._source = source
        self._defined = defined
        self._made = 0
        self._leaves = False
        """Whether `break` or `continue` was met, so that nothing behind it is rendered."""

    def parts(self, actions: Sequence[_Action], scope: Scope, depth: int) -> list[Part]:
        parts: list[Part] = []
        known = dict(scope.known)
        scope = scope._replace(known=known)
        self._made += len(actions)
        if self._made > MOST_PARTS:
            raise too_large(self._source.path)
        for action in actions:
            at = self._source.place(action.start)
            if action.end:
                parts.append(self._source.text_part(action.start, action.end))
            elif action.keyword == "template":
                parts += self._template(action, scope, depth, at)
            elif action.keyword == "block":
                words = action.words
                parts += self.parts(self._defined[text_of(words[0])], self._called(words[1:], scope), depth + 1)
            elif action.keyword in ("break", "continue"):
                self._leaves = True
            elif action.keyword:
                parts += self._block(action, scope, depth, at)
            else:
                parts += self._output(action, known, scope, at)
            if self._leaves:
                break
        return parts

    def _output(self, action: _Action, known: dict[str, Variable], scope: Scope, at: Place) -> Sequence[Part]:
        words = action.words
        if len(words) > 2 and words[0].text.startswith("$") and words[1].text in (":=", "="):
            name = scope.field(words[2]) if len(words) == 3 else ""
            known[words[0].text] = Variable(self._operand(words[2:], scope), name, scope.truth(words[2:]))
            return ()
        if len(words) == 1 and is_text(words[0]):
            text = text_of(words[0])
            return (Text(text, at),) if text else ()
        value = scope.value(words)
        return (Hole(self._operand(words, scope), at, at),) if value is None else value

    def _called(self, words: Sequence[Word], scope: Scope) -> Scope:
        """What names stand for in a template that is called with these words."""
        inner = self._operand(words, scope)
        return scope._replace(dot=inner.names[0] if inner.names else "", known={})

    def _template(self, action: _Action, scope: Scope, depth: int, at: Place) -> Sequence[Part]:
        name = text_of(action.words[0])
        if depth >= DEEPEST:
            raise BadTemplate.at(at, f"the template {name!r} calls itself", "Break the ring")
        found = self._defined.get(name)
        if found is None:
            raise BadTemplate.at(at, f"the template {name!r} is not defined", "Define it in the file")
        return entered(self.parts(found, self._called(action.words[1:], scope), depth + 1), at)

    def _block(self, action: _Action, scope: Scope, depth: int, at: Place) -> Sequence[Part]:
        """`if`, `range` and `with`, with their else; of arms only those that can be rendered."""
        arms: list[tuple[Part, ...]] = []
        conditions: list[Expression] = []
        has_last = False
        for number, arm in enumerate(action.arms):
            keyword = action.keyword if not number else arm.keyword
            inner, words = self._arm_scope(arm, keyword, scope)
            condition = self._operand(words, scope) if words else Expression("")
            truth = scope.truth(words) if words else True
            if truth is False:
                continue
            if keyword == "range":
                body = self._range(arm, words, condition, inner, depth, at)
            else:
                body = tuple(self.parts(arm.body, inner, depth))
            if truth and not arms:
                return body
            self._leaves = False
            arms.append(body)
            conditions += (condition,) if words else ()
            if truth:
                has_last = True
                break
        if len(action.arms) == 1 and action.keyword == "range":
            return arms[0] if arms else ()
        if not has_last:
            arms.append(())
        return (Choice(_union(conditions), at, tuple(arms)),) if any(arms) else ()

    def _arm_scope(self, arm: _Arm, keyword: str, scope: Scope) -> tuple[Scope, Sequence[Word]]:
        """What names stand for in an arm, and the words of its condition."""
        words: Sequence[Word] = arm.words
        names: list[str] = []
        marks = [one for one, word in enumerate(words) if word.text == ":="]
        if marks:
            names = [word.text for word in words[: marks[0]] if word.text.startswith("$")]
            words = words[marks[0] + 1 :]
        condition = self._operand(words, scope) if words else Expression("")
        field = scope.field(words[0]) if len(words) == 1 else ""
        inner = scope
        if names:
            counters = {one: Variable(Expression(one)) for one in names[:-1]}
            last = Variable(_named(condition, names[-1]), field)
            inner = inner._replace(known={**inner.known, names[-1]: last, **counters})
        if keyword in ("range", "with") and condition.names:
            inner = inner._replace(dot=condition.names[0])
        return inner, words

    def _range(
        self, arm: _Arm, words: Sequence[Word], over: Expression, inner: Scope, depth: int, at: Place
    ) -> tuple[Part, ...]:
        """The items that are known one by one, and a loop for the others."""
        field = over.names[0] if len(words) == 1 and over.names else ""
        made: list[Part] = []
        for item in inner.given.items.get(field, ()):
            values = {**inner.given.values, **{f"{field}.{name}": value for name, value in item.items()}}
            first = inner._replace(
                given=inner.given._replace(values=values), in_first_items=inner.in_first_items | {field}
            )
            made += self.parts(arm.body, first, depth)
            self._leaves = False
        body = tuple(self.parts(arm.body, inner, depth))
        self._leaves = False
        return (*made, Loop(over, at, body)) if body else tuple(made)

    def _operand(self, words: Sequence[Word], scope: Scope) -> Expression:
        source = self._source.text[words[0].start : words[-1].end] if words else ""
        if len(words) == 1 and is_text(words[0]):
            return Expression(source, value=text_of(words[0]))
        found: list[Expression] = []
        names: dict[str, None] = {}
        calls: dict[str, None] = {}
        formats: dict[str, None] = {}
        for word in words:
            text = word.text
            if is_text(word):
                form = of_go(text_of(word))
                if form and calls:
                    formats[form] = None
            elif text.startswith("$"):
                root, _, rest = text.partition(".")
                known = scope.known.get(root)
                if root == "$":
                    names[rest or "."] = None
                elif known is not None:
                    held = known.expression
                    found.append(held._replace(names=tuple([f"{one}.{rest}" if rest else one for one in held.names])))
            elif text.startswith("."):
                names[".".join([one for one in (scope.dot, text[1:]) if one]) or "."] = None
            elif (text[0].isalpha() or text[0] == "_") and text not in _OWN:
                calls[text] = None
        own = Expression(source, tuple(names), tuple(calls), tuple(formats))
        return _union([own, *found])._replace(source=source)


def _named(expression: Expression, source: str) -> Expression:
    """The same under another name."""
    return expression._replace(source=source, value=None)


def _union(expressions: Sequence[Expression]) -> Expression:
    def all_of(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys([one for each in expressions for one in getattr(each, name)]))

    source = expressions[0].source if expressions else ""
    return Expression(source, all_of("names"), all_of("calls"), all_of("formats"))
