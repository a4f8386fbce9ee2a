"""How often a hole's value is another, judged by what the project declares, what values show, what is called, and the
name, in this order.

Names are read as words, head noun last: a `request_id` is an id, a `date_format` is a format and no date, and a
`max_time_limit` a limit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from prefixlab.prompt_templates import Expression, Volatility

Sort = Literal[
    "clock", "date", "id", "random", "environment", "user", "session", "history", "retrieved", "question", "setting",
    "unknown",
]  # fmt: skip
"""What sort of value it is."""


class Judged(NamedTuple):
    """A hole's volatility, the sort of its value, and what tells: `declared`, `values`, `call` or `name`."""

    volatility: Volatility
    sort: Sort
    by: Literal["declared", "values", "call", "name", "nothing"]
    told_by: str = ""
    """The call or the name that tells."""


UNKNOWN = Judged(Volatility.DEPLOYMENT, "unknown", "nothing")

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
    for call in expression.calls:
        found += _of_call(call, expression)
    shows_day = any([one.sort == "date" for one in found])
    for name in expression.names:
        said = _of_name(name, declared or {}, distinct or {})
        # A variable `now` that is set to a day is called so for what it was read from.
        if not (shows_day and said.by == "name" and said.sort == "clock"):
            found.append(said)
    if not found:
        return UNKNOWN
    declarations = [one for one in found if one.by == "declared"]
    return max(declarations or found, key=lambda one: (one.volatility, one.sort != "unknown"))


# --- calls ---

_CLOCKS = {
    "now", "utcnow", "localtime", "gmtime", "ctime", "time_ns", "monotonic", "perf_counter", "strftime_now",
    "current_timestamp", "current_time", "timestamp_now", "get_current_time", "gettime", "asctime", "isoformat_now",
}  # fmt: skip
_CLOCKS_DOTTED = {"time.time", "time.strftime", "pendulum.now", "arrow.utcnow"}
_DATES = {"today", "current_date", "date_now", "get_current_date"}
_IDS = {
    "uuid", "uuid1", "uuid3", "uuid4", "uuid5", "uuid6", "uuid7", "uuid8", "ulid", "nanoid", "token_hex",
    "token_urlsafe",
    "token_bytes", "getrandbits", "generate_id", "new_id", "nonce", "randomuuid", "objectid",
}  # fmt: skip
_RANDOM = {
    "random",
    "randint",
    "randrange",
    "choice",
    "choices",
    "sample",
    "shuffle",
    "shuffled",
    "uniform",
    "randbelow",
}
_RANDOM_OWNERS = {"random", "secrets", "rng", "np.random", "numpy.random"}
_ENVIRONMENT = {
    "getcwd", "cwd", "gethostname", "getuser", "getlogin", "uname", "node", "platform", "getpid", "home", "hostname",
}  # fmt: skip
_GIT = {"check_output", "getoutput"}
_DAY_DIRECTIVES = set("YymdbBaAjUWuwGVeDFxhC")


def _of_call(call: str, expression: Expression) -> list[Judged]:
    last = call.rsplit(".", 1)[-1].lower()
    owner = call.rpartition(".")[0].lower()
    if last in _CLOCKS or call.lower() in _CLOCKS_DOTTED:
        if expression.formats and all(map(_is_by_day, expression.formats)):
            return [Judged(_V.DEPLOYMENT, "date", "call", call)]
        if {"date", "today"} & {one.rsplit(".", 1)[-1] for one in expression.calls}:
            return [Judged(_V.DEPLOYMENT, "date", "call", call)]
        return [Judged(_V.REQUEST, "clock", "call", call)]
    if last in _DATES:
        is_clock = "datetime" in owner.split(".")[-1:] and not (
            expression.formats and all(map(_is_by_day, expression.formats))
        )
        is_clock = is_clock and "date" not in {one.rsplit(".", 1)[-1] for one in expression.calls}
        return [Judged(_V.REQUEST, "clock", "call", call) if is_clock else Judged(_V.DEPLOYMENT, "date", "call", call)]
    if last in _IDS:
        return [Judged(_V.REQUEST, "id", "call", call)]
    if last in _RANDOM and (not owner or owner in _RANDOM_OWNERS or last in ("shuffle", "shuffled", "random")):
        return [Judged(_V.REQUEST, "random", "call", call)]
    if last in _ENVIRONMENT and (
        not owner or owner.split(".")[0] in ("os", "socket", "platform", "getpass", "path", "pathlib")
    ):
        return [Judged(_V.USER, "environment", "call", call)]
    if last in _GIT and owner.endswith("subprocess"):
        return [Judged(_V.SESSION, "environment", "call", call)]
    return []


def _is_by_day(format: str) -> bool:
    """Whether a format of a time shows nothing finer than a day."""
    directives = re.findall(r"%[-_0^#]*([a-zA-Z])", format)
    return bool(directives) and all(one in _DAY_DIRECTIVES for one in directives)


# --- names ---

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_SAID: tuple[tuple[Sort, Volatility, str], ...] = (
    ("clock", _V.REQUEST, "now timestamp datetime clock ts"),
    ("date", _V.DEPLOYMENT, "date today day weekday"),
    ("id", _V.REQUEST, "nonce uuid guid ulid"),
    ("random", _V.REQUEST, "random seed salt shuffled"),
    ("question", _V.REQUEST, "question query utterance input request task ticket inquiry ask complaint"),
    (
        "retrieved",
        _V.REQUEST,
        (
            "context contexts document documents docs doc chunk chunks passage passages snippet snippets evidence "
            "retrieved result results article excerpt excerpts transcript observation observations"
        ),
    ),
    ("history", _V.TURN, "history messages message conversation scratchpad turns dialogue chat"),
    ("session", _V.TURN, "remaining budget usage counter turn step iteration attempt score scores"),
    ("session", _V.SESSION, "session thread memory memories summary recap"),
    (
        "user",
        _V.USER,
        (
            "user username customer visitor client member patient employee caller profile preferences prefs email "
            "phone address location firstname lastname nickname login account"
        ),
    ),
    ("environment", _V.USER, "cwd pwd hostname workdir"),
)
"""Head nouns, by what they are."""

_HEADS = [(sort, volatility, frozenset(words.split())) for sort, volatility, words in _SAID]


_OF_REQUEST = frozenset(
    [
        "request",
        "req",
        "trace",
        "span",
        "run",
        "correlation",
        "message",
        "msg",
        "call",
        "execution",
        "invocation",
        "job",
        "transaction",
    ]
)
_OF_SESSION = frozenset(["session", "conversation", "conv", "thread", "chat"])
_OF_USER = frozenset(
    [
        "user",
        "customer",
        "visitor",
        "client",
        "member",
        "patient",
        "employee",
        "caller",
        "account",
        "guest",
        "student",
        "person",
    ]
)
_OF_TENANT = frozenset(
    [
        "tenant",
        "org",
        "organization",
        "organisation",
        "company",
        "workspace",
        "brand",
        "store",
        "shop",
        "merchant",
        "team",
    ]
)
_OF_DEPLOYMENT = frozenset(
    [
        "model",
        "agent",
        "bot",
        "app",
        "assistant",
        "deployment",
        "prompt",
        "template",
        "version",
        "tool",
        "tools",
        "function",
        "product",
        "project",
        "system",
        "release",
        "ai",
        "service",
        "config",
        "default",
        "role",
        "persona",
        "skill",
    ]
)
_NOT_VALUES = frozenset(
    [
        "format",
        "formats",
        "limit",
        "limits",
        "zone",
        "timezone",
        "unit",
        "units",
        "type",
        "kind",
        "style",
        "policy",
        "policies",
        "rule",
        "rules",
        "label",
        "template",
        "instructions",
        "instruction",
        "schema",
        "definition",
        "description",
        "enabled",
        "allowed",
        "range",
        "window",
        "max",
        "min",
        "field",
        "fields",
        "column",
        "columns",
        "key",
        "name_format",
        "pattern",
        "language",
        "locale",
        "guidelines",
        "example",
        "examples",
        "count_limit",
        "header",
        "title",
    ]
)
"""Head nouns of settings: what stands before them is what they are about."""


def _of_name(name: str, declared: Mapping[str, Volatility], distinct: Mapping[str, float]) -> Judged:
    for pattern, volatility in declared.items():
        if fnmatchcase(name, pattern) or fnmatchcase(name.partition(".")[0], pattern):
            sort = _by_words(name).sort
            return Judged(volatility, "unknown" if sort == "unknown" else sort, "declared", name)
    by_name = _by_words(name)
    root = name.partition(".")[0]
    if root in distinct:
        part = distinct[root]
        if part == 0:
            return Judged(_V.CONSTANT, by_name.sort, "values", name)
        if by_name.sort in ("unknown", "setting"):
            return Judged(_by_part(part), "unknown", "values", name)
    return by_name


def _by_part(part: float) -> Volatility:
    """The volatility of a value of which that part of the samples are distinct."""
    if part >= 0.9:
        return _V.REQUEST
    if part >= 0.5:
        return _V.SESSION
    return _V.USER if part >= 0.1 else _V.TENANT


def _by_words(name: str) -> Judged:
    words = [word.lower() for part in name.split(".") for word in _WORDS.findall(part)]
    words = [word for word in words if not word.isdigit()] or words
    if not words:
        return UNKNOWN
    *before, head = words
    around = set(before)
    said = " ".join(words[-2:])
    if head in _NOT_VALUES:
        return Judged(_V.DEPLOYMENT, "setting", "name", name)
    if head in ("id", "ids", "uuid", "guid", "token", "hash", "sha", "key", "number", "code", "ref", "reference"):
        is_id = head in ("id", "ids", "uuid", "guid")
        return _owned(around, name, is_id)
    if head in ("time", "at", "hour", "minute", "second", "seconds", "ms", "millis", "epoch"):
        if head == "time" and around & {"response", "reading", "delivery", "opening", "lead", "run", "max", "min"}:
            return Judged(_V.DEPLOYMENT, "setting", "name", name)
        if head in ("second", "seconds", "ms", "minute", "hour") and not around & {"current", "now"}:
            return UNKNOWN
        return Judged(_V.REQUEST, "clock", "name", name)
    if head == "date" and around & {"release", "cutoff", "knowledge", "birth", "expiry", "launch", "effective"}:
        return Judged(_V.DEPLOYMENT if "birth" not in around else _V.USER, "setting", "name", name)
    if head in ("status", "branch", "diff", "commit") and "git" in around:
        return Judged(_V.SESSION, "environment", "name", name)
    if head in ("dir", "directory", "folder", "path") and around & {"working", "current", "work", "home", "cwd"}:
        return Judged(_V.USER, "environment", "name", name)
    if head in ("left", "remaining") or said in ("context used", "tokens used"):
        return Judged(_V.TURN, "session", "name", name)
    if head in ("name", "names", "age", "city", "gender", "birthday", "plan", "tier", "timezone"):
        return _person(around, head, name)
    if head in ("text", "content", "body", "prompt") and around & {"user", "input", "query", "email", "document"}:
        return Judged(_V.REQUEST, "question", "name", name)
    if around & _OF_DEPLOYMENT and head in (
        "date",
        "message",
        "messages",
        "context",
        "task",
        "input",
        "results",
        "result",
    ):
        return (
            Judged(_V.DEPLOYMENT, "setting", "name", name)
            if head != "date"
            else Judged(_V.DEPLOYMENT, "date", "name", name)
        )
    for sort, volatility, heads in _HEADS:
        if head in heads:
            if sort == "user" and around & (_OF_DEPLOYMENT - {"project"}):
                return Judged(_V.DEPLOYMENT, "setting", "name", name)
            if head == "input" and around and not around & {"user", "human", "customer"}:
                return UNKNOWN
            return Judged(volatility, sort, "name", name)
    if around & _OF_USER:
        return Judged(_V.USER, "user", "name", name)
    if around & {"session", "conversation"}:
        return Judged(_V.SESSION, "session", "name", name)
    return UNKNOWN


def _owned(around: set[str], name: str, is_id: bool) -> Judged:
    """An id or another mark of something: as volatile as what it marks."""
    for words, volatility, sort in (
        (_OF_REQUEST, _V.REQUEST, "id"),
        (_OF_SESSION, _V.SESSION, "session"),
        (_OF_USER, _V.USER, "user"),
        (_OF_TENANT, _V.TENANT, "setting"),
        (_OF_DEPLOYMENT, _V.DEPLOYMENT, "setting"),
    ):
        if around & words:
            return Judged(volatility, sort, "name", name)  # type: ignore[arg-type]
    if is_id or around & {"order", "ticket", "case", "invoice", "booking", "tracking"}:
        return Judged(_V.REQUEST, "id", "name", name)
    return UNKNOWN


def _person(around: set[str], head: str, name: str) -> Judged:
    if around & _OF_DEPLOYMENT:
        return Judged(_V.DEPLOYMENT, "setting", "name", name)
    if around & _OF_TENANT:
        return Judged(_V.TENANT, "setting", "name", name)
    if around & _OF_USER or around & {"first", "last", "full", "nick", "given", "family", "display"}:
        return Judged(_V.USER, "user", "name", name)
    if head == "name" and not around:
        return Judged(_V.USER, "user", "name", name)
    return UNKNOWN
