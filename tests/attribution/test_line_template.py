"""Lines taken apart into literals and values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefixlab.attribution.line_template import template_of


@pytest.mark.parametrize(
    ("one", "other", "literals", "labels"),
    [
        ("Current time: 09:14.\n", "Current time: 09:15.\n", ("Current time: ", ".\n"), ["Current time"]),
        ("Time: 2026-11-02T08:00:00Z\n", "Time: 2026-11-02T08:00:01Z\n", ("Time: ", "\n"), ["Time"]),
        ("Request number 99\n", "Request number 100\n", ("Request number ", "\n"), ["Request number"]),
        (
            "x: ver=2.1; nonce=3fa1c;",
            "x: ver=2.2; nonce=3fb1c;",
            ("x: ver=", "; nonce=", ";"),
            ["ver", "nonce"],
        ),
        ('{"session_id": "a1", "plan": 1}', '{"session_id": "b2", "plan": 1}', None, ["session_id"]),
        ("You serve Anna Lee today.", "You serve Tom Smith today.", ("You serve ", " today."), ["You serve"]),
        ("Today is 2 November 2026.", "Today is 13 December 2026.", ("Today is ", "."), ["Today is"]),
    ],
)
def test_known_lines(one: str, other: str, literals: tuple[str, ...] | None, labels: list[str]) -> None:
    template = template_of(one, other)
    assert template is not None
    if literals is not None:
        assert template.literals == literals
    assert [template.label(hole) for hole in range(len(labels))] == labels


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bot.\n", "bot. \n"),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
        ("completely", "different"),
    ],
)
def test_order_blanks_and_whole_lines_are_no_values(one: str, other: str) -> None:
    assert template_of(one, other) is None


@given(st.text(min_size=1, max_size=60), st.text(min_size=1, max_size=60))
def test_a_template_gives_back_the_lines_it_was_made_of(one: str, other: str) -> None:
    template = template_of(one, other)
    if template is None:
        return
    for line in (one, other):
        values = template.values(line)
        assert values is not None
        joined = template.literals[0]
        for value, literal in zip(values, template.literals[1:], strict=True):
            joined += value + literal
        assert joined == line
