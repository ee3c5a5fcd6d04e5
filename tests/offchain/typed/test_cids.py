"""Digest and CID are two spellings of one thing."""

import hashlib

import pytest

from leasehold.chain import InvalidCid, cid_from_bytes, cid_of_digest, cid_to_bytes, digest_of_cid

EMPTY = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"  # known everywhere: no bytes at all
V0 = "QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn"  # the empty folder


def test_a_known_cid() -> None:
    assert cid_of_digest(hashlib.sha256(b"").digest()) == EMPTY
    assert digest_of_cid(EMPTY) == hashlib.sha256(b"").digest()


@pytest.mark.parametrize("cid", [EMPTY, V0, "bafybeibj3ktvhwl4bsd3szdlhmvyxfx7uvtz5rrnhdxaktbbkgpcpcpsim"])
def test_binary_goes_round(cid: str) -> None:
    assert cid_from_bytes(cid_to_bytes(cid)) == cid


@pytest.mark.parametrize(
    "text",
    [
        "",
        "b",
        "x",
        EMPTY.upper(),
        EMPTY[:-1],
        EMPTY + "=",
        "z" + EMPTY[1:],
        V0[:-1],
        "Qm" + "0" * 44,
        "b" * 500,
        "bé",
    ],
)
def test_what_is_no_cid(text: str) -> None:
    with pytest.raises(InvalidCid):
        cid_to_bytes(text)


@pytest.mark.parametrize("binary", [b"", b"\x01", b"\x02" + bytes(40), bytes(36)])
def test_bytes_that_are_no_cid(binary: bytes) -> None:
    with pytest.raises(InvalidCid):
        cid_from_bytes(binary)


def test_only_single_raw_blocks_have_a_digest() -> None:
    with pytest.raises(InvalidCid, match="single raw block"):
        digest_of_cid("bafybeibj3ktvhwl4bsd3szdlhmvyxfx7uvtz5rrnhdxaktbbkgpcpcpsim")
    with pytest.raises(InvalidCid, match="31 bytes"):
        cid_of_digest(bytes(31))
