"""The requests of a log as chains of blocks, each said by how much of it is an earlier request's.

The full blocks of a request are a path in a tree: the first `shared` of them are those of its partner, the others are
new. No block is an object or a number of its own; a log of millions of blocks is a few lists with one number a request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from prefixlab.prefix_tree import Match
from prefixlab.records import TOKEN_BYTES, Prompt


class Chains(NamedTuple):
    """One entry a request, in order of arrival. All figures but `block_size` (tokens) are blocks or indices."""

    block_size: int
    full: list[int]
    """Blocks that can be reused later: the whole ones of the prompt and of the generated tokens but the last."""
    need: list[int]
    """Blocks held while the request runs: `full`, and one more where the last is not full. None in a store."""
    limit: list[int]
    """Blocks of the prompt that may come from the cache: whole ones, without the prompt's last token; none where
    log-probabilities of the prompt's own tokens were asked for."""
    shared: list[int]
    """Leading blocks that are `partner`'s; 0 where there is none."""
    partner: list[int]
    """The latest earlier request with that many of these blocks; the request itself where there is none."""
    prompt_tokens: list[int]

    @property
    def largest(self) -> int:
        """Blocks that the largest request needs to run: the smallest cache that refuses none."""
        return max(self.need, default=0)


def chains_of(
    prompts: Sequence[Prompt], matches: Sequence[Match], block_size: int, *, is_store: bool = False
) -> Chains:
    """The chains of prompts that were matched with one another, in blocks of `block_size` tokens.

    A store stands beside an engine: requests do not run in it, so it need not hold all of one, and it reads whatever
    was asked for.
    """
    chains = Chains(block_size, [], [], [], [], [], [])
    full, need, limit, shared, partner, lengths = chains[1:]
    # In a trace the last id may stand for less than a block. Where a later prompt has that id too, it must look for
    # the block itself further back, at the partner's partner.
    twins: dict[int, int] = {}
    for number, (prompt, match) in enumerate(zip(prompts, matches, strict=True)):
        tokens = prompt.token_count + len(prompt.output_tokens) // TOKEN_BYTES
        own = tokens // block_size
        common, other = 0, number
        if match.kept_by is not None:
            common, other = min(match.kept * prompt.unit // block_size, own), match.kept_by
            if common > full[other]:
                known = other
                while full[known] < common and known in twins:
                    known = twins[known]
                common, other = min(common, full[known]), known
            if prompt.unit > 1 and match.kept * prompt.unit > prompt.token_count:
                twins[number] = match.kept_by
            if not common:
                other = number
        full.append(own)
        need.append(0 if is_store else -(-tokens // block_size))
        reads = is_store or not prompt.serving.prompt_logprobs
        limit.append(min(max(prompt.token_count - 1, 0) // block_size, own) if reads else 0)
        shared.append(common)
        partner.append(other)
        lengths.append(prompt.token_count)
    return chains
