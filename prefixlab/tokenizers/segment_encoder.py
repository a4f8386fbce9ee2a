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

from prefixlab.contracts import TextTokenizer
from prefixlab.records import TEMPLATE, TOKEN_BYTES, Origin, Piece, Run, Segment, Span
from prefixlab.tokenizers.alike_texts import AlikeTexts
from prefixlab.tokenizers.conversations import Conversations
from prefixlab.tokenizers.run_table import RunTable
from prefixlab.tokenizers.specials import SpecialTokens

LONG_TEXT = 4096
"""Characters from which on a text is looked up by its hash and compared with the runs it had, rather than kept as a key
of its own: a system prompt with a clock in it is never seen again, and its lines are kept already."""

LONG_CONVERSATION = 12
"""Segments from which on a request is compared with the earlier one that it may continue."""

CHUNK_BYTES = 256 * TOKEN_BYTES
IMAGE_ID = 0x8000_0000
"""Ids of image tokens: this bit and the number of the image in order of appearance."""

# What a segment's end allows, and what a start asks for: a boundary is a cut where the two have a bit in common.
_START_IS_SPECIAL = 1
_END_IS_SPECIAL = 2
_LINE_BREAK_THEN_LINE = 4
_NON_BLANK_THEN_BLANK = 8
_ALNUM_THEN_LINE_BREAK = 16
_START_IS_IMAGE = 32
_ANYWHERE = 63
_AT_IMAGES_ONLY = _START_IS_IMAGE


class _Entry:
    """A segment, where it may be cut from its neighbours, and its piece once it was encoded alone."""

    __slots__ = ("end", "parts", "piece", "start")

    def __init__(self, start: int, end: int, parts: list[str] | None, piece: Piece | None = None) -> None:
        self.start = start
        self.end = end
        self.parts = parts
        """Ordinary text and special tokens in turn, until the piece is made; None for one ordinary text."""
        self.piece = piece


class SegmentEncoder:
    """Encodes the prompts of a log; holds every distinct text once."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self.tokenizer = tokenizer
        self.special_lookalikes = 0
        """Distinct texts from outside the template that hold the text of a special token."""
        self.lookalike_example: str | None = None
        self._runs = RunTable(tokenizer)
        self._specials = SpecialTokens(tokenizer.special_tokens)
        self._specials_in_content = tokenizer.specials_in_content
        self._cuts_at_whitespace = tokenizer.cuts_at_whitespace
        self._control_tokens = frozenset(getattr(tokenizer, "control_tokens", tokenizer.special_tokens))
        self._marked: dict[str, Run] = {}
        self._entries: dict[Segment, _Entry] = {}
        self._joined: dict[tuple[Segment, ...], Piece] = {}
        self._long: dict[int, _Entry] = {}
        self._alike = AlikeTexts(self._runs, self._specials, tokenizer.cuts_at_whitespace)
        self._conversations = Conversations()
        self._chunks: dict[bytes, Piece] = {}
        self._images: dict[str, int] = {}

    # --- prompts ----------------------------------------------------------------------------------------------------

    def encode(self, segments: Sequence[Segment]) -> tuple[Piece, ...]:
        """The pieces of a rendered request."""
        if len(segments) < LONG_CONVERSATION:
            return self._encode(segments)
        segments = tuple([segment for segment in segments if segment.text or segment.image is not None])
        place, pieces = self._conversations.known(segments)
        pieces += self._encode(segments[place:])
        self._conversations.keep(segments, pieces)
        return pieces

    def _encode(self, segments: Sequence[Segment]) -> tuple[Piece, ...]:
        """The pieces of segments that stand at the start of a prompt or behind a cut."""
        known = self._entries
        entries = []
        before = _ANYWHERE
        all_cut = True
        for segment in segments:
            if len(segment.text) < LONG_TEXT:
                entry = known.get(segment)
                if entry is None:
                    if not segment.text and segment.image is None:
                        continue
                    entry = known[segment] = self._new_entry(segment)
            else:
                entry = self._long_entry(segment)
            if not before & entry.start:
                all_cut = False
            before = entry.end
            entries.append(entry)
        if all_cut:
            pieces = [entry.piece for entry in entries]
            if None not in pieces:
                return tuple(pieces)  # type: ignore[arg-type]
        present = segments
        if len(entries) < len(segments):
            present = [segment for segment in segments if segment.text or segment.image is not None]
        if not all_cut:
            return self._encode_joined(present, entries)
        return tuple([entry.piece or self._encode_alone(segment, entry) for segment, entry in zip(present, entries)])

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

    def _long_entry(self, segment: Segment) -> _Entry:
        """The entry of a long segment, which is known if its runs make up the same text."""
        text, origin, image, _ = segment
        if image is not None:
            entry = self._entries.get(segment)
            if entry is None:
                entry = self._entries[segment] = self._new_entry(segment)
            return entry
        spans = (Span(origin, len(text)),)
        key = _long_key(spans, text)
        entry = self._long.get(key)
        if entry is None or entry.piece is None or entry.piece.spans != spans or entry.piece.text != text:
            alike = self._alike.runs(text)
            if alike is None:
                entry = self._new_entry(segment)
            else:
                piece = Piece.counted(spans, *alike)
                entry = _Entry(self._start_of(text, False), self._end_of(text, False), None, piece)
            self._long[key] = entry
        return entry

    def _new_entry(self, segment: Segment) -> _Entry:
        """The entry of a segment that was not seen before, not yet encoded."""
        text, origin = segment.text, segment.origin
        if segment.image is not None:
            return _Entry(_ANYWHERE, _ANYWHERE, None, self._image(segment))
        parts = self._specials.split(text)
        if origin != TEMPLATE and len(parts) > 1:
            self._count_lookalike(parts[1::2])
            if not self.tokenizer.specials_in_content:
                parts = [text]
        if len(parts) == 1:
            return _Entry(self._start_of(text, False), self._end_of(text, False), None)
        return _Entry(self._start_of(text, not parts[0]), self._end_of(text, not parts[-1]), parts)

    def _encode_alone(self, segment: Segment, entry: _Entry) -> Piece:
        """Makes the piece of a segment."""
        text, origin = segment.text, segment.origin
        runs = self._runs_of(entry.parts or [text])
        if len(text) >= LONG_TEXT:
            self._alike.learn(text, runs)
        elif origin == TEMPLATE and len(runs) > 1:
            runs = (self._whole(text, runs),)
        entry.parts = None
        entry.piece = piece = Piece((Span(origin, len(text)),), runs)
        return piece

    def _image(self, segment: Segment) -> Piece:
        id = IMAGE_ID | self._images.setdefault(segment.image or "", len(self._images))
        run = Run(segment.text, id.to_bytes(TOKEN_BYTES, "little") * segment.image_tokens)
        return Piece((Span(segment.origin, len(segment.text)),), (run,))

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
        if self._specials_in_content and self._specials.ends_open(text):
            return _AT_IMAGES_ONLY
        end = _START_IS_SPECIAL | _START_IS_IMAGE
        if is_special:
            end |= _END_IS_SPECIAL
        elif self._cuts_at_whitespace:
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
        elif self._cuts_at_whitespace:
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

    def _encode_joined(self, segments: Sequence[Segment], entries: Sequence[_Entry]) -> tuple[Piece, ...]:
        """The pieces of a request in which some neighbours must be encoded together."""
        groups: list[tuple[list[Segment], _Entry]] = []
        end = 0
        for segment, entry in zip(segments, entries):
            if not groups or end & entry.start:
                groups.append(([segment], entry))
                end = entry.end
            else:
                group = groups[-1][0]
                group.append(segment)
                # Behind a special token begun further left, the last segment alone does not tell what the text ends in.
                end = self._end_of_joined(group) if end == _AT_IMAGES_ONLY else entry.end
        return tuple(
            [
                self._join(tuple(group)) if len(group) > 1 else entry.piece or self._encode_alone(group[0], entry)
                for group, entry in groups
            ]
        )

    def _join(self, group: tuple[Segment, ...]) -> Piece:
        """The piece of segments that are encoded together."""
        text = "".join([segment.text for segment in group])
        is_long = len(text) >= LONG_TEXT
        if not is_long:
            piece = self._joined.get(group)
            if piece is not None:
                return piece
        spans = tuple([Span(segment.origin, len(segment.text)) for segment in group])
        key = _long_key(spans, text) if is_long else 0
        if is_long:
            known = self._long.get(key)
            if known is not None and known.piece and known.piece.spans == spans and known.piece.text == text:
                return known.piece
        if not is_long:
            piece = self._joined[group] = Piece(spans, self._runs_of(self._joined_parts(group)))
            return piece
        alike = self._alike.runs(text)
        if alike is None:
            piece = Piece(spans, self._runs_of(self._joined_parts(group)))
            self._alike.learn(text, piece.runs)
        else:
            piece = Piece.counted(spans, *alike)
        self._long[key] = _Entry(0, 0, None, piece)
        return piece

    def _joined_parts(self, group: Sequence[Segment]) -> list[str]:
        if self.tokenizer.specials_in_content:
            return self._specials.split("".join([segment.text for segment in group]))
        return self._template_parts(group)

    def _end_of_joined(self, group: Sequence[Segment]) -> int:
        parts = self._joined_parts(group)
        return self._end_of("".join([segment.text for segment in group]), len(parts) > 1 and not parts[-1])

    def _template_parts(self, group: Sequence[Segment]) -> list[str]:
        """Ordinary text and special tokens in turn, where only template text is parsed for them."""
        parts = [""]
        for segment in group:
            first, *rest = self._specials.split(segment.text) if segment.origin == TEMPLATE else [segment.text]
            parts[-1] += first
            parts += rest
        return parts


def _long_key(spans: tuple[Span, ...], text: str) -> int:
    """Where a long text is looked up; equal keys may belong to different texts."""
    return hash((spans, text))
