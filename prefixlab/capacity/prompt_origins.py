"""Where the text of a stretch of a prompt's tokens comes from."""

from __future__ import annotations

from prefixlab.records import TOKEN_BYTES, Origin, Prompt


def origins_between(prompt: Prompt, begin: int, end: int) -> list[Origin]:
    """The origins of the tokens from `begin` up to `end`, in their order; nothing where the log has no text.

    A run whose tokens are there in part counts as a whole.
    """
    origins: list[Origin] = []
    at = 0
    for piece in prompt.pieces:
        piece_begin, at = at, at + piece.token_count
        if at <= begin:
            continue
        if piece_begin >= end:
            break
        token, char = piece_begin, 0
        first: int | None = None
        for run in piece.runs:
            if token >= end:
                break
            token += len(run.tokens) // TOKEN_BYTES
            if token > begin and first is None:
                first = char
            char += len(run.text)
        span_end = 0
        for span in piece.spans:
            span_begin, span_end = span_end, span_end + span.chars
            if first is not None and span_begin < char and span_end > first and span.origin not in origins[-1:]:
                origins.append(span.origin)
    return origins
