"""A `tokenizer.json` read for tiktoken's core, where that is sure to give the same ids as the `tokenizers` library.

It is sure under these conditions; every other file is left to the library itself:

* a BPE model over GPT-2's byte alphabet with nothing else in it (dropout, unknown token, affixes, byte fallback);
* no normalizer, or NFC;
* one `Split` by a pattern of `patterns.py` and `ByteLevel`, or `ByteLevel` with GPT-2's own pattern;
* added tokens with the ids that the library would give them, none of which takes blanks along or minds its
  neighbours, and none that is searched for in normalized text where that could differ from the text itself;
* the 256 bytes and, for every longer token, merges in the order of the ids. tiktoken merges any neighbours whose joint
  bytes are a token, lowest id first; the library merges the listed pairs, in their order. The only neighbours that are
  ever met and make the token t are those that t itself falls into under the merges before t. So the two agree if that
  pair is listed for every t: either all ways to halve t into tokens are, or the single listed pair is shown to be it.
  Then a whole pre-token that is a token is also reached by merging, and `ignore_merges` changes nothing.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from prefixlab.errors import PrefixlabError
from prefixlab.tokenizers.byte_level import ByteLevelTokenizer, vocabulary_bytes
from prefixlab.tokenizers.patterns import GPT2, PATTERNS, PreTokenPattern
from prefixlab.tokenizers.specials import SpecialTokens

VERIFIED_MERGES = frozenset(
    {
        "e134af98b985517b4f068e3755ae90d4e9cd2d45d328325dc503f1c6b2d06cc7",  # Llama 3.1
        "0614fe83cadab421296e664e1f48f4261fa8fef6e03e63bb75c20f38e37d07d3",  # gpt-oss
    }
)
"""sha256 of files whose merges were found to be in order, so that loading them again need not show it."""

_NFC: tuple[object, ...] = ({"type": "NFC"}, {"type": "Sequence", "normalizers": [{"type": "NFC"}]})
_NO_NORMALIZER: tuple[object, ...] = (None, {"type": "Sequence", "normalizers": []})


def parse(raw: bytes, path: str) -> dict[str, Any]:
    """The file's content.

    Raises:
        PrefixlabError: it is not a `tokenizer.json`.
    """
    try:
        content = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise PrefixlabError(f"not a tokenizer.json: {error}", "Fetch the file again", path=path) from None
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise PrefixlabError("not a tokenizer.json: it has no `model`", "Name the model's own file", path=path)
    return content


def added_tokens(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The added tokens, special or not."""
    return [token for token in content.get("added_tokens") or [] if token.get("content")]


def normalizes_to_nfc(content: Mapping[str, Any]) -> bool | None:
    """Whether text is brought to NFC; None where it is changed in some other way."""
    normalizer = content.get("normalizer")
    if normalizer in _NO_NORMALIZER:
        return False
    return True if normalizer in _NFC else None


def split_regexes(content: Mapping[str, Any]) -> list[str] | None:
    """The regular expressions that split text ahead of `ByteLevel`; None where something else is done."""
    pre_tokenizer = content.get("pre_tokenizer") or {}
    steps = pre_tokenizer.get("pretokenizers") if pre_tokenizer.get("type") == "Sequence" else [pre_tokenizer]
    if not steps or steps[-1].get("type") != "ByteLevel" or steps[-1].get("add_prefix_space"):
        return None
    *splits, byte_level = steps
    if byte_level.get("use_regex", True):
        return [] if not splits else None
    if any(step.get("type") != "Split" or step.get("behavior") != "Isolated" or step.get("invert") for step in splits):
        return None
    regexes = [step.get("pattern", {}).get("Regex") for step in splits]
    return regexes if all(isinstance(regex, str) for regex in regexes) else None


def pattern_of(content: Mapping[str, Any]) -> PreTokenPattern | None:
    """The known pattern that the file splits by."""
    regexes = split_regexes(content)
    if regexes is None or len(regexes) > 1:
        return None
    if not regexes:
        return GPT2
    return next((pattern for pattern in PATTERNS if pattern.regex == regexes[0]), None)


def bos_ids(content: Mapping[str, Any], config: Mapping[str, Any]) -> list[int]:
    """The ids ahead of a plain prompt: from the post-processor, or from `add_bos_token` where that rules."""
    ids = {token["content"]: token["id"] for token in added_tokens(content)}
    rules = str(config.get("tokenizer_class", "")).startswith(("Llama", "Gemma", "CodeLlama", "Cohere"))
    bos = config.get("bos_token")
    bos = bos.get("content") if isinstance(bos, dict) else bos
    if rules and config.get("add_bos_token") is not None:
        return [ids[bos]] if config["add_bos_token"] and bos in ids else []
    processor = content.get("post_processor") or {}
    steps = processor.get("processors") if processor.get("type") == "Sequence" else [processor]
    for step in steps or []:
        if step.get("type") == "TemplateProcessing":
            leading = itertools.takewhile(lambda part: "SpecialToken" in part, step.get("single") or [])
            return [id for part in leading for id in step["special_tokens"][part["SpecialToken"]["id"]]["ids"]]
    return []


def fast_tokenizer(
    raw: bytes, content: Mapping[str, Any], config: Mapping[str, Any], *, name: str, source: str
) -> ByteLevelTokenizer | None:
    """The file's tokenizer on tiktoken's core, or None where it is not sure to give the same ids."""
    pattern = pattern_of(content)
    nfc = normalizes_to_nfc(content)
    added = added_tokens(content)
    if pattern is None or nfc is None or not _is_plain_bpe(content["model"]) or not can_split_at(added, nfc):
        return None
    if not _ids_are_kept(added, content["model"]["vocab"]):
        return None
    sha256 = hashlib.sha256(raw).hexdigest()
    ranks = _ranks(content["model"], {token["content"] for token in added}, sha256 in VERIFIED_MERGES)
    if ranks is None:
        return None
    return ByteLevelTokenizer(
        name,
        ranks,
        pattern,
        {token["content"]: token["id"] for token in added},
        source=source,
        sha256=sha256,
        specials_in_content=True,
        nfc=nfc,
        bos=bos_ids(content, config),
        control_tokens=[token["content"] for token in added if token.get("special")],
    )


def _is_plain_bpe(model: Mapping[str, Any]) -> bool:
    odd = ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback")
    return model.get("type") == "BPE" and not any(model.get(key) for key in odd)


def _ids_are_kept(added: Iterable[Mapping[str, Any]], vocabulary: Mapping[str, int]) -> bool:
    """Whether the library gives the added tokens the file's ids: it numbers them itself, on from the vocabulary."""
    next_id = len(vocabulary)
    for token in added:
        expected = vocabulary.get(token["content"])
        if expected is None:
            expected = next_id
        if token["id"] != expected:
            return False
        next_id = max(next_id, expected + 1)
    return True


def can_split_at(added: Iterable[Mapping[str, Any]], nfc: bool | None) -> bool:
    """Whether text may be split at all added tokens at once, leftmost and longest first, and each part encoded alone.

    The library looks for tokens with `normalized` in a second pass, over the normalized text that the first left.
    """
    tokens = list(added)
    if any(token.get("lstrip") or token.get("rstrip") or token.get("single_word") for token in tokens):
        return False
    second_pass = [token["content"] for token in tokens if token.get("normalized")]
    if not second_pass:
        return True
    first_pass = [token["content"] for token in tokens if not token.get("normalized")]
    if nfc is None or (nfc and not all(text.isascii() for text in second_pass)):
        return False
    return not _overlap(first_pass, second_pass)


def _overlap(first: list[str], second: list[str]) -> bool:
    """Whether a text of one list can share characters with one of the other where both are found."""
    for texts, others in ((first, second), (second, first)):
        found = SpecialTokens(others)
        if any(found.ends_open(text) or found.found(text) for text in texts):
            return True
    return False


def _ranks(model: Mapping[str, Any], added: set[str], is_verified: bool) -> dict[bytes, int] | None:
    """Ids by the bytes of tokens, if tiktoken's merging with them is the file's."""
    vocabulary: dict[str, int] = model["vocab"]
    merges = model["merges"]
    pairs: list[list[str]] = merges if not merges or isinstance(merges[0], list) else [m.split(" ") for m in merges]
    made = [vocabulary.get(left + right, -1) for left, right in pairs]
    if made != sorted(made) or -1 in made:
        return None
    results = set(made)
    if not added.isdisjoint(vocabulary):
        vocabulary = {text: id for text, id in vocabulary.items() if id in results or text not in added}
    try:
        ranks = dict(zip(vocabulary_bytes(vocabulary), vocabulary.values()))
    except UnicodeEncodeError:
        return None
    if len(ranks) != len(results) + 256 or any(bytes([byte]) not in ranks for byte in range(256)):
        return None
    if is_verified:
        return ranks
    if len(made) == len(results):
        return ranks if _pairs_are_met(vocabulary, pairs, made) else None
    return ranks if _halvings(ranks) == len({(left, right) for left, right in pairs}) else None


def _halvings(ranks: Mapping[bytes, int]) -> int:
    """In how many ways tokens can be halved into two tokens."""
    return sum([token[:place] in ranks and token[place:] in ranks for token in ranks for place in range(1, len(token))])


def _pairs_are_met(vocabulary: Mapping[str, int], pairs: list[list[str]], made: list[int]) -> bool:
    """Whether each token, encoded by the merges before its own, ends up as the pair that its merge joins.

    For two tokens side by side the only merges that could join them across their border are those of a suffix that the
    left one had and a prefix that the right one had on their way; they are walked back from the newest, as in the
    `bpe` crate's `is_valid_token_pair`.
    """
    halves = {id: (vocabulary[left], vocabulary[right]) for (left, right), id in zip(pairs, made)}
    joined = {pair: id for id, pair in halves.items()}
    for id, (left, right) in halves.items():
        limit = id
        while True:
            across = joined.get((left, right))
            if across is not None and across < limit:
                return False
            newest_left, newest_right = halves.get(left), halves.get(right)
            if newest_left is not None and (left > right or newest_right is None):
                limit, left = left, newest_left[1]
            elif newest_right is not None:
                limit, right = right + 1, newest_right[0]
            else:
                break
    return True
