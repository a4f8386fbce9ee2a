"""What a reuse curve says, in words and rounded figures; its forms only lay it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prefixlab.number_words import counted, number, percent
from prefixlab.reporters.neutral import cells, shown
from prefixlab.reuse_curve import NEARLY_ALL, KneePoint, PopularPrefix, ReuseCurve, TagCurve

Show = Callable[[str], str]
"""Makes a text from the log fit for the form that is written."""

CLEAR_KNEE = 0.1
"""Height above an even rise from which on a knee is one."""
_SCALES = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "K"))
_GIB = 2**30

CEILING = (
    "Requests are served one after another, by one server; blocks least recently used are dropped first, of one prompt "
    "the last. Clairvoyant is the most that any cache of that size could reuse, if it knew what comes."
)


def compact(value: float) -> str:
    """A number with three digits and the letter of its thousands, as 17.4K."""
    for scale, letter in _SCALES:
        # What would be written as 1000 of one letter is 1 of the next.
        if value >= scale * 0.9995:
            shown = value / scale
            digits = 0 if shown >= 99.95 else 1 if shown >= 9.995 else 2
            text = f"{shown:.{digits}f}"
            return (text.rstrip("0").rstrip(".") if "." in text else text) + letter
    return f"{value:.0f}"


def gib(size: int) -> str:
    """Bytes in GiB."""
    value = size / _GIB
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cache(found: ReuseCurve, tokens: int, beside: str = " ({})") -> str:
    """A cache size in words: tokens, and memory `beside` them where it is known."""
    memory = beside.format(f"{gib(found.axis.bytes_of(tokens))} GiB") if found.axis else ""
    return f"{counted(tokens, 'token')}{memory}"


def headline(found: ReuseCurve) -> list[str]:
    """The answer: what is reused at most, the cache that it takes, the knee."""
    if not found.requests:
        return ["There are no requests in this log: nothing to measure."]
    if not found.prompt_tokens:
        return [f"{counted(found.requests, 'request')}, but not one prompt token: nothing to measure."]
    if found.knee is None or found.flat_tokens is None:
        return ["Nothing can be reused, whatever the size of the cache: no request begins like an earlier one."]
    unlimited = percent(found.share(found.unlimited_tokens))
    if found.all_tokens <= found.largest_tokens:
        need = cache(found, found.largest_tokens, "; {}")
        return [
            f"{unlimited} of the prompt tokens can be reused, in any cache that can run the largest request ({need})."
        ]
    flat = cache(found, found.flat_tokens)
    part = percent_of_whole(NEARLY_ALL)
    if found.flat_tokens <= found.largest_tokens:
        flat += ", the smallest that can run the largest request,"
        part += " or more"
    return [f"{unlimited} of the prompt tokens can be reused; a cache of {flat} gives {part} of that.", _knee(found)]


def percent_of_whole(share: float) -> str:
    return f"{share * 100:.0f} %"


def clear_knee(found: ReuseCurve) -> KneePoint | None:
    """The knee, where it is one."""
    return found.knee if found.knee and found.knee.height >= CLEAR_KNEE else None


def _knee(found: ReuseCurve) -> str:
    knee = clear_knee(found)
    if knee is None:
        return "There is no clear knee ahead of it: up to there reuse keeps growing with the cache."
    where = f"{cache(found, knee.cache_tokens)}, where {percent(found.share(knee.reused_tokens))} is reused"
    return (
        f"The knee is at {where}: up to there a doubling of the cache gives more than the average doubling, beyond it "
        "on the whole less."
    )


def origin_rows(found: ReuseCurve) -> list[tuple[str, int, str]]:
    """Where the reuse of an unlimited cache comes from: label, tokens, meaning."""
    return [
        ("across conversations", found.across_tokens, "sent before by others only"),
        ("within one", found.within_tokens, "sent before in the same conversation"),
    ]


def conversations(found: ReuseCurve) -> str:
    told = "told by the log's sessions" if found.conversations_are_sessions else "told by prompts that continue others"
    return f"{counted(found.conversations, 'conversation')}, {told}"


def prefix_place(prefix: PopularPrefix, block: int, show: Show) -> str:
    """Which prefix it is: where it ends, or which blocks of which request it is."""
    if not prefix.ends:
        whole = counted(prefix.tokens // block, "block")
        return f"the first {whole} of {show(prefix.id)}"
    if prefix.path:
        return f"up to {show(prefix.path)} ({show(prefix.role)})"
    return "up to text of the template"


def end_of(text: str, room: int) -> str:
    """The end of a text, neutral, in at most `room` cells."""
    whole = shown(text, 10 * len(text) + 1)
    while cells(whole) > room:
        whole = whole[1:]
    return whole


def largest(groups: Sequence[TagCurve], most: int) -> list[TagCurve]:
    """The groups with the most prompt tokens, largest first."""
    return sorted(groups, key=lambda group: -group.prompt_tokens)[:most]


def group_table(found: ReuseCurve, tag: str, most: int, code: Show) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a tag's largest groups: what each reuses, and the cache at which it has nearly all of it."""
    head = [code(tag), "requests", "prompt tokens", "reuse"]
    head.append(f"{percent_of_whole(NEARLY_ALL)} of it in a cache of")
    rows = []
    for group in largest(found.by[tag], most):
        reuse = group.unlimited_tokens / group.prompt_tokens if group.prompt_tokens else 0.0
        flat = "-" if group.flat_tokens is None else cache(found, group.flat_tokens)
        rows.append([code(group.value), number(group.requests), number(group.prompt_tokens), percent(reuse), flat])
    return head, rows


def facts(found: ReuseCurve, show: Show) -> list[tuple[str, str]]:
    """What the figures rest on."""
    rows = [("requests", f"{number(found.requests)} with {counted(found.prompt_tokens, 'prompt token')}")]
    rows.append(("turns", conversations(found)))
    for each in found.inputs:
        said = f"{show(each.path)}: {show(each.format)}, {counted(each.requests, 'request')}"
        rows.append(("input", f"{said}, {number(each.skipped)} skipped" if each.skipped else said))
    rows.append(("tokenizer", show(str(found.tokenizer.get("name") or "none"))))
    template = found.chat_template
    rows.append(("template", show(str(template.get("name"))) if template else "none"))
    block = found.engine.get("block_size")
    rows.append(("engine", f"{show(str(found.engine.get('name')))}, blocks of {counted(int(block or 1), 'token')}"))
    if found.axis:
        each_token = f"{found.axis.bytes_per_token:,.1f}".removesuffix(".0")
        said = f"{show(found.axis.model)}: {each_token} bytes a token"
        if found.axis.fixed_bytes:
            said += f", and {counted(found.axis.fixed_bytes, 'byte')} a running request, which the sizes do not hold"
        rows.append(("memory", said))
    rows.append(("version", f"prefixlab {show(found.version)}"))
    return rows
