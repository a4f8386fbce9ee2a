"""`prefixlab lint`: templates whose values strand stable text."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING

from prefixlab.commands import Command, options
from prefixlab.errors import PrefixlabError, complain

if TYPE_CHECKING:
    from prefixlab.lint_findings import LintReport

GATES = ("high", "medium", "low", "info", "never")


def add_options(parser: ArgumentParser) -> None:
    option = parser.add_argument
    option("paths", nargs="+", metavar="PATH", help="Template files, or folders to look for templates in.")
    option("--select", action="append", default=[], metavar="CODE", help="Rules to look for, such as PL1 or PL102.")
    option(
        "--ignore",
        dest="ignore_rules",
        action="append",
        default=[],
        metavar="CODE",
        help="Rules to leave out; see `prefixlab rules`.",
    )
    option(
        "--fail-on", default="high", choices=GATES, help="Exit 1 if there is a finding as grave as that. Default: high."
    )
    option("--diff", metavar="REF", help="Only what was changed since a revision of Git, such as origin/main.")
    option("--against", metavar="RUN", help="An earlier run saved as JSON: what the templates share now and then.")
    option("--baseline", metavar="FILE", help="Findings that are known: they are counted and not shown.")
    option("--write-baseline", metavar="FILE", help="Write what is found to a baseline; it is all known from then on.")
    option(
        "--budget",
        action="append",
        default=[],
        metavar="KEY=TOKENS",
        help="min_stable_tokens or max_stranded_tokens of every template. In pyproject.toml they are by template.",
    )
    option("--values", metavar="FILE", help="Values to render with: one JSON object of variables a line.")
    option(
        "--volatility",
        action="append",
        default=[],
        metavar="NAME=HOW",
        help="How often a variable differs: constant, deployment, tenant, user, session, turn or request.",
    )
    option("--fix", action="store_true", help="Write what is mechanical and safe into the files; show what is left.")
    option("--fix-clocks", action="store_true", help="With it, clocks shown by a format become dates.")
    option("--dry-run", action="store_true", help="Print what --fix would change as a diff, and write nothing.")
    option("--dialect", metavar="NAME", help="The dialect of the files, where it is not recognised.")
    option("--search-path", action="append", default=[], metavar="DIR", help="Folder of included templates.")
    option("--jinja-filter", action="append", default=[], metavar="NAME", help="A filter or test of your own.")
    option("--exclude", action="append", default=[], metavar="PATTERN", help="Files or folders to leave out.")
    option("--tokenizer", default="o200k_base", metavar="NAME", help="Tokenizer to count with. Default: o200k_base.")
    option("--chat-template", default="auto", metavar="NAME", help="Chat template around the template's roles.")
    option("--engine", default="vllm", metavar="NAME", help="The engine whose blocks count. Default: vllm.")
    option("--block-size", type=int, metavar="N", help="Tokens a block. Default: the engine's own.")
    option("--engine-option", action="append", default=[], metavar="KEY=VALUE", help="An option of the engine.")
    option("--offline", action="store_true", help="Never ask the network for a vocabulary.")
    option("--no-config", action="store_true", help="Leave [tool.prefixlab] of pyproject.toml alone.")
    parser.set_defaults(table_note="", budgets={})
    options.add_output_options(parser, "text, json, markdown, sarif, github or junit.")


def lint(asked: Namespace) -> int:
    """Templates that put a volatile value ahead of stable text: which line, and what it costs."""
    from prefixlab.destination import Destination
    from prefixlab.lint_workflow import LintSettings
    from prefixlab.lint_workflow import lint as run
    from prefixlab.reporters.lint_report import ENDINGS, FORMS

    destination = Destination(asked.output, [path for path in asked.paths if not os.path.isdir(path)])
    form = options.chosen_form(asked.format, destination, ENDINGS)
    settings = LintSettings(
        tokenizer=asked.tokenizer,
        chat_template=asked.chat_template,
        engine=asked.engine,
        block_size=asked.block_size,
        engine_options=options.pairs("--engine-option", asked.engine_option, "KEY=VALUE"),
        offline=asked.offline,
        select=_codes("--select", asked.select),
        ignore=_codes("--ignore", asked.ignore_rules),
        dialect=asked.dialect,
        search_paths=tuple(asked.search_path),
        jinja_filters=tuple(asked.jinja_filter),
        volatility=options.pairs("--volatility", asked.volatility, "NAME=HOW"),
        values=asked.values,
        exclude=tuple(asked.exclude),
        budgets=_budgets(asked),
        baseline=asked.baseline,
        write_baseline=asked.write_baseline,
        diff=asked.diff,
        against=asked.against,
        keep_going=True,
    )
    if asked.fix or asked.fix_clocks or asked.dry_run:
        from prefixlab.lint_fix_workflow import fix_findings

        done = fix_findings(asked.paths, settings, clocks=asked.fix_clocks, write=not asked.dry_run)
        found = done.report
    else:
        found = run(asked.paths, settings)
    # What is read in folders is known by now.
    destination.refuse([one.path for one in found.templates])
    found = options.noted(found, asked)
    if asked.dry_run:
        # Standard output is the diff's alone, so that it can be applied.
        destination.write(done.diff.encode())
        sys.stderr.write("".join([f"{note}\n" for note in found.notes]))
    else:
        destination.write(FORMS[form](found, options.terminal_width()))
    for error in found.unread:
        complain(str(error))
    return _status(asked, found)


def _status(asked: Namespace, found: LintReport) -> int:
    if found.unread:
        return 2
    return 1 if asked.fail_on != "never" and found.at_least(asked.fail_on) else 0


def _codes(option: str, said: list[str]) -> tuple[str, ...]:
    """Codes that are given one by one or with commas between them."""
    codes = tuple([code.strip() for one in said for code in one.split(",") if code.strip()])
    if said and not codes:
        raise PrefixlabError(f"{option} names no rule", "prefixlab rules lists them")
    return codes


def _budgets(asked: Namespace) -> dict[str, Mapping[str, int]]:
    """The budgets of the table, and the one of the command line, which wins."""
    budget = {}
    for key, tokens in options.pairs("--budget", asked.budget, "KEY=TOKENS").items():
        if not (tokens.isascii() and tokens.isdigit()):
            raise PrefixlabError(f"--budget {key}={tokens} cannot be", "Give a whole number of tokens")
        budget[key] = int(tokens)
    return {**asked.budgets, **({"*": budget} if budget else {})}


COMMAND = Command("[OPTIONS] PATH...", add_options, lint)
