"""Where two prompts part, as a person sees it: the text on both sides, its JSON path and line, the tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from prefixlab.explanation import Excerpt, Parting, Token
from prefixlab.records import TEMPLATE, TOKEN_BYTES, Origin, Piece, Prompt

Decode = Callable[[bytes], bytes]

_BEFORE = 600
"""Characters of context ahead of the break."""
_BEHIND = 400
_LOOKED_AT = 1 << 16
"""Characters behind the first token that differs in which the first character that differs is looked for, beyond the
run that holds it."""
_DECODED = 160
"""Tokens that are decoded on each side where a log has ids alone."""
_SAME_TOKENS = 3
_NEXT_TOKENS = 4


class Names(NamedTuple):
    """What the ids of two prompts stand for: `decode` gives the text of tokens, `blocks` the logged ids of blocks."""

    decode: Decode
    blocks: Sequence[int]


def sequence_of(prompt: Prompt) -> bytes:
    """The ids that have keys and values once a request is done."""
    return prompt.tokens + prompt.output_tokens


def common_tokens(one: bytes, other: bytes) -> int:
    """Ids, from the first on, that are the same."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high // TOKEN_BYTES
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low // TOKEN_BYTES


def parting_of(prompt: Prompt, other: Prompt, shared: int, names: Names) -> Parting:
    """Where `prompt` parts from what `other` sent and generated, of which it shares `shared` ids."""
    mine, yours = prompt.tokens, sequence_of(other)
    is_in_answer = shared * TOKEN_BYTES >= len(other.tokens)
    place = _Place.at(prompt, shared, names.decode)
    has_text = place.has_text
    origin, line, behind = Origin("", ""), None, ""
    before: Excerpt | None
    now: Excerpt | None
    was: Excerpt | None
    if has_text:
        of = "text"
        text = place.text_from(_LOOKED_AT)
        run = place.rest_of_run
        if is_in_answer:
            answer = _decoded(names.decode, yours[shared * TOKEN_BYTES :][: _LOOKED_AT * TOKEN_BYTES])
        else:
            there = _Place.at(other, shared, names.decode)
            answer = there.text_from(_LOOKED_AT)
            run = max(run, there.rest_of_run)
        same = _common_characters(text, answer)
        # Runs of one text have the same tokens, unless they are an image's, or were sampled.
        is_same_text = 0 < run <= same or same == len(text) == len(answer)
        same = 0 if is_same_text else same
        ahead = place.text_before(_BEFORE) + text[:same]
        before = Excerpt(ahead[-_BEFORE:], len(ahead) > _BEFORE)
        now = Excerpt(text[same : same + _BEHIND], len(text) > same + _BEHIND)
        was = Excerpt(answer[same : same + _BEHIND], len(answer) > same + _BEHIND)
        origin, line, behind = place.origin_at(same)
    else:
        of, before, now, was = _decoded_sides(mine, yours, shared, names)
        is_same_text = now is not None and now == was and not now.is_cut
        if prompt.unit > 1:
            of = "blocks"
    at = shared * TOKEN_BYTES
    ahead_at = max(0, at - _SAME_TOKENS * TOKEN_BYTES)
    next_at = at + _NEXT_TOKENS * TOKEN_BYTES
    return Parting(
        token_index=shared * prompt.unit,
        of=of,
        path=origin.path,
        role=origin.role,
        line=line,
        behind_path=behind,
        before=before,
        now=now,
        was=was,
        tokens_same=tokens_of(mine[ahead_at:at], prompt, names),
        tokens_now=tokens_of(mine[at:next_at], prompt, names),
        tokens_was=tokens_of(yours[at:next_at], prompt, names),
        other_ends=at >= len(yours),
        is_in_answer=is_in_answer and at < len(yours),
        is_same_text=is_same_text,
    )


def tokens_of(ids: bytes, prompt: Prompt, names: Names) -> tuple[Token, ...]:
    """Ids with what they stand for."""
    tokens = []
    for at in range(0, len(ids), TOKEN_BYTES):
        one = ids[at : at + TOKEN_BYTES]
        number = int.from_bytes(one, "little")
        if prompt.unit > 1:
            tokens.append(Token(names.blocks[number], None))
        else:
            text = names.decode(one).decode("utf-8", "backslashreplace")
            tokens.append(Token(number, text or None))
    return tuple(tokens)


def _decoded_sides(
    mine: bytes, yours: bytes, shared: int, names: Names
) -> tuple[str, Excerpt | None, Excerpt | None, Excerpt | None]:
    """Text of ids around a break, where they have one."""
    at, room = shared * TOKEN_BYTES, _DECODED * TOKEN_BYTES
    before = _decoded(names.decode, mine[max(0, at - room) : at])
    now, was = (_decoded(names.decode, side[at : at + room]) for side in (mine, yours))
    if not (before or now or was):
        return "ids", None, None, None
    same = _common_characters(now, was)
    same = 0 if same == len(now) == len(was) else same
    before += now[:same]
    return (
        "decoded",
        Excerpt(before[-_BEFORE:], at > room or len(before) > _BEFORE),
        Excerpt(now[same : same + _BEHIND], len(mine) > at + room or len(now) > same + _BEHIND),
        Excerpt(was[same : same + _BEHIND], len(yours) > at + room or len(was) > same + _BEHIND),
    )


def _decoded(decode: Decode, ids: bytes) -> str:
    return decode(ids).decode("utf-8", "replace")


def _common_characters(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


class _Place:
    """A token's place in the text of a prompt: character `char` of piece number `piece`."""

    def __init__(self, pieces: Sequence[Piece], piece: int, char: int, rest_of_run: int, has_text: bool) -> None:
        self._pieces = pieces
        self._piece = piece
        self._char = char
        self.rest_of_run = rest_of_run
        """Characters of the token's run from here on."""
        self.has_text = has_text

    @classmethod
    def at(cls, prompt: Prompt, token: int, decode: Decode) -> _Place:
        """The place of token number `token`, or the end of the prompt. A token that begins inside a character has the
        place of that character."""
        pieces = prompt.pieces
        end = 0
        for number, piece in enumerate(pieces):
            begin, end = end, end + piece.token_count
            if token >= end:
                continue
            char = 0
            for run in piece.runs:
                ids = len(run.tokens) // TOKEN_BYTES
                if token < begin + ids:
                    inside = run.tokens[: (token - begin) * TOKEN_BYTES]
                    into = len(decode(inside).decode("utf-8", "ignore")) if inside else 0
                    into = min(into, len(run.text))
                    return cls(pieces, number, char + into, len(run.text) - into, bool(run.text))
                begin += ids
                char += len(run.text)
        last = len(pieces) - 1
        text = pieces[last].text if pieces else ""
        return cls(pieces, max(last, 0), len(text), 0, bool(text))

    def text_from(self, least: int) -> str:
        """The text from here on: what is left of the piece, and more up to `least` characters where there are."""
        parts: list[str] = []
        characters = -self._char
        for piece in self._pieces[self._piece :]:
            parts.append(piece.text)
            characters += len(parts[-1])
            if characters > least:
                break
        return "".join(parts)[self._char :]

    def text_before(self, most: int) -> str:
        """A little more than the last `most` characters ahead of here, where there are so many."""
        text = self._pieces[self._piece].text[: self._char] if self._pieces else ""
        number = self._piece
        while len(text) <= most and number:
            number -= 1
            text = self._pieces[number].text + text
        return text[-most - 1 :]

    def origin_at(self, further: int) -> tuple[Origin, int | None, str]:
        """Where the character `further` behind this one came from, its line there, and the last path ahead of it.

        At the end of the prompt these are of its last character.
        """
        wanted = sum([span.chars for piece in self._pieces[: self._piece] for span in piece.spans])
        wanted += self._char + further
        found, behind, newest = TEMPLATE, "", ""
        end = 0
        for piece in self._pieces:
            for span in piece.spans:
                if not span.chars:
                    continue
                end += span.chars
                found, behind = span.origin, newest
                newest = span.origin.path or newest
                if wanted < end:
                    return found, self._line(found, wanted), behind
        return found, self._line(found, wanted - 1), behind

    def _line(self, origin: Origin, wanted: int) -> int | None:
        """The line of character number `wanted` of the prompt in the text of its origin, from 1."""
        if origin.role == TEMPLATE.role:
            return None
        line, at = 1, 0
        for piece in self._pieces:
            if at > wanted:
                break
            text = piece.text if any([span.origin == origin for span in piece.spans]) else ""
            start = 0
            for span in piece.spans:
                if span.origin == origin and at <= wanted:
                    line += text.count("\n", start, start + min(span.chars, wanted - at))
                start += span.chars
                at += span.chars
        return line
