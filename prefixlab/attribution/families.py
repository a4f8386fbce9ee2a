"""Families: which prompts were made by one template, whoever sent them.

Two prompts are of one family if a good part of the stable text at their head is the same: the lines of their system,
developer and tool text, or of the whole where a prompt has no roles; where no line is, most of the words. Prompts of
bare token ids have no lines; they are of one family where they share a first block.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from prefixlab.attribution.alike_heads import AlikeHeads, head_of, is_of_few_lines
from prefixlab.prefix_tree import Match
from prefixlab.records import TEMPLATE, TOKEN_BYTES, Namespace, Piece, Prompt, Run

ENOUGH = 0.25
"""Part of the smaller head, in tokens, that must be the same text."""

TEACHERS = 16
"""Distinct heads of a family that make it known; later ones add nothing but their own values."""

MOST_USUAL = 8
"""Families of a namespace that are known by a few of their lines."""

MOST = 0.75
"""Part of these heads that have a run of the skeleton."""


class Families(NamedTuple):
    """The family's number for each prompt, by first appearance, and each family's skeleton.

    A namespace has families of its own. The skeleton is the runs that most of the family's first members have.
    """

    numbers: list[int]
    skeletons: list[frozenset[Run]]


def families_of(prompts: Sequence[Prompt], matches: Sequence[Match], tag: str | None = None) -> Families:
    """Sort prompts into families: by what they have in common, or by a tag that tells the template."""
    if tag is not None:
        return _told(prompts, tag)
    families = _Families()
    numbers: list[int] = []
    for prompt, match in zip(prompts, matches, strict=True):
        if any(run.text for piece in prompt.pieces for run in piece.runs[:1]):
            numbers.append(families.of_text(prompt))
        elif match.matched is not None and match.shared * prompt.unit >= 16:
            numbers.append(numbers[match.matched])
        else:
            numbers.append(families.found())
    return Families(numbers, [families.skeleton(number) for number in range(families.count)])


def _told(prompts: Sequence[Prompt], tag: str) -> Families:
    """Families by a tag; requests without it are one of their namespace."""
    known: dict[tuple[Namespace, str | None], int] = {}
    numbers = [known.setdefault((prompt.namespace, prompt.tags.get(tag)), len(known)) for prompt in prompts]
    seen: list[dict[Run, int]] = [{} for _ in known]
    members = [0] * len(known)
    for prompt, number in zip(prompts, numbers, strict=True):
        if members[number] < TEACHERS:
            members[number] += 1
            for run in {run for piece in prompt.pieces for run in piece.runs}:
                seen[number][run] = seen[number].get(run, 0) + 1
    skeletons = [
        frozenset([run for run, count in runs.items() if count >= MOST * members[number]])
        for number, runs in enumerate(seen)
    ]
    return Families(numbers, skeletons)


def head(prompt: Prompt) -> list[Piece]:
    """The pieces ahead of the first turn: system, developer and tool text; all pieces of a prompt without roles."""
    pieces = []
    for piece in prompt.pieces:
        role = piece.spans[-1].origin.role if piece.spans else ""
        if role in ("user", "assistant", "tool", "function"):
            break
        if not all(span.origin == TEMPLATE for span in piece.spans):
            pieces.append(piece)
    return pieces


class _Families:
    def __init__(self) -> None:
        self.count = 0
        self._of_piece: dict[tuple[Namespace, tuple[int, ...]], int] = {}
        self._kept: list[list[Piece]] = []
        self._of_run: dict[Namespace, dict[Run, dict[int, None]]] = {}
        self._weight: dict[int, int] = {}
        self._members: dict[int, int] = {}
        self._usual: dict[Namespace, dict[int, _Usual]] = {}
        self._seen_in: dict[int, dict[Run, int]] = {}
        self._alike = AlikeHeads()

    def found(self) -> int:
        self.count += 1
        return self.count - 1

    def skeleton(self, family: int) -> frozenset[Run]:
        """The runs that most of the family's known heads have."""
        heads = self._seen_in.get(family, {})
        needed = MOST * min(self._members.get(family, 0), TEACHERS)
        return frozenset([run for run, count in heads.items() if count >= needed])

    def of_text(self, prompt: Prompt) -> int:
        pieces = head(prompt)
        key = (prompt.namespace, tuple([id(piece) for piece in pieces]))
        known = self._of_piece.get(key)
        if known is not None:
            return known
        usual = self._usual.setdefault(prompt.namespace, {})
        for family, lines in usual.items():
            if lines.are_in(pieces):
                return family
        runs: dict[Run, int] = {}
        for piece in pieces:
            for run in piece.runs:
                runs[run] = runs.get(run, 0) + len(run.tokens) // TOKEN_BYTES
        alike = self._most_alike(prompt.namespace, runs)
        compared = head_of(pieces) if alike is None and runs and is_of_few_lines(runs) else None
        if compared is not None:
            alike = self._alike.family(prompt.namespace, compared)
        family = self.found() if alike is None else alike
        if alike is None:
            if compared is not None:
                self._alike.keep(prompt.namespace, compared, family)
            self._weight[family] = sum(runs.values())
        members = self._members[family] = self._members.get(family, 0) + 1
        if members <= TEACHERS:
            of_run = self._of_run.setdefault(prompt.namespace, {})
            seen_in = self._seen_in.setdefault(family, {})
            for run in runs:
                of_run.setdefault(run, {})[family] = None
                seen_in[run] = seen_in.get(run, 0) + 1
            for piece in prompt.pieces:
                # A message of the user may be a template too; its lines do not tell a family, but stay in it.
                if piece.origin.role == "user" and len(piece.runs) > 2:
                    for run in dict.fromkeys(piece.runs):
                        seen_in.setdefault(run, 0)
                        seen_in[run] += run not in runs
            # Keyed by identity, so the pieces must outlive the key.
            self._kept.append(pieces)
            self._of_piece[key] = family
        else:
            if family not in usual and len(usual) < MOST_USUAL:
                usual[family] = _Usual(runs, self.skeleton(family))
        return family

    def _most_alike(self, namespace: Namespace, runs: dict[Run, int]) -> int | None:
        of_run = self._of_run.get(namespace, {})
        votes: dict[int, int] = {}
        for run, weight in runs.items():
            for family in of_run.get(run, ()):
                votes[family] = votes.get(family, 0) + weight
        if not votes:
            return None
        family = max(votes, key=lambda number: votes[number])
        smaller = min(sum(runs.values()), self._weight[family])
        return family if votes[family] >= ENOUGH * smaller else None


class _Usual:
    """The heaviest lines of a family's skeleton: half of a head, by which it is known without a look at the rest."""

    def __init__(self, runs: dict[Run, int], skeleton: frozenset[Run]) -> None:
        self._lines: set[Run] = set()
        weight = 0
        for run in sorted(skeleton.intersection(runs), key=lambda run: (-runs[run], run.text)):
            self._lines.add(run)
            weight += runs[run]
            if weight >= sum(runs.values()) / 2:
                break
        self._is_enough = weight >= sum(runs.values()) / 2

    def are_in(self, pieces: list[Piece]) -> bool:
        """Whether all of these lines are in the head."""
        return self._is_enough and self._lines.issubset(chain.from_iterable([piece.runs for piece in pieces]))
