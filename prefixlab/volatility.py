"""How often a hole's value is another, judged by what the project declares, what values show, what is called, and the
name, in this order.

Names are read as words, head noun last: a `request_id` is an id, a `date_format` is a format and no date, and a
`max_time_limit` a limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
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
    for called, names in ((True, expression.calls), (False, expression.names)):
        for name in names:
            own = _of_call(name, expression) if called else _of_name(name, expression)
            said = _declared(name, own, declared or {}) or _shown(name, own, distinct or {}, called) or own
            if said is not None:
                found.append(said)
    if any([one.by == "call" and one.sort == "date" for one in found]):
        # A variable `now` that is set to a day is called so for what it was read from.
        found = [one for one in found if not (one.by == "name" and one.sort == "clock")]
    if not found:
        return UNKNOWN
    by_project = [one for one in found if one.by == "declared"]
    return max(by_project or found, key=lambda one: (one.volatility, one.sort != "unknown"))


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


# --- calls ---


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CLOCKS = _set(
    "now utcnow localtime gmtime ctime asctime time_ns monotonic perf_counter strftime_now current_timestamp "
    "current_time currenttime timestamp_now get_current_time gettime isoformat_now moment dayjs utctime unixepoch"
)
_CLOCKS_OF = {"time": _set("time strftime hour hournumber minute second"), "sys": _set("time")}
_DATES = _set("today current_date currentdate date_now get_current_date localdate todays_date")
_DATES_OF = {"time": _set("date dayofweek day")}
_DAYS_OF_CLOCKS = _set("date today todatestring weekday isoweekday")
"""Methods and filters that leave the day of a time."""
_IDS = _set(
    "uuid uuid1 uuid4 uuid6 uuid7 uuid8 ulid nanoid token_hex token_urlsafe token_bytes urandom generate_id new_id "
    "nonce randomuuid objectid cuid ksuid"
)
"""Not `uuid3` and `uuid5`, which are made of a name and the same for it."""
_RANDOM = _set("random randint randrange choice choices sample shuffle shuffled uniform randbelow getrandbits gauss")
_RANDOM_ANYWHERE = _set("random randint shuffle shuffled sample")
"""What is drawn by lot whatever it is a method of."""
_RANDOM_OWNERS = _set("random secrets rng rand _random")
_ENVIRONMENT = _set("getcwd cwd gethostname getuser getlogin uname getpid getfqdn hostname expanduser")
_ENVIRONMENT_OF = {
    "platform": _set("node platform system release version machine processor"),
    "path": _set("home"),
    "socket": _set("gethostbyname"),
}
_ENVIRONMENT_OWNERS = _set("os socket platform getpass path pathlib process")
_PROGRAMS = _set("check_output getoutput run popen")
_DAY_DIRECTIVES = set("YymdbBaAjUWuwGVeDFxhC")
_TIME_UNITS = set("HhKkmsSXx")
"""In formats without percent signs, such as `YYYY-MM-DD HH:mm`."""


def _of_call(call: str, expression: Expression) -> Judged | None:
    *owners, last = call.lower().split(".")
    owner = owners[-1] if owners else ""
    if last in _CLOCKS or last in _CLOCKS_OF.get(owner, ()) or (owner, last) == ("datetime", "today"):
        return _time(call, "call", expression)
    if last in _DATES or last in _DATES_OF.get(owner, ()):
        return Judged(_V.DEPLOYMENT, "date", "call", call)
    if last in _IDS or (owner in _IDS and last == "new"):
        return Judged(_V.REQUEST, "id", "call", call)
    if last in _RANDOM_ANYWHERE or (last in _RANDOM and (not owner or owner in _RANDOM_OWNERS)):
        return Judged(_V.REQUEST, "random", "call", call)
    if last in _ENVIRONMENT_OF.get(owner, ()) or (
        last in _ENVIRONMENT and (not owner or not _ENVIRONMENT_OWNERS.isdisjoint(owners))
    ):
        return Judged(_V.USER, "environment", "call", call)
    if last in _PROGRAMS and owner == "subprocess":
        return Judged(_V.SESSION, "environment", "call", call)
    return None


def _time(told_by: str, by: Literal["call", "name"], expression: Expression) -> Judged:
    """A clock, or a date where its format or what is called on it leaves the day alone."""
    if expression.formats:
        is_by_day = all(map(_is_by_day, expression.formats))
    else:
        # The call that is judged says nothing of itself, such as `datetime.today`.
        others = {one.lower().rsplit(".", 1)[-1] for one in expression.calls if one != told_by}
        is_by_day = not _DAYS_OF_CLOCKS.isdisjoint(others)
    if is_by_day:
        return Judged(_V.DEPLOYMENT, "date", by, told_by)
    return Judged(_V.REQUEST, "clock", by, told_by)


def _is_by_day(format: str) -> bool:
    """Whether a format of a time shows nothing finer than a day."""
    if "%" in format:
        directives = re.findall(r"%[-_0^#]*([a-zA-Z])", format)
        return bool(directives) and all(one in _DAY_DIRECTIVES for one in directives)
    return _TIME_UNITS.isdisjoint(re.sub(r"\[[^]]*\]|'[^']*'", "", format))


# --- names ---

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_HEADS: tuple[tuple[Sort, Volatility, frozenset[str]], ...] = (
    ("clock", _V.REQUEST, _set("now timestamp datetime clock ts")),
    ("date", _V.DEPLOYMENT, _set("date today day weekday")),
    ("id", _V.REQUEST, _set("nonce uuid guid ulid buster")),
    ("random", _V.REQUEST, _set("random seed salt shuffled")),
    (
        "question",
        _V.REQUEST,
        _set(
            "question query utterance input request task ticket inquiry enquiry ask complaint text content paragraph "
            "sentence essay tweet review reviews feedback story answer answers response reply resume cv topic subject "
            "diff url output"
        ),
    ),
    (
        "retrieved",
        _V.REQUEST,
        _set(
            "context contexts document documents docs doc chunk chunks passage passages snippet snippets evidence "
            "retrieved result results article articles excerpt excerpts transcript observation observations source "
            "sources hits matches page webpage file files"
        ),
    ),
    ("history", _V.TURN, _set("history messages message conversation scratchpad turns dialogue dialog chat")),
    ("session", _V.TURN, _set("usage counter turn step iteration attempt score scores elapsed uptime")),
    ("session", _V.SESSION, _set("session thread memory memories summary recap")),
    (
        "user",
        _V.USER,
        _set(
            "user uid userid username premium vip guest admin subscriber subscribed loggedin "
            "customer visitor client member patient employee caller profile preferences prefs email "
            "phone address location firstname lastname nickname login account"
        ),
    ),
    ("environment", _V.USER, _set("cwd pwd hostname workdir os shell")),
    ("setting", _V.TENANT, _set("tenant org organization organisation company workspace brand merchant")),
)
"""Head nouns, by what they are."""

_OF_REQUEST = _set("request req trace span run correlation message msg call execution invocation job transaction")
_OF_SESSION = _set("session conversation conv thread chat")
_OF_USER = _set("user customer visitor client member patient employee caller account guest student person")
_OF_TENANT = _set("tenant org organization organisation company workspace brand store shop merchant team")
_OF_DEPLOYMENT = _set(
    "model agent bot app assistant deployment prompt template version tool tools function product project system "
    "release ai service config default role persona skill support contact office build catalog policy"
)
_OF_TICKETS = _set("order ticket case invoice booking tracking shipment")

_CARRIERS = _set("str string json xml yaml html md markdown list block section formatted value utc iso gmt")
"""Heads that say how something is written, not what it is."""

_CONTENTS = _set("text content contents body data details info")
"""Heads of what holds the word ahead of them: a `document_text` is a document."""

_SURROUNDINGS = _set("environment system os device git repo")

_SETTINGS = _set(
    "format formats limit limits zone timezone unit units type kind style policy policies rule rules label template "
    "instructions instruction schema definition description enabled allowed range window max min field fields column "
    "columns key pattern language locale guidelines example examples header title timeout duration threshold size "
    "length prefix suffix signature config configuration settings"
)
"""Head nouns of settings: what stands before them is what they are about."""
_SETTINGS_OF_A_USER = _set(
    "config configuration settings language locale timezone zone type kind style instructions title units"
)
"""What a user has one of too."""
_LIMITS = _set("max min num maximum minimum default allowed")
"""Words that make a setting of whatever they stand ahead of."""
_DRAWN = _set("random shuffled sampled randomized")
_FOUND = _set("retrieved relevant similar")
_GIVEN = _set("uploaded attached current input web cited user")
_EXAMPLES = _set("example examples demo demos shot shots")
_NEW = _set("current today todays now this local system utc human readable day full")
"""Words ahead of a date that leave it the one of the day."""
_MARKS = _set("id ids uuid guid token hash sha key number code ref reference")
_IDS_THEMSELVES = _set("id ids uuid guid")
_CLOCK_HEADS = _set("time at hour minute second seconds ms millis epoch")
_OTHER_TIMES = _set("response reading delivery opening closing lead run max min")
_COUNTED = _set("turn turns step steps retry retries attempt attempts iteration iterations message messages")
_OF_A_PERSON = _set("name names age city gender birthday plan tier timezone")
_SPOKEN = _set("user human customer")
_ASKED = _set("chat current new latest expected actual model")


def _of_name(name: str, expression: Expression) -> Judged:
    found = _by_words(name)
    return _time(found.told_by, "name", expression) if found.sort == "clock" else found


def _by_words(name: str) -> Judged:
    if name.endswith("__"):
        # The docstring or the name of what the program defines.
        return UNKNOWN
    words = [word.lower() for part in name.split(".") for word in _WORDS.findall(part)]
    words = [word for word in words if not word.isdigit()] or words
    while len(words) > 1 and words[-1] in _CARRIERS:
        words.pop()
    if not words:
        return UNKNOWN
    if "of" in words[1:]:
        # `day_of_week`, but not what a count or a list is of.
        words = words[: words.index("of", 1)]
    *before, head = words
    volatility, sort = _by_head(head, before)
    owner = name.rpartition(".")[0]
    if owner and sort in ("unknown", "setting") and not _NAMESPACES.issuperset(owner.split(".")):
        # What a document or a message has, such as its title, is another one with it.
        whole = _by_words(owner)
        if whole.sort in ("retrieved", "history"):
            return whole._replace(told_by=name)
    return UNKNOWN if sort == "unknown" else Judged(volatility, sort, "name", name)


_NAMESPACES = _set("context input inputs request result chat conversation")
"""Objects of which an attribute can be anything."""

_Said = tuple[Volatility, Sort]
_SETTING: _Said = (_V.DEPLOYMENT, "setting")
_NOTHING: _Said = (_V.DEPLOYMENT, "unknown")


def _by_head(head: str, before: Sequence[str]) -> _Said:
    """What a head noun with the words ahead of it is."""
    around = frozenset(before)
    if before and before[0] in _DRAWN:
        return _V.REQUEST, "random"
    if around & _FOUND:
        return _V.REQUEST, "retrieved"
    if around & (_LIMITS | _EXAMPLES):
        return _SETTING
    if head in ("remaining", "left") or "remaining" in around or (head == "used" and around):
        return _V.TURN, "session"
    if head in _SETTINGS:
        if head in _SETTINGS_OF_A_USER and around & _OF_USER and not around & _OF_DEPLOYMENT:
            return _V.USER, "user"
        return _SETTING
    if head in ("number", "count", "index"):
        if around & _COUNTED:
            return _V.TURN, "session"
        if head != "number":
            return _SETTING
        if around & {"phone", "mobile"}:
            head = "phone"
    if head in _MARKS:
        return _mark(around, head)
    if head in _CLOCK_HEADS:
        return _clock(around, head)
    if head == "date" and "birth" in around:
        return _V.USER, "user"
    if head == "date" and around - _NEW:
        return _NOTHING
    if head == "budget" and around & {"token", "tokens", "thinking"}:
        return _SETTING
    if (head in ("status", "branch", "diff", "commit") and "git" in around) or (
        "branch" in (head, *before[-1:]) and (head == "name" or around & {"current", "working", "feature"})
    ):
        return _V.SESSION, "environment"
    if head in ("dir", "directory", "folder", "path", "root") and around & {
        "working", "current", "work", "home", "cwd", "workspace", "project", "repo",
    }:  # fmt: skip
        return _V.USER, "environment"
    if head in _OF_A_PERSON:
        return _person(around, head)
    if head in ("text", "content", "body", "prompt") and around & {*_SPOKEN, "input", "query", "email", "document"}:
        return _V.REQUEST, "question"
    if head in ("message", "msg") and around & _SPOKEN:
        return _V.REQUEST, "question"
    if head in ("details", "info", "data") and before[-1:] and before[-1] in _SURROUNDINGS:
        return _V.USER, "environment"
    if head in _CONTENTS and before:
        return _by_head(before[-1], before[:-1])
    if head == "context" and around & _OF_USER:
        return _V.USER, "user"
    if (head, *before[-1:]) in (("system", "operating"), ("map", "repo")):
        return _V.USER, "environment"
    if head in ("file", "files", "source", "page", "os", "shell") and around - _GIVEN:
        return _NOTHING
    if around & _OF_DEPLOYMENT and head in ("message", "messages", "context", "task", "input"):
        return _SETTING
    for sort, volatility, heads in _HEADS:
        if head in heads:
            if sort == "user" and around & (_OF_DEPLOYMENT - {"project"}):
                return _SETTING
            if head in ("input", "output") and around and not around & (_SPOKEN | _ASKED):
                return _NOTHING
            return volatility, sort
    if around & _OF_USER:
        return _V.USER, "user"
    if around & {"session", "conversation"}:
        return _V.SESSION, "session"
    return _NOTHING


def _clock(around: frozenset[str], head: str) -> _Said:
    if head == "time" and around & _OTHER_TIMES:
        return _SETTING
    if head in ("second", "seconds", "ms", "minute", "hour") and not around & {"current", "now", "epoch"}:
        return _NOTHING
    return _V.REQUEST, "clock"


def _mark(around: frozenset[str], head: str) -> _Said:
    """An id or another mark of something: as volatile as what it marks."""
    owned: Iterable[tuple[frozenset[str], Volatility, Sort]] = (
        (_OF_REQUEST, _V.REQUEST, "id"),
        (_OF_SESSION, _V.SESSION, "session"),
        (_OF_USER, _V.USER, "user"),
        (_OF_TENANT, _V.TENANT, "setting"),
        (_OF_DEPLOYMENT, _V.DEPLOYMENT, "setting"),
    )
    for words, volatility, sort in owned:
        if around & words:
            return volatility, sort
    return (_V.REQUEST, "id") if head in _IDS_THEMSELVES or around & _OF_TICKETS else _NOTHING


def _person(around: frozenset[str], head: str) -> _Said:
    if around & _OF_DEPLOYMENT:
        return _SETTING
    if around & _OF_TENANT:
        return _V.TENANT, "setting"
    if around & (_OF_USER | {"first", "last", "full", "nick", "given", "family", "display"}):
        return _V.USER, "user"
    return (_V.USER, "user") if head == "name" and not around else _NOTHING
