"""The gateway hands on every call of the agent's reference, and nothing else."""

import json
import re
from pathlib import Path

import pytest

from leasehold.gateway._agent_paths import MAX_QUERY, call_of, check_terminal
from leasehold.gateway._refusals import BadRequest, NotHere

REFERENCE = json.loads((Path(__file__).parents[4] / "docs/reference/agent-api.json").read_text())
EXAMPLES = {
    "lease": "12.1",
    "machine": "7",
    "digest": "ab" * 32,
    "key": "cd" * 32,
    "name": "my-data",
    "recipient": "age1" + "q" * 58,
    "session": "0x" + "ef" * 20,
}


def calls() -> list[tuple[str, str, list[str]]]:
    return [
        (method.upper(), re.sub(r"\{(\w+)\}", lambda found: EXAMPLES[found[1]], path), list(kinds))
        for path, methods in REFERENCE["paths"].items()
        for method, said in methods.items()
        for status, answer in said["responses"].items()
        if status != "default" and (kinds := answer["content"])
    ]


@pytest.mark.parametrize(("method", "path", "kinds"), calls())
def test_every_call_of_the_reference_goes_on(method: str, path: str, kinds: list[str]) -> None:
    assert call_of(method, path.encode(), b"tail=5").kind.partition(";")[0] in kinds


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("GET", "/"),
        ("GET", "/v1"),
        ("GET", "/v1/openapi.json"),
        ("GET", "/metrics"),
        ("POST", "/v1/leases/7"),
        ("GET", "/v1/leases/0"),
        ("GET", "/v1/leases/7/exec"),
        ("GET", "/v1/leases/7/logs/"),
        ("GET", "//v1/health"),
        ("GET", "/v1//health"),
        ("GET", "/v1/../v1/health"),
        ("GET", "/v1/leases/7/../8/logs"),
        ("GET", "/v1/leases/7%2F..%2F8/logs"),
        ("GET", "/v1/leases/7%00"),
        ("GET", "/v1/health\n"),
        ("GET", "/v1/health HTTP/1.1\r\nHost: x"),
        ("GET", "/v1/health?x"),
        ("GET", "/v1/health#x"),
        ("GET", "/v1/leases/٧"),
        ("DELETE", "/v1/leases/7/volumes/..".replace("..", ".")),
        ("PUT", "/v1/workloads/" + "AB" * 32),
        ("CONNECT", "/v1/health"),
        ("GET", "http://127.0.0.1/v1/health"),
        ("GET", "@127.0.0.1/v1/health"),
    ],
)
def test_nothing_else_does(method: str, path: str) -> None:
    with pytest.raises(NotHere):
        call_of(method, path.encode(), b"")


@pytest.mark.parametrize("query", [b"a b", b"a\r\nX: y", b"a#b", "ä".encode(), b"\0", b"x" * (MAX_QUERY + 1)])
def test_a_query_of_other_characters_is_refused(query: bytes) -> None:
    with pytest.raises(BadRequest):
        call_of("GET", b"/v1/health", query)


def test_a_terminal_is_at_one_place() -> None:
    check_terminal(b"/v1/leases/7/exec", b"")
    for path in (b"/v1/leases/7/logs", b"/v1/leases/7/exec/", b"/v1/leases/7/exec%20", b"/exec"):
        with pytest.raises(NotHere):
            check_terminal(path, b"")
