"""What a row quotes of the log: as the log has it, escaped once at most."""

from __future__ import annotations

from typing import Any

import pytest

import prefixlab as pl
from prefixlab.attribution.quoting import quoted, shortened
from prefixlab.findings import Break
from prefixlab.reporters.terminal import REPORTER
from tests.attribution.test_volatile_fields import RULES

SYSTEM = {"role": "system", "content": "\n".join(RULES)}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "'plain'"),
        ("two\nlines", "'two\\nlines'"),
        (r"a JSON's \n and \"quotes\"", r"'a JSON's \n and \"quotes\"'"),
        (r"C:\new\table", r"'C:\new\table'"),
        ("a\x1b[31m bell\x07", "'a\\x1b[31m bell\\x07'"),
    ],
)
def test_only_what_cannot_be_shown_is_escaped(text: str, shown: str) -> None:
    assert quoted(text) == shown


def test_long_text_is_cut_on_one_line() -> None:
    assert shortened("a\n\n b\tc") == "'a b c'"
    assert shortened("x" * 61) == f"'{'x' * 57}...'"


def tool(description: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "search", "description": description, "parameters": {}}}


def test_a_line_break_in_the_text_of_a_tool_is_escaped_as_its_json_has_it() -> None:
    days = ["Mon\nday", "Tue\nday", "Wed\nday", "Thu\nday"]
    records = [
        {
            "model": "gpt-4o",
            "tools": [tool(f"Searches the catalogue. Open on: {days[number % 4]} and others.")],
            "messages": [SYSTEM, {"role": "user", "content": f"Question {number}"}],
        }
        for number in range(8)
    ]
    report = pl.audit(records, tokenizer="o200k_base")
    (row,) = [row for row in report.breaks if row.kind == "tool_text"]
    assert r"\n" in row.evidence
    assert r"\\n" not in row.evidence
    assert rb"\\n" not in REPORTER.render(report, per_request=False, width=100)


def arguments_break(*arguments: str) -> Break:
    """The break of a call whose arguments are sent back in another form."""
    records = []
    for number, said in enumerate(arguments):
        call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": said}}
        turns: list[dict[str, Any]] = [
            {"role": "user", "content": "Look for the terms of the long rental, please."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "Nothing was found in the whole catalogue."},
        ]
        more = [{"role": "user", "content": f"And then, the {number}th time?"}] * number
        records.append({"model": "gpt-4o", "messages": [SYSTEM, *turns, *more]})
    report = pl.audit(records, tokenizer="o200k_base", tool_arguments="raw")
    (row,) = [row for row in report.breaks if row.kind == "arguments_reserialised"]
    return row


def test_a_line_break_in_arguments_is_escaped_as_their_json_has_it() -> None:
    row = arguments_break(r'{"q": "a\nb"}', r'{"q":"a\nb"}')
    assert row.evidence == r"""'{"q": "a\nb"}' became '{"q":"a\nb"}'"""
