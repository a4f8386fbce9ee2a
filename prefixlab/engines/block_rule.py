"""What engines with a block table have in common: whole blocks only, and the last prompt token is always computed."""

from __future__ import annotations


def aligned_tokens(block_size: int, shared_tokens: int, prompt_tokens: int) -> int:
    """Tokens reused with an unlimited cache: whole blocks of a prompt without its last token.

    This is exact for block tables and for paged radix trees alike: a block is known if and only if all tokens up to its
    end are equal to those of an earlier sequence.
    """
    blocks = min(shared_tokens // block_size, max(prompt_tokens - 1, 0) // block_size)
    return blocks * block_size


def last_token_loss(block_size: int, shared_tokens: int, prompt_tokens: int) -> int:
    """Tokens in whole blocks that only the rule about the last token denies."""
    whole = shared_tokens // block_size * block_size
    return whole - aligned_tokens(block_size, shared_tokens, prompt_tokens)
