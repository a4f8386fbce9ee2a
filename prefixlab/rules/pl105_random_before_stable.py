"""Something drawn by lot stands ahead of stable text: sampled examples, a shuffled list, a random number.

Draw once for each deployment or session, or put what is drawn behind the text that stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.misplacement import finding, misplaced, shown, strands
from prefixlab.prompt_templates import Loop
from prefixlab.template_measures import Measured, Sight
from prefixlab.tool_names import is_about_tools

FIX = "Draw once and keep the result, or move it behind the stable text."


def _loops(template: Measured) -> Iterator[Sight]:
    """Loops over what is drawn by lot; of tools there is a rule of its own."""
    seen = set()
    for sight in template.sights:
        is_drawn = isinstance(sight.part, Loop) and "random" in sight.expression.orders
        if not is_drawn or sight.at in seen or is_about_tools(sight.expression) or not strands(template, sight):
            continue
        seen.add(sight.at)
        yield sight


def check(template: Measured) -> Iterator[LintFinding]:
    for sight in (*misplaced(template, ("random",)), *_loops(template)):
        yield finding(
            "PL105",
            "random-before-stable",
            template,
            sight,
            f"{shown(sight)} is drawn anew for each request and stands ahead of stable text",
            FIX,
        )


RULE = Rule(
    "PL105",
    "random-before-stable",
    "Random values or a shuffled order ahead of stable text",
    check,
    bad=Example(
        "prompt.j2",
        """\
Examples: {{ examples | random }}
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
Examples: {{ examples | random }}
Question: {{ question }}
""",
    ),
)
