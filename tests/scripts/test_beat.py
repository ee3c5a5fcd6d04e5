"""A chain of one's own on which time passes, and on which nobody waits for a block all the same."""

from __future__ import annotations

from devnet.anvil import Anvil
from devnet.beat import beating
from devnet.moments import at_once


def test_blocks_come_by_themselves_as_long_as_it_lasts_and_what_is_sent_is_mined_at_once() -> None:
    with Anvil() as chain:
        with beating(chain, seconds=0.01):
            at_once(lambda: chain.block_number > 2)
        over = chain.block_number
        with beating(chain, seconds=3_600):
            chain.send({"to": chain.accounts[1].address, "value": "0x1"})  # raises where it is not mined
        assert chain.block_number == over + 1
