"""How often a hole's value is another, judged by what the project declares, what values show, what is called, and the
name, in this order.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from prefixlab.prompt_templates import Expression, Volatility
from prefixlab.volatility.calls import of_call
from prefixlab.volatility.judgement import UNKNOWN, Judged, Sort
from prefixlab.volatility.names import of_name

_V = Volatility


def judged(
    expression: Expression,
    declared: Mapping[str, Volatility] | None = None,
    distinct: Mapping[str, float] | None = None,
) -> Judged:
    """The judgement on an expression: the most volatile of what it reads and calls.

    `declared` has names or patterns of names; `distinct` for each variable of which values are known the part of them
    that are distinct, 0 where it is always the same.
    """
    found: list[Judged] = []
    for called, names in ((True, expression.calls), (False, expression.names)):
        for name in names:
            own = of_call(name, expression) if called else of_name(name, expression)
            said = _declared(name, own, declared or {}) or _shown(name, own, distinct or {}, called) or own
            if said is not None:
                found.append(_of_start(said) if name in expression.once else said)
    if any([one.by == "call" and one.sort == "date" for one in found]):
        # A variable `now` that is set to a day is called so for what it was read from.
        found = [one for one in found if not (one.by == "name" and one.sort == "clock")]
    if not found:
        return UNKNOWN
    by_project = [one for one in found if one.by == "declared"]
    return max(by_project or found, key=lambda one: (one.volatility, one.sort != "unknown"))


def _of_start(said: Judged) -> Judged:
    """The judgement on what is read once, when the program starts: a clock, an id, a draw are a deployment's then."""
    if said.by == "name" and said.told_by.rpartition(".")[2].isupper():
        return UNKNOWN._replace(told_by=said.told_by)
    if said.by in ("call", "name") and said.sort in ("clock", "id", "random"):
        return said._replace(volatility=_V.DEPLOYMENT)
    return said


def _declared(name: str, own: Judged | None, declared: Mapping[str, Volatility]) -> Judged | None:
    """What the project says of a name or a call."""
    root = name.partition(".")[0]
    for pattern, volatility in declared.items():
        if fnmatchcase(name, pattern) or fnmatchcase(root, pattern):
            return Judged(volatility, "unknown" if own is None else own.sort, "declared", name)
    return None


def _shown(name: str, own: Judged | None, distinct: Mapping[str, float], called: bool) -> Judged | None:
    """What values show. Of a value that varies, a name that tells says better with what: samples are small."""
    part = distinct.get(name.partition(".")[0])
    if part is None:
        return None
    sort: Sort = "unknown" if own is None else own.sort
    if part == 0:
        return Judged(_V.CONSTANT, sort, "values", name)
    if called:
        return None
    if sort in ("unknown", "setting"):
        return Judged(_by_part(part), "unknown", "values", name)
    return Judged(_V.REQUEST, "clock", "values", name) if sort == "date" and part >= _PART_OF_SESSIONS else None


_PART_OF_REQUESTS, _PART_OF_SESSIONS, _PART_OF_USERS = 0.9, 0.5, 0.1


def _by_part(part: float) -> Volatility:
    """The volatility of a value of which that part of the samples are distinct."""
    if part >= _PART_OF_REQUESTS:
        return _V.REQUEST
    if part >= _PART_OF_SESSIONS:
        return _V.SESSION
    return _V.USER if part >= _PART_OF_USERS else _V.TENANT
