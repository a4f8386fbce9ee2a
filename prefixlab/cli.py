"""The command line: runs one command, and says by its exit status how it went."""

from __future__ import annotations

import gc
import os
import sys
from argparse import ArgumentParser, HelpFormatter
from collections.abc import Sequence
from typing import NoReturn

from prefixlab import __version__
from prefixlab.commands import command, command_names
from prefixlab.errors import PrefixlabError, complain

SUMMARY = "How much of your prompts an inference engine's prefix cache can reuse, exactly, and what breaks it."


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
    complain(message)
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


def _without_bare_dashes(arguments: Sequence[str]) -> list[str]:
    """The arguments without `--`: what stands behind it is a path even if it looks like an option."""
    if "--" not in arguments:
        return list(arguments)
    at = arguments.index("--")
    paths = [os.path.join(os.curdir, one) if one.startswith("-") and one != "-" else one for one in arguments[at + 1 :]]
    return [*arguments[:at], *paths]


def _run(arguments: Sequence[str]) -> int:
    """The exit status. A command is chosen by the first word, so that its options and paths may come in any order."""
    names = command_names()
    if arguments and arguments[0] in names:
        name, *rest = arguments
        chosen = command(name)
        parser = _Parser(f"prefixlab {name}", chosen.arguments, chosen.work.__doc__)
        chosen.add_options(parser)
        asked = parser.parse_intermixed_args(_without_bare_dashes(rest))
        if not getattr(asked, "no_config", True):
            from prefixlab.commands.options_table import with_table

            asked = with_table(parser, rest, asked)
        return chosen.work(asked)
    parser = _Parser("prefixlab", "[--version] [-h] COMMAND ...", SUMMARY)
    parser.add_argument(
        "--version", action="version", version=f"prefixlab {__version__}", help="Print the version and exit."
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=ArgumentParser)
    for name in names:
        commands.add_parser(name, help=command(name).work.__doc__, add_help=False)
    parser.parse_args(arguments)
    return 0


if __name__ == "__main__":
    entry()
