"""Where a prompt may be cut for a hosted provider's cache: the ends of messages and parts, and the marks of a request.

A request marks a part with `cache_control` (Anthropic, Qwen, MiniMax, and what proxies make of it), with
`prompt_cache_breakpoint` (OpenAI from GPT-5.6 on), or with a `cachePoint` block behind it (Bedrock). A mark means the
whole prompt up to the end of that part.

**Where a part ends in tokens.** A part ends at a character, and a piece tells only where a run's tokens start and end.
Chat templates set special tokens around most parts, so nearly always a run ends there as well. Where a run goes on
behind the part, it counts whole if nothing but text of the template follows in it: that text stands behind the part in
every request. If text of another part follows, the run does not count: its tokens may differ in a request that shares
no more than the part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from prefixlab.records import TEMPLATE, TOKEN_BYTES, AnthropicChat, Body, Chat, Piece, Span

MARKS = ("cache_control", "prompt_cache_breakpoint")
POINT = "cachePoint"

_PART = re.compile(r"[^.\[]*(?:\[\d+\])?(?:\.(?:content|tool_calls)\[\d+\])?")
_LIFETIME = re.compile(r"[1-9]\d{0,5}[smhd]", re.ASCII)
_NO_CONTENT = (".role", ".type", ".id")


def marked_paths(body: Body) -> tuple[str, ...]:
    """The JSON paths of the parts that a request marks, in the order of the prompt."""
    if not isinstance(body, Chat | AnthropicChat):
        return ()
    found: list[str] = []
    before = ""
    for path, blocks, owner in _lists(body):
        if owner is not None and _is_marked(owner):
            found.append(path)
        if isinstance(blocks, list):
            for index, block in enumerate(blocks):
                if not isinstance(block, dict):
                    before = f"{path}[{index}]"
                elif POINT in block:
                    if before:
                        found.append(before)
                else:
                    before = f"{path}[{index}]"
                    if _is_marked(block) or _is_marked(block.get("function")):
                        found.append(before)
        elif blocks:
            before = path
    return tuple(dict.fromkeys(found))


def asked_lifetimes(body: Body) -> tuple[str, ...]:
    """The lifetimes that a request's marks ask for, as written: `5m`, `1h`."""
    if not isinstance(body, Chat | AnthropicChat):
        return ()
    found: list[str] = []
    for _, blocks, owner in _lists(body):
        for block in (owner, *(blocks if isinstance(blocks, list) else ())):
            if isinstance(block, dict):
                for holder in (block, block.get("function")):
                    marks = [holder.get(mark) for mark in (*MARKS, POINT)] if isinstance(holder, dict) else []
                    found += [str(mark["ttl"]) for mark in marks if isinstance(mark, dict) and "ttl" in mark]
    return tuple([asked for asked in dict.fromkeys(found) if _LIFETIME.fullmatch(asked)])


def _lists(body: Chat | AnthropicChat) -> Iterator[tuple[str, Any, Any]]:
    """Each list of parts with its path, and the message that holds it."""
    yield "tools", body.tools, None
    if isinstance(body, AnthropicChat):
        yield "system", body.system, None
    paths = body.content_paths if isinstance(body, Chat) else None
    for index, message in enumerate(body.messages):
        yield paths[index] if paths else f"messages[{index}].content", message.get("content"), message


def _is_marked(block: Any) -> bool:
    return isinstance(block, dict) and any([block.get(mark) for mark in MARKS])


def message_ends(pieces: Sequence[Piece]) -> tuple[int, ...]:
    """Token positions where a message, or a part of one, ends; ascending. Tools count as parts.

    Empty where a prompt has no text (token ids, block hashes).
    """
    ends: list[int] = []
    part, end = None, 0
    for path, here in _content_ends(pieces):
        if path.endswith(_NO_CONTENT):
            continue
        of = _part(path)
        if of != part and part is not None:
            ends.append(end)
        part, end = of, here
    if part is not None:
        ends.append(end)
    return _ascending(ends)


def positions_of(pieces: Sequence[Piece], paths: Iterable[str]) -> tuple[int, ...]:
    """Token positions where the parts at these JSON paths end, ascending; a path that is not in the prompt has none."""
    ends = dict.fromkeys(paths, 0)
    under: dict[str, list[str]] = {}
    for path, here in _content_ends(pieces):
        marks = under.get(path)
        if marks is None:
            marks = under[path] = [mark for mark in ends if path == mark or path.startswith((f"{mark}.", f"{mark}["))]
        for mark in marks:
            ends[mark] = here
    return _ascending(ends.values())


def _ascending(ends: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({end for end in ends if end}))


@lru_cache(maxsize=65536)
def _part(path: str) -> str:
    """The message's content, or the part of it, that a path belongs to."""
    found = _PART.match(path)
    return found.group() if found else path


def _content_ends(pieces: Iterable[Piece]) -> Iterator[tuple[str, int]]:
    """Each stretch of content with its JSON path and the token position of its end."""
    before = 0
    for piece in pieces:
        spans = piece.spans
        if len(spans) == 1:
            span = spans[0]
            if span.origin is not TEMPLATE and span.origin.role != "template" and span.chars:
                yield span.origin.path, before + piece.token_count
        elif spans:
            yield from _ends_inside(piece, before)
        before += piece.token_count


def _ends_inside(piece: Piece, before: int) -> Iterator[tuple[str, int]]:
    """The stretches of content of one piece of several spans."""
    spans, runs = piece.spans, piece.runs
    char, at_run, run_end, tokens, end = 0, 0, 0, 0, before
    for index, span in enumerate(spans):
        char += span.chars
        # `run_end` is the end of the last run that starts ahead of the span's end, `tokens` those of that run.
        while run_end < char and at_run < len(runs):
            run_end += len(runs[at_run].text)
            tokens = len(runs[at_run].tokens) // TOKEN_BYTES
            end += tokens
            at_run += 1
        if span.origin.role != "template" and span.chars:
            whole = run_end == char or _is_template(spans, index + 1, run_end - char)
            yield span.origin.path, end if whole else end - tokens


def _is_template(spans: Sequence[Span], index: int, chars: int) -> bool:
    """Whether the next `chars` characters, from span `index` on, are text of the template."""
    while chars > 0 and index < len(spans):
        if spans[index].origin.role != "template" and spans[index].chars:
            return False
        chars -= spans[index].chars
        index += 1
    return True
