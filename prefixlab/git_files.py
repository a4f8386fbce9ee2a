"""Files of a git repository at a revision, put into a folder of their own so that includes are found."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from prefixlab.errors import PrefixlabError
from prefixlab.git_command import run_git
from prefixlab.template_files import MOST_BYTES

ENDINGS = (
    ".j2", ".jinja", ".jinja2", ".mustache", ".hbs", ".handlebars", ".prompt", ".prompty", ".tmpl", ".gotmpl", ".txt",
    ".md", ".yaml", ".yml", ".json", ".py",
)  # fmt: skip
"""Files that a template may include."""

MOST_FILES = 20_000
"""Such files of a revision; of more, those of the template's own folder."""


@contextmanager
def at_revision(path: str, revision: str) -> Iterator[str]:
    """The path of a file as it was at a revision, with the files that it may include; of an empty revision the path
    itself.

    Raises:
        PrefixlabError: it is not in a repository, or the revision or the file is not there.
    """
    if not revision:
        yield path
        return
    folder = os.path.dirname(os.path.abspath(path))
    top = _git(["rev-parse", "--show-toplevel"], folder, path, "is not in a git repository", "Name a file in one")
    root = os.fsdecode(top.removesuffix(b"\n"))
    inside = Path(os.path.realpath(path)).relative_to(os.path.realpath(root)).as_posix()
    said = _git(
        ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"],
        root,
        path,
        f"there is no revision {revision!r}",
        "Check it; it is such as main or HEAD~1",
    )
    commit = said.decode().strip()
    listed = _git(["ls-tree", "-r", "-z", "--name-only", commit], root, path, "cannot be listed", "Check the revision")
    names = [name for name in listed.decode("utf-8", "surrogateescape").split("\0") if name]
    if inside not in names:
        raise PrefixlabError(f"is not in {revision}", "Check the path and the revision", path=path)
    wanted = [name for name in names if name.endswith(ENDINGS)]
    if len(wanted) > MOST_FILES:
        own = inside.rpartition("/")[0]
        wanted = [name for name in wanted if name.startswith(f"{own}/")][:MOST_FILES]
    with tempfile.TemporaryDirectory(prefix="prefixlab-") as made:
        for name, data in _contents(root, commit, [*dict.fromkeys([inside, *wanted])]):
            target = Path(made, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        # Where the project ends, for paths that lead to folders above.
        Path(made, "pyproject.toml").touch()
        yield os.path.join(made, inside)


def _contents(root: str, commit: str, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The bytes of files of a commit; those too large for a template are left out."""
    asked = "".join([f"{commit}:{name}\n" for name in names if "\n" not in name])
    given = _git(["cat-file", "--batch"], root, root, "cannot be read", "Check the repository", asked.encode())
    at = 0
    for name in [name for name in names if "\n" not in name]:
        end = given.index(b"\n", at)
        header = given[at:end].split()
        at = end + 1
        if len(header) != 3 or not header[2].isdigit():
            continue
        size = int(header[2])
        if header[1] == b"blob" and size <= MOST_BYTES:
            yield name, given[at : at + size]
        at += size + 1


def _git(arguments: Sequence[str], folder: str, path: str, what: str, todo: str, given: bytes = b"") -> bytes:
    done = run_git(folder, *arguments, given=given)
    if done.returncode:
        raise PrefixlabError(what, todo, path=path)
    return done.stdout
