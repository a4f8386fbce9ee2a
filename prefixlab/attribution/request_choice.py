"""Which request of a log is meant: by its id, by which of several with that id, or by where it stands."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from difflib import get_close_matches

from prefixlab.errors import PrefixlabError
from prefixlab.records import Prompt

_MOST_COMPARED = 20_000
"""Ids among which close ones are looked for."""
_MOST_SHOWN = 3
_LONGEST = 80
_PLACE = re.compile(r"(.+):(\d+)", re.DOTALL)
_WHICH = re.compile(r"(.+)#(\d+)", re.DOTALL)


def chosen_request(prompts: Sequence[Prompt], asked: str, option: str, *, quotes_ids: bool) -> int:
    """The number of the request that `asked` means: an id, `ID#2` for the second with that id, `PATH:LINE`, or
    `line:LINE`.

    Raises:
        PrefixlabError: there is none, or there are several. With `quotes_ids` the message names ids of the log.
    """
    if not isinstance(asked, str) or not asked:
        raise PrefixlabError(f"{option} names no request", "Give the id of one, or its place as PATH:LINE")
    found = [number for number, prompt in enumerate(prompts) if prompt.id == asked]
    if len(found) == 1:
        return found[0]
    if found:
        lines = ", ".join([_place(prompts[number]) for number in found[:_MOST_SHOWN]])
        more = f" and {len(found) - _MOST_SHOWN:,} more" if len(found) > _MOST_SHOWN else ""
        raise PrefixlabError(
            f"{len(found):,} requests have the id {_short(asked)}: {lines}{more}",
            f"Choose one with {option} {_short(asked)}#1 or {option} {_place(prompts[found[0]])}",
        )
    which = _WHICH.fullmatch(asked)
    if which:
        of_id = [number for number, prompt in enumerate(prompts) if prompt.id == which[1]]
        if of_id:
            if not 1 <= int(which[2]) <= len(of_id):
                have = "request has" if len(of_id) == 1 else "requests have"
                raise PrefixlabError(
                    f"{option} {_short(asked)}: {len(of_id):,} {have} the id {_short(which[1])}",
                    f"Give a number from 1 to {len(of_id)} behind #",
                )
            return of_id[int(which[2]) - 1]
    place = _PLACE.fullmatch(asked)
    if place:
        return _at(prompts, place[1], int(place[2]), option, asked, quotes_ids)
    raise _unknown(prompts, asked, option, quotes_ids)


def _at(prompts: Sequence[Prompt], path: str, line: int, option: str, asked: str, quotes_ids: bool) -> int:
    """The request at a line of a log; of any of the logs where the path is `line`, or the name of one alone."""
    on_line = [number for number, prompt in enumerate(prompts) if prompt.location.line == line]
    found = [number for number in on_line if prompts[number].location.path == path]
    if not found and path.lower() == "line":
        found = on_line
    if not found:
        found = [number for number in on_line if os.path.basename(prompts[number].location.path) == path]
    if len(found) == 1:
        return found[0]
    if not found:
        paths = {prompt.location.path for prompt in prompts}
        if path.lower() == "line" or path in paths or path in {os.path.basename(one) for one in paths}:
            raise PrefixlabError(f"{option} {_short(asked)}: no request stands there", "Give another line, or an id")
        raise _unknown(prompts, asked, option, quotes_ids)
    if len({prompts[number].location.path for number in found}) > 1:
        places = ", ".join([_place(prompts[number]) for number in found[:_MOST_SHOWN]])
        raise PrefixlabError(f"{option} {_short(asked)} is in several logs: {places}", "Give the path with the line")
    ids = ", ".join([_short(prompts[number].id) for number in found[:_MOST_SHOWN]])
    ids = f", such as {ids}" if quotes_ids else ""
    raise PrefixlabError(
        f"{option} {_short(asked)}: {len(found):,} requests stand on that line{ids}", "Give the id of one"
    )


def _unknown(prompts: Sequence[Prompt], asked: str, option: str, quotes_ids: bool) -> PrefixlabError:
    if not prompts:
        return PrefixlabError(f"{option} {_short(asked)}: the log has no request", "Give a log that has it")
    what = f"no request of the log has the id {_short(asked)}"
    if not quotes_ids:
        return PrefixlabError(what, "Give another id, or a place as PATH:LINE")
    close = _close_ids(prompts, asked)
    if close:
        return PrefixlabError(what, f"Close: {', '.join(map(_short, close))}")
    ids = list(dict.fromkeys([prompts[0].id, prompts[-1].id]))
    return PrefixlabError(what, f"Its ids are like {' and '.join(map(_short, ids))}; a place such as line:17 will do")


def _close_ids(prompts: Sequence[Prompt], asked: str) -> list[str]:
    """Ids that are the same in other letters, hold what was asked for, or are spelled nearly so."""
    ids = list(dict.fromkeys([prompt.id for prompt in prompts]))
    wanted = asked.casefold()
    same = [one for one in ids if one.casefold() == wanted]
    same += [one for one in ids if wanted in one.casefold() and one not in same][:_MOST_SHOWN]
    if not same:
        same = get_close_matches(asked, [one[:200] for one in ids[:_MOST_COMPARED]], _MOST_SHOWN)
    return same[:_MOST_SHOWN]


def _place(prompt: Prompt) -> str:
    return f"{prompt.location.path}:{prompt.location.line}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
