"""Texts that a class wraps, and what is no such class."""

from __future__ import annotations

import pytest

from tests.dialects.python_reading import prompts, text

TEXT = '"""Act for {role}.\nAnswer in one short sentence."""'


@pytest.mark.parametrize(
    "made",
    [
        "class Words(str): pass\nclass Own(Words): pass\nTASK_PROMPT = Own(TEXT)",
        "from camel.prompts import TextPrompt\nTASK_PROMPT = TextPrompt(TEXT)",
        "from camel.prompts import TextPrompt\nclass Prompts(dict):\n    TASK_PROMPT = TextPrompt(TEXT)",
    ],
)
def test_a_text_in_a_class_is_the_text(made: str) -> None:
    (template,) = prompts(made.replace("TEXT", TEXT))
    assert text(template.parts) == "Act for <role>.\nAnswer in one short sentence."
    assert template.at.line == made.count("\n") + 1


@pytest.mark.parametrize(
    "made",
    [
        "class Row:\n    def __init__(self, words): pass\nTASK_PROMPT = Row(TEXT)",
        "from models import Row\nTASK_PROMPT = Row(TEXT)",
        "from rich.text import Text\nLABEL = Text(TEXT)",
    ],
)
def test_other_classes_say_nothing(made: str) -> None:
    assert prompts(f"prompt = 0\n{made.replace('TEXT', TEXT)}") == []
