"""The command line: reads options, calls one workflow, writes its report, and says by its exit status how it went."""

from __future__ import annotations

import gc
import os
import sys
from argparse import ArgumentParser, HelpFormatter, Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from prefixlab import __version__
from prefixlab.errors import BadRecord, PrefixlabError

if TYPE_CHECKING:
    from prefixlab.contracts import Reporter
    from prefixlab.destination import Destination

SUMMARY = "How much of your prompts an inference engine's prefix cache can reuse, exactly, and what breaks it."

SEVERITIES = ("high", "medium", "low")


def entry() -> NoReturn:
    """The `prefixlab` command as a process of its own.

    It ends at once: a run's millions of objects go with the process, while Python would free them one by one first.
    """
    try:
        main()
    except SystemExit as exit:
        if not sys.stderr.closed:
            sys.stderr.flush()
        os._exit(exit.code if isinstance(exit.code, int) else 0)


def main() -> NoReturn:
    """Does what the command line says. Every mistake of the caller or the input is one line on standard error and
    exit 2."""
    # A run makes millions of objects and no cycles of them: the collector would only look at them again and again.
    gc.disable()
    # What the hub's library warns of names models of the log, and is no line of ours.
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    try:
        try:
            status = _run(sys.argv[1:])
        finally:
            sys.stdout.flush()
    except PrefixlabError as error:
        _fail(str(error))
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        _fail("stopped.")
    except RecursionError:
        _fail("the input is nested too deeply. Give a log whose records are less deep.")
    except OSError as error:
        _fail(f"cannot write or read: {error.strerror or error}. Check the disk and the paths.")
    except MemoryError:
        _fail("there is not enough memory. Give part of the log with --limit.")
    sys.exit(status)


def _fail(message: str) -> NoReturn:
    line = "".join(character if character.isprintable() else repr(character)[1:-1] for character in message)
    sys.stderr.write(f"prefixlab: {line}\n".encode("utf-8", "backslashreplace").decode())
    sys.exit(2)


class _Formatter(HelpFormatter):
    """Does not ask how wide the terminal is, which would be done for each option, and takes an import."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=80)


class _Parser(ArgumentParser):
    """A parser whose complaints are like all others."""

    def __init__(self, command: str, arguments: str, summary: str | None) -> None:
        super().__init__(
            command,
            usage=f"{command} {arguments}",
            description=summary,
            allow_abbrev=False,
            formatter_class=_Formatter,
        )

    def error(self, message: str) -> NoReturn:
        raise PrefixlabError(message, f"See {self.prog} --help")


class Command(NamedTuple):
    """A command: what its usage line names, which options it has, and what does the work."""

    arguments: str
    add_options: Callable[[ArgumentParser], None]
    work: Callable[[Namespace], int]


def _run(arguments: Sequence[str]) -> int:
    """The exit status. A command is chosen by the first word, so that its options and paths may come in any order."""
    if arguments and arguments[0] in COMMANDS:
        name, *rest = arguments
        command = COMMANDS[name]
        parser = _Parser(f"prefixlab {name}", command.arguments, command.work.__doc__)
        command.add_options(parser)
        return command.work(parser.parse_intermixed_args(rest))
    parser = _Parser("prefixlab", "[--version] [-h] COMMAND ...", SUMMARY)
    parser.add_argument(
        "--version", action="version", version=f"prefixlab {__version__}", help="Print the version and exit."
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=ArgumentParser)
    for name, command in COMMANDS.items():
        commands.add_parser(name, help=command.work.__doc__, add_help=False)
    parser.parse_args(arguments)
    return 0


def _audit_options(parser: ArgumentParser) -> None:
    option = parser.add_argument
    option("logs", nargs="+", metavar="LOG", help="Files, folders, patterns, or - for standard input.")
    option(
        "--tokenizer",
        action="append",
        default=[],
        metavar="NAME",
        help="Encoding name, model folder, tokenizer.json or hub id; MODEL=NAME for one model of several.",
    )
    option(
        "--chat-template",
        default="auto",
        metavar="NAME",
        help="auto (the default), none, a built-in name, a template file or a model folder.",
    )
    option(
        "--engine",
        default="vllm",
        metavar="NAME",
        help="The engine whose rules count; see `prefixlab engines`. Default: vllm.",
    )
    option("--block-size", type=int, metavar="N", help="Tokens a block. Default: the engine's own.")
    option("--by", action="append", default=[], metavar="TAG", help="Break the figures down by a tag, such as tenant.")
    option("--tag", action="append", default=[], metavar="NAME=PATH", help="A tag from a JSON path of the record.")
    option("--input-format", metavar="NAME", help="The log's format, where it is not recognised.")
    option("--skip-bad", action="store_true", help="Count records that cannot be used and go on.")
    option("--limit", type=int, metavar="N", help="Read the first N requests only.")
    option("--per-request", action="store_true", help="One row a request in the report.")
    option("--redact", action="store_true", help="Show kinds and lengths in place of logged text.")
    option("--image-tokens", type=int, default=64, metavar="N", help="Tokens an image takes. Default: 64.")
    option(
        "--tool-arguments",
        choices=("parsed", "raw"),
        default="parsed",
        help="How tool-call arguments reach the chat template. Default: parsed.",
    )
    option("--offline", action="store_true", help="Never ask the network for a vocabulary.")
    option(
        "--fail-under",
        type=float,
        metavar="SHARE",
        help="Exit 1 if the aligned reuse of warm requests, 0..1, is less.",
    )
    option("--fail-on", choices=SEVERITIES, help="Exit 1 if there is a finding of this severity or above.")
    option("--format", metavar="NAME", help="text, json, markdown, csv or parquet.")
    option("-o", "--output", default="-", metavar="FILE", help="File to write; - is standard output, the default.")


def audit(asked: Namespace) -> int:
    """How much of a log's prompt tokens could be reused, how much is lost, and to what."""
    from prefixlab.destination import Destination
    from prefixlab.settings import AuditSettings
    from prefixlab.workflows import audit as run

    if asked.fail_under is not None and not 0 <= asked.fail_under <= 1:
        raise PrefixlabError(f"--fail-under {asked.fail_under} cannot be", "Give a fraction from 0 to 1")
    destination = Destination(asked.output, asked.logs)
    chosen = _reporter(asked.format, destination)
    settings = AuditSettings(
        tokenizers=tuple(asked.tokenizer),
        chat_template=asked.chat_template,
        engine=asked.engine,
        block_size=asked.block_size,
        input_format=asked.input_format,
        skip_bad=asked.skip_bad,
        limit=asked.limit,
        tags=_pairs(asked.tag),
        by=tuple(asked.by),
        image_tokens=asked.image_tokens,
        tool_arguments=asked.tool_arguments,
        offline=asked.offline,
        digest=chosen.name == "json",
    )
    try:
        with _Progress() as progress:
            report = run(asked.logs, settings, stdin=sys.stdin.buffer, progress=progress)
    except BadRecord as error:
        if not asked.redact:
            raise
        what, todo = "the record cannot be used", "Run without --redact to see why"
        raise BadRecord(what, todo, path=error.path, line=error.line) from None
    if asked.redact:
        from prefixlab.reporters.redaction import redact as redacted

        report = redacted(report)
    destination.write(chosen.render(report, per_request=asked.per_request, width=_width()))
    if asked.fail_under is not None and report.warm.aligned_reuse < asked.fail_under:
        return 1
    if asked.fail_on is None:
        return 0
    bad = SEVERITIES[: SEVERITIES.index(asked.fail_on) + 1]
    found = [row.severity for row in report.fields] + [row.severity for row in report.breaks]
    return int(not set(bad).isdisjoint(found))


def _reporter(form: str | None, destination: Destination) -> Reporter:
    """The reporter that `--format` names, or the ending of the file; text where there is no ending to go by."""
    from prefixlab.registry import known_reporters, reporter, reporter_for_file

    if form is not None or destination.is_stream:
        return reporter("text" if form is None else form)
    chosen = reporter_for_file(destination.named)
    if chosen is None:
        endings = ", ".join(sorted([ending for one in known_reporters().values() for ending in one.endings]))
        raise PrefixlabError(
            f"the ending of {destination.named} tells no format", f"Name the format with --format, or use {endings}"
        )
    return chosen


def _pairs(options: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for option in options:
        name, equals, path = option.partition("=")
        if not (name and equals and path):
            raise PrefixlabError(f"--tag {option!r} is not a tag", "Give it as NAME=json.path")
        pairs[name] = path
    return pairs


def _width() -> int:
    """Columns of the terminal, never less than 60; 80 where the output goes elsewhere."""
    if not sys.stdout.isatty():
        return 80
    import shutil

    return max(60, shutil.get_terminal_size((80, 24)).columns)


class _Progress:
    """One line on standard error that says how far the work is, on a terminal only."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()

    def __enter__(self) -> _Progress:
        return self

    def __call__(self, stage: str, count: int) -> None:
        if self._shown:
            sys.stderr.write(f"\r\x1b[K{stage}: {count:,} requests")
            sys.stderr.flush()

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def tokenizers(asked: Namespace) -> int:
    """The tokenizers known by name, and which of them need no network."""
    from prefixlab.tokenizers import known_tokenizers

    for row in known_tokenizers():
        print(f"{row['name']:<24} {row['offline']:<10} {row['source']}")
    return 0


def engines(asked: Namespace) -> int:
    """The engines whose rules are known."""
    from prefixlab.registry import known_engines

    for name, engine in known_engines().items():
        print(f"{name:<10} {engine.summary} ({engine.follows})")
    return 0


def _no_options(parser: ArgumentParser) -> None:
    """Nothing but `--help`."""


COMMANDS = {
    "audit": Command("[OPTIONS] LOG...", _audit_options, audit),
    "tokenizers": Command("[-h]", _no_options, tokenizers),
    "engines": Command("[-h]", _no_options, engines),
}

if __name__ == "__main__":
    entry()
