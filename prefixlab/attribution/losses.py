"""Where the tokens of a prompt went: disjoint intervals of the prompt, so that no token is counted twice."""

from __future__ import annotations

from prefixlab.contracts import Engine
from prefixlab.findings import Losses, Outcome


def losses_of(outcome: Outcome, aligned_if_fixed: int, shared_if_fixed: int, engine: Engine) -> Losses:
    """The losses of one request; with the cached tokens they are its prompt, exactly.

    Marks on the prompt: `cached <= aligned <= aligned if fixed <= shared if fixed <= prompt`. What lies between
    `aligned if fixed` and `shared if fixed` is denied by the engine: by its last-token rule, or by the block.
    """
    prompt_tokens = outcome.prompt_tokens
    shared = max(aligned_if_fixed, min(shared_if_fixed, prompt_tokens))
    last_token = min(engine.last_token_loss(shared, prompt_tokens), shared - aligned_if_fixed)
    return Losses(
        first_seen=prompt_tokens - shared,
        volatile=aligned_if_fixed - outcome.aligned_tokens,
        partial_block=shared - aligned_if_fixed - last_token,
        last_token=last_token,
        evicted=outcome.aligned_tokens - outcome.cached_tokens,
    )
