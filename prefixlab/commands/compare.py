"""`prefixlab compare`: whether a change helps, on templates, logs or saved runs."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from prefixlab.commands import Command, options
from prefixlab.errors import PrefixlabError
from prefixlab.number_words import counted


def add_options(parser: ArgumentParser) -> None:
    option = parser.add_argument
    option("sides", nargs="+", metavar="BEFORE AFTER",
           help="Two templates, two logs, or two runs saved as JSON; one template with --git.")  # fmt: skip
    option("--values", metavar="FILE", help="Values to render templates with: one JSON object of variables a line.")
    option("--log", metavar="LOG", help="A log made with BEFORE: its values are read back and set into AFTER.")
    option("--git", metavar="A..B", help="Compare one template at two git revisions; A.. is against the file as it is.")
    option("--fail-if", choices=("worse",), help="Exit 1 if less is reused than before.")
    option(
        "--min-delta", type=float, default=0.0, metavar="X", help="A change below this fraction is none. Default: 0."
    )
    option("--prompt", metavar="NAME", help="Which prompt of a file that makes several.")
    option("--dialect", metavar="NAME", help="The dialect of the templates, where it is not recognised.")
    option("--search-path", action="append", default=[], metavar="DIR", help="Folder of included templates.")
    options.add_output_options(parser, "text (default), json, markdown.")
    options.add_reading_options(parser)
    options.add_engine_options(parser)


def compare(asked: Namespace) -> int:
    """Did a change help: two templates, a template change on a log, two logs, or two saved runs."""
    from prefixlab.compare_workflow import CompareSettings, compare_revisions
    from prefixlab.compare_workflow import compare as run
    from prefixlab.destination import Destination
    from prefixlab.reporters.compare_report import FORMS, redacted

    settings = CompareSettings(
        **options.log_settings(asked),
        **options.engine_settings(asked),
        values=asked.values,
        log=asked.log,
        min_delta=asked.min_delta,
        dialect=asked.dialect,
        search_paths=tuple(asked.search_path),
        prompt=asked.prompt,
    )
    wanted = 1 if asked.git else 2
    if len(asked.sides) != wanted:
        todo = "Give one template with --git" if asked.git else "Give BEFORE and AFTER"
        raise PrefixlabError(
            f"{counted(len(asked.sides), 'side')} {'is' if len(asked.sides) == 1 else 'are'} named", todo
        )
    destination = Destination(asked.output, [*asked.sides, *[one for one in (asked.values, asked.log) if one]])
    form = options.chosen_form(asked.format, destination, {"json": (".json",), "markdown": (".md",), "text": (".txt",)})
    if asked.git:
        found = compare_revisions(asked.git, asked.sides[0], settings)
    else:
        found = run(asked.sides[0], asked.sides[1], settings)
    if asked.redact:
        found = redacted(found)
    destination.write(FORMS[form](found, options.terminal_width()))
    sys.stdout.flush()
    if asked.fail_if and (found.before.lacking or found.after.lacking):
        raise PrefixlabError(
            "the rows of values lack variables of one side alone, so --fail-if cannot tell", "Give rows that have them"
        )
    if asked.fail_if and found.verdict == "unmeasured":
        raise PrefixlabError(
            "nothing warm could be measured, so --fail-if cannot tell", "Give at least two requests or rows of values"
        )
    return 1 if asked.fail_if == "worse" and found.verdict == "worse" else 0


COMMAND = Command("[OPTIONS] BEFORE AFTER", add_options, compare)
