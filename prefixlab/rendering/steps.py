"""What a recording of a template is made of: pure operations, and the decisions that hung on them."""

from __future__ import annotations

from typing import Any, NamedTuple


class Untraceable(BaseException):
    """The template does something that cannot be recorded; the request is to be rendered plainly."""


class Step(NamedTuple):
    """A pure operation: a form of Python source with a place for each operand, which are steps or constants.

    Forms are written in this package; text of a log or a template is only ever a constant.
    """

    form: str
    operands: tuple[Any, ...] = ()


class Guard(NamedTuple):
    """A decision of the template: the step it hung on and how it came out."""

    step: Step
    outcome: Any
