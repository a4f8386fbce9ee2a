"""Text logs of servers: the few lines among many that tell of a request."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator

from prefixlab.errors import BadRecord

_MARKS = re.compile(rb"Received request \S+: |Request \S+ details: |(?:Receive|Finish): obj=\w+\(")
_JSON_EVENT = re.compile(rb'\s*\{.*"(?:obj|messages|prompt|prompt_token_ids)"\s*:', re.DOTALL)
_HALF = re.compile(r"Received request (\S+): (?!prompt: )|Request (\S+) details: ")
_WAITING = 64


class ServerLine(str):
    """A line that a server wrote into its text log, as opposed to a prompt of a text file."""

    __slots__ = ()


def tells_of_requests(start: bytes) -> bool:
    """Whether a file that starts so is a server's text log."""
    return _MARKS.search(start) is not None


def request_lines(lines: Iterable[tuple[int, bytes | BadRecord]]) -> Iterator[tuple[int, bytes | str | BadRecord]]:
    """The lines that tell of requests: JSON events as bytes, text as `ServerLine`."""
    waiting: OrderedDict[str, tuple[int, ServerLine]] = OrderedDict()
    for number, line in lines:
        if isinstance(line, BadRecord):
            yield number, line
        elif _MARKS.search(line):
            # Bytes that are no UTF-8 become marks that no literal may hold, so that the format refuses the line.
            text = ServerLine(line.decode("utf-8", "surrogateescape").rstrip("\r\n"))
            yield from _joined(number, text, waiting)
        elif _JSON_EVENT.match(line):
            yield number, line
    yield from waiting.values()


def _joined(
    number: int, line: ServerLine, waiting: OrderedDict[str, tuple[int, ServerLine]]
) -> Iterator[tuple[int, ServerLine]]:
    """Newer versions of vLLM tell of one request in two lines, the prompt in one and the LoRA in the other."""
    half = _HALF.search(line)
    if half is None:
        yield number, line
        return
    name = half[1] or half[2]
    if name in waiting:
        first, other = waiting.pop(name)
        if _is_details(other) != _is_details(line):
            yield first, ServerLine(f"{other}\n{line}")
            return
        yield first, other
    waiting[name] = (number, line)
    if len(waiting) > _WAITING:
        yield waiting.popitem(last=False)[1]


def _is_details(line: str) -> bool:
    half = _HALF.search(line)
    return half is not None and half[2] is not None
