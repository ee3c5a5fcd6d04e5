"""Every exception of Leasehold that more than one of its rooms raises.

    LeaseholdError                  the root: catching it is enough
    ├── SettingsError
    ├── ChainError
    │   ├── WrongChain              the node serves another chain than the deployment file names
    │   ├── RpcUnavailable          no endpoint answers
    │   ├── RpcError                an endpoint answered with an error
    │   ├── TransactionFailed       mined, but reverted
    │   ├── TransactionTimeout      not mined in time; it may still be
    │   ├── TransactionCancelled    another took its nonce, and does nothing
    │   ├── BranchGone              a reorganisation took the block back at which it was decided on
    │   ├── TokenRefused            the pool's token refused a call of the wallet
    │   ├── GasFundsLow             the key cannot pay for gas
    │   └── ContractError           a contract refused: one subclass for each custom error, of the same name
    │       ├── Reverted
    │       ├── Panicked
    │       └── UnknownRevert
    ├── WalletError
    │   ├── WrongPassword
    │   ├── KeyExists
    │   ├── KeyMissing
    │   └── KeyInDevice
    ├── WorkloadError
    │   ├── WorkloadInvalid
    │   │   └── WorkloadFieldUnknown
    │   ├── WorkloadUnsupported
    │   ├── WorkloadTooLarge
    │   ├── WrongIdentity
    │   ├── SealBroken
    │   ├── AgeKeyInvalid
    │   ├── CodeInvalid
    │   └── ResultsInvalid
    ├── DatasetError
    │   ├── DatasetUnavailable
    │   ├── DestinationExists
    │   ├── DatasetUnsafe
    │   ├── DatasetTooLarge
    │   ├── DatasetCorrupt
    │   ├── IpfsUnreachable
    │   ├── IpfsElsewhere
    │   ├── StreamsOff
    │   └── IpfsError
    ├── AgentError
    ├── TypedDataError
    └── ProofError
        ├── ProofMalformed
        ├── ProofWrongKey
        ├── ProofExpired
        └── ProofOutOfScope

Those of renting are in `leasehold.market`, those of an agent's answers in `leasehold.market.wire`. Each has a `code`
that stays, a `problem` with its data and an `advice`; `str(error)` is both. `error_type` defines one.
"""

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from leasehold._errors import ChainError, ContractError, LeaseholdError, error_type, sentence
from leasehold._faces import face

if TYPE_CHECKING:
    from leasehold._generated import contract_errors as _contract_errors
    from leasehold._generated.contract_errors import *  # noqa: F403

__all__ = [
    "AgeKeyInvalid",
    "AgentError",
    "BranchGone",
    "ChainError",
    "CodeInvalid",
    "ContractError",
    "DatasetCorrupt",
    "DatasetError",
    "DatasetTooLarge",
    "DatasetUnavailable",
    "DatasetUnsafe",
    "DestinationExists",
    "GasFundsLow",
    "IpfsElsewhere",
    "IpfsError",
    "IpfsUnreachable",
    "KeyExists",
    "KeyInDevice",
    "KeyMissing",
    "LeaseholdError",
    "Panicked",
    "ProofError",
    "ProofExpired",
    "ProofMalformed",
    "ProofOutOfScope",
    "ProofWrongKey",
    "ResultsInvalid",
    "Reverted",
    "RpcError",
    "RpcUnavailable",
    "SealBroken",
    "SettingsError",
    "StreamsOff",
    "TokenRefused",
    "TransactionCancelled",
    "TransactionFailed",
    "TransactionTimeout",
    "TypedDataError",
    "UnknownRevert",
    "WalletError",
    "WorkloadError",
    "WorkloadFieldUnknown",
    "WorkloadInvalid",
    "WorkloadTooLarge",
    "WorkloadUnsupported",
    "WrongChain",
    "WrongIdentity",
    "WrongPassword",
    "decode_revert",
    "error_type",
    "sentence",
]
if TYPE_CHECKING:
    __all__ += _contract_errors.__all__
else:
    __getattr__ = face(__name__, {}, rest="leasehold._generated.contract_errors")


class SettingsError(LeaseholdError):
    """A setting is missing or wrong."""

    code = "settings"
    exit_code: ClassVar[int] = 2


# --------------------------------------------------------------------------------------------- the chain


@error_type(
    "wrong-chain",
    problem="The node is on {actual} and the deployment on {expected}",
    advice="use an RPC address of that chain, or another deployment file.",
)
class WrongChain(ChainError):
    """The node serves another chain, or another history of it, than the deployment file names."""

    expected: str
    actual: str


@error_type(
    "rpc-unavailable",
    problem="No RPC endpoint answers ({listed})",
    advice="check the address and the network, then try again.",
)
class RpcUnavailable(ChainError):
    """No endpoint answered. `reasons` holds one line for each."""

    reasons: tuple[str, ...]

    @property
    def listed(self) -> str:
        return "; ".join(self.reasons)


@error_type(
    "rpc-error",
    problem="The node refused {asked}: {message} (code {number});",
    advice="try another RPC address.",
)
class RpcError(ChainError):
    """A node answered a request with an error. number: JSON-RPC's."""

    number: int
    message: str
    data: object = None
    method: str = ""

    @property
    def asked(self) -> str:
        return self.method or "a request"


@error_type(
    "transaction-failed",
    problem="Transaction {tx_hash} was mined and failed, since the state changed meanwhile",
    advice="look at the state and try again.",
)
class TransactionFailed(ChainError):
    """A transaction was mined and reverted, though it would have passed when it was sent."""

    tx_hash: str


@error_type(
    "transaction-timeout",
    problem="Transaction {tx_hash}{numbered} was not mined within {seconds:.0f} s and may still be",
    advice="{what_stands_before}",
)
class TransactionTimeout(ChainError):
    """A transaction was not mined in time. It may still be. ahead: the nonce of one of the account's that has to be
    mined first.
    """

    tx_hash: str
    seconds: float
    nonce: int | None = None
    ahead: int | None = None

    @property
    def numbered(self) -> str:
        return "" if self.nonce is None else f" (nonce {self.nonce})"

    @property
    def what_stands_before(self) -> str:
        if self.ahead is None:
            return "check it before sending another."
        return (
            f"the account's transaction with nonce {self.ahead} stands in front of it; speed that one up or cancel it "
            "in the wallet that sent it, and this one follows."
        )


@error_type(
    "transaction-cancelled",
    problem=(
        "Transaction {tx_hash} was cancelled from another wallet with the same key: {by} took its nonce {nonce}."
    ),
    advice="Nothing was done; send it again if it should be.",
)
class TransactionCancelled(ChainError):
    """Somebody with the same key sent another transaction in a transaction's place, which does nothing."""

    tx_hash: str
    nonce: int
    by: str


@error_type(
    "branch-gone",
    problem="The chain was reorganised: block {number} ({hash}) is not part of it any more, at which this was decided",
    advice="Nothing was done; look again what is right now.",
)
class BranchGone(ChainError):
    """What was to be sent was meant for a branch of the chain that is gone."""

    number: int
    hash: str


@error_type(
    "token-refused",
    problem="The token {token} refused `{call}`{saying}.",
    advice=(
        "It may be paused, or have blocked {account} or the pool: look at the token before you try again."
    ),
)
class TokenRefused(ChainError):
    """The token itself refused a call of the wallet."""

    exit_code: ClassVar[int] = 4
    token: str
    account: str
    call: str
    reason: str = ""

    @property
    def saying(self) -> str:
        return f", saying: {self.reason}" if self.reason else " without saying why"


@error_type(
    "gas-funds-low",
    problem="{address} has {balance:coin} of the chain's coin for gas and may need {needed:coin}",
    advice="send it some.",
)
class GasFundsLow(ChainError):
    """The key's balance does not cover the gas. Amounts are wei."""

    address: str
    balance: int
    needed: int


# ------------------------------------------------------------------------------------------ what a contract refuses


@error_type("reverted", problem="The contract refused, saying: {reason}")
class Reverted(ContractError):
    """`Error(string reason)`: a `require` with a text."""

    signature: ClassVar[str] = "Error(string)"
    reason: str


@error_type(
    "panicked",
    problem="The contract stopped with panic code {number:#x}, which is a bug",
    advice="please report the call that caused it.",
)
class Panicked(ContractError):
    """`Panic(uint256 code)`: an assertion, overflow or the like."""

    signature: ClassVar[str] = "Panic(uint256)"
    number: int


@error_type("unknown-revert", problem="{what_came}", advice="{what_helps}")
class UnknownRevert(ContractError):
    """A revert without data, or with data of no error known here."""

    data: str

    @property
    def what_came(self) -> str:
        if self.data != "0x":
            return f"The contract refused with data this version does not know ({self.data})"
        return (
            "The call was refused without a reason, which the pool's contracts always give: most likely its token did, "
            "which may be paused, or have blocked this account or the pool."
        )

    @property
    def what_helps(self) -> str:
        if self.data != "0x":
            return "check the deployment file and update leasehold."
        return "Look at the token before you try again."


def decode_revert(data: bytes) -> ContractError:
    """The exception for a call's revert data. Never raises: what is not known becomes `UnknownRevert`."""
    from eth_abi.abi import decode as abi_decode
    from eth_abi.exceptions import DecodingError
    from eth_utils.address import to_checksum_address

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
    from eth_utils.crypto import keccak

    from leasehold._generated import contract_errors

    generated: list[type[ContractError]] = [getattr(contract_errors, n) for n in contract_errors.__all__]
    every: list[type[ContractError]] = [*generated, Reverted, Panicked]
    return {keccak(text=e.signature)[:4]: e for e in every}


# --------------------------------------------------------------------------------------------- keys


class WalletError(LeaseholdError):
    """A key or the folder of keys."""

    code = "wallet"
    exit_code: ClassVar[int] = 5


@error_type("wrong-password", problem="That password does not open the wallet `{name}`", advice="try again.")
class WrongPassword(WalletError):
    """The password opens another wallet, or none."""

    name: str


@error_type("key-exists", problem="There is already a wallet `{name}`", advice="choose another name.")
class KeyExists(WalletError):
    """A wallet of that name is there already; nothing is overwritten."""

    name: str


@error_type(
    "key-missing", problem="There is no wallet `{name}`", advice="choose one that there is, or make it first."
)
class KeyMissing(WalletError):
    """The folder of keys holds none of that name."""

    name: str


@error_type(
    "key-in-device",
    problem="The key of wallet `{name}` is in a hardware wallet",
    advice="it is asked each time, and nothing can be unlocked.",
)
class KeyInDevice(WalletError):
    """There is no key here that a password could open."""

    name: str


# ------------------------------------------------------------------------------- workloads and their results


class WorkloadError(LeaseholdError):
    """A workload's description, its sealing, or its results."""

    code = "workload"
    exit_code: ClassVar[int] = 6


@error_type(
    "workload-invalid",
    problem="The workload cannot be used: {listed}.",
    advice="docs/reference/workload.md lists every field.",
)
class WorkloadInvalid(WorkloadError):
    """A workload that cannot be read. `problems` has one line for each field."""

    problems: tuple[str, ...]

    @property
    def listed(self) -> str:
        return "; ".join(self.problems)


@error_type(
    "workload-field-unknown",
    problem="The workload cannot be used: there is no field `{field}`.",
    advice="docs/reference/workload.md lists every field.",
)
class WorkloadFieldUnknown(WorkloadInvalid):
    """A workload names a field that version 1 does not have."""

    def __init__(self, field: str) -> None:
        super().__init__((f"there is no field `{field}`",))
        self.field = field


@error_type(
    "workload-unsupported",
    problem="The workload asks for `{field}`, which is not served yet",
    advice="leave it out.",
)
class WorkloadUnsupported(WorkloadError):
    """A kind or a field of version 1 that is not served yet."""

    field: str


@error_type(
    "workload-too-large",
    problem="The sealed workload has {size} bytes and may have {limit}",
    advice="put what is large into a dataset and name its CID.",
)
class WorkloadTooLarge(WorkloadError):
    """A sealed workload over the limit. Sizes are bytes."""

    size: int
    limit: int


@error_type(
    "code-invalid",
    problem="The folder of code is refused, since {why}",
    advice="leave out what cannot travel.",
)
class CodeInvalid(WorkloadError):
    """A folder of code, or what was sent of one, that no machine takes. why: half a sentence."""

    why: str


@error_type(
    "wrong-identity",
    problem="This key does not open {what}",
    advice="it was sealed to another one, so use the key it was made for.",
)
class WrongIdentity(WorkloadError):
    """Something sealed was not sealed to this key."""

    what: str


@error_type(
    "seal-broken",
    problem="{what} is damaged or was not sealed with age",
    advice="get it again from its source.",
)
class SealBroken(WorkloadError):
    """Something sealed is damaged or was never sealed."""

    what: str


@error_type("age-key-invalid", problem="That is not an age {kind}", advice="it should look like {example}.")
class AgeKeyInvalid(WorkloadError):
    """A text that is no age key. The text is not repeated, as it may be a secret one."""

    kind: str

    @property
    def example(self) -> str:
        return "`age1…`" if self.kind == "recipient" else "`AGE-SECRET-KEY-1…`"


@error_type(
    "results-invalid",
    problem="{cid} does not hold this lease's results ({reason})",
    advice="check the lease's published CID.",
)
class ResultsInvalid(WorkloadError):
    """What a CID holds are no results, or not of the lease they were asked for."""

    cid: str
    reason: str


# --------------------------------------------------------------------------------------------- data


class DatasetError(LeaseholdError):
    """Adding, pinning or fetching data."""

    code = "dataset"
    exit_code: ClassVar[int] = 7


@error_type(
    "dataset-unavailable",
    problem="Nobody reachable has {cid}",
    advice="check the CID, and that a node that is online has it pinned.",
)
class DatasetUnavailable(DatasetError):
    """Nobody who can be reached has the data."""

    cid: str


@error_type(
    "destination-exists",
    problem="{path} already exists and is not empty",
    advice="name another folder, or move it away.",
)
class DestinationExists(DatasetError):
    """Something is already where files should go; nothing is overwritten."""

    path: str


@error_type(
    "dataset-unsafe", problem="`{path}` is refused, since {reason}", advice="its publisher must leave it out."
)
class DatasetUnsafe(DatasetError):
    """A dataset or result names a path that leaves its folder, or holds what is neither file, folder nor link."""

    path: str
    reason: str


@error_type(
    "dataset-too-large",
    problem="{what} needs {size} and there is room for {limit}",
    advice="make room, or raise the limit.",
)
class DatasetTooLarge(DatasetError):
    """More bytes, or more files, than were allowed or than fit on the disk."""

    what: str
    size: int
    limit: int


@error_type(
    "dataset-corrupt",
    problem="What was delivered as {cid} is not it ({reason})",
    advice="use another IPFS node.",
)
class DatasetCorrupt(DatasetError):
    """What a node delivered is not what its CID names."""

    cid: str
    reason: str


@error_type(
    "ipfs-unreachable",
    problem="The IPFS node at {api} does not answer ({reason})",
    advice="start it, or correct its address.",
)
class IpfsUnreachable(DatasetError):
    """The IPFS node's API does not answer."""

    api: str
    reason: str


@error_type(
    "ipfs-refused",
    problem="The IPFS node refused {what}: {reason}.",
    advice="Check the CID or address and try again.",
)
class IpfsError(DatasetError):
    """The IPFS node refused a request."""

    what: str
    reason: str


@error_type(
    "streams-off",
    problem="The IPFS node at {api} carries no streams",
    advice="set `Experimental.Libp2pStreamMounting` to true in its configuration, and start it again.",
)
class StreamsOff(DatasetError):
    """The IPFS node's setting for libp2p streams is off."""

    api: str


@error_type(
    "ipfs-elsewhere",
    problem="The IPFS node at {api} is not on this host, whose ports it cannot lead to and from",
    advice="run one here, and name its address.",
)
class IpfsElsewhere(DatasetError):
    """Streams were asked for of an IPFS node whose loopback is another's."""

    api: str


# ------------------------------------------------------------------------------ agents, proofs, typed data


class AgentError(LeaseholdError):
    """A machine's agent refused or cannot be reached."""

    code = "agent"
    exit_code: ClassVar[int] = 8


@error_type("typed-data", problem="`{field}` {reason}", advice="correct it and sign again.")
class TypedDataError(LeaseholdError, ValueError):
    """A field of typed data that its Solidity type cannot hold."""

    field: str
    reason: str


@error_type("proof", problem="The proof was refused, since {reason}", advice="sign again with the right key.")
class ProofError(LeaseholdError):
    """A proof that does not show what it should. `reason` says why."""

    reason: str


class ProofMalformed(ProofError):
    """Bytes that are no proof, or one of a kind that is not known."""

    code = "proof-malformed"


class ProofWrongKey(ProofError):
    """A sound signature, by somebody else."""

    code = "proof-wrong-key"


class ProofExpired(ProofError):
    """Signed for another time."""

    code = "proof-expired"


class ProofOutOfScope(ProofError):
    """Signed for another chain, pool, account, lease or operation."""

    code = "proof-out-of-scope"
