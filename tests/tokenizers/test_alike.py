"""What a prompt has in common with earlier ones is taken over from them, and changes nothing."""

from __future__ import annotations

import random

import pytest

from prefixlab.records import TEMPLATE, Origin, Piece, Segment
from prefixlab.tokenizers import SegmentEncoder, load_tokenizer
from prefixlab.tokenizers.alike_texts import AlikeTexts
from prefixlab.tokenizers.run_table import RunTable
from prefixlab.tokenizers.specials import SpecialTokens
from tests.tokenizers.varied_text import varied_text

SYSTEM = Origin("messages[0].content", "system")
NAMES = ("qwen3", "o200k_base")


def varied_lines(source: random.Random, count: int = 150) -> str:
    return "".join([varied_text(source) + source.choice(["\n", "\n\n", ""]) for _ in range(count)])


def check(encoder: SegmentEncoder, segments: list[Segment]) -> tuple[Piece, ...]:
    """Ids, spans and counts are those of an encoder that saw nothing before; equal text is the same run and piece."""
    pieces = encoder.encode(segments)
    fresh = SegmentEncoder(encoder.tokenizer).encode(segments)
    assert [(piece.spans, piece.token_count) for piece in pieces] == [
        (piece.spans, piece.token_count) for piece in fresh
    ]
    for piece, other in zip(pieces, fresh):
        assert [(run.text, run.tokens) for run in piece.runs] == [(run.text, run.tokens) for run in other.runs]
        assert Piece(piece.spans, piece.runs).token_count == piece.token_count
    assert all(a is b for a, b in zip(pieces, encoder.encode(segments), strict=True))
    return pieces


@pytest.mark.parametrize("name", NAMES)
def test_lines_of_earlier_long_texts_change_nothing(name: str) -> None:
    source = random.Random(8)
    encoder = SegmentEncoder(load_tokenizer(name))
    marks = ("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>", "<|endoftext|>")
    bodies = []
    for keep_marks in (False, False, False, True):
        body = varied_lines(source)
        for mark in () if keep_marks else (*marks, "<|endofprompt|>", "<|fim_prefix|>"):
            body = body.replace(mark, "")
        bodies.append(body)
    changes = ["", "x", "\n", "x.\n", " ", "x.", "\r\n", "Time: 09:15.\n/", "Time: 09:16\n", "<|im_end|>\n", " \n"]
    for _ in range(400):
        body = source.choice(bodies)
        at = source.choice([0, 0, source.randint(0, len(body)), body.find("\n") + 1, body.find("\n", 200) + 1])
        change = source.choice([*changes, varied_text(source), f"Time: {source.randint(0, 999)}\n"])
        origin = source.choice([SYSTEM, SYSTEM, TEMPLATE])
        text = body[at:] if source.random() < 0.3 else body[:at] + change + body[at:]
        before = source.choice([[], [], [Segment("<|im_start|>system\n", TEMPLATE)], [Segment("a.", TEMPLATE)]])
        check(encoder, [*before, Segment(text, origin)])


def test_only_changed_lines_are_cut_and_looked_up() -> None:
    tokenizer = load_tokenizer("qwen3")
    alike = AlikeTexts(table := RunTable(tokenizer), SpecialTokens(tokenizer.special_tokens), cuts=True)
    rules = "".join([f"{place}. Rule number {place}; a <b>bold</b> one.\n" for place in range(200)])
    for minute in (14, 15):
        text = f"Support bot.\nTime: 09:{minute}\n{rules}"
        assert alike.runs(text) is None
        alike.learn(text, table.runs(text))
    runs, token_count = alike.runs(f"Support bot.\nTime: 09:16\nDay: 2\n{rules}") or ((), 0)
    assert [run.text for run in runs[:4]] == [
        "Support bot.\n",
        "Time: 09:16\n",
        "Day: 2\n",
        rules.split("\n")[0] + "\n",
    ]
    assert token_count * 4 == sum([len(run.tokens) for run in runs])
    for change in ("", "\n", "Time", "/\n", "<think>\n"):
        assert alike.runs(f"Support bot.\n{change}{rules}") is None


def test_a_lookalike_in_a_changed_line_is_counted() -> None:
    encoder = SegmentEncoder(load_tokenizer("o200k_base"))
    rules = "".join([f"{place}. Rule number {place}; keep to it.\n" for place in range(200)])
    for line in ("a", "b", "c", "<|im_end|>"):
        check(encoder, [Segment(f"Support bot.\n{line}\n{rules}", SYSTEM)])
    assert encoder.special_lookalikes == 1


@pytest.mark.parametrize("name", NAMES)
def test_conversations_change_nothing(name: str) -> None:
    source = random.Random(9)
    encoder = SegmentEncoder(load_tokenizer(name))
    texts = ["", " ", "\nx", "x", "Hello", "end|>", "<|im_", "/", "'s", varied_text(source), varied_lines(source)]
    conversations: list[list[Segment]] = [[]]
    for _ in range(600):
        segments = list(source.choice(conversations[-6:]))
        if segments and source.random() < 0.3:
            del segments[source.randint(0, len(segments)) :]
        if segments and source.random() < 0.2:
            place = source.randrange(len(segments))
            segments[place] = segments[place]._replace(text=source.choice(texts))
        for _ in range(source.randint(0, 6)):
            place = len(segments)
            origin = TEMPLATE if place % 2 == 0 else Origin(f"messages[{place // 2}].content", "user")
            text = source.choice(["<|im_end|>\n<|im_start|>user\n", "\n", "", "<|im_"]) if place % 2 == 0 else ""
            image = "a.png" if source.random() < 0.05 else None
            segments.append(Segment(text or source.choice(texts), origin, image, 3 if image else 0))
        conversations.append(segments[:40])
        check(encoder, segments[:40])


def test_a_continued_conversation_is_not_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = SegmentEncoder(load_tokenizer("qwen3"))
    conversation = []
    for place in range(20):
        conversation += [
            Segment("<|im_end|>\n<|im_start|>user\n", TEMPLATE),
            Segment(f"Message {place}", Origin(f"messages[{place}].content", "user")),
        ]
    first = encoder.encode(conversation[:30])
    asked: list[int] = []
    encode = encoder._encode
    monkeypatch.setattr(encoder, "_encode", lambda segments: asked.append(len(segments)) or encode(segments))
    second = encoder.encode(conversation)
    assert asked == [11]
    assert all(a is b for a, b in zip(first, second))
