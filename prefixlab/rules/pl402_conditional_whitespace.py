"""A condition decides on nothing but blanks or line breaks ahead of stable text.

The renderings look alike and share nothing behind the blank. Control the white space: `{%- if ... -%}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.misplacement import finding, shown, strands
from prefixlab.prompt_templates import Choice, Text
from prefixlab.template_measures import Measured

FIX = "Control the white space, such as with {%- if ... -%}."


def check(template: Measured) -> Iterator[LintFinding]:
    seen = set()
    for sight in template.sights:
        part = sight.part
        if not isinstance(part, Choice) or sight.at in seen or template.template.is_chat_template:
            continue
        if not all(isinstance(one, Text) and not one.text.strip() for arm in part.arms for one in arm):
            continue
        texts = {"".join([one.text for one in arm if isinstance(one, Text)]) for arm in part.arms}
        if len(texts) > 1 and strands(template, sight):
            seen.add(sight.at)
            message = f"{shown(sight)} decides on white space alone"
            yield finding("PL402", "conditional-whitespace", template, sight, message, FIX, "low")


RULE = Rule(
    "PL402",
    "conditional-whitespace",
    "White space that depends on a condition",
    check,
    bad=Example(
        "prompt.j2",
        """\
{% if draft %}
{% endif %}You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question.
""",
    ),
    good=Example(
        "prompt.j2",
        """\
{% if draft -%}
{%- endif %}You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question.
""",
    ),
)
