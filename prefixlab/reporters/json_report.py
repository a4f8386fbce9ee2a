"""The report for programs: `prefixlab.audit/1`, and the way back from it.

Keys stand in the order of the schema and nothing but the report goes in, so the same report gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

from prefixlab.bill import Bill, Rates
from prefixlab.errors import PrefixlabError
from prefixlab.findings import Alternative, Break, Field, Input, Losses, Observed, Outcome, Report, RequestRow, Totals
from prefixlab.reporters.neutral import without_surrogates

SCHEMA = "prefixlab.audit/1"

_TOKENIZER_KEYS = ("name", "source", "sha256")
_TEMPLATE_KEYS = ("name", "sha256")
_ENGINE_KEYS = ("name", "block_size", "cache_tokens", "min_tokens")


def _settings(values: Mapping[str, Any], first: tuple[str, ...]) -> dict[str, Any]:
    """The mapping with the schema's keys first, there even where nothing is known of them."""
    return {**{key: values.get(key) for key in first}, **{key: values[key] for key in values if key not in first}}


def totals_document(totals: Totals) -> dict[str, Any]:
    """Sums and ratios, as every schema has them."""
    ratios = {name: getattr(totals, name) for name in ("raw_reuse", "aligned_reuse", "cached_reuse")}
    return {**asdict(totals), **ratios}


def _group(report: Report, tag: str, value: str, totals: Totals) -> dict[str, Any]:
    """One value of a tag: its totals, and its losses and causes where the report has them."""
    losses, causes = report.by_losses.get(tag, {}), report.by_causes.get(tag, {})
    document = totals_document(totals)
    if value in losses:
        document["losses"] = losses[value]._asdict()
    if value in causes:
        document["causes"] = dict(causes[value])
    return document


def _request(row: RequestRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "line": row.line,
        "prompt_tokens": row.outcome.prompt_tokens,
        "raw_shared_tokens": row.outcome.raw_shared_tokens,
        "aligned_tokens": row.outcome.aligned_tokens,
        "cached_tokens": row.outcome.cached_tokens,
        "matched_id": row.matched_id,
        "losses": row.losses._asdict(),
        "field": row.field,
        "tags": dict(row.tags),
    }


def _bill(bill: Bill) -> dict[str, Any]:
    return {
        "read_rate": bill.rates.read,
        "write_rate": bill.rates.write,
        "price_per_mtok": bill.price_per_mtok,
        "without_cache": bill.without_cache,
        "now": bill.now,
        "fixed": bill.fixed,
    }


def as_document(report: Report, *, per_request: bool) -> dict[str, Any]:
    """The report as plain values, in the order of the schema."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "version": report.version,
        "inputs": [asdict(each) for each in report.inputs],
        "tokenizer": _settings(report.tokenizer, _TOKENIZER_KEYS),
        "chat_template": None if report.chat_template is None else _settings(report.chat_template, _TEMPLATE_KEYS),
        "engine": _settings(report.engine, _ENGINE_KEYS),
        "totals": totals_document(report.totals),
        "warm": totals_document(report.warm),
        "losses": report.losses._asdict(),
        "fields": [{**asdict(row), "examples": list(row.examples)} for row in report.fields],
        "breaks": [asdict(row) for row in report.breaks],
        "observed": report.observed and {**asdict(report.observed), "difference": report.observed.difference},
    }
    if per_request:
        document["requests"] = [_request(row) for row in report.requests]
    document["notes"] = list(report.notes)
    document["bill"] = None if report.bill is None else _bill(report.bill)
    document["by"] = {
        tag: {value: _group(report, tag, value, totals) for value, totals in groups.items()}
        for tag, groups in report.by.items()
    }
    return document


def _encodable(value: Any) -> Any:
    """The value with everything replaced that JSON cannot hold: lone surrogates, foreign types, huge integers."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, Mapping):
        return {without_surrogates(str(key)): _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_encodable(item) for item in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
    if value is None or isinstance(value, float | bool):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return value
    return without_surrogates(str(value))


class JsonReport:
    """`--format json`: everything, unrounded."""

    name = "json"
    endings: tuple[str, ...] = (".json",)

    def render(self, report: Report, *, per_request: bool, width: int) -> bytes:
        import orjson

        document = as_document(report, per_request=per_request)
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        try:
            return orjson.dumps(document, option=options)
        except TypeError:
            return orjson.dumps(_encodable(document), option=options)


REPORTER = JsonReport()


# --- the way back -----------------------------------------------------------------------------------------------------

_Read = TypeVar("_Read")


def _known(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that the noun has a place for; a later version may have written more."""
    return {each.name: values[each.name] for each in fields(kind) if each.name in values}


def _row(values: Mapping[str, Any], index: Mapping[str, int]) -> RequestRow:
    matched = values["matched_id"]
    outcome = Outcome(
        values["prompt_tokens"],
        values["raw_shared_tokens"],
        values["aligned_tokens"],
        values["cached_tokens"],
        None if matched is None else index.get(matched),
    )
    losses = Losses(**values["losses"])
    return RequestRow(values["id"], values["line"], outcome, matched, losses, values["field"], values["tags"])


def _field(values: Mapping[str, Any]) -> Field:
    alternatives = tuple(Alternative(**_known(Alternative, each)) for each in values.get("alternatives", ()))
    lists = {"examples": tuple(values["examples"]), "alternatives": alternatives}
    return Field(**{**_known(Field, values), **lists})


def _read_bill(bill: Mapping[str, Any] | None) -> Bill | None:
    if bill is None:
        return None
    rates = Rates(bill["read_rate"], bill["write_rate"])
    return Bill(rates, bill["price_per_mtok"], bill["now"], bill["fixed"], bill["without_cache"])


def _by(by: Mapping[str, Any], key: str, read: Callable[[Any], _Read]) -> dict[str, dict[str, _Read]]:
    """What the values of each tag have under a key, which an earlier version did not write."""
    found = {
        tag: {value: read(each[key]) for value, each in groups.items() if key in each} for tag, groups in by.items()
    }
    return {tag: groups for tag, groups in found.items() if groups}


def _report(document: Mapping[str, Any]) -> Report:
    rows = document.get("requests", [])
    index: dict[str, int] = {}
    for at, row in enumerate(rows):
        index.setdefault(row["id"], at)
    observed = document["observed"]
    by = document.get("by", {})
    return Report(
        version=document["version"],
        inputs=tuple(Input(**_known(Input, each)) for each in document["inputs"]),
        tokenizer=document["tokenizer"],
        chat_template=document["chat_template"],
        engine=document["engine"],
        totals=Totals(**_known(Totals, document["totals"])),
        warm=Totals(**_known(Totals, document["warm"])),
        losses=Losses(**document["losses"]),
        fields=tuple(_field(each) for each in document["fields"]),
        breaks=tuple(Break(**_known(Break, each)) for each in document["breaks"]),
        observed=Observed(**_known(Observed, observed)) if observed else None,
        requests=tuple(_row(row, index) for row in rows),
        notes=tuple(document.get("notes", ())),
        bill=_read_bill(document.get("bill")),
        by={
            tag: {value: Totals(**_known(Totals, totals)) for value, totals in groups.items()}
            for tag, groups in by.items()
        },
        by_losses=_by(by, "losses", lambda losses: Losses(**losses)),
        by_causes=_by(by, "causes", dict),
    )


def report_from_json(data: bytes, *, path: str | None = None) -> Report:
    """The report that `JsonReport` wrote; its requests are missing where they were not written.

    Raises:
        PrefixlabError: the bytes are not such a document, or its figures do not add up.
    """
    import orjson

    todo = "Save one with: prefixlab audit LOG --format json -o RUN.json"
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise PrefixlabError(f"not JSON: {error}", todo, path=path) from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise PrefixlabError(f"not a saved run of schema {SCHEMA}", todo, path=path)
    try:
        return _report(document)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        said = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise PrefixlabError(f"a damaged saved run: {said}", todo, path=path) from None
