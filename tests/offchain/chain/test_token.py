"""Tokens that are not as the standard would have them."""

from typing import Any

import pytest

from devnet.pool import PoolChain
from leasehold.chain import Token
from leasehold.errors import TokenRefused, UnknownRevert

SPENDER = "0x00000000000000000000000000000000000F1002"
# approve: revert, without data, from one amount above zero to another; else keep it. Anything else: that amount.
ZERO_FIRST = "0x5f3560e01c63095ea7b3146016575f545f5260205ff35b5f541515602435151516602a576024355f55005b5f5ffd"
PAUSED = "0x5f3560e01c63095ea7b3146016575f545f5260205ff35b5f5ffd"


def token_with(chain: PoolChain, code: str) -> Token:
    address = "0x00000000000000000000000000000000000F1003"
    chain.anvil.request("anvil_setCode", address, code)
    return Token(chain.rpc, address, chain.sender(1))


async def test_a_token_that_wants_zero_first_gets_it(chain: PoolChain) -> None:
    token = token_with(chain, ZERO_FIRST)
    for amount in (5, 7, 0, 9):
        await token.approve(SPENDER, amount)
        assert await token.allowance(chain.address(1), SPENDER) == amount


@pytest.mark.parametrize("amount", [0, 5])
async def test_a_refusal_without_words_is_said_to_be_the_token_s(chain: PoolChain, amount: int) -> None:
    token = token_with(chain, PAUSED)
    with pytest.raises(TokenRefused, match="may be paused, or have blocked") as caught:
        await token.approve(SPENDER, amount)
    assert chain.address(1) in str(caught.value)
    assert "deployment" not in str(caught.value)


def test_a_revert_without_data_does_not_blame_the_deployment_file() -> None:
    assert "deployment" not in str(UnknownRevert("0x"))
    assert "paused" in str(UnknownRevert("0x"))
    assert "deployment" in str(UnknownRevert("0x12345678"))


async def test_what_arrived_is_read_from_the_token_s_own_events(chain: PoolChain) -> None:
    token: Any = chain.token(0)
    receipt = await token.transfer(SPENDER, 12)
    assert token.arrived(receipt, SPENDER) == 12
    assert token.arrived(receipt, chain.address(0)) == 0
