"""One request for a pull request or a ticket: GitHub's Markdown, with nothing from the log acting as markup."""

from __future__ import annotations

from collections.abc import Sequence

from prefixlab.explanation import Explanation, Token
from prefixlab.findings import Field
from prefixlab.number_words import number, percent
from prefixlab.reporters import explain_wording as wording
from prefixlab.reporters.explain_text import NOW, WAS, strip, texts
from prefixlab.reporters.explain_wording import MARKS
from prefixlab.reporters.markdown import code, prose

_WIDTH = 100
_VALUE, _TOKEN = 200, 24


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    rule = ["---:" if at in numbers else "---" for at in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def _fenced(lines: Sequence[str]) -> str:
    """Preformatted text; the fence is longer than any run of backticks at the start of a line of it."""
    most = max([len(line) - len(line.lstrip().lstrip("`")) for line in lines], default=0)
    fence = "`" * max(3, most + 1)
    return "\n".join([f"{fence}text", *[line.rstrip() for line in lines], fence])


def _tokens(tokens: Sequence[Token]) -> str:
    shown = [str(one.id) if one.text is None else f"{one.id} {code(one.text, _TOKEN)}" for one in tokens]
    return ", ".join(shown) or "(it ends here)"


def _figures(found: Explanation) -> str:
    whole = found.outcome.prompt_tokens or 1
    rows = [
        [name, number(tokens), "" if name == "prompt" else percent(tokens / whole), meaning]
        for name, tokens, meaning in wording.token_rows(found)
    ]
    return _table(["tokens", "", "share", ""], rows, numbers=(1, 2))


def _break(found: Explanation) -> list[str]:
    parting = found.parting
    if parting is None:
        return []
    parts = [f"**Where they part:** {wording.place(parting, code)}"]
    said = wording.without_text(found) or wording.same_text(found)
    parts += [said] if said else []
    lines = texts(parting, _WIDTH)
    parts += [_fenced(lines)] if lines else []
    if not (parting.tokens_was or parting.tokens_now):
        return parts
    rows = [["same", _tokens(parting.tokens_same)]] if parting.tokens_same else []
    rows += [[WAS, _tokens(parting.tokens_was)], [NOW, _tokens(parting.tokens_now)]]
    return [*parts, _table(["", "blocks by id" if parting.of == "blocks" else "tokens by id"], rows)]


def _why(found: Explanation) -> list[str]:
    cause = found.cause
    if cause is None:
        return []
    row = cause.row
    kind = row.kind.replace("_", " ")
    name = f"{code(row.name)} ({kind})" if isinstance(row, Field) else kind
    parts = [f"**What changed:** {name}, rank {row.rank} in the log's ladder, {row.severity}"]
    if cause.was is not None and cause.now is not None:
        parts[0] += f": {code(cause.was, _VALUE)} became {code(cause.now, _VALUE)}"
    elif not isinstance(row, Field) and row.evidence:
        parts[0] += f", such as: {code(row.evidence, _VALUE)}"
    return [*parts, prose(row.advice, starts_line=True)]


def _blocks(found: Explanation) -> list[str]:
    lines, scale = strip(found.blocks, _WIDTH)
    title = f"**{wording.blocks_title(found)}**"
    title += f"; a mark is up to {number(scale)} of them" if scale > 1 else ""
    rows = []
    for one in found.blocks:
        mark, name, meaning = MARKS[one.fate]
        rows.append([f"`{mark}`", name, number(one.blocks), number(one.tokens), meaning])
    unit = "tokens" if found.block_size == 1 else "blocks"
    return [title, _fenced(lines), _table(["", "", unit, "tokens", ""], rows, numbers=(2, 3))]


def _next(found: Explanation) -> list[str]:
    parts = [f"**The next turn:** {' '.join(wording.next_turn(found, code))}"]
    turn = found.next_turn
    if turn is not None and turn.is_turn and turn.tokens_was:
        rows = [["here", _tokens(turn.tokens_was)], ["then", _tokens(turn.tokens_now)]]
        parts.append(_table(["", "tokens by id"], rows))
    return parts


def render_markdown(found: Explanation, width: int) -> bytes:
    """The whole answer; `width` is of no use to Markdown."""
    parts = ["\n".join(wording.headline(found, code, code))]
    rows = [[label, said] for label, said in wording.party_rows(found, code)]
    parts += [_table(["", "request"], rows), _figures(found)]
    if found.outcome.prompt_tokens:
        parts += [*_break(found), *_why(found), *_blocks(found), *_next(found)]
    facts = [[label, said] for label, said in wording.facts(found, code)]
    parts.append(_table(["measured on", ""], facts))
    parts += ["\n".join([f"- {prose(note, starts_line=True)}" for note in found.notes])] if found.notes else []
    return ("\n\n".join(parts) + "\n").encode()
