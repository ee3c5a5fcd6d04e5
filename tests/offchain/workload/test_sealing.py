"""Sealed to one machine, opened by it alone, and never more than a block."""

import hashlib
import json

import pytest

from leasehold.chain import cid_of_digest, digest_of_cid
from leasehold.datasets import encrypt, new_identity, recipient_of
from leasehold.errors import (
    AgeKeyInvalid,
    SealBroken,
    WorkloadFieldUnknown,
    WorkloadInvalid,
    WorkloadTooLarge,
    WorkloadUnsupported,
    WrongIdentity,
)
from leasehold.workload import MAX_SEALED_BYTES, Workload, digest, load_workload, seal, unseal

IMAGE = "sha256:" + "a" * 64
MACHINE, OTHER = new_identity(), new_identity()


def workload(**changes: object) -> Workload:
    return load_workload({"version": 1, "image": IMAGE, "secrets": {"token": "hunter2"}} | changes)


def test_the_machine_opens_what_was_sealed_to_it() -> None:
    sealed = seal(workload(), recipient_of(MACHINE))
    assert unseal(sealed, MACHINE) == workload()
    assert b"hunter2" not in sealed
    assert digest_of_cid(cid_of_digest(digest(sealed))) == hashlib.sha256(sealed).digest()


def test_a_gang_shares_one_sealed_workload() -> None:
    sealed = seal(workload(), recipient_of(MACHINE), recipient_of(OTHER))
    assert unseal(sealed, MACHINE) == unseal(sealed, OTHER)


def test_another_key_opens_nothing() -> None:
    with pytest.raises(WrongIdentity, match="This key does not open the sealed workload"):
        unseal(seal(workload(), recipient_of(MACHINE)), OTHER)


@pytest.mark.parametrize(
    "spoil", [lambda s: s[:-1], lambda s: s[:50], lambda s: b"", lambda s: s[:-20] + bytes(20)]
)
def test_damage_is_noticed(spoil: object) -> None:
    assert callable(spoil)
    with pytest.raises(SealBroken, match="damaged"):
        unseal(spoil(seal(workload(), recipient_of(MACHINE))), MACHINE)


def test_keys_that_are_none() -> None:
    sealed = seal(workload(), recipient_of(MACHINE))
    with pytest.raises(AgeKeyInvalid, match="AGE-SECRET-KEY"):
        unseal(sealed, "AGE-SECRET-KEY-1NO")
    with pytest.raises(AgeKeyInvalid, match="age1"):
        seal(workload(), "age1no")
    with pytest.raises(AgeKeyInvalid):
        seal(workload())


def test_over_one_mebibyte_is_refused_on_both_sides() -> None:
    fits = workload(env={"A": "x" * (MAX_SEALED_BYTES - 2000)})
    assert len(seal(fits, recipient_of(MACHINE))) <= MAX_SEALED_BYTES
    with pytest.raises(WorkloadTooLarge, match="put what is large into a dataset"):
        seal(workload(env={"A": "x" * MAX_SEALED_BYTES}), recipient_of(MACHINE))
    with pytest.raises(WorkloadTooLarge) as caught:
        unseal(bytes(MAX_SEALED_BYTES + 1), MACHINE)
    assert (caught.value.size, caught.value.limit) == (MAX_SEALED_BYTES + 1, MAX_SEALED_BYTES)


def test_outputs_that_nobody_could_read_are_not_sealed() -> None:
    with pytest.raises(WorkloadInvalid, match="/out is private and has no recipients"):
        seal(workload(outputs=[{"path": "/out"}]), recipient_of(MACHINE))


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"no json", WorkloadInvalid),
        (b"[]", WorkloadInvalid),
        (json.dumps({"version": 1, "image": IMAGE, "x": 1}).encode(), WorkloadFieldUnknown),
        (json.dumps({"version": 1, "image": IMAGE, "cluster": {}}).encode(), WorkloadUnsupported),
        (json.dumps({"version": 1, "image": "ubuntu:24.04"}).encode(), WorkloadInvalid),
    ],
)
def test_the_agent_checks_what_a_stranger_sealed(content: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        unseal(encrypt(content, [recipient_of(MACHINE)]), MACHINE)
