"""How a request differs in structure from the one it continues: stretches of text, each with the kind of its cause.

Prompts are aligned piece by piece and, where two pieces stand in one place, run by run. What kind a stretch is of is
decided by the parts it belongs to: the list of tools, the turns of the conversation, request parameters, or the form of
a text. A stretch that is none of these holds a value, or is new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from prefixlab.attribution.alignment import Region, Runs, Whole, aligned, joined, without
from prefixlab.attribution.differences import first_unlike
from prefixlab.attribution.form_kinds import form_kind, is_mostly_permuted
from prefixlab.attribution.parts import Outline, outline, texts
from prefixlab.attribution.places import PARAMETERS
from prefixlab.attribution.quoting import around_blanks, shortened
from prefixlab.attribution.tool_lists import tools_kind
from prefixlab.attribution.turn_kinds import Label, Labels, label_turns
from prefixlab.records import Origin, Prompt

IMAGE = "<|image_pad|>"


class Comparison(NamedTuple):
    """Two prompts aligned; regions stand front to back and do not overlap."""

    mine: Runs
    yours: Runs
    regions: tuple[Region, ...]


def continues(prompt: Prompt, base: Prompt) -> bool:
    """Whether a prompt has all of an earlier one's text at its head, so that nothing is lost between them."""
    first = first_unlike(prompt.pieces, base.pieces)
    if first == len(base.pieces):
        return True
    if any([piece.text.startswith(IMAGE) for piece in base.pieces[first:]]):
        # The text of an image is the same for all of them.
        return False
    rest = "".join([piece.text for piece in base.pieces[first:]])
    if len(rest) > 1 << 16:
        return False
    text = ""
    for piece in prompt.pieces[first:]:
        text += piece.text
        if len(text) >= len(rest):
            break
    return text.startswith(rest)


def compare(prompt: Prompt, base: Prompt) -> Comparison:
    """Align a prompt with the one it continues, and name the kinds."""
    mine, yours = Runs(prompt.pieces), Runs(base.pieces)
    ours, theirs = outline(prompt), outline(base)
    labels = Labels({}, {})
    whole = label_turns(ours.turns, theirs.turns, labels)
    tools = _tools(ours, theirs)
    regions = aligned(mine, yours, whole if tools is None else [tools, *whole])
    regions = _labelled(regions, mine, yours, labels)
    regions = _with_forms(regions, mine, yours)
    return Comparison(mine, yours, tuple(_with_template(regions, mine, yours, ours)))


# --- kinds ------------------------------------------------------------------------------------------------------------


def _tools(ours: Outline, theirs: Outline) -> Whole | None:
    """The list of tools, where its order, its members, or the form of one changed."""
    if not (ours.tools and theirs.tools) or texts(ours.tools) == texts(theirs.tools):
        return None
    kind, evidence = tools_kind(texts(ours.tools), texts(theirs.tools))
    if kind == "tool_text":
        # A value in a description is found as values are.
        return None
    return Whole(
        ours.tools[0].piece,
        ours.tools[-1].last_piece + 1,
        theirs.tools[0].piece,
        theirs.tools[-1].last_piece + 1,
        kind,
        "tools",
        evidence,
    )


def _labelled(regions: Iterable[Region], mine: Runs, yours: Runs, labels: Labels) -> list[Region]:
    named = []
    for region in regions:
        label = None if region.kind else _label_of(region, mine, yours, labels)
        named.append(region if label is None else Region(*region[:4], *label))
    return named


def _label_of(region: Region, mine: Runs, yours: Runs, labels: Labels) -> Label | None:
    for runs, start, end, known in (
        (mine, region.start, region.end, labels.mine),
        (yours, region.other_start, region.other_end, labels.yours),
    ):
        if start < end:
            for piece in range(runs.piece_at(start), runs.piece_at(end - 1) + 1):
                if piece in known:
                    return known[piece]
    return None


def _with_forms(regions: list[Region], mine: Runs, yours: Runs) -> list[Region]:
    """Texts that are the same but for their form: first a piece as a whole, then each region."""
    by_piece: dict[tuple[int, int], list[Region]] = {}
    for region in regions:
        if region.kind is None:
            pair = mine.piece_at(region.start), yours.piece_at(region.other_start)
            by_piece.setdefault(pair, []).append(region)
    for (one, other), inside in by_piece.items():
        piece, before = mine.pieces[one], yours.pieces[other]
        path = next((span.origin.path for span in piece.spans if span.origin.path), "")
        if not path or piece.text == before.text or not any([span.origin.path == path for span in before.spans]):
            continue
        kind = form_kind(piece.text, before.text)
        first, last = inside[0], inside[-1]
        now, then = mine.text(first.start, last.end), yours.text(first.other_start, last.other_end)
        kind = kind or form_kind(now, then)
        if kind is not None:
            new = Region(
                first.start, last.end, first.other_start, last.other_end, kind, path, _form_evidence(kind, now, then)
            )
            regions = joined(regions, new)
            continue
        count = _reordered(mine, yours, first.start, mine.firsts[one + 1], first.other_start, yours.firsts[other + 1])
        if count:
            ends = first.start, first.start + count, first.other_start, first.other_start + count
            regions = without(regions, *ends)
            regions = joined(regions, Region(*ends, "permuted", path, _form_evidence("permuted", "", "")))
            continue
        if is_mostly_permuted(
            [run.text for run in mine.runs[first.start : last.end]],
            [run.text for run in yours.runs[first.other_start : last.other_end]],
        ):
            ahead, behind = _still(
                [run.text.strip() for run in mine.runs[first.start : last.end]],
                [run.text.strip() for run in yours.runs[first.other_start : last.other_end]],
            )
            ends = first.start + ahead, last.end - behind, first.other_start + ahead, last.other_end - behind
            regions = without(regions, *ends)
            regions = joined(regions, Region(*ends, "permuted", path, _form_evidence("permuted", "", "")))
            continue
        for region in inside:
            now, then = mine.text(region.start, region.end), yours.text(region.other_start, region.other_end)
            kind = form_kind(now, then)
            if kind is not None:
                at = regions.index(region)
                regions[at] = region._replace(kind=kind, path=path, evidence=_form_evidence(kind, now, then))
    return regions


def _reordered(mine: Runs, yours: Runs, start: int, end: int, other_start: int, other_end: int) -> int:
    """How many lines from a place on are the other's in another order: the most that are."""
    left: Counter[str] = Counter()
    most = unlike = 0
    for count in range(min(end - start, other_end - other_start)):
        now, then = mine.runs[start + count].text.strip(), yours.runs[other_start + count].text.strip()
        unlike += now != then
        for line, one in ((now, 1), (then, -1)):
            left[line] += one
            if not left[line]:
                del left[line]
        if not left and unlike > 1:
            most = count + 1
    return most


def _still(now: Sequence[str], then: Sequence[str]) -> tuple[int, int]:
    """How many lines ahead of those that changed their places, and behind them, stay where they are or hold values."""
    common = set(now) & set(then)
    counts = []
    for ours, theirs in ((now, then), (now[::-1], then[::-1])):
        count = 0
        for one, other in zip(ours, theirs, strict=False):
            if one != other and (one in common or other in common):
                break
            count += 1
        counts.append(count)
    return counts[0], counts[1]


def _form_evidence(kind: str, now: str, then: str) -> str:
    if kind == "permuted":
        return "the same blocks in another order"
    if kind == "whitespace":
        return f"{around_blanks(then, now)} became {around_blanks(now, then)}"
    return f"{shortened(then)} became {shortened(now)}"


def _with_template(regions: Iterable[Region], mine: Runs, yours: Runs, ours: Outline) -> Iterable[Region]:
    """Parameters of the request, images ahead of text, and turns that the template renders otherwise once they are
    history."""
    first_turn = min([turn.first_piece for turn in ours.turns], default=len(mine.pieces))
    for region in regions:
        if region.kind is not None:
            yield region
            continue
        origins = _origins(mine, region.start, region.end) + _origins(yours, region.other_start, region.other_end)
        path = next((origin.path for origin in origins if origin.path.startswith(PARAMETERS)), "")
        if path:
            now, then = mine.text(region.start, region.end), yours.text(region.other_start, region.other_end)
            yield region._replace(
                kind="head_parameter", path=path, evidence=f"{shortened(then)} became {shortened(now)}"
            )
        elif images := _images(region, mine, yours):
            path = next((path for path, is_ahead in images if is_ahead), "")
            if path:
                region = region._replace(kind="image_position", path=path, evidence="an image stands ahead of its text")
            yield region
        elif region.other_end == len(yours.runs) and _is_template(yours, region) and ours.turns:
            piece = mine.piece_at(region.start)
            if piece > first_turn:
                path = next(
                    (f"messages[{turn.number}].content" for turn in ours.turns if turn.last_piece >= piece), "messages"
                )
                then = yours.text(region.other_start, region.other_end)
                now = mine.text(region.start, region.end)
                if not now.startswith(then):
                    yield region._replace(
                        kind="turn_rerendered",
                        path=path,
                        evidence=f"the answer's head was {shortened(then)} and is {shortened(now)} once it is history",
                    )
                    continue
            yield region
        elif (
            origins
            and all([not origin.path for origin in origins])
            and mine.piece_at(region.start) < first_turn
            and region.other_end < len(yours.runs)
        ):
            now, then = mine.text(region.start, region.end), yours.text(region.other_start, region.other_end)
            yield region._replace(kind="head_parameter", path="", evidence=f"{shortened(then)} became {shortened(now)}")
        else:
            yield region


def _origins(runs: Runs, start: int, end: int) -> list[Origin]:
    if start >= end:
        return []
    pieces = runs.pieces[runs.piece_at(start) : runs.piece_at(end - 1) + 1]
    return [span.origin for piece in pieces for span in piece.spans]


def _is_template(runs: Runs, region: Region) -> bool:
    origins = _origins(runs, region.other_start, region.other_end)
    return bool(origins) and not any([origin.path for origin in origins])


def _images(region: Region, mine: Runs, yours: Runs) -> list[tuple[str, bool]]:
    """The images of either prompt that make a region: where each is from, and whether text of its message follows.

    Right behind a region stands an image that only one of the prompts has there: what differs is its first mark.
    """
    found = []
    sides = (mine, region.start, region.end), (yours, region.other_start, region.other_end)
    behind = [_is_image(runs, end) for runs, _, end in sides]
    for (runs, start, end), is_behind in zip(sides, behind, strict=True):
        inside = (at for at in range(start, end + (is_behind and not all(behind))) if _is_image(runs, at))
        first = next(inside, None)
        if first is not None:
            found.append(_image(runs, runs.piece_at(first)))
    return found


def _is_image(runs: Runs, at: int) -> bool:
    return at < len(runs.runs) and runs.runs[at].text.startswith(IMAGE)


def _image(runs: Runs, piece: int) -> tuple[str, bool]:
    """The path of an image, and whether text of the same message stands behind it."""
    path = next((span.origin.path for span in runs.pieces[piece].spans if span.origin.path), "")
    message = path.partition(".")[0]
    is_ahead = any(
        [
            not other.text.startswith(IMAGE) and span.origin.path.startswith(f"{message}.")
            for other in runs.pieces[piece + 1 :]
            for span in other.spans
        ]
    )
    return path, is_ahead
