"""The input bill in the text and the Markdown report."""

from __future__ import annotations

from dataclasses import replace

from prefixlab.bill import PromptTokens, Rates, input_bill
from prefixlab.reporters.markdown import MarkdownReport
from prefixlab.reporters.terminal import TextReport
from tests.reporters.report_factory import make_field, make_report


def test_relative_units_and_money() -> None:
    now, fixed = PromptTokens.of(2000, 400, 1000), PromptTokens.of(2000, 1500, 300)
    report = make_report(fields=[make_field()])
    relative = replace(report, bill=input_bill(now, fixed, Rates(0.1, 1.25)))
    text = TextReport().render(relative, per_request=False, width=80).decode()
    # 600 + 0.1 x 400 + 1.25 x 1000 = 1,890; 200 + 150 + 375 = 725
    assert "Input bill, in tokens at the full price (read x 0.1, write x 1.25)" in text
    assert [line.split()[-3:] for line in text.splitlines() if line.startswith("  now ")] == [["1,890", "94.5", "%"]]
    assert "  with the fields fixed    725    36.2 %" in text
    money = replace(report, bill=input_bill(now, fixed, Rates(0.1, 1.25), price_per_mtok=3.0))
    shown = MarkdownReport().render(money, per_request=False, width=80).decode()
    assert "| Input bill, at 3 a million (read x 0.1, write x 1.25) | amount | of the full bill |" in shown
    assert "| now | 0.0057 | 94.5 % |" in shown
    assert "| without a cache | 0.0060 | 100.0 % |" in shown
    assert "Input bill" not in TextReport().render(report, per_request=False, width=80).decode()
