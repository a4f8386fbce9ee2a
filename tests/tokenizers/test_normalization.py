"""NFC is that of the `tokenizers` library for every code point."""

from __future__ import annotations

import sys

import pytest
from tokenizers import normalizers

from prefixlab.tokenizers.normalization import LATER_MARKS, to_nfc

CONTEXTS = ("{}", "e{}\u0301", "a\u0327{}", "a{}\u0334", "a\u0301{}", "a{}\u0327\u0301", "\u1100{}", "{}\u0301")


def check(code_points: range) -> None:
    library = normalizers.NFC()
    for code_point in code_points:
        if 0xD800 <= code_point < 0xE000:
            continue
        for context in CONTEXTS:
            text = context.format(chr(code_point))
            assert to_nfc(text) == library.normalize_str(text), ascii(text)


def test_the_marks_that_differ() -> None:
    assert to_nfc("plain") == "plain"
    assert to_nfc("e\u0301") == "é"
    assert LATER_MARKS.search("\u1ac3")
    check(range(0x20, 0x3500))


@pytest.mark.full
def test_every_code_point() -> None:
    check(range(sys.maxunicode + 1))
