"""`Accounts`: acting for an account by signature, groups, delegates."""

from collections.abc import Sequence

from eth_utils.crypto import keccak

from leasehold.chain._contract import Contract
from leasehold.chain._eip712 import Call
from leasehold.chain._past import logs_since
from leasehold.chain._sender import receipt_of
from leasehold.chain._typed import Execute
from leasehold.chain._types import Delegation, Receipt
from leasehold.errors import InvalidNonce

_EXECUTED = "0x" + keccak(text="Executed(address,uint256,address)").hex()


class AccountsContract(Contract):
    """Who may act for an account: `IAccounts`."""

    _abi = "Accounts"

    async def execute(
        self, account: str, calls: Sequence[Call], nonce: int, deadline: int, proof: bytes
    ) -> Receipt:
        """Makes `calls` as `account`, whoever sends them. proof: over the `Execute` digest."""
        return await self._write("execute", account, list(calls), nonce, deadline, proof)

    async def executed(self, execution: Execute, *, since: int) -> Receipt | None:
        """The transaction by which this was done, whoever sent it; `None` where nothing with its nonce is in a block
        from `since` on. Raises InvalidNonce where other calls have used up the nonce, or it cannot be told.
        """
        account, nonce = bytes.fromhex(execution.account[2:]), execution.nonce
        topics = [_EXECUTED, "0x" + account.rjust(32, b"\0").hex(), f"0x{nonce:064x}"]
        logs = await logs_since(self._rpc, since, address=self.address, topics=topics)
        if not logs:
            return None
        tx_hash = logs[0]["transactionHash"]
        sent, raw = await self._rpc.batch(
            [("eth_getTransactionByHash", [tx_hash]), ("eth_getTransactionReceipt", [tx_hash])]
        )
        if sent is None or raw is None:  # a reorganisation between two questions
            return None
        if not self._says(execution, bytes.fromhex(str(sent["input"])[2:])):
            raise InvalidNonce(nonce, nonce + 1)
        return receipt_of(raw)

    def _says(self, execution: Execute, data: bytes) -> bool:
        """Whether calldata is an `execute` of exactly this, by whichever proof."""
        try:
            said = self._function("execute").arguments(data)
        except ValueError:
            return False
        calls = tuple(Call(call["target"], bytes(call["data"])) for call in said["calls"])
        named = (said["account"], calls, said["nonce"], said["deadline"])
        return named == (execution.account, execution.calls, execution.nonce, execution.deadline)

    async def is_authorized(self, account: str, digest: bytes, proof: bytes) -> bool:
        """Whether `proof` shows that `account` approved `digest`."""
        return bool(await self._read("isAuthorized", account, digest, proof))

    async def nonce_of(self, account: str, key: int = 0) -> int:
        """The next nonce of `key`, already shifted: `key << 64 | sequence`."""
        return int(await self._read("nonceOf", account, key))

    async def actor(self) -> str:
        return str(await self._read("actor"))

    async def execute_digest(self, account: str, calls: Sequence[Call], nonce: int, deadline: int) -> bytes:
        return bytes(await self._read("executeDigest", account, list(calls), nonce, deadline))

    async def accept_transfer_digest(self, account: str, controller: str, lease: int, deadline: int) -> bytes:
        """What `account` signs to take over a lease (`Pool.transfer_lease`)."""
        return bytes(await self._read("acceptTransferDigest", account, controller, lease, deadline))

    # ---------------------------------------------------------------------------------------------- delegates

    async def set_delegate(self, pool: str, delegate: str, cap: int, period: int, expiry: int) -> Receipt:
        """Lets `delegate` act in `pool`, from a new period on. cap: token units in each `period` of seconds (0: one
        for ever). expiry: the last timestamp at which it may. A cap and an expiry of 0 end it.
        """
        return await self._write("setDelegate", pool, delegate, cap, period, expiry)

    async def execute_as_delegate(self, account: str, pool: str, data: bytes) -> Receipt:
        """One call of `pool` (made by `Pool.encode`) as `account`, whose delegate the sender is."""
        return await self._write("executeAsDelegate", account, pool, data)

    async def delegation_of(self, account: str, pool: str, delegate: str) -> Delegation:
        """All zeros where `delegate` is none."""
        return Delegation(**await self._read("delegationOf", account, pool, delegate))

    # ------------------------------------------------------------------------------------------------- groups

    async def group_address(self, threshold: int, signers: Sequence[str], salt: bytes) -> str:
        """The account of these signers, who come in strictly ascending order. salt: 32 bytes."""
        return str(await self._read("groupAddress", threshold, list(signers), salt))

    async def deploy_group(self, threshold: int, signers: Sequence[str], salt: bytes) -> Receipt:
        """Deploys the group's minimal account, so that what was sent to its address can be rescued. Anyone may."""
        return await self._write("deployGroup", threshold, list(signers), salt)

    def rescue(self, token: str, to: str, amount: int) -> Call:
        """The call that sends `token` (with the zero address, the chain's coin) from a group's deployed account.

        It works only among the calls of `execute`, which is why nothing is sent here.
        """
        return self.call("rescue", token, to, amount)
