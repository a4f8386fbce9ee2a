"""A value that differs from request to request, turn to turn or session to session stands ahead of stable text.

An engine reuses a prompt from its first token up to the first one that differs. All that stands behind such a value is
computed again for every request, however long it stays the same. Put the value behind the text that stays: at the end
of the system prompt, or better in the newest message of the user.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.misplacement import finding, misplaced, shown
from prefixlab.template_measures import Measured

FIX = "Move it behind the stable text, best into the newest message of the user."


def check(template: Measured) -> Iterator[LintFinding]:
    for sight in misplaced(template, ("question", "retrieved", "history", "session", "unknown")):
        yield finding(
            "PL101",
            "volatile-before-stable",
            template,
            sight,
            f"{shown(sight)} changes with the {sight.judged.volatility.name.lower()} and stands ahead of stable text",
            FIX,
        )


RULE = Rule(
    "PL101",
    "volatile-before-stable",
    "A value of a request, turn or session ahead of stable text",
    check,
    bad=Example(
        "prompt.j2",
        """\
Answer with the help of this:
{{ documents }}
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
Answer with the help of this:
{{ documents }}
Question: {{ question }}
""",
    ),
)
