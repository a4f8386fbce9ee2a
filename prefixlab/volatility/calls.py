"""What a function, method or filter gives: a clock, a date, an id, what is drawn by lot, the environment."""

from __future__ import annotations

import re
from typing import Literal

from prefixlab.prompt_templates import Expression, Volatility
from prefixlab.volatility.judgement import Judged

_V = Volatility


def word_set(words: str) -> frozenset[str]:
    """Words with blanks between them."""
    return frozenset(words.split())


_CLOCKS = word_set(
    "now utcnow localtime gmtime ctime asctime time_ns monotonic perf_counter strftime_now current_timestamp "
    "current_time currenttime timestamp_now get_current_time gettime isoformat_now moment dayjs utctime unixepoch"
)
_CLOCKS_OF = {"time": word_set("time strftime hour hournumber minute second"), "sys": word_set("time")}
_DATES = word_set("yesterdaydate today current_date currentdate date_now get_current_date localdate todays_date")
_DATES_OF = {"time": word_set("date dayofweek day")}
_DAYS_OF_CLOCKS = word_set("date today todatestring weekday isoweekday")
"""Methods and filters that leave the day of a time."""
_IDS = word_set(
    "uuid uuid1 uuid4 uuid6 uuid7 uuid8 ulid nanoid token_hex token_urlsafe token_bytes urandom generate_id new_id "
    "nonce randomuuid objectid cuid ksuid"
)
"""Not `uuid3` and `uuid5`, which are made of a name and the same for it."""
_RANDOM = word_set(
    "random randint randrange choice choices sample shuffle shuffled uniform randbelow getrandbits gauss"
)
_RANDOM_ANYWHERE = word_set("random randint shuffle shuffled sample")
"""What is drawn by lot whatever it is a method of."""
_RANDOM_OWNERS = word_set("random secrets rng rand _random")
_ENVIRONMENT = word_set("getcwd cwd gethostname getuser getlogin uname getpid getfqdn hostname expanduser")
_ENVIRONMENT_OF = {
    "platform": word_set("node platform system release version machine processor"),
    "path": word_set("home"),
    "socket": word_set("gethostbyname"),
}
_ENVIRONMENT_OWNERS = word_set("os socket platform getpass path pathlib process")
_PROGRAMS = word_set("check_output getoutput run popen")
_DAY_DIRECTIVES = set("YymdbBaAjUWuwGVeDFxhC")
_TIME_UNITS = set("HhKkmsSXx")
"""In formats without percent signs, such as `YYYY-MM-DD HH:mm`."""


def of_call(call: str, expression: Expression) -> Judged | None:
    *owners, last = call.lower().split(".")
    owner = owners[-1] if owners else ""
    if last in _CLOCKS or last in _CLOCKS_OF.get(owner, ()) or (owner, last) == ("datetime", "today"):
        return of_time(call, "call", expression)
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


def of_time(told_by: str, by: Literal["call", "name"], expression: Expression) -> Judged:
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
