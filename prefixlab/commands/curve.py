"""`prefixlab curve`: reuse at every cache size, from one pass over a log."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from prefixlab.commands import Command, options


def add_options(parser: ArgumentParser) -> None:
    options.add_log_options(parser)
    option = parser.add_argument
    option(
        "--engine",
        default="vllm",
        metavar="NAME",
        help="The engine whose blocks count: vllm (the default), sglang or blocks.",
    )
    option("--block-size", type=int, metavar="N", help="Tokens a block. Default: the engine's own.")
    option(
        "--sizes",
        action="append",
        default=[],
        metavar="SIZES",
        help="Cache sizes with commas between them: tokens, or memory (20GiB) with --model-config.",
    )
    option(
        "--points",
        type=int,
        metavar="N",
        help="Sizes to show where none are given, from what the largest request needs to all. Default: 15.",
    )
    option("--model-config", metavar="FILE", help="config.json of the model, for memory on the axis.")
    option(
        "--dtype",
        dest="kv_dtype",
        metavar="NAME",
        help="Type of the cached keys and values, such as fp8. Default: the config's.",
    )
    option("--top", type=int, default=5, metavar="N", help="Popular prefixes to list. Default: 5.")
    options.add_output_options(parser, "text, json, markdown, html or csv (of the points).")


def curve(asked: Namespace) -> int:
    """Reuse against cache size, all sizes in one pass, beside what the best cache could reach."""
    from prefixlab.curve_workflow import CurveSettings
    from prefixlab.curve_workflow import curve as run
    from prefixlab.destination import Destination
    from prefixlab.reporters.curve_report import ENDINGS, FORMS, redacted

    destination = Destination(asked.output, asked.logs)
    form = options.chosen_form(asked.format, destination, ENDINGS)
    settings = CurveSettings(
        **options.log_settings(asked),
        engine=asked.engine,
        block_size=asked.block_size,
        sizes=tuple([size for sizes in asked.sizes for size in sizes.split(",")]),
        points=asked.points,
        model_config=asked.model_config,
        kv_dtype=asked.kv_dtype,
        top=asked.top,
        digest=form == "json",
    )
    with options.reading(asked) as progress:
        found = run(asked.logs, settings, stdin=sys.stdin.buffer, progress=progress)
    if asked.redact:
        found = redacted(found)
    found = options.noted(found, asked)
    destination.write(FORMS[form](found, options.terminal_width()))
    return 0


COMMAND = Command("[OPTIONS] LOG...", add_options, curve)
