"""The methods of str that a template may use on a traced value: pure ones, whose outcome depends on the text alone."""

from __future__ import annotations

TEXT_OPERATIONS = frozenset(
    {
        "strip",
        "lstrip",
        "rstrip",
        "removeprefix",
        "removesuffix",
        "lower",
        "upper",
        "capitalize",
        "title",
        "casefold",
        "swapcase",
        "replace",
        "expandtabs",
        "ljust",
        "rjust",
        "center",
        "zfill",
        "split",
        "rsplit",
        "splitlines",
        "partition",
        "rpartition",
        "find",
        "rfind",
        "index",
        "rindex",
        "count",
    }
)
"""Their result is a value of its own."""

TEXT_QUESTIONS = frozenset(
    {
        "startswith",
        "endswith",
        "isalnum",
        "isalpha",
        "isascii",
        "isdecimal",
        "isdigit",
        "isidentifier",
        "islower",
        "isnumeric",
        "isprintable",
        "isspace",
        "istitle",
        "isupper",
    }
)
"""A template decides on their result."""
