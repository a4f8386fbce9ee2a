"""A chat template writes a turn otherwise once it is history.

What the engine has in its cache is the prompt, the generation prompt behind it, and the answer. If the next request
renders that turn in another way, such as without the think block of the generation prompt, the prefix ends there, turn
after turn. It is tried: small conversations (answers, thoughts in a field and in the content, tool calls, thinking
switched on and off) are rendered as the server does, and once more with one turn more. The place is that of the text or
the expression that writes what differs.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.number_words import counted
from prefixlab.template_measures import Measured

FIX = "Write history as the generation prompt and the answer were written."

_SAID = {
    "head": "what stands ahead of the messages is written otherwise with each turn",
    "system": "the system message is written otherwise, or elsewhere, with each turn",
    "user turn": "a turn of the user is written otherwise once an answer follows it",
    "generation prompt": "what the generation prompt opens is written otherwise once the answer is history",
    "answer": "an answer is written otherwise once it is history",
    "thought": "the thought of an answer is written otherwise once it is history",
    "tool call": "a tool call is written otherwise once it is history",
    "tool result": "the result of a tool is written otherwise once it is history",
}


def check(template: Measured) -> Iterator[LintFinding]:
    for parting, shared, lost in template.partings:
        yield LintFinding(
            code="PL403",
            name="history-rerendered",
            severity="high",
            at=parting.at,
            rendered_at=parting.at,
            message=f"{_SAID[parting.kind]}: {parting.was!r} becomes {parting.now!r}, turn after turn; "
            f"of a small conversation {shared:,} of {counted(shared + lost, 'token')} are still shared",
            field=" ".join(parting.source.split()) or parting.kind,
            stable_tokens_before=shared,
            stable_tokens_after=lost,
            blocks_before=shared // template.block_size,
            template=template.template.called,
            fix=FIX,
            source=parting.source,
        )


RULE = Rule(
    "PL403",
    "history-rerendered",
    "A chat template that writes answers otherwise once they are history",
    check,
    bad=Example(
        "prompt.jinja",
        """\
{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
<think>

</think>

{% endif %}""",
    ),
    good=Example(
        "prompt.jinja",
        """\
{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}""",
    ),
    is_of_template=True,
)
