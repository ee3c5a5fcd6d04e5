"""What the tests of sending share: a clock that the test moves, and a sender whose looks are its steps."""

import asyncio
from typing import Any

from devnet.anvil import Anvil
from leasehold.chain import LocalSigner, Rpc, Sender, Signer

SINK = "0x00000000000000000000000000000000000F1001"


class Steps:
    """Stands in for `asyncio.sleep`: each look of the sender is a step in which the test can act on the chain."""

    def __init__(self, *actions: Any) -> None:
        self._actions = list(actions)
        self.taken = 0
        self.now = 0.0

    def then(self, *actions: Any) -> None:
        """More of them, after the last."""
        self._actions.extend(actions)

    def clock(self) -> float:
        return self.now

    async def __call__(self, seconds: float) -> None:
        self.now += seconds
        self.taken += 1
        assert self.taken < 500, "the sender never came to an end"
        if self._actions:
            action = self._actions.pop(0)
            if action is not None:
                action()
        await asyncio.sleep(0)


def sender_of(
    anvil: Anvil, rpc: Rpc, steps: Steps, account: int = 0, *, signer: Signer | None = None, **options: Any
) -> Sender:
    signer = signer or LocalSigner(anvil.accounts[account].key)
    return Sender(rpc, signer, poll=1, clock=steps.clock, sleep=steps, **options)
