"""The boundary token: the last token of a prompt that merges with what the next turn writes behind it.

A prompt that only grows is not always a prefix of its successor in tokens: `?` and `?` + newline are two different
tokens. The text is a prefix, the tokens are not, and the engine cannot reuse the token in which they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prefixlab.attribution.differences import first_unlike
from prefixlab.attribution.quoting import quoted
from prefixlab.findings import Break, Outcome
from prefixlab.prefix_tree import Match
from prefixlab.records import TEMPLATE, TOKEN_BYTES, Prompt

Decode = Callable[[bytes], bytes]


def boundary_break(
    prompts: Sequence[Prompt],
    matches: Sequence[Match],
    outcomes: Sequence[Outcome],
    behind: Sequence[int],
    decode: Decode,
    rank: int,
) -> Break | None:
    """The row for prompts whose text goes on where an earlier one ended, but whose tokens part before that end.
    `behind` are the tokens behind each request's first break that no other row has."""
    requests = 0
    lost = 0
    evidence = ""
    path = ""
    for number, (prompt, match) in enumerate(zip(prompts, matches, strict=True)):
        if match.matched is None:
            continue
        other = prompts[match.matched]
        ended = sum([piece.token_count for piece in other.pieces])
        if match.shared >= ended or ended - match.shared > 4 or not _goes_on(prompt, other):
            continue
        requests += 1
        lost += min(ended - match.shared, behind[number])
        if not evidence:
            path = next((piece.origin.path for piece in reversed(other.pieces) if piece.origin != TEMPLATE), "")
            evidence = _evidence(prompt.tokens, other.tokens, match.shared, decode)
    if not requests:
        return None
    prompt_tokens = sum([outcome.prompt_tokens for outcome in outcomes])
    return Break(
        rank=rank,
        kind="boundary_token",
        path=path,
        requests=requests,
        lost_tokens=lost,
        recoverable_tokens=0,
        reuse_after_fix=sum([outcome.aligned_tokens for outcome in outcomes]) / prompt_tokens,
        cached_reuse_after_fix=sum([outcome.cached_tokens for outcome in outcomes]) / prompt_tokens,
        level="messages_changed",
        severity="info",
        confidence="high",
        evidence=evidence,
        advice="Nothing to fix in the prompt. End a turn with text that does not merge with what follows, "
        "such as the template's own end-of-turn token, where that token matters.",
    )


def _goes_on(prompt: Prompt, other: Prompt) -> bool:
    """Whether the prompt's text starts with the other's whole text."""
    first = first_unlike(prompt.pieces, other.pieces)
    rest = "".join([piece.text for piece in other.pieces[first:]])
    mine_from_there = ""
    for piece in prompt.pieces[first:]:
        mine_from_there += piece.text
        if len(mine_from_there) > len(rest):
            break
    return bool(rest) and len(mine_from_there) > len(rest) and mine_from_there.startswith(rest)


def _evidence(tokens: bytes, other: bytes, shared: int, decode: Decode) -> str:
    at = shared * TOKEN_BYTES
    was = decode(other[at : at + TOKEN_BYTES]).decode("utf-8", "backslashreplace")
    became = decode(tokens[at : at + TOKEN_BYTES]).decode("utf-8", "backslashreplace")
    return f"{quoted(was)} became {quoted(became)}"
