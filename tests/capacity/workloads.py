"""Random small logs in which prompts share much: prefixes of others, cut, repeated and gone on with."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.capacity.block_table import Served

BLOCK = 3


@st.composite
def logs(draw: st.DrawFn, *, most: int = 14, whole: bool = True) -> list[Served]:
    """A log of at most `most` requests. Unless `whole`, no prompt ends where a block does."""
    sequences: list[tuple[int, ...]] = [()]
    log: list[Served] = []
    fresh = 100
    for _ in range(draw(st.integers(1, most))):
        earlier = sequences[draw(st.integers(0, len(sequences) - 1))]
        kept = draw(st.integers(0, len(earlier)))
        added = draw(st.integers(0, 9))
        prompt = earlier[:kept] + tuple(range(fresh, fresh + added))
        fresh += added
        if not whole and len(prompt) % BLOCK == 0:
            prompt += (fresh,)
            fresh += 1
        generated = tuple(range(fresh, fresh + draw(st.integers(0, 4))))
        fresh += len(generated)
        log.append(Served(prompt, generated))
        sequences.append(prompt + generated)
    return log
