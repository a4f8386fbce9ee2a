"""Which values stand ahead of text that they strand, and how grave that is.

A value may stand ahead of text only if it is no more volatile than that text. Values of the newest turn of the user
are expected there: they are at fault only if most of the prompt's stable text stands behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prefixlab.lint_findings import LintFinding, Severity
from prefixlab.number_words import counted
from prefixlab.prompt_templates import Choice, Hole, Loop, Volatility
from prefixlab.template_measures import Measured, Sight
from prefixlab.volatility.judgement import Sort

_EXPECTED_LAST = ("question", "retrieved", "history")
"""What a prompt is for: it has to stand somewhere."""


def severity_of(volatility: Volatility) -> Severity:
    """How grave it is that a value of that volatility strands text."""
    if volatility >= Volatility.TURN:
        return "high"
    return "medium" if volatility >= Volatility.USER else "low"


def strands(template: Measured, sight: Sight) -> bool:
    """Whether enough stable text stands behind a sight: a block, for less is not reused anyhow."""
    behind = sight.tokens_after
    if behind < template.block_size:
        return False
    is_expected = sight.judged.sort in _EXPECTED_LAST or (sight.is_newest_turn and template.has_earlier_turns)
    return behind >= sight.shared_before or not is_expected


def misplaced(template: Measured, sorts: Iterable[Sort]) -> Iterator[Sight]:
    """Holes of these sorts that strand stable text; each place in a file once."""
    wanted = frozenset(sorts)
    if template.template.is_chat_template:
        # What the caller's messages hold is not the template's matter; it has rules of its own.
        return
    seen = set()
    for sight in template.sights:
        if not isinstance(sight.part, Hole) or sight.judged.sort not in wanted:
            continue
        if any(_has_order(loop, sight) for loop in sight.inside):
            # The loop is named, once, for its order.
            continue
        if sight.at not in seen and sight.judged.varies and strands(template, sight):
            seen.add(sight.at)
            yield sight


def _has_order(loop: Loop, sight: Sight) -> bool:
    """Whether a value is of the items of a loop that is named for its order."""
    items = loop.over.names
    return bool(loop.over.orders) and all(
        any(name == item or name.startswith(f"{item}.") for item in items) for name in sight.expression.names
    )


def finding(
    code: str,
    name: str,
    template: Measured,
    sight: Sight,
    message: str,
    fix: str | None,
    severity: Severity | None = None,
) -> LintFinding:
    """A finding at a sight. `message` says what is wrong; what it costs of the template's own text is added."""
    blocks = sight.tokens_after // template.block_size
    behind = counted(sight.tokens_after, "stable token")
    if blocks:
        behind += f" ({counted(blocks, 'block')})"
    if sight.tokens_after:
        message += f": {behind} behind it {'is' if sight.tokens_after == 1 else 'are'} lost"
    return LintFinding(
        code=code,
        name=name,
        severity=severity or severity_of(sight.judged.volatility),
        at=sight.at,
        rendered_at=sight.entered_at,
        message=message,
        field=field_of(sight),
        stable_tokens_before=sight.shared_before,
        stable_tokens_after=sight.tokens_after,
        blocks_before=sight.shared_before // template.block_size,
        template=template.template.called,
        fix=fix,
        source=sight.expression.source,
    )


def field_of(sight: Sight) -> str:
    """What the value is called: the name or call that tells, else the expression."""
    if isinstance(sight.part, Choice | Loop):
        return sight.expression.source
    return sight.judged.told_by or sight.expression.source


def shown(sight: Sight) -> str:
    """The expression in backticks, cut where it is long; what tells of it where it is none of the source."""
    source = " ".join((sight.expression.source or sight.judged.told_by).split())
    return f"`{source if len(source) <= 60 else source[:59] + '…'}`"
