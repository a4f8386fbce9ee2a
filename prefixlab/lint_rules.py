"""What a rule of `lint` is: a code that is never used twice, a name that states the fault, and a check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from prefixlab.lint_findings import LintFinding
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
