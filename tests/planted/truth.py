"""The truth about a planted log, by brute force: every prompt against every earlier one, the log as sent and as fixed.

Templates are rendered with plain jinja2 and tokenized with tiktoken; nothing here knows how findings are made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import jinja2
import numpy
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tests.planted.drafts import NEWEST, OWN, Log
from tests.tokenizers.references import encoding

BLOCK = 16
MARKS = re.compile(r"(<\|im_start\|>|<\|im_end\|>|<\|image_[a-z]+\|>)")
"""What is a token of its own in this encoding, as it is served. `<|vision_start|>` is text in it."""
IMAGE_TOKENS = 64

Ids = list[int]


@dataclass(frozen=True)
class Reuse:
    """Of each request: prompt tokens, tokens shared with the best earlier request, and those in whole blocks."""

    prompt: tuple[int, ...]
    raw: tuple[int, ...]
    aligned: tuple[int, ...]


@dataclass(frozen=True)
class Rung:
    """One step of the ladder. `won` is the sum of A_k - A_(k-1) over the requests."""

    number: int
    won: int
    destination: str


@dataclass(frozen=True)
class Truth:
    """What a report has to say: the figures as sent, what each hole wins back in ladder order, what all do."""

    now: Reuse
    rungs: tuple[Rung, ...]
    alone: int = 0
    """What all win back if each place is chosen when its hole's turn comes, with all holes behind it as sent."""
    needed: Mapping[int, int] = field(default_factory=dict)
    """What is lost again if one hole alone stays as sent and all others are fixed: a hole can win nothing when its turn
    comes, because the next one stands right behind it, and be needed all the same."""

    def costs(self, hole: int) -> bool:
        """Whether fixing the hole wins a block somewhere, in its turn or after all others."""
        return self.won(hole) > 0 or self.needed.get(hole, 0) > 0

    @property
    def volatile(self) -> int:
        return sum(rung.won for rung in self.rungs)

    def won(self, hole: int) -> int:
        return sum(rung.won for rung in self.rungs if rung.number == hole)


def template_path(name: str) -> Path:
    """The file of one of the chat templates here."""
    return Path(__file__).parent / f"{name}.jinja"


@cache
def _template(name: str) -> jinja2.Template:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(template_path(name).read_text(encoding="utf-8"))


def render(body: Mapping[str, Any], chat: str | None) -> str:
    """The prompt of a body; tool-call arguments reach the template parsed."""
    if chat is None:
        return str(body["prompt"])
    messages = [_parsed(message) for message in body["messages"]]
    options = body.get("chat_template_kwargs", {})
    return _template(chat).render(messages=messages, tools=body.get("tools"), add_generation_prompt=True, **options)


def _parsed(message: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(message)
    calls = []
    for call in message.get("tool_calls", []):
        function = call["function"]
        calls.append(call | {"function": function | {"arguments": json.loads(function["arguments"])}})
    if calls:
        made["tool_calls"] = calls
    if isinstance(made.get("content"), list):
        parts = [part["text"] if part["type"] == "text" else _image(part) for part in made["content"]]
        # As servers do: images stand where they were sent, text parts are put on lines of their own.
        made["content"] = "\n".join(parts)
    return made


def _image(part: Mapping[str, Any]) -> str:
    return f"<|vision_start|><|image_{part['image_url']['url'].encode().hex().translate(_LETTERS)}|><|vision_end|>"


_LETTERS = str.maketrans("0123456789", "ghijklmnop")


@cache
def _piece(text: str) -> tuple[int, ...]:
    return tuple(encoding("o200k_base").encode_ordinary(text))


_marks: dict[str, int] = {}


def tokenize(text: str) -> Ids:
    """Token ids by o200k_base; a mark is a token of its own, an image as many as it takes."""
    ids: Ids = []
    for piece in MARKS.split(text):
        if MARKS.fullmatch(piece):
            mark = -1 - _marks.setdefault(piece, len(_marks))
            ids += [mark] * (IMAGE_TOKENS if piece.startswith("<|image_") else 1)
        elif piece:
            ids += _piece(piece)
    return ids


def reuse(prompts: Sequence[Ids], spaces: Sequence[str] | None = None, lengths: Sequence[int] = ()) -> Reuse:
    """Each prompt against all earlier ones of its namespace. `lengths` are those to clamp to, where given."""
    width = max(map(len, prompts)) + 1
    table = numpy.full((len(prompts), width), -(2**40), dtype=numpy.int64)
    raw, aligned, own = [], [], []
    for number, ids in enumerate(prompts):
        table[number, : len(ids)] = ids
        table[number, len(ids) :] = -(2**40) - number - 1
        size = lengths[number] if lengths else len(ids)
        earlier = table[:number]
        if spaces is not None:
            earlier = earlier[[spaces[n] == spaces[number] for n in range(number)]]
        best = int((earlier != table[number]).argmax(axis=1).max()) if len(earlier) else 0
        own.append(len(ids))
        raw.append(best)
        aligned.append(min(best, len(ids) - 1, size - 1) // BLOCK * BLOCK)
    return Reuse(tuple(own), tuple(raw), tuple(aligned))


def prompts_of(records: Sequence[Mapping[str, Any]], chat: str | None) -> list[Ids]:
    """The token ids of a log's prompts."""
    return [tokenize(render(record if chat is None else record["request"], chat)) for record in records]


def front_to_back(log: Log) -> list[int]:
    """The holes in the order in which they stand in rendered prompts."""
    places: dict[int, list[int]] = {}
    for draft in log.drafts:
        values = {number: f"⟦{number}⟧" for number in draft.values}
        marked = type(draft)(draft.messages, draft.tools, draft.tool_texts, values, draft.moment).body({})
        text = render(marked, log.chat).replace("\\u27e6", "⟦").replace("\\u27e7", "⟧")
        for number, mark in values.items():
            places.setdefault(number, []).append(text.index(mark))
    return sorted(places, key=lambda number: min(places[number]))


def truth_of(log: Log) -> Truth:
    """The ladder of a log's holes, front to back and controls last.

    Each value goes to the better of its two places: the places that together give the most once all holes are fixed
    are taken, and of equal ones those that give the most on the way.
    """
    now = reuse(prompts_of(log.records(), log.chat))
    order = front_to_back(log)
    order = [n for n in order if not log.holes[n].control] + [n for n in order if log.holes[n].control]
    known: dict[tuple[str, ...], tuple[int, ...]] = {(): now.aligned}

    def aligned(places: tuple[str, ...]) -> tuple[int, ...]:
        if places not in known:
            moved = dict(zip(order, places, strict=False))
            known[places] = reuse(prompts_of(log.records(moved), log.chat), lengths=now.prompt).aligned
        return known[places]

    def climbed(places: tuple[str, ...]) -> list[int]:
        best, sums = list(now.aligned), [sum(now.aligned)]
        for step in range(1, len(places) + 1):
            best = [max(pair) for pair in zip(best, aligned(places[:step]), strict=True)]
            sums.append(sum(best))
        return sums

    kept = [n for n in order if not log.holes[n].control]
    choices = [(*places, *[NEWEST] * (len(order) - len(kept))) for places in product((NEWEST, OWN), repeat=len(kept))]
    most = max(sum(aligned(places)) for places in choices)
    best = max((places for places in choices if sum(aligned(places)) == most), key=climbed)
    sums = climbed(best)
    rungs = [Rung(n, sums[k + 1] - sums[k], best[k]) for k, n in enumerate(order)]
    greedy: tuple[str, ...] = ()
    for _ in order:
        greedy = max(((*greedy, NEWEST), (*greedy, OWN)), key=lambda places: sum(aligned(places)))
    needed = {}
    for hole in order:
        moved = {n: place for n, place in zip(order, best, strict=True) if n != hole}
        others = reuse(prompts_of(log.records(moved), log.chat), lengths=now.prompt).aligned
        needed[hole] = sum(max(0, a - b) for a, b in zip(aligned(best), others, strict=True))
    return Truth(now, tuple(rungs), climbed(greedy)[-1] - sums[0], needed)
