"""What a rule of `lint` is: a code that is never used twice, a name that states the fault, and a check."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from prefixlab.lint_findings import LintFinding, RuleSheet
from prefixlab.template_measures import Measured


class Example(NamedTuple):
    """A file of a rule's documentation, by a name that tells its dialect."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule; the docstring of its module is its documentation."""

    code: str
    name: str
    summary: str
    check: Callable[[Measured], Iterable[LintFinding]]
    bad: Example
    """Gives a finding of this code."""
    good: Example
    """Gives none of this code."""
    is_default: bool = True
    """Whether it is looked for where `--select` says nothing."""
    asked: str = ""
    """What the examples need beside the defaults, such as an engine."""
    is_of_template: bool = False
    """Whether what it finds is about all of a template, so that any change of the template may have made it."""

    @property
    def sheet(self) -> RuleSheet:
        """What there is to say of it."""
        documentation = (sys.modules[self.check.__module__].__doc__ or "").strip()
        return RuleSheet(
            self.code, self.name, self.summary, documentation, self.bad, self.good, self.is_default, self.asked
        )
