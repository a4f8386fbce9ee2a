"""Options that several commands share, and what becomes of them: settings, a form of report, a destination."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from prefixlab.errors import BadRecord, PrefixlabError

if TYPE_CHECKING:
    from prefixlab.destination import Destination
    from prefixlab.explanation import Explanation
    from prefixlab.findings import Report
    from prefixlab.fixed_summary import FixSummary
    from prefixlab.lint_findings import LintReport
    from prefixlab.reuse_curve import ReuseCurve
    from prefixlab.template_fix_summary import TemplateFixSummary

_Found = TypeVar("_Found", "Report", "ReuseCurve", "Explanation", "FixSummary", "LintReport", "TemplateFixSummary")


def add_log_options(parser: ArgumentParser) -> None:
    """What a command that reads logs has: which logs, how they are read, rendered and tokenized."""
    parser.add_argument("logs", nargs="+", metavar="LOG", help="Files, folders, patterns, or - for standard input.")
    add_reading_options(parser)


def add_reading_options(parser: ArgumentParser) -> None:
    """How logs are read, rendered and tokenized."""
    option = parser.add_argument
    option(
        "--tokenizer",
        action="append",
        default=[],
        metavar="NAME",
        help="Encoding name, model folder, tokenizer.json or hub id; MODEL=NAME for one model of several.",
    )
    option(
        "--chat-template",
        default="auto",
        metavar="NAME",
        help="auto (the default), none, a built-in name, a template file or a model folder.",
    )
    option("--by", action="append", default=[], metavar="TAG", help="Break the figures down by a tag, such as tenant.")
    option("--tag", action="append", default=[], metavar="NAME=PATH", help="A tag from a JSON path of the record.")
    option("--input-format", metavar="NAME", help="The log's format, where it is not recognised.")
    option("--skip-bad", action="store_true", help="Count records that cannot be used and go on.")
    option("--limit", type=int, metavar="N", help="Read the first N requests only.")
    option("--redact", action="store_true", help="Show kinds and lengths in place of logged text.")
    option("--image-tokens", type=int, default=64, metavar="N", help="Tokens an image takes. Default: 64.")
    option(
        "--tool-arguments",
        choices=("parsed", "raw"),
        default="parsed",
        help="How tool-call arguments reach the chat template. Default: parsed.",
    )
    option("--offline", action="store_true", help="Never ask the network for a vocabulary.")
    option("--no-config", action="store_true", help="Leave [tool.prefixlab] of pyproject.toml alone.")
    parser.set_defaults(table_note="")


def log_settings(asked: Namespace) -> dict[str, Any]:
    """What `add_reading_options` asked for, as keywords of the settings."""
    return {
        "tokenizers": tuple(asked.tokenizer),
        "chat_template": asked.chat_template,
        "input_format": asked.input_format,
        "skip_bad": asked.skip_bad,
        "limit": asked.limit,
        "tags": pairs("--tag", asked.tag, "NAME=json.path"),
        "by": tuple(asked.by),
        "image_tokens": asked.image_tokens,
        "tool_arguments": asked.tool_arguments,
        "offline": asked.offline,
    }


def add_engine_options(parser: ArgumentParser) -> None:
    """Which engine's rules count, and how much its cache holds, for how long, on how many servers."""
    option = parser.add_argument
    option(
        "--engine",
        default="vllm",
        metavar="NAME",
        help="The engine whose rules count; see `prefixlab engines`. Default: vllm.",
    )
    option("--family", metavar="TAG", help="Tag that tells a request's template. Default: told by its text.")
    option("--block-size", type=int, metavar="N", help="Tokens a block. Default: the engine's own.")
    option(
        "--engine-option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="An option of the engine; `prefixlab engines NAME` lists them.",
    )
    option("--cache-tokens", type=int, metavar="N", help="Tokens that the cache holds. Default: unlimited.")
    option("--cache-blocks", type=int, metavar="N", help="The same in blocks.")
    option("--kv-budget", metavar="SIZE", help="The same in memory, such as 71GiB, with --model-config.")
    option("--model-config", metavar="FILE", help="config.json of the model, for the bytes that a token takes.")
    option("--dtype", metavar="NAME", help="Type of the cached keys and values, such as fp8. Default: the config's.")
    option("--ttl", metavar="TIME", help="How long what was not used again is kept: seconds, or 5m, 1h.")
    option("--replicas", type=int, default=1, metavar="N", help="Servers that do not share a cache. Default: 1.")
    option(
        "--routing",
        metavar="HOW",
        help="What decides the server: round-robin (the default), session, prefix, or tag:NAME.",
    )
    option("--price-per-mtok", type=float, metavar="PRICE", help="Price of a million input tokens that are not cached.")


def engine_settings(asked: Namespace) -> dict[str, Any]:
    """What `add_engine_options` asked for, as keywords of the settings."""
    return {
        "family": asked.family,
        "engine": asked.engine,
        "block_size": asked.block_size,
        "engine_options": pairs("--engine-option", asked.engine_option, "KEY=VALUE"),
        "cache_tokens": asked.cache_tokens,
        "cache_blocks": asked.cache_blocks,
        "kv_budget": asked.kv_budget,
        "model_config": asked.model_config,
        "kv_dtype": asked.dtype,
        "ttl": asked.ttl,
        "replicas": asked.replicas,
        "routing": asked.routing,
        "price_per_mtok": asked.price_per_mtok,
    }


def add_output_options(parser: ArgumentParser, forms: str) -> None:
    """`--format` and `-o`; `forms` lists the forms for the help."""
    parser.add_argument("--format", metavar="NAME", help=forms)
    parser.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="File to write; - is standard output, the default."
    )


def chosen_form(asked: str | None, destination: Destination, endings: Mapping[str, Collection[str]]) -> str:
    """The form that `--format` names, or the ending of the file; text where there is no ending to go by.

    `endings` has the file endings of each form that the command knows.
    """
    if asked is not None or destination.is_stream:
        form = "text" if asked is None else asked
        if form not in endings:
            raise PrefixlabError(f"there is no format {form!r}", f"Known: {', '.join(sorted(endings))}")
        return form
    name = destination.named.lower()
    for form, known in endings.items():
        if any([name.endswith(ending) for ending in known]):
            return form
    known_endings = ", ".join(sorted([ending for known in endings.values() for ending in known]))
    raise PrefixlabError(
        f"the ending of {destination.named} tells no format", f"Name the format with --format, or use {known_endings}"
    )


@contextmanager
def reading(asked: Namespace) -> Iterator[Progress]:
    """Progress while logs are read. With `--redact` an error says nothing of what a record holds."""
    try:
        with Progress() as progress:
            yield progress
    except BadRecord as error:
        if not asked.redact:
            raise
        what, todo = "the record cannot be used", "Run without --redact to see why"
        raise BadRecord(what, todo, path=error.path, line=error.line) from None


def pairs(option: str, given: Sequence[str], form: str) -> dict[str, str]:
    """`NAME=VALUE` options as a dict. One name cannot have two values."""
    found: dict[str, str] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not (name and equals and value):
            raise PrefixlabError(f"{option} {pair!r} is not of that form", f"Give it as {form}")
        if found.setdefault(name, value) != value:
            raise PrefixlabError(f"{option} {name} is given as {found[name]} and as {value}", "Give one of them")
    return found


def noted(found: _Found, asked: Namespace) -> _Found:
    """What a command found, with a note about the table that gave it options."""
    if not asked.table_note:
        return found
    from dataclasses import replace

    return replace(found, notes=(*found.notes, asked.table_note))


def terminal_width() -> int:
    """Columns of the terminal, never less than 60; 80 where the output goes elsewhere."""
    if not sys.stdout.isatty():
        return 80
    import shutil

    return max(60, shutil.get_terminal_size((80, 24)).columns)


class Progress:
    """One line on standard error that says how far the work is, on a terminal only."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def __call__(self, stage: str, count: int) -> None:
        if self._shown:
            sys.stderr.write(f"\r\x1b[K{stage}: {count:,} requests")
            sys.stderr.flush()

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
