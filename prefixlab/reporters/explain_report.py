"""The forms of an answer to `explain`, by the name that `--format` has for them; JSON is made here.

JSON of `explain` (`"schema": "prefixlab.explain/1"`); `version`, `inputs`, `tokenizer`, `chat_template`, `engine`,
`notes` are those of `prefixlab.audit/1`, of the whole log:

| key | holds |
|---|---|
| `request` | `id`, `path`, `line`, `arrived_at`, `model`, `lora`, `salt`, `tags`, `prompt_tokens`, `generated_tokens`, `server` |
| `prompt_tokens`, `raw_shared_tokens`, `aligned_tokens`, `cached_tokens`, `refused`, `losses` | as in a row of `requests` |
| `compared_with` | the same keys as `request`, or null; `is_match`, `seconds_before`, `shared_tokens` with that request |
| `requests`, `earlier_requests`, `family_requests` | requests of the log, earlier ones of the namespace, of the family |
| `parting` | null where nothing differs; see below |
| `cause` | null, or `is_field` and the row of `fields` or `breaks`, with `value` and `value_before` |
| `block_size`, `blocks` | `[{"fate", "blocks", "tokens"}]` front to back: `cached` or the name of a loss |
| `next_turn` | null where the log has none, or `id`, `path`, `line`, `shared_tokens`, `goes_on`, `lost_prompt_tokens`, `lost_answer_tokens`, `lost_blocks`, `tokens`, `tokens_then` |
| `has_answer` | whether the log has what the request generated |
| `elsewhere` | null, or `id`, `path`, `line`, `model`, `lora`, `salt`, `shared_tokens` of a request of another namespace |

`parting`: `token_index`, `of` (`text`, `decoded`, `ids`, `blocks`), `path`, `role`, `line`, `behind_path`, `other_ends`,
`in_answer`, `same_text`, `text` (`before`, `now`, `was` and whether each `_is_cut`; null without text), and `tokens` (`same`, `now`,
`was`: `[{"id", "text"}]`).
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from prefixlab.explanation import Cause, Elsewhere, Excerpt, Explanation, NextTurn, Parting, Party, Token
from prefixlab.findings import Field
from prefixlab.records import Location, Namespace
from prefixlab.reporters.explain_markdown import render_markdown
from prefixlab.reporters.explain_text import render_text
from prefixlab.reporters.explain_wording import as_report
from prefixlab.reporters.neutral import without_surrogates
from prefixlab.reporters.redaction import redact, stand_in

SCHEMA = "prefixlab.explain/1"


def _place(one: Party) -> dict[str, Any]:
    return {"id": one.id, "path": one.location.path, "line": one.location.line}


def _party(one: Party) -> dict[str, Any]:
    return {
        **_place(one),
        "arrived_at": one.arrived_at,
        **one.namespace._asdict(),
        "tags": dict(one.tags),
        "prompt_tokens": one.prompt_tokens,
        "generated_tokens": one.generated_tokens,
        "server": one.server,
    }


def _tokens(tokens: Sequence[Token]) -> list[dict[str, Any]]:
    return [token._asdict() for token in tokens]


def _parting(one: Parting) -> dict[str, Any]:
    text: dict[str, Any] | None = None
    if one.before is not None and one.now is not None and one.was is not None:
        text = {"before": one.before.text, "now": one.now.text, "was": one.was.text}
        text |= {f"{name}_is_cut": getattr(one, name).is_cut for name in ("before", "now", "was")}
    return {
        "token_index": one.token_index,
        "of": one.of,
        "path": one.path,
        "role": one.role,
        "line": one.line,
        "behind_path": one.behind_path,
        "other_ends": one.other_ends,
        "in_answer": one.is_in_answer,
        "same_text": one.is_same_text,
        "text": text,
        "tokens": {
            "same": _tokens(one.tokens_same),
            "now": _tokens(one.tokens_now),
            "was": _tokens(one.tokens_was),
        },
    }


def _cause(one: Cause) -> dict[str, Any]:
    return {
        "is_field": isinstance(one.row, Field),
        **asdict(one.row),
        "value": one.now,
        "value_before": one.was,
    }


def _next_turn(one: NextTurn) -> dict[str, Any]:
    return {
        **_place(one.request),
        "shared_tokens": one.shared_tokens,
        "goes_on": one.is_turn,
        "lost_prompt_tokens": one.lost_prompt_tokens,
        "lost_answer_tokens": one.lost_answer_tokens,
        "lost_blocks": one.lost_blocks,
        "tokens": _tokens(one.tokens_was),
        "tokens_then": _tokens(one.tokens_now),
    }


def _elsewhere(one: Elsewhere) -> dict[str, Any]:
    return {**_place(one.request), **one.request.namespace._asdict(), "shared_tokens": one.shared_tokens}


def as_document(found: Explanation) -> dict[str, Any]:
    """The answer as plain values, in the order of the schema."""
    out = found.outcome
    other = None
    if found.other is not None:
        other = {
            **_party(found.other),
            "is_match": found.is_match,
            "seconds_before": found.seconds_before,
            "shared_tokens": found.shared_with_other,
        }
    return {
        "schema": SCHEMA,
        "version": found.version,
        "inputs": [asdict(each) for each in found.inputs],
        "tokenizer": dict(found.tokenizer),
        "chat_template": None if found.chat_template is None else dict(found.chat_template),
        "engine": dict(found.engine),
        "request": _party(found.request),
        "prompt_tokens": out.prompt_tokens,
        "raw_shared_tokens": out.raw_shared_tokens,
        "aligned_tokens": out.aligned_tokens,
        "cached_tokens": out.cached_tokens,
        "refused": out.refused,
        "losses": found.losses._asdict(),
        "compared_with": other,
        "requests": found.requests,
        "earlier_requests": found.earlier,
        "family_requests": found.family,
        "parting": found.parting and _parting(found.parting),
        "cause": found.cause and _cause(found.cause),
        "block_size": found.block_size,
        "blocks": [one._asdict() for one in found.blocks],
        "next_turn": found.next_turn and _next_turn(found.next_turn),
        "has_answer": found.has_answer,
        "elsewhere": found.elsewhere and _elsewhere(found.elsewhere),
        "notes": list(found.notes),
    }


def render_json(found: Explanation, width: int) -> bytes:
    import json

    return (without_surrogates(json.dumps(as_document(found), ensure_ascii=False, indent=1)) + "\n").encode()


FORMS: Mapping[str, Callable[[Explanation, int], bytes]] = {
    "text": render_text,
    "json": render_json,
    "markdown": render_markdown,
}
"""Each makes the whole document of an answer for a width in columns, which only text needs."""

ENDINGS: Mapping[str, tuple[str, ...]] = {
    "text": (".txt",),
    "json": (".json",),
    "markdown": (".md", ".markdown"),
}
"""File endings that choose a form."""


# --- without the log's words ------------------------------------------------------------------------------------------


def redacted(found: Explanation) -> Explanation:
    """The answer with the log's own words replaced by their kind and length: texts, ids, tags, values. Token ids, from
    which a text could be read with the vocabulary, are left out."""
    names: dict[str, str] = {}

    def name(kind: str, text: str) -> str:
        # Values of one length are told apart by their order.
        return names.setdefault(f"{kind} {text}", stand_in(f"{kind} {len(names) + 1}", text)) if text else text

    def party(one: Party) -> Party:
        model, lora, salt = one.namespace
        return one._replace(
            id=name("request", one.id),
            location=Location(*one.location),
            namespace=Namespace(model, name("lora", lora), name("salt", salt)),
            tags={tag: value if tag == "model" else name("value", value) for tag, value in one.tags.items()},
        )

    report = redact(as_report(found))
    cause = found.cause
    if cause is not None:
        kind = cause.row.kind
        now, was = (None if value is None else stand_in(kind, value) for value in (cause.now, cause.was))
        cause = Cause(report.fields[0] if report.fields else report.breaks[0], now, was)
    turn, twin = found.next_turn, found.elsewhere
    return replace(
        found,
        request=party(found.request),
        other=found.other and party(found.other),
        parting=found.parting and _redacted_parting(found.parting),
        cause=cause,
        next_turn=turn and turn._replace(request=party(turn.request), tokens_was=(), tokens_now=()),
        elsewhere=twin and twin._replace(request=party(twin.request)),
        notes=report.notes,
    )


def _redacted_parting(one: Parting) -> Parting:
    def excerpt(text: Excerpt | None) -> Excerpt | None:
        return text and Excerpt(stand_in("text", text.text), text.is_cut)

    return replace(
        one,
        before=excerpt(one.before),
        now=excerpt(one.now),
        was=excerpt(one.was),
        tokens_same=(),
        tokens_now=(),
        tokens_was=(),
    )
