"""Logs with one structural fault, sometimes with a hole beside it, and their truth by brute force."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from tests.planted.drafts import NEWEST, OWN, Draft, Hole, Log, Message, Text
from tests.planted.faults import DRIFTING, FAULTS, JSON_MARK, Body, Fault
from tests.planted.layouts import static_lines, tool, tools
from tests.planted.truth import Ids, Reuse, Rung, Truth, prompts_of, reuse
from tests.planted.values import KINDS, Values, schedule
from tests.planted.words import answer, chatter, question, sentence

HOLE_KINDS = [kind for kind in KINDS if not kind.loose and kind.name not in ("date", "plan")]
TURNS = {"single": (1, 2), "tools": (1, 3), "shots": (1, 2), "vision": (1, 2), "chat": (3, 6), "agent": (4, 8)}
LONG_TURNS = (6, 10)


@dataclass(frozen=True)
class StructuralLog:
    """A sound log and the fault that it was sent with. `holes` may have one."""

    seed: int
    title: str
    fault: Fault
    sound: Log
    chat: str

    @property
    def holes(self) -> tuple[Hole, ...]:
        return self.sound.holes

    def records(self, moved: Mapping[int, str] | None = None, mended: bool = False) -> list[dict[str, Any]]:
        """The log as it was sent, or with the fault mended."""
        records = self.sound.records(moved)
        bodies: list[Body] = [record["request"] for record in records]
        change = self.fault.mended if mended else self.fault.sent
        changed = change(Random(f"fault {self.seed}"), bodies)
        return [record | {"request": body} for record, body in zip(records, changed, strict=True)]

    def prompts(self, moved: Mapping[int, str] | None = None, mended: bool = False) -> list[Ids]:
        chat = self.fault.chat_mended if mended and self.fault.chat_mended else self.chat
        return prompts_of(self.records(moved, mended), chat)

    def spaces(self) -> list[str]:
        """What requests may share in: the model and the salt."""
        return [f"{row['request']['model']} {row['request'].get('cache_salt')}" for row in self.records()]


@dataclass(frozen=True)
class StructuralTruth:
    """The figures as sent and the hole's own share; the least and most that mending wins, by the order of the two."""

    truth: Truth
    fault_won: int
    """What mending the fault wins once the hole is mended."""
    least: int
    most: int


def structural_log(seed: int) -> StructuralLog:
    """A log of a kind of fault by seed, so that each kind comes in turn."""
    rng = Random(f"structural {seed}")
    fault = FAULTS[seed % len(FAULTS)]
    shape = rng.choice(fault.shapes)
    system: list[Text] = [(line,) for line in static_lines(rng, rng.randint(10, 30))[1]]
    limits = {word: rng.randint(1, 99) for word in ("days", "items", "words", "calls", "parcels", "photos")}
    special: dict[str, list[Text]] = {
        "key_order": [(JSON_MARK + json.dumps(limits),)],
        "whitespace": [(DRIFTING,)],
        "unicode_form": [(DRIFTING,)],
        "permuted": [
            (f'<doc id="{n}">{sentence(rng, "en")} {chatter(rng, 12, 20)}</doc>',) for n in range(rng.randint(3, 5))
        ],
    }
    at = rng.randrange(1, max(2, len(system) // 2))
    system[at:at] = special.get(fault.kind, []) if shape != "shots" else []
    holes: tuple[Hole, ...] = ()
    values: Values | None = None
    if fault.hole and rng.random() < 0.33:
        kind = rng.choice(HOLE_KINDS)
        pattern = rng.choice([name for name in kind.patterns if name in ("request", "session", "user")])
        spot = rng.randrange(1, len(system) + 1)
        system.insert(spot, (f"{kind.labels[0]}: ", 0))
        values = Values(kind, pattern, f"structural {seed}")
        holes = (Hole(0, kind.name, "messages[0].content", "{label}: {value}", pattern),)
    long = shape.startswith("long")
    moments = schedule(rng, rng.randint(20, 40), TURNS.get(shape, LONG_TURNS)[1] > 2)
    if long or shape == "agent":
        sessions = [f"s{n}" for n in range(max(2, len(moments) // 8))]
        moments = [
            replace(moment, session=sessions[n * len(sessions) // len(moments)]) for n, moment in enumerate(moments)
        ]
    given = tools(rng, rng.randint(3, 6)) if shape in ("tools", "agent", "long_tools") else []
    if shape == "long_tools":
        given.append(tool(rng, "notices_of_the_day"))
    shots = [
        Message(role, (text,)) for _ in range(4) for role, text in (("user", question(rng)), ("assistant", answer(rng)))
    ]
    stable = " ".join(sentence(rng, "en") for _ in range(12))
    histories: dict[str, list[Message]] = {}
    drafts = []
    for moment in moments:
        head = Message(
            "system", tuple(part for n, line in enumerate(system) for part in (("\n", *line) if n else line))
        )
        history = histories.setdefault(moment.session, [])
        _continue(rng, shape, history, stable)
        messages = (head, *(shots if shape == "shots" else []), *history)
        described = tuple((str(one["function"]["description"]),) for one in given)  # type: ignore[index]
        drafts.append(Draft(messages, tuple(given), described, {0: values(moment)} if values else {}, moment))
    title = f"{fault.kind} in {shape}{', a hole' if holes else ''}, {len(drafts)} requests"
    chat = rng.choice(fault.chat)
    return StructuralLog(seed, title, fault, Log(seed, title, tuple(drafts), holes, chat), chat)


def _continue(rng: Random, shape: str, history: list[Message], stable: str) -> None:
    """The conversation one request on: a new question, or the results of tools."""
    if shape in ("single", "tools", "shots", "vision"):
        history[:] = [Message("user", (stable if shape == "vision" else question(rng),))]
    elif shape == "agent" and history and history[-1].role == "user":
        calls = []
        for name in ("track_parcel", "find_locker"):
            arguments = {"number": rng.randint(1000, 9999), "place": chatter(rng, 1, 2), "depth": rng.randint(1, 5)}
            function = {"name": name, "arguments": json.dumps(arguments)}
            calls.append({"id": f"c{rng.getrandbits(24):06x}", "type": "function", "function": function})
        history.append(Message("assistant", ("",), {"tool_calls": calls}))
        history += [Message("tool", (chatter(rng, 30, 60),), {"tool_call_id": call["id"]}) for call in calls]
    else:
        if history:
            history.append(Message("assistant", (answer(rng),)))
        history.append(Message("user", (question(rng),)))


def structural_truth(log: StructuralLog) -> StructuralTruth:
    """What mending wins back: the fault alone, or with its hole in either order at the better of two places."""
    spaces = log.spaces()
    now = reuse(log.prompts(), spaces)

    def aligned(moved: Mapping[int, str], mended: bool) -> tuple[int, ...]:
        return reuse(log.prompts(moved, mended), spaces, now.prompt).aligned

    mended = aligned({}, True)
    if not log.holes:
        won = _climb(now.aligned, mended)
        return StructuralTruth(Truth(now, ()), sum(won), sum(won), sum(won))
    both = {place: aligned({0: place}, True) for place in (OWN, NEWEST)}
    place = max(both, key=lambda name: sum(both[name]))
    climbs = {}
    for name, fixed in both.items():
        climbs[name] = [_climb(now.aligned, aligned({0: name}, False), fixed), _climb(now.aligned, mended, fixed)]
    (_, fault_won), (_, hole_won) = climbs[place]
    ladder = Truth(now, (Rung(0, hole_won, place),))
    most = max(sum(climb) for climbed in climbs.values() for climb in climbed)
    return StructuralTruth(ladder, fault_won, min(map(sum, climbs[place])), most)


def _climb(now: tuple[int, ...], *steps: tuple[int, ...]) -> list[int]:
    """What each step wins, requests never falling back."""
    best, won = list(now), []
    for step in steps:
        reached = [max(pair) for pair in zip(best, step, strict=True)]
        won.append(sum(reached) - sum(best))
        best = reached
    return won


def double_bos_log(seed: int) -> tuple[list[dict[str, Any]], Reuse, int]:
    """Token ids, some with two begin-of-sequence tokens: the records, the figures as sent and what one alone wins."""
    rng = Random(f"bos {seed}")
    stable = [rng.randint(10, 90_000) for _ in range(rng.randint(150, 500))]
    sound = [
        [1, *stable, *[rng.randint(10, 90_000) for _ in range(rng.randint(5, 40))]] for _ in range(rng.randint(10, 30))
    ]
    sent = [[1, *ids] if number and rng.random() < 0.5 else ids for number, ids in enumerate(sound)]
    now = reuse(sent)
    won = _climb(now.aligned, reuse(sound, lengths=now.prompt).aligned)
    return [{"id": f"r{n}", "prompt_token_ids": ids} for n, ids in enumerate(sent)], now, sum(won)
