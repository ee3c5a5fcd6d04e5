"""Groups: `threshold` of up to 16 signers who are one account, without a contract.

A group's address says who its signers are and how many must sign, so nothing about it is stored anywhere. Each signer
can compute it alone, from what the others say the group is, and must: whoever pays into an address that somebody else
computed trusts that somebody.

A group's proof, packed, is `0x03, threshold (1), n (1), n signers (20 each), salt (32)`, then for each of `threshold`
signatures in the order of their signers: `index (1), kind (1)` and, for kind 1, 65 bytes r, s, v, for kind 2 its length
(2) and what the signer's ERC-1271 `isValidSignature` wants.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from leasehold.chain._eip712 import checked
from leasehold.chain._proof import Proof, ProofKind, recover_signer
from leasehold.errors import InvalidSigners, InvalidThreshold, ProofMalformed, ProofWrongKey

__all__ = ["MAX_SIGNERS", "Group", "GroupProof"]

MAX_SIGNERS: Final = 16
_ADDRESS: Final = 20
_SALT: Final = 32
_KEY_SIGNATURE: Final = 65
_MAX_SIGNATURE: Final = 0xFFFF  # what two bytes can say
# ERC-1167: the code that makes a clone, around the address of what it is a clone of.
_CLONE_HEAD: Final = bytes.fromhex("3d602d80600a3d3981f3363d3d373d3d3d363d73")
_CLONE_TAIL: Final = bytes.fromhex("5af43d82803e903d91602b57fd5bf3")
# RLP of [a contract's address, 1], around the address: of this the address of its first creation is the hash.
_FIRST_HEAD: Final = b"\xd6\x94"
_FIRST_TAIL: Final = b"\x01"


@dataclass(frozen=True, slots=True)
class Group:
    """Who signs, and how many of them must.

    signers: checksummed, strictly ascending. salt: 32 bytes, which tell groups of the same signers apart.
    Raises InvalidThreshold or InvalidSigners, as `Accounts` does, and TypedDataError for what is no address or no salt.
    """

    threshold: int
    signers: tuple[str, ...]
    salt: bytes = bytes(_SALT)

    def __post_init__(self) -> None:
        object.__setattr__(self, "signers", checked("signers", "address[]", self.signers))
        object.__setattr__(self, "salt", checked("salt", "bytes32", self.salt))
        if len(self.signers) > MAX_SIGNERS:
            raise InvalidSigners(MAX_SIGNERS)
        if not 1 <= self.threshold <= len(self.signers):
            raise InvalidThreshold(self.threshold, len(self.signers))
        previous = 0
        for index, signer in enumerate(self.signers):
            if int(signer, 16) <= previous:
                raise InvalidSigners(index)
            previous = int(signer, 16)

    @classmethod
    def of(cls, threshold: int, signers: Iterable[str], salt: bytes = bytes(_SALT)) -> "Group":
        """The group of `signers`, in whatever order they are named. Raises as the class does."""
        return cls(threshold, tuple(sorted(signers, key=str.lower)), salt)

    def encode(self) -> bytes:
        """What identifies it, as it stands in its proofs behind the kind."""
        head = bytes((self.threshold, len(self.signers)))
        return head + b"".join(bytes.fromhex(signer[2:]) for signer in self.signers) + self.salt

    def address(self, accounts: str) -> str:
        """Its address with the `Accounts` contract at `accounts`; computed here, asking nobody.

        That contract's first creation is what groups' accounts are clones of, and CREATE2 puts the clone there.
        """
        creator = bytes.fromhex(str(checked("accounts", "address", accounts))[2:])
        implementation = keccak(_FIRST_HEAD + creator + _FIRST_TAIL)[12:]
        code = _CLONE_HEAD + implementation + _CLONE_TAIL
        return to_checksum_address(keccak(b"\xff" + creator + keccak(self.encode()) + keccak(code))[12:])

    def signed(self, digest: bytes) -> bytes:
        """The 32 bytes that a signer's signature is over, to approve `digest`."""
        return digest

    def prove(self, digest: bytes, signatures: Mapping[str, bytes]) -> bytes:
        """The proof of kind 3 that the group approved `digest`.

        signatures: by signer, each a proof of kind 1 (checked here) or 2 (which only the chain can judge) over
        `digest`. Of more than are needed the first ones are taken. Raises ProofMalformed when there are too few or one
        cannot be read, ProofWrongKey when one is not its signer's.
        """
        given: dict[str, bytes] = {to_checksum_address(signer): proof for signer, proof in signatures.items()}
        strangers = given.keys() - set(self.signers)
        if strangers:
            raise ProofWrongKey(f"{min(strangers)} is no signer of the group")
        if len(given) < self.threshold:
            raise ProofMalformed(f"it has {len(given)} signatures of the {self.threshold} that are needed")
        order = [index for index, signer in enumerate(self.signers) if signer in given][: self.threshold]
        chosen = tuple((index, Proof.decode(given[self.signers[index]])) for index in order)
        proof = GroupProof(self, chosen)
        proof.check_keys(digest)
        return proof.encode()


@dataclass(frozen=True, slots=True)
class GroupProof:
    """A group's proof taken apart: the group, and who signed (index among its signers) and how."""

    group: Group
    signatures: tuple[tuple[int, Proof], ...]

    def __post_init__(self) -> None:
        if len(self.signatures) != self.group.threshold:
            raise ProofMalformed(f"it has {len(self.signatures)} signatures, not {self.group.threshold}")
        lowest = 0
        for index, proof in self.signatures:
            if not lowest <= index < len(self.group.signers):
                raise ProofMalformed(f"the signature of signer {index} is out of order")
            if proof.kind not in (ProofKind.KEY, ProofKind.ERC1271):
                raise ProofMalformed(f"signer {index} signed by a proof of kind {int(proof.kind)}")
            size = len(proof.payload)
            if size > _MAX_SIGNATURE or (proof.kind is ProofKind.KEY and size != _KEY_SIGNATURE):
                raise ProofMalformed(f"the signature of signer {index} has {size} bytes")
            lowest = index + 1

    def encode(self) -> bytes:
        return (
            bytes((ProofKind.GROUP,))
            + self.group.encode()
            + b"".join(map(_encode_signature, self.signatures))
        )

    @classmethod
    def decode(cls, proof: bytes) -> "GroupProof":
        """Raises ProofMalformed, InvalidThreshold or InvalidSigners for what `Accounts` would refuse whoever signed."""
        reader = _Reader(proof)
        if reader.number(1) != ProofKind.GROUP:
            raise ProofMalformed("it is no group's")
        threshold, count = reader.number(1), reader.number(1)
        if count > MAX_SIGNERS:
            raise InvalidSigners(MAX_SIGNERS)
        signers = tuple("0x" + reader.take(_ADDRESS).hex() for _ in range(count))
        group = Group(threshold, signers, reader.take(_SALT))
        signatures = tuple(_read_signature(reader) for _ in range(threshold))
        reader.end()
        return cls(group, signatures)

    def check_keys(self, digest: bytes) -> None:
        """Raises ProofMalformed or ProofWrongKey where a key's signature is not over `digest` or not its signer's.

        Signatures of contracts are passed over: only `AccountsContract.is_authorized` can tell.
        """
        for index, proof in self.signatures:
            if proof.kind is not ProofKind.KEY:
                continue
            signer = recover_signer(digest, proof.payload)
            if signer != self.group.signers[index]:
                raise ProofWrongKey(f"{signer} signed it, not {self.group.signers[index]}")


def _encode_signature(signature: tuple[int, Proof]) -> bytes:
    index, proof = signature
    length = len(proof.payload).to_bytes(2) if proof.kind is ProofKind.ERC1271 else b""
    return bytes((index, proof.kind)) + length + proof.payload


def _read_signature(reader: "_Reader") -> tuple[int, Proof]:
    index, kind = reader.number(1), reader.number(1)
    if kind == ProofKind.KEY:
        return index, Proof(ProofKind.KEY, reader.take(_KEY_SIGNATURE))
    if kind == ProofKind.ERC1271:
        return index, Proof(ProofKind.ERC1271, reader.take(reader.number(2)))
    raise ProofMalformed(f"signer {index} signed by a proof of kind {kind}")


class _Reader:
    """Bytes from the front to the end, and not one more or less."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        if len(part) < count:
            raise ProofMalformed(f"it ends after {len(self._data)} bytes, too early")
        self._at += count
        return part

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count))

    def end(self) -> None:
        if self._at != len(self._data):
            raise ProofMalformed(f"it has {len(self._data) - self._at} bytes too many")
