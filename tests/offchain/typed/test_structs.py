"""What cannot be encoded is refused when it is made, and by the field's name."""

import pytest

from leasehold.chain.typed import Answer, Call, Contact, Domain, Execute, Offer, Outage, Request, Session
from leasehold.errors import TypedDataError

ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
OFFER: dict[str, object] = {
    "account": ADDRESS,
    "machine": 1,
    "revision": 1,
    "price": 5,
    "cells": 1,
    "duration": 60,
    "spot": False,
    "tenant": ADDRESS,
    "nonce": 0,
    "expiresAt": 9,
}


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("machine", -1, "32 bits"),
        ("machine", 1 << 32, "32 bits"),
        ("machine", True, "32 bits"),
        ("machine", 1.0, "32 bits"),
        ("machine", "01", "decimal"),
        ("price", 1 << 80, "80 bits"),
        ("price", "1e3", "decimal"),
        ("spot", 1, "bool"),
        ("tenant", "0x12", "address"),
        ("tenant", ADDRESS[2:], "address"),
        ("tenant", ADDRESS.replace("F6F4", "f6f4"), "checksum"),
        ("tenant", 5, "address"),
    ],
)
def test_a_value_that_does_not_fit(field: str, value: object, problem: str) -> None:
    with pytest.raises(TypedDataError, match=problem) as caught:
        Offer.from_json(OFFER | {field: value})
    assert caught.value.field == field


def test_missing_unknown_and_other_shapes() -> None:
    without = {name: value for name, value in OFFER.items() if name != "nonce"}
    with pytest.raises(TypedDataError, match="`nonce` of Offer is missing"):
        Offer.from_json(without)
    with pytest.raises(TypedDataError, match="`tip` is no field of Offer"):
        Offer.from_json(OFFER | {"tip": 1})
    with pytest.raises(TypedDataError, match="not an object"):
        Offer.from_json([])


def test_bytes_and_lists() -> None:
    with pytest.raises(TypedDataError, match="32 bytes"):
        Contact(machine=1, digest_=b"\x01" * 31, issued_at=1)
    with pytest.raises(TypedDataError, match="hexadecimal"):
        Contact.from_json({"machine": 1, "digest": "0xabc", "issuedAt": 1})
    with pytest.raises(TypedDataError, match="is not of type bytes"):
        Call(target=ADDRESS, data="0x")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(TypedDataError, match="not a list"):
        Session.from_json(
            {"account": ADDRESS, "chain": 1, "controller": ADDRESS, "leases": 1, "ops": [], "key": ADDRESS}
            | {"expiresAt": 1}
        )
    with pytest.raises(TypedDataError, match="not a list"):
        Execute(account=ADDRESS, calls="ab", nonce=0, deadline=0)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(TypedDataError, match="type Call"):
        Execute(account=ADDRESS, calls=(1,), nonce=0, deadline=0)  # type: ignore[arg-type]  # what is tested


def test_names_on_the_wire() -> None:
    assert [f.name for f in Outage.layout()] == ["account", "machine", "from", "to"]
    assert [f.name for f in Request.layout()][6:9] == ["paramsHash", "issuedAt", "expiresAt"]


def test_large_integers_survive_javascript() -> None:
    answer = Answer(account=ADDRESS, machine=1, fault=2**53, issued_at=2**53 - 1)
    assert answer.to_json() == {
        "account": ADDRESS,
        "machine": 1,
        "fault": "9007199254740992",
        "issuedAt": 9007199254740991,
    }
    assert Answer.from_json(answer.to_json()) == answer


def test_a_domain_is_checked() -> None:
    assert Domain(1, ADDRESS.lower()) == Domain(1, ADDRESS)
    with pytest.raises(TypedDataError, match="verifyingContract"):
        Domain(1, "0x1")
    with pytest.raises(TypedDataError, match="chainId"):
        Domain(-1, ADDRESS)
