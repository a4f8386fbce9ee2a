"""Git, run the same way whatever asks it: without a shell, a prompt, or what it tells the hooks that it runs."""

from __future__ import annotations

import os
import subprocess

from prefixlab.errors import PrefixlabError

_OF_A_HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
LONGEST_SECONDS = 60


def run_git(folder: str, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """What Git answers in a folder, be it that it failed. `given` is its standard input.

    Raises:
        PrefixlabError: there is no Git, or it does not answer.
    """
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-C", folder, *arguments]
    # What Git tells the hooks that it runs is about the folder in which it runs them.
    kept = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
    environment = {**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        return subprocess.run(  # noqa: S603 - a list, no shell
            command, env=environment, input=given, capture_output=True, check=False, timeout=LONGEST_SECONDS
        )
    except FileNotFoundError:
        raise PrefixlabError(
            "this needs Git, and there is none", "Install Git, or ask without --diff and --git"
        ) from None
    except subprocess.TimeoutExpired:
        raise PrefixlabError("Git does not answer", "Try again", path=folder) from None
