"""Text in the arms of a condition: whoever comes to an arm shares what stands in it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from prefixlab.lint_workflow import LintSettings, lint, model_of
from prefixlab.template_checks import Model

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
