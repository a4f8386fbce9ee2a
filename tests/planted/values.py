"""Values that change from request to request, of every kind, and the places in a line where they can stand."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

PATTERNS = ("request", "session", "day", "alternate", "user")


@dataclass(frozen=True)
class Moment:
    """When and by whom a request is made; `number` counts them from 0."""

    number: int
    time: datetime
    session: str
    session_start: datetime
    user: str


Maker = Callable[[Random, Moment], str]

FIRST = [
    "Anna",
    "Björn",
    "Chloé",
    "Dmitri",
    "Emeka",
    "Fatima",
    "Giulia",
    "Hiro",
    "Ines",
    "João",
    "Katarzyna",
    "Liam",
    "Mei",
    "Nadia",
    "Omar",
    "Priya",
    "Quentin",
]
LAST = [
    "Berg",
    "Castro",
    "Dubois",
    "Eriksson",
    "Fischer",
    "García",
    "Horvat",
    "Ivanova",
    "Jensen",
    "Kowalska",
    "Lindqvist",
    "Moreau",
    "Nakamura",
]
CJK_NAMES = [
    "佐藤健",
    "田中美咲",
    "王小明",
    "李娜",
    "김민수",
    "박지영",
    "山本花子",
    "陈思远",
    "이서연",
    "高橋一郎",
    "周杰",
    "최유리",
]
PLANS = ["Starter", "Free", "Team Plus", "Enterprise 500", "Family", "Pro", "Academic", "Gold (legacy)"]
FOLDERS = [
    "alpha",
    "billing",
    "core",
    "docs",
    "engine",
    "forms",
    "gallery",
    "hooks",
    "intake",
    "jobs",
    "kiosk",
    "ledger",
    "maps",
    "notes",
    "orders",
]
FACTS = [
    "prefers a call in the morning",
    "lives on the third floor",
    "has a dog called Rex",
    "speaks Basque at home",
    "ordered twice last spring",
    "asked for vegan options",
    "owns the blue bicycle",
    "is moving to Porto soon",
    "dislikes long answers",
    "pays by bank transfer",
    "works night shifts",
    "returned a lamp once",
]


def clock(form: str) -> Maker:
    """The time of the request, to the second."""
    return lambda _rng, moment: moment.time.strftime(form)


def session_clock(form: str) -> Maker:
    """The time at which the session began."""
    return lambda _rng, moment: moment.session_start.strftime(form)


def age(rng: Random, _moment: Moment) -> str:
    return f"{rng.randint(2, 59)} {rng.choice(['minutes', 'hours', 'days'])} ago"


def short_age(rng: Random, _moment: Moment) -> str:
    return f"{rng.randint(1, 59)}m ago"


def uuid4(rng: Random, _moment: Moment) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def hex_id(rng: Random, _moment: Moment) -> str:
    return f"{rng.getrandbits(64):016x}"


def short_id(rng: Random, _moment: Moment) -> str:
    letters = "abcdefghijkmnpqrstuvwxyz23456789"
    head = rng.choice("abcdefghkmnp")
    return head + "".join(rng.choice(letters) for _ in range(3)) + rng.choice("23456789") + rng.choice(letters)


def labelled_id(rng: Random, _moment: Moment) -> str:
    return f"ORD-{rng.randint(10_000, 99_999)}"


def price(rng: Random, _moment: Moment) -> str:
    return f"{rng.randint(1, 999)}.{rng.randint(0, 99):02}"


def number(rng: Random, _moment: Moment) -> str:
    return str(rng.randint(3, 40_000))


def percentage(rng: Random, _moment: Moment) -> str:
    return f"{rng.randint(1, 99)}.{rng.randint(1, 9)}"


def path(rng: Random, _moment: Moment) -> str:
    return f"/srv/{rng.choice(FOLDERS)}/{rng.choice(FOLDERS)}/{rng.choice(FOLDERS)}{rng.randint(2, 99)}.py"


def person(rng: Random, _moment: Moment) -> str:
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def cjk_person(rng: Random, _moment: Moment) -> str:
    return rng.choice(CJK_NAMES)


def email(rng: Random, _moment: Moment) -> str:
    return f"{rng.choice(FIRST).lower()}.{rng.choice(LAST).lower()}{rng.randint(1, 99)}@example.com"


def json_value(rng: Random, _moment: Moment) -> str:
    keys = rng.sample(["cart", "tier", "flags", "score", "region", "visits"], rng.randint(2, 4))
    return json.dumps(
        {key: rng.choice([rng.randint(0, 900), rng.choice(FOLDERS), [1, rng.randint(2, 9)]]) for key in keys}
    )


def free_text(rng: Random, _moment: Moment) -> str:
    return "\n".join(f"{rng.choice(FIRST)} {rng.choice(FACTS)}" for _ in range(rng.randint(2, 4)))


def names_list(rng: Random, _moment: Moment) -> str:
    return ", ".join(rng.sample(FOLDERS, rng.randint(1, 6)))


def plan(rng: Random, _moment: Moment) -> str:
    return rng.choice(PLANS)


@dataclass(frozen=True)
class Kind:
    """A kind of planted value: its makers, the field kinds that are right for it, and the labels it goes by."""

    name: str
    makers: tuple[Maker, ...]
    right: frozenset[str]
    labels: tuple[str, ...]
    patterns: tuple[str, ...] = PATTERNS
    loose: bool = False
    """Whether parts of the value, named one by one, are as good: text of several lines, lists, objects."""


def _kind(name: str, makers: list[Maker], right: str, labels: str, patterns: str = "", loose: bool = False) -> Kind:
    given = tuple(patterns.split()) or PATTERNS
    return Kind(name, tuple(makers), frozenset(right.split()), tuple(labels.split("|")), given, loose)


KINDS = (
    _kind(
        "clock",
        [
            clock("%Y-%m-%dT%H:%M:%SZ"),
            clock("%d.%m.%Y %H:%M:%S"),
            clock("%A, %d %B %Y, %H:%M:%S"),
            clock("%H:%M:%S"),
            clock("%Y年%m月%d日 %H:%M:%S"),
        ],
        "clock",
        "Current time|Now|Uhrzeit|現在時刻|Heure",
        "request",
    ),
    _kind("session clock", [session_clock("%Y-%m-%d %H:%M:%S")], "clock", "Session started|Début", "session"),
    _kind(
        "date",
        [clock("%Y-%m-%d"), clock("%d/%m/%Y"), clock("%d %B %Y"), clock("%Y年%m月%d日")],
        "date",
        "Today|Datum|Fecha|今日",
        "day",
    ),
    _kind("age", [age, short_age], "age", "Last sync|Index refreshed|Letzter Abgleich", "request session"),
    _kind("uuid", [uuid4], "uuid", "Session|Trace|Request id|ID de sesión", "request session user alternate"),
    _kind("hex", [hex_id], "id", "Build|nonce|Kennung", "request session user alternate"),
    _kind("short id", [short_id, labelled_id], "id", "Ticket|Shard|Zeichen|編號", "request session user day"),
    _kind("counter", [number], "counter", "Request number|Turn|Laufende Nummer", "request"),
    _kind("number", [number, price], "number", "Balance|Open items|Guthaben|残高"),
    _kind("percentage", [percentage], "number", "Load|Context used|Auslastung", "request session day"),
    _kind("path", [path], "path", "Working file|Datei|cwd", "request session user"),
    _kind("person", [person, cjk_person], "name", "Customer|Kunde|Nom|お客様", "session user request"),
    _kind("email", [email], "email", "Contact|Correo|Reply to", "session user"),
    _kind("json", [json_value], "json", "State|context|Zustand", "request session user", loose=True),
    _kind("text", [free_text], "text", "Notes|What we know|メモ", "request session user", loose=True),
    _kind("list", [names_list], "text json name", "Open modules|Bereiche|権限", "request session user", loose=True),
    _kind("plan", [plan], "name text", "Plan|Tarif|契約", "session user alternate"),
)

LABELLED = (
    "{label}: {value}",
    "- {label}: {value}",
    "{label} = {value}",
    "**{label}:** {value}",
    "<{tag}>{value}</{tag}>",
)
BARE = ("{value}", "{value} {tail}", "{head} {value}")
PROSE = (
    "You are talking to {value}, who has been with us for years, so {tail}",
    "{head} As we know of {value}, this holds as well: {tail}",
    "{head} ({value})",
    "Ce message concerne {value} et rien d’autre. {tail}",
    "これは {value} に関するものです。{tail}",
    "关于{value}的说明:{tail}",
    "{value} is what the desk was told; {tail}",
)
CONFIG = ('"{tag}": "{value}",',)


class Values:
    """The values of one hole: one for each key of its pattern, never the same twice in a row."""

    def __init__(self, kind: Kind, pattern: str, seed: str) -> None:
        self.kind, self.pattern = kind, pattern
        self._rng = Random(seed)
        self._maker = self._rng.choice(kind.makers)
        self._known: dict[str, str] = {}
        self._count = self._rng.choice([1, 7, 93, 991, 9_996])
        self._pair: list[str] = []

    def __call__(self, moment: Moment) -> str:
        key = {
            "request": str(moment.number),
            "session": moment.session,
            "day": str(moment.time.date()),
            "alternate": str(moment.number % 2),
            "user": moment.user,
        }[self.pattern]
        if key not in self._known:
            self._known[key] = self._new(moment)
        return self._known[key]

    def _new(self, moment: Moment) -> str:
        if self.kind.name == "counter":
            self._count += self._rng.choice([1, 1, 1, 2, 5])
            return str(self._count)
        for _ in range(20):
            value = self._maker(self._rng, moment)
            if value not in self._known.values():
                break
        return value


def schedule(rng: Random, requests: int, conversations: bool) -> list[Moment]:
    """When requests come: sessions of a few users, interleaved, over one to four days."""
    start = datetime(2026, rng.randint(1, 11), rng.randint(1, 25), rng.randint(6, 9), rng.randint(0, 59))
    users = [f"user{n}" for n in range(rng.randint(3, 8))]
    per_session = rng.randint(3, 6) if conversations else rng.randint(1, 4)
    sessions = [f"s{n}" for n in range(max(2, requests // per_session))]
    owner = {name: rng.choice(users) for name in sessions}
    span = rng.randint(1, 4)
    order = [name for name in sessions for _ in range(per_session)][:requests]
    order += rng.choices(sessions, k=requests - len(order))
    for index in range(len(order) - 1):
        other = min(len(order) - 1, index + rng.randint(0, 4))
        order[index], order[other] = order[other], order[index]
    begun: dict[str, datetime] = {}
    moments = []
    gap = span * 86_400 // requests
    at = start
    for index, name in enumerate(order):
        at += timedelta(seconds=rng.randint(max(1, gap // 3), max(2, gap)))
        moments.append(Moment(index, at, name, begun.setdefault(name, at), owner[name]))
    return moments
