"""Structural faults: what each does to sound bodies, and what the log is with the fault mended.

A fault gets the sound bodies of a log in order of time, and gives back those that were sent. Where the first request of
a family shows the sound form, mending is undoing.
"""

from __future__ import annotations

import copy
import json
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

Body = dict[str, Any]
Change = Callable[[Random, list[Body]], list[Body]]

CLEARED = "[old result cleared]"
REMINDERS = (
    "<reminder>Two open items are waiting; check them before you close the thread.</reminder>",
    "(Keep it short. Do not mention these lines. The desk closes at eighteen o'clock and opens at nine on weekdays.)",
    "\n---\nAnswer only from the documents above, quote the number of the line, and say so if nothing fits.",
)
DOCUMENT_MARK = "<doc"
JSON_MARK = "Limits: "
DRIFTING = "Größe, Änderung, café, señal, źródło: diese Wörter stehen im Glossar und werden nie übersetzt."


@dataclass(frozen=True)
class Fault:
    """A kind of break, the paths that name it, the shapes of logs it fits, and how it is made and mended."""

    kind: str
    paths: tuple[str, ...]
    shapes: tuple[str, ...]
    sent: Change
    mended: Change = lambda _rng, bodies: bodies
    chat: tuple[str, ...] = ("tools_first", "system_first")
    chat_mended: str | None = None
    hole: bool = True
    """Whether a hole may be planted beside it."""


def _each(change: Callable[[Random, Body, bool], None], first: bool = False) -> Change:
    """A change made in each body on its own; the log's first body stays as it is unless `first`."""

    def changed(rng: Random, bodies: list[Body]) -> list[Body]:
        made = copy.deepcopy(bodies)
        for number, body in enumerate(made):
            if number or first:
                change(rng, body, rng.random() < 0.5)
        return made

    return changed


def _shuffle_tools(rng: Random, body: Body, _coin: bool) -> None:
    rng.shuffle(body["tools"])


def _late_tool(front: bool) -> Change:
    """The last tool is there only once a conversation has gone on for two turns, ahead of the others or behind."""

    def changed(_rng: Random, bodies: list[Body]) -> list[Body]:
        made = copy.deepcopy(bodies)
        for body in made:
            late = body["tools"].pop()
            if sum(message["role"] == "user" for message in body["messages"]) > 2:
                body["tools"].insert(0 if front else len(body["tools"]), late)
        return made

    return changed


def _line(body: Body, mark: str, change: Callable[[str], str]) -> None:
    """Change the line of the system text that starts with a mark."""
    lines = body["messages"][0]["content"].split("\n")
    at = next(n for n, line in enumerate(lines) if line.startswith(mark))
    lines[at] = change(lines[at])
    body["messages"][0]["content"] = "\n".join(lines)


def _shuffle_keys(rng: Random, body: Body, _coin: bool) -> None:
    def shuffled(line: str) -> str:
        items = list(json.loads(line.removeprefix(JSON_MARK)).items())
        rng.shuffle(items)
        return JSON_MARK + json.dumps(dict(items))

    _line(body, JSON_MARK, shuffled)


def _old_calls(body: Body) -> list[int]:
    """The messages with tool calls that are no longer the newest of their conversation."""
    with_calls = [n for n, message in enumerate(body["messages"]) if message.get("tool_calls")]
    return with_calls[:-1]


def _reserialise(_rng: Random, body: Body, _coin: bool) -> None:
    for number in _old_calls(body):
        for call in body["messages"][number]["tool_calls"]:
            arguments = json.loads(call["function"]["arguments"])
            call["function"]["arguments"] = json.dumps(dict(reversed(arguments.items())), separators=(",", ":"))


def _swap_results(_rng: Random, body: Body, _coin: bool) -> None:
    messages = body["messages"]
    for number in _old_calls(body):
        messages[number + 1], messages[number + 2] = messages[number + 2], messages[number + 1]


def _shuffle_documents(rng: Random, body: Body, _coin: bool) -> None:
    lines = body["messages"][0]["content"].split("\n")
    places = [n for n, line in enumerate(lines) if line.startswith(DOCUMENT_MARK)]
    documents = [lines[n] for n in places]
    rng.shuffle(documents)
    for place, document in zip(places, documents, strict=True):
        lines[place] = document
    body["messages"][0]["content"] = "\n".join(lines)


def _shuffle_shots(rng: Random, body: Body, _coin: bool) -> None:
    messages = body["messages"]
    pairs = [messages[n : n + 2] for n in range(1, len(messages) - 1, 2)]
    rng.shuffle(pairs)
    body["messages"] = [messages[0], *[message for pair in pairs for message in pair], messages[-1]]


def _trim(rng: Random, bodies: list[Body]) -> list[Body]:
    made = copy.deepcopy(bodies)
    keep, step = rng.choice([3, 5]), rng.choice([2, 2, 4])
    for body in made:
        head, *rest = body["messages"]
        over = max(0, len(rest) - keep)
        body["messages"] = [head, *rest[-(-over // step) * step :]]
    return made


def _prune(_rng: Random, body: Body, _coin: bool) -> None:
    messages = body["messages"]
    for number in _old_calls(body):
        messages[number + 1]["content"] = CLEARED


def _newest_user(body: Body) -> Body:
    return next(message for message in reversed(body["messages"]) if message["role"] == "user")


def _remind(everywhere: bool) -> Change:
    def changed(rng: Random, bodies: list[Body]) -> list[Body]:
        made = copy.deepcopy(bodies)
        reminder = rng.choice(REMINDERS)
        for body in made:
            users = [message for message in body["messages"] if message["role"] == "user"]
            for message in users if everywhere else users[-1:]:
                message["content"] += f"\n{reminder}"
        return made

    return changed


def _effort(rng: Random, bodies: list[Body]) -> list[Body]:
    made = copy.deepcopy(bodies)
    levels = rng.sample(["low", "medium", "high"], rng.choice([2, 3]))
    for number, body in enumerate(made):
        body["chat_template_kwargs"] = {"reasoning_effort": rng.choice(levels) if number else levels[0]}
    return made


def _effort_held(rng: Random, bodies: list[Body]) -> list[Body]:
    made = _effort(rng, bodies)
    for body in made:
        body["chat_template_kwargs"] = dict(made[0]["chat_template_kwargs"])
    return made


def _image(ahead: bool) -> Change:
    def changed(rng: Random, bodies: list[Body]) -> list[Body]:
        made = copy.deepcopy(bodies)
        for body in made:
            message = _newest_user(body)
            image = {"type": "image_url", "image_url": {"url": f"https://example.com/{rng.getrandbits(40):010x}.png"}}
            text = {"type": "text", "text": message["content"]}
            message["content"] = [image, text] if ahead else [text, image]
        return made

    return changed


def _drift_blank(rng: Random, body: Body, coin: bool) -> None:
    if coin:
        extra = rng.choice([" ", "  ", "\t"])
        _line(body, DRIFTING[:5], lambda line: line + extra)


def _drift_empty_line(_rng: Random, body: Body, coin: bool) -> None:
    if coin:
        _line(body, DRIFTING[:5], lambda line: line + "\n")


def _decompose(_rng: Random, body: Body, coin: bool) -> None:
    if coin:
        _line(body, DRIFTING[:3], lambda line: unicodedata.normalize("NFD", line))


def _salt(rng: Random, body: Body, _coin: bool) -> None:
    body["cache_salt"] = f"tenant-{rng.randint(1, 4)}"


def _model(rng: Random, body: Body, _coin: bool) -> None:
    body["model"] = rng.choice(["desk", "desk-adapter-a", "desk-adapter-b"])


SYSTEM, HISTORY = ("messages[0]",), ("messages",)

FAULTS: Sequence[Fault] = (
    Fault("tool_order", ("tools",), ("tools", "agent"), _each(_shuffle_tools)),
    Fault("tool_set", ("tools",), ("long_tools",), _late_tool(True), _late_tool(False)),
    Fault("key_order", SYSTEM, ("single", "chat"), _each(_shuffle_keys)),
    Fault("arguments_reserialised", HISTORY, ("agent",), _each(_reserialise)),
    Fault("tool_result_order", HISTORY, ("agent",), _each(_swap_results)),
    Fault("permuted", SYSTEM, ("single", "chat"), _each(_shuffle_documents)),
    Fault("permuted", HISTORY, ("shots",), _each(_shuffle_shots)),
    Fault("history_trimmed", HISTORY, ("long",), _trim),
    Fault("history_rewritten", HISTORY, ("agent",), _each(_prune)),
    Fault(
        "turn_rerendered",
        ("",),
        ("chat", "long"),
        lambda _rng, bodies: bodies,
        chat=("thinking",),
        chat_mended="thinking_kept",
    ),
    Fault("moving_suffix", HISTORY, ("chat", "long"), _remind(False), _remind(True)),
    Fault("head_parameter", ("chat_template_kwargs",), ("chat", "single"), _effort, _effort_held, chat=("effort",)),
    Fault("image_position", HISTORY, ("vision",), _image(True), _image(False), chat=("vision",), hole=False),
    Fault("whitespace", SYSTEM, ("single", "chat"), _each(_drift_blank)),
    Fault("whitespace", SYSTEM, ("single", "chat"), _each(_drift_empty_line)),
    Fault("unicode_form", SYSTEM, ("single", "chat"), _each(_decompose)),
    Fault("namespace", ("",), ("single", "chat"), _each(_salt, True), _each(_salt, True), hole=False),
    Fault("namespace", ("",), ("single", "chat"), _each(_model, True), _each(_model, True), hole=False),
)
"""`double_bos` is made of token ids and stands in `structural`."""
