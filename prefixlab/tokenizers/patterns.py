"""The pre-tokenizer patterns whose behaviour is known, and where text may be cut for each of them.

A byte-level BPE tokenizer splits text into pre-tokens by one regular expression and merges bytes inside each of them
alone. So text may be encoded piecewise wherever a boundary of pre-tokens is sure to lie, whatever stands further left
or right. For the patterns with `cuts` below (cl100k, o200k, Llama 3, Qwen, tekken, DeepSeek) these places are sure:

* **between a non-blank and a blank other than a line break.** No alternative has a blank behind a non-blank: letters,
  digits and punctuation runs stop at it; only the tail `[\\r\\n/]*` of a punctuation run takes line breaks. The part on
  the left ends in a non-blank, so neither `(?!\\S)` nor `$` can look past its end, and greedy runs stop there just as
  they stop at the end of text. There is no look-behind, so the right part is matched as in the whole.
* **between a letter or digit and a line break**: only a punctuation run takes line breaks along.
* **behind the last line break of a run of blanks**, unless `/` follows at once. `\\s*[\\r\\n]+` (or the tail of a
  punctuation run before it) takes the run up to its last line break and no further; indentation behind it is matched
  by what comes after. A `/` behind a line break belongs to the tail `[\\r\\n/]*` of a punctuation run in o200k and
  tekken. Cut there, the left part ends in that line break, which ends the same match.
* **between a letter or digit and a mark** such as a comma, a quote, a bracket, an ideographic full stop, but the
  apostrophe. Letters and digits are matched by runs of them that stop there, as at the end of text; a contraction
  begins with an apostrophe; a mark that the alternative for words takes along stands ahead of them. `SURE_LETTERS` and
  `SURE_MARKS` are listed, as what is a letter and what a mark differs between versions of Unicode.
* **around a special token**, which is taken out of the text before anything else.

GPT-2's pattern has no such rule for line breaks: of `\\n\\n` before a letter each is a pre-token of its own, at the end
of text they are one. It declares no cuts.

**NFC.** Qwen's text is normalized first. Blanks and line breaks are starters that compose with nothing, so none of the
cuts has a composition or a reordering of marks across it. Nor do the `SURE_MARKS`, with what is ahead of them.

What counts as blank here is the regular expressions' `\\s` (Unicode White_Space). Python's `isspace` also takes
U+001C to U+001F: used for "is all blank so far" it only makes us cut less often.
"""

from __future__ import annotations

from typing import NamedTuple

INLINE_BLANKS = "\\t\\x0b\\x0c \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
"""White_Space but the line breaks that the patterns name, as the inside of a character class for Python's `re`, whose
own `\\s` takes U+001C to U+001F as well."""

BLANKS = INLINE_BLANKS + "\\r\\n"

SURE_LETTERS = "A-Za-z0-9\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3"
"""Letters and digits behind which a mark begins another pre-token, as the inside of a character class."""

SURE_MARKS = '"(){}\\[\\]<>=&,;:|。！？；，、：「」（）《》'
"""The marks of that rule, as the inside of a character class."""


class PreTokenPattern(NamedTuple):
    """One way to split text into pre-tokens."""

    name: str
    regex: str
    """As Rust's fancy-regex (tiktoken) takes it, possessive where the published form is."""
    cuts: bool
    newline_blanks: bool
    """Whether line breaks are matched by an alternative of their own, so that a run of blanks ends at its last one."""


_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_BLANK_RUNS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
)

CL100K = PreTokenPattern(
    "cl100k",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    cuts=True,
    newline_blanks=True,
)
O200K = PreTokenPattern(
    "o200k",
    rf"{_CASED[0]}{_CONTRACTIONS}?|{_CASED[1]}{_CONTRACTIONS}?|\p{{N}}{{1,3}}"
    rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_BLANK_RUNS}",
    cuts=True,
    newline_blanks=True,
)
LLAMA3 = PreTokenPattern(
    "llama3",
    rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_BLANK_RUNS}",
    cuts=True,
    newline_blanks=True,
)
QWEN = PreTokenPattern(
    "qwen",
    rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_BLANK_RUNS}",
    cuts=True,
    newline_blanks=True,
)
TEKKEN = PreTokenPattern(
    "tekken",
    rf"{_CASED[0]}|{_CASED[1]}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_BLANK_RUNS}",
    cuts=True,
    newline_blanks=True,
)
QWEN3_5 = PreTokenPattern(
    "qwen3.5",
    rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_BLANK_RUNS}",
    cuts=True,
    newline_blanks=True,
)
GPT2 = PreTokenPattern(
    "gpt2",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    cuts=False,
    newline_blanks=False,
)

PATTERNS = (CL100K, O200K, LLAMA3, QWEN, TEKKEN, QWEN3_5, GPT2)
