"""What a contract may answer that somebody calls a Safe."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from leasehold.chain.typed import NotASafe, read_safe

if TYPE_CHECKING:
    from leasehold.chain import Rpc

PLACE, OWNER = "0x" + "11" * 20, "0x" + "22" * 20


def answering(version: str) -> Rpc:
    answers = {
        keccak(text="VERSION()")[:4]: encode(["string"], [version]),
        keccak(text="getOwners()")[:4]: encode(["address[]"], [[OWNER]]),
        keccak(text="getThreshold()")[:4]: encode(["uint256"], [1]),
    }

    async def eth_call(_: str, data: bytes) -> bytes:
        return answers[data]

    return cast("Rpc", SimpleNamespace(eth_call=eth_call))


@pytest.mark.parametrize("version", ["1.3.0", "1.4.1+L2", "2.0"])
async def test_one_that_is_understood(version: str) -> None:
    assert (await read_safe(answering(version), PLACE, 1)).threshold == 1


@pytest.mark.parametrize("version", ["1.2.9", "", "1", "²³.4", "x.1.3", pytest.param("9" * 5_000, id="long")])
async def test_one_that_is_not(version: str) -> None:
    with pytest.raises(NotASafe):
        await read_safe(answering(version), PLACE, 1)
