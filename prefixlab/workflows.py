"""The only place where the stages meet: a log goes in, a report comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO, NamedTuple

from prefixlab import __version__
from prefixlab.attribution.boundary import boundary_break
from prefixlab.attribution.breakdown import broken_down, sum_of
from prefixlab.attribution.families import Families, families_of
from prefixlab.attribution.known_values import KnownValues
from prefixlab.attribution.ladder import MOST_FIELDS, Ladder, climb
from prefixlab.attribution.long_lines import families_of_alike_lines
from prefixlab.attribution.losses import losses_of, lost_by_cause
from prefixlab.attribution.outer_causes import Foreign, foreign_tokens, outer_breaks
from prefixlab.bill import UNPRICED, Bill, PromptTokens, Rates, input_bill
from prefixlab.contracts import Engine
from prefixlab.deployments import Deployment, Served, deployment_of, engine_of, serve_fixed, serve_log
from prefixlab.errors import PrefixlabError
from prefixlab.findings import Losses, Observed, Outcome, Report, RequestRow, Totals
from prefixlab.intake import Progress, Taken, match_prompts, quiet, served_models, take
from prefixlab.mark_notes import mark_notes
from prefixlab.number_words import counted
from prefixlab.prefix_tree import Match
from prefixlab.records import Prompt, Request
from prefixlab.served_models import ServedModels
from prefixlab.settings import AuditSettings

LEAST_BEHIND = 8
"""Tokens at the end of a prompt that may be others in its successor: a generation prompt, or a merged token."""


class Analysis(NamedTuple):
    """What the stages of an audit make of a log, request by request, before it is summed up."""

    models: ServedModels
    taken: Taken
    matches: Sequence[Match]
    deployment: Deployment
    served: Served
    families: Families
    outcomes: Sequence[Outcome]
    foreign: Foreign
    ladder: Ladder
    losses: Sequence[Losses]

    @property
    def prompts(self) -> list[Prompt]:
        """The requests in order of arrival."""
        return self.taken.prompts


def analyse(
    log: Sequence[str] | Iterable[Request | Mapping[str, Any]],
    settings: AuditSettings,
    *,
    stdin: BinaryIO | None = None,
    progress: Progress = quiet,
) -> Analysis:
    """The stages that commands about a log's losses share.

    Raises:
        PrefixlabError: the input or the settings are wrong; the message says what to do.
    """
    models = served_models(settings, keeps_marks=_is_hosted(engine_of(settings)))
    taken = take(log, settings, models, stdin, progress)
    prompts = taken.prompts
    matches = match_prompts(prompts, progress)
    deployment = deployment_of(settings, prompts, matches)
    engine = deployment.engine
    served = serve_log(deployment, prompts, matches)
    families = families_of(prompts, matches, settings.family)
    outcomes = _outcomes(prompts, matches, served, engine)
    again = partial(serve_fixed, deployment) if deployment.is_limited else None
    foreign = foreign_tokens(prompts, outcomes, engine)

    def losses_if(aligned: Sequence[int], shared: Sequence[int]) -> list[Losses]:
        return [
            losses_of(outcome, marks.local, marks.alive, most, known, engine)
            for outcome, marks, most, known in zip(outcomes, served.marks, aligned, shared, strict=True)
        ]

    ladder = climb(
        prompts,
        matches,
        families,
        outcomes,
        engine,
        models.encode,
        cuts=models.cuts,
        behind=lambda aligned, shared: lost_by_cause(outcomes, losses_if(aligned, shared), foreign.tokens)[0],
        serve=again,
        written=served.written_tokens,
        known=KnownValues(settings.ignore),
    )
    losses = losses_if(ladder.aligned_if_fixed, ladder.shared_if_fixed)
    foreign = foreign._replace(tokens=lost_by_cause(outcomes, losses, foreign.tokens)[1])
    return Analysis(models, taken, matches, deployment, served, families, outcomes, foreign, ladder, losses)


def audit(
    log: Sequence[str] | Iterable[Request | Mapping[str, Any]],
    settings: AuditSettings,
    *,
    stdin: BinaryIO | None = None,
    progress: Progress = quiet,
) -> Report:
    """How much of a log's prompt tokens could be reused, how much is lost, and to what.

    `log` holds the paths of logs, or requests, or records as a log would have them.

    Raises:
        PrefixlabError: the input or the settings are wrong; the message says what to do.
    """
    return report_of(analyse(log, settings, stdin=stdin, progress=progress), settings)


def report_of(found: Analysis, settings: AuditSettings) -> Report:
    """The report of an analysed log."""
    models, taken, matches, deployment, served, families, outcomes, foreign, ladder, losses = found
    prompts = taken.prompts
    engine = deployment.engine
    rank = len(ladder.fields) + len(ladder.breaks) + 1
    unnamed = [0 if number in ladder.field_of else tokens for number, tokens in enumerate(ladder.behind)]
    boundary = boundary_break(prompts, matches, outcomes, unnamed, models.decode, rank)
    warm = _warm(outcomes, prompts, families.numbers)
    inner = ladder.breaks if boundary is None else (*ladder.breaks, boundary)
    outer = outer_breaks(foreign, outcomes, losses, engine, warm.requests, len(ladder.fields) + len(inner) + 1)
    known = KnownValues(settings.ignore)
    breaks = (*inner, *outer)
    left_out = _left_out(ladder, prompts, families)
    by = broken_down(settings.by, prompts, outcomes, losses, families.numbers, ladder.field_of)
    return Report(
        version=__version__,
        inputs=taken.inputs,
        tokenizer=models.described(),
        chat_template=models.described_template(),
        engine=_described(settings, deployment, served),
        totals=Totals.of(outcomes, len(set(families.numbers))),
        warm=warm,
        losses=sum_of(losses),
        fields=known.marked(ladder.fields),
        breaks=known.marked(breaks),
        observed=_observed(prompts, outcomes),
        requests=_rows(prompts, outcomes, losses, ladder),
        notes=(
            *_append_only(found),
            *taken.notes,
            *models.notes(),
            *_of_engine(engine, prompts),
            *mark_notes(deployment, prompts, matches, served, models.asked_lifetimes),
            *(deployment.memory.notes() if deployment.memory else ()),
            *_refused(served, prompts, engine),
            *_without_text(prompts),
            *_untagged([*settings.by, *([settings.family] if settings.family else [])], prompts),
            *known.notes([*ladder.fields, *breaks]),
            *left_out,
        ),
        by=by.totals,
        by_losses=by.losses,
        by_causes=by.causes,
        bill=_bill(settings, engine, outcomes, served, ladder),
        is_all_looked_into=not left_out,
    )


def _left_out(ladder: Ladder, prompts: Sequence[Prompt], families: Families) -> list[str]:
    """Notes on what changes and was not looked into."""
    notes = []
    if ladder.left_out:
        more = "1 more value changes" if ladder.left_out == 1 else f"{ladder.left_out} more values change"
        notes.append(
            f"{more} than the {MOST_FIELDS} that are looked into: what all of them fixed would win back is more than is"
            " shown; fix those named, or move what changes together, and audit again"
        )
    alike = families_of_alike_lines(prompts, families.numbers)
    if alike:
        are = "1 family is another family's text" if alike == 1 else f"{alike} families are another family's text"
        notes.append(
            f"{are} but for a part of a long line without a place to cut it: a value inside is not named and its cost"
            " stands in first seen; set it on a line of its own, or compare two requests with explain"
        )
    return notes


def simulate(
    requests: Iterable[Request | Mapping[str, Any]], engine: str, options: Mapping[str, object]
) -> list[Outcome]:
    """What an engine takes from its cache for each of some requests logged as token ids or block hashes, in order of
    arrival.

    Raises:
        PrefixlabError: a request or an option cannot be; the message says what to do.
    """
    settings = AuditSettings(tokenizers=("none",), engine=engine, engine_options=options, digest=False)
    engine_of(settings)
    prompts = take(requests, settings, served_models(settings), None, quiet).prompts
    matches = match_prompts(prompts)
    deployment = deployment_of(settings, prompts, matches)
    return _outcomes(prompts, matches, serve_log(deployment, prompts, matches), deployment.engine)


def _described(settings: AuditSettings, deployment: Deployment, served: Served) -> dict[str, Any]:
    """The engine and what it was given, for the report; options are there where they are not the default."""
    engine = deployment.engine
    described: dict[str, Any] = {
        "name": settings.engine,
        "block_size": engine.granularity,
        "cache_tokens": engine.capacity_tokens,
        "min_tokens": engine.min_tokens,
    }
    memory = deployment.memory
    if memory is not None:
        rate = memory.bytes_per_token
        described["memory"] = {
            "budget_bytes": memory.budget_bytes,
            "bytes_per_token": rate.numerator if rate.denominator == 1 else float(rate),
            "model": memory.model,
            "dtype": memory.dtype,
        }
    if _is_hosted(engine):
        described["provider"] = engine.profile.provider  # type: ignore[attr-defined]
    if settings.engine_options:
        described["options"] = {key: str(value) for key, value in settings.engine_options.items()}
    lifetime = deployment.lifetime if deployment.lifetime is not None else getattr(engine, "ttl", None)
    if lifetime is not None:
        described["lifetime_seconds"] = lifetime
    if deployment.replica_of is not None:
        described["replicas"] = settings.replicas
        described["routing"] = settings.routing or "round-robin"
    if served.refused:
        described["refused_requests"] = len(served.refused)
    return described


def _outcomes(prompts: Sequence[Prompt], matches: Sequence[Match], served: Served, engine: Engine) -> list[Outcome]:
    refused = frozenset(served.refused)
    outcomes = []
    for number, (prompt, match, marks) in enumerate(zip(prompts, matches, served.marks, strict=True)):
        tokens = prompt.token_count
        shared = min(match.shared * prompt.unit, tokens)
        outcome = Outcome(tokens, shared, marks.aligned, marks.cached, match.matched, number in refused).checked()
        if marks.aligned > shared and not engine.reuses_moved_text:
            raise ValueError(f"{engine.name} reuses more than is shared: {outcome}")
        outcomes.append(outcome)
    return outcomes


def _append_only(found: Analysis) -> list[str]:
    """The certificate of a log whose requests only grow and of which nothing is to be fixed."""
    ladder = found.ladder
    if found.ladder.fields or any([row.recoverable_tokens for row in ladder.breaks]):
        return []
    bases, prompts = ladder.structures.bases, found.prompts
    grown = []
    for number, (base, match) in enumerate(zip(bases, found.matches, strict=True)):
        if base is None or match.matched != base or ladder.structures.comparisons[number] is not None:
            continue
        whole = prompts[base].token_count
        if match.shared * prompts[number].unit >= whole - LEAST_BEHIND and prompts[number].token_count > whole:
            grown.append(found.outcomes[number])
    others = len(prompts) - len({base for base in bases if base is not None}) - len(grown)
    if not grown or others > len(grown):
        return []
    shared = sum([outcome.raw_shared_tokens for outcome in grown]) / len(grown)
    new = sum([outcome.prompt_tokens - outcome.raw_shared_tokens for outcome in grown]) / len(grown)
    begin = counted(len(grown), "request begins", "requests begin")
    turn = f"Such a turn shares {shared:,.0f} tokens and brings {new:,.0f} new ones on average"
    return [f"Append-only: {begin} with all of an earlier one's text. {turn}; nothing is lost to the prompt."]


def _is_hosted(engine: Engine) -> bool:
    return hasattr(engine, "profile")


def _of_engine(engine: Engine, prompts: Sequence[Prompt]) -> Sequence[str]:
    """What the engine has to say of its own figures, such as that one is not confirmed."""
    notes = getattr(engine, "notes", None)
    said = [] if notes is None else list(notes(has_times=all([prompt.arrived_at is not None for prompt in prompts])))
    short = sum([prompt.token_count < engine.min_tokens for prompt in prompts])
    if short:
        are = counted(short, "request is", "requests are")
        said.append(f"{are} shorter than the {engine.min_tokens:,} tokens from which {engine.name} caches.")
    return said


def _bill(
    settings: AuditSettings, engine: Engine, outcomes: Sequence[Outcome], served: Served, ladder: Ladder
) -> Bill | None:
    """What the prompt tokens cost, where a price is given or the engine is one that is paid for."""
    rates: Rates | None = getattr(engine, "rates", None)
    if rates is None and settings.price_per_mtok is None:
        return None
    prompt_tokens = sum([outcome.prompt_tokens for outcome in outcomes])
    cached = sum([outcome.cached_tokens for outcome in outcomes])
    fixed = ladder.if_fixed
    return input_bill(
        PromptTokens.of(prompt_tokens, cached, served.written_tokens),
        PromptTokens.of(fixed.prompt_tokens, fixed.cached_tokens, fixed.written_tokens),
        rates or UNPRICED,
        price_per_mtok=settings.price_per_mtok,
    )


def _refused(served: Served, prompts: Sequence[Prompt], engine: Engine) -> list[str]:
    """Requests that could never fit the cache are counted and the largest is named.

    Raises:
        PrefixlabError: that is all of them.
    """
    if not served.refused:
        return []
    largest = max([prompts[number] for number in served.refused], key=lambda prompt: prompt.token_count)
    size = "the cache" if engine.capacity_tokens is None else f"the cache of {counted(engine.capacity_tokens, 'token')}"
    if len(served.refused) == len(prompts):
        raise PrefixlabError(
            f"{size} is too small for every request of the log, the largest has {largest.token_count:,} prompt tokens",
            "Give a larger one",
        )
    many = counted(len(served.refused), "request does", "requests do")
    said = f"{many} not fit into {size}, such as {largest.id} with {counted(largest.token_count, 'prompt token')}"
    return [f"{said}: {engine.name} would refuse that, and nothing of it is cached."]


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
