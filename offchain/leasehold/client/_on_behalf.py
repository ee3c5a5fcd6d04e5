"""Sending for an account that is not the wallet's: as a group, by a proposal, or as somebody's delegate.

A use case does not know the difference. It asks the client whose account it is, and sends through bindings; what stands
there instead of the wallet's sender makes a proposal of the call, or has `Accounts` make it for the other account.
"""

from __future__ import annotations

from leasehold.chain import AccountsContract, Call, Pool, Receipt, Sends
from leasehold.client._errors import CannotAct, NoDelegate, PaysFromLedger
from leasehold.errors import NotAuthorized


class Proposed(Exception):
    """What a group would send. Leaves the use case where it would have sent it, and never the client."""

    def __init__(self, *calls: Call) -> None:
        super().__init__(f"{len(calls)} calls")
        self.calls = calls


class Proposing:
    """Stands where a wallet's sender would, for an account that acts by proposals."""

    def __init__(self, account: str, pool: Pool) -> None:
        self.address = account
        self._pool = pool

    async def send(self, to: str, data: bytes = b"", value: int = 0) -> Receipt:
        """Never returns.

        Raises:
            Proposed: always, but for CannotAct: nothing that a group can call.
        """
        if value or to not in await self._pool.contracts():
            raise PaysFromLedger(self.address)
        raise Proposed(Call(to, data))


class AsDelegate:
    """Has `Accounts` make each call for another account, whose delegate the wallet is."""

    def __init__(self, sender: Sends, account: str, pool: Pool) -> None:
        self.address = account
        self._sender = sender
        self._pool = pool

    async def send(self, to: str, data: bytes = b"", value: int = 0) -> Receipt:
        """Raises CannotAct for a target that is not the pool, NoDelegate, and ContractError for what a delegate may
        not do.
        """
        if value or to != self._pool.address:
            raise CannotAct(
                "A delegate may open, extend, close, reject, resize and set the workload of leases, paid from the "
                f"account's ledger, and nothing else: ask {self.address} to do this."
            )
        accounts = self._pool.deployment.accounts
        wrapped = AccountsContract.encode("executeAsDelegate", self.address, to, data)
        try:
            return await self._sender.send(accounts, wrapped)
        except NotAuthorized as error:
            if error.actor.lower() != self._sender.address.lower():
                raise  # the pool refuses the account itself
            raise NoDelegate(self._sender.address, self.address) from None
