"""Lines taken apart into literals and values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefixlab.attribution.line_template import is_reworded, template_of


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
    template = template_of([one, other])
    if literals is not None:
        assert template.literals == literals
    assert [template.label(hole) for hole in range(len(labels))] == labels


@pytest.mark.parametrize(
    ("one", "other"),
    [("bot.\n", "bot. \n"), ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}')],
)
def test_order_and_blanks_are_no_values(one: str, other: str) -> None:
    assert not is_reworded(one, other)
    assert is_reworded(one, f"{one} more")


def test_texts_without_anything_in_common_are_one_value() -> None:
    assert template_of(["completely", "different"]).literals == ("", "")


def test_words_that_free_texts_share_are_no_structure() -> None:
    profiles = [
        "Customer profile: Maria runs a bakery in Ghent and orders flour on Mondays.\n",
        "Customer profile: This is a school with two kitchens and a small budget.\n",
        "Customer profile: Bo has a boat and sails in May and in June.\n",
    ]
    assert template_of(profiles).literals == ("Customer profile: ", ".\n")
    assert template_of(profiles[:2]).literals == ("Customer profile: ", ".\n")


def test_a_json_object_has_a_value_for_each_key() -> None:
    rows = [
        f'{{"tier": "{tier}", "cart": {cart}, "city": "{city}"}}'
        for tier, cart, city in [("gold", 3, "Ghent"), ("silver", 4, "Bern"), ("gold", 12, "New York")]
    ]
    template = template_of(rows)
    assert [template.label(hole) for hole in range(3)] == ["tier", "cart", "city"]
    assert template.values(rows[2]) == ("gold", "12", "New York")


@pytest.mark.parametrize(
    ("one", "other", "value"),
    [
        (
            "Page: https://shop.example/p/8?s=1 now",
            "Page: https://shop.example/p/9?s=2 now",
            "https://shop.example/p/8?s=1",
        ),
        ("Open /home/anna/a.py first", "Open /home/bo/a.py first", "/home/anna/a.py"),
        ("Open C:\\Users\\anna first", "Open C:\\Users\\bo first", "C:\\Users\\anna"),
        ("It costs €12.55 net", "It costs €13.55 net", "€12.55"),
        ("Used 12 % of it", "Used 19 % of it", "12 %"),
    ],
)
def test_a_value_is_taken_whole(one: str, other: str, value: str) -> None:
    assert template_of([one, other]).values(one) == (value,)


texts = st.lists(st.text(alphabet="ab :=\n,.9é", min_size=1, max_size=30), min_size=2, max_size=6, unique=True)


@given(texts)
def test_a_template_gives_back_the_texts_it_was_made_of(lines: list[str]) -> None:
    template = template_of(lines)
    for line in lines:
        values = template.values(line)
        assert values is not None
        joined = template.literals[0]
        for value, literal in zip(values, template.literals[1:], strict=True):
            joined += value + literal
        assert joined == line
