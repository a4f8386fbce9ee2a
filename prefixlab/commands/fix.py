"""`prefixlab fix`: a log written again with its volatile values where they cost least, measured before and after."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from prefixlab.commands import Command, options
from prefixlab.errors import PrefixlabError


def add_options(parser: ArgumentParser) -> None:
    option = parser.add_argument
    option(
        "-o",
        "--output",
        metavar="FIXED",
        help="File for the fixed log, compressed if it ends with .gz or .zst; - is standard output. "
        "Without it nothing is written.",
    )
    option(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="One step of the ladder: a field's name, or a kind such as tool_order. Can be given several times.",
    )
    option("--format", default="text", choices=("text", "json"), help="Form of the summary. Default: text.")
    options.add_log_options(parser)
    options.add_engine_options(parser)


def fix(asked: Namespace) -> int:
    """The log rewritten so that more of it can be reused; what that gives is measured before anything is written."""
    from prefixlab.destination import Destination
    from prefixlab.fix_workflow import FixSettings
    from prefixlab.fix_workflow import fix as run
    from prefixlab.reporters.fix_report import FORMS, redacted

    if len(asked.logs) > 1:
        raise PrefixlabError(f"{len(asked.logs)} logs are named", "Fix one at a time")
    log = asked.logs[0]
    if log.endswith((".jinja", ".jinja2", ".j2")):
        raise PrefixlabError("this is a template, and fix rewrites logs", "Give a log of requests", path=log)
    destination = None if asked.output is None else Destination(asked.output, [log])
    settings = FixSettings(
        **options.log_settings(asked),
        **options.engine_settings(asked),
        digest=False,
        only=tuple(asked.only),
        hides_names=asked.redact,
    )
    with options.reading(asked) as progress:
        found = run(log, settings, destination, stdin=sys.stdin.buffer, progress=progress)
    if asked.redact:
        found = redacted(found)
    found = options.noted(found, asked)
    # The fixed log has standard output to itself.
    stream = sys.stderr if destination is not None and destination.is_stdout else sys.stdout
    stream.buffer.write(FORMS[asked.format](found, options.terminal_width()))
    stream.buffer.flush()
    return 0


COMMAND = Command("[OPTIONS] LOG -o FIXED", add_options, fix)
