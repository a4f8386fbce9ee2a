"""Awkward and huge texts: linear time, no overflow, the same ids."""

from __future__ import annotations

import random
import time

import pytest

from prefixlab.records import Origin, Segment
from prefixlab.tokenizers import SegmentEncoder, load_tokenizer
from prefixlab.tokenizers.byte_level import LONG_BLANKS, unpack_ids
from prefixlab.tokenizers.run_table import RunTable, split_long
from tests.tokenizers.references import encoding
from tests.tokenizers.varied_text import varied_text

USER = Origin("messages[0].content", "user")
N = 300_000

HUGE = {
    "letters": "a" * N,
    "carets": "^" * N,
    "digits": "1" * N,
    "blanks": " " * N,
    "blanks, then a word": " " * N + "x",
    "blanks, then a line break": " " * N + "\nx",
    "tabs and blanks": "\t " * (N // 2) + "x",
    "blank lines": "\n" * N,
    "blank lines with returns": "\r\n" * (N // 2) + "x",
    "slashes": "\n/" * (N // 2),
    "emoji": "😀" * (N // 4),
    "marks": "\u0301" * N,
    "no-break blanks": "\u00a0" * N + "x",
    "wide rows of blanks": (" " * 1500 + "\n") * (N // 1500) + "x",
    "brackets": "<|" * (N // 2),
}


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "qwen3"])
@pytest.mark.parametrize("kind", HUGE)
def test_huge_text_is_encoded_in_linear_time(name: str, kind: str) -> None:
    tokenizer = load_tokenizer(name)
    started = time.process_time()
    pieces = SegmentEncoder(tokenizer).encode([Segment(HUGE[kind], USER)])
    assert time.process_time() - started < 5
    assert "".join([piece.text for piece in pieces]) == HUGE[kind]
    assert b"".join([tokenizer.decode(piece.tokens) for piece in pieces]).decode() == HUGE[kind]


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_long_runs_of_blanks_are_encoded_as_tiktoken_does(name: str) -> None:
    source = random.Random(5)
    tokenizer, reference = load_tokenizer(name), encoding(name)
    for _ in range(150):
        blank = source.choice([" ", "\t", " \t", "\u00a0", " \u2003"])
        run = blank * (source.randint(LONG_BLANKS - 3, LONG_BLANKS + 3) // len(blank))
        text = "".join(
            [source.choice(["", varied_text(source, 2)]) + source.choice(["", "\n", "\r"]) + run for _ in range(3)]
        ) + source.choice(["", "x", "\n", " x", ".", "7", varied_text(source, 2)])
        assert unpack_ids(tokenizer.encode_ordinary(text)) == reference.encode_ordinary(text)


def test_long_lines_are_cut_at_sentences_and_clauses() -> None:
    sentence = "One rule; another one! Is it 3.5? Yes. "
    assert split_long(sentence) == ["One rule;", " another one!", " Is it 3.5?", " Yes.", " "]
    row = '{"a": 1, "b": [2, 3]}, ' * 200
    pieces = split_long(row)
    assert "".join(pieces) == row
    assert pieces[:3] == ['{"a":', " 1,", ' "b":']
    for text in (sentence * 50, row, "a" * 5000, ". " * 900, ", " * 3000):
        assert "".join(split_long(text)) == text


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "qwen3"])
def test_what_is_cut_is_encoded_as_the_whole(name: str) -> None:
    source = random.Random(9)
    tokenizer = load_tokenizer(name)
    parts = [*"ab12Zü.,;|<>(){}[]\":'&= \t。！，、が的한का😀", "\u3099", "\u0301", "\u0338", "'s", "退货", '"}', " the"]
    for number in range(300):
        long = "".join([source.choice(parts) for _ in range(source.randint(700, 2600))])
        text = long if number % 2 else varied_text(source, 120).replace("\n", " ")
        pieces = split_long(text)
        assert "".join(pieces) == text
        assert b"".join(map(tokenizer.encode_ordinary, pieces)) == tokenizer.encode_ordinary(text)


def test_what_has_no_sentences_is_cut_at_fields_and_words() -> None:
    rule = "parcels are kept for a week"
    row = ",".join([f'"rule{n}":"{rule} {n}"' for n in range(40)])
    assert split_long(row)[1] == f'","rule1":"{rule} 1'
    chinese = "请核对收货地址。" * 100
    assert split_long(chinese)[:2] == ["请核对收货地址", "。请核对收货地址"]
    words = " ".join([f"{rule} {n}" for n in range(200)])
    one, other = (split_long(f"Now {clock} {words}") for clock in ("10:00", "11:11"))
    assert len(set(one) - set(other)) == 1
    assert max(map(len, one)) < 600


def test_equal_text_is_one_run() -> None:
    table = RunTable(load_tokenizer("qwen3"))
    first = table.runs("a line\n\n  b line\nlast")
    assert [run.text for run in first] == ["a line\n\n", "  b line\n", "last"]
    again = table.runs("b\na line\n\n  b line\nlast")
    assert [a is b for a, b in zip(first, again[1:])] == [True] * 3
    assert [run.text for run in table.runs("x\n/usr\n\n")] == ["x\n/usr\n\n"]
    assert [run.text for run in table.runs("/usr\nx\n \n")] == ["/usr\n", "x\n \n"]


@pytest.mark.full
def test_thirty_megabytes() -> None:
    source = random.Random(6)
    lines = "".join([varied_text(source) + "\n" for _ in range(20_000)])
    text = lines * (30_000_000 // len(lines))
    tokenizer = load_tokenizer("o200k_base")
    started = time.process_time()
    pieces = SegmentEncoder(tokenizer).encode([Segment(text, USER)])
    assert time.process_time() - started < 60
    assert sum([piece.token_count for piece in pieces]) == len(encoding("o200k_base").encode_ordinary(text))
