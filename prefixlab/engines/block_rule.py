"""What engines with a block table have in common: whole blocks only, and the last prompt token is always computed."""

from __future__ import annotations

from dataclasses import dataclass

from prefixlab.errors import PrefixlabError


@dataclass(frozen=True, slots=True)
class BlockRule:
    """Reuse in whole blocks of `block_size` tokens, of a prompt without its last token.

    With an unlimited cache this is exact for block tables and for paged radix trees alike: a block is known if and only
    if all tokens up to its end are equal to those of an earlier sequence.
    """

    block_size: int
    min_tokens: int = 0

    def __post_init__(self) -> None:
        if self.block_size < 1:
            raise PrefixlabError(f"a block of {self.block_size} tokens cannot be", "Give --block-size 1 or more")

    def aligned_tokens(self, shared_tokens: int, prompt_tokens: int) -> int:
        blocks = min(shared_tokens // self.block_size, max(prompt_tokens - 1, 0) // self.block_size)
        return blocks * self.block_size

    def last_token_loss(self, shared_tokens: int, prompt_tokens: int) -> int:
        whole = shared_tokens // self.block_size * self.block_size
        return whole - self.aligned_tokens(shared_tokens, prompt_tokens)
