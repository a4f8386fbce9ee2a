"""The only place where the stages meet: a log goes in, a report comes out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any, BinaryIO, NamedTuple

from prefixlab import __version__
from prefixlab.attribution.boundary import boundary_break
from prefixlab.attribution.families import families_of
from prefixlab.attribution.losses import losses_of
from prefixlab.attribution.volatile_fields import Ladder, find_fields
from prefixlab.contracts import Engine, ReadOptions
from prefixlab.errors import BadRecord, PrefixlabError
from prefixlab.findings import Input, Losses, Observed, Outcome, Report, RequestRow, Totals
from prefixlab.prefix_tree import Match, PrefixTree
from prefixlab.readers import read_requests, requests_of
from prefixlab.records import Prompt, Request
from prefixlab.registry import engine_class
from prefixlab.reporters.wording import counted
from prefixlab.served_models import ServedModels
from prefixlab.settings import AuditSettings

Progress = Callable[[str, int], None]
"""Told the name of a stage and how many requests it is through."""

STEP = 512
"""Requests between two words of progress."""


def audit(
    log: Sequence[str] | Iterable[Request | Mapping[str, Any]],
    settings: AuditSettings,
    *,
    stdin: BinaryIO | None = None,
    progress: Progress = lambda stage, count: None,
) -> Report:
    """How much of a log's prompt tokens could be reused, how much is lost, and to what.

    `log` holds the paths of logs, or requests, or records as a log would have them.

    Raises:
        PrefixlabError: the input or the settings are wrong; the message says what to do.
    """
    engine_class(settings.engine)
    models = ServedModels(
        settings.tokenizers,
        chat_template=settings.chat_template,
        tool_arguments=settings.tool_arguments,
        image_tokens=settings.image_tokens,
        offline=settings.offline,
    )
    taken = _take(log, settings, models, stdin, progress)
    prompts = taken.prompts
    notes = list(taken.notes)
    if not in_order(prompts):
        prompts = sorted(prompts, key=lambda prompt: prompt.arrived_at or 0.0)
        notes.append("The log is not in order of arrival; it was sorted by its time stamps.")
    engine = _engine(settings, prompts)
    matches = match_prompts(prompts, progress)
    families = families_of(prompts, matches)
    outcomes = [_outcome(prompt, match, engine) for prompt, match in zip(prompts, matches, strict=True)]
    ladder = find_fields(prompts, matches, families, outcomes, engine, models.encode, cuts=models.cuts)
    losses = [
        losses_of(outcome, aligned, shared, engine)
        for outcome, aligned, shared in zip(outcomes, ladder.aligned_if_fixed, ladder.shared_if_fixed, strict=True)
    ]
    boundary = boundary_break(prompts, matches, outcomes, models.decode, len(ladder.fields) + 1)
    return Report(
        version=__version__,
        inputs=taken.inputs,
        tokenizer=models.described(),
        chat_template=models.described_template(),
        engine={
            "name": settings.engine,
            "block_size": engine.block_size,
            "cache_tokens": None,
            "min_tokens": engine.min_tokens,
        },
        totals=Totals.of(outcomes, len(set(families.numbers))),
        warm=_warm(outcomes, prompts, families.numbers),
        losses=Losses(*[sum(column) for column in zip(*losses, strict=True)]) if losses else Losses(),
        fields=ladder.fields,
        breaks=() if boundary is None else (boundary,),
        observed=_observed(prompts, outcomes),
        requests=_rows(prompts, outcomes, losses, ladder),
        notes=(*notes, *models.notes(), *_without_text(prompts), *_unnamed(ladder), *_untagged(settings.by, prompts)),
        by=_by(settings.by, prompts, outcomes, families.numbers),
    )


class _Taken(NamedTuple):
    prompts: list[Prompt]
    inputs: tuple[Input, ...]
    notes: tuple[str, ...]


def _take(
    log: Sequence[str] | Iterable[Request | Mapping[str, Any]],
    settings: AuditSettings,
    models: ServedModels,
    stdin: BinaryIO | None,
    progress: Progress,
) -> _Taken:
    """Read, render and tokenize, one request at a time; what stays is the prompts."""
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
    return _Taken(prompts, tuple(inputs), tuple(notes))


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


def match_prompts(prompts: Sequence[Prompt], progress: Progress = lambda stage, count: None) -> list[Match]:
    """The best earlier prompt of each prompt's namespace, with the ids they share."""
    tree = PrefixTree(lambda number: prompts[number].tokens + prompts[number].output_tokens)
    matches = []
    for number, prompt in enumerate(prompts):
        matches.append(tree.add(number, prompt.tokens, prompt.output_tokens, prompt.namespace))
        if not number % STEP:
            progress("matching", number)
    return matches


def _engine(settings: AuditSettings, prompts: Sequence[Prompt]) -> Engine:
    units = {prompt.unit for prompt in prompts}
    if len(units) > 1:
        raise PrefixlabError(
            "block-hash traces of different block sizes, or traces and texts, cannot be matched with one another",
            "Audit them one at a time",
        )
    unit = units.pop() if units else 1
    chosen = engine_class(settings.engine)
    block_size = settings.block_size or (unit if unit > 1 else chosen.default_block_size)
    engine: Engine = chosen(block_size=block_size)
    return engine


def _outcome(prompt: Prompt, match: Match, engine: Engine) -> Outcome:
    shared = min(match.shared * prompt.unit, prompt.token_count)
    aligned = engine.aligned_tokens(shared, prompt.token_count)
    return Outcome(prompt.token_count, shared, aligned, aligned, match.matched).checked()


def _without_text(prompts: Sequence[Prompt]) -> list[str]:
    """What cannot be said of prompts whose text is not looked at, because the log has their ids."""
    by_ids = [
        prompt
        for prompt in prompts
        if prompt.token_count and not any([run.text for piece in prompt.pieces for run in piece.runs[:1]])
    ]
    if not by_ids:
        return []
    taken = f"{counted(len(by_ids), 'request is', 'requests are')} taken by their logged"
    taken = taken if len(by_ids) > 1 else taken.replace("their", "its")
    kind = "token ids" if by_ids[0].unit == 1 else "block hashes"
    return [f"{taken} {kind}: what is shared is exact, but the values that break the prefix cannot be named."]


def _untagged(tags: Sequence[str], prompts: Sequence[Prompt]) -> list[str]:
    """Tags to break down by that no request has."""
    return [
        f"No request has the tag {tag}; --tag {tag}=json.path names where it lies."
        for tag in tags
        if prompts and not any([tag in prompt.tags for prompt in prompts])
    ]


def _unnamed(ladder: Ladder) -> list[str]:
    """What the ladder cannot name yet must not pass for a sound prompt."""
    count = sum(ladder.unnamed.values())
    if not count:
        return []
    part = counted(count, "request parts", "requests part")
    places = " and ".join([path for path, _ in ladder.unnamed.most_common(2)])
    where = f"from earlier ones at {places}, ahead of text that is the same again"
    return [f"{part} {where}, over an order, blanks or a form, not over a value; see `first_seen`."]


def _warm(outcomes: Sequence[Outcome], prompts: Sequence[Prompt], families: Sequence[int]) -> Totals:
    """All requests but the first of each family in each namespace."""
    met: set[Any] = set()
    warm = []
    kept = set()
    for outcome, prompt, family in zip(outcomes, prompts, families, strict=True):
        key = (prompt.namespace, family)
        if key in met:
            warm.append(outcome)
            kept.add(family)
        met.add(key)
    return Totals.of(warm, len(kept))


def _observed(prompts: Sequence[Prompt], outcomes: Sequence[Outcome]) -> Observed | None:
    pairs = [
        (prompt.observed_cached_tokens, outcome.cached_tokens)
        for prompt, outcome in zip(prompts, outcomes, strict=True)
        if prompt.observed_cached_tokens is not None
    ]
    if not pairs:
        return None
    return Observed(len(pairs), sum([seen for seen, _ in pairs]), sum([predicted for _, predicted in pairs]))


def _rows(
    prompts: Sequence[Prompt], outcomes: Sequence[Outcome], losses: Sequence[Losses], ladder: Ladder
) -> tuple[RequestRow, ...]:
    return tuple(
        [
            RequestRow(
                prompt.id,
                prompt.location.line,
                outcome,
                None if outcome.matched is None else prompts[outcome.matched].id,
                lost,
                ladder.field_of.get(number),
                prompt.tags,
            )
            for number, (prompt, outcome, lost) in enumerate(zip(prompts, outcomes, losses, strict=True))
        ]
    )


def _by(
    tags: Sequence[str], prompts: Sequence[Prompt], outcomes: Sequence[Outcome], families: Sequence[int]
) -> Mapping[str, Mapping[str, Totals]]:
    """Totals for each value of each tag asked for, in order of first appearance."""
    breakdown: dict[str, dict[str, Totals]] = {}
    for tag in tags:
        groups: dict[str, list[int]] = {}
        for number, prompt in enumerate(prompts):
            groups.setdefault(prompt.tags.get(tag, "(none)"), []).append(number)
        breakdown[tag] = {
            value: Totals.of([outcomes[number] for number in group], len({families[number] for number in group}))
            for value, group in groups.items()
        }
    return breakdown
