"""Groups: their addresses and proofs as the vectors have them, and what is no group or no proof of one."""

import json
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from eth_utils.crypto import keccak

from leasehold.chain.typed import Group, GroupProof, Proof, ProofKind
from leasehold.errors import InvalidSigners, InvalidThreshold, ProofMalformed, ProofWrongKey, TypedDataError

FILE = Path(__file__).parents[2] / "vectors/typed_data.json"
VECTORS: list[dict[str, Any]] = json.loads(FILE.read_text())["groups"]
DIGEST = keccak(text="digest")
KEYS = sorted(
    (keccak(text=f"signer {i}") for i in range(3)), key=lambda key: int(Account.from_key(key).address, 16)
)
SIGNERS = tuple(Account.from_key(key).address for key in KEYS)
GROUP = Group(2, SIGNERS)
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def signed(index: int, digest: bytes = DIGEST) -> bytes:
    """The proof of kind 1 of a signer."""
    return b"\x01" + bytes(Account.unsafe_sign_hash(digest, KEYS[index]).signature)


def group_of(vector: dict[str, Any]) -> Group:
    return Group(vector["threshold"], tuple(vector["signers"]), bytes.fromhex(vector["salt"][2:]))


# ------------------------------------------------------------------------------------------------------- the vectors


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_the_address_is_the_vectors(vector: dict[str, Any]) -> None:
    assert group_of(vector).address(vector["accounts"]) == vector["account"]
    assert group_of(vector).address(vector["accounts"].lower()) == vector["account"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_a_proof_goes_round(vector: dict[str, Any]) -> None:
    proof = GroupProof.decode(bytes.fromhex(vector["proof"][2:]))
    assert proof.group == group_of(vector)
    assert [{"index": i, "kind": p.kind} for i, p in proof.signatures] == vector["signed"]
    assert "0x" + proof.encode().hex() == vector["proof"]
    proof.check_keys(bytes.fromhex(vector["digest"][2:]))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_putting_the_signatures_together_makes_the_proof(vector: dict[str, Any]) -> None:
    proof = GroupProof.decode(bytes.fromhex(vector["proof"][2:]))
    signatures = {
        vector["signers"][index].lower(): part.encode() for index, part in reversed(proof.signatures)
    }
    made = group_of(vector).prove(bytes.fromhex(vector["digest"][2:]), signatures)
    assert "0x" + made.hex() == vector["proof"]


def test_every_group_is_another() -> None:
    assert len({vector["account"] for vector in VECTORS}) == len(VECTORS)
    assert Group.of(2, SIGNERS).address("0x" + "11" * 20) != Group.of(2, SIGNERS).address("0x" + "12" * 20)


# ------------------------------------------------------------------------------------------------------------ groups


def test_signers_may_be_named_in_any_order() -> None:
    assert Group.of(2, [SIGNERS[2], SIGNERS[0].lower(), SIGNERS[1]]) == GROUP


@pytest.mark.parametrize("threshold", [0, 4, -1])
def test_a_threshold_that_cannot_be(threshold: int) -> None:
    with pytest.raises(InvalidThreshold) as caught:
        Group(threshold, SIGNERS)
    assert (caught.value.threshold, caught.value.signers) == (threshold, 3)


@pytest.mark.parametrize(
    ("signers", "index"),
    [
        ((SIGNERS[0], SIGNERS[2], SIGNERS[1]), 2),
        ((SIGNERS[0], SIGNERS[0], SIGNERS[1]), 1),
        (("0x" + "00" * 20, *SIGNERS), 0),
        (tuple(f"0x{i:040x}" for i in range(1, 18)), 16),
    ],
)
def test_signers_that_cannot_be(signers: tuple[str, ...], index: int) -> None:
    with pytest.raises(InvalidSigners) as caught:
        Group(1, signers)
    assert caught.value.index == index


@pytest.mark.parametrize(
    ("signers", "salt", "field"),
    [
        (("0x12",), bytes(32), "signers"),
        ((SIGNERS[0].swapcase().replace("0X", "0x"),), bytes(32), "signers"),
        (SIGNERS[:1], bytes(31), "salt"),
    ],
)
def test_what_is_no_address_or_salt(signers: tuple[str, ...], salt: bytes, field: str) -> None:
    with pytest.raises(TypedDataError) as caught:
        Group(1, signers, salt)
    assert caught.value.field == field


# ------------------------------------------------------------------------------------------------------------ proofs


def test_of_more_signatures_the_first_are_taken() -> None:
    proof = GroupProof.decode(GROUP.prove(DIGEST, {SIGNERS[i]: signed(i) for i in (2, 1, 0)}))
    assert [index for index, _ in proof.signatures] == [0, 1]


def test_too_few_signatures() -> None:
    with pytest.raises(ProofMalformed, match="1 signatures of the 2"):
        GROUP.prove(DIGEST, {SIGNERS[0]: signed(0)})


def test_a_strangers_signature() -> None:
    stranger = Account.from_key(keccak(text="stranger"))
    with pytest.raises(ProofWrongKey, match="no signer"):
        GROUP.prove(DIGEST, {SIGNERS[0]: signed(0), stranger.address: signed(1)})


def test_anothers_signature_and_one_of_something_else() -> None:
    with pytest.raises(ProofWrongKey, match="signed it"):
        GROUP.prove(DIGEST, {SIGNERS[0]: signed(0), SIGNERS[1]: signed(2)})
    with pytest.raises(ProofWrongKey, match="signed it"):
        GROUP.prove(DIGEST, {SIGNERS[0]: signed(0), SIGNERS[1]: signed(1, keccak(text="other"))})


def test_the_second_form_of_a_signature() -> None:
    r, s, v = signed(1)[1:33], int.from_bytes(signed(1)[33:65]), signed(1)[65]
    twin = b"\x01" + r + (ORDER - s).to_bytes(32) + bytes((55 - v,))
    with pytest.raises(ProofMalformed, match="upper half"):
        GROUP.prove(DIGEST, {SIGNERS[0]: signed(0), SIGNERS[1]: twin})


def test_a_contracts_signature_is_for_the_chain() -> None:
    proof = GROUP.prove(DIGEST, {SIGNERS[0]: signed(0), SIGNERS[1]: b"\x02whatever"})
    assert proof.endswith(b"\x01\x02\x00\x08whatever")
    assert GroupProof.decode(proof).signatures[1] == (1, Proof(ProofKind.ERC1271, b"whatever"))


def test_no_group_signs_in_a_group() -> None:
    with pytest.raises(ProofMalformed, match="kind 3"):
        GROUP.prove(DIGEST, {SIGNERS[0]: signed(0), SIGNERS[1]: b"\x03whatever"})


@pytest.mark.parametrize("order", [(1, 0), (0, 0), (0, 3)])
def test_signatures_out_of_order(order: tuple[int, int]) -> None:
    parts = tuple((index, Proof(ProofKind.KEY, bytes(65))) for index in order)
    with pytest.raises(ProofMalformed, match="out of order"):
        GroupProof(GROUP, parts)
    packed = b"\x03" + GROUP.encode() + b"".join(bytes((index, 1)) + bytes(65) for index in order)
    with pytest.raises(ProofMalformed, match="out of order"):
        GroupProof.decode(packed)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ((), "0 signatures, not 2"),
        (((0, Proof(ProofKind.KEY, bytes(64))), (1, Proof(ProofKind.KEY, bytes(65)))), "64 bytes"),
        (
            ((0, Proof(ProofKind.ERC1271, bytes(1 << 16))), (1, Proof(ProofKind.KEY, bytes(65)))),
            "65536 bytes",
        ),
    ],
)
def test_signatures_that_cannot_be(parts: tuple[tuple[int, Proof], ...], reason: str) -> None:
    with pytest.raises(ProofMalformed, match=reason):
        GroupProof(GROUP, parts)


def test_a_proof_cut_short_or_too_long() -> None:
    proof = GROUP.prove(DIGEST, {SIGNERS[0]: signed(0), SIGNERS[1]: b"\x02whatever"})
    for length in range(len(proof)):
        with pytest.raises((ProofMalformed, InvalidSigners)):
            GroupProof.decode(proof[:length])
    with pytest.raises(ProofMalformed, match="too many"):
        GroupProof.decode(proof + b"\0")


@pytest.mark.parametrize(
    ("proof", "error"),
    [
        (b"\x01" + bytes(65), ProofMalformed),
        (b"\x03\x01\x11" + bytes(500), InvalidSigners),
        (b"\x03\x00\x01" + bytes(19) + b"\x01" + bytes(32), InvalidThreshold),
        (b"\x03\x01\x01" + bytes(20) + bytes(32), InvalidSigners),
        (b"\x03\x01\x01" + bytes(19) + b"\x01" + bytes(32) + b"\x00\x03" + bytes(65), ProofMalformed),
    ],
)
def test_what_is_no_groups_proof(proof: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        GroupProof.decode(proof)
