"""Text about one user stands ahead of text that all users share.

Each user then has a cache of their own: nothing of the shared text is reused from one user to the next. Put the shared
text first.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.misplacement import finding, misplaced, shown
from prefixlab.template_measures import Measured

FIX = "Move it behind the shared text."


def check(template: Measured) -> Iterator[LintFinding]:
    for sight in misplaced(template, ("user",)):
        yield finding(
            "PL106",
            "user-before-shared",
            template,
            sight,
            f"{shown(sight)} is about one user and stands ahead of text that all users share",
            FIX,
        )


RULE = Rule(
    "PL106",
    "user-before-shared",
    "Per-user text ahead of text that all users share",
    check,
    bad=Example(
        "prompt.j2",
        """\
You talk to {{ user_name }}.
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
You talk to {{ user_name }}.
Question: {{ question }}
""",
    ),
)
