"""A template does not keep the budget that the project gives it.

A budget says how many tokens all renderings share at least from the first on (`min_stable_tokens`), and how many stable
tokens stand behind the first value that differs at most (`max_stranded_tokens`). It holds what was won: whoever moves a
value up, or lengthens what stands behind one, hears of it. Budgets stand in the table `[tool.prefixlab.budgets]` of
pyproject.toml, by path or pattern; `--budget` holds for every template.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.number_words import counted
from prefixlab.template_measures import Measured

FIX = "Move values behind the stable text, or change the budget if the template is meant to be so."


def check(template: Measured) -> Iterator[LintFinding]:
    budget = template.budget
    if budget is None:
        return
    missed = {}
    if budget.min_stable_tokens is not None and budget.stable_tokens < budget.min_stable_tokens:
        missed["min_stable_tokens"] = (
            f"the stable prefix has {counted(budget.stable_tokens, 'token')} where the budget asks for "
            f"{budget.min_stable_tokens:,}"
        )
    if budget.max_stranded_tokens is not None and budget.stranded_tokens > budget.max_stranded_tokens:
        stands = "stands" if budget.stranded_tokens == 1 else "stand"
        missed["max_stranded_tokens"] = (
            f"{counted(budget.stranded_tokens, 'stable token')} {stands} behind the first value that differs where the "
            f"budget allows {budget.max_stranded_tokens:,}"
        )
    if missed:
        at = template.template.at
        yield LintFinding(
            code="PL305",
            name="over-budget",
            severity="high",
            at=at,
            rendered_at=at,
            message="; ".join(missed.values()),
            field=", ".join(missed),
            stable_tokens_before=budget.stable_tokens,
            stable_tokens_after=budget.stranded_tokens,
            blocks_before=budget.stable_tokens // template.block_size,
            template=template.template.called,
            fix=FIX,
        )


RULE = Rule(
    "PL305",
    "over-budget",
    "A template that does not keep its budget",
    check,
    bad=Example(
        "prompt.j2",
        """\
You are the assistant of a small bookshop.
Customer: {{ user_name }}
Answer in two sentences, quote the order number, and never promise
a refund date.
{{ question }}
""",
    ),
    good=Example(
        "prompt.j2",
        """\
You are the assistant of a small bookshop.
Answer in two sentences, quote the order number, and never promise
a refund date.
Customer: {{ user_name }}
{{ question }}
""",
    ),
    asked="--budget min_stable_tokens=20",
    is_of_template=True,
)
