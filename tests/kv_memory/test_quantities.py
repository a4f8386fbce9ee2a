"""Amounts as people write them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefixlab.errors import PrefixlabError
from prefixlab.kv_memory import quantities


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("71GiB", 71 * 2**30),
        ("65.25GB", 65_250_000_000),
        ("160KiB", 163_840),
        ("160kib", 163_840),
        ("1.125 GiB", 1_207_959_552),
        ("1024", 1024),
        ("1024B", 1024),
        ("2T", 2 * 10**12),
        ("0.5", Fraction(1, 2)),
    ],
)
def test_bytes(text: str, amount: Fraction) -> None:
    assert quantities.bytes_amount(text, "--x") == amount


@pytest.mark.parametrize(
    "text", ["", "GiB", "-1GiB", "1e", "e9", "1e99", ".", "nan", "inf", "1,000", "٣GiB", "1XB", "1 2", "9" * 30, "0"]
)
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(PrefixlabError, match="--x"):
        quantities.bytes_amount(text, "--x")


def test_the_others() -> None:
    assert quantities.bytes_per_second("3.35TB/s", "--x") == 3_350_000_000_000
    assert quantities.cards_bytes("2x80GB", "--x") == (2, 80 * 10**9)
    assert quantities.cards_bytes("80GiB", "--x") == (1, 80 * 2**30)
    assert quantities.token_counts("4096,32K,1M,4096", "--x") == (4096, 32768, 1024 * 1024)
    assert quantities.share("0.92", "--x") == Fraction(92, 100)
    assert quantities.active_of("4/128", "--x") == (4, 128)


@given(st.text(max_size=30))
def test_any_text_is_an_amount_or_a_complaint(text: str) -> None:
    for read in (
        quantities.bytes_amount,
        quantities.whole_bytes,
        quantities.bytes_per_second,
        quantities.cards_bytes,
        quantities.token_counts,
        quantities.number,
        quantities.share,
        quantities.active_of,
    ):
        try:
            read(text, "--x")
        except PrefixlabError as error:
            assert str(error).startswith("--x")  # noqa: PT017
