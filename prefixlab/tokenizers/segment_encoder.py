"""Rendered segments in, pieces of token ids out, exactly as the served tokenizer encodes the whole text.

Each distinct segment is encoded once and remembered as a `Piece`. Two neighbours may be encoded apart only where a
boundary of tokens is sure (`patterns.py` has the proofs): at a special token, or at one of the cuts at white space if
the tokenizer has them. Elsewhere neighbours are joined into one piece with a span for each.

**Special tokens.** A served Hugging Face tokenizer parses them wherever they occur in the rendered text, those typed by
a user and those that begin in one segment and end in the next as well. OpenAI's hosted models take what a user types as
text; there they are parsed in text of the template alone. `special_lookalikes` counts the distinct messages that hold
the text of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from prefixlab.contracts import TextTokenizer
from prefixlab.records import TEMPLATE, TOKEN_BYTES, Origin, Piece, Run, Segment, Span
from prefixlab.tokenizers.run_table import RunTable
from prefixlab.tokenizers.specials import SpecialTokens

REMEMBERED_AT_ONCE = 2048
"""Characters up to which a segment's text is kept as a key from its first sighting; longer ones from their second,
since a system prompt with a clock in it is never seen again."""

CHUNK_BYTES = 256 * TOKEN_BYTES
IMAGE_ID = 0x8000_0000
"""Ids of image tokens: this bit and the number of the image in order of appearance."""

# What a segment's end allows, and what a start asks for: a boundary is a cut where the two have a bit in common.
_START_IS_SPECIAL = 1
_END_IS_SPECIAL = 2
_LINE_BREAK_THEN_LINE = 4
_NON_BLANK_THEN_BLANK = 8
_ALNUM_THEN_LINE_BREAK = 16
_ANYWHERE = 31


class _Entry(NamedTuple):
    piece: Piece
    end: int
    start: int


class SegmentEncoder:
    """Encodes the prompts of a log; holds every distinct text once."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self.tokenizer = tokenizer
        self.special_lookalikes = 0
        """Distinct texts from outside the template that hold the text of a special token."""
        self.lookalike_example: str | None = None
        self._runs = RunTable(tokenizer)
        self._specials = SpecialTokens(tokenizer.special_tokens)
        self._control_tokens = frozenset(getattr(tokenizer, "control_tokens", tokenizer.special_tokens))
        self._marked: dict[str, Run] = {}
        self._exact: dict[Segment | tuple[Segment, ...], _Entry] = {}
        self._once: dict[int, _Entry] = {}
        self._chunks: dict[bytes, Piece] = {}
        self._images: dict[str, int] = {}

    # --- prompts ----------------------------------------------------------------------------------------------------

    def encode(self, segments: Sequence[Segment]) -> tuple[Piece, ...]:
        """The pieces of a rendered request."""
        exact = self._exact
        pieces = []
        before = _ANYWHERE
        for segment in segments:
            entry = exact.get(segment)
            if entry is None:
                if not segment.text and segment.image is None:
                    continue
                entry = self._enter(segment)
            piece, end, start = entry
            if not before & start:
                return self._encode_joined(segments)
            before = end
            pieces.append(piece)
        return tuple(pieces)

    def encode_plain(self, text: str, origin: Origin) -> tuple[Piece, ...]:
        """The pieces of a prompt that is not templated, behind the token that begins a sequence if there is one."""
        pieces = self.encode((Segment(text, origin),))
        bos = self.tokenizer.bos
        return (self._chunk(bos), *pieces) if bos else pieces

    def encode_ids(self, tokens: bytes) -> tuple[Piece, ...]:
        """The pieces of a prompt logged as ids. They have no text; growing prompts share them."""
        return tuple([self._chunk(tokens[at : at + CHUNK_BYTES]) for at in range(0, len(tokens), CHUNK_BYTES)])

    def encode_output(self, text: str) -> bytes:
        """The ids of generated text."""
        if not text:
            return b""
        return b"".join([run.tokens for run in self._parse(text, self.tokenizer.specials_in_content)])

    # --- one segment ------------------------------------------------------------------------------------------------

    def _enter(self, segment: Segment) -> _Entry:
        """The entry of a segment that is not remembered exactly."""
        if segment.image is not None:
            return self._enter_image(segment)
        text, origin = segment.text, segment.origin
        if len(text) < REMEMBERED_AT_ONCE:
            entry = self._exact[segment] = self._new_entry(text, origin)
            return entry
        key = hash(segment)
        known = self._once.get(key)
        if known is not None and known.piece.origin == origin and known.piece.text == text:
            self._exact[segment] = known
            return known
        entry = self._once[key] = self._new_entry(text, origin)
        return entry

    def _new_entry(self, text: str, origin: Origin) -> _Entry:
        is_template = origin == TEMPLATE
        parts = self._specials.split(text)
        if not is_template and len(parts) > 1:
            self._count_lookalike(parts[1::2])
            if not self.tokenizer.specials_in_content:
                parts = [text]
        runs = self._runs_of(parts)
        if is_template and len(runs) > 1 and len(text) < REMEMBERED_AT_ONCE:
            runs = (self._whole(text, runs),)
        return _Entry(
            Piece((Span(origin, len(text)),), runs),
            self._end_of(text, len(parts) > 1 and not parts[-1]),
            self._start_of(text, len(parts) > 1 and not parts[0]),
        )

    def _enter_image(self, segment: Segment) -> _Entry:
        image = segment.image or ""
        id = IMAGE_ID | self._images.setdefault(image, len(self._images))
        run = Run(segment.text, id.to_bytes(TOKEN_BYTES, "little") * segment.image_tokens)
        piece = Piece((Span(segment.origin, len(segment.text)),), (run,))
        entry = self._exact[segment] = _Entry(piece, _ANYWHERE, _ANYWHERE)
        return entry

    def _count_lookalike(self, found: list[str]) -> None:
        for special in found:
            if special in self._control_tokens:
                self.special_lookalikes += 1
                if self.lookalike_example is None:
                    self.lookalike_example = special
                return

    # --- text to runs -----------------------------------------------------------------------------------------------

    def _parse(self, text: str, parsed: bool) -> tuple[Run, ...]:
        return self._runs_of(self._specials.split(text) if parsed else [text])

    def _runs_of(self, parts: list[str]) -> tuple[Run, ...]:
        """Runs of ordinary text and special tokens in turn."""
        if len(parts) == 1:
            return self._runs.runs(parts[0]) if parts[0] else ()
        runs: list[Run] = []
        for place, part in enumerate(parts):
            if place % 2:
                runs.append(self._special(part))
            elif part:
                runs += self._runs.runs(part)
        return tuple(runs)

    def _special(self, text: str) -> Run:
        run = self._marked.get(text)
        if run is None:
            tokens = self.tokenizer.special_tokens[text].to_bytes(TOKEN_BYTES, "little")
            run = self._marked[text] = Run(text, tokens)
        return run

    def _whole(self, text: str, runs: tuple[Run, ...]) -> Run:
        """One run for a short stretch of template text, which no value is ever cut out of."""
        run = self._marked.get(text)
        if run is None:
            run = self._marked[text] = Run(text, b"".join([run.tokens for run in runs]))
        return run

    def _chunk(self, tokens: bytes) -> Piece:
        piece = self._chunks.get(tokens)
        if piece is None:
            piece = self._chunks[tokens] = Piece((), (Run("", tokens),))
        return piece

    # --- boundaries -------------------------------------------------------------------------------------------------

    def _end_of(self, text: str, is_special: bool) -> int:
        """The cuts that the end of a text allows."""
        if self.tokenizer.specials_in_content and self._specials.ends_open(text):
            return 0
        end = _START_IS_SPECIAL
        if is_special:
            end |= _END_IS_SPECIAL
        elif self.tokenizer.cuts_at_whitespace:
            last = text[-1]
            if last == "\n":
                end |= _LINE_BREAK_THEN_LINE
            elif not last.isspace():
                end |= _NON_BLANK_THEN_BLANK
                if last.isascii() and last.isalnum():
                    end |= _ALNUM_THEN_LINE_BREAK
        return end

    def _start_of(self, text: str, is_special: bool) -> int:
        """The cuts that the start of a text allows."""
        start = _END_IS_SPECIAL
        if is_special:
            start |= _START_IS_SPECIAL
        elif self.tokenizer.cuts_at_whitespace:
            if text[0] in " \t":
                start |= _NON_BLANK_THEN_BLANK
            elif text[0] in "\r\n":
                start |= _ALNUM_THEN_LINE_BREAK
            if text[0] != "/":
                inner = text.lstrip()
                blanks = text[: len(text) - len(inner)]
                if inner and "\n" not in blanks and "\r" not in blanks:
                    start |= _LINE_BREAK_THEN_LINE
        return start

    # --- neighbours that are not cut apart --------------------------------------------------------------------------

    def _encode_joined(self, segments: Sequence[Segment]) -> tuple[Piece, ...]:
        """The pieces of a request in which some neighbours must be encoded together."""
        pieces: list[Piece] = []
        group: list[Segment] = []
        whole: _Entry | None = None
        for segment in segments:
            if not segment.text and segment.image is None:
                continue
            entry = self._exact.get(segment) or self._enter(segment)
            if whole is None or whole.end & entry.start:
                if whole is not None:
                    pieces.append(whole.piece)
                group, whole = [segment], entry
            else:
                group.append(segment)
                whole = self._join(tuple(group))
        if whole is not None:
            pieces.append(whole.piece)
        return tuple(pieces)

    def _join(self, group: tuple[Segment, ...]) -> _Entry:
        """The entry of segments that are encoded together."""
        entry = self._exact.get(group)
        if entry is not None:
            return entry
        text = "".join([segment.text for segment in group])
        spans = tuple([Span(segment.origin, len(segment.text)) for segment in group])
        if len(text) < REMEMBERED_AT_ONCE:
            entry = self._exact[group] = self._new_join(text, spans, group)
            return entry
        key = hash(group)
        known = self._once.get(key)
        if known is not None and known.piece.spans == spans and known.piece.text == text:
            self._exact[group] = known
            return known
        entry = self._once[key] = self._new_join(text, spans, group)
        return entry

    def _new_join(self, text: str, spans: tuple[Span, ...], group: tuple[Segment, ...]) -> _Entry:
        parts = self._specials.split(text) if self.tokenizer.specials_in_content else self._template_parts(group)
        return _Entry(
            Piece(spans, self._runs_of(parts)),
            self._end_of(text, len(parts) > 1 and not parts[-1]),
            self._start_of(text, len(parts) > 1 and not parts[0]),
        )

    def _template_parts(self, group: tuple[Segment, ...]) -> list[str]:
        """Ordinary text and special tokens in turn, where only template text is parsed for them."""
        parts = [""]
        for segment in group:
            first, *rest = self._specials.split(segment.text) if segment.origin == TEMPLATE else [segment.text]
            parts[-1] += first
            parts += rest
        return parts
