"""A log replayed with one cause fixed more at a time, front to back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from prefixlab.attribution.families import Families
from prefixlab.attribution.fix_replay import Encode, FixReplay, Hole, Replayed, Target
from prefixlab.attribution.fixed_log import FixedLog, FixedReuse
from prefixlab.attribution.half_measures import MOST_PAYING, Paying
from prefixlab.attribution.restored_prompts import Restorer
from prefixlab.attribution.sites import Located, relocated
from prefixlab.attribution.structural_breaks import Structural, Structures
from prefixlab.contracts import Engine
from prefixlab.findings import Outcome
from prefixlab.records import Prompt

TRIAL_REQUESTS = 256
"""Requests on which the place of a moved value is chosen."""


class Step(NamedTuple):
    """A cause fixed: the aligned tokens that this won, and the cached tokens of the log with it and those before it."""

    cause: Hole | Structural
    target: Target
    gain: int
    cached: int
    pays: bool
    is_known: bool


class Climbed(NamedTuple):
    """All causes fixed in turn, and what every request could reuse with those fixed that win something."""

    steps: list[Step]
    won: int
    """Steps up to the last that wins something."""
    aligned_tokens: list[int]
    shared_tokens: list[int]
    use: FixedReuse
    paying: list[Paying]
    """The steps that win most, with their replays."""


class Climbing(NamedTuple):
    """A log to be replayed with one cause fixed more at a time."""

    prompts: Sequence[Prompt]
    families: Families
    outcomes: Sequence[Outcome]
    engine: Engine
    encode: Encode
    cuts: bool
    sites: Located
    structures: Structures
    serve: Callable[[FixedLog], FixedReuse] | None
    written: int

    def first(self, count: int) -> Climbing:
        """The same with the first requests alone, in an unlimited cache."""
        return self._replace(
            prompts=self.prompts[:count],
            families=self.families._replace(numbers=self.families.numbers[:count]),
            outcomes=self.outcomes[:count],
            sites={site: found[:count] for site, found in self.sites.items()},
            serve=None,
        )

    def climb(
        self, causes: Sequence[tuple[bool, Hole | Structural]], targets: Mapping[Hole, Target] | None = None
    ) -> tuple[Climbed, Climber]:
        """Fix one cause after the other; also what has all of them fixed. `targets` says where values go; else
        each goes where it wins more when its turn comes."""
        climber = Climber(self, targets or {})
        best = [outcome.aligned_tokens for outcome in self.outcomes]
        shared = [outcome.raw_shared_tokens for outcome in self.outcomes]
        cached = sum([outcome.cached_tokens for outcome in self.outcomes])
        use = FixedReuse(cached, self.written, sum([outcome.prompt_tokens for outcome in self.outcomes]))
        steps: list[Step] = []
        most = sum(best)
        paying: list[Paying] = []
        together: list[Hole] = []
        reached = Climbed(steps, 0, best, shared, use, paying)
        for is_known, cause in causes:
            target, replayed = climber.fix(cause, best)
            aligned = climber.aligned(replayed)
            better = [max(pair) for pair in zip(best, aligned, strict=True)]
            gain = sum(better) - sum(best)
            before, best = best, better
            if gain:
                use = FixedReuse(sum(best), 0, use.prompt_tokens) if self.serve is None else self.serve(replayed.log)
                reached = Climbed(steps, len(steps) + 1, best, climber.shared(replayed), reached.use, paying)
            # Some requests win by a fix and others lose by it: it pays if the log as a whole has won.
            pays = sum(aligned) > most
            together = [*together, cause] if isinstance(cause, Hole) else []
            if gain:
                if pays and together and not is_known:
                    paying.append(Paying(climber.replay, dict(climber.replay.fixed), tuple(together), before, gain))
                    # Each may hold a log of its own.
                    paying[:] = sorted(paying, key=lambda step: -step.gain)[:MOST_PAYING]
                together = []
            steps.append(Step(cause, target, gain, use.cached_tokens, pays, is_known))
            if pays:
                most = sum(aligned)
                reached = reached if is_known else reached._replace(use=use)
            # A replay holds its whole log; the next one need not stand beside it.
            del replayed
        return reached, climber


class Climber:
    """Fixes one cause more at a time and replays the log."""

    def __init__(self, log: Climbing, targets: Mapping[Hole, Target]) -> None:
        self._log = log
        self._targets = targets
        self._restorer = Restorer(log.prompts, log.structures, log.encode)
        self._undone: list[Structural] = []
        self._restored: Sequence[Prompt] = log.prompts
        self.replay = FixReplay(log.prompts, log.sites, log.engine, log.encode, cuts=log.cuts)
        self._kept = [0] * len(log.prompts)
        """Tokens of additions that the restored history of each request keeps."""

    def fix(self, cause: Hole | Structural, best: Sequence[int]) -> tuple[Target, Replayed]:
        """Fix a cause beside those before it."""
        if isinstance(cause, Hole):
            return self.replay.fix(cause, TRIAL_REQUESTS, best, self._targets.get(cause))
        log, before, kept = self._log, self._restored, self._kept
        cause.is_kept = False
        self._undone.append(cause)
        replayed = self._undo()
        if cause.moved:
            # An addition at the head of the newest message is gone from there a turn later. It can be set behind its
            # message, or kept there as the earlier request had it. A history that keeps it has tokens that the request
            # as logged has not: those are no gain, only what is reused of the request as logged counts. So both ways
            # give the message, and keeping it gives also what stands behind it: the template's few tokens, and the
            # answer where that was generated from it. It is kept where that is more than a block a request; for less
            # no history need grow.
            behind = self._gained(best, replayed)
            cause.is_kept = True
            grown = self._undo()
            pairs = zip(kept, self._restored, before, strict=True)
            self._kept = [more + max(one.token_count - other.token_count, 0) for more, one, other in pairs]
            if self._gained(best, grown) > behind + log.engine.granularity * len(cause.requests):
                return "own", grown
            cause.is_kept, self._kept = False, kept
            replayed = self._undo()
        return "own", replayed

    def _undo(self) -> Replayed:
        """Replay the log with the breaks undone so far, beside the holes that are fixed."""
        log = self._log
        self._restored = self._restorer.restored(self._undone)
        sites = relocated(log.sites, log.prompts, self._restored, log.families.numbers)
        fixed = self.replay.fixed
        self.replay = FixReplay(self._restored, sites, log.engine, log.encode, cuts=log.cuts, fixed=fixed)
        return self.replay.again()

    def _gained(self, best: Sequence[int], replayed: Replayed) -> int:
        return sum(map(max, best, self.aligned(replayed)))

    def shared(self, replayed: Replayed) -> list[int]:
        """What every request as logged shares."""
        return [max(tokens - kept, 0) for tokens, kept in zip(replayed.shared_tokens, self._kept, strict=True)]

    def aligned(self, replayed: Replayed) -> list[int]:
        """What an unlimited cache reuses of every request, at most what its length as logged allows."""
        log = self._log
        step = log.engine.granularity
        rounded = log.engine.aligned_tokens
        aligned = []
        for number, (tokens, outcome) in enumerate(zip(replayed.aligned_tokens, log.outcomes, strict=True)):
            most, kept = outcome.prompt_tokens, self._kept[number]
            if kept and log.engine.is_rule_exact:
                tokens = rounded(min(max(replayed.shared_tokens[number] - kept, 0), most), most)
            elif kept:
                tokens = max(tokens - kept, 0) // step * step
            aligned.append(min(tokens, max(most - 1, 0) // step * step))
        if not log.engine.is_rule_exact:
            return aligned
        # What is shared no further than as logged is not won by a fix, whatever the engine denies of it.
        return [
            tokens if shared > outcome.raw_shared_tokens else min(tokens, outcome.aligned_tokens)
            for tokens, shared, outcome in zip(aligned, self.shared(replayed), log.outcomes, strict=True)
        ]
