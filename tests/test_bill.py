"""The bill: worked by hand from the providers' multipliers, and properties of any run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefixlab.bill import UNPRICED, PromptTokens, Rates, input_bill

ANTHROPIC = Rates(read=0.1, write=1.25)
OPENAI_4O = Rates(read=0.5)

counts = st.integers(0, 10**9)


def test_a_conversation_on_anthropic():
    # 10,000 prompt tokens: 6,000 read, 3,000 written, 1,000 behind the last breakpoint:
    # 600 + 3,750 + 1,000 = 5,350 of 10,000.
    now = PromptTokens.of(10_000, cached=6_000, written=3_000)
    bill = input_bill(now, now.won_back(2_000), ANTHROPIC)
    assert bill.without_cache == 10_000
    assert bill.now == pytest.approx(5_350)
    # 2,000 of the written ones are read then: 8,000 * 0.1 + 1,000 * 1.25 + 1,000.
    assert bill.fixed == pytest.approx(3_050)
    assert bill.now_ratio == pytest.approx(0.535)
    assert bill.fixed_ratio == pytest.approx(0.305)
    assert bill.saved_by_fixing == pytest.approx(2_300)
    assert not bill.is_money


def test_writes_that_are_never_read_cost_more_than_no_cache():
    now = PromptTokens.of(1_000, cached=0, written=1_000)
    assert input_bill(now, now, ANTHROPIC).now_ratio == pytest.approx(1.25)


def test_a_provider_without_a_write_premium():
    now = PromptTokens.of(4_000, cached=1_000, written=3_000)
    bill = input_bill(now, now.won_back(2_000), OPENAI_4O)
    assert bill.now == 3_500
    assert bill.fixed == 2_500


def test_money():
    # 2 million tokens at 3.00 a million, half of them read at a tenth: 3.00 + 0.30.
    now = PromptTokens.of(2_000_000, cached=1_000_000)
    bill = input_bill(now, now, Rates(0.1), price_per_mtok=3.0)
    assert bill.is_money
    assert bill.now == pytest.approx(3.30)
    assert bill.without_cache == pytest.approx(6.0)


def test_a_free_model_and_an_empty_log():
    nothing = PromptTokens.of(0, 0)
    assert input_bill(nothing, nothing, ANTHROPIC).now_ratio == 0.0
    now = PromptTokens.of(100, 50)
    free = input_bill(now, now, ANTHROPIC, price_per_mtok=0.0)
    assert (free.now, free.now_ratio) == (0.0, 0.0)


def test_an_engine_of_ones_own():
    now = PromptTokens.of(1_000, cached=900)
    assert input_bill(now, now, UNPRICED).now == 100


def test_impossible_sums_are_refused():
    with pytest.raises(ValueError, match="negative"):
        PromptTokens.of(10, cached=8, written=3)


def test_a_fixed_log_may_be_longer():
    bill = input_bill(PromptTokens.of(10, 0), PromptTokens.of(12, 8))
    assert (bill.now, bill.fixed, bill.without_cache) == (10, 4, 10)


@given(counts, counts, counts, counts)
def test_winning_back_keeps_the_tokens_and_never_costs_more(cached, written, uncached, tokens):
    now = PromptTokens(cached, written, uncached)
    fixed = now.won_back(tokens)
    assert fixed.total == now.total
    assert fixed.cached == min(cached + tokens, now.total)
    for rates in (ANTHROPIC, OPENAI_4O, UNPRICED):
        bill = input_bill(now, fixed, rates)
        assert bill.fixed <= bill.now * (1 + 1e-12)
        assert bill.now <= (rates.write or 1.0) * now.total * (1 + 1e-12)
