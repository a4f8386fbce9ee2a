"""A template laid out as a prompt: how many stable tokens stand ahead of each value, and how many behind it.

A hole is a mark in the text that goes through the chat template; what lies between the marks is counted with the
model's own tokenizer. Text in an arm or a loop is as volatile as what decides on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from prefixlab.prompt_templates import (
    PLAIN,
    Choice,
    Expression,
    History,
    Hole,
    Loop,
    Part,
    Parting,
    Place,
    PromptTemplate,
    Text,
    Turn,
    Volatility,
    walk,
)
from prefixlab.tokens_around import Around, TokensAround, volatility_from
from prefixlab.volatility.judgement import Judged
from prefixlab.volatility.judging import judged

FIRST_MARK = 0xF0000
"""Marks are characters for private use; a template that has such characters itself is taken without them."""
MOST_MARKS = 0xFFFC

_MARKS = re.compile(f"[{chr(FIRST_MARK)}-{chr(FIRST_MARK + MOST_MARKS)}]")

MOST_LAYOUTS = 64
"""Arms beside the longest ones that are laid out with what is around them."""
MOST_ITEMS = 100_000
"""Parts that are laid out in all; a template with more has fewer arms looked into."""

Rendered = Sequence[tuple[str, bool]]
"""Text of a prompt, and for each part whether it is the chat template's own."""

Layer = Callable[[Sequence[tuple[str, str]]], Rendered]
"""The chat template around messages: (role, text) in, parts of the prompt out."""

Count = Callable[[str, bool, bool], tuple[int, bool]]
"""Tokens of a text: by itself, or with a value behind it those that stay whatever it is, and whether one does not."""


class Sight(NamedTuple):
    """A part that varies, as the prompt has it."""

    part: Hole | Choice | Loop
    expression: Expression
    judged: Judged
    at: Place
    entered_at: Place
    around: Volatility
    """Of what decides whether it is there."""
    is_newest_turn: bool
    """Whether it stands in the last turn of the user."""
    tokens_before: int
    """Stable tokens ahead of it that all requests have."""
    shared_before: int
    """The same of the requests that come to it: with those of the arms that it stands in."""
    tokens_after: int
    """Stable tokens behind it that are less volatile; of a sight ahead of the last turn, those ahead of that turn."""
    inside: tuple[Loop, ...]
    """Loops it stands in."""
    merges: bool
    """Whether the last token ahead of it depends on the value."""


class Budget(NamedTuple):
    """What the project demands of a template, and the figures that are held against it."""

    min_stable_tokens: int | None
    max_stranded_tokens: int | None
    stable_tokens: int
    stranded_tokens: int


class Measured(NamedTuple):
    """A template with its figures."""

    template: PromptTemplate
    sights: tuple[Sight, ...]
    total_tokens: int
    """Stable tokens in all."""
    has_earlier_turns: bool
    stable_tokens: int
    stranded_tokens: int
    block_size: int
    min_tokens: int
    boundary_at: Sight | None = None
    """The first sight that ends what all renderings share."""
    assumed: tuple[Sight, ...] = ()
    """Sights at least a block ahead of it that would end it if they varied, which nothing tells."""
    budget: Budget | None = None
    partings: tuple[tuple[Parting, int, int], ...] = ()
    """Of a chat template: what it writes otherwise, with the tokens that are still shared and those that are not."""


class _Item(NamedTuple):
    text: str
    around: Around
    """What decides whether it is there."""
    part: Hole | Choice | Loop | None
    loops: tuple[Loop, ...]


_THERE = ("clock", "date", "id")
"""Sorts of calls that always give something."""


class Judge:
    """Judges expressions by what the project declares and values show."""

    def __init__(self, declared: Mapping[str, Volatility], distinct: Mapping[str, float]) -> None:
        self._declared = declared
        self._distinct = distinct
        self._known: dict[int, tuple[object, Judged]] = {}
        """By identity, with what has it, so that it outlives its key: hashing a choice would go through its arms."""

    def __call__(self, part: Hole | Choice | Loop) -> Judged:
        known = self._known.get(id(part))
        if known is None:
            found = judged(expression_of(part), self._declared, self._distinct)
            if isinstance(part, Choice) and part.condition.is_presence and found.by == "call" and found.sort in _THERE:
                found = found._replace(volatility=Volatility.CONSTANT, sort="setting")
            known = self._known[id(part)] = (part, found)
        return known[1]


def expression_of(part: Hole | Choice | Loop) -> Expression:
    """What a part varies with."""
    if isinstance(part, Hole):
        return part.expression
    return part.condition if isinstance(part, Choice) else part.over


def measured(
    template: PromptTemplate, judge: Judge, layer: Layer, count: Count, block_size: int, min_tokens: int = 0
) -> Measured:
    """Lay out a template and count."""
    sights: dict[int, Sight] = {}
    main: _Laid | None = None
    first: Sight | None = None
    size = sum(1 for _ in walk(template.parts)) or 1
    for chosen in islice(_choices(template.parts), max(MOST_ITEMS // size, 1)):
        laid = _Laid(template, _items(template.parts, chosen, judge), layer, count, judge)
        seen = laid.sights(sights)
        sights |= {id(sight.part): sight for sight in reversed(seen)}
        if main is None:
            main, first = laid, next((one for one in seen if ends_prefix(one)), None)
    assert main is not None
    ordered = tuple(sorted(sights.values(), key=lambda one: one.tokens_before))
    stable = main.total if first is None else first.tokens_before
    return Measured(
        template,
        ordered,
        main.total,
        main.has_earlier_turns,
        stable,
        0 if first is None else main.reachable(first) - first.tokens_before,
        block_size,
        min_tokens,
        first,
        assumed=tuple(
            [
                one
                for one in ordered
                if one.judged.is_assumed and not one.inside and one.tokens_before + block_size <= stable
            ]
        ),
        partings=tuple(
            [(one, count(one.shared, True, False)[0], count(one.lost, True, False)[0]) for one in template.partings]
        ),
    )


def ends_prefix(sight: Sight) -> bool:
    """Whether requests of one deployment differ at a sight."""
    has_order = not isinstance(sight.part, Choice) and bool({"set", "random"}.intersection(sight.expression.orders))
    return has_order or sight.judged.varies


def _choices(parts: Sequence[Part]) -> Iterator[dict[int, int]]:
    """Which arm to take at which choice: the longest everywhere first, then each other arm once."""
    yield {}
    made = 1
    for path in _arms(parts, {}):
        if made >= MOST_LAYOUTS:
            return
        made += 1
        yield path


def _arms(parts: Sequence[Part], path: dict[int, int]) -> Iterator[dict[int, int]]:
    for part in parts:
        if isinstance(part, Choice):
            longest = _longest(part)
            for number, arm in enumerate(part.arms):
                inner = path if number == longest else {**path, id(part): number}
                if number != longest and arm:
                    yield inner
                yield from _arms(arm, inner)
        elif isinstance(part, Loop):
            yield from _arms(part.body, path)


def _longest(choice: Choice) -> int:
    return max(range(len(choice.arms)), key=lambda number: (_length(choice.arms[number]), -number))


def _length(parts: Sequence[Part]) -> int:
    total = 0
    for part in parts:
        if isinstance(part, Text):
            total += len(part.text)
        elif isinstance(part, Choice):
            total += max(map(_length, part.arms))
        elif isinstance(part, Loop):
            total += _length(part.body)
        else:
            total += 1
    return total


def _items(
    parts: Sequence[Part],
    chosen: Mapping[int, int],
    judge: Judge,
    around: Around = (),
    loops: tuple[Loop, ...] = (),
) -> list[_Item | Turn | History]:
    items: list[_Item | Turn | History] = []
    for part in parts:
        if isinstance(part, Text):
            items.append(_Item(part.text, around, None, loops))
        elif isinstance(part, Hole):
            items.append(_Item("", around, part, loops))
        elif isinstance(part, Choice):
            items.append(_Item("", around, part, loops))
            number = chosen.get(id(part), _longest(part))
            inside = (*around, ((id(part), number), judge(part).volatility))
            items += _items(part.arms[number], chosen, judge, inside, loops)
        elif isinstance(part, Loop):
            items.append(_Item("", around, part, loops))
            items += _items(part.body, chosen, judge, (*around, (None, judge(part).volatility)), (*loops, part))
        else:
            items.append(part)
    return items


class _Laid:
    """One way through a template, as a prompt."""

    def __init__(
        self,
        template: PromptTemplate,
        items: Sequence[_Item | Turn | History],
        layer: Layer,
        count: Count,
        judge: Judge,
    ) -> None:
        self._judge = judge
        turns: list[tuple[str, list[_Item]]] = []
        for item in items:
            if isinstance(item, Turn):
                turns.append((item.role, []))
            elif isinstance(item, _Item):
                if not turns:
                    turns.append((PLAIN, []))
                turns[-1][1].append(item)
        newest = max([number for number, (role, _) in enumerate(turns) if role == "user"], default=-1)
        self.has_earlier_turns = newest > 0 or (newest < 0 and len(turns) > 1)
        self._marks: list[tuple[_Item, bool]] = []
        messages = [
            (role, "".join([self._marked(item, number == newest) for item in inside]))
            for number, (role, inside) in enumerate(turns)
        ]
        if len(messages) == 1 and messages[0][0] == PLAIN:
            rendered: Rendered = ((messages[0][1], False),)
        elif template.is_chat_template or not messages:
            rendered = [(text, False) for _, text in messages]
        else:
            rendered = layer(messages)
        self._measure(rendered, count)

    def _marked(self, item: _Item, is_newest: bool) -> str:
        text = _MARKS.sub("", item.text)
        if len(self._marks) >= MOST_MARKS:
            return text
        # Every text has a mark of its own as well: it tells how volatile the text is.
        self._marks.append((item, is_newest))
        return chr(FIRST_MARK + len(self._marks) - 1) + text

    def _measure(self, rendered: Rendered, count: Count) -> None:
        self._stretches: list[tuple[int, Around, bool]] = []
        """Tokens, what decides on them, and whether they are of the newest turn, front to back."""
        self._at: list[tuple[_Item, bool, int, int, bool]] = []
        """Items that vary: with whether they are of the newest turn, stretches and tokens ahead, whether one merges."""
        before = 0
        around: Around = ()
        is_newest, merges = False, False
        for part, is_template in rendered:
            if is_template:
                around, is_newest = (), False
            for text, mark in _cut(part):
                behind = None if mark is None else self._marks[mark][0].part
                if text:
                    tokens, merges = count(text, is_template, isinstance(behind, Hole))
                    self._stretches.append((tokens, around, is_newest))
                    before += tokens if volatility_from(around) == Volatility.CONSTANT else 0
                if mark is not None:
                    item, is_newest = self._marks[mark]
                    around = item.around
                    if item.part is not None:
                        self._at.append((item, is_newest, len(self._stretches), before, merges))
        self.total = before
        self._tokens = TokensAround(self._stretches)

    def sights(self, known: Container[int]) -> list[Sight]:
        """What varies, but for parts that are known, by their identity."""
        sights = []
        for item, is_newest, ahead, before, merges in self._at:
            part = item.part
            assert part is not None
            if id(part) in known:
                continue
            found = self._judge(part)
            level = max(found.volatility, Volatility.DEPLOYMENT)
            shared, after = self._tokens.around(item.around, ahead, level, is_newest or not self.has_earlier_turns)
            entered = part.entered_at if isinstance(part, Hole) else part.at
            sights.append(
                Sight(part, expression_of(part), found, part.at, entered, volatility_from(item.around), is_newest,
                      before, shared, after, item.loops, merges)
            )  # fmt: skip
        return sights

    def reachable(self, first: Sight) -> int:
        """Stable tokens that could be shared if nothing varied ahead of them."""
        return first.tokens_before + first.tokens_after


def _cut(text: str) -> Iterator[tuple[str, int | None]]:
    """The text between marks, each with the number of the mark behind it; None behind the last."""
    start = 0
    for found in _MARKS.finditer(text):
        yield text[start : found.start()], ord(found[0]) - FIRST_MARK
        start = found.end()
    yield text[start:], None
