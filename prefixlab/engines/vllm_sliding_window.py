"""vLLM's cache for hybrids of sliding-window and full attention layers, such as Gemma and gpt-oss.

Follows `v1/core/kv_cache_coordinator.py` and `single_type_kv_cache_manager.py` of vLLM 0.32. Layers form groups of
equal size that share one pool; a block belongs to one group. For a hit every group must have what it needs:

- the group of full layers its longest run of known blocks from the first on;
- each group of sliding layers, within that run, the right-most window: `ceil((window - 1) / block)` known blocks in a
  row, or else the run it has from the first block on.

With sparse retention (an interval of 0) a sliding group keeps of a prompt the window that ends at its last full block
but one token, and the one that ends where the full layers knew more than the sliding ones did: a prefix that prompts
share. So the first of several siblings misses, and the next ones hit. While a prompt is computed step by step, and
while tokens are generated, the blocks that left the window go back to the pool.
"""

from __future__ import annotations

from collections.abc import Sequence

from prefixlab.engine_requests import EngineRequest
from prefixlab.engines.vllm_block_pool import BlockPool

_EMPTY = 1 << 62
"""A block that is held and has no key."""


class SlidingWindowCache:
    """One pool for a group of full layers and `groups` groups of sliding ones."""

    def __init__(
        self,
        pool: BlockPool,
        *,
        usable: int | None,
        block_size: int,
        window: int,
        groups: int,
        retention_interval: int | None,
        step_tokens: int,
    ) -> None:
        self._pool = pool
        self._usable = usable
        self._size = block_size
        self._window = window
        self._needed = -(-(window - 1) // block_size)
        self._groups = groups
        self._interval = retention_interval
        self._step_tokens = step_tokens

    def serve(self, request: EngineRequest) -> int | None:
        size = self._size
        keys = request.block_keys(size)
        stride = self._groups + 1
        full_keys = [key * stride for key in keys]
        window_keys = [[key * stride + number for key in keys] for number in range(1, stride)]
        hit, run = 0, 0
        if not request.prompt_logprobs:
            run = self._known_run(full_keys[: (request.prompt_tokens - 1) // size])
            hit = self._window_hit(window_keys, run)
        steps = self._steps(request, hit * size)
        if self._usable is not None and self._most_blocks(steps, hit) > self._usable:
            return None
        junction = run if run > hit else 0
        self._compute(request, steps, hit, junction, full_keys, window_keys)
        return hit * size

    def _known_run(self, keys: Sequence[int]) -> int:
        known = self._pool.known
        for count, key in enumerate(keys):
            if key not in known:
                return count
        return len(keys)

    def _window_hit(self, window_keys: Sequence[Sequence[int]], most: int) -> int:
        """The right-most end, in blocks, of a window that all sliding groups have."""
        known = self._pool.known
        in_a_row = 0
        for at in range(most - 1, -1, -1):
            if all([keys[at] in known for keys in window_keys]):
                in_a_row += 1
                if in_a_row >= self._needed:
                    return at + in_a_row
            else:
                in_a_row = 0
        return in_a_row

    def _steps(self, request: EngineRequest, computed: int) -> list[tuple[int, int]]:
        """Tokens computed before and after each step of the request."""
        steps = []
        prompt = request.prompt_tokens
        while computed < prompt:
            after = min(computed + self._step_tokens, prompt)
            steps.append((computed, after))
            computed = after
        steps += [(at, at + 1) for at in range(prompt, request.sequence_tokens)]
        return steps

    def _left(self, computed: int) -> int:
        """Blocks that no later token looks at once so many tokens are computed."""
        return max(computed - self._window + 1, 0) // self._size

    def _most_blocks(self, steps: Sequence[tuple[int, int]], hit: int) -> int:
        """The most blocks that the request holds at one time."""
        most = 0
        for before, after in steps:
            held = -(-after // self._size)
            most = max(most, held + self._groups * (held - min(self._left(before), held)))
        return most

    def _compute(
        self,
        request: EngineRequest,
        steps: Sequence[tuple[int, int]],
        hit: int,
        junction: int,
        full_keys: Sequence[int],
        window_keys: Sequence[Sequence[int]],
    ) -> None:
        """Take, key and give back blocks step by step, in the engine's order: the sliding groups first."""
        pool, size = self._pool, self._size
        left = min(self._left(hit * size), hit)
        windows: list[list[int | None]] = []
        for keys in window_keys:
            windows.append([None] * left + list(pool.touch(keys[left:hit])))
        full = pool.touch(full_keys[:hit])
        full_empties = 0
        cached = hit
        ends = (request.prompt_tokens - 1) // size, junction
        for before, after in steps:
            gone = self._left(before)
            if gone:
                for blocks in windows:
                    self._leave(blocks, min(gone, len(blocks)))
            held = -(-after // size)
            for blocks in windows:
                if held > len(blocks):
                    pool.take(held - len(blocks))
                    blocks.extend([_EMPTY] * (held - len(blocks)))
            if held > len(full) + full_empties:
                pool.take(held - len(full) - full_empties)
                full_empties = held - len(full)
            done = min(after // size, len(full_keys))
            if done > cached:
                for keys, blocks in zip(window_keys, windows, strict=True):
                    for at in range(cached, done):
                        if blocks[at] is not None and self._keeps(at, ends):
                            blocks[at] = pool.register(keys[at : at + 1])[0]
                new = pool.register(full_keys[cached:done])
                full += new
                full_empties -= len(new)
                cached = done
        for blocks in windows:
            self._leave(blocks, len(blocks))
        pool.give_back(full, full_empties)

    def _keeps(self, at: int, ends: tuple[int, int]) -> bool:
        """Whether a sliding group gives block `at` its key."""
        if self._interval is None:
            return True
        if self._interval:
            segment = self._interval // self._size
            if self._needed >= segment or at % segment >= segment - self._needed:
                return True
        return any([end - self._needed <= at < end for end in ends])

    def _leave(self, blocks: list[int | None], end: int) -> None:
        """Give back the first blocks of a sliding group up to `end`, from behind to the first that is gone already."""
        start = end
        while start and blocks[start - 1] is not None:
            start -= 1
        going = [block for block in blocks[start:end] if block is not None]
        blocks[start:end] = [None] * (end - start)
        empties = going.count(_EMPTY)
        self._pool.give_back([block for block in going if block != _EMPTY], empties)
