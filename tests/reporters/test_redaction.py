"""Redaction: no word of a log in any form, everything else as it was."""

from __future__ import annotations

import pytest
from report_factory import make_break, make_field, make_report, make_row

from prefixlab.findings import Report, Totals
from prefixlab.reporters import csv_report, json_report, markdown, terminal
from prefixlab.reporters.redaction import redact, stand_in

UUID = "3f8a2c1e-9b1d-4a77-8a3e-0c1d2e3f4a5b"
SECRETS = ("Project Nightjar", "swordfish", "curlew", UUID, "alice@example.com", "acme", "heron-77", "q-secret-1")


def secret_report() -> Report:
    return make_report(
        fields=[
            make_field(
                name="Project Nightjar",
                kind="text",
                examples=("swordfish", "curlews!!"),
                path="messages[0].content.curlew bird.text",
                advice='Move Project Nightjar, such as swordfish or "heron-77", behind `tools`.',
            )
        ],
        breaks=[make_break(evidence="acme became heron-77", path="tools", advice="Sort “heron-77” by name.")],
        rows=[
            make_row(1, id=UUID, tags={"tenant": "acme", "user": "alice@example.com"}, field="q-secret-1"),
            make_row(2, id="q-secret-1", matched_id=UUID, tags={"tenant": "acme"}, field="Project Nightjar"),
            make_row(3, id="q-secret-2", matched_id=UUID, tags={"tenant": "emca"}, field="tool_order"),
        ],
        by={"tenant": {"acme": Totals(1, 1, 400, 0, 0, 0), "emca": Totals(1, 1, 400, 0, 0, 0)}},
        notes=['Two look-alikes of "heron-77" in Project Nightjar.'],
    )


@pytest.mark.parametrize("form", [terminal, markdown, json_report, csv_report])
def test_no_secret_is_left_in_any_form(form: object) -> None:
    render = form.REPORTER.render  # type: ignore[attr-defined]
    before = render(secret_report(), per_request=True, width=120).decode()
    after = render(redact(secret_report()), per_request=True, width=120).decode()
    assert any(secret in before for secret in SECRETS)
    assert [secret for secret in SECRETS if secret in after] == []


def test_values_become_kind_and_length() -> None:
    report = redact(secret_report())
    field = report.fields[0]
    assert field.name == "field 1"
    assert field.examples == ("‹text, 9 characters›",)
    assert field.path == "messages[0].content.‹key, 16 characters›"
    assert field.advice == (
        "Move field 1 (text), such as ‹text, 9 characters› or ‹text, 8 characters›, behind `tools`."
    )
    assert report.breaks[0].evidence == "‹text, 20 characters›"
    assert report.breaks[0].path == "tools"
    assert stand_in("id", "x") == "‹id, 1 character›"


def test_rows_can_still_be_followed() -> None:
    first, second, third = redact(secret_report()).requests
    assert first.id == "‹uuid 1, 36 characters›" == second.matched_id == third.matched_id
    assert len({first.id, second.id, third.id}) == 3
    assert (first.field, second.field, third.field) == ("‹text, 10 characters›", "field 1", "tool_order")
    assert first.tags["tenant"] == second.tags["tenant"] != third.tags["tenant"]
    assert first.tags["user"] == "‹email 1, 17 characters›"
    assert list(redact(secret_report()).by["tenant"]) == [first.tags["tenant"], third.tags["tenant"]]


def test_figures_stay_and_the_result_is_always_the_same() -> None:
    report = secret_report()
    assert redact(report) == redact(report)
    assert redact(report).totals == report.totals
    assert redact(report).losses == report.losses
    assert [row.outcome for row in redact(report).requests] == [row.outcome for row in report.requests]


@pytest.mark.parametrize("name", ["Current time", "it's", 'the "x"', 'it\'s "x"', "a\nb", "\\", "(a|b)*", "‹x›"])
def test_advice_that_quotes_a_name_in_any_way_loses_it(name: str) -> None:
    for quoted in (repr(name), f'"{name}"', f"`{name}`", name):
        field = make_field(name=name, advice=f"Move {quoted} to the end of the prompt.")
        assert "field 1 (clock)" in redact(make_report(fields=[field])).fields[0].advice


@pytest.mark.parametrize(
    ("note", "left"),
    [
        ("1 record was skipped, the first: a:3: not JSON: 'x'. Fix it.", "1 record was skipped, the first: a:3."),
        ("2 records were skipped, the first: a:7: b\nc", "2 records were skipped, the first: a:7."),
        ("The chat template leaves out content of 1 message: messages[0].my key (1).",
         "The chat template leaves out content of 1 message."),
        ("2 requests part from earlier ones at tools[0].my key, ahead of text that is the same again, x.",
         "2 requests part from earlier ones."),
    ],
)  # fmt: skip
def test_a_note_loses_what_it_quotes(note: str, left: str) -> None:
    assert redact(make_report(notes=[note])).notes == (left,)


@pytest.mark.parametrize(
    "note",
    [
        "The chat template leaves out content of 3 messages: messages[0].content[1] (2), input (1) and 2 more places.",
        "2 requests part from earlier ones at tools[0].function and system, ahead of text that is the same again, x.",
        "The log is not in order of arrival; it was sorted by its time stamps.",
    ],
)
def test_a_note_that_quotes_nothing_stays(note: str) -> None:
    assert redact(make_report(notes=[note])).notes == (note,)
