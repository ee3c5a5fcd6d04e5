"""Acting for an account: anyone may submit what the account itself approved, once, as approved, in time."""

import pytest
from brownie import SmartWallet, chain
from eth_account import Account
from signing import CURVE
from world import (
    DAY,
    ENDPOINT,
    HOUR,
    NOBODY,
    PER_SECOND,
    UNIT,
    LeaseRequest,
    at,
    later,
    lease_of,
    now,
    plain,
    reverts,
)


@pytest.fixture
def wallet(pool, token, tenant):
    """A smart account: the tenant owns it, and it has money in the ledger."""
    wallet = SmartWallet.deploy(tenant, {"from": tenant})
    pool.deposit(wallet, 100 * UNIT, {"from": tenant})
    return wallet


@pytest.fixture
def rich(pool, tenant):
    """The tenant, with money in the ledger."""
    pool.deposit(tenant, 100 * UNIT, {"from": tenant})
    return tenant


# --------------------------------------------------------------------------------------------------- acting by a proof


def test_a_renter_without_gas_opens_a_lease_that_another_submits(pool, hub, rich, neighbour, execute):
    tx = execute(rich, (pool, pool.open.encode_input(LeaseRequest(1))))

    assert pool.leaseOf(lease_of(tx)).dict()["tenant"] == rich
    assert pool.balanceOf(rich) == 100 * UNIT - HOUR * PER_SECOND
    assert tx.events["Executed"] == {"account": rich, "nonce": 0, "submitter": neighbour}
    assert hub.nonceOf(rich, 0) == 1
    assert hub.actor() == NOBODY


def test_several_calls_happen_whole_and_answer_each(pool, hub, rich, neighbour, approve_calls, execute):
    calls = [
        (pool, pool.open.encode_input(LeaseRequest(1))),
        (pool, pool.transfer.encode_input(neighbour, UNIT)),
    ]
    deadline = now() + DAY
    proof = approve_calls(rich, calls, 0, deadline)
    first, second = hub.execute.call(rich, calls, 0, deadline, proof, {"from": neighbour})
    assert (int(str(first), 16), len(second)) == (1 << 16, 0)
    execute(rich, *calls)
    assert pool.balanceOf(neighbour) == UNIT


def test_one_call_that_fails_undoes_them_all_and_tells_why(pool, rich, neighbour, execute):
    calls = [pool.transfer.encode_input(neighbour, UNIT), pool.transfer.encode_input(neighbour, 100 * UNIT)]
    with reverts("InsufficientBalance", rich, 99 * UNIT, 100 * UNIT):
        execute(rich, *((pool, data) for data in calls))
    assert pool.balanceOf(rich) == 100 * UNIT


def test_an_account_pays_from_its_ledger_only(pool, token, tenant, neighbour, execute):
    had = token.balanceOf(tenant), token.balanceOf(neighbour)
    with reverts("InsufficientBalance", tenant, 0, HOUR * PER_SECOND):
        execute(tenant, (pool, pool.open.encode_input(LeaseRequest(1))))
    assert (token.balanceOf(tenant), token.balanceOf(neighbour)) == had


def test_every_role_can_act_by_proof(pool, provider, operator, owner, rich, execute):
    lease = lease_of(execute(rich, (pool, pool.open.encode_input(LeaseRequest(1)))))
    execute(operator, (pool, pool.start.encode_input(lease, ENDPOINT)))
    execute(provider, (pool, pool.delist.encode_input(1)))
    tx = execute(owner, (pool, pool.transferOwnership.encode_input(rich)))
    assert tx.events["OwnershipTransferStarted"] == {"owner": owner, "pendingOwner": rich}
    execute(rich, (pool, pool.acceptOwnership.encode_input()))
    assert pool.owner() == rich


def test_a_multicall_by_proof_acts_for_the_account_throughout(pool, rich, neighbour, execute):
    calls = [pool.open.encode_input(LeaseRequest(1)), pool.transfer.encode_input(neighbour, 1)]
    lease = lease_of(execute(rich, (pool, pool.multicall.encode_input(calls))))
    assert pool.leaseOf(lease).dict()["tenant"] == rich


def test_a_smart_account_acts_by_erc_1271(pool, wallet, tenant, execute):
    tx = execute(wallet, (pool, pool.open.encode_input(LeaseRequest(1))), signer=tenant, kind=b"\x02")
    assert pool.leaseOf(lease_of(tx)).dict()["tenant"] == wallet


def test_a_smart_account_acts_directly_too(pool, wallet, tenant):
    tx = wallet.run(pool, pool.open.encode_input(LeaseRequest(1)), {"from": tenant})
    assert pool.leaseOf(lease_of(tx)).dict()["tenant"] == wallet


# --------------------------------------------------------------------------------------------------------------- nonces


def test_a_proof_works_once(pool, hub, rich, neighbour, approve_calls):
    calls = [(pool, pool.transfer.encode_input(neighbour, UNIT))]
    deadline = now() + DAY
    proof = approve_calls(rich, calls, 0, deadline)
    hub.execute(rich, calls, 0, deadline, proof, {"from": neighbour})
    with reverts("InvalidNonce", 0, 1):
        hub.execute(rich, calls, 0, deadline, proof, {"from": neighbour})
    assert pool.balanceOf(neighbour) == UNIT


def test_nonces_of_different_keys_do_not_wait_for_one_another(pool, hub, rich, neighbour, execute):
    call = (pool, pool.transfer.encode_input(neighbour, 1))
    execute(rich, call, key=7)
    execute(rich, call, key=3)
    execute(rich, call, key=7)
    assert [hub.nonceOf(rich, key) for key in (0, 3, 7)] == [0, (3 << 64) + 1, (7 << 64) + 2]


@pytest.mark.parametrize("nonce", [1, 5, (1 << 64) + 1])
def test_a_nonce_that_is_not_next_is_refused(pool, hub, rich, neighbour, approve_calls, nonce):
    calls = [(pool, pool.transfer.encode_input(neighbour, 1))]
    deadline = now() + DAY
    proof = approve_calls(rich, calls, nonce, deadline)
    with reverts("InvalidNonce", nonce, nonce >> 64 << 64):
        hub.execute(rich, calls, nonce, deadline, proof, {"from": neighbour})


def test_calls_that_failed_leave_the_nonce_unspent(pool, hub, tenant, neighbour, execute):
    with reverts("InsufficientBalance"):
        execute(tenant, (pool, pool.transfer.encode_input(neighbour, 1)))
    assert hub.nonceOf(tenant, 0) == 0


# ----------------------------------------------------------------------------------------------------- what is refused


def test_a_deadline_is_the_last_moment(pool, hub, rich, neighbour, approve_calls):
    calls = [(pool, pool.transfer.encode_input(neighbour, 1))]
    deadline = now() + 100
    proof = approve_calls(rich, calls, 0, deadline)
    at(deadline + 1)
    with reverts("ExpiredDeadline", deadline):
        hub.execute(rich, calls, 0, deadline, proof, {"from": neighbour})
    deadline = now() + 100
    proof = approve_calls(rich, calls, 0, deadline)
    at(deadline)
    hub.execute(rich, calls, 0, deadline, proof, {"from": neighbour})


def test_no_calls_are_refused(hub, rich, execute):
    with reverts("NoCalls"):
        execute(rich)


def test_only_pools_are_called(token, hub, factory, rich, neighbour, execute):
    for target, data in (
        (token, token.transfer.encode_input(neighbour, 1)),
        (hub, hub.actor.encode_input()),
        (factory, factory.poolCount.encode_input()),
        (neighbour, "0x00"),
    ):
        with reverts("InvalidTarget", target):
            execute(rich, (target, data))


@pytest.mark.parametrize(
    "other",
    [
        {"chain_id": 1},
        {"verifier": "0x" + 40 * "1"},
        {"kind": b"\x00"},
        {"kind": b"\x02"},
        {"kind": b"\x04"},
        {"kind": b""},
    ],
)
def test_a_proof_for_another_chain_contract_or_kind_is_none(pool, rich, neighbour, execute, other):
    with reverts("InvalidProof", rich):
        execute(rich, (pool, pool.transfer.encode_input(neighbour, 1)), **other)


def test_another_s_signature_is_no_proof(pool, rich, thief, execute):
    with reverts("InvalidProof", rich):
        execute(rich, (pool, pool.withdraw.encode_input(thief, UNIT)), signer=thief)


def test_a_proof_is_for_its_account_calls_nonce_and_deadline_alone(
    pool, hub, rich, neighbour, thief, approve_calls
):
    calls = [(pool, pool.transfer.encode_input(neighbour, UNIT))]
    deadline = now() + DAY
    proof = approve_calls(rich, calls, 0, deadline)
    others = [(pool, pool.transfer.encode_input(thief, UNIT))]
    for account, what, nonce, until in (
        (neighbour, calls, 0, deadline),
        (rich, others, 0, deadline),
        (rich, calls * 2, 0, deadline),
        (rich, calls, 1 << 64, deadline),
        (rich, calls, 0, deadline + 1),
    ):
        with reverts("InvalidProof", account):
            hub.execute(account, what, nonce, until, proof, {"from": thief})


@pytest.mark.parametrize("length", [0, 1, 64, 65, 67])
def test_a_proof_of_another_length_is_none(hub, rich, approve_calls, length):
    proof = (approve_calls(rich, [], 0, now()) + b"\0")[:length]
    assert hub.isAuthorized(rich, 32 * b"\7", proof) is False


# -------------------------------------------------------------------------------------------------------- isAuthorized


def test_is_authorized_knows_a_key_s_own_signature(hub, tenant, neighbour, keys):
    digest = bytes(range(32))
    signed = Account.unsafe_sign_hash(digest, keys[tenant.address])
    proof = b"\x01" + bytes(signed.signature)
    assert hub.isAuthorized(tenant, digest, proof)
    assert not hub.isAuthorized(neighbour, digest, proof)
    assert not hub.isAuthorized(tenant, digest[::-1], proof)
    assert not hub.isAuthorized(NOBODY, digest, proof)


def test_is_authorized_refuses_the_signature_s_mirror_image(hub, tenant, keys):
    digest = bytes(range(32))
    signed = Account.unsafe_sign_hash(digest, keys[tenant.address])
    mirrored = signed.r.to_bytes(32, "big") + (CURVE - signed.s).to_bytes(32, "big") + bytes([55 - signed.v])
    assert not hub.isAuthorized(tenant, digest, b"\x01" + mirrored)


def test_a_signature_that_recovers_nobody_is_not_nobody_s(hub):
    assert not hub.isAuthorized(NOBODY, 32 * b"\1", b"\x01" + 64 * b"\xff" + b"\x1b")


def test_is_authorized_asks_a_smart_account(hub, wallet, tenant, neighbour, keys):
    digest = bytes(range(32))
    signature = bytes(Account.unsafe_sign_hash(digest, keys[tenant.address]).signature)
    assert hub.isAuthorized(wallet, digest, b"\x02" + signature)
    assert not hub.isAuthorized(wallet, digest, b"\x01" + signature)
    assert not hub.isAuthorized(wallet, digest[::-1], b"\x02" + signature)
    assert not hub.isAuthorized(neighbour, digest, b"\x02" + signature)


@pytest.mark.parametrize("mood", [1, 2])
def test_is_authorized_never_reverts_whatever_a_smart_account_does(hub, wallet, tenant, mood):
    wallet.setMood(mood, {"from": tenant})
    assert hub.isAuthorized(wallet, 32 * b"\1", b"\x02" + 65 * b"\1") is False


# --------------------------------------------------------------------------------------------------------------- reads


def test_the_digest_is_what_wallets_sign(pool, hub, tenant, neighbour, keys, approve_calls):
    calls = [(pool, pool.transfer.encode_input(neighbour, 1))]
    digest = hub.executeDigest(tenant, calls, 0, 99)
    assert hub.isAuthorized(tenant, digest, approve_calls(tenant, calls, 0, 99))


def test_the_domain_is_told(hub):
    _, name, version, chain_id, contract, _, extensions = hub.eip712Domain()
    assert (name, version, chain_id, contract) == ("Leasehold", "1", chain.id, hub)
    assert plain(extensions) == ()


def test_nobody_acts_when_nobody_executes(hub):
    assert hub.actor() == NOBODY
    later(1)
