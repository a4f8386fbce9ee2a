"""Measures `prefixlab lint` on 1,000 template files of all dialects: `python -m benchmarks.lint`.

Beside it stands what reading alone takes: each file is parsed by Jinja2, or by Python where it is Python, and its text
tokenized, in one process that does nothing else. Both include start-up and the loading of the tokenizer.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from benchmarks.__main__ import WORK, prefixlab_command
from benchmarks.measure import best, run

FILES = 1000
CORPUS = (Path("tests/dialects/corpus"), Path("tests/lint/corpus"))
LONGER = "".join([f"{at}. Quote the order number and cite the source of claim {at}.\n" for at in range(40)])

READING = """
import ast, sys, warnings
from pathlib import Path
import jinja2
from prefixlab.tokenizers import load_tokenizer
encoding = load_tokenizer("o200k_base", offline=True)
environment = jinja2.Environment(extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"])
for path in sorted(Path(sys.argv[1]).rglob("*")):
    if path.is_file():
        text = path.read_text(encoding="utf-8")
        try:
            ast.parse(text) if path.suffix == ".py" else environment.parse(text)
        except Exception:
            pass
        encoding.encode_ordinary(text)
"""


def templates(folder: Path) -> None:
    """Copies of the sample files in folders of their own; those of plain text are made longer, each by its own text."""
    shutil.rmtree(folder, ignore_errors=True)
    samples = [one for root in CORPUS for one in sorted(root.iterdir()) if one.is_dir()]
    made = number = 0
    while made < FILES:
        for sample in samples:
            target = folder / f"{number:04}"
            shutil.copytree(sample, target, ignore=shutil.ignore_patterns("*.expected"))
            for path in sorted(target.rglob("*.j2")):
                path.write_text(f"{path.read_text(encoding='utf-8')}Copy {number}.\n{LONGER}", encoding="utf-8")
            made += sum([one.is_file() for one in target.rglob("*")])
            number += 1
            if made >= FILES:
                return


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lint", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default: %(default)s)")
    given = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    folder = (WORK / "templates").resolve()
    templates(folder)
    files = sum([one.is_file() for one in folder.rglob("*")])
    report = (WORK / "lint.json").resolve()
    own = [*prefixlab_command(), "lint", folder, "--fail-on", "never", "--format", "json", "-o", report, "--no-config"]
    ours, alone = [], []
    for _ in range(given.rounds):
        ours.append(run(own, cwd=WORK))
        alone.append(run([sys.executable, "-c", READING, folder], cwd=WORK))
    one, other = best(ours), best(alone)
    print(f"{files} files")
    print(f"reading alone   {other.cpu_seconds:6.2f} s CPU  {other.peak_mib:6.0f} MiB")
    ratio = one.cpu_seconds / other.cpu_seconds
    print(f"prefixlab lint  {one.cpu_seconds:6.2f} s CPU  {one.peak_mib:6.0f} MiB  ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
