"""The way in: logs are read, rendered and tokenized to prompts in order of arrival, and matched with one another."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any, BinaryIO, NamedTuple

from prefixlab.contracts import ReadOptions
from prefixlab.errors import BadRecord, PrefixlabError
from prefixlab.findings import Input
from prefixlab.number_words import counted
from prefixlab.prefix_tree import Match, PrefixTree
from prefixlab.readers import read_requests, requests_of
from prefixlab.records import Prompt, Request
from prefixlab.served_models import ServedModels
from prefixlab.settings import LogSettings

Progress = Callable[[str, int], None]
"""Told the name of a stage and how many requests it is through."""

STEP = 512
"""Requests between two words of progress."""


def quiet(stage: str, count: int) -> None:
    """No word of progress."""


def served_models(settings: LogSettings, *, keeps_marks: bool = False) -> ServedModels:
    """The models that the settings name. `keeps_marks`: as in `ServedModel`."""
    return ServedModels(
        settings.tokenizers,
        chat_template=settings.chat_template,
        tool_arguments=settings.tool_arguments,
        image_tokens=settings.image_tokens,
        offline=settings.offline,
        keeps_marks=keeps_marks,
    )


class Taken(NamedTuple):
    """Prompts in order of arrival, the files they are from, and what the report has to say about the reading."""

    prompts: list[Prompt]
    inputs: tuple[Input, ...]
    notes: tuple[str, ...]


def take(
    log: Sequence[str] | Iterable[Request | Mapping[str, Any]],
    settings: LogSettings,
    models: ServedModels,
    stdin: BinaryIO | None,
    progress: Progress,
) -> Taken:
    """Read, render and tokenize, one request at a time, then sort; what stays is the prompts.

    Raises:
        PrefixlabError: the input is wrong; the message says what to do.
    """
    refused: list[BadRecord] = []
    options = ReadOptions(tags=settings.tags)
    reading: Any
    if log and isinstance(log, Sequence) and all(isinstance(path, str) for path in log):
        reading = read_requests(
            log,
            options,
            input_format=settings.input_format,
            skip_bad=settings.skip_bad,
            limit=settings.limit,
            stdin=stdin,
            digest=settings.digest,
        )
    else:
        held = requests_of(log, options, refused=refused.append if settings.skip_bad else None)
        reading = islice(held, settings.limit)
    prompts: list[Prompt] = []
    for request in reading:
        try:
            prompts.append(models.of(request).prompt(request))
        except BadRecord as error:
            if not settings.skip_bad:
                raise
            refused.append(error)
        if not len(prompts) % STEP:
            progress("reading", len(prompts))
    skipped = Counter([error.path for error in refused])
    inputs = [
        replace(
            one,
            path=_portable(one.path),
            requests=one.requests - skipped[one.path],
            skipped=one.skipped + skipped[one.path],
        )
        for one in getattr(reading, "inputs", ())
    ]
    errors = [*getattr(reading, "errors", ()), *refused]
    notes = list(getattr(reading, "notes", ()))
    count = getattr(reading, "skipped", 0) + len(refused)
    if count:
        first = errors[0]
        first = BadRecord(first.what, first.todo, path=_portable(first.path), line=first.line)
        notes.insert(0, f"{counted(count, 'record was', 'records were')} skipped, the first: {first}")
    if not in_order(prompts):
        prompts.sort(key=lambda prompt: prompt.arrived_at or 0.0)
        notes.append("The log is not in order of arrival; it was sorted by its time stamps.")
    return Taken(prompts, tuple(inputs), tuple(notes))


def _portable(path: str) -> str:
    """A path as the report shows it: relative to where the command runs, or its last part, so that a report is the
    same on every machine."""
    if not os.path.isabs(path):
        return path
    relative = os.path.relpath(path)
    return os.path.basename(path) if relative.startswith("..") else relative


def in_order(prompts: Sequence[Prompt]) -> bool:
    """Whether prompts stand in order of arrival; true where some have no time, for then the log's order counts."""
    times = [prompt.arrived_at for prompt in prompts]
    if any(time is None for time in times):
        return True
    return all(earlier <= later for earlier, later in pairwise(times))  # type: ignore[operator]


def match_prompts(prompts: Sequence[Prompt], progress: Progress = quiet) -> list[Match]:
    """The best earlier prompt of each prompt's namespace, with the ids they share."""
    tree = PrefixTree(lambda number: prompts[number].tokens + prompts[number].output_tokens)
    matches = []
    for number, prompt in enumerate(prompts):
        matches.append(tree.add(number, prompt.tokens, prompt.output_tokens, prompt.namespace))
        if not number % STEP:
            progress("matching", number)
    return matches


def unit_of(prompts: Sequence[Prompt]) -> int:
    """Tokens that an id of these prompts stands for: 1, or the block of a block-hash trace.

    Raises:
        PrefixlabError: they differ in it, so that none can be matched with another.
    """
    units = {prompt.unit for prompt in prompts}
    if len(units) > 1:
        raise PrefixlabError(
            "block-hash traces of different block sizes, or traces and texts, cannot be matched with one another",
            "Give them one at a time",
        )
    return units.pop() if units else 1
