"""A template change on a log that was made with the old one: the values are read back and set into the new template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import PLAIN, History, Part, PromptTemplate, Turn
from prefixlab.records import Chat, Request, Text
from prefixlab.template_matching import Read, fill, read_back


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
            f"{what} made of {before.path}",
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
        read = _told(read_back(old[0][1], body.prompt), request, log)
        if read is None:
            return None
        text = _filled(new[0][1], read.found, request, log)
        return replace(request, body=replace(body, prompt=text))
    if not isinstance(body, Chat):
        return None
    if len(old) == 1 and old[0][0] == PLAIN:
        return _in_one_message(request, body, old[0][1], new, log)
    places = _places(old, body.messages)
    if places is None:
        return None
    found: dict[Any, Any] = {}
    for (_, parts), place in zip(old, places, strict=True):
        if place is None:
            continue
        content = body.messages[place].get("content")
        read = _told(read_back(parts, content), request, log) if isinstance(content, str) else None
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
            messages.append({"role": role, "content": _filled(parts, found, request, log)})
    return replace(request, body=replace(body, messages=[*messages, *history], content_paths=None))


def _in_one_message(request: Request, body: Chat, parts: Sequence[Part], new: _Turns, log: str) -> Request | None:
    """A template of one text: it made the first message that it can be read back from."""
    for at, message in enumerate(body.messages):
        content = message.get("content")
        read = _told(read_back(parts, content), request, log) if isinstance(content, str) else None
        if read is not None:
            messages = list(body.messages)
            messages[at] = {**message, "content": _filled(new[0][1], read.found, request, log)}
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


def _told(read: Read | None, request: Request, log: str) -> Read | None:
    if read is not None and not read.is_unique:
        path, line = request.location
        raise _Untold(
            "the template can have made this prompt in more than one way, so its values cannot be told",
            "Give the values with --values",
            path=path or log,
            line=line,
        )
    return read


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
