"""Where the tokens of a prompt went: disjoint intervals of the prompt, so that no token is counted twice."""

from __future__ import annotations

from collections.abc import Sequence

from prefixlab.contracts import Engine
from prefixlab.findings import Losses, Outcome


def losses_of(
    outcome: Outcome, local: int, alive: int, aligned_if_fixed: int, shared_if_fixed: int, engine: Engine
) -> Losses:
    """The losses of one request; with the cached tokens they are its prompt, exactly.

    Marks on the prompt: `cached <= alive <= local <= aligned <= aligned if fixed <= shared if fixed <= prompt`. `local`
    is what an unlimited cache of the request's server would have had, `alive` what of it had not expired. What lies
    between `aligned if fixed` and `shared if fixed` is denied by the engine: by its minimum, by its last-token rule, or
    by the block.
    """
    prompt_tokens = outcome.prompt_tokens
    shared = max(aligned_if_fixed, min(shared_if_fixed, prompt_tokens))
    denied = shared - aligned_if_fixed
    last_token = min(engine.last_token_loss(shared, prompt_tokens), denied)
    below_minimum = 0
    if not aligned_if_fixed and min(shared, prompt_tokens) < engine.min_tokens:
        whole = shared - shared % engine.granularity
        below_minimum = min(max(whole - last_token, 0), denied - last_token)
    return Losses(
        first_seen=prompt_tokens - shared,
        volatile=aligned_if_fixed - outcome.aligned_tokens,
        partial_block=denied - last_token - below_minimum,
        last_token=last_token,
        below_minimum=below_minimum,
        evicted=alive - outcome.cached_tokens,
        expired=local - alive,
        isolated=outcome.aligned_tokens - local,
    )


def lost_by_cause(
    outcomes: Sequence[Outcome], losses: Sequence[Losses], foreign: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Of each request the tokens behind its first break, and of its `foreign` tokens those that are lost to its
    namespace; what routing, a lifetime or a minimum denies stands in the rows of those, and no token in two rows."""
    behind, denied = [], []
    for outcome, one, tokens in zip(outcomes, losses, foreign, strict=True):
        left = outcome.prompt_tokens - outcome.cached_tokens - one.isolated - one.expired - one.below_minimum
        denied.append(min(tokens, left))
        behind.append(min(outcome.prompt_tokens - outcome.raw_shared_tokens, left - denied[-1]))
    return behind, denied
