"""Our ids are those of the reference tokenizers, for whole texts cut into segments anywhere."""

from __future__ import annotations

import random

import pytest

from prefixlab.records import TEMPLATE, Origin, Segment
from prefixlab.tokenizers import SegmentEncoder
from prefixlab.tokenizers.byte_level import unpack_ids
from tests.tokenizers.references import HOSTED, SERVED, encoding, ours, reference_ids
from tests.tokenizers.varied_text import random_cuts, varied_text

USER = Origin("messages[1].content", "user")
SYSTEM = Origin("messages[0].content", "system")

CHATML = ("<|im_start|>{role}\n", "<|im_end|>\n")
LLAMA3 = ("<|start_header_id|>{role}<|end_header_id|>\n\n", "<|eot_id|>")
HARMONY = ("<|start|>{role}<|message|>", "<|end|>")
LAYOUTS = {
    "o200k_base": CHATML,
    "cl100k_base": CHATML,
    "qwen3": CHATML,
    "llama3_1": LLAMA3,
    "gptoss": HARMONY,
    "deepseek_v3": ("<｜{role}｜>", "<｜end▁of▁sentence｜>"),
    "gemma3": ("<start_of_turn>{role}\n", "<end_of_turn>\n"),
}


def check_strings(name: str, count: int, seed: int) -> None:
    source = random.Random(seed)
    reference = reference_ids(name)
    encoder = SegmentEncoder(ours(name))
    origins = [USER, SYSTEM] if name in HOSTED else [USER, SYSTEM, TEMPLATE]
    for _ in range(count):
        text = varied_text(source)
        segments = [Segment(part, source.choice(origins)) for part in random_cuts(text, source)]
        pieces = encoder.encode(segments)
        assert "".join([piece.text for piece in pieces]) == text
        ids = unpack_ids(b"".join([piece.tokens for piece in pieces]))
        assert ids == reference(text), (text, [segment.text for segment in segments])


def check_chats(name: str, count: int, seed: int) -> None:
    """Whole rendered chats, the content cut anywhere, with repeats of earlier messages as conversations have them."""
    source = random.Random(seed)
    encoder = SegmentEncoder(ours(name))
    opening, closing = LAYOUTS[name]
    messages: list[str] = []
    for _ in range(count):
        if len(messages) > 8 or source.random() < 0.2:
            messages = []
        content = varied_text(source, 30)
        if name in HOSTED:
            content = content.replace("<|", "< |")
        messages.append(content.strip() if source.random() < 0.7 else content)
        segments = []
        for place, message in enumerate(messages):
            role = ("system", "user", "assistant")[place % 3]
            segments.append(Segment(opening.format(role=role), TEMPLATE))
            cuts = [message] if source.random() < 0.7 else random_cuts(message, source, 3)
            segments += [Segment(part, Origin(f"messages[{place}].content", role)) for part in cuts]
            segments.append(Segment(closing, TEMPLATE))
        text = "".join([segment.text for segment in segments])
        pieces = encoder.encode(segments)
        assert "".join([piece.text for piece in pieces]) == text
        ids = unpack_ids(b"".join([piece.tokens for piece in pieces]))
        if name in HOSTED:
            assert ids == encoding(name).encode(text, allowed_special="all"), text
        else:
            assert ids == reference_ids(name)(text), text


@pytest.mark.parametrize("name", [*HOSTED, *SERVED])
def test_varied_strings(name: str) -> None:
    check_strings(name, 600 if name == "gemma3" else 2000, seed=1)


@pytest.mark.parametrize("name", [*HOSTED, *SERVED])
def test_chats(name: str) -> None:
    check_chats(name, 20 if name == "gemma3" else 60, seed=2)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(10, 14))
@pytest.mark.parametrize("name", [*HOSTED, "qwen3", "llama3_1"])
def test_a_hundred_thousand_strings(name: str, seed: int) -> None:
    check_strings(name, 25_000, seed)


@pytest.mark.full
@pytest.mark.parametrize("name", [*HOSTED, "qwen3", "llama3_1"])
def test_two_thousand_chats(name: str) -> None:
    check_chats(name, 2000, seed=20)


@pytest.mark.full
@pytest.mark.parametrize("name", ["gptoss", "deepseek_v3", "gemma3"])
def test_more_strings_of_further_families(name: str) -> None:
    check_strings(name, 10_000, seed=30)
    check_chats(name, 300, seed=31)
