"""What another side says that is no agent, or none that means well."""

from __future__ import annotations

from io import BytesIO

import pytest

from leasehold.market._agent_socket import answer_of


@pytest.mark.parametrize("length", [b"\xb2", b"-1", b"2x", b""])
def test_a_length_that_is_no_number_is_none(length: bytes) -> None:
    status, body = answer_of(BytesIO(b"HTTP/1.1 200 OK\r\ncontent-length: " + length + b"\r\n\r\n{}"))
    assert (int(status), bytes(body)) == (200, b"")
