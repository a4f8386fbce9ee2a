"""Causes that only ids show: a begin-of-sequence token that is there twice, and answers that were encoded again."""

from __future__ import annotations

from prefixlab.attribution.alignment import Region, Runs
from prefixlab.attribution.structure import Comparison
from prefixlab.prefix_tree import Match
from prefixlab.records import TOKEN_BYTES, Piece, Prompt, Run

MOST_UNLIKE = 64
"""Ids of an answer that may differ in a row before the two are the same again."""
LEAST_SAME = 4
"""Ids that must be the same again behind them."""


def id_region(prompt: Prompt, base: Prompt, match: Match) -> Comparison | None:
    """Compare two prompts of bare ids; the base with what was generated behind it."""
    mine, theirs = prompt.tokens, base.tokens + base.output_tokens
    at = _common(mine, theirs)
    found = _double_bos(mine, theirs, at) or _retokenised(mine, theirs, at, len(base.tokens))
    if found is None:
        return None
    kind, start, end, other_start, other_end, evidence = found
    ours = _cut(mine, start, end)
    yours = _cut(theirs, other_start, other_end)
    region = Region(1, 2, 1, 2, kind, "prompt_token_ids", evidence)
    return Comparison(ours, yours, (region,))


_Found = tuple[str, int, int, int, int, str]


def _double_bos(mine: bytes, theirs: bytes, at: int) -> _Found | None:
    first = mine[:TOKEN_BYTES]
    if at != TOKEN_BYTES or first != theirs[:TOKEN_BYTES]:
        return None
    two = 2 * TOKEN_BYTES
    reach = LEAST_SAME * TOKEN_BYTES
    for long, short, is_mine in ((mine, theirs, True), (theirs, mine, False)):
        same = long[two : two + reach] == short[TOKEN_BYTES : TOKEN_BYTES + reach] != b""
        if long[TOKEN_BYTES:two] == first and same:
            evidence = f"id {int.from_bytes(first, 'little')} stands twice at the head of " + (
                "this prompt" if is_mine else "the earlier one"
            )
            if is_mine:
                return "double_bos", TOKEN_BYTES, two, TOKEN_BYTES, TOKEN_BYTES, evidence
            return "double_bos", TOKEN_BYTES, TOKEN_BYTES, TOKEN_BYTES, two, evidence
    return None


def _retokenised(mine: bytes, theirs: bytes, at: int, prompt_end: int) -> _Found | None:
    """A break in what was generated, behind which the ids are the same again at another distance."""
    if at < prompt_end or at >= len(theirs) or at >= len(mine):
        return None
    reach = LEAST_SAME * TOKEN_BYTES
    for total in range(1, 2 * MOST_UNLIKE):
        for gone in range(min(total, MOST_UNLIKE) + 1):
            came = total - gone
            start, other = at + came * TOKEN_BYTES, at + gone * TOKEN_BYTES
            window = theirs[other : other + reach]
            is_long = bool(window) and len(window) >= min(reach, len(theirs) - at) // 2
            if came <= MOST_UNLIKE and is_long and mine[start : start + len(window)] == window:
                evidence = f"{gone} generated ids came back as {came} others"
                return "retokenised", at, start, at, other, evidence
    return None


def _cut(tokens: bytes, start: int, end: int) -> Runs:
    """The ids as three runs: ahead of the region, the region, behind it."""
    runs = (Run("", tokens[:start]), Run("", tokens[start:end]), Run("", tokens[end:]))
    return Runs((Piece((), runs),))


def _common(one: bytes, other: bytes) -> int:
    """Bytes, in whole ids, that two sequences have in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low - low % TOKEN_BYTES
