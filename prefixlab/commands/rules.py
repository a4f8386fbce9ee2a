"""`prefixlab rules`: what `lint` looks for, and all there is to say of one rule."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from prefixlab.commands import Command, options

ENDINGS = {"text": (".txt",), "json": (".json",)}


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("code", nargs="?", metavar="CODE", help="The rule to tell all about. Default: list them all.")
    options.add_output_options(parser, "text or json.")


def rules(asked: Namespace) -> int:
    """The rules of `lint`; of one, why it matters, and an example of each kind."""
    from prefixlab.destination import Destination
    from prefixlab.lint_workflow import rule_sheets
    from prefixlab.reporters.rule_catalogue import render_json, render_text

    destination = Destination(asked.output, [])
    form = options.chosen_form(asked.format, destination, ENDINGS)
    sheets = rule_sheets(asked.code)
    if form == "json":
        destination.write(render_json(sheets))
    else:
        destination.write(render_text(sheets, options.terminal_width(), is_whole=asked.code is not None))
    return 0


COMMAND = Command("[OPTIONS] [CODE]", add_options, rules)
