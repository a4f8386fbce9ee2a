"""`prefixlab explain`: one request of a log, what it was matched with, where they part, and its blocks."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from prefixlab.commands import Command, options


def add_options(parser: ArgumentParser) -> None:
    option = parser.add_argument
    option(
        "--request",
        required=True,
        metavar="ID",
        help="The request: its id, ID#2 where several have it, PATH:LINE or line:LINE.",
    )
    option(
        "--with",
        dest="compared_with",
        metavar="ID",
        help="Compare with this request in place of the one it was matched with.",
    )
    options.add_log_options(parser)
    options.add_engine_options(parser)
    options.add_output_options(parser, "text, json or markdown.")


def explain(asked: Namespace) -> int:
    """One request: what it was matched with, where they part and why, and what became of its blocks."""
    from prefixlab.destination import Destination
    from prefixlab.explain_workflow import explain as run
    from prefixlab.reporters.explain_report import ENDINGS, FORMS, redacted
    from prefixlab.settings import AuditSettings

    destination = Destination(asked.output, asked.logs)
    form = options.chosen_form(asked.format, destination, ENDINGS)
    settings = AuditSettings(**options.log_settings(asked), **options.engine_settings(asked), digest=form == "json")
    with options.reading(asked) as progress:
        found = run(
            asked.logs,
            settings,
            asked.request,
            compared_with=asked.compared_with,
            quotes_ids=not asked.redact,
            stdin=sys.stdin.buffer,
            progress=progress,
        )
    if asked.redact:
        found = redacted(found)
    found = options.noted(found, asked)
    destination.write(FORMS[form](found, options.terminal_width()))
    return 0


COMMAND = Command("[OPTIONS] --request ID LOG...", add_options, explain)
