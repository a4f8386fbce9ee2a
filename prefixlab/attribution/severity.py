"""How much a finding matters: by the tokens at stake and by how often it strikes."""

from __future__ import annotations


def severity_of(share: float, rate: float, tokens: int) -> str:
    """`high`, `medium`, `low` or `info`.

    `share` is the finding's tokens over all prompt tokens, `rate` the requests it breaks over all warm requests,
    `tokens` what can be had by fixing it.
    """
    if not tokens:
        return "info"
    if share >= 0.10 and rate >= 0.5:
        return "high"
    if share >= 0.02 and rate >= 0.25:
        return "medium"
    return "low"
