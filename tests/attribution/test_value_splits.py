"""Values of unlike kinds side by side are told apart; free text and lists stay one value."""

from __future__ import annotations

import pytest

from prefixlab.attribution.line_template import heading_in, name_before, template_of
from prefixlab.attribution.value_kinds import kind_of

UUIDS = [f"{n}f2504e0-4f89-41d3-9a0c-0305e82c330{n}" for n in range(6)]
NAMES = ["Anna Lee", "Tom Ek", "Bo Ax"] * 2


@pytest.mark.parametrize(
    ("line", "literals", "kinds"),
    [
        ("Ticket {uuid} at 10:{n}5:30\n", ("Ticket ", " at ", "\n"), ["uuid", "clock"]),
        ("€{n}2.50, {name}, u{n}@x.org\n", ("", ", ", ", ", "\n"), ["number", "name", "email"]),
        ("{uuid} {name}\n", ("", " ", "\n"), ["uuid", "name"]),
        ("[{uuid}] 10:{n}5 INFO", ("[", "] ", " INFO"), ["uuid", "clock"]),
        ("由{uuid}在10:{n}5写", ("由", "在", "写"), ["uuid", "clock"]),
    ],
)
def test_unlike_values_are_fields_of_their_own(line: str, literals: tuple[str, ...], kinds: list[str]) -> None:
    lines = [line.format(n=n, uuid=UUIDS[n], name=NAMES[n]) for n in range(6)]
    template = template_of(lines)
    assert template.literals == literals
    rows = [template.values(one) for one in lines]
    assert [kind_of([row[hole] for row in rows if row]) for hole in range(len(kinds))] == kinds


@pytest.mark.parametrize(
    "lines",
    [
        ["Maria, who runs a bakery", "Bo, who has a boat", "Kim, a school"],
        ["12 High Street", "7 Low Road", "9 Old Lane"],
        ["red, green", "blue, white", "grey, black"],
    ],
)
def test_text_addresses_and_lists_stay_one_value(lines: list[str]) -> None:
    assert len(template_of(lines).literals) == 2


@pytest.mark.parametrize(
    ("line", "value"),
    [("For {} (gold {})", "Anna (gold 1)"), ('Said "{} and {}" now', "Anna and 1")],
)
def test_brackets_and_quotes_are_closed_where_they_are_opened(line: str, value: str) -> None:
    lines = [line.format(who, n) for n, who in enumerate(["Bo", "Anna", "Kim"])]
    values = template_of(lines).values(lines[1])
    assert values is not None
    for one in values:
        assert one.count("(") == one.count(")")
        assert one.count('"') % 2 == 0
    assert value.startswith(values[0])


@pytest.mark.parametrize(
    ("text", "goes_on", "name"),
    [
        ("Current time: ", False, "Current time"),
        ('{"now":"', False, "now"),
        (" at ", True, ""),
        (" and session ", True, "session"),
        ("You help and it is now ", False, ""),
        (") [id ", True, "id"),
        ("अभी ", False, "अभी"),
    ],
)
def test_a_value_is_called_by_what_is_ahead_of_it(text: str, goes_on: bool, name: str) -> None:
    assert name_before(text, goes_on) == name


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("Context:\n", "Context"),
        ("## Open orders\n", "Open orders"),
        ("<profile>\n", "profile"),
        ('  "flags": [\n', "flags"),
        ("Customer profile\n", "Customer profile"),
        ("Offer the customer a visit on a weekday.\n", ""),
        ("---\n", ""),
    ],
)
def test_a_line_above_names_a_value_if_it_is_a_heading(line: str, heading: str) -> None:
    assert heading_in(line) == heading
