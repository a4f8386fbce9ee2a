"""The surroundings of the program stand ahead of stable text: its folder, host, user, or the state of its repository.

They differ from machine to machine and from project to project, so that no two of them share what stands behind.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.misplacement import finding, misplaced, shown
from prefixlab.template_measures import Measured

FIX = "Move it behind the stable text, into the first message of the user."


def check(template: Measured) -> Iterator[LintFinding]:
    for sight in misplaced(template, ("environment",)):
        yield finding(
            "PL104",
            "environment-before-stable",
            template,
            sight,
            f"{shown(sight)} differs from one machine or folder to the next and stands ahead of stable text",
            FIX,
        )


RULE = Rule(
    "PL104",
    "environment-before-stable",
    "Folder, host or repository state ahead of stable text",
    check,
    bad=Example(
        "prompt.j2",
        """\
Working folder: {{ cwd }}
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
Working folder: {{ cwd }}
Question: {{ question }}
""",
    ),
)
