"""`prefixlab fix`: a log written again with its volatile values where they cost least, measured before and after; of a
template the lines that do so, as a diff to review."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from prefixlab.commands import Command, options
from prefixlab.errors import BadRecord, PrefixlabError

if TYPE_CHECKING:
    from prefixlab.template_fix_workflow import TemplateFixSettings


def add_options(parser: ArgumentParser) -> None:
    option = parser.add_argument
    option(
        "-o",
        "--output",
        metavar="FIXED",
        help="File for the fixed log, compressed if it ends with .gz or .zst, or for the template with its lines "
        "moved; - is standard output. Without it nothing is written.",
    )
    option(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="One step of the ladder: a field's name, or a kind such as tool_order. Can be given several times.",
    )
    option("--format", default="text", choices=("text", "json"), help="Form of the summary. Default: text.")
    option("--values", metavar="FILE", help="Of a template: values to replay it with, one JSON object a line.")
    option("--dialect", metavar="NAME", help="The dialect of a template, where it is not recognised.")
    option("--search-path", action="append", default=[], metavar="DIR", help="Folder of included templates.")
    option("--jinja-filter", action="append", default=[], metavar="NAME", help="A filter or test of your own.")
    option(
        "--volatility",
        action="append",
        default=[],
        metavar="NAME=HOW",
        help="How often a template's variable differs: constant, deployment, tenant, user, session, turn or request.",
    )
    options.add_log_options(parser)
    options.add_engine_options(parser)


def fix(asked: Namespace) -> int:
    """A log rewritten, or a template's volatile lines moved, so that more can be reused; what that gives is measured
    before anything is written."""
    from prefixlab.destination import Destination
    from prefixlab.fix_workflow import FixSettings
    from prefixlab.fix_workflow import fix as run
    from prefixlab.reporters.fix_report import FORMS, redacted

    if len(asked.logs) > 1:
        raise PrefixlabError(f"{len(asked.logs)} logs are named", "Fix one at a time")
    log = asked.logs[0]
    if _is_template(log, asked):
        return _fix_template(log, asked)
    destination = None if asked.output is None else Destination(asked.output, [log])
    settings = FixSettings(
        **options.log_settings(asked),
        **options.engine_settings(asked),
        digest=False,
        only=tuple(asked.only),
        hides_names=asked.redact,
    )
    try:
        with options.reading(asked) as progress:
            found = run(log, settings, destination, stdin=sys.stdin.buffer, progress=progress)
    except BadRecord as error:
        raise _or_template(error, log, asked) from None
    if asked.redact:
        found = redacted(found)
    found = options.noted(found, asked)
    # The fixed log has standard output to itself.
    stream = sys.stderr if destination is not None and destination.is_stdout else sys.stdout
    stream.buffer.write(FORMS[asked.format](found, options.terminal_width()))
    stream.buffer.flush()
    return 0


def _is_template(path: str, asked: Namespace) -> bool:
    if asked.input_format is not None:
        return False
    from prefixlab.template_fix_workflow import is_template

    return is_template(path, _template_settings(asked))


def _or_template(error: BadRecord, path: str, asked: Namespace) -> PrefixlabError:
    """The fault of a log, with what to do if it is meant as a template."""
    from prefixlab.template_fix_workflow import dialect_of_log

    dialect = None if asked.input_format is not None else dialect_of_log(path, _template_settings(asked))
    if dialect is None:
        return error
    todo = f"{error.todo}. If it is a template: --dialect {dialect}"
    return PrefixlabError(error.what, todo, path=error.path, line=error.line, column=error.column)


def _template_settings(asked: Namespace) -> TemplateFixSettings:
    from prefixlab.template_fix_workflow import TemplateFixSettings

    return TemplateFixSettings(
        **options.log_settings(asked),
        **options.engine_settings(asked),
        values=asked.values,
        dialect=asked.dialect,
        search_paths=tuple(asked.search_path),
        jinja_filters=tuple(asked.jinja_filter),
        volatility=options.pairs("--volatility", asked.volatility, "NAME=HOW"),
    )


def _fix_template(path: str, asked: Namespace) -> int:
    """The diff has standard output to itself, also where it is empty, so that it can be applied; what it gives goes to
    standard error, in JSON to standard output."""
    from prefixlab.destination import Destination
    from prefixlab.reporters.template_fix_report import FORMS
    from prefixlab.template_fix_workflow import fix_template

    if asked.only:
        raise PrefixlabError("--only is for logs", "Leave it out", path=path)
    read = [path, *([asked.values] if asked.values else [])]
    destination = None if asked.output is None else Destination(asked.output, read)
    found = options.noted(fix_template(path, _template_settings(asked), destination), asked)
    summary = FORMS[asked.format](found, options.terminal_width())
    is_taken = destination is not None and destination.is_stdout
    has_summary = asked.format == "json" and not is_taken
    if not has_summary and not is_taken:
        sys.stdout.buffer.write(found.diff.encode())
        sys.stdout.buffer.flush()
    stream = sys.stdout if has_summary else sys.stderr
    stream.buffer.write(summary)
    stream.buffer.flush()
    return 0


COMMAND = Command("[OPTIONS] LOG|TEMPLATE [-o FIXED]", add_options, fix)
