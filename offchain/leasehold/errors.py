"""Every exception of Leasehold.

    LeaseholdError
    ├── SettingsError
    ├── ChainError
    │   ├── WrongChain            the node serves another chain than the deployment file names
    │   ├── RpcUnavailable        no endpoint answers
    │   ├── RpcError              an endpoint answered with an error
    │   ├── TransactionFailed     mined, but reverted
    │   ├── TransactionTimeout    not mined in time; it may still be
    │   ├── TransactionCancelled  another took its nonce, and does nothing
    │   ├── TokenRefused          the pool's token refused a call of the wallet
    │   ├── GasFundsLow           the key cannot pay for gas
    │   └── ContractError         a contract refused: one subclass per custom error, of the same name
    │       ├── Reverted, Panicked, UnknownRevert
    │       └── PriceTooHigh, NoFreeCells, …
    ├── WalletError
    │   ├── WrongPassword, KeyExists, KeyMissing
    ├── WorkloadError
    ├── DatasetError
    │   └── DatasetUnavailable
    └── AgentError

Catching the root is enough. `str(error)` is a sentence that says what to do next.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from leasehold._errors import ChainError, ContractError, LeaseholdError
from leasehold._generated import contract_errors
from leasehold._generated.contract_errors import *  # noqa: F403

__all__ = [
    "AgentError",
    "ChainError",
    "ContractError",
    "DatasetError",
    "DatasetUnavailable",
    "GasFundsLow",
    "KeyExists",
    "KeyMissing",
    "LeaseholdError",
    "Panicked",
    "Reverted",
    "RpcError",
    "RpcUnavailable",
    "SettingsError",
    "TokenRefused",
    "TransactionCancelled",
    "TransactionFailed",
    "TransactionTimeout",
    "UnknownRevert",
    "WalletError",
    "WorkloadError",
    "WrongChain",
    "WrongPassword",
    "decode_revert",
]
__all__ += contract_errors.__all__


class SettingsError(LeaseholdError):
    """A setting is missing or wrong."""

    exit_code: ClassVar[int] = 2


class WrongChain(ChainError):
    """The node serves another chain, or another history of it, than the deployment file names."""

    def __init__(self, expected: str, actual: str) -> None:
        super().__init__(expected, actual)
        self.expected = expected
        self.actual = actual

    def __str__(self) -> str:
        return (
            f"The node is on {self.actual} and the deployment on {self.expected}: "
            "use an RPC address of that chain, or another deployment file."
        )


class RpcUnavailable(ChainError):
    """No endpoint answered. `reasons` holds one line for each."""

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__(reasons)
        self.reasons = reasons

    def __str__(self) -> str:
        reasons = "; ".join(self.reasons)
        return f"No RPC endpoint answers ({reasons}): check the address and the network, then try again."


class RpcError(ChainError):
    """A node answered a request with an error."""

    def __init__(self, code: int, message: str, data: object = None, method: str = "") -> None:
        super().__init__(code, message, data, method)
        self.code = code
        self.message = message
        self.data = data
        self.method = method

    def __str__(self) -> str:
        what = self.method or "a request"
        return f"The node refused {what}: {self.message} (code {self.code}); try another RPC address."


class TransactionFailed(ChainError):
    """A transaction was mined and reverted, though it would have passed when it was sent."""

    def __init__(self, tx_hash: str) -> None:
        super().__init__(tx_hash)
        self.tx_hash = tx_hash

    def __str__(self) -> str:
        return (
            f"Transaction {self.tx_hash} was mined and failed, since the state changed meanwhile: "
            "look at the state and try again."
        )


class TransactionTimeout(ChainError):
    """A transaction was not mined in time. It may still be. ahead: the nonce of one of the account's that has to be
    mined first.
    """

    def __init__(
        self, tx_hash: str, seconds: float, nonce: int | None = None, ahead: int | None = None
    ) -> None:
        super().__init__(tx_hash, seconds, nonce, ahead)
        self.tx_hash = tx_hash
        self.seconds = seconds
        self.nonce = nonce
        self.ahead = ahead

    def __str__(self) -> str:
        number = "" if self.nonce is None else f" (nonce {self.nonce})"
        waited = (
            f"Transaction {self.tx_hash}{number} was not mined within {self.seconds:.0f} s and may still be: "
        )
        if self.ahead is None:
            return waited + "check it before sending another."
        return waited + (
            f"the account's transaction with nonce {self.ahead} stands in front of it; speed that one up or cancel it "
            "in the wallet that sent it, and this one follows."
        )


class TransactionCancelled(ChainError):
    """Somebody with the same key sent another transaction in a transaction's place, which does nothing."""

    def __init__(self, tx_hash: str, nonce: int, by: str) -> None:
        super().__init__(tx_hash, nonce, by)
        self.tx_hash = tx_hash
        self.nonce = nonce
        self.by = by

    def __str__(self) -> str:
        return (
            f"Transaction {self.tx_hash} was cancelled from another wallet with the same key: {self.by} took its nonce "
            f"{self.nonce}. Nothing was done; run the command again if it should be."
        )


class TokenRefused(ChainError):
    """The token itself refused a call of the wallet."""

    exit_code: ClassVar[int] = 4

    def __init__(self, token: str, account: str, call: str, reason: str = "") -> None:
        super().__init__(token, account, call, reason)
        self.token = token
        self.account = account
        self.call = call
        self.reason = reason

    def __str__(self) -> str:
        why = f", saying: {self.reason}" if self.reason else " without saying why"
        return (
            f"The token {self.token} refused `{self.call}`{why}. It may be paused, or have blocked {self.account} or "
            "the pool: look at the token before you try again."
        )


class GasFundsLow(ChainError):
    """The key's balance does not cover the gas. Amounts are wei."""

    def __init__(self, address: str, balance: int, needed: int) -> None:
        super().__init__(address, balance, needed)
        self.address = address
        self.balance = balance
        self.needed = needed

    def __str__(self) -> str:
        return (
            f"{self.address} has {self.balance / 1e18:.6f} of the chain's coin for gas and may need "
            f"{self.needed / 1e18:.6f}: send it some."
        )


class WalletError(LeaseholdError):
    """A key or the folder of keys."""

    exit_code: ClassVar[int] = 5


class WrongPassword(WalletError):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"That password does not open the wallet `{self.name}`: try again."


class KeyExists(WalletError):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"There is already a wallet `{self.name}`: choose another name."


class KeyMissing(WalletError):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return (
            f"There is no wallet `{self.name}`: see `leasehold wallet list`, or run `leasehold wallet new`."
        )


class WorkloadError(LeaseholdError):
    """A workload's description, its sealing, or its results."""

    exit_code: ClassVar[int] = 6


class DatasetError(LeaseholdError):
    """Adding, pinning or fetching data."""

    exit_code: ClassVar[int] = 7


class DatasetUnavailable(DatasetError):
    """Nobody who can be reached has the data."""

    def __init__(self, cid: str) -> None:
        super().__init__(cid)
        self.cid = cid

    def __str__(self) -> str:
        return (
            f"Nobody reachable has {self.cid}: check the CID, and that a node that is online has it pinned."
        )


class AgentError(LeaseholdError):
    """A machine's agent refused or cannot be reached."""

    exit_code: ClassVar[int] = 8


@dataclass(eq=False)
class Reverted(ContractError):
    """`Error(string reason)`: a `require` with a text."""

    signature: ClassVar[str] = "Error(string)"
    reason: str


@dataclass(eq=False)
class Panicked(ContractError):
    """`Panic(uint256 code)`: an assertion, overflow or the like."""

    signature: ClassVar[str] = "Panic(uint256)"
    code: int


@dataclass(eq=False)
class UnknownRevert(ContractError):
    """A revert without data, or with data of no error known here."""

    data: str

    def __str__(self) -> str:
        if self.data != "0x":
            return super().__str__()
        return (
            "The call was refused without a reason, which the pool's contracts always give: most likely its token did, "
            "which may be paused, or have blocked this account or the pool. Look at the token before you try again."
        )


def decode_revert(data: bytes) -> ContractError:
    """The exception for a call's revert data. Never raises: what is not known becomes `UnknownRevert`."""
    from eth_abi.abi import decode as abi_decode
    from eth_abi.exceptions import DecodingError

    known = _by_selector().get(data[:4])
    if known is None:
        return UnknownRevert("0x" + data.hex())
    types = _argument_types(known.signature)
    try:
        values: tuple[Any, ...] = abi_decode(types, data[4:])
    except (DecodingError, OverflowError, ValueError):
        return UnknownRevert("0x" + data.hex())
    shown = [to_checksum_address(v) if t == "address" else v for t, v in zip(types, values, strict=True)]
    return known(*shown)


def _argument_types(signature: str) -> list[str]:
    return [kind for kind in signature[signature.index("(") + 1 : -1].split(",") if kind]


@cache
def _by_selector() -> dict[bytes, type[ContractError]]:
    generated: list[type[ContractError]] = [getattr(contract_errors, n) for n in contract_errors.__all__]
    every: list[type[ContractError]] = [*generated, Reverted, Panicked]
    return {keccak(text=e.signature)[:4]: e for e in every}


# ------------------------------------------------------------------------------------------ workloads and
# their results


class WorkloadInvalid(WorkloadError):
    """A workload that cannot be read. `problems` has one line for each field."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return f"The workload cannot be used: {'; '.join(self.problems)}. docs/reference/workload.md lists every field."


class WorkloadFieldUnknown(WorkloadInvalid):
    """A workload names a field that version 1 does not have."""

    def __init__(self, field: str) -> None:
        super().__init__((f"there is no field `{field}`",))
        self.field = field


class WorkloadUnsupported(WorkloadError):
    """A kind or a field of version 1 that is not served yet."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field

    def __str__(self) -> str:
        return f"The workload asks for `{self.field}`, which is not served yet: leave it out."


class WorkloadTooLarge(WorkloadError):
    """A sealed workload over the limit. Sizes are bytes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(size, limit)
        self.size = size
        self.limit = limit

    def __str__(self) -> str:
        return (
            f"The sealed workload has {self.size} bytes and may have {self.limit}: "
            "put what is large into a dataset and name its CID."
        )


class WrongIdentity(WorkloadError):
    """Something sealed was not sealed to this key."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return f"This key does not open {self.what}: it was sealed to another one, so use the key it was made for."


class SealBroken(WorkloadError):
    """Something sealed is damaged or was never sealed."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return f"{self.what} is damaged or was not sealed with age: get it again from its source."


class AgeKeyInvalid(WorkloadError):
    """A text that is no age key. The text is not repeated, as it may be a secret one."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind

    def __str__(self) -> str:
        example = "`age1…`" if self.kind == "recipient" else "`AGE-SECRET-KEY-1…`"
        return f"That is not an age {self.kind}: it should look like {example}."


class ResultsInvalid(WorkloadError):
    """What a CID holds are no results, or not of the lease they were asked for."""

    def __init__(self, cid: str, problem: str) -> None:
        super().__init__(cid, problem)
        self.cid = cid
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.cid} does not hold this lease's results ({self.problem}): check the lease's published CID."


class DestinationExists(DatasetError):
    """Something is already where files should go; nothing is overwritten."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path} already exists and is not empty: name another folder, or move it away."


class DatasetUnsafe(DatasetError):
    """A dataset or result names a path that leaves its folder, or holds what is neither file, folder nor link."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"`{self.path}` is refused, since {self.problem}: its publisher must leave it out."


class DatasetTooLarge(DatasetError):
    """More bytes, or more files, than were allowed or than fit on the disk."""

    def __init__(self, what: str, size: int, limit: int) -> None:
        super().__init__(what, size, limit)
        self.what = what
        self.size = size
        self.limit = limit

    def __str__(self) -> str:
        return f"{self.what} needs {self.size} and there is room for {self.limit}: make room, or raise the limit."


class DatasetCorrupt(DatasetError):
    """What a node delivered is not what its CID names."""

    def __init__(self, cid: str, problem: str) -> None:
        super().__init__(cid, problem)
        self.cid = cid
        self.problem = problem

    def __str__(self) -> str:
        return f"What was delivered as {self.cid} is not it ({self.problem}): use another IPFS node."


class IpfsUnreachable(DatasetError):
    """The IPFS node's API does not answer."""

    def __init__(self, api: str, reason: str) -> None:
        super().__init__(api, reason)
        self.api = api
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"The IPFS node at {self.api} does not answer ({self.reason}): start it, or correct its address."
        )


class IpfsError(DatasetError):
    """The IPFS node refused a request."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(what, reason)
        self.what = what
        self.reason = reason

    def __str__(self) -> str:
        return f"The IPFS node refused {self.what}: {self.reason}. Check the CID or address and try again."


# ----------------------------------------------------------------------------------------- proofs, typed data


class TypedDataError(LeaseholdError, ValueError):
    """A field of typed data that its Solidity type cannot hold."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(field, problem)
        self.field = field
        self.problem = problem

    def __str__(self) -> str:
        return f"`{self.field}` {self.problem}: correct it and sign again."


class ProofError(LeaseholdError):
    """A proof that does not show what it should. `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"The proof was refused, since {self.reason}: sign again with the right key."


class ProofMalformed(ProofError):
    """Bytes that are no proof, or one of a kind that is not known."""


class ProofWrongKey(ProofError):
    """A sound signature, by somebody else."""


class ProofExpired(ProofError):
    """Signed for another time."""


class ProofOutOfScope(ProofError):
    """Signed for another chain, pool, account, lease or operation."""


__all__ += [
    "AgeKeyInvalid",
    "DatasetCorrupt",
    "DatasetTooLarge",
    "DatasetUnsafe",
    "DestinationExists",
    "IpfsError",
    "IpfsUnreachable",
    "ProofError",
    "ProofExpired",
    "ProofMalformed",
    "ProofOutOfScope",
    "ProofWrongKey",
    "ResultsInvalid",
    "SealBroken",
    "TypedDataError",
    "WorkloadFieldUnknown",
    "WorkloadInvalid",
    "WorkloadTooLarge",
    "WorkloadUnsupported",
    "WrongIdentity",
]
