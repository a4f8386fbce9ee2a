"""Text in the arms of a condition: whoever comes to an arm shares what stands in it."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from prefixlab.lint_workflow import LintSettings, lint, model_of
from prefixlab.prompt_templates import Volatility
from prefixlab.template_checks import Model
from prefixlab.tokens_around import TokensAround, volatility_from

RULES = "You are the assistant of a small bookshop. Answer in two sentences and quote the order number.\n" * 3


@cache
def model() -> Model:
    return model_of(LintSettings())


def found(folder: Path, text: str) -> list[tuple[str, int, int, int]]:
    (folder / "a.j2").write_text(text)
    report = lint([str(folder / "a.j2")], LintSettings(), model())
    return [(one.code, one.at.line, one.stable_tokens_before, one.stable_tokens_after) for one in report.findings]


def test_a_value_strands_what_stands_behind_it_in_its_own_arm(tmp_path: Path) -> None:
    text = f"{{% if user_name %}}You talk to {{{{ user_name }}}}.\n{RULES}{{% else %}}{RULES}{{% endif %}}"
    alone = found(tmp_path, f"You talk to {{{{ user_name }}}}.\n{RULES}")
    assert [one[0] for one in alone] == ["PL106"]
    assert found(tmp_path, text) == alone


@pytest.mark.parametrize("condition", ["question", "history", "user.premium", "beta", "now() > '12:00'"])
def test_a_clock_that_leads_every_arm(tmp_path: Path, condition: str) -> None:
    arm = f"Time {{{{ now() }}}}\n{RULES}"
    text = f"{{% if {condition} %}}{arm}{{% else %}}{arm}Be brief.{{% endif %}}{{{{ question }}}}"
    assert [one[:2] for one in found(tmp_path, text) if one[0] == "PL102"] == [("PL102", 1), ("PL102", 5)]


@pytest.mark.parametrize(
    "text",
    [
        # What is expected last may stand behind most of the text of its own arm.
        f"{{% if docs %}}{RULES}{{{{ docs }}}}\nAnswer from these alone, please.{{% endif %}}\n{{{{ question }}}}",
        # What each item of a loop is followed by is no stable text.
        f"{RULES}{{% for doc in docs %}}{{{{ doc.title }}}}: {RULES}{{% endfor %}}{{{{ question }}}}",
        f"{{% if premium %}}{RULES}{{% else %}}{RULES}Be brief.{{% endif %}}{{{{ question }}}}",
    ],
)
def test_what_is_sound_in_an_arm(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, text) == []


def test_a_clock_that_is_there_at_any_rate_decides_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, f"{{% set u = now() %}}{{% if u %}}Desk.{{% endif %}}\n{RULES}") == []
    macro = "{% macro head(title, ts=none) %}{{ title }}{% if ts %} at {{ ts }}{% endif %}{% endmacro %}"
    assert [one[0] for one in found(tmp_path, f'{macro}{{{{ head("Desk", ts=now()) }}}}\n{RULES}')] == ["PL102"]
    # What it is compared with, or what else is asked, does decide.
    for condition in ("now().hour < 12", "user_name", "u and user_name"):
        text = f"{{% set u = now() %}}{{% if {condition} %}}Desk.{{% else %}}Shop.{{% endif %}}\n{RULES}"
        assert [one[0] for one in found(tmp_path, text)] == ["PL401"], condition
    text = f"{{% set u = now() %}}{{% if user_name %}}Desk.{{% elif u %}}Shop.{{% endif %}}\n{RULES}"
    assert [one[0] for one in found(tmp_path, text)] == ["PL401"]


def test_tokens_seen_from_a_place_are_the_naive_sums() -> None:
    """Random arms in one another, in loops and beside one another, their parts apart as in messages."""
    draw = random.Random(5)
    for _ in range(300):
        choices = [((number, draw.randrange(2)), draw.choice(list(Volatility))) for number in range(4)]
        loops = [(None, draw.choice(list(Volatility))) for _ in range(2)]
        arounds = [tuple(draw.sample([*choices, *loops], draw.randrange(4))) for _ in range(5)] + [()]
        stretches = [(draw.randrange(9), draw.choice(arounds), draw.random() < 0.3) for _ in range(12)]
        tokens = TokensAround(stretches)
        ahead, around, level = draw.randrange(13), draw.choice(arounds), draw.choice(list(Volatility))
        for with_newest in (False, True):
            before = sum(size for size, other, _ in stretches[:ahead] if not volatility_from(other, around))
            behind = sum(
                size
                for size, other, newest in stretches[ahead:]
                if volatility_from(other, around) < level and (with_newest or not newest)
            )
            assert tokens.around(around, ahead, level, with_newest) == (before, behind)
