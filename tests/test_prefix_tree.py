"""The tree against the naive way: compare with every earlier sequence, token by token."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from prefixlab.prefix_tree import Match, PrefixTree


def ids(tokens: list[int]) -> bytes:
    return struct.pack(f"<{len(tokens)}I", *tokens)


def longest(mine: list[int], earlier: list[list[int]]) -> tuple[int, int | None]:
    """How much of a sequence is equal to which earlier one, the latest of several."""
    best: tuple[int, int | None] = (0, None)
    for number, other in enumerate(earlier):
        shared = 0
        for left, right in zip(mine, other, strict=False):
            if left != right:
                break
            shared += 1
        if shared and shared >= best[0]:
            best = shared, number
    return best


def naive(prompts: list[tuple[str, list[int], list[int]]]) -> list[Match]:
    answers = []
    for number, (namespace, prompt, generated) in enumerate(prompts):
        earlier = [tokens + output if other == namespace else [] for other, tokens, output in prompts[:number]]
        answers.append(Match(*longest(prompt, earlier), *longest(prompt + generated, earlier)))
    return answers


def walked(prompts: list[tuple[str, list[int], list[int]]]) -> list[Match]:
    tree = PrefixTree(lambda number: ids(prompts[number][1] + prompts[number][2]))
    return [
        tree.add(number, ids(prompt), ids(generated), namespace)
        for number, (namespace, prompt, generated) in enumerate(prompts)
    ]


few = st.integers(0, 2)
sequence = st.lists(few, max_size=12)


@given(st.lists(st.tuples(st.sampled_from("ab"), sequence, st.lists(few, max_size=4)), max_size=30))
def test_equals_comparison_with_every_earlier_sequence(prompts: list[tuple[str, list[int], list[int]]]) -> None:
    assert walked(prompts) == naive(prompts)


@given(
    st.lists(st.tuples(st.just(""), st.lists(st.integers(2**32 - 3, 2**32 - 1), max_size=60), st.just([])), max_size=12)
)
def test_large_ids_and_long_edges(prompts: list[tuple[str, list[int], list[int]]]) -> None:
    assert walked(prompts) == naive(prompts)


@given(st.integers(1, 400), st.integers(0, 400))
def test_a_difference_anywhere_in_a_long_edge_is_found(length: int, at: int) -> None:
    first = list(range(length))
    second = [*first[:at], 999_999, *first[at:]]
    prompts: list[tuple[str, list[int], list[int]]] = [("", first, []), ("", second, []), ("", first, [])]
    assert walked(prompts) == naive(prompts)


def test_a_repeat_shares_all_of_its_tokens() -> None:
    assert walked([("", [1, 2, 3], []), ("", [1, 2, 3], [])])[1] == Match(3, 0, 3, 0)


def test_generated_tokens_are_shared_but_are_no_part_of_the_prompt() -> None:
    answers = walked([("", [1, 2], [3, 4]), ("", [1, 2, 3, 4, 5], []), ("", [1, 2, 3], [4])])
    assert answers == [Match(0, None, 0, None), Match(4, 0, 4, 0), Match(3, 1, 4, 1)]


@given(st.lists(st.tuples(sequence, sequence, st.lists(few, max_size=3)), max_size=30))
def test_a_sequence_may_be_added_by_its_beginning_alone(parts: list[tuple[list[int], list[int], list[int]]]) -> None:
    prompts = [("", head + tail, generated) for head, tail, generated in parts]

    def rest(number: int) -> tuple[bytes, int] | None:
        head, tail, generated = parts[number]
        return (ids(head + tail + generated), len(ids(head + tail))) if tail or generated else None

    tree = PrefixTree(lambda number: ids(parts[number][0]), rest)
    assert [tree.add(number, ids(head)) for number, (head, _, _) in enumerate(parts)] == naive(prompts)
