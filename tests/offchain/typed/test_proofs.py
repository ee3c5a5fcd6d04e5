"""Who may say what: proofs of every kind, and each way in which one can be wrong."""

import dataclasses
import json

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount

from leasehold.chain.typed import (
    Domain,
    Proof,
    ProofKind,
    Request,
    Session,
    SessionKey,
    TypedData,
    recover_signer,
    sign,
    sign_request,
    verify_proof,
    verify_request,
)
from leasehold.errors import ProofExpired, ProofMalformed, ProofOutOfScope, ProofWrongKey

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
NOW = 1_800_000_000
POOL = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"
DOMAIN = Domain(31337, POOL)
LEASE = 12 << 16


class Wallet:
    """A key in memory."""

    def __init__(self, number: int) -> None:
        self._account: LocalAccount = Account.from_key(number.to_bytes(32))

    @property
    def address(self) -> str:
        return self._account.address

    async def sign_typed_data(self, message: TypedData) -> bytes:
        return bytes(self._account.sign_typed_data(full_message=dict(message)).signature)


OWNER, STRANGER = Wallet(1), Wallet(2)
THROW_AWAY = (3).to_bytes(32)


async def nobody(account: str, digest: bytes, proof: bytes) -> bool:
    return False


def a_request(**changes: object) -> Request:
    request = Request(
        account=OWNER.address,
        chain=31337,
        controller=POOL,
        machine=1,
        lease=LEASE,
        op="lease.logs",
        params_hash=b"\x01" * 32,
        issued_at=NOW,
        expires_at=NOW + 300,
        nonce=b"\x02" * 32,
    )
    return dataclasses.replace(request, **changes)  # type: ignore[arg-type]  # each test names its own field


async def a_session(wallet: Wallet = OWNER, **changes: object) -> SessionKey:
    options = {"ops": ["lease.logs"], "expires_at": NOW + 3600, "leases": [LEASE]} | changes
    return await SessionKey.grant(OWNER.address, DOMAIN, wallet, private_key=THROW_AWAY, **options)  # type: ignore[arg-type]  # as above


async def verified(request: Request, proof: bytes, now: int = NOW) -> None:
    await verify_request(request, proof, domain=DOMAIN, now=now, is_authorized=nobody)


# ------------------------------------------------------------------------------------------------ the account's key


async def test_the_accounts_own_key_proves_a_request() -> None:
    await verified(a_request(), await sign_request(a_request(), DOMAIN, OWNER))


async def test_anothers_key_does_not() -> None:
    with pytest.raises(ProofWrongKey, match="signed it"):
        await verified(a_request(), await sign_request(a_request(), DOMAIN, STRANGER))


async def test_a_changed_request_is_refused() -> None:
    proof = await sign_request(a_request(), DOMAIN, OWNER)
    for changes in ({"lease": 13 << 16}, {"op": "lease.exec"}, {"params_hash": b"\x07" * 32}, {"machine": 2}):
        with pytest.raises(ProofWrongKey):
            await verified(a_request(**changes), proof)


async def test_the_second_form_of_a_signature_is_refused() -> None:
    proof = await sign(a_request(), DOMAIN, OWNER)
    r, s, v = proof[1:33], int.from_bytes(proof[33:65]), proof[65]
    twin = bytes((1,)) + r + (ORDER - s).to_bytes(32) + bytes((55 - v,))
    with pytest.raises(ProofMalformed, match="upper half"):
        await verified(a_request(), twin)


@pytest.mark.parametrize(
    ("proof", "reason"),
    [
        (b"", "0 bytes"),
        (b"\x01", "1 bytes"),
        (b"\x05" + bytes(65), "kind 5"),
        (b"\x01" + bytes(64), "64 bytes"),
        (b"\x01" + b"\x01" * 64 + b"\x00", "v is 0"),
        (b"\x01" + bytes(64) + b"\x1b", "no key"),
        (b"\x01" + b"\xff" * 32 + b"\x01" * 32 + b"\x1b", "no key"),
        (b"\x04" + bytes(17_000), "17001 bytes"),
    ],
)
async def test_bytes_that_are_no_proof(proof: bytes, reason: str) -> None:
    with pytest.raises(ProofMalformed, match=reason):
        await verified(a_request(), proof)


@pytest.mark.parametrize(
    ("changes", "now", "reason"),
    [
        ({}, NOW + 300, "expired 0 s ago"),
        ({}, NOW - 61, "in the future"),
        ({"expires_at": NOW + 301}, NOW, "may live 300 s"),
    ],
)
async def test_time_is_checked(changes: dict[str, object], now: int, reason: str) -> None:
    request = a_request(**changes)
    with pytest.raises(ProofExpired, match=reason):
        await verified(request, await sign_request(request, DOMAIN, OWNER), now)


@pytest.mark.parametrize("changes", [{"chain": 1}, {"controller": "0x" + "11" * 20}])
async def test_another_pools_request_is_refused(changes: dict[str, object]) -> None:
    request = a_request(**changes)
    with pytest.raises(ProofOutOfScope):
        await verified(request, await sign_request(request, DOMAIN, OWNER))


# --------------------------------------------------------------------------------------------- for the chain to say


@pytest.mark.parametrize("kind", [ProofKind.ERC1271, ProofKind.GROUP])
@pytest.mark.parametrize("answer", [True, False])
async def test_contracts_are_asked(kind: ProofKind, answer: bool) -> None:
    asked: list[tuple[str, bytes, bytes]] = []

    async def is_authorized(account: str, digest: bytes, proof: bytes) -> bool:
        asked.append((account, digest, proof))
        return answer

    proof = Proof(kind, b"whatever").encode()
    if answer:
        await verify_proof(OWNER.address, b"\x03" * 32, proof, is_authorized)
    else:
        with pytest.raises(ProofWrongKey, match="does not accept"):
            await verify_proof(OWNER.address, b"\x03" * 32, proof, is_authorized)
    assert asked == [(OWNER.address, b"\x03" * 32, proof)]


# -------------------------------------------------------------------------------------------------------- sessions


async def test_a_session_key_proves_requests() -> None:
    session = await a_session()
    await verified(a_request(), await sign_request(a_request(), DOMAIN, session))


async def test_a_session_without_leases_covers_all() -> None:
    session = await a_session(leases=[])
    request = a_request(lease=99 << 16)
    await verified(request, await sign_request(request, DOMAIN, session))


async def test_a_session_proves_nothing_but_requests() -> None:
    proof = (await a_session()).prove(a_request(), DOMAIN)
    with pytest.raises(ProofMalformed, match="requests alone"):
        await verify_proof(OWNER.address, a_request().digest(DOMAIN), proof, nobody)


@pytest.mark.parametrize(
    ("session", "request_changes", "error", "reason"),
    [
        ({}, {"lease": 13 << 16}, ProofOutOfScope, "this lease"),
        ({}, {"op": "lease.exec"}, ProofOutOfScope, "`lease.exec`"),
        ({}, {"account": STRANGER.address}, ProofOutOfScope, "not .*'s"),
        ({"expires_at": NOW}, {}, ProofExpired, "session expired"),
        ({"wallet": STRANGER}, {}, ProofWrongKey, "signed it"),
    ],
)
async def test_a_session_ends_where_it_says(
    session: dict[str, object], request_changes: dict[str, object], error: type[Exception], reason: str
) -> None:
    key = await a_session(**session)  # type: ignore[arg-type]  # each case names its own
    request = a_request(**request_changes)
    with pytest.raises(error, match=reason):
        await verified(request, key.prove(request, DOMAIN))


async def test_another_pools_session_is_refused() -> None:
    elsewhere = Domain(31337, "0x" + "11" * 20)
    key = await SessionKey.grant(
        OWNER.address, elsewhere, OWNER, private_key=THROW_AWAY, ops=["lease.logs"], expires_at=NOW + 60
    )
    with pytest.raises(ProofOutOfScope, match="the session is for pool"):
        await verified(a_request(), key.prove(a_request(), DOMAIN))


async def test_a_session_is_no_use_without_its_key() -> None:
    session = await a_session()
    thief = SessionKey(session.session, session.session_proof, (4).to_bytes(32))
    with pytest.raises(ProofWrongKey, match="not the session's key"):
        await verified(a_request(), thief.prove(a_request(), DOMAIN))


async def test_a_session_cannot_grant_a_session() -> None:
    first = await a_session()
    nested = SessionKey(first.session, first.prove(a_request(), DOMAIN), THROW_AWAY)
    with pytest.raises(ProofMalformed, match="requests alone"):
        await verified(a_request(), nested.prove(a_request(), DOMAIN))


async def test_a_session_key_does_not_show() -> None:
    assert THROW_AWAY.hex() not in repr(await a_session())
    assert repr(THROW_AWAY) not in repr(await a_session())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: b"no json",
        lambda d: b"[]",
        lambda d: json.dumps(d | {"more": 1}).encode(),
        lambda d: json.dumps(d | {"session": {}}).encode(),
        lambda d: json.dumps(d | {"session": d["session"] | {"ops": "lease.logs"}}).encode(),
        lambda d: json.dumps(d | {"signature": "zz"}).encode(),
        lambda d: json.dumps(d | {"session_proof": 5}).encode(),
    ],
)
async def test_a_session_that_cannot_be_read(spoil: object) -> None:
    proof = (await a_session()).prove(a_request(), DOMAIN)
    assert callable(spoil)
    with pytest.raises(ProofMalformed):
        await verified(a_request(), b"\x04" + spoil(json.loads(proof[1:])))


def test_recovery_is_of_the_very_digest() -> None:
    signed = Account.unsafe_sign_hash(b"\x05" * 32, THROW_AWAY)
    assert recover_signer(b"\x05" * 32, bytes(signed.signature)) == Account.from_key(THROW_AWAY).address
    assert recover_signer(b"\x06" * 32, bytes(signed.signature)) != Account.from_key(THROW_AWAY).address


def test_sessions_compare_by_value() -> None:
    one = Session(OWNER.address, 1, POOL, (), ("a",), STRANGER.address, 5)
    assert one == Session(OWNER.address.lower(), 1, POOL.lower(), (), ("a",), STRANGER.address, 5)
