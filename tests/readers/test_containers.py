"""Files of every kind that logs come in, alone and many at once."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from prefixlab.errors import BadRecord, PrefixlabError
from prefixlab.readers import Reading, read_requests
from prefixlab.records import Chat, Request, Text, TokenIds

Write = Callable[..., tuple[list[Request], Reading]]
LINES = b'{"prompt": "a"}\n{"prompt": "b"}\n'


def prompts(requests: list[Request]) -> list[str]:
    return [request.body.prompt for request in requests if isinstance(request.body, Text)]


def lines(requests: list[Request]) -> list[int]:
    return [request.location.line for request in requests]


@pytest.mark.parametrize("data", [LINES, LINES.replace(b"\n", b"\r\n"), LINES.rstrip(), b"\xef\xbb\xbf" + LINES])
def test_lines(reading: Write, data: bytes) -> None:
    requests, result = reading(data)
    assert prompts(requests) == ["a", "b"]
    assert lines(requests) == [1, 2]
    assert result.inputs[0].requests == 2


def test_strings_are_prompts(reading: Write) -> None:
    requests, _ = reading('"a"\n"b"\n', "log.jsonl")
    assert prompts(requests) == ["a", "b"]


def test_blank_lines_count(reading: Write) -> None:
    requests, _ = reading(b'\n  \n{"prompt": "a"}\n\r\n{"prompt": "b"}')
    assert lines(requests) == [3, 5]


def test_a_cut_last_line(reading: Write) -> None:
    with pytest.raises(BadRecord, match=r":3: the JSON is cut. Complete the record, or use --skip-bad\."):
        reading(LINES + b'{"prompt": "c')


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b'{"prompt": NaN}', "NaN and Infinity are not JSON"),
        (b'{"prompt": "a"} x', "not JSON from column 17: 'x'"),
        (b"5", "no known log format: the record is a number"),
        (b"[1, 2]", "no known log format: the record is a list"),
        (b'{"prompt": "\xc3"}', r"not UTF-8: byte 0xc3 in column 13"),
    ],
)
def test_lines_that_are_no_records(reading: Write, line: bytes, what: str) -> None:
    with pytest.raises(BadRecord, match=f":3: (?:{what})"):
        reading(LINES + line + b"\n")


@pytest.mark.parametrize("name", ["log.json", "log.jsonl", "log"])
def test_arrays_know_their_lines(reading: Write, name: str) -> None:
    requests, _ = reading('\n[\n  {"prompt":\n "a, ]"},\n\n  {"prompt": "b\\"["}, {"prompt": "c"}\n]\n', name)
    assert prompts(requests) == ["a, ]", 'b"[', "c"]
    assert lines(requests) == [3, 6, 6]


@pytest.mark.parametrize("data", ["[]", " [ ]\n", "", "\n\n", "\ufeff"])
def test_nothing_is_no_error(reading: Write, data: str) -> None:
    requests, result = reading(data, "log.json")
    assert requests == []
    assert result.inputs[0].format == "empty"


def test_a_broken_element_spoils_no_other(reading: Write) -> None:
    requests, result = reading('[{"prompt": "a"},\n{"prompt": oops},\n{"prompt": "c"},\n{"prompt": "d', skip_bad=True)
    assert prompts(requests) == ["a", "c"]
    assert [error.line for error in result.errors] == [2, 4]


def test_pretty_printed_objects_one_after_another(reading: Write) -> None:
    data = json.dumps({"prompt": "a"}, indent=2) + "\n" + json.dumps({"prompt": "b"}, indent=2) + "\n"
    requests, _ = reading(data)
    assert prompts(requests) == ["a", "b"]
    assert lines(requests) == [1, 4]


def test_an_object_that_holds_the_records(reading: Write) -> None:
    data = json.dumps({"object": "list", "data": [{"prompt": "a"}, {"prompt": "b"}]}, indent=1)
    requests, _ = reading(data, "log.json")
    assert prompts(requests) == ["a", "b"]
    assert lines(requests) == [4, 7]


def test_text_lines(reading: Write) -> None:
    requests, result = reading("one\r\n\ntwo\u2028still two\n", "prompts.txt")
    assert [request.body for request in requests] == [Text("one", ""), Text("two\u2028still two", "")]
    assert lines(requests) == [1, 3]
    assert result.inputs[0].format == "plain"
    requests, _ = reading("one\ntwo", "prompts", input_format="plain")
    assert prompts(requests) == ["one", "two"]


def table(rows: list[dict[str, Any]], **options: Any) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), **options)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def test_csv(reading: Write) -> None:
    messages = [{"role": "user", "content": 'two\nlines, "quoted"'}]
    rows = [
        {"timestamp": "2026-03-14T09:00:00Z", "messages": json.dumps(messages, indent=1), "model": "m", "prompt": ""},
        {"timestamp": "", "messages": "", "model": "m", "prompt": "x" * 200_000},
        {"timestamp": "1773478800", "messages": "", "model": "n", "prompt": "[1]"},
    ]
    requests, _ = reading(table(rows), "log.csv")
    assert [request.body for request in requests] == [Chat(messages), Text("x" * 200_000), Text("[1]")]
    assert [request.arrived_at for request in requests] == [1773478800.0, None, 1773478800.0]
    assert [request.namespace.model for request in requests] == ["m", "m", "n"]
    assert lines(requests) == [2, 8, 9]
    requests, _ = reading(table(rows, delimiter="\t"), "log.tsv")
    assert len(requests) == 3


def test_csv_rows_that_are_bad(reading: Write) -> None:
    data = b"id,messages,prompt\n1,[oops,\n2,,ok\n3,,a,b\n4,,\xff\n5,,ok\n"
    requests, result = reading(data, "log.csv", skip_bad=True)
    assert prompts(requests) == ["ok", "ok"]
    assert [error.line for error in result.errors] == [2, 4, 5]


@pytest.mark.parametrize(
    ("rows", "line", "said"),
    [
        (b'1,"a"\n2,"b\nc\n3,d\n', 3, "the quote that opens here is not closed"),
        (b'1,"a"\n2,"b\n3,"c"\n4,d\n', 3, "the quote that opens here is not closed"),
        (b'"x\ny","b\n3,c\n', 3, "the quote that opens here is not closed"),
        (b'1,a\n2,"b"c\n', 3, "the quote that opens here is not closed"),
        (b"1,a\n2\n3,c\n", 3, "the row has 1 cell, the header 2"),
        (b"1,a\n2,b,c\n", 3, "the row has 3 cells, the header 2"),
    ],
)
def test_csv_that_does_not_hold_its_form(reading: Write, rows: bytes, line: int, said: str) -> None:
    with pytest.raises(BadRecord, match=said) as caught:
        reading(b"id,prompt\n" + rows, "log.csv")
    assert caught.value.line == line


def test_columns_of_one_name(reading: Write, tmp_path: Path) -> None:
    with pytest.raises(BadRecord, match=r":1: the header names a column twice: prompt\."):
        reading(b"id,prompt,prompt\n1,a,b\n", "log.csv")
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    parquet.write_table(pyarrow.table([["a"], ["b"]], names=["prompt", "prompt"]), tmp_path / "log.parquet")
    with pytest.raises(PrefixlabError, match=r":1: two columns have the same name: prompt\."):
        list(read_requests([str(tmp_path / "log.parquet")]))


def test_blank_lines_of_a_table_are_no_rows(reading: Write) -> None:
    requests, _ = reading(b"id,prompt\n\n1,a\n\n", "log.csv")
    assert prompts(requests) == ["a"]


def test_parquet(reading: Write, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    calls = [{"id": "1", "function": {"name": "f"}}]
    chats = [
        [{"role": "user", "content": "q"}],
        [{"role": "assistant", "content": None, "tool_calls": calls}],
    ]
    columns = {
        "messages": [*chats, None],
        "prompt_token_ids": [None, None, [1, 2]],
        "timestamp": [1773478800, 1773478801, 1773478802],
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "source")
    data = (tmp_path / "source").read_bytes()
    for name, content in (("log.parquet", data), ("log", data), ("log.parquet.gz", gzip.compress(data))):
        requests, _ = reading(content, name)
        assert [request.body for request in requests[:2]] == [Chat(chat) for chat in chats]
        assert isinstance(requests[2].body, TokenIds)
        assert [request.arrived_at for request in requests] == [1773478800.0, 1773478801.0, 1773478802.0]
        assert lines(requests) == [1, 2, 3]
    with pytest.raises(PrefixlabError, match=r"log\.parquet: no readable Parquet file"):
        reading(data[:-20], "log.parquet")


COMPRESSED = {
    "gz": gzip.compress(LINES, mtime=0),
    "two gz members": gzip.compress(LINES[:16], mtime=0) + gzip.compress(LINES[16:], mtime=0),
    "zst": zstandard.compress(LINES),
    "two zst frames": zstandard.compress(LINES[:16]) + zstandard.compress(LINES[16:]),
}


@pytest.mark.parametrize("kind", COMPRESSED)
@pytest.mark.parametrize("name", ["log.jsonl.gz", "log.jsonl", "log.zst"])
def test_compressed_files_are_told_by_their_bytes(reading: Write, kind: str, name: str) -> None:
    requests, _ = reading(COMPRESSED[kind], name)
    assert prompts(requests) == ["a", "b"]


@pytest.mark.parametrize("kind", COMPRESSED)
def test_cut_archives(reading: Write, kind: str) -> None:
    whole = COMPRESSED[kind]
    with pytest.raises(BadRecord, match="stream is cut"):
        reading(whole[:-3])
    for end in range(5, len(whole)):
        try:
            requests, _ = reading(whole[:end])
        except BadRecord as error:
            assert "stream is cut" in error.what  # noqa: PT017
        else:
            assert "two" in kind
            assert prompts(requests) == ["a"]
    _, result = reading(gzip.compress(LINES * 50_000)[:-200], skip_bad=True)
    assert result.skipped == 1


def test_damaged_archives(reading: Write) -> None:
    for whole in (COMPRESSED["gz"], COMPRESSED["zst"]):
        damaged = whole[:10] + bytes([byte ^ 0x55 for byte in whole[10:]])
        with pytest.raises(PrefixlabError, match=r"stream is|cannot be read"):
            reading(damaged)


def test_bombs_are_streamed(reading: Write) -> None:
    for data in (gzip.compress(b"\n" * 2_000_000 + LINES), zstandard.compress(b"\n" * 2_000_000 + LINES)):
        requests, _ = reading(data, limit=1)
        assert lines(requests) == [2_000_001]


def test_utf16_is_named(reading: Write) -> None:
    with pytest.raises(PrefixlabError, match=r"the text is UTF-16\. Convert it to UTF-8"):
        reading('{"prompt": "a"}'.encode("utf-16"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.jsonl", "a.jsonl.gz", "notes.md", ".hidden.jsonl", "sub/c.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(json.dumps({"prompt": name}).encode())
    return tmp_path


def test_folders_and_patterns(folder: Path) -> None:
    assert prompts(list(read_requests([str(folder)]))) == ["a.jsonl.gz", "b.jsonl", "sub/c.json"]
    assert prompts(list(read_requests([f"{folder}/*.jsonl*"]))) == ["a.jsonl.gz", "b.jsonl"]
    result = read_requests([f"{folder}/b.jsonl", f"{folder}/sub"])
    assert prompts(list(result)) == ["b.jsonl", "sub/c.json"]
    assert [entry.path for entry in result.inputs] == [f"{folder}/b.jsonl", f"{folder}/sub/c.json"]


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("none.jsonl", "none.jsonl: no such file or folder"),
        ("*.csv", "the pattern matches no file"),
        ("empty", "the folder holds no log"),
    ],
)
def test_paths_that_lead_nowhere(folder: Path, path: str, what: str) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(PrefixlabError, match=what):
        read_requests([str(folder / path)])


def test_no_path_at_all() -> None:
    with pytest.raises(PrefixlabError, match="no log given"):
        read_requests([])


@pytest.mark.parametrize(
    "data", [LINES, COMPRESSED["gz"], COMPRESSED["zst"], b"[" + LINES[:-1].replace(b"\n", b",") + b"]"]
)
def test_standard_input(data: bytes) -> None:
    stdin = io.BytesIO(data)
    result = read_requests(["-"], stdin=stdin, digest=True)
    assert prompts(list(result)) == ["a", "b"]
    assert not stdin.closed
    assert result.inputs[0].path == "-"
    assert result.inputs[0].sha256 == hashlib.sha256(data).hexdigest()


def test_limit_and_digest(tmp_path: Path) -> None:
    data = LINES * 10_000
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(data)
    result = read_requests([str(tmp_path)], limit=20_003, digest=True)
    assert len(list(result)) == 20_003
    assert [entry.requests for entry in result.inputs] == [20_000, 3]
    assert {entry.sha256 for entry in result.inputs} == {hashlib.sha256(data).hexdigest()}
    result = read_requests([str(tmp_path)], limit=2)
    assert len(list(result)) == 2
    assert [entry.sha256 for entry in result.inputs] == [None]
