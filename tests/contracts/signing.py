"""Typed data and proofs, made by hand: what the contracts check is computed here a second time."""

from __future__ import annotations

from functools import cache
from typing import Any

from brownie import chain
from eth_abi import encode
from eth_account import Account
from eth_utils.crypto import keccak

OUTAGE = "Outage(address account,uint32 machine,uint64 from,uint64 to)"
OPERATE = "Operate(uint256 chain,address controller,address provider,address operator,uint64 deadline)"

# Anvil's accounts, whose keys everybody knows.
MNEMONIC = "test test test test test test test test test test test junk"
VALIDATORS = slice(7, 12)  # of Anvil's accounts
Account.enable_unaudited_hdwallet_features()

CURVE = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141  # order of secp256k1

_DOMAIN = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"


def typed_digest(verifier: Any, struct: str, *values: Any) -> bytes:
    """The EIP-712 digest of `struct`, all of whose fields are of fixed size, in the domain of `verifier`.

    `struct` is its type string, such as `"Recover(address account,uint32 machine,uint64 issuedAt)"`.
    """
    fields = struct[struct.index("(") + 1 : -1].split(",")
    types = [field.split()[0] for field in fields]
    domain = encode(
        ["bytes32", "bytes32", "bytes32", "uint256", "address"],
        [keccak(text=_DOMAIN), keccak(text="Leasehold"), keccak(text="1"), chain.id, str(verifier)],
    )
    body = encode(["bytes32", *types], [keccak(text=struct), *values])
    return keccak(b"\x19\x01" + keccak(domain) + keccak(body))


def consent(pool: Any, provider: Any, operator: Any, deadline: int = 2**40) -> tuple[int, bytes]:
    """What `operator`, one of the tests' people, signs to serve `provider` in `pool` until `deadline`."""
    digest = typed_digest(pool, OPERATE, chain.id, str(pool), str(provider), str(operator), deadline)
    return deadline, key_proof(keys_of_people()[str(operator)], digest)


def outage_digest(pool: Any, validator: Any, machine: int, from_: int, to: int) -> bytes:
    """What `validator` signs to say that a machine was down, or with `to` 0 that it is."""
    return typed_digest(pool, OUTAGE, str(validator), machine, from_, to)


@cache
def keys_of_people() -> dict[str, str]:
    """Private keys by address, to sign typed data with."""
    paths = (f"m/44'/60'/0'/0/{i}" for i in range(VALIDATORS.stop))
    signers = [Account.from_mnemonic(MNEMONIC, account_path=path) for path in paths]
    return {signer.address: signer.key.hex() for signer in signers}


def commitment(pool: Any, round_: int, seat: int, passes: bool, spec: str, score: int, salt: str) -> bytes:
    """What a validator commits to; `spec` and `salt` are 32 bytes in hexadecimal."""
    types = ["uint256", "address", "uint256", "uint32", "bool", "bytes32", "uint16", "bytes32"]
    fixed = [bytes.fromhex(text[2:]) for text in (spec, salt)]
    return keccak(encode(types, [chain.id, str(pool), round_, seat, passes, fixed[0], score, fixed[1]]))


def key_proof(key: str, digest: Any) -> bytes:
    """The proof of an account by its own key."""
    return b"\x01" + bytes(Account.unsafe_sign_hash(bytes(digest), key).signature)


class Group:
    """`threshold` of some signers, without a contract.

    `keys` are private keys by address. Signers who sign are named in any order.
    """

    def __init__(self, hub: Any, keys: dict[str, str], threshold: int, *signers: Any, salt: int = 0) -> None:
        self._hub = hub
        self._keys = keys
        self.threshold = threshold
        self.signers = sorted((str(signer) for signer in signers), key=lambda signer: int(signer, 16))
        self.salt = salt.to_bytes(32, "big")
        self.address = str(hub.groupAddress(threshold, self.signers, self.salt))

    def proof(self, digest: Any, *by: Any) -> bytes:
        """The signatures of `by` over `digest`, in the order of the group."""
        indices = sorted(self.signers.index(str(signer)) for signer in by)
        return self.head() + b"".join(self.part(index, digest) for index in indices)

    def head(
        self, threshold: int | None = None, signers: list[str] | None = None, salt: bytes | None = None
    ) -> bytes:
        """What a proof begins with: who the group is, or, with arguments, who it is not."""
        signers = self.signers if signers is None else signers
        packed = bytes([3, self.threshold if threshold is None else threshold, len(signers)])
        return packed + b"".join(bytes.fromhex(signer[2:]) for signer in signers) + (salt or self.salt)

    def part(self, index: int, digest: Any, high: bool = False) -> bytes:
        """One signature of a proof; with `high` its mirror image, which recovers the same signer."""
        signed = Account.unsafe_sign_hash(bytes(digest), self._keys[self.signers[index]])
        s, v = (CURVE - signed.s, 55 - signed.v) if high else (signed.s, signed.v)
        return bytes([index, 1]) + signed.r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([v])

    def execute(self, submitter: Any, by: Any, *calls: tuple[Any, str], deadline: int = 2**40) -> Any:
        """Makes `calls` as the group, approved by the signers `by` and sent by `submitter`.

        `by` may also make the proof itself: a function of the digest.
        """
        nonce = self._hub.nonceOf(self.address, 0)
        calls_ = [(str(target), data) for target, data in calls]
        digest = bytes(self._hub.executeDigest(self.address, calls_, nonce, deadline))
        proof = by(digest) if callable(by) else self.proof(digest, *by)
        return self._hub.execute(self.address, calls_, nonce, deadline, proof, {"from": submitter})
