"""What `import prefixlab as pl` offers: the workflows with keyword arguments, for notebooks, scripts and tests."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from prefixlab.findings import Report
from prefixlab.records import Request
from prefixlab.reporters import tables
from prefixlab.settings import AuditSettings
from prefixlab.workflows import audit as _audit

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
    requests_or_path: str | os.PathLike[str] | Sequence[str] | Iterable[Request | Mapping[str, Any]],
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
    tokenizers = () if tokenizer is None else (tokenizer,) if isinstance(tokenizer, str) else tuple(tokenizer)
    log: Any = [os.fspath(requests_or_path)] if isinstance(requests_or_path, str | os.PathLike) else requests_or_path
    report = _audit(log, AuditSettings(tokenizers=tokenizers, engine=engine, **options))
    return AuditReport(**{name.name: getattr(report, name.name) for name in fields(report)})
