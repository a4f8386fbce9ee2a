"""`prefixlab lint`: templates whose values strand stable text."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from prefixlab.commands import Command, options


def add_options(parser: ArgumentParser) -> None:
    option = parser.add_argument
    option("paths", nargs="+", metavar="PATH", help="Template files, or folders to look for templates in.")
    option("--tokenizer", default="o200k_base", metavar="NAME", help="Tokenizer to count with. Default: o200k_base.")
    option("--chat-template", default="auto", metavar="NAME", help="Chat template around the template's roles.")
    option("--engine", default="vllm", metavar="NAME", help="The engine whose blocks count. Default: vllm.")
    option("--block-size", type=int, metavar="N", help="Tokens a block. Default: the engine's own.")
    option("--engine-option", action="append", default=[], metavar="KEY=VALUE", help="An option of the engine.")
    option("--values", metavar="FILE", help="Values to render with: one JSON object of variables a line.")
    option("--select", action="append", default=[], metavar="CODE", help="Rules to look for, such as PL1 or PL102.")
    option("--ignore", action="append", default=[], metavar="CODE", help="Rules to leave out.")
    option("--fail-on", default="high", choices=("high", "medium", "low", "info", "never"),
           help="Exit 1 on a finding as grave as that. Default: high.")  # fmt: skip
    option("--dialect", metavar="NAME", help="The dialect of the files, where it is not recognised.")
    option("--search-path", action="append", default=[], metavar="DIR", help="Folder of included templates.")
    option("--exclude", action="append", default=[], metavar="PATTERN", help="Files to leave out.")
    option("--offline", action="store_true", help="Never ask the network for a vocabulary.")
    options.add_output_options(parser, "text (default), json.")


def lint(asked: Namespace) -> int:
    """Templates that put a volatile value ahead of stable text: which line, and what it costs."""
    from prefixlab.lint_workflow import LintSettings
    from prefixlab.lint_workflow import lint as run

    settings = LintSettings(
        tokenizer=asked.tokenizer,
        chat_template=asked.chat_template,
        engine=asked.engine,
        block_size=asked.block_size,
        engine_options=options.pairs("--engine-option", asked.engine_option, "KEY=VALUE"),
        offline=asked.offline,
        select=tuple([code for said in asked.select for code in said.split(",")]),
        ignore=tuple([code for said in asked.ignore for code in said.split(",")]),
        dialect=asked.dialect,
        search_paths=tuple(asked.search_path),
        values=asked.values,
        exclude=tuple(asked.exclude),
    )
    found = run(asked.paths, settings)
    for one in found.findings:
        sys.stdout.write(f"{one.at.path}:{one.at.line}:{one.at.column}: {one.code} {one.severity}: {one.message}\n")
    return 1 if asked.fail_on != "never" and found.at_least(asked.fail_on) else 0


COMMAND = Command("[OPTIONS] PATH...", add_options, lint)
