"""Prompts with every image behind the text of its message, as they are rendered once their parts stand in that order.

The marks around an image go with it, and texts that it stood between are joined by a line break.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

from prefixlab.attribution.fix_replay import Encode
from prefixlab.attribution.structure import IMAGE
from prefixlab.records import TEMPLATE, TOKEN_BYTES, Origin, Piece, Span

_START, _END = "<|vision_start|>", "<|vision_end|>"
"""What stands around an image, whatever the template."""

_Text = tuple[Origin, str]


def with_images_behind(pieces: Sequence[Piece], encode: Encode) -> list[Piece]:
    """The pieces of a prompt, with the images of each list of parts behind its texts."""
    now = list(pieces)
    lists = dict.fromkeys([_list_of(piece.origin.path) for piece in pieces if _is_image(piece)])
    for parts in lists:
        numbers = [at for at, piece in enumerate(now) if any([_is_in(span.origin, parts) for span in piece.spans])]
        first, end = numbers[0], numbers[-1] + 1
        first_image = next(at for at in numbers if _is_image(now[at]))
        if all([_is_image(now[at]) for at in numbers if at > first_image]):
            continue
        # The marks ahead of a first image and behind a last one are of the template text around the message.
        first -= _is_image(now[first])
        end += end < len(now) and not _is_image(now[end])
        reordered = _reordered(now[first:end], parts, encode)
        if reordered is not None:
            now[first:end] = reordered
    return now


def _list_of(path: str) -> str:
    """The path of the list that holds a part."""
    return path.rpartition("[")[0]


def _is_image(piece: Piece) -> bool:
    return any([run.text.startswith(IMAGE) for run in piece.runs[:1]])


def _is_in(origin: Origin, parts: str) -> bool:
    return origin.path.startswith(f"{parts}[")


def _reordered(pieces: Sequence[Piece], parts: str, encode: Encode) -> list[Piece] | None:
    """Some pieces with the images of a list of parts behind its texts; None where more than marks is between them."""
    images = [piece for piece in pieces if _is_image(piece)]
    texts: list[_Text] = []
    between: list[list[_Text]] = [[]]
    """Text ahead of the first part, between each and the next, and behind the last."""
    order: list[bool] = []
    """For each part whether it is an image."""
    for piece in pieces:
        for origin, text in [(piece.origin, "")] if _is_image(piece) else _texts(piece):
            if not _is_in(origin, parts):
                between[-1].append((origin, text))
                continue
            if text and texts and texts[-1][0] == origin and not between[-1]:
                texts[-1] = origin, texts[-1][1] + text
                continue
            order.append(not text)
            between.append([])
            if text:
                texts.append((origin, text))
    ahead, *inside, behind = between
    # What stands around an image are its marks, and a line break stands between two texts.
    for at, (one, other) in enumerate(pairwise(order)):
        marks = (_END if one else "") + (_START if other else "") or "\n"
        if "".join([text for _, text in inside[at]]) != marks:
            return None
    cut_ahead = _without(ahead, _START, at_end=True) if order[0] else ahead
    cut_behind = _without(behind, _END, at_end=False) if order[-1] else behind
    if cut_ahead is None or cut_behind is None:
        return None
    body: list[_Text] = []
    for one_text in texts:
        body += [(TEMPLATE, "\n"), one_text] if body else [one_text]
    made = [*_pieces(cut_ahead, body, encode)]
    mark = encode(_START, TEMPLATE)
    if sum([len(run.tokens) for run in mark]) == TOKEN_BYTES:
        made.append(_piece([(TEMPLATE, _START)], encode))
    else:
        # No token of its own: it is read together with the text ahead of it.
        last = list(_texts(made.pop()))
        made.append(_piece([*last, (TEMPLATE, _START)], encode))
    for at, image in enumerate(images):
        made.append(image)
        if at < len(images) - 1:
            made.append(_piece([(TEMPLATE, _END + _START)], encode))
    made.append(_piece([(TEMPLATE, _END), *cut_behind], encode))
    return made


def _texts(piece: Piece) -> Iterable[_Text]:
    text = piece.text
    at = 0
    for origin, chars in piece.spans:
        if chars:
            yield origin, text[at : at + chars]
        at += chars


def _without(texts: Sequence[_Text], mark: str, *, at_end: bool) -> list[_Text] | None:
    """Texts without a mark at their end or start; None where it is not there."""
    if not texts:
        return None
    place = -1 if at_end else 0
    origin, text = texts[place]
    if not (text.endswith(mark) if at_end else text.startswith(mark)):
        return None
    left = list(texts)
    left[place] = origin, text.removesuffix(mark) if at_end else text.removeprefix(mark)
    return left


def _pieces(ahead: Sequence[_Text], body: Sequence[_Text], encode: Encode) -> Iterable[Piece]:
    """What stands ahead of a message and its texts, in two pieces where text may be cut between them."""
    if ahead and ahead[-1][1].endswith("\n") and not body[0][1][:1].isspace() and body[0][1][:1] != "/":
        yield _piece(ahead, encode)
        ahead = []
    yield _piece([*ahead, *body], encode)


def _piece(texts: Iterable[_Text], encode: Encode) -> Piece:
    spans: list[Span] = []
    whole = ""
    for origin, group in groupby(texts, key=lambda one: one[0]):
        text = "".join([text for _, text in group])
        if text:
            spans.append(Span(origin, len(text)))
            whole += text
    is_template = all([span.origin == TEMPLATE for span in spans])
    origin = TEMPLATE if is_template else next(span.origin for span in spans if span.origin != TEMPLATE)
    return Piece(tuple(spans), encode(whole, origin))
