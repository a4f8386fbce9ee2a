"""`prefixlab tokenizers`: what is known by name."""

from __future__ import annotations

from argparse import Namespace

from prefixlab.commands import Command, no_options


def tokenizers(asked: Namespace) -> int:
    """The tokenizers known by name, and which of them need no network."""
    from prefixlab.tokenizers import known_tokenizers

    for row in known_tokenizers():
        print(f"{row['name']:<24} {row['offline']:<10} {row['source']}")
    return 0


COMMAND = Command("[-h]", no_options, tokenizers)
