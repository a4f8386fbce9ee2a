"""`prefixlab audit`: how much of a log's prompt tokens could be reused, how much is lost, and to what."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from prefixlab.commands import Command, options
from prefixlab.errors import PrefixlabError

SEVERITIES = ("high", "medium", "low")


def add_options(parser: ArgumentParser) -> None:
    options.add_log_options(parser)
    options.add_engine_options(parser)
    option = parser.add_argument
    option("--per-request", action="store_true", help="One row a request in the report.")
    option(
        "--fail-under",
        type=float,
        metavar="SHARE",
        help="Exit 1 if the aligned reuse of warm requests, 0..1, is less.",
    )
    option("--fail-on", choices=SEVERITIES, help="Exit 1 if there is a finding of this severity or above.")
    option(
        "--ignore",
        action="append",
        default=[],
        metavar="NAME",
        help="A known cause, which stays in the report and trips nothing: a field's name, a kind of break "
        "(tool_set), or kind:clock.",
    )
    options.add_output_options(parser, "text, json, markdown, csv or parquet.")


def audit(asked: Namespace) -> int:
    """How much of a log's prompt tokens could be reused, how much is lost, and to what."""
    from prefixlab.destination import Destination
    from prefixlab.registry import known_reporters, reporter
    from prefixlab.settings import AuditSettings
    from prefixlab.workflows import audit as run

    if asked.fail_under is not None and not 0 <= asked.fail_under <= 1:
        raise PrefixlabError(f"--fail-under {asked.fail_under} cannot be", "Give a fraction from 0 to 1")
    destination = Destination(asked.output, asked.logs)
    if asked.format is not None or destination.is_stream:
        chosen = reporter("text" if asked.format is None else asked.format)
    else:
        endings = {name: one.endings for name, one in known_reporters().items()}
        chosen = reporter(options.chosen_form(None, destination, endings))
    settings = AuditSettings(
        **options.log_settings(asked),
        **options.engine_settings(asked),
        digest=chosen.name == "json",
        ignore=tuple(asked.ignore),
    )
    with options.reading(asked) as progress:
        report = run(asked.logs, settings, stdin=sys.stdin.buffer, progress=progress)
    if asked.redact:
        from prefixlab.reporters.redaction import redact as redacted

        report = redacted(report)
    report = options.noted(report, asked)
    destination.write(chosen.render(report, per_request=asked.per_request, width=options.terminal_width()))
    if asked.fail_under is not None and report.warm.aligned_reuse < asked.fail_under:
        return 1
    if asked.fail_on is None:
        return 0
    bad = SEVERITIES[: SEVERITIES.index(asked.fail_on) + 1]
    found = [row.severity for row in report.fields] + [row.severity for row in report.breaks]
    return int(not set(bad).isdisjoint(found))


COMMAND = Command("[OPTIONS] LOG...", add_options, audit)
