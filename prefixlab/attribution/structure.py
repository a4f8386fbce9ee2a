"""How a request differs in structure from the one it continues: stretches of text, each with the kind of its cause.

Prompts are aligned piece by piece and, where two pieces stand in one place, run by run. What kind a stretch is of is
decided by the parts it belongs to: the list of tools, the turns of the conversation, request parameters, or the form of
a text. A stretch that is none of these holds a value, or is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import NamedTuple

from prefixlab.attribution.differences import first_unlike, is_turn, unlike_runs
from prefixlab.attribution.form_kinds import form_kind, has_same_json, is_permuted, without_thoughts
from prefixlab.attribution.parts import Outline, Turn, outline, texts
from prefixlab.attribution.sites import PARAMETERS
from prefixlab.attribution.tool_lists import tools_kind
from prefixlab.records import TOKEN_BYTES, Origin, Piece, Prompt, Run

MOST_PIECES = 4000
"""Pieces between the common head and tail of two prompts that are still aligned."""

LEAST_COMMON = 0.3
"""Part of the smaller conversation, in characters, that two requests must have in common to be one's older form."""

IMAGE = "<|image_pad|>"


class Region(NamedTuple):
    """Runs `start:end` of a prompt, counted over all its pieces, stand where the other has `other_start:other_end`."""

    start: int
    end: int
    other_start: int
    other_end: int
    kind: str | None = None
    path: str = ""
    evidence: str = ""
    moved: str = ""
    """Text ahead of the rest of its message that a fix sets behind it."""


class _Whole(NamedTuple):
    """Pieces that changed as a whole: `first:end` of a prompt, `other_first:other_end` of the other."""

    first: int
    end: int
    other_first: int
    other_end: int
    kind: str
    path: str
    evidence: str


class Runs:
    """The runs of a prompt in one list."""

    __slots__ = ("firsts", "pieces", "runs")

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces
        self.runs: list[Run] = [run for piece in pieces for run in piece.runs]
        self.firsts = [0, *accumulate([len(piece.runs) for piece in pieces])]
        """The number of each piece's first run, and of the end."""

    def text(self, start: int, end: int) -> str:
        return "".join([run.text for run in self.runs[start:end]])

    def piece_at(self, run: int) -> int:
        """The piece that holds a run; the last one for the end."""
        low, high = 0, len(self.pieces) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.firsts[middle] <= run:
                low = middle
            else:
                high = middle - 1
        return low


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
    labels = _Labels({}, {})
    whole = _label_turns(ours.turns, theirs.turns, labels)
    tools = _tools(ours, theirs)
    regions = aligned(mine, yours, whole if tools is None else [tools, *whole])
    regions = _labelled(regions, mine, yours, labels)
    regions = _with_forms(regions, mine, yours)
    return Comparison(mine, yours, tuple(_with_template(regions, mine, yours, ours)))


# --- alignment --------------------------------------------------------------------------------------------------------


def aligned(mine: Runs, yours: Runs, whole: Sequence[_Whole] = ()) -> list[Region]:
    """The regions of two prompts; stretches in `whole` are one region each, and what is around them is aligned."""
    regions: list[Region] = []
    i = j = 0
    for one in sorted(whole):
        if one.first < i or one.other_first < j:
            continue
        regions += _between(mine, yours, i, one.first, j, one.other_first)
        regions.append(
            Region(
                mine.firsts[one.first],
                mine.firsts[one.end],
                yours.firsts[one.other_first],
                yours.firsts[one.other_end],
                one.kind,
                one.path,
                one.evidence,
            )
        )
        i, j = one.end, one.other_end
    # What the template writes behind the older prompt's last message is where an answer began, and no text that the
    # newer prompt has at its own end again.
    end = len(yours.pieces)
    while end > j and not any([span.origin.path for span in yours.pieces[end - 1].spans]):
        end -= 1
    regions += _between(mine, yours, i, len(mine.pieces), j, end)
    if end < len(yours.pieces):
        mine_end, yours_end = len(mine.runs), len(yours.runs)
        if regions and regions[-1].end == mine_end and regions[-1].other_end == yours.firsts[end]:
            regions[-1] = regions[-1]._replace(other_end=yours_end)
        else:
            regions.append(Region(mine_end, mine_end, yours.firsts[end], yours_end))
    return regions


def _between(mine: Runs, yours: Runs, i: int, our_end: int, j: int, their_end: int) -> list[Region]:
    """The regions of some pieces."""
    ours, theirs = mine.pieces, yours.pieces
    while i < our_end and j < their_end and ours[i] is theirs[j]:
        i, j = i + 1, j + 1
    if max(our_end - i, their_end - j) > MOST_PIECES:
        return [_region(mine, yours, i, our_end, j, their_end)]
    # By text, wherever it stands: a message that moved is the same message.
    our_texts = [piece.runs for piece in ours[i:our_end]]
    their_texts = [piece.runs for piece in theirs[j:their_end]]
    regions: list[Region] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, our_texts, their_texts, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        i1, i2, j1, j2 = i1 + i, i2 + i, j1 + j, j2 + j
        while i1 < i2 and j1 < j2 and _is_same_place(ours[i1], theirs[j1]):
            first, other_first = mine.firsts[i1], yours.firsts[j1]
            for start, end, other_start, other_end in unlike_runs(ours[i1].runs, theirs[j1].runs):
                regions.append(Region(first + start, first + end, other_first + other_start, other_first + other_end))
            i1, j1 = i1 + 1, j1 + 1
        if i1 < i2 or j1 < j2:
            regions.append(_region(mine, yours, i1, i2, j1, j2))
    return regions


def _is_same_place(piece: Piece, other: Piece) -> bool:
    """Whether two pieces hold text of the same paths, as that of one message in two wordings."""
    return [span.origin for span in piece.spans] == [span.origin for span in other.spans]


def _region(mine: Runs, yours: Runs, i1: int, i2: int, j1: int, j2: int, kind: str | None = None, path: str = "",
            evidence: str = "") -> Region:  # fmt: skip
    """The region of some pieces."""
    return Region(mine.firsts[i1], mine.firsts[i2], yours.firsts[j1], yours.firsts[j2], kind, path, evidence)


def _replaced(regions: Iterable[Region], new: Region) -> list[Region]:
    """The regions with all that touch the new one in either prompt joined into it."""
    kept = []
    start, end, other_start, other_end = new[:4]
    for region in regions:
        apart = region.end <= start and region.other_end <= other_start
        apart = apart or (region.start >= end and region.other_start >= other_end)
        if apart:
            kept.append(region)
        else:
            start, end = min(start, region.start), max(end, region.end)
            other_start, other_end = min(other_start, region.other_start), max(other_end, region.other_end)
    kept.append(Region(start, end, other_start, other_end, *new[4:]))
    return sorted(kept)


# --- kinds ------------------------------------------------------------------------------------------------------------


def _tools(ours: Outline, theirs: Outline) -> _Whole | None:
    """The list of tools, where its order, its members, or the form of one changed."""
    if not (ours.tools and theirs.tools) or texts(ours.tools) == texts(theirs.tools):
        return None
    kind, evidence = tools_kind(texts(ours.tools), texts(theirs.tools))
    if kind == "tool_text":
        # A value in a description is found as values are.
        return None
    return _Whole(
        ours.tools[0].piece,
        ours.tools[-1].last_piece + 1,
        theirs.tools[0].piece,
        theirs.tools[-1].last_piece + 1,
        kind,
        "tools",
        evidence,
    )


_LabelOf = tuple[str, str, str, str]
"""Kind, path, evidence, and text that a fix sets behind its message."""


class _Labels(NamedTuple):
    """Kinds of pieces by their number, of both prompts."""

    mine: dict[int, _LabelOf]
    yours: dict[int, _LabelOf]


def _labelled(regions: Iterable[Region], mine: Runs, yours: Runs, labels: _Labels) -> list[Region]:
    named = []
    for region in regions:
        label = None if region.kind else _label_of(region, mine, yours, labels)
        named.append(region if label is None else Region(*region[:4], *label))
    return named


def _label_of(region: Region, mine: Runs, yours: Runs, labels: _Labels) -> _LabelOf | None:
    for runs, start, end, known in (
        (mine, region.start, region.end, labels.mine),
        (yours, region.other_start, region.other_end, labels.yours),
    ):
        if start < end:
            for piece in range(runs.piece_at(start), runs.piece_at(end - 1) + 1):
                if piece in known:
                    return known[piece]
    return None


def _label_turns(ours: Sequence[Turn], theirs: Sequence[Turn], labels: _Labels) -> list[_Whole]:
    """Label the pieces of turns that changed; returns stretches of turns that are a kind as a whole."""
    our_keys, their_keys = [(turn.role, turn.content) for turn in ours], [(turn.role, turn.content) for turn in theirs]
    matcher = SequenceMatcher(None, our_keys, their_keys, autojunk=False)
    codes = matcher.get_opcodes()
    common = sum([len(turn.text) for turn in theirs[: len(theirs)]]) or 1
    same = sum([len(ours[at].text) for tag, i1, i2, _, _ in codes if tag == "equal" for at in range(i1, i2)])
    whole = min(sum([len(turn.text) for turn in ours]), common)
    groups: list[_Whole] = []
    for number, (tag, i1, i2, j1, j2) in enumerate(codes):
        if tag == "equal":
            continue
        behind = sum([code[2] - code[1] for code in codes[number + 1 :] if code[0] == "equal"])
        mine, yours = ours[i1:i2], theirs[j1:j2]
        if not behind:
            _label_newest(mine, yours, len(ours) - i1, labels)
            continue
        if same < LEAST_COMMON * whole:
            continue
        if tag == "delete":
            # This prompt has a turn more in its middle.
            _label(mine, labels.mine, "history_rewritten", f"{len(mine)} messages were put into the history")
        elif tag == "insert":
            kept = ours[i1] if i1 < len(ours) else None
            path = "messages" if kept is None else f"messages[{kept.number}]"
            if i1 == 0 or (i1 <= 1 and behind):
                evidence = f"{len(yours)} messages at the head of the history are gone"
                _label(yours, labels.yours, "history_trimmed", evidence, path)
            else:
                _label(yours, labels.yours, "history_rewritten", f"{len(yours)} messages of the history are gone", path)
        else:
            group = _permuted(mine, yours)
            if group is not None:
                groups.append(group)
            elif len(mine) == len(yours):
                for one, other in zip(mine, yours, strict=True):
                    kind, below, evidence = _turn_kind(one, other)
                    path = f"messages[{one.number}]{below}"
                    _label([one], labels.mine, kind, evidence, path)
                    _label([other], labels.yours, kind, evidence, path)
            else:
                evidence = f"{len(yours)} messages became {len(mine)}"
                first_trimmed = i1 == 0 and len(mine) < len(yours)
                kind = "history_trimmed" if first_trimmed and not mine else "history_rewritten"
                _label(mine, labels.mine, kind, evidence)
                _label(yours, labels.yours, kind, evidence, f"messages[{mine[0].number}]" if mine else "messages")
    return groups


def _label(
    turns: Sequence[Turn],
    known: dict[int, _LabelOf],
    kind: str,
    evidence: str,
    path: str | None = None,
    moved: str = "",
) -> None:
    for turn in turns:
        for piece in range(turn.first_piece, turn.last_piece + 1):
            known.setdefault(piece, (kind, path or f"messages[{turn.number}].content", evidence, moved))


def _permuted(mine: Sequence[Turn], yours: Sequence[Turn]) -> _Whole | None:
    ours, theirs = [turn.text for turn in mine], [turn.text for turn in yours]
    if not is_permuted(ours, theirs):
        return None
    roles = {turn.role for turn in (*mine, *yours)}
    kind = "tool_result_order" if roles <= {"tool", "function"} else "permuted"
    what = "tool results" if kind == "tool_result_order" else "messages"
    evidence = f"the same {len(mine)} {what} in another order"
    path = f"messages[{mine[0].number}]"
    return _Whole(
        mine[0].first_piece,
        mine[-1].last_piece + 1,
        yours[0].first_piece,
        yours[-1].last_piece + 1,
        kind,
        path,
        evidence,
    )


def _label_newest(mine: Sequence[Turn], yours: Sequence[Turn], left: int, labels: _Labels) -> None:
    """The older prompt's last turns, with no equal turn behind: its newest message may have lost an addition."""
    if not mine or not yours or mine[0].role != yours[0].role or mine[0].role != "user":
        return
    now, then = mine[0].text.strip(), yours[0].text.strip()
    if left > 1 and now and now != then and now in then:
        gone = then.replace(now, "", 1).strip()
        path = f"messages[{mine[0].number}].content"
        evidence = f"{_short(gone)} stood in the newest message and is gone from it a turn later"
        moved = then[: -len(now)] if then.endswith(now) else ""
        _label(mine[:1], labels.mine, "moving_suffix", evidence, path, moved)
        _label(yours[:1], labels.yours, "moving_suffix", evidence, path, moved)
    elif left > 1 and (kind := form_kind(now, then)):
        path = f"messages[{mine[0].number}].content"
        _label(mine[:1], labels.mine, kind, "the newest message has another form a turn later", path)
        _label(yours[:1], labels.yours, kind, "the newest message has another form a turn later", path)


def _turn_kind(turn: Turn, other: Turn) -> tuple[str, str, str]:
    """What became of a message that stays in its place: the kind, the path below it, the evidence."""
    ours, theirs = dict(turn.content), dict(other.content)
    if turn.role != other.role:
        return "history_rewritten", "", f"the role {other.role} became {turn.role}"
    unlike = [path for path in (*ours, *theirs) if ours.get(path) != theirs.get(path)]
    below = unlike[0] if unlike else ""
    now, then = ours.get(below, ""), theirs.get(below, "")
    if below.endswith(".arguments") and (has_same_json(now, then) or form_kind(now, then)):
        return "arguments_reserialised", below, f"{_short(then)} became {_short(now)}"
    if without_thoughts(turn.text) == without_thoughts(other.text) or "reasoning" in below:
        return "turn_rerendered", below, f"{_short(then)} became {_short(now)}"
    form = form_kind(now, then) if now and then else None
    return form or "history_rewritten", below, f"{_short(then)} became {_short(now)}"


def _with_forms(regions: list[Region], mine: Runs, yours: Runs) -> list[Region]:
    """Texts that are the same but for their form: first a piece as a whole, then each region."""
    by_piece: dict[tuple[int, int], list[Region]] = {}
    for region in regions:
        if region.kind is None and region.start < region.end and region.other_start < region.other_end:
            pair = mine.piece_at(region.start), yours.piece_at(region.other_start)
            by_piece.setdefault(pair, []).append(region)
    for (one, other), inside in by_piece.items():
        piece, before = mine.pieces[one], yours.pieces[other]
        path = next((span.origin.path for span in piece.spans if span.origin.path), "")
        if not path or piece.text == before.text:
            continue
        kind = form_kind(piece.text, before.text)
        first, last = inside[0], inside[-1]
        now, then = mine.text(first.start, last.end), yours.text(first.other_start, last.other_end)
        kind = kind or form_kind(now, then)
        if kind is not None:
            new = Region(
                first.start, last.end, first.other_start, last.other_end, kind, path, _form_evidence(kind, now, then)
            )
            regions = _replaced(regions, new)
            continue
        for region in inside:
            now, then = mine.text(region.start, region.end), yours.text(region.other_start, region.other_end)
            kind = form_kind(now, then)
            if kind is not None:
                at = regions.index(region)
                regions[at] = region._replace(kind=kind, path=path, evidence=_form_evidence(kind, now, then))
    return regions


def _form_evidence(kind: str, now: str, then: str) -> str:
    if kind == "permuted":
        return "the same blocks in another order"
    return f"{_short(then)} became {_short(now)}"


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
            yield region._replace(kind="head_parameter", path=path, evidence=f"{_short(then)} became {_short(now)}")
        elif _is_image(mine, region) and _text_follows(mine, region):
            path = next((origin.path for origin in origins if origin.path), "")
            yield region._replace(kind="image_position", path=path, evidence="an image stands ahead of its text")
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
                        evidence=f"the answer's head was {_short(then)} and is {_short(now)} once it is history",
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
            yield region._replace(kind="head_parameter", path="", evidence=f"{_short(then)} became {_short(now)}")
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


def _is_image(mine: Runs, region: Region) -> bool:
    return any([run.text.startswith(IMAGE) for run in mine.runs[region.start : region.end]])


def _text_follows(mine: Runs, region: Region) -> bool:
    """Whether text of the same message stands behind an image."""
    piece = mine.piece_at(region.start)
    path = next((span.origin.path for span in mine.pieces[piece].spans if span.origin.path), "")
    message = path.partition(".")[0]
    behind = mine.pieces[piece + 1 :]
    return any(
        [
            is_turn(other) and not other.text.startswith(IMAGE) and other.origin.path.partition(".")[0] == message
            for other in behind
        ]
    )


def _short(text: str) -> str:
    shown = " ".join(text.split())
    return repr(shown if len(shown) <= 60 else shown[:57] + "...")


def tokens_between(runs: Runs, start: int, end: int) -> int:
    """Tokens of some runs."""
    return sum([len(run.tokens) for run in runs.runs[start:end]]) // TOKEN_BYTES
