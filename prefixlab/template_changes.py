"""A template change on a log that was made with the old one: the values are read back and set into the new template."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import PLAIN, History, Part, PromptTemplate, Turn
from prefixlab.records import Body, Chat, Request, Text
from prefixlab.template_matching import Reach, Read, fill, reach, read_back


def changed_requests(
    before: PromptTemplate, after: PromptTemplate, requests: Sequence[Request], log: str
) -> tuple[tuple[list[Request], list[Request]], list[str]]:
    """The requests that the old template made, as they are and as the new one makes them; and what to say of it.

    Raises:
        PrefixlabError: no request is of the old template, the values cannot be told, or the new one needs others.
    """
    old, new = _turns(before.parts), _turns(after.parts)
    kept: list[Request] = []
    changed: list[Request] = []
    untold: list[_Untold] = []
    for request in requests:
        try:
            made = _changed(request, old, new, log)
        except _Untold as why:
            untold.append(why)
            continue
        if made is not None:
            kept.append(request)
            changed.append(made)
    if len(untold) > len(kept):
        raise untold[0]
    if not kept:
        what = "its only request is not" if len(requests) == 1 else f"none of its {len(requests):,} requests is"
        raise PrefixlabError(
            f"{what} made of {before.path}{_parting(old, requests, log)}",
            "Give the template that made it as BEFORE, or values with --values",
            path=log,
        )
    notes = []
    if len(made_of := [*kept, *untold]) < len(requests):
        is_are = "is" if len(made_of) == 1 else "are"
        notes.append(f"{len(made_of):,} of the {len(requests):,} requests of {log} {is_are} made of {before.path}.")
    if untold:
        is_are = "1 request is" if len(untold) == 1 else f"{len(untold):,} requests are"
        notes.append(
            f"{is_are} left out, the first {untold[0].path}:{untold[0].line}: {before.path} can have made them "
            "in more than one way. --values has no such doubt."
        )
    return (kept, changed), notes


MOST_LOOKED_INTO = 100
"""Requests among which the one that comes nearest to a template is looked for."""


def _parting(old: _Turns, requests: Sequence[Request], log: str) -> str:
    """Where the request that comes nearest to the template parts from it, with a colon ahead; empty where none does."""
    near: tuple[Reach, str, Request] | None = None
    for request in requests[:MOST_LOOKED_INTO]:
        for role, text in _texts(request.body):
            for turn, parts in old:
                if turn == role or PLAIN in (turn, role):
                    found = reach(parts, text)
                    if near is None or found.literal > near[0].literal:
                        near = (found, text, request)
    if near is None:
        return ""
    (_, at, wanted), text, request = near
    path, line = request.location
    # From the beginning of the line, which both have, or of the last words of it.
    ahead = text[text.rfind("\n", 0, at) + 1 : at][-_SHOWN:]
    has, wants = [
        json.dumps((ahead + one.partition("\n")[0])[: 2 * _SHOWN], ensure_ascii=False) if ahead + one else "its end"
        for one in (text[at:], wanted)
    ]
    place = f"line {text.count(chr(10), 0, at) + 1} of its text"
    return f": the nearest, {path or log}:{line}, parts from it in {place}, with {has} where the template has {wants}"


_SHOWN = 40
"""Characters of a text that are quoted."""


def _texts(body: Body) -> Iterator[tuple[str, str]]:
    if isinstance(body, Text):
        yield PLAIN, body.prompt
    elif isinstance(body, Chat):
        for message in body.messages:
            if isinstance(content := message.get("content"), str):
                yield str(message.get("role")), content


_Turns = list[tuple[str, list[Part]]]


def _turns(parts: Sequence[Part]) -> _Turns:
    """The parts of each turn; of a template without roles one turn of the role `PLAIN`."""
    turns: _Turns = []
    for part in parts:
        if isinstance(part, Turn):
            turns.append((part.role, []))
        elif isinstance(part, History):
            turns.append(("", []))
        else:
            if not turns:
                turns.append((PLAIN, []))
            turns[-1][1].append(part)
    return turns


def _changed(request: Request, old: _Turns, new: _Turns, log: str) -> Request | None:
    body = request.body
    if isinstance(body, Text):
        if len(old) != 1:
            return None
        read, ended = _told(old[0][1], body.prompt, request, log)
        if read is None:
            return None
        text = ended(_filled(new[0][1], read.found, request, log))
        return replace(request, body=replace(body, prompt=text))
    if not isinstance(body, Chat):
        return None
    if len(old) == 1 and old[0][0] == PLAIN:
        return _in_one_message(request, body, old[0][1], new, log)
    places = _places(old, body.messages)
    if places is None:
        return None
    found: dict[Any, Any] = {}
    endings: dict[str, _Ending] = {}
    for (role, parts), place in zip(old, places, strict=True):
        if place is None:
            continue
        content = body.messages[place].get("content")
        read, endings[role] = _told(parts, content, request, log)
        if read is None or any(found.get(key, value) != value for key, value in read.found.items()):
            return None
        found.update(read.found)
    used = {place for place in places if place is not None}
    history = [message for at, message in enumerate(body.messages) if at not in used]
    messages: list[dict[str, Any]] = []
    has_place = any(not role for role, _ in new)
    newest = max([at for at, (role, _) in enumerate(new) if role == "user"], default=len(new))
    for at, (role, parts) in enumerate(new):
        if not role or (not has_place and at == newest):
            messages += history
            history = []
        if role:
            text = endings.get(role, str)(_filled(parts, found, request, log))
            messages.append({"role": role, "content": text})
    return replace(request, body=replace(body, messages=[*messages, *history], content_paths=None))


def _in_one_message(request: Request, body: Chat, parts: Sequence[Part], new: _Turns, log: str) -> Request | None:
    """A template of one text: it made the first message that it can be read back from."""
    for at, message in enumerate(body.messages):
        content = message.get("content")
        read, ended = _told(parts, content, request, log)
        if read is not None:
            messages = list(body.messages)
            messages[at] = {**message, "content": ended(_filled(new[0][1], read.found, request, log))}
            return replace(request, body=replace(body, messages=messages))
    return None


def _places(old: _Turns, messages: Sequence[dict[str, Any]]) -> list[int | None] | None:
    """The message of each turn: those ahead of the newest turn of the user from the front, that one from the back."""
    newest = max([at for at, (role, _) in enumerate(old) if role == "user"], default=-1)
    places: list[int | None] = []
    front = 0
    for at, (role, _) in enumerate(old):
        if not role:
            places.append(None)
        elif at >= newest >= 0:
            place = len(messages) - (len(old) - at)
            if place < front or messages[place].get("role") != role:
                return None
            places.append(place)
        else:
            if front >= len(messages) or messages[front].get("role") != role:
                return None
            places.append(front)
            front += 1
    return places


class _Untold(PrefixlabError):
    """A request whose values cannot be told."""


_Ending = Callable[[str], str]
"""What a program does to the end of a rendering."""


def _told(parts: Sequence[Part], content: Any, request: Request, log: str) -> tuple[Read | None, _Ending]:
    """A text read back. A line break at its end may be there or not, for libraries keep it or drop it; the same is to
    be done to what the new template makes."""
    if not isinstance(content, str):
        return None, str
    ways: list[tuple[str, _Ending]] = [
        (content, str),
        (content.removesuffix("\n"), lambda text: f"{text}\n"),
        (f"{content}\n", lambda text: text.removesuffix("\n")),
    ]
    for text, ended in ways:
        read = read_back(parts, text)
        if read is None:
            continue
        if not read.is_unique:
            path, line = request.location
            raise _Untold(
                "the template can have made this prompt in more than one way, so its values cannot be told",
                "Give the values with --values",
                path=path or log,
                line=line,
            )
        return read, ended
    return None, str


def _filled(parts: Sequence[Part], found: Any, request: Request, log: str) -> str:
    text, missing = fill(parts, found)
    if missing:
        raise PrefixlabError(
            f"the new template needs {', '.join(dict.fromkeys(missing))}, which the old one does not have",
            "Give the values with --values",
            path=request.location.path or log,
            line=request.location.line,
        )
    return text
