"""What people write in one word for a part of a workload."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from leasehold.cli._hints import said
from leasehold.market import (
    InvalidInput,
    read_command,
    read_dataset,
    read_port,
    read_readiness,
    read_ulimit,
    read_volumes,
)


def test_each_is_the_fields_that_it_stands_for() -> None:
    assert read_port("8080") == {"container": 8080, "protocol": "tcp"}
    assert read_port("53:5353/udp") == {"container": 53, "protocol": "udp", "host": 5353}
    assert read_dataset("bafy:/data/a:b") == {"cid": "bafy", "path": "/data/a:b"}
    assert read_ulimit("nofile=65536") == ("nofile", 65536)
    assert read_ulimit("memlock=unlimited") == ("memlock", "unlimited")
    assert read_readiness("http:8080/health/live") == {"http": {"port": 8080, "path": "/health/live"}}
    assert read_readiness("http:8080") == {"http": {"port": 8080}}
    assert read_readiness("test -e '/a b'") == {"command": ["test", "-e", "/a b"]}
    assert read_command("") == []


def test_a_volume_may_have_a_size_and_a_beginning() -> None:
    mounts = ["data:/data", "models:/models:5GiB"]
    data, models = {"name": "data", "path": "/data"}, {"name": "models", "path": "/models", "size": "5GiB"}
    assert read_volumes(mounts) == [data, models]
    assert read_volumes(mounts, ["models=bafy"]) == [data, {**models, "source": "bafy"}]
    assert (
        read_volumes(["data:/one", "data:/two"]) != []
    )  # named twice: the workload refuses that, by its field


@pytest.mark.parametrize(
    ("read", "text", "told"),
    [
        (read_port, "http", "'http' is no port: write --port 8080, 8080:18080 or 53/udp."),
        (read_port, "80:web", "'80:web' is no port: write --port 8080, 8080:18080 or 53/udp."),
        (read_dataset, "bafy", "'bafy' has no place: write --dataset CID:/data/name."),
        (read_ulimit, "nofile", "'nofile' sets no limit: write --ulimit nofile=65536 or memlock=unlimited."),
        (read_readiness, "sh 'x", "--ready: 'sh 'x' has a quote without its other end."),
        (
            lambda text: read_volumes([text]),
            "data",
            "'data' has no place: write --volume NAME:/data or NAME:/data:100GiB.",
        ),
        (
            lambda text: read_volumes(["data:/data"], [text]),
            "other=bafy",
            "'other=bafy' fills no volume: write --volume-from NAME=CID beside --volume NAME:/data.",
        ),
    ],
)
def test_what_cannot_be_read_is_told_in_the_prompts_words(
    read: Callable[[str], object], text: str, told: str
) -> None:
    with pytest.raises(InvalidInput) as wrong:
        read(text)
    assert said(wrong.value) == told
    assert "--" not in str(wrong.value)
