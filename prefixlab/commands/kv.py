"""`prefixlab kv`: what a model's KV cache takes, and what fits into the memory that is there."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from prefixlab.commands import Command, options


def add_options(parser: ArgumentParser) -> None:
    option = parser.add_argument
    option(
        "config", nargs="?", metavar="CONFIG", help="config.json, a model folder, or a hub id such as Qwen/Qwen3-8B."
    )
    option("--bytes-per-token", metavar="SIZE", help="What a token takes, such as 160KiB, in place of CONFIG.")
    option("--dtype", metavar="NAME", help="Type of the cache: bf16, fp16, fp8, int8, int4. Default: the config's.")
    option(
        "--layer-dtype",
        action="append",
        default=[],
        metavar="KIND=NAME",
        help="The type of one kind of layer, such as state=fp32, indexer=bf16, sliding_window=bf16.",
    )
    option("--scales", metavar="HOW", help="Scales of quantized types: none, token-head or group:N.")
    option("--tp", type=int, default=1, metavar="N", help="Tensor-parallel ranks. Default: 1.")
    option("--context", metavar="TOKENS", help="Lengths of sessions, with commas between them: 4096,32K,128K.")
    option("--kv-budget", metavar="SIZE", help="Memory for the cache, such as 71GiB.")
    option("--gpu", metavar="CARDS", help="The cards instead, such as 2x80GB. With --tp, at least as many as ranks.")
    option("--utilization", metavar="SHARE", help="Share of the cards that the engine uses. Default: 0.92.")
    option("--weights-bytes", metavar="SIZE", help="Weights on the cards, or the model's safetensors index or folder.")
    option("--overhead", metavar="SIZE", help="What else lies on the cards, such as 5GiB.")
    option("--bandwidth", metavar="RATE", help="Memory bandwidth, such as 3.35TB/s; with --tp, that of one card.")
    option("--weights-read", metavar="SIZE", help="Weights that a decode step reads, on all ranks together.")
    option("--reserve", metavar="TOKENS", help="A contiguous reservation for each session, against paging.")
    option("--block-size", type=int, metavar="N", help="Tokens a block when paged. Default: 16.")
    option("--prefill", metavar="TOKENS", help="Bytes that a prefill of so many tokens writes.")
    option("--experts", metavar="A/N", help="Active experts of all, such as 4/128, with --ridge.")
    option("--ridge", metavar="OPS", help="Operations a byte at which compute is the limit, such as 296.")
    option("--shared-prefix", metavar="TOKENS", help="Tokens that all requests begin with.")
    option("--requests", metavar="N", help="How many requests share it.")
    option("--offline", action="store_true", help="Never ask the network for a config.")
    options.add_output_options(parser, "text, json or markdown.")


def kv(asked: Namespace) -> int:
    """What a model's KV cache takes by kind of layer, and how many tokens and sessions a memory holds."""
    from prefixlab.destination import Destination
    from prefixlab.kv_memory.capacity import SAFETENSORS_INDEX
    from prefixlab.kv_memory.config_source import CONFIG
    from prefixlab.kv_memory.question import KvQuestion
    from prefixlab.kv_workflow import answer
    from prefixlab.reporters.kv_report import ENDINGS, FORMS

    # A folder stands for the file in it.
    named = ((asked.config or "", CONFIG), (asked.weights_bytes or "", SAFETENSORS_INDEX))
    read = [os.path.join(name, inner) if os.path.isdir(name) else name for name, inner in named]
    destination = Destination(asked.output, [name for name in read if os.path.isfile(name)])
    form = options.chosen_form(asked.format, destination, ENDINGS)
    given = {name: value for name, value in vars(asked).items() if name not in ("config", "format", "output")}
    given["layer_dtype"] = options.pairs("--layer-dtype", asked.layer_dtype, "KIND=NAME, such as state=fp32")
    sheet = answer(asked.config, KvQuestion(**given))
    destination.write(FORMS[form](sheet, options.terminal_width()))
    return 0


COMMAND = Command("[OPTIONS] [CONFIG]", add_options, kv)
