"""Which earlier request a request continues: the one to compare it with, also where its prefix is lost early.

The best match by tokens is that one for a conversation that only grows. Where history was trimmed or rewritten, the
match ends in the system text, which all conversations share; then the request that has most of the same turns is it.
"""

from __future__ import annotations

from collections.abc import Sequence

from prefixlab.attribution.differences import is_turn
from prefixlab.prefix_tree import Match
from prefixlab.records import Prompt, Run

LEAST_TOKENS = 4
"""A turn of fewer tokens, such as `Yes.`, tells nothing."""


def bases_of(
    prompts: Sequence[Prompt], matches: Sequence[Match], families: Sequence[int], partners: Sequence[int | None]
) -> list[int | None]:
    """For each request the earlier one of its family that it is a changed form of, or None."""
    latest: dict[tuple[int, tuple[Run, ...]], int] = {}
    bases: list[int | None] = []
    for number, (prompt, family, partner) in enumerate(zip(prompts, families, partners, strict=True)):
        match = matches[number]
        turns = [
            piece for piece in dict.fromkeys(prompt.pieces) if is_turn(piece) and piece.token_count >= LEAST_TOKENS
        ]
        base = partner
        if partner is None or match.matched != partner or match.shared < _whole(prompts[partner]):
            votes: dict[int, int] = {}
            for piece in turns:
                seen = latest.get((family, piece.runs))
                if seen is not None:
                    votes[seen] = votes.get(seen, 0) + piece.token_count
            if votes:
                best = max(votes, key=lambda other: (votes[other], other))
                if partner is None or votes[best] > votes.get(partner, 0):
                    base = best
        bases.append(base)
        for piece in turns:
            latest[family, piece.runs] = number
    return bases


def _whole(prompt: Prompt) -> int:
    """Ids of a prompt up to its last turn: what a request that continues it shares at least."""
    ids = 0
    reached = 0
    for piece in prompt.pieces:
        ids += piece.token_count
        if is_turn(piece):
            reached = ids
    return reached
