"""A Safe (1.3 and later) as an account: its owners sign what `Accounts` wants, by the Safe's own rule (ERC-1271).

What is signed is a `SafeMessage` over the digest, in the Safe's own EIP-712 domain, so that a signature serves one Safe
and one chain. The proof is `0x02` and the owners' signatures one after another, in the order of their addresses: what
`CompatibilityFallbackHandler` hands on to `checkSignatures`. No transaction of the Safe is needed, and anybody may
submit what its owners have signed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from leasehold.chain._eip712 import TypedData, checked
from leasehold.chain._group import MAX_SIGNERS, Group
from leasehold.chain._proof import Proof, ProofKind, recover_signer
from leasehold.errors import ChainError, ContractError, ProofMalformed, ProofWrongKey, error_type

if TYPE_CHECKING:
    from leasehold.chain._rpc import Rpc

__all__ = ["NotASafe", "Safe", "read_safe"]

_DOMAIN: Final = [{"name": "chainId", "type": "uint256"}, {"name": "verifyingContract", "type": "address"}]
_MESSAGE: Final = [{"name": "message", "type": "bytes"}]
_OLDEST: Final = (1, 3)
"""Whose domain names the chain; one before signs what counts on every chain."""


@error_type(
    "not-a-safe", problem="{address} is no Safe that can act here: {why}", advice="copy its address again."
)
class NotASafe(ChainError):
    """There is another contract, or none, or a Safe that is not understood."""

    address: str
    why: str


@dataclass(frozen=True, slots=True)
class Safe(Group):
    """A Safe's owners, and how many of them must sign, as the chain had them when they were read.

    at: its address. chain: the id of its chain. signers: the owners, ascending. The chain alone judges what they sign.
    """

    at: str = ""
    chain: int = 0

    def __post_init__(self) -> None:
        Group.__post_init__(self)
        object.__setattr__(self, "at", checked("safe", "address", self.at))
        object.__setattr__(self, "chain", checked("chainId", "uint256", self.chain))

    def address(self, accounts: str) -> str:
        """Its own, whatever contract asks."""
        return self.at

    def message(self, digest: bytes) -> TypedData:
        """What an owner's wallet is shown and signs to approve `digest`."""
        return {
            "domain": {"chainId": self.chain, "verifyingContract": self.at},
            "types": {"EIP712Domain": _DOMAIN, "SafeMessage": _MESSAGE},
            "primaryType": "SafeMessage",
            "message": {"message": "0x" + digest.hex()},
        }

    def signed(self, digest: bytes) -> bytes:
        """The 32 bytes that an owner's signature is over."""
        from eth_account.messages import encode_typed_data

        message = encode_typed_data(full_message=cast("dict[str, Any]", self.message(digest)))
        return keccak(b"\x19" + message.version + message.header + message.body)

    def prove(self, digest: bytes, signatures: Mapping[str, bytes]) -> bytes:
        """The proof of kind 2 that the Safe approved `digest`. signatures: by owner, a proof of kind 1 over what
        `signed` says. Raises as a group's.
        """
        given: dict[str, bytes] = {to_checksum_address(signer): proof for signer, proof in signatures.items()}
        if strangers := given.keys() - set(self.signers):
            raise ProofWrongKey(f"{min(strangers)} is no owner of the Safe")
        if len(given) < self.threshold:
            raise ProofMalformed(f"it has {len(given)} signatures of the {self.threshold} that are needed")
        chosen = [signer for signer in self.signers if signer in given][: self.threshold]
        payload = b"".join(self._of(signer, digest, given[signer]) for signer in chosen)
        return Proof(ProofKind.ERC1271, payload).encode()

    def _of(self, signer: str, digest: bytes, proof: bytes) -> bytes:
        decoded = Proof.decode(proof)
        if decoded.kind is not ProofKind.KEY:
            raise ProofMalformed(
                f"{signer} signed by a proof of kind {int(decoded.kind)}, and owners sign by a key"
            )
        if (found := recover_signer(self.signed(digest), decoded.payload)) != signer:
            raise ProofWrongKey(f"{found} signed it, not {signer}")
        return decoded.payload


async def read_safe(rpc: "Rpc", address: str, chain: int) -> Safe:
    """The Safe at an address, as it stands at the head of the chain.

    Raises:
        NotASafe: there is none, or one that is not understood. ChainError.
    """
    try:
        version = str(await _read(rpc, address, "VERSION()", "string"))
        owners = await _read(rpc, address, "getOwners()", "address[]")
        threshold = await _read(rpc, address, "getThreshold()", "uint256")
    except ContractError:
        raise NotASafe(address, "it does not answer as one") from None
    if not isinstance(owners, tuple) or not isinstance(threshold, int) or not owners:
        raise NotASafe(address, "it does not answer as one")
    numbers = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", version)
    if numbers is None or tuple(map(int, numbers.groups())) < _OLDEST:
        raise NotASafe(address, f"its version {version[:16]} is older than 1.3")
    if len(owners) > MAX_SIGNERS or not 1 <= threshold <= len(owners):
        raise NotASafe(address, f"it has {len(owners)} owners, and {MAX_SIGNERS} at most are served")
    signers = tuple(sorted((to_checksum_address(owner) for owner in owners), key=str.lower))
    return Safe(threshold, signers, at=address, chain=chain)


async def _read(rpc: "Rpc", address: str, signature: str, kind: str) -> object:
    from eth_abi.abi import decode
    from eth_abi.exceptions import DecodingError

    try:
        answer = await rpc.eth_call(address, keccak(text=signature)[:4])
        return decode([kind], answer)[0]
    except (DecodingError, ValueError, OverflowError):
        raise NotASafe(address, "it does not answer as one") from None
