"""Reading logs in tests: from the sample files beside, or from bytes that a test writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prefixlab.contracts import ReadOptions
from prefixlab.readers import Reading, read_requests
from prefixlab.records import Request

DATA = Path(__file__).parent / "data"


@pytest.fixture
def sample() -> Callable[..., list[Request]]:
    """Requests of a sample file, named by its folder and the beginning of its name."""

    def read(start: str, **options: Any) -> list[Request]:
        return list(read_requests([str(path_of(start))], **options))

    return read


@pytest.fixture
def sample_path() -> Callable[[str], str]:
    return lambda start: str(path_of(start))


def path_of(start: str) -> Path:
    (path,) = DATA.glob(f"{start}*")
    return path


@pytest.fixture
def reading(tmp_path: Path) -> Callable[..., tuple[list[Request], Reading]]:
    """Writes bytes to a file and reads it: its requests, and the finished reading."""

    def read(data: bytes | str, name: str = "log.jsonl", **options: Any) -> tuple[list[Request], Reading]:
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        result = read_requests([str(path)], options.pop("options", ReadOptions()), **options)
        return list(result), result

    return read
