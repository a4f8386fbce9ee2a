"""What became of the turns of a conversation: which were dropped, rewritten, put in another order, or rendered anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from prefixlab.attribution.alignment import Whole
from prefixlab.attribution.form_kinds import form_kind, has_same_json, is_permuted, without_thoughts
from prefixlab.attribution.parts import Turn
from prefixlab.attribution.quoting import around_blanks, shortened

LEAST_COMMON = 0.3
"""Part of the smaller conversation, in characters, that two requests must have in common to be one's older form."""

Label = tuple[str, str, str, str]
"""Kind, path, evidence, and text that a fix sets behind its message."""


class Labels(NamedTuple):
    """Kinds of pieces by their number, of both prompts."""

    mine: dict[int, Label]
    yours: dict[int, Label]


def label_turns(ours: Sequence[Turn], theirs: Sequence[Turn], labels: Labels) -> list[Whole]:
    """Label the pieces of turns that changed; returns stretches of turns that are a kind as a whole."""
    our_keys, their_keys = [(turn.role, turn.content) for turn in ours], [(turn.role, turn.content) for turn in theirs]
    groups: list[Whole] = []
    start = 0
    while start < min(len(ours), len(theirs)):
        if our_keys[start] == their_keys[start]:
            start += 1
            continue
        count = _balanced(our_keys[start:], their_keys[start:])
        group = _permuted(ours[start : start + count], theirs[start : start + count]) if count else None
        if group is None:
            break
        groups.append(group)
        start += count
    codes = [
        (tag, i1 + start, i2 + start, j1 + start, j2 + start)
        for tag, i1, i2, j1, j2 in SequenceMatcher(
            None, our_keys[start:], their_keys[start:], autojunk=False
        ).get_opcodes()
    ]
    common = sum([len(turn.text) for turn in theirs[: len(theirs)]]) or 1
    same = sum([len(ours[at].text) for tag, i1, i2, _, _ in codes if tag == "equal" for at in range(i1, i2)])
    same += sum([len(turn.text) for turn in ours[:start]])
    whole = min(sum([len(turn.text) for turn in ours]), common)
    for number, (tag, i1, i2, j1, j2) in enumerate(codes):
        if tag == "equal":
            continue
        behind = sum([code[2] - code[1] for code in codes[number + 1 :] if code[0] == "equal"])
        mine, yours = ours[i1:i2], theirs[j1:j2]
        if not behind:
            _label_newest(mine, yours, len(ours) - i1, labels)
            continue
        is_cut = tag == "insert" and not i1 and codes[number + 1][4] == len(theirs)
        if same < LEAST_COMMON * whole and not is_cut:
            # A turn in common by chance makes no two conversations one. Where the older one ends as this one begins it
            # is no chance.
            continue
        if tag == "delete":
            # This prompt has a turn more in its middle.
            _label(mine, labels.mine, "history_rewritten", f"{_messages(len(mine))} came into the history")
        elif tag == "insert":
            kept = ours[i1] if i1 < len(ours) else None
            path = "messages" if kept is None else f"messages[{kept.number}]"
            if i1 == 0 or (i1 <= 1 and behind):
                evidence = f"{_messages(len(yours))} at the head of the history went"
                _label(yours, labels.yours, "history_trimmed", evidence, path)
            else:
                _label(yours, labels.yours, "history_rewritten", f"{_messages(len(yours))} of the history went", path)
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
                evidence = f"{_messages(len(yours))} became {len(mine)}"
                first_trimmed = i1 == 0 and len(mine) < len(yours)
                kind = "history_trimmed" if first_trimmed and not mine else "history_rewritten"
                _label(mine, labels.mine, kind, evidence)
                _label(yours, labels.yours, kind, evidence, f"messages[{mine[0].number}]" if mine else "messages")
    return groups


def _label(
    turns: Sequence[Turn],
    known: dict[int, Label],
    kind: str,
    evidence: str,
    path: str | None = None,
    moved: str = "",
) -> None:
    for turn in turns:
        for piece in range(turn.first_piece, turn.last_piece + 1):
            known.setdefault(piece, (kind, path or f"messages[{turn.number}].content", evidence, moved))


def _balanced(ours: Sequence[object], theirs: Sequence[object]) -> int:
    """The fewest turns from the first on that are the other's in another order; 0 where there are none."""
    left: Counter[object] = Counter()
    for count, pair in enumerate(zip(ours, theirs, strict=False), 1):
        for turn, one in zip(pair, (1, -1), strict=True):
            left[turn] += one
            if not left[turn]:
                del left[turn]
        if not left:
            return count
    return 0


def _permuted(mine: Sequence[Turn], yours: Sequence[Turn]) -> Whole | None:
    ours, theirs = [turn.text for turn in mine], [turn.text for turn in yours]
    if not is_permuted(ours, theirs):
        return None
    roles = {turn.role for turn in (*mine, *yours)}
    kind = "tool_result_order" if roles <= {"tool", "function"} else "permuted"
    what = "tool results" if kind == "tool_result_order" else "messages"
    evidence = f"the same {len(mine)} {what} in another order"
    path = f"messages[{mine[0].number}]"
    return Whole(
        mine[0].first_piece,
        mine[-1].last_piece + 1,
        yours[0].first_piece,
        yours[-1].last_piece + 1,
        kind,
        path,
        evidence,
    )


def _label_newest(mine: Sequence[Turn], yours: Sequence[Turn], left: int, labels: Labels) -> None:
    """The older prompt's last turns, with no equal turn behind: its newest message may have lost an addition."""
    if not mine or not yours or mine[0].role != yours[0].role or mine[0].role != "user":
        return
    now, then = mine[0].text.strip(), yours[0].text.strip()
    if left > 1 and now and now != then and now in then:
        gone = then.replace(now, "", 1).strip()
        path = f"messages[{mine[0].number}].content"
        evidence = f"{shortened(gone)} stood in the newest message and is gone from it a turn later"
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
        return "arguments_reserialised", below, f"{shortened(then)} became {shortened(now)}"
    if without_thoughts(turn.text) == without_thoughts(other.text) or "reasoning" in below:
        return "turn_rerendered", below, f"{shortened(then)} became {shortened(now)}"
    form = form_kind(now, then) if now and then else None
    if form == "whitespace":
        return form, below, f"{around_blanks(then, now)} became {around_blanks(now, then)}"
    return form or "history_rewritten", below, f"{shortened(then)} became {shortened(now)}"


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"
