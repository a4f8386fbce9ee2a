"""The awkward logs that real systems write."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from prefixlab.errors import BadRecord
from prefixlab.readers import Reading, read_requests
from prefixlab.records import AnthropicChat, Chat, Request

Sample = Callable[..., list[Request]]
Path = Callable[[str], str]


@pytest.mark.parametrize(
    ("name", "line", "what", "left"),
    [
        ("edge/03", 2, "no messages", 2),
        ("edge/06", 2, "the JSON is cut", 2),
        ("edge/09", 1, "not UTF-8: byte 0xe9 in column", 1),
        ("edge/39", 1, "a lone surrogate", 1),
    ],
)
def test_bad_lines_are_named_or_skipped(
    sample: Sample, sample_path: Path, name: str, line: int, what: str, left: int
) -> None:
    with pytest.raises(BadRecord) as caught:
        sample(name)
    assert caught.value.line == line
    assert f":{line}: {what}" in str(caught.value)
    result = read_requests([sample_path(name)], skip_bad=True)
    assert len(list(result)) == left
    assert (result.inputs[0].requests, result.inputs[0].skipped, result.skipped) == (left, 1, 1)
    assert result.errors[0].line == line


def test_an_empty_file_holds_no_requests(sample_path: Path) -> None:
    result: Reading = read_requests([sample_path("edge/05")])
    assert list(result) == []
    assert (result.inputs[0].format, result.inputs[0].requests) == ("empty", 0)


@pytest.mark.parametrize(
    ("name", "count"), [("edge/08", 2), ("edge/10", 2), ("edge/11", 2), ("edge/13", 2), ("edge/28", 1)]
)
def test_legal_logs_are_read(sample: Sample, name: str, count: int) -> None:
    assert len(sample(name)) == count


def test_a_line_separator_in_a_string_is_kept(sample: Sample) -> None:
    body = sample("edge/08")[0].body
    assert isinstance(body, Chat)
    assert body.messages[1]["content"] == "line one\u2028line two"


def test_iso_time_stamps_are_arrivals(sample: Sample) -> None:
    assert [request.arrived_at for request in sample("edge/11")] == [1793606400.0, 1793606401.0]


def test_parts_are_kept_as_logged(sample: Sample) -> None:
    contents = [request.body.messages[1]["content"] for request in sample("edge/13") if isinstance(request.body, Chat)]
    assert contents == [[{"type": "text", "text": "hello"}]] * 2


def test_responses_bodies(sample: Sample) -> None:
    for request in sample("edge/43"):
        assert isinstance(request.body, Chat)
        assert [message["role"] for message in request.body.messages] == ["system", "user"]


def test_anthropic_bodies(sample: Sample) -> None:
    for request in sample("edge/45"):
        assert isinstance(request.body, AnthropicChat)
        assert request.body.system[0]["type"] == "text"
