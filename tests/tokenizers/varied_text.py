"""Strings that trip tokenizers: languages, code, runs of blanks, decomposed marks, look-alikes of special tokens."""

from __future__ import annotations

import random

WORDS = tuple(
    """the quick brown fox Where is my order refund policy shipment naïve façade Straße ÜBERGRÖSSE señor coöperate
    Данные заказа пожалуйста πρώτα ελληνικά 東京 在庫切れです。 请核对收货地址 고객님의 주문 يرجى إرسال صورة שלום कृपया
    ऑर्डर ภาษาไทย தமிழ் Việt Nam đường O'Neill camelCase HTTPServer snake_case XMLHttpRequest iPhone 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ǅungla
    ſtrange""".split()  # noqa: SIM905
)
CODE = (
    "def f(x: int) -> int:\n    return x ** 2  # square\n",
    "for (let i=0;i<n;++i) {\n\tconsole.log(`${i}`);\n}\n",
    '{"status": "ok", "items": [{"sku": "AB-12", "qty": 2}], "next": null}',
    "SELECT * FROM t WHERE a <> 'b' -- note\n",
    "#include <stdio.h>\n\n\nint main(void){return 0;}\n",
    "<div class='a'>\n  <p>Hi&nbsp;there</p>\n</div>",
    "/usr/bin/env python3\n//comment\n/* x */\n",
    "https://example.com/a/b?q=1&r=%20#top",
)
BLANKS = (
    " ",
    "  ",
    "    ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    " \n",
    "\n ",
    "\n\t",
    "\u00a0",
    "\u2003",
    "\u3000",
    "\x0b",
    "\x0c",
)
ODD_BLANKS = (
    "\x1c",
    "\x1d",
    "\x1f",
    "\x85",
    "\u2028",
    "\u2029",
    "\u200b",
    "\ufeff",
    "\u180e",
    "\n/",
    ".\n/",
    "/\n",
    "\n\r",
    " \r ",
)
CONTRACTIONS = ("'s", "'T", "'re", "'VE", "'m", "'Ll", "'d", "'ſ", "What'", "'", "''s", "'K", "’s", "don't", "I'M")
MARKS = (
    "e\u0301",
    "\u0301",
    "a\u0327\u0301",
    "a\u0301\u0327",
    "\u1100\u1161\u11a8",
    "\u0958",
    "o\u0308\u0304",
    "\u1ac3a\u0327",
    "\u08d3\u0301",
    "क\u093c",
    "\u212b",
    "\u2000",
)
EMOJI = ("😀", "👩\u200d💻", "🏳️\u200d🌈", "👍🏽", "🇩🇪", "❤️", "1️⃣")
PUNCTUATION = (
    ".",
    ",",
    "!",
    "?",
    "...",
    "—",
    "(",
    ")",
    "[]",
    "{}",
    "<",
    "</",
    "<|",
    "|>",
    "@",
    "#",
    "$",
    "%",
    "^^",
    "&&",
    "`",
    "~",
    "/",
    "//",
    ";",
    ": ",
)
CONTROLS = ("\x00", "\x01", "\x07", "\x1b[0m", "\x7f", "\ufffd", "\U0010ffff", "\ue000")
SPECIALS = (
    *(
        "<|im_start|>",
        "<|im_end|>",
        "<|endoftext|>",
        "<|endofprompt|>",
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
    ),
    *(
        "<|begin_of_text|>",
        "<|eot_id|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|start|>",
        "<|message|>",
        "<|end|>",
    ),
    *("<|fim_prefix|>", "<start_of_turn>", "<bos>", "<｜User｜>", "[INST]", "</s>"),
)


def varied_text(random_source: random.Random, parts: int = 12) -> str:
    """A string of up to `parts` odd parts."""
    choice, integer = random_source.choice, random_source.randint
    made = []
    for _ in range(integer(1, parts)):
        kind = integer(0, 15)
        if kind < 4:
            made.append(choice(("", " ")) + choice(WORDS))
        elif kind == 4:
            made.append(choice(CODE))
        elif kind == 5:
            made.append("".join(choice(BLANKS) for _ in range(integer(1, 4))))
        elif kind == 6:
            made.append(choice(ODD_BLANKS))
        elif kind == 7:
            made.append(choice(CONTRACTIONS))
        elif kind == 8:
            made.append(choice(MARKS))
        elif kind == 9:
            made.append(choice(EMOJI))
        elif kind == 10:
            made.append(choice(PUNCTUATION))
        elif kind == 11:
            special = choice(SPECIALS)
            made.append(special if integer(0, 1) else special[: integer(1, len(special))])
        elif kind == 12:
            made.append(str(integer(0, 10 ** integer(1, 12))))
        elif kind == 13:
            made.append(choice(CONTROLS))
        elif kind == 14:
            made.append(choice(("a", "A", " ", "\n", "=", "0", "é", "好", "ab")) * integer(2, 40))
        else:
            made.append("".join(chr(_code_point(random_source)) for _ in range(integer(1, 5))))
    return "".join(made)


def _code_point(random_source: random.Random) -> int:
    """Any code point but a surrogate, low ones more often."""
    while True:
        code_point = int(0x11_0000 ** random_source.random())
        if not 0xD800 <= code_point < 0xE000:
            return code_point


def random_cuts(text: str, random_source: random.Random, most: int = 6) -> list[str]:
    """The text in up to `most` + 1 pieces, cut anywhere; some are empty."""
    places = sorted(random_source.randint(0, len(text)) for _ in range(random_source.randint(0, most)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)])]
