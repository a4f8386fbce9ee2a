"""What a variable holds by its name, read as words, head noun last: a `request_id` is an id, a `date_format` is a
format and no date, and a `max_time_limit` a limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from prefixlab.prompt_templates import Expression, Volatility
from prefixlab.volatility.calls import of_time, word_set
from prefixlab.volatility.judgement import UNKNOWN, Judged, Sort

_V = Volatility


_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_HEADS: tuple[tuple[Sort, Volatility, frozenset[str]], ...] = (
    ("clock", _V.REQUEST, word_set("now timestamp datetime clock ts")),
    ("date", _V.DEPLOYMENT, word_set("date today day weekday")),
    ("id", _V.REQUEST, word_set("nonce uuid guid ulid buster")),
    ("random", _V.REQUEST, word_set("random seed salt shuffled")),
    (
        "question",
        _V.REQUEST,
        word_set(
            "question query utterance input request task ticket inquiry enquiry ask complaint text content paragraph "
            "sentence essay tweet review reviews feedback story answer answers response reply resume cv topic subject "
            "diff url output"
        ),
    ),
    (
        "retrieved",
        _V.REQUEST,
        word_set(
            "context contexts document documents docs doc chunk chunks passage passages snippet snippets evidence "
            "retrieved result results article articles excerpt excerpts transcript observation observations source "
            "sources hits matches page webpage file files"
        ),
    ),
    ("history", _V.TURN, word_set("history messages message conversation scratchpad turns dialogue dialog chat")),
    ("session", _V.TURN, word_set("usage counter turn step iteration attempt score scores elapsed uptime")),
    ("session", _V.SESSION, word_set("session thread memory memories summary recap")),
    (
        "user",
        _V.USER,
        word_set(
            "user uid userid username premium vip guest admin subscriber subscribed loggedin "
            "customer visitor client member patient employee caller profile preferences prefs email "
            "phone address location firstname lastname nickname login account"
        ),
    ),
    ("environment", _V.USER, word_set("cwd pwd hostname workdir os shell")),
    ("setting", _V.TENANT, word_set("tenant org organization organisation company workspace brand merchant")),
)
"""Head nouns, by what they are."""

_OF_REQUEST = word_set("request req trace span run correlation message msg call execution invocation job transaction")
_OF_SESSION = word_set("session conversation conv thread chat")
_OF_USER = word_set("user customer visitor client member patient employee caller account guest student person")
_OF_TENANT = word_set("tenant org organization organisation company workspace brand store shop merchant team")
_OF_DEPLOYMENT = word_set(
    "model agent bot app assistant deployment prompt template version tool tools function product project system "
    "release ai service config default role persona skill support contact office build catalog policy"
)
_OF_TICKETS = word_set("order ticket case invoice booking tracking shipment")

_CARRIERS = word_set("str string json xml yaml html md markdown list block section formatted value utc iso gmt")
"""Heads that say how something is written, not what it is."""

_CONTENTS = word_set("text content contents body data details info")
"""Heads of what holds the word ahead of them: a `document_text` is a document."""

_SURROUNDINGS = word_set("environment system os device git repo")

_SETTINGS = word_set(
    "format formats limit limits zone timezone unit units type kind style policy policies rule rules label template "
    "instructions instruction schema definition description enabled allowed range window max min field fields column "
    "columns key pattern language locale guidelines example examples header title timeout duration threshold size "
    "length prefix suffix signature config configuration settings "
    "guide guides manual documentation types kinds styles"
)
"""Head nouns of settings: what stands before them is what they are about."""
_SETTINGS_OF_A_USER = word_set(
    "config configuration settings language locale timezone zone type kind style instructions title units"
)
"""What a user has one of too."""
_LIMITS = word_set("max min num maximum minimum default allowed")
"""Words that make a setting of whatever they stand ahead of."""
_DRAWN = word_set("random shuffled sampled randomized")
_FOUND = word_set("retrieved relevant similar")
_GIVEN = word_set("uploaded attached current input web cited user")
_EXAMPLES = word_set("example examples demo demos shot shots")
_NEW = word_set("current today todays now this local system utc human readable day full")
"""Words ahead of a date that leave it the one of the day."""
_MARKS = word_set("id ids uuid guid token hash sha key number code ref reference")
_IDS_THEMSELVES = word_set("id ids uuid guid")
_CLOCK_HEADS = word_set("time at hour minute second seconds ms millis epoch")
_OTHER_TIMES = word_set("response reading delivery opening closing lead run max min")
_RUNNING = word_set("current now epoch uptime elapsed")
_COUNTED = word_set("turn turns step steps retry retries attempt attempts iteration iterations message messages")
_OF_A_PERSON = word_set("name names age city gender birthday plan tier timezone")
_SPOKEN = word_set("user human customer")
_ASKED = word_set("chat current new latest expected actual model")


def of_name(name: str, expression: Expression) -> Judged:
    found = _by_words(name)
    return of_time(found.told_by, "name", expression) if found.sort == "clock" else found


def _by_words(name: str) -> Judged:
    if name.endswith("__"):
        # The docstring or the name of what the program defines.
        return Judged(_V.DEPLOYMENT, "setting", "name", name)
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


_NAMESPACES = word_set("context input inputs request result chat conversation")
"""Objects of which an attribute can be anything."""

_Said = tuple[Volatility, Sort]
_SETTING: _Said = (_V.DEPLOYMENT, "setting")
_NOTHING: _Said = (_V.DEPLOYMENT, "unknown")


def _by_head(head: str, before: Sequence[str]) -> _Said:
    """What a head noun with the words ahead of it is."""
    around = frozenset(before)
    if before and before[0] in _DRAWN and (head in _EXAMPLES or head not in _SETTINGS):
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
    if head in ("second", "seconds", "ms", "minute", "hour") and not around & _RUNNING:
        return _NOTHING
    return _V.REQUEST, "clock"


def _mark(around: frozenset[str], head: str) -> _Said:
    """An id or another mark of something: as volatile as what it marks."""
    owned: Iterable[tuple[frozenset[str], Volatility, Sort]] = (
        (_OF_REQUEST, _V.REQUEST, "id"),
        (_OF_SESSION, _V.SESSION, "session"),
        (_OF_USER | {"device"}, _V.USER, "user"),
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
