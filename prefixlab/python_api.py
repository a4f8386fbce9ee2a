"""What `import prefixlab as pl` offers: the workflows with keyword arguments, for notebooks, scripts and tests."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from prefixlab.compare_workflow import CompareSettings
from prefixlab.compare_workflow import compare as _compare
from prefixlab.comparison import Comparison
from prefixlab.curve_workflow import CurveSettings
from prefixlab.curve_workflow import curve as _curve
from prefixlab.destination import Destination
from prefixlab.errors import PrefixlabError
from prefixlab.explain_workflow import explain as _explain
from prefixlab.explanation import Explanation
from prefixlab.findings import Outcome, Report
from prefixlab.fix_workflow import FixSettings
from prefixlab.fix_workflow import fix as _fix
from prefixlab.fixed_summary import FixSummary
from prefixlab.lint_findings import LintReport
from prefixlab.lint_workflow import DEFAULT_TOKENIZER, LintSettings
from prefixlab.lint_workflow import lint as _lint
from prefixlab.records import Request
from prefixlab.reporters import tables
from prefixlab.reuse_curve import ReuseCurve
from prefixlab.settings import AuditSettings
from prefixlab.workflows import audit as _audit
from prefixlab.workflows import simulate as _simulate

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class AuditReport(Report):
    """A report that can also be had as pandas frames."""

    def to_frame(self) -> pandas.DataFrame:
        """One row a request: tokens, matched request, losses, field, tags."""
        return tables.to_frame(self)

    def fields_frame(self) -> pandas.DataFrame:
        """One row a field or break, by rank."""
        return tables.fields_frame(self)


def audit(
    requests_or_path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | Iterable[Request | Mapping[str, Any]],
    *,
    tokenizer: str | Sequence[str] | None = None,
    engine: str = "vllm",
    **options: Any,
) -> AuditReport:
    """Audit a log (a path, or several), or requests in memory: records as a log has them, such as chat bodies.

    `options` are the fields of `prefixlab.settings.AuditSettings`, such as `chat_template`, `block_size`, `skip_bad`,
    `by`, `limit`. The report's `totals`, `warm`, `losses`, `fields` and `breaks` are those of `audit`'s JSON;
    `to_frame()` gives one row a request and `fields_frame()` one row a finding, as pandas frames.

    Raises:
        PrefixlabError: the input or an option is wrong; the message says what to do.
    """
    known = [field.name for field in fields(AuditSettings) if field.name != "tokenizers"]
    for name in options:
        if name not in known:
            raise PrefixlabError(f"audit has no option {name!r}", f"Give one of tokenizer, {', '.join(known)}")
    settings = AuditSettings(tokenizers=_names(tokenizer), engine=engine, **options)
    report = _audit(_log(requests_or_path), settings)
    return AuditReport(**{name.name: getattr(report, name.name) for name in fields(report)})


def explain(
    requests_or_path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | Iterable[Request | Mapping[str, Any]],
    request: str,
    *,
    compared_with: str | None = None,
    tokenizer: str | Sequence[str] | None = None,
    engine: str = "vllm",
    **options: Any,
) -> Explanation:
    """One request of a log that `audit` takes: what it was matched with, where they part and why, and its blocks.

    `request` and `compared_with` are ids, `ID#2` where several requests have one, or places, `PATH:LINE` or `line:17`.
    `options` are those of `audit`. The answer has `outcome`, `losses`, `parting`, `cause`, `blocks` and `next_turn`.

    Raises:
        PrefixlabError: the input or an option is wrong, or there is no such request; the message says what to do.
    """
    known = [field.name for field in fields(AuditSettings) if field.name != "tokenizers"]
    for name in options:
        if name not in known:
            raise PrefixlabError(f"explain has no option {name!r}", f"Give one of tokenizer, {', '.join(known)}")
    settings = AuditSettings(tokenizers=_names(tokenizer), engine=engine, **options)
    return _explain(_log(requests_or_path), settings, request, compared_with=compared_with)


def fix(
    log: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    only: str | Sequence[str] = (),
    tokenizer: str | Sequence[str] | None = None,
    engine: str = "vllm",
    **options: Any,
) -> FixSummary:
    """Write a log with its volatile values moved behind stable text and its orders as shown first, if it gains by that.

    Without `output` nothing is written. `only` names steps of the ladder, `options` are those of `audit`. The summary
    has the totals `before` and `after`, `steps`, `unfixed` and `written_to`, None where nothing was written.

    Raises:
        PrefixlabError: the input or an option is wrong, or nothing can be written there; the message says what to do.
    """
    known = [field.name for field in fields(AuditSettings) if field.name not in ("tokenizers", "digest", "limit")]
    for name in options:
        if name not in known:
            raise PrefixlabError(f"fix has no option {name!r}", f"Give one of tokenizer, only, {', '.join(known)}")
    steps = (only,) if isinstance(only, str) else tuple(only)
    settings = FixSettings(tokenizers=_names(tokenizer), engine=engine, digest=False, only=steps, **options)
    path = os.fspath(log)
    destination = None if output is None else Destination(os.fspath(output), [path])
    return _fix(path, settings, destination)


def curve(
    requests_or_path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | Iterable[Request | Mapping[str, Any]],
    *,
    tokenizer: str | Sequence[str] | None = None,
    engine: str = "vllm",
    **options: Any,
) -> ReuseCurve:
    """Reuse at every cache size, of a log as `audit` takes it.

    `options` are the fields of `prefixlab.curve_workflow.CurveSettings`, such as `sizes=[50_000, "20GiB"]`, `points`,
    `model_config`, `by`. The curve's `points` have `cache_tokens`, `reuse` and `clairvoyant_reuse`.

    Raises:
        PrefixlabError: the input or an option is wrong; the message says what to do.
    """
    known = [field.name for field in fields(CurveSettings) if field.name != "tokenizers"]
    for name in options:
        if name not in known:
            raise PrefixlabError(f"curve has no option {name!r}", f"Give one of tokenizer, {', '.join(known)}")
    settings = CurveSettings(tokenizers=_names(tokenizer), engine=engine, **options)
    return _curve(_log(requests_or_path), settings)


def lint(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    tokenizer: str = DEFAULT_TOKENIZER,
    engine: str = "vllm",
    **options: Any,
) -> LintReport:
    """Check prompt templates: files, and folders in which templates are looked for.

    `options` are the fields of `prefixlab.lint_workflow.LintSettings`, such as `select`, `ignore`, `values`,
    `volatility={"region": "deployment"}`, `budgets={"prompts/*": {"min_stable_tokens": 800}}`, `baseline`, `diff`. The
    report has `findings`, each with `code`, `severity`, `at` and `stable_tokens_after`, and `templates`;
    `report.at_least("high")` is what the command's exit status says.

    Raises:
        PrefixlabError: a path, a template or an option is wrong; the message says what to do.
    """
    known = [field.name for field in fields(LintSettings) if field.name != "tokenizer"]
    for name, value in options.items():
        if name not in known:
            raise PrefixlabError(f"lint has no option {name!r}", f"Give one of tokenizer, {', '.join(known)}")
        if isinstance(value, os.PathLike):
            options[name] = os.fspath(value)
        if name in ("select", "ignore", "exclude", "search_paths", "jinja_filters"):
            options[name] = tuple(map(os.fspath, [value] if isinstance(value, str | os.PathLike) else value))
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    return _lint([_path(path) for path in given], LintSettings(tokenizer=tokenizer, engine=engine, **options))


def compare(
    before: str | os.PathLike[str],
    after: str | os.PathLike[str],
    *,
    tokenizer: str | Sequence[str] | None = None,
    engine: str = "vllm",
    **options: Any,
) -> Comparison:
    """Compare two templates (with `values`, or with a `log` made of the first), two logs, or two runs saved as JSON.

    `options` are those of `audit`, and `values`, `log`, `min_delta`, `dialect`, `search_paths`, `prompt`. The answer
    has the sides `before` and `after` with their `totals` and `warm`, `raw_delta`, `aligned_delta`, `changes` and
    `verdict`.

    Raises:
        PrefixlabError: a side or an option is wrong; the message says what to do.
    """
    known = [field.name for field in fields(CompareSettings) if field.name != "tokenizers"]
    for name, value in options.items():
        if name not in known:
            raise PrefixlabError(f"compare has no option {name!r}", f"Give one of tokenizer, {', '.join(known)}")
        if isinstance(value, os.PathLike):
            options[name] = os.fspath(value)
    settings = CompareSettings(tokenizers=_names(tokenizer), engine=engine, **options)
    return _compare(os.fspath(before), os.fspath(after), settings)


def _names(tokenizer: Any) -> Any:
    """Names of tokenizers as the settings take them, which check them."""
    return () if tokenizer is None else (tokenizer,) if isinstance(tokenizer, str) else tokenizer


def simulate(requests: Iterable[Request | Mapping[str, Any]], engine: str = "vllm", **options: Any) -> list[Outcome]:
    """The engine alone, on token ids: what it takes from its cache for each request, one served after the other.

    Each request is a mapping with `prompt_token_ids` and, where known, `output_token_ids`, `cache_salt`, `extra_key`,
    `lora`, `arrived_at`, `priority`, `prompt_logprobs`, `finish_reason`, `cache_prompt`. Where all have a time of
    arrival, they are served in that order. `options` are those that `prefixlab engines NAME` lists, such as
    `num_gpu_blocks`. The outcomes stand in the order of serving; each has `cached_tokens`, and `aligned_tokens` of an
    unlimited cache.

    Raises:
        PrefixlabError: a request or an option cannot be; the message says what to do.
    """
    log = _log(requests)
    if isinstance(log, list):
        raise PrefixlabError("simulate takes requests, not paths", "Audit a file with pl.audit")
    return _simulate(log, engine, options)


def _log(given: Any) -> list[str] | Iterator[Request | Mapping[str, Any]]:
    """Paths, or the records of requests one after another."""
    if isinstance(given, str | os.PathLike):
        return [os.fspath(given)]
    if isinstance(given, Request | Mapping):
        raise PrefixlabError("this is a single request", "Put it in a list: audit([request])")
    if hasattr(given, "to_dict") and hasattr(given, "columns"):
        raise PrefixlabError("a data frame is no list of requests", "Give its rows: audit(frame.to_dict('records'))")
    if isinstance(given, bytes | bytearray) or not isinstance(given, Iterable):
        raise PrefixlabError(f"a log cannot be {_kind(given)}", "Give a path, a list of paths or a list of requests")
    items = iter(given)
    first = list(islice(items, 1))
    if first and isinstance(first[0], str | os.PathLike):
        return [_path(item) for item in chain(first, items)]
    return _records(chain(first, items))


def _path(item: Any) -> str:
    if not isinstance(item, str | os.PathLike):
        raise PrefixlabError(f"{_kind(item)} stands among paths", "Give paths alone, or requests alone")
    return os.fspath(item)


def _records(items: Iterable[Any]) -> Iterator[Request | Mapping[str, Any]]:
    for number, item in enumerate(items, 1):
        if not isinstance(item, Request | Mapping):
            todo = "Give requests alone, such as chat bodies, or paths alone"
            raise PrefixlabError(f"{_kind(item)} stands among requests", todo, path="records", line=number)
        yield item if isinstance(item, Request) else dict(item)


def _kind(item: Any) -> str:
    return "None" if item is None else f"a value of type {type(item).__name__}"
