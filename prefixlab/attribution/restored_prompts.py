"""Prompts with structural breaks undone: what changed is as the earlier request had it.

A request takes from its base, as that is itself restored, all that is equal and all that a fixed break changed; the
rest is its own. So a history that is cut again and again grows on, and an order that was shown first stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, groupby
from typing import NamedTuple

from prefixlab.attribution.alignment import Region, Runs, aligned
from prefixlab.attribution.fix_replay import Encode
from prefixlab.attribution.images_behind import with_images_behind
from prefixlab.attribution.structural_breaks import Structural, Structures, is_of_ids
from prefixlab.attribution.structure import Comparison
from prefixlab.records import Origin, Piece, Prompt, Run, Span

_Atom = tuple[Run, Piece, int]
"""A run with the piece it is in, and its number there; -1 where a fix brought it into the piece."""


class _Restored(NamedTuple):
    """A prompt's runs once it is restored, and where each run of the prompt as logged is now."""

    atoms: list[_Atom]
    starts: list[int]
    tools: Mapping[str, Sequence[_Atom]]
    """The runs of each tool by its text, in their order, where new tools went to the end: inside of such a list nothing
    tells where a run is now."""


class Restorer:
    """Restores the prompts of a log with more and more breaks undone."""

    def __init__(self, prompts: Sequence[Prompt], structures: Structures, encode: Encode) -> None:
        self._prompts = prompts
        self._encode = encode
        self._structures = structures

    def restored(self, fixed: Sequence[Structural]) -> list[Prompt]:
        """The prompts with these breaks undone; those that none of them touches are the same objects."""
        behind = [one for one in fixed if one.moved and not one.is_kept]
        undone = {
            id(one)
            for one in fixed
            if one.kind != "image_position" and not one.lines and (one.is_kept or not one.moved)
        }
        built: list[_Restored | None] = []
        prompts: list[Prompt] = []
        for number, prompt in enumerate(self._prompts):
            base, comparison = self._structures.bases[number], self._structures.comparisons[number]
            # Prompts of bare ids are cut where they differ, so that nothing of one tells a place in another.
            of_base = None if base is None or is_of_ids(prompt) else built[base]
            regions: list[tuple[Region, bool]] = []
            if comparison is not None:
                regions = [
                    (region, id(self._structures.key_of.get((number, at))) in undone)
                    for at, region in enumerate(comparison.regions)
                ]
            if base is None or (of_base is None and not any([is_fixed for _, is_fixed in regions])):
                built.append(None)
                prompts.append(prompt)
                continue
            if comparison is None:
                mine, yours = Runs(prompt.pieces), Runs(self._prompts[base].pieces)
                comparison = Comparison(mine, yours, tuple(aligned(mine, yours)))
                regions = [(region, False) for region in comparison.regions]
            one = _build(comparison, regions, of_base)
            built.append(None if is_of_ids(prompt) else one)
            prompts.append(_prompt(prompt, one.atoms))
        if any([one.kind == "image_position" for one in fixed]):
            prompts = [self._with_images_behind(prompt) for prompt in prompts]
        for moving in [one for one in fixed if one.lines]:
            prompts = [_with_lines_in_order(prompt, moving.path, moving.lines) for prompt in prompts]
        for cause in behind:
            additions = self._additions(cause)
            prompts = [
                self._with_addition_behind(prompt, additions.get(number, cause.moved))
                for number, prompt in enumerate(prompts)
            ]
        return prompts

    def _with_images_behind(self, prompt: Prompt) -> Prompt:
        pieces = with_images_behind(prompt.pieces, self._encode)
        return prompt if pieces == list(prompt.pieces) else _like(prompt, tuple(pieces))

    def _additions(self, moving: Structural) -> dict[int, str]:
        """What stood ahead of the newest message of each request, as far as a later request has it no more."""
        found: dict[int, str] = {}
        for (number, at), cause in self._structures.key_of.items():
            base, comparison = self._structures.bases[number], self._structures.comparisons[number]
            if cause is moving and base is not None and comparison is not None and comparison.regions[at].moved:
                found[base] = comparison.regions[at].moved
        return found

    def _with_addition_behind(self, prompt: Prompt, addition: str) -> Prompt:
        """The prompt with an addition at the head of its newest user message set behind that message's own text."""
        pieces = list(prompt.pieces)
        for number in range(len(pieces) - 1, -1, -1):
            piece = pieces[number]
            if piece.origin.role == "user" and len(piece.spans) == 1:
                if not piece.text.startswith(addition):
                    return prompt
                text = piece.text[len(addition) :].strip() + "\n" + addition.strip()
                runs = self._encode(text, piece.origin)
                pieces[number] = Piece((Span(piece.origin, sum([len(run.text) for run in runs])),), runs)
                return _like(prompt, tuple(pieces))
        return prompt


def _build(comparison: Comparison, regions: Sequence[tuple[Region, bool]], base: _Restored | None) -> _Restored:
    mine, yours = comparison.mine, comparison.yours
    theirs = base if base is not None else _Restored(_atoms(yours), list(range(len(yours.runs) + 1)), {})
    tools = theirs.tools
    ours = _atoms(mine)
    atoms: list[_Atom] = []
    starts: list[int] = []
    at = other = 0

    def take(end: int, other_end: int) -> None:
        """Equal runs, with what was restored between them in the base."""
        if base is None:
            starts.extend(range(len(atoms), len(atoms) + end - at))
            atoms.extend(ours[at:end])
            return
        for place in range(other, other_end):
            first, last = base.starts[place], base.starts[place + 1]
            starts.append(len(atoms))
            if first < last and base.atoms[first][0] is yours.runs[place]:
                atoms.append(ours[at + place - other])
                first += 1
            atoms.extend(base.atoms[first:last])

    for region, is_fixed in regions:
        take(region.start, region.other_start)
        if not is_fixed:
            starts.extend(range(len(atoms), len(atoms) + region.end - region.start))
            atoms.extend(ours[region.start : region.end])
            tools = {} if region.kind in ("tool_set", "tool_order") else tools
        elif region.kind == "tool_set":
            starts.extend([len(atoms)] * (region.end - region.start))
            head, tools, tail = _grown_tools(mine, yours, region, theirs)
            atoms.extend(chain(head, *tools.values(), tail))
        else:
            behind = theirs.atoms[theirs.starts[region.other_start] : theirs.starts[region.other_end]]
            kept = _new_behind(mine, yours, region) if region.kind == "turn_rerendered" else region.end
            starts.extend([len(atoms)] * (kept - region.start))
            atoms.extend(_within(mine, region, behind))
            starts.extend(range(len(atoms), len(atoms) + region.end - kept))
            atoms.extend(ours[kept : region.end])
        at, other = region.end, region.other_end
    take(len(mine.runs), len(yours.runs))
    starts.append(len(atoms))
    return _Restored(atoms, starts, tools)


def _with_lines_in_order(prompt: Prompt, path: str, lines: Mapping[str, Run]) -> Prompt:
    """The prompt with those of some lines that stand at a path in the order in which the log showed them first."""
    ranks = {line: rank for rank, line in enumerate(lines)}
    pieces = list(prompt.pieces)
    for number, piece in enumerate(pieces):
        if all([span.origin.path != path for span in piece.spans]):
            continue
        places = [at for at, run in enumerate(piece.runs) if run.text.strip() in ranks]
        wanted = sorted([piece.runs[at].text.strip() for at in places], key=ranks.__getitem__)
        atoms = [(run, piece, at) for at, run in enumerate(piece.runs)]
        for at, line in zip(places, wanted, strict=True):
            # A line is the same whether others stand behind it or not.
            atoms[at] = (lines[line], piece, -1)
        if any([atom[0] is not run for atom, run in zip(atoms, piece.runs, strict=True)]):
            runs = tuple([run for run, _, _ in atoms])
            pieces[number] = Piece(_spans(piece, [at for _, _, at in atoms], runs), runs)
    return prompt if pieces == list(prompt.pieces) else _like(prompt, tuple(pieces))


def _within(mine: Runs, region: Region, atoms: Sequence[_Atom]) -> Sequence[_Atom]:
    """Runs that come into the middle of a piece become part of it; those in place of whole pieces keep their own."""
    number = mine.piece_at(region.start)
    first, end = mine.firsts[number], mine.firsts[number + 1]
    if region.start < first or region.end > end or (region.start, region.end) in ((first, end), (first, first)):
        return atoms
    piece = mine.pieces[number]
    return [(run, piece, -1) for run, _, _ in atoms]


def _new_behind(mine: Runs, yours: Runs, region: Region) -> int:
    """Where new text begins in a region at the end of the base: behind what its last text began with."""
    if region.other_end < len(yours.runs):
        return region.end
    rest = yours.text(region.other_start, region.other_end)
    text = ""
    for at in range(region.start, region.end):
        text += mine.runs[at].text
        if not rest.startswith(text):
            return at
    return region.end


def _grown_tools(
    mine: Runs, yours: Runs, region: Region, theirs: _Restored
) -> tuple[list[_Atom], dict[str, Sequence[_Atom]], list[_Atom]]:
    """What stands ahead of the list, the list, what stands behind it: the tools of the base that are still there, in
    its order, then new ones."""
    spans, end = _tool_runs(mine)
    ours = _atoms(mine)
    new = {mine.text(*span).strip(): ours[slice(*span)] for span in spans}
    earlier = theirs.tools or {
        yours.text(first, last).strip(): theirs.atoms[theirs.starts[first] : theirs.starts[last]]
        for first, last in _tool_runs(yours)[0]
    }
    tools = {text: atoms for text, atoms in earlier.items() if text in new}
    tools.update({text: atoms for text, atoms in new.items() if text not in tools})
    return ours[region.start : spans[0][0]], tools, ours[end : region.end]


def _tool_runs(runs: Runs) -> tuple[list[tuple[int, int]], int]:
    """The runs of each tool, and the end of the last one."""
    spans: list[tuple[int, int]] = []
    for number, piece in enumerate(runs.pieces):
        at = 0
        for origin, chars in piece.spans:
            if origin.role == "tools":
                spans.append(_runs_between(runs, number, at, at + chars))
            at += chars
    return spans, spans[-1][1]


def _runs_between(runs: Runs, piece: int, start: int, end: int) -> tuple[int, int]:
    """The runs of a piece that hold characters `start:end` of it."""
    first = last = runs.firsts[piece]
    at = 0
    for number in range(runs.firsts[piece], runs.firsts[piece + 1]):
        length = len(runs.runs[number].text)
        if at <= start:
            first = number
        if at < end:
            last = number + 1
        at += length
    return first, last


def _atoms(runs: Runs) -> list[_Atom]:
    return [(run, piece, number) for piece in runs.pieces for number, run in enumerate(piece.runs)]


def _prompt(prompt: Prompt, atoms: Sequence[_Atom]) -> Prompt:
    """The prompt with other runs; pieces that are there as a whole are kept as they are."""
    pieces: list[Piece] = []
    for _, group in groupby(atoms, key=lambda atom: id(atom[1])):
        part = list(group)
        piece = part[0][1]
        numbers = [number for _, _, number in part]
        if numbers == list(range(len(piece.runs))):
            pieces.append(piece)
        else:
            runs = tuple([run for run, _, _ in part])
            pieces.append(Piece(_spans(piece, numbers, runs), runs))
    return _like(prompt, tuple(pieces))


def _spans(piece: Piece, numbers: Sequence[int], runs: Sequence[Run]) -> tuple[Span, ...]:
    """Where the characters of some runs of a piece came from."""
    origins: list[Origin] = []
    for origin, chars in piece.spans:
        origins.extend([origin] * chars)
    spans: list[Span] = []
    firsts = [0]
    for run in piece.runs:
        firsts.append(firsts[-1] + len(run.text))
    foreign = next((origin for origin in origins if origin.path), piece.origin)
    for number, run in zip(numbers, runs, strict=True):
        if number < 0:
            spans.append(Span(foreign, len(run.text)))
            continue
        for origin, group in groupby(origins[firsts[number] : firsts[number + 1]]):
            chars = len(list(group))
            if spans and spans[-1].origin == origin:
                spans[-1] = Span(origin, spans[-1].chars + chars)
            else:
                spans.append(Span(origin, chars))
    return tuple(spans)


def _like(prompt: Prompt, pieces: tuple[Piece, ...]) -> Prompt:
    return Prompt(
        prompt.id,
        prompt.location,
        pieces,
        namespace=prompt.namespace,
        arrived_at=prompt.arrived_at,
        ended_at=prompt.ended_at,
        tags=prompt.tags,
        output_tokens=prompt.output_tokens,
        observed_cached_tokens=prompt.observed_cached_tokens,
        serving=prompt.serving,
        marked_paths=prompt.marked_paths,
    )
