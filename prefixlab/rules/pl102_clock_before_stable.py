"""A clock or a date stands ahead of stable text.

The most common fault of all: the time in the first line of a system prompt. With seconds in it no two requests share
what stands behind; with the day alone it is lost once a day. Models rarely need more than the day: give the day, and
give it behind the text that stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.misplacement import finding, misplaced, shown
from prefixlab.template_measures import Measured

FIX = "Move it behind the stable text; if the model needs only the day, give the day."
FIX_OF_A_DATE = "Move it behind the stable text, so that a new day ends nothing that is shared."


def check(template: Measured) -> Iterator[LintFinding]:
    for sight in misplaced(template, ("clock", "date")):
        yield finding(
            "PL102",
            "clock-before-stable",
            template,
            sight,
            f"{shown(sight)} is a {sight.judged.sort} ahead of stable text",
            FIX if sight.judged.sort == "clock" else FIX_OF_A_DATE,
        )


RULE = Rule(
    "PL102",
    "clock-before-stable",
    "A clock or date ahead of stable text",
    check,
    bad=Example(
        "prompt.j2",
        """\
Current time: {{ now }}
You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question.
Question: {{ question }}
""",
    ),
    good=Example(
        "prompt.j2",
        """\
You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question.
Current time: {{ now }}
Question: {{ question }}
""",
    ),
)
