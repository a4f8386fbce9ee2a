"""A condition that differs between users or requests decides on text ahead of stable text.

Each outcome has a cache of its own from there on. Put what depends on the condition behind the text that stays, or say
both cases in the text.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.misplacement import finding, shown, strands
from prefixlab.prompt_templates import Choice, Text, walk
from prefixlab.template_measures import Measured

FIX = "Put what depends on the condition behind the stable text."


def check(template: Measured) -> Iterator[LintFinding]:
    seen = set()
    for sight in template.sights:
        part = sight.part
        if not isinstance(part, Choice) or sight.at in seen or template.template.is_chat_template:
            continue
        texts = {"".join([one.text for one in walk(arm) if isinstance(one, Text)]).strip() for arm in part.arms}
        if len(texts) > 1 and sight.judged.varies and strands(template, sight):
            seen.add(sight.at)
            message = f"{shown(sight)} splits the cache into {len(part.arms)} variants"
            yield finding("PL401", "early-condition", template, sight, message, FIX)


RULE = Rule(
    "PL401",
    "early-condition",
    "A condition that splits the cache into variants ahead of stable text",
    check,
    bad=Example(
        "prompt.j2",
        """\
{% if user.is_premium %}You are the premium desk.
{% else %}You are the desk.
{% endif %}You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question.
""",
    ),
    good=Example(
        "prompt.j2",
        """\
You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question.
{% if user.is_premium %}This is a premium customer.{% endif %}
""",
    ),
)
