"""The command line: reads options, calls one workflow, writes its report, and says by its exit status how it went."""

from __future__ import annotations

import gc
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from prefixlab import __version__
from prefixlab.errors import PrefixlabError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="How much of your prompts an inference engine's prefix cache can reuse, exactly, and what breaks it.",
)


class Severity(StrEnum):
    high = "high"
    medium = "medium"
    low = "low"


class ToolArguments(StrEnum):
    parsed = "parsed"
    raw = "raw"


def main() -> NoReturn:
    """The `prefixlab` command. Every mistake of the caller or the input is one line on standard error and exit 2."""
    # A run makes millions of objects and no cycles of them: the collector would only look at them again and again.
    gc.disable()
    status = 0
    try:
        status = app(standalone_mode=False) or 0
    except PrefixlabError as error:
        _fail(str(error))
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        _fail("stopped.")
    except RecursionError:
        _fail("the input is nested too deeply. Give a log whose records are less deep.")
    except MemoryError:
        _fail("there is not enough memory. Give part of the log with --limit.")
    except Exception as error:
        # A wrong option: the class of the exception is private to the parser that typer brings along.
        explain = getattr(error, "format_message", None)
        if explain is None:
            raise
        _fail(f"{' '.join(explain().split()).rstrip('.')}. See prefixlab --help.")
    sys.exit(status)


def _fail(message: str) -> NoReturn:
    line = "".join(character if character.isprintable() else repr(character)[1:-1] for character in message)
    sys.stderr.write(f"prefixlab: {line}\n".encode("utf-8", "backslashreplace").decode())
    sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"prefixlab {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def audit(
    logs: Annotated[
        list[str], typer.Argument(metavar="LOG...", help="Files, folders, patterns, or - for standard input.")
    ],
    tokenizer: Annotated[
        list[str] | None,
        typer.Option(
            help="Encoding name, model folder, tokenizer.json or hub id; MODEL=NAME for one model of several."
        ),
    ] = None,
    chat_template: Annotated[
        str, typer.Option(help="auto, none, a built-in name, a template file or a model folder.")
    ] = "auto",
    engine: Annotated[str, typer.Option(help="The engine whose rules count; see `prefixlab engines`.")] = "vllm",
    block_size: Annotated[int | None, typer.Option(help="Tokens a block. Default: the engine's own.")] = None,
    by: Annotated[list[str] | None, typer.Option(help="Break the figures down by a tag, such as tenant.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="NAME=PATH", help="A tag from a JSON path of the record.")
    ] = None,
    input_format: Annotated[str | None, typer.Option(help="The log's format, where it is not recognised.")] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Count records that cannot be used and go on.")] = False,
    limit: Annotated[int | None, typer.Option(help="Read the first N requests only.")] = None,
    per_request: Annotated[bool, typer.Option("--per-request", help="One row a request in the report.")] = False,
    redact: Annotated[bool, typer.Option("--redact", help="Show kinds and lengths in place of logged text.")] = False,
    image_tokens: Annotated[int, typer.Option(help="Tokens an image takes.")] = 64,
    tool_arguments: Annotated[
        ToolArguments, typer.Option(help="How tool-call arguments reach the chat template.")
    ] = ToolArguments.parsed,
    offline: Annotated[bool, typer.Option("--offline", help="Never ask the network for a vocabulary.")] = False,
    fail_under: Annotated[
        float | None, typer.Option(help="Exit 1 if the aligned reuse of warm requests, 0..1, is less.")
    ] = None,
    fail_on: Annotated[
        Severity | None, typer.Option(help="Exit 1 if there is a finding of this severity or above.")
    ] = None,
    form: Annotated[str | None, typer.Option("--format", help="text, json, markdown, csv or parquet.")] = None,
    output: Annotated[str, typer.Option("-o", "--output", help="File to write; - is standard output.")] = "-",
) -> None:
    """How much of a log's prompt tokens could be reused, how much is lost, and to what."""
    from prefixlab.registry import reporter, reporter_for_file
    from prefixlab.settings import AuditSettings
    from prefixlab.workflows import audit as run

    if fail_under is not None and not 0 <= fail_under <= 1:
        raise PrefixlabError(f"--fail-under {fail_under} cannot be", "Give a fraction from 0 to 1")
    chosen = reporter(form) if form else (reporter_for_file(output) if output != "-" else None) or reporter("text")
    if output != "-" and not Path(output).resolve().parent.is_dir():
        raise PrefixlabError(f"the folder of {output} does not exist", "Make it first, or give another file to -o")
    settings = AuditSettings(
        tokenizers=tuple(tokenizer or ()),
        chat_template=chat_template,
        engine=engine,
        block_size=block_size,
        input_format=input_format,
        skip_bad=skip_bad,
        limit=limit,
        tags=_pairs(tag or ()),
        by=tuple(by or ()),
        image_tokens=image_tokens,
        tool_arguments=tool_arguments.value,
        offline=offline,
        digest=chosen.name == "json",
    )
    with _Progress() as progress:
        report = run(logs, settings, stdin=sys.stdin.buffer, progress=progress)
    if redact:
        from prefixlab.reporters.redaction import redact as redacted

        report = redacted(report)
    _write(chosen.render(report, per_request=per_request, width=_width()), output)
    ranks = list(Severity)
    if fail_under is not None and report.warm.aligned_reuse < fail_under:
        raise typer.Exit(1)
    if fail_on is not None:
        bad = {severity.value for severity in ranks[: ranks.index(fail_on) + 1]}
        found = [row.severity for row in report.fields] + [row.severity for row in report.breaks]
        if bad & set(found):
            raise typer.Exit(1)


def _pairs(options: list[str] | tuple[str, ...]) -> dict[str, str]:
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


def _write(document: bytes, output: str) -> None:
    """Write a whole document, or nothing: a file is put in place only when it is complete."""
    if output == "-":
        sys.stdout.buffer.write(document)
        sys.stdout.buffer.flush()
        return
    target = Path(output)
    part = target.with_name(target.name + ".part")
    try:
        part.write_bytes(document)
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise PrefixlabError(f"cannot write {output}: {error.strerror}", "Give another file to -o") from error


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


@app.command()
def tokenizers() -> None:
    """The tokenizers known by name, and which of them need no network."""
    from prefixlab.tokenizers import known_tokenizers

    for row in known_tokenizers():
        typer.echo(f"{row['name']:<24} {row['offline']:<10} {row['source']}")


@app.command()
def engines() -> None:
    """The engines whose rules are known."""
    from prefixlab.registry import known_engines

    for name, engine in known_engines().items():
        typer.echo(f"{name:<10} {engine.summary} ({engine.follows})")


if __name__ == "__main__":
    main()
