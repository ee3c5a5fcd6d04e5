"""What a signer is shown is what the bytes say, and nothing is shown of bytes that say more."""

import pytest

from leasehold.chain import (
    AccountsContract,
    Call,
    CallUnreadable,
    Faults,
    LeaseRequest,
    Pool,
    Reputation,
    backup_digest,
    commitment,
    decode_call,
    decode_calls,
)

POOL, ACCOUNTS, FAULTS, REPUTATION, SOMEBODY = (
    "0x" + f"{n:02x}" * 20 for n in (0x11, 0x22, 0x33, 0x44, 0x55)
)
CONTRACTS = {POOL: "Controller", ACCOUNTS: "Accounts", FAULTS: "Faults", REPUTATION: "Reputation"}
REQUEST = LeaseRequest(
    machine=3, revision=2, share=8, duration=7_200, max_price=10**18, workload=b"w" * 32, settle=(1, 2)
)


def test_a_call_is_shown_by_names() -> None:
    call = decode_call(POOL, Pool.encode("open", REQUEST), CONTRACTS)
    assert (call.contract, call.function, call.target) == ("Controller", "open", POOL)
    request = call.arguments["request"]
    assert (request["machine"], request["max_price"], request["settle"]) == (3, 10**18, (1, 2))
    assert request["workload"] == b"w" * 32
    made = [
        Call(POOL, Pool.encode("transfer", SOMEBODY, 5)),
        Call(FAULTS, Faults.encode("attest", 1, 5, 2, 3, [4], [b"p"])),
        Call(REPUTATION, Reputation.encode("rate", 1 << 16, 5, bytes(32))),
    ]
    transfer, attest, rate = decode_calls(made, CONTRACTS)
    assert transfer.arguments == {"to": SOMEBODY, "amount": 5}
    assert attest.arguments == {
        "machine": 1,
        "next": 5,
        "from_": 2,
        "to": 3,
        "seats": (4,),
        "proofs": (b"p",),
    }
    assert rate.arguments["stars"] == 5


def test_calls_inside_calls_are_shown_too() -> None:
    transfer = Pool.encode("transfer", SOMEBODY, 5)
    several = decode_call(POOL, Pool.encode("multicall", [transfer, transfer]), CONTRACTS)
    assert [inner.function for inner in several.inner] == ["transfer", "transfer"]
    for_another = AccountsContract.encode("executeAsDelegate", SOMEBODY, POOL, transfer)
    assert decode_call(ACCOUNTS, for_another, CONTRACTS).inner[0].arguments["amount"] == 5


def nested(depth: int) -> bytes:
    data = Pool.encode("transfer", SOMEBODY, 5)
    for _ in range(depth):
        data = Pool.encode("multicall", [data])
    return data


@pytest.mark.parametrize(
    ("target", "data", "why"),
    [
        (SOMEBODY, Pool.encode("transfer", SOMEBODY, 5), "no contract of this pool"),
        (POOL, Faults.encode("appeal", 1), "no function"),
        (POOL, b"", "no function"),
        (POOL, Pool.encode("transfer", SOMEBODY, 5) + b"\0", "more than the arguments"),
        (POOL, Pool.encode("transfer", SOMEBODY, 5)[:-1], "transfer"),
        (POOL, Pool.encode("multicall", [b"\x01\x02\x03\x04"]), "no function"),
        (ACCOUNTS, AccountsContract.encode("executeAsDelegate", POOL, SOMEBODY, b""), "no contract"),
        (POOL, nested(300), "inside one another"),
    ],
    ids=["stranger", "function", "empty", "more", "less", "inner", "delegate", "deep"],
)
def test_what_cannot_be_shown_is_refused(target: str, data: bytes, why: str) -> None:
    with pytest.raises(CallUnreadable, match=why) as refused:
        decode_call(target, data, CONTRACTS)
    assert "do not sign" in str(refused.value)


def test_an_address_with_dirt_above_it_is_refused() -> None:
    clean = Pool.encode("transfer", SOMEBODY, 5)
    with pytest.raises(CallUnreadable):
        decode_call(POOL, clean[:4] + b"\x01" + clean[5:], CONTRACTS)


def test_digests_bind_every_part() -> None:
    assert backup_digest(1, 2, 3, b"w" * 32) != backup_digest(1, 2, 4, b"w" * 32)
    one = commitment(1, POOL, 1, 2, True, b"s" * 32, 900, b"x" * 32)
    assert len(one) == 32
    assert one != commitment(1, POOL, 1, 2, False, b"s" * 32, 900, b"x" * 32)
