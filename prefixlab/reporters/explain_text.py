"""One request for a person at a terminal: the answer, both texts with a caret, the tokens, the blocks as a strip."""

from __future__ import annotations

from collections.abc import Sequence

from prefixlab.explanation import BlockRange, Explanation, Parting, Token
from prefixlab.findings import Field
from prefixlab.number_words import number, percent
from prefixlab.reporters import explain_wording as wording
from prefixlab.reporters.explain_wording import MARKS
from prefixlab.reporters.neutral import ELLIPSIS, cells, cut, neutral, shown, wrapped

_NARROWEST, _WIDEST = 60, 120
_NAME, _LONG, _TOKEN = 48, 600, 16
_STRIP_LINES = 4
_AHEAD = 0.6
"""Share of a line that text ahead of the break may take."""
_LABEL = 6

WAS, NOW = "was", "now"


def _show(text: str) -> str:
    return shown(text, _NAME)


def _quote(text: str) -> str:
    return f'"{_show(text)}"'


def _show_long(text: str) -> str:
    return shown(text, _LONG)


def _paragraph(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    return [(rest if at else first) + line for at, line in enumerate(wrapped(text, width - cells(first)))]


# --- both texts -------------------------------------------------------------------------------------------------------


def _tail(text: str, width: int, is_cut: bool) -> str:
    """The end of a line ahead of the break, neutral, in at most `width` cells."""
    # Neutral text is never shorter, but for combining marks, than what it stands for.
    kept = text[-4 * width :]
    whole = neutral(kept)
    if cells(whole) <= width - is_cut and len(kept) == len(text):
        return (ELLIPSIS if is_cut else "") + whole
    while kept and cells(neutral(kept)) > width - 1:
        kept = kept[max(1, (cells(neutral(kept)) - width + 1) // 12) :]
    return ELLIPSIS + neutral(kept)


def texts(parting: Parting, width: int) -> list[str]:
    """The lines around the break, of both sides, and a caret under the first character that differs."""
    if parting.before is None or parting.now is None or parting.was is None:
        return []
    room = width - _LABEL
    before, now, was = parting.before, parting.now, parting.was
    ahead, newline, on_line = before.text.rpartition("\n")
    out = []
    if newline:
        line = ahead.rpartition("\n")[2]
        # The excerpt may begin inside this line.
        starts_inside = before.is_cut and "\n" not in ahead
        out.append(" " * _LABEL + (_tail(line, room, True) if starts_inside else shown(line, room)))
    head = _tail(on_line, int(room * _AHEAD), before.is_cut and not newline)
    column = cells(head)
    sides: list[tuple[str, bool]] = []
    for label, side in ((WAS, was), (NOW, now)):
        line, _, rest = side.text.partition("\n")
        ends = not side.is_cut and "\n" not in side.text
        # An end of line is shown where it is the very thing that differs.
        shown_line = shown(line, room - column) if line else "(the text ends)" if ends else "\\n"
        out.append(f"  {label} {head}{cut(shown_line, max(room - column, 1))}")
        sides.append((rest, "\n" in side.text))
    out.append(" " * (_LABEL + column) + "^")
    (was_rest, was_goes_on), (now_rest, now_goes_on) = sides
    was_line, now_line = (rest.partition("\n")[0] for rest in (was_rest, now_rest))
    if was_goes_on and now_goes_on and was_line == now_line:
        out += [" " * _LABEL + shown(now_line, room)] if now_line else []
    else:
        out += [f"  {WAS} {shown(was_line, room)}"] if was_goes_on and was_line else []
        out += [f"  {NOW} {shown(now_line, room)}"] if now_goes_on and now_line else []
    return out


def _tokens(tokens: Sequence[Token], room: int) -> str:
    """Ids with their texts, as many as fit."""
    out = ""
    for token in tokens:
        one = str(token.id) if token.text is None else f'{token.id} "{shown(token.text, _TOKEN)}"'
        if out and cells(out) + 2 + cells(one) > room:
            break
        out += f"  {one}" if out else one
    return out or "(none: it ends here)"


def token_lines(parting: Parting, width: int) -> list[str]:
    """The tokens on both sides of the break; none of a redacted answer."""
    if not (parting.tokens_was or parting.tokens_now):
        return []
    room = width - 2 - _LABEL
    rows = [("same", parting.tokens_same)] if parting.tokens_same else []
    rows += [(WAS, parting.tokens_was), (NOW, parting.tokens_now)]
    return [f"  {label:<{_LABEL - 1}} {_tokens(tokens, room)}" for label, tokens in rows]


# --- blocks -----------------------------------------------------------------------------------------------------------


def strip(blocks: Sequence[BlockRange], width: int, lines: int = _STRIP_LINES) -> tuple[list[str], int]:
    """The blocks as marks in lines of `width`, and how many blocks a mark stands for.

    Where they do not fit, a fate that has blocks has at least one mark.
    """
    whole = sum([one.blocks for one in blocks])
    scale = max(1, -(-whole // (width * lines - len(MARKS))))
    marks = "".join([MARKS[one.fate][0] * (-(-one.blocks // scale)) for one in blocks])
    return [marks[at : at + width] for at in range(0, len(marks), width)], scale


def _block_lines(found: Explanation, width: int) -> list[str]:
    marks, scale = strip(found.blocks, width - 2)
    title = wording.blocks_title(found)
    if scale > 1:
        title += f"; a mark is up to {number(scale)} of them"
    legend = [
        (MARKS[one.fate][0], MARKS[one.fate][1], number(one.blocks), number(one.tokens), MARKS[one.fate][2])
        for one in found.blocks
    ]
    unit = "tokens" if found.block_size == 1 else "blocks"
    names = max([len(row[1]) for row in legend])
    counts = max(len(unit), *[len(row[2]) for row in legend])
    tokens = max(len("tokens"), *[len(row[3]) for row in legend])
    has_blocks = found.block_size > 1
    head = f"  {'':<{names + 3}}" + (f"  {unit:>{counts}}" if has_blocks else "") + f"  {'tokens':>{tokens}}"
    lines = [*_paragraph(title, width), *["  " + line for line in marks], head]
    for mark, name, blocks, many, meaning in legend:
        row = f"  {mark}  {name:<{names}}" + (f"  {blocks:>{counts}}" if has_blocks else "") + f"  {many:>{tokens}}  "
        lines += _paragraph(meaning, width, row, " " * len(row))
    return lines


# --- sections ---------------------------------------------------------------------------------------------------------


def _parties(found: Explanation, width: int) -> list[str]:
    lines = ["Requests"]
    for label, said in wording.party_rows(found, _show):
        lines += _paragraph(said, width, f"  {label:<12}  ", " " * 16)
    return lines


def _figures(found: Explanation) -> list[str]:
    rows = wording.token_rows(found)
    names = max([len(row[0]) for row in rows])
    counts = max([len(number(row[1])) for row in rows])
    whole = found.outcome.prompt_tokens or 1
    lines = ["Tokens"]
    for name, tokens, meaning in rows:
        share = "" if name == "prompt" else f"{percent(tokens / whole):>8}  {meaning}"
        lines.append(f"  {name:<{names}}  {number(tokens):>{counts}}{share}")
    return lines


def _break(found: Explanation, width: int) -> list[str]:
    parting = found.parting
    if parting is None:
        return []
    lines = _paragraph(f"Where they part: {wording.place(parting, _show)}", width)
    said = wording.without_text(found) or wording.same_text(found)
    lines += _paragraph(said, width, "  ", "  ") if said else []
    lines += texts(parting, width)
    tokens = token_lines(parting, width)
    title = "Blocks there, by id" if parting.of == "blocks" else "Tokens there, by id"
    return [*lines, "", title, *tokens] if tokens else lines


def _why(found: Explanation, width: int) -> list[str]:
    cause = found.cause
    if cause is None:
        return []
    row = cause.row
    lines = []
    if isinstance(row, Field):
        title = f'What changed: "{_show(row.name)}" ({row.kind}), rank {row.rank} in the log\'s ladder, {row.severity}'
        if cause.was is not None and cause.now is not None:
            lines += [f'  {WAS} "{shown(cause.was, width - 10)}"', f'  {NOW} "{shown(cause.now, width - 10)}"']
    else:
        kind = row.kind.replace("_", " ")
        title = f"What changed: {kind}, rank {row.rank} in the log's ladder, {row.severity}"
        lines += _paragraph(f"such as: {_show_long(row.evidence)}", width, "  ", "  ") if row.evidence else []
    return [*_paragraph(title, width), *lines, *_paragraph(_show_long(row.advice), width, "  ", "  ")]


def _next(found: Explanation, width: int) -> list[str]:
    lines = ["The next turn"]
    for said in wording.next_turn(found, _show):
        lines += _paragraph(said, width, "  ", "  ")
    turn = found.next_turn
    if turn is not None and turn.is_turn and turn.tokens_was:
        room = width - 2 - _LABEL
        lines += [f"  {'here':<{_LABEL - 1}} {_tokens(turn.tokens_was, room)}"]
        lines += [f"  {'then':<{_LABEL - 1}} {_tokens(turn.tokens_now, room)}"]
    return lines


def _facts(found: Explanation, width: int) -> list[str]:
    lines = ["Measured on"]
    for label, said in wording.facts(found, _show_long):
        lines += _paragraph(said, width, f"  {label:<10} ", " " * 13)
    return lines


def _notes(found: Explanation, width: int) -> list[str]:
    lines = [line for note in found.notes for line in _paragraph(shown(note, _LONG), width, "  - ", "    ")]
    return ["Notes", *lines] if lines else []


def render_text(found: Explanation, width: int) -> bytes:
    """The whole answer in lines of `width` columns."""
    width = max(_NARROWEST, min(width, _WIDEST))
    sections = [
        [line for said in wording.headline(found, _show, _quote) for line in _paragraph(said, width)],
        _parties(found, width),
        _figures(found),
    ]
    if found.outcome.prompt_tokens:
        sections += [_break(found, width), _why(found, width), _block_lines(found, width), _next(found, width)]
    sections += [_facts(found, width), _notes(found, width)]
    text = "\n\n".join("\n".join(line.rstrip() for line in section) for section in sections if section)
    return (text + "\n").encode()
