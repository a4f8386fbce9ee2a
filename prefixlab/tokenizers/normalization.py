"""NFC as Hugging Face tokenizers compute it.

Their tables are those of Unicode 9. A combining mark or a composition that Unicode defined later stays as it is there,
while a newer Python reorders or composes it. Text with one of these is normalized by their own code; for all other text
both agree (a test compares every code point), and Python's is at hand without an import.

Text that is normalized by the newer tables is so by the older ones too: to those a later mark is a character that
composes with nothing and that no mark moves across.
"""

from __future__ import annotations

import re
import unicodedata

LATER_MARKS = re.compile(
    "[\u05c8\u05c9\u07fd\u0897-\u089f\u08ca-\u08d3\u09fe\u0c3c\u0d3b\u0d3c\u0eba\u1715\u1abf-\u1af0"
    "\u1df6-\u1dfa\ua82c\U000105c9\U000105d2\U000105da\U000105e4\U00010d24-\U00010d27\U00010d69-\U00010d6d"
    "\U00010eab\U00010eac\U00010ecb-\U00010ecf\U00010ef0-\U00010efb\U00010efd-\U00010eff\U00010f46-\U00010f50"
    "\U00010f82-\U00010f85\U00011070\U0001133b\U00011382-\U00011385\U0001138b\U0001138e\U00011391\U000113bb"
    "\U000113c2\U000113c5\U000113c7-\U000113c9\U000113ce-\U000113d0\U0001145e\U00011839\U0001183a\U00011930"
    "\U00011935\U00011938\U0001193d\U0001193e\U00011943\U000119e0\U00011a34\U00011a47\U00011a99\U00011d42"
    "\U00011d44\U00011d45\U00011d97\U00011f41\U00011f42\U0001611e\U0001611f\U00016121-\U00016129\U0001612f"
    "\U00016d67-\U00016d6a\U00016ff0\U00016ff1\U0001d127\U0001d128\U0001d250-\U0001d252\U0001d25b\U0001d25c"
    "\U0001d25f\U0001d280\U0001d281\U0001e08f\U0001e130-\U0001e136\U0001e2ae\U0001e2ec-\U0001e2ef"
    "\U0001e4ec-\U0001e4ef\U0001e5ee\U0001e5ef\U0001e6e3\U0001e6e6\U0001e6ee\U0001e6ef\U0001e6f5]"
)
"""Marks and parts of compositions of Unicode 10 to 18."""


def to_nfc(text: str) -> str:
    """The text in normalization form C, by the tables of Hugging Face tokenizers."""
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text
    if LATER_MARKS.search(text):
        from tokenizers import normalizers

        return str(normalizers.NFC().normalize_str(text))
    return unicodedata.normalize("NFC", text)
