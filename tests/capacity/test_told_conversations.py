"""Which requests are told to be turns of one conversation, by the log's sessions or by their prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prefixlab.capacity.conversations import Conversations
from prefixlab.intake import match_prompts, served_models, take
from prefixlab.prefix_tree import Match
from prefixlab.records import Prompt
from prefixlab.settings import LogSettings
from tests.capacity.block_table import Served, prompts_of

SYSTEM = "You answer questions about trains. Be brief, name the platform, and never guess a delay."


def found(prompts: Sequence[Prompt]) -> Conversations:
    matches: list[Match] = match_prompts(prompts)
    return Conversations(prompts, matches)


def chats(*logged: Sequence[str], **more: Sequence[str]) -> list[Prompt]:
    """Prompts of chats: the texts of user and assistant in turn behind one system prompt."""
    records: list[Mapping[str, object]] = []
    for at, texts in enumerate(logged):
        messages = [{"role": "system", "content": SYSTEM}]
        messages += [{"role": ("user", "assistant")[turn % 2], "content": text} for turn, text in enumerate(texts)]
        records.append({"messages": messages, **{name: values[at] for name, values in more.items()}})
    settings = LogSettings(tokenizers=("o200k_base",), chat_template="chatml")
    return take(records, settings, served_models(settings), None, lambda stage, count: None).prompts


def test_turns_of_a_chat_and_other_chats() -> None:
    prompts = chats(
        ["When does the train to Ulm leave?"],
        ["Is there a dining car?"],
        ["When does the train to Ulm leave?", "At nine.", "And the next?"],
        ["Is there a dining car?", "No.", "A vending machine?"],
        ["When does the train to Ulm leave?", "At nine.", "And the next?", "At ten.", "Thanks!"],
    )
    conversations = found(prompts)
    assert conversations.numbers == [0, 1, 0, 1, 0]
    assert (conversations.count, conversations.are_sessions) == (2, False)
    assert conversations.known_tokens[1] == 0
    assert conversations.known_tokens[2] > prompts[0].token_count - 8


def test_text_that_only_grew_is_another_conversation() -> None:
    assert found(chats(["Hi"], ["Hi there, is the nine o'clock train late?"], ["Hi"])).numbers == [0, 1, 2]


def test_sessions_of_the_log_count_more_than_prompts() -> None:
    prompts = chats(
        ["Platform?"],
        ["Platform?"],
        ["Something else"],
        ["Platform?", "Four.", "Sure?"],
        session_id=["a", "b", "a", "b"],
    )
    conversations = found(prompts)
    assert conversations.numbers == [0, 1, 0, 1]
    assert conversations.are_sessions
    assert conversations.known_tokens[1] == 0
    assert 0 < conversations.known_tokens[2] < prompts[0].token_count
    assert conversations.known_tokens[3] >= prompts[1].token_count - 8


def test_token_ids() -> None:
    first = tuple(range(100))
    log = [Served(first), Served((*first, 500, 501)), Served((*first[:96], 600, *range(700, 720))), Served(first[:50])]
    assert found(prompts_of(log)).numbers == [0, 0, 0, 1]
    short = [Served((1, 2, 3, 4, 5, 6, 7, 8)), Served((1, 2, 3, 9, 9, 9, 9, 9, 9, 9))]
    assert found(prompts_of(short)).numbers == [0, 1]


def test_traces_need_a_block_of_their_own() -> None:
    def prompt(ids: Sequence[int], tokens: int) -> Prompt:
        held = prompts_of([Served(tuple(ids))])[0]
        return Prompt("x", held.location, held.pieces, unit=10, token_count=tokens)

    prompts = [
        prompt([1, 2, 3, 90], 34),  # the first with 1, 2, 3
        prompt([1, 2, 3, 91, 92], 45),  # goes on with it, as far as full blocks tell
        prompt([1, 2, 3, 93], 38),  # the same beginning again, shorter than the last
        prompt([1, 2, 3, 94, 95], 47),  # matched with one that has no full block of its own
        prompt([1, 2, 3, 94, 96, 97], 58),  # goes on with the one before
    ]
    assert found(prompts).numbers == [0, 0, 1, 2, 2]
